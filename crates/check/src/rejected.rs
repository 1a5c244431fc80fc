//! Where a check ended and why, as data.

mod fault;
mod words;

use deepsade_net::{ImportError, NetworkError};
use deepsade_spec::{CutError, Mismatch, RuleError, SchemaError, Trend};

pub use fault::{CaseFault, StepFault};

/// A certificate that proves nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    /// Where.
    pub at: Step,
    /// Why.
    pub why: Why,
}

/// Where a check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// In a part of the input, before any proof.
    Input(InputPart),
    /// In the proof of a rule between two inputs.
    Pair {
        /// Its index among these.
        rule: usize,
        /// Its name.
        name: String,
    },
    /// In the proof of a rule.
    Rule {
        /// Its index.
        rule: usize,
        /// Its name.
        name: String,
        /// Sides taken from the root of its tree on; true is above.
        path: Vec<bool>,
        /// The cell of its negation, at a leaf.
        cell: Option<usize>,
    },
}

/// What is given to a check, part by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputPart {
    /// The certificate's text.
    Certificate,
    /// The model's file.
    Model,
    /// The hash of that file, which the certificate states.
    ModelHash,
    /// Features, levels and outputs, which the model states.
    Schema,
    /// What fills in missing values.
    Filling,
    /// What stands in front of everything, in place of columns that are not read.
    Front,
    /// What is claimed of it.
    Claim,
    /// The rules.
    Rules,
    /// The hash of the rules, which the certificate states.
    RulesHash,
    /// The rules between two inputs.
    Pairs,
    /// The inputs of the graph.
    Inputs,
    /// The table that a network chooses from.
    Decode,
    /// The output step.
    Step,
    /// The bounds that outputs are clipped to.
    Clips,
    /// Outputs that must be whole numbers.
    Whole,
    /// The arithmetic of the proof.
    Arithmetic,
    /// The domain: some value may overflow on it.
    Range,
}

/// Why a check ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// The weighted sum of a cell's atoms can reach so much.
    NotRefuted(f64),
    /// An output does not move with a feature as the rule needs.
    Trend(Box<LostTrend>),
    /// Slopes and rounding allow such a change.
    Changes(f64),
    /// A slope may be as far below 0.
    Falls(f64),
    /// It was asked to stop.
    Stopped,
    /// A value inside the network may be too large.
    Overflow(Overflow),
    /// It holds in exact arithmetic, and was asked for as deployed.
    OnlyReal,
    /// What the certificate says of a part is not what is found there.
    Differs {
        /// What it says.
        stated: String,
        /// What is found.
        found: String,
    },
    /// The text of a certificate or a schema can't be read: what its reader says.
    Unreadable(String),
    /// The schema does not describe a domain.
    Schema(Box<SchemaError>),
    /// The file can't be read.
    File(Box<ImportError>),
    /// The network is none.
    Network(Box<NetworkError>),
    /// What is claimed is not about this model.
    Claim(Box<Mismatch>),
    /// The rules mean nothing here.
    Rules(Vec<RuleError>),
    /// A split that is none.
    Cut(Box<CutError>),
    /// The parts of certificate and model do not fit together.
    Misfit(Misfit),
    /// The output step, or the bounds that outputs are clipped to, is none.
    Step(Box<StepFault>),
}

/// A value that may leave the range of float32.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overflow {
    /// The node that computes it.
    pub node: usize,
    /// Its operator.
    pub op: &'static str,
}

/// How parts of a certificate and of the model do not fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// The file does more than what the certificate is about.
    Behind,
    /// An output that must be whole, and nothing that makes it so.
    WholeOutput(usize),
    /// More nodes or columns than are looked at.
    LargeNetwork {
        /// Nodes there may be.
        nodes: usize,
        /// Columns there may be.
        columns: usize,
    },
    /// Missing values are filled in otherwise than the schema says.
    Filling,
    /// Inputs and outputs of the schema, and of the network.
    Shape {
        /// Of the schema.
        schema: [usize; 2],
        /// Of the network.
        network: [usize; 2],
    },
    /// Behind clips, a proof of another kind.
    ProofOfClips,
    /// The file clips to other bounds.
    OtherClips,
    /// The model has no schema under this key.
    NoSchema(&'static str),
    /// Nothing is claimed.
    NoRule,
    /// A rule about raw scores, which a choice leaves as they are.
    Scores(String),
    /// Behind an output step, a proof of another kind.
    ProofOfStep,
    /// Both an output step and clips.
    StepAndClips,
    /// A rule between two inputs, which no output step keeps.
    StepOfPair(String),
    /// Not as many columns that are read or not as the input has.
    BlindColumns,
    /// What is read in place of a feature is not one of its values.
    BlindValue(String),
    /// A rule that reads what the file does not.
    BlindRule(String),
    /// A rule between two inputs which differ in what the file reads, or that equal outputs break.
    BlindPair,
    /// A case of the fallback without a tree for each rule.
    CaseTrees,
    /// Operators older than those of this set.
    OldOperators(i64),
    /// Outputs of the graph that are not a step's.
    OutputNames,
    /// A name that stands for something else, too.
    NameTaken(String),
    /// A name that begins as the step's own do.
    PrefixTaken(&'static str),
    /// A split at what is no unit of a `ReLU`.
    NoUnit {
        /// The node.
        node: usize,
        /// The unit.
        unit: usize,
    },
    /// A row of the table that breaks the rule.
    TableRow(usize),
    /// A choice, which has no slopes.
    ChoiceOfSlopes,
    /// Multipliers that are not one an atom.
    Multipliers {
        /// How many there are.
        found: usize,
        /// How many atoms.
        atoms: usize,
    },
    /// Multipliers that are not one a sign.
    SignMultipliers {
        /// How many there are.
        found: usize,
        /// How many signs.
        signs: usize,
    },
    /// No multiplier but 0.
    AllZero,
    /// An output that the network does not have.
    NoOutput(usize),
    /// Bounds that were just made are gone.
    BoundsLost,
    /// Bounds that move the other way with a feature than their output must.
    ClipsTurn {
        /// The output.
        output: usize,
        /// The feature.
        feature: String,
    },
    /// Slopes for outputs that are clipped.
    SlopesOfClips,
    /// Slopes for a feature that may take any value.
    SlopesOfAny,
    /// Slopes for a class or a label in float32.
    SlopesOfClass,
    /// Slopes for a class or a label where features do not just rise.
    SlopesOfChange,
    /// A tree of slopes with other nodes than it may have.
    SlopeTree,
    /// A choice is claimed where there is none.
    NoChoice,
    /// An output step is claimed where there is none.
    NoStep,
    /// Lines that are not one a list of multipliers.
    Lines {
        /// How many there are.
        found: usize,
        /// How many lists.
        lists: usize,
    },
    /// A cell with more atoms than this.
    LongCell(usize),
    /// A cell without multipliers.
    NoMultipliers,
    /// So many lists of multipliers belong to no cell.
    TooManyMultipliers(usize),
}

/// An output that does not move with a feature as a rule needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostTrend {
    /// The feature.
    pub feature: String,
    /// The output.
    pub output: String,
    /// What it must do as the feature rises.
    pub asked: Trend,
    /// What is known of it.
    pub found: Trend,
    /// Where that begins: units from the output back.
    pub at: String,
}

macro_rules! why {
    ($($cause:ty => $why:expr),+) => { $(impl From<$cause> for Why {
        fn from(cause: $cause) -> Self {
            $why(cause.into())
        }
    })+ };
}

why!(Overflow => Self::Overflow, Misfit => Self::Misfit, StepFault => Self::Step, SchemaError => Self::Schema);
why!(ImportError => Self::File, NetworkError => Self::Network, Mismatch => Self::Claim, CutError => Self::Cut);
