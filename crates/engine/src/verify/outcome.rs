//! What a search says in the end: a proof, a counter-example, or why neither; and why a network can't be looked at.

use deepsade_check::{MAX_ATOMS, Rejected, Step, Why};
use deepsade_net::NetworkError;
use deepsade_spec::{Mismatch, Schema, SchemaError};
use thiserror::Error;

use super::attack::CounterExample;
use super::branch::Halt;
use crate::artifact::ArtifactError;
use crate::limits;
use crate::proof::Certified;

/// What was decided.
#[derive(Debug)]
pub enum Outcome {
    /// Every rule holds for every input of the domain.
    Proved(Box<Certified>),
    /// A rule does not.
    Refuted(CounterExample),
    /// Neither was shown.
    Unknown {
        /// The rule.
        rule: usize,
        /// What stood in the way.
        why: Undecided,
    },
}

impl Outcome {
    /// What that says about the file that was read, where it and the network differ in rounding: a proof is one of the network, and
    /// a counter-example may be one of the network alone.
    #[must_use]
    pub fn of_file(self, inexact: &[String]) -> Self {
        match self {
            Self::Proved(_) if !inexact.is_empty() => Self::Unknown { rule: 0, why: Undecided::Inexact(inexact.to_vec()) },
            // What is beyond rounding is beyond another rounding, too, though nobody ran the file.
            Self::Refuted(example) if !inexact.is_empty() && example.in_every_runtime => {
                Self::Refuted(CounterExample { in_every_runtime: false, ..example })
            }
            Self::Refuted(example) if !inexact.is_empty() => {
                Self::Unknown { rule: example.rule, why: Undecided::InexactlyBroken(inexact.to_vec()) }
            }
            other => other,
        }
    }
}

impl Outcome {
    /// The same for a file that fills in missing values: an indicator is 1 only beside the value that is filled in, and a
    /// counter-example with another is none.
    #[must_use]
    pub fn reachable(self, schema: &Schema) -> Self {
        let Self::Refuted(example) = &self else { return self };
        let (first, given) = (schema.first_columns(), schema.given().len());
        let wrong = |(k, name): &(usize, &str)| {
            let place = schema.feature(name).map_or(0, |f| first[f]);
            let filled = schema.fill(name).and_then(|fill| fill.number(&schema.features[schema.feature(name)?].domain));
            example.x[first[given + k]] == 1.0 && Some(example.x[place]) != filled
        };
        match schema.indicated().enumerate().find(wrong) {
            Some((_, name)) => Self::Unknown { rule: example.rule, why: Undecided::Unreachable(name.into()) },
            None => self,
        }
    }
}

/// Why nothing was decided.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Undecided {
    /// The time is over.
    #[error("the time is over")]
    Timeout,
    /// Ctrl-C.
    #[error("it was interrupted")]
    Interrupted,
    /// The rule holds or is broken by less than rounding.
    #[error("it holds or is broken by less than float32 rounding can decide (--arithmetic real asks about exact numbers)")]
    Margin,
    /// The rule holds or is broken by less than the bounds can tell, in exact arithmetic.
    #[error("it holds or is broken by less than the bounds tell apart, in exact numbers")]
    ExactMargin,
    /// Too many ways to break the rule.
    #[error(
        "it can be broken in more than {} ways, or by more than {MAX_ATOMS} conditions together (or {} in all), too many to look at one by \
         one; an attack found nothing; split it into simpler rules",
        limits::MAX_CELLS,
        limits::MAX_ATOMS
    )]
    TooManyCells,
    /// The file computes something else in places.
    #[error(
        "every rule is proved for the network as it was read, but the file rounds differently there: {}. Deploy the model that \
         --certificate writes, for which the proof holds, or export the file without these operators",
        .0.join("; ")
    )]
    Inexact(Vec<String>),
    /// What breaks the rule never enters the network.
    #[error(
        "the network breaks it where {0:?} is said to be missing but has another value than the one that is filled in, which never enters \
         it; whether it does elsewhere is not known"
    )]
    Unreachable(String),
    /// The same where the network as it was read breaks a rule by less than rounding may be.
    #[error(
        "the network as it was read breaks it for some input, by no more than rounding may be, and the file rounds differently there: {}. \
         Export the file without these operators to know, or leave the rule a little room",
        .0.join("; ")
    )]
    InexactlyBroken(Vec<String>),
    /// Numbers beyond float32.
    #[error("values inside the network can exceed float32's range on this domain ({0}): narrow the domain")]
    Overflow(OverflowAt),
    /// Memory.
    #[error("too many regions are open at once for the memory that is allowed")]
    TooManyOpen,
    /// Work.
    #[error("it takes more regions than are allowed")]
    TooManyRegions,
    /// No time is left for the checker.
    #[error("the search found a proof, but the time is over before the checker has been through it; give it more (--timeout)")]
    Unchecked,
    /// What the network chooses from has no proof.
    #[error("the network chooses its outputs, and {reason}; {whether}")]
    Choice {
        /// What the checker says.
        reason: Box<Why>,
        /// Whether an input leads there.
        whether: LeadsThere,
    },
    /// The proof of an output step is not one of these rules.
    #[error(
        "its output step does not prove these rules ({0}), and inputs that were tried break none; `deepsade shield` puts a step for \
         them behind any model"
    )]
    Step(StepUnproved),
    /// The same where rules compare two inputs, which no step keeps.
    #[error(
        "what its output step carries does not prove these rules ({0}), and pairs of inputs that were tried break none; `deepsade train` trains a \
         network whose weights keep rules between two"
    )]
    StepOfPairs(StepUnproved),
    /// Outputs that must be whole numbers.
    #[error(
        "every rule holds, but nothing in a network keeps {} whole, as the rule file asks; `deepsade shield` puts an output step behind \
         it that does",
        .0.join(", ")
    )]
    NotWhole(Vec<String>),
    /// Neither signs nor slopes show it.
    #[error(
        "no pair of inputs that was tried breaks it, but neither the signs of the weights nor bounds of the slopes show that none does \
         ({0}); `deepsade train` trains a network whose signs do"
    )]
    TwoInputs(Box<Why>),
    /// The checker does not accept what the search found.
    #[error("the search is convinced that it holds, but the checker is not, at {at}: {why}")]
    Rejected {
        /// Where.
        at: Step,
        /// Why.
        why: Box<Why>,
    },
}

/// Where numbers may be beyond float32.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum OverflowAt {
    /// Where the checker says.
    #[error("{0}")]
    Checked(Box<Why>),
    /// In the totals that decide a choice.
    #[error("in the totals")]
    Totals,
    /// Near a row.
    #[error("near this row")]
    Row,
}

/// What is known of inputs that lead to a row of a table which breaks a rule.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LeadsThere {
    /// Nothing.
    #[error("whether an input leads there is not searched")]
    NotSearched,
    /// Nothing, since rules about scores are hidden by a choice.
    #[error("a choice hides the scores, so no input can be looked for")]
    Hidden,
    /// None was found by trying, and a search would be too long.
    #[error("the table is too long to search for an input that leads there; none of some thousands that were tried does")]
    LongTable,
    /// None does.
    #[error("the search finds that no input leads to an output that breaks a rule, but certificates can't say so of a choice")]
    None,
    /// The search came to no end.
    #[error("whether an input leads there was not decided: {0}")]
    Undecided(Box<Undecided>),
}

/// Why the output step of a model is no proof of some rules.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum StepUnproved {
    /// The model does not say something.
    #[error("the model has no '{0}'")]
    NoKey(&'static str),
    /// What it says can't be read: what the reader says.
    #[error("{0}")]
    Unreadable(String),
    /// It is about something else.
    #[error("{0}")]
    Claim(Box<Mismatch>),
    /// The rules mean nothing there.
    #[error("the rules do not fit the model")]
    Rules,
    /// The file can't be written.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The checker rejects it.
    #[error("{}: {}", .0.at, .0.why)]
    Rejected(Box<Rejected>),
    /// It is none, and only inputs near a row were looked at.
    #[error("near this row")]
    NearRow,
}

impl From<Halt> for Undecided {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Timeout => Self::Timeout,
            Halt::Interrupted => Self::Interrupted,
        }
    }
}

/// Why a network can't be looked at.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// Columns or outputs don't fit.
    #[error(
        "the network has {inputs} inputs and {outputs} outputs, the rules speak of {columns} columns ({names}) and {targets} outputs; \
         features must be listed in the order of the network's columns, categories one column a level"
    )]
    Shape {
        /// Of the network.
        inputs: usize,
        /// Of the network.
        outputs: usize,
        /// Of the schema.
        columns: usize,
        /// The schema's columns.
        names: String,
        /// Of the schema.
        targets: usize,
    },
    /// A choice where none is expected.
    #[error(
        "the network chooses rows of a table (ArgMax, Gather); that can be the last step of a network that is verified, and a network \
         that chooses can't be repaired: train it with enforce = \"decode\""
    )]
    Choice,
    /// No rule is about one input.
    #[error("{0}, and no other rule is left to look at near a row; `deepsade verify` decides rules between two inputs")]
    OnlyPairs(String),
    /// The domain can't be used.
    #[error("{0}")]
    Domain(SchemaError),
    /// The model can't be written down.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

/// How much work it was.
#[derive(Debug, Clone, Copy, Default)]
pub struct Work {
    /// Regions bounded.
    pub regions: usize,
    /// Seconds of them all in the checker.
    pub check_seconds: f64,
}
