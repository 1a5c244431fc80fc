//! How an output step, or what outputs are clipped to, fails to be one.

use deepsade_spec::Domain;

/// Why an output step is none, or can't be computed in float32.
#[derive(Debug, Clone, PartialEq)]
pub enum StepFault {
    /// It is for another number of outputs.
    Outputs {
        /// Of the step.
        found: usize,
        /// Of the task.
        task: usize,
    },
    /// 0 and 1 for outputs that are neither labels nor places.
    NotLabels,
    /// The range of an output.
    Range {
        /// The output.
        output: usize,
        /// The power of two that it may reach.
        most: i32,
    },
    /// An output that must be whole, and the grid of another kind.
    NotWhole(usize),
    /// The last case has conditions.
    LastCase,
    /// A case of the fallback.
    Case {
        /// Its index.
        case: usize,
        /// What is wrong with it.
        fault: CaseFault,
    },
    /// An output of the fallback that may not be on its grid.
    BesideGrid(usize),
    /// Bounds for labels.
    LabelsClipped,
    /// A grid of clipped outputs other than that of whole numbers.
    ClipGrid,
    /// More rounds of bounds than this, none, or in another order.
    Rounds(usize),
    /// A round that bounds a whole number by a constant that is none.
    RoundNotWhole(usize),
    /// A round with bounds that are none.
    Round(usize),
    /// Outputs whose bounds meet, in no order.
    Meet,
    /// A lower bound that meets an upper one and is rounded.
    MeetNotWhole,
    /// An output that there is not.
    NoOutput(usize),
    /// More ways to choose bounds than this.
    Choices(usize),
    /// A constant of a sum beyond float32.
    Constant,
    /// A sum that may be.
    Sum,
    /// The rounding of a sum is larger than any margin.
    Rounding,
    /// A count that is too large.
    Count,
    /// Rules with more comparisons and alternatives than a graph should hold.
    Large {
        /// The numbers of its matrices.
        numbers: usize,
        /// What is allowed.
        most: usize,
    },
    /// An input with another number of columns than the schema.
    Columns {
        /// The input.
        input: String,
        /// Its columns, where they are known.
        found: Option<usize>,
        /// Those of the schema.
        schema: usize,
    },
    /// A feature for which the graph has no input.
    NoInput(String),
    /// An input of whole numbers that float32 does not tell apart.
    WideInput {
        /// The input.
        input: String,
        /// What it holds.
        element: String,
    },
    /// An input that is no column of a domain.
    NoColumn {
        /// The input.
        input: String,
        /// The domain.
        domain: Box<Domain>,
    },
}

/// What is wrong with a case of a fallback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseFault {
    /// A condition that there is not.
    NoCondition,
    /// Not one finite constant an output.
    Bias,
    /// A weight that is not finite, is stated twice or stands nowhere.
    Weight,
}
