//! How an output step, or what outputs are clipped to, fails to be one: as data, and in words.

use std::fmt::{Display, Formatter, Result};

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

impl Display for CaseFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::NoCondition => "there is no such condition",
            Self::Bias => "not one finite number an output",
            Self::Weight => "a weight is not finite, is stated twice or stands nowhere",
        })
    }
}

impl Display for StepFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Outputs { found, task } => return write!(f, "{found} outputs, but the task has {task}"),
            Self::NotLabels => "only labels and places are 0 and 1",
            Self::Range { output, most } => {
                return write!(
                    f,
                    "the range of output {output} is empty, ends at a tiny number or beyond 2^{most}, or is too wide for its grid"
                );
            }
            Self::NotWhole(j) => {
                return write!(f, "output {j} must be a whole number, and its grid is not one of whole numbers");
            }
            Self::LastCase => "the last case of the fallback must be without conditions",
            Self::Case { case, fault } => return write!(f, "case {case} of the fallback: {fault}"),
            Self::BesideGrid(o) => return write!(f, "the fallback's output {o} may lie beside its grid"),
            Self::LabelsClipped => "labels are not clipped",
            Self::ClipGrid => "what is clipped has no grid but that of whole numbers",
            Self::Rounds(most) => return write!(f, "rounds are 1 to {most}, lower bounds after upper ones"),
            Self::RoundNotWhole(k) => return write!(f, "round {k} bounds a whole number by a constant that is none"),
            Self::Round(k) => {
                return write!(f, "round {k} has not one bound an output, or a number or a condition that is none");
            }
            Self::NoOutput(j) => return write!(f, "there is no output {j}"),
            Self::Choices(most) => {
                return write!(f, "there are more than {most} ways to choose bounds for one comparison");
            }
            Self::Constant => "a constant of a sum is beyond float32",
            Self::Sum => "a sum may leave the range of float32",
            Self::Rounding => "no margin covers the rounding of a sum",
            Self::Count => "a count is too large",
            Self::Columns { input, found, schema } => {
                let found = found.map_or("an unknown number of".into(), |n| n.to_string());
                return write!(f, "the input '{input}' has {found} columns, the schema {schema}");
            }
            Self::NoInput(name) => return write!(f, "the graph has no input '{name}'"),
            Self::WideInput { input, element } => {
                return write!(
                    f,
                    "the input '{input}' holds {element} numbers, of which float32 does not tell 16777217 from 16777216: let its range end before that"
                );
            }
            Self::NoColumn { input, domain } => {
                return write!(f, "the input '{input}' is no column of {}", domain.in_words());
            }
        })
    }
}
