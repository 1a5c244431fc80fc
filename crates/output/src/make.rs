//! Rules and a network's outputs enter; leaves a piece of a graph that makes candidates for the output step, as good as they can be.
//!
//! Nothing here is trusted: the tail of the graph judges every candidate, and answers by its fallback where one does not pass.

pub mod classes;
mod draft;
pub mod labels;
pub mod numbers;
mod tried;

use deepsade_check::StepFault;
use deepsade_check::step::Outputs;
use deepsade_net::Piece;
use thiserror::Error;

pub use self::tried::{Tried, tried};

/// How all names of what makes candidates begin.
pub const PREFIX: &str = "deepsade.make.";
/// The tensor that holds the candidate.
pub const CANDIDATE: &str = "deepsade.make.candidate";

/// What a maker reads.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The tensor with the network's outputs: scores, or numbers.
    pub scores: &'a str,
    /// The tensor with the columns of the input.
    pub x: &'a str,
    /// Whether the scores of classes may be probabilities: where a row is such, those among the allowed classes come out.
    pub probabilities: bool,
}

/// What makes candidates.
#[derive(Debug, Clone)]
pub struct Made {
    /// Its calls and constants, the last of which makes [`CANDIDATE`].
    pub piece: Piece,
    /// What the tail is to make of candidates.
    pub outputs: Outputs,
    /// Whether the candidate is the best there is (the most likely set, the nearest numbers), or only a good one.
    pub best: bool,
    /// The squared distance from numbers drawn at random, beside that of the nearest outputs that obey; 1 for labels and classes.
    pub ratio: f64,
    /// The share of inputs drawn at random for which no outputs obey by as much as rounding may take: the fallback is near there.
    pub nowhere: f64,
    /// How it is made, in a few words.
    pub how: String,
}

/// Why no candidates can be made.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum MakeError {
    /// Not a classification.
    #[error("classes are lowered for a binary or multiclass task, and this task has none; make labels or numbers instead")]
    NoClasses,
    /// Not a task with labels.
    #[error("label sets are chosen for a multilabel task or a ranking, and this is another; make classes or numbers instead")]
    NoLabels,
    /// Scores are no choice among classes or labels.
    #[error(
        "rule '{rule}' is about raw scores, which a choice among classes or labels does not bind; make its outputs as numbers"
    )]
    Scores {
        /// The rule.
        rule: String,
    },
    /// An atom with many labels and features.
    #[error(
        "rule '{rule}' has features and more than {most} labels in one sum; say it with conditions on the features alone, such as \
         `x > 3 => ...`"
    )]
    Mixed {
        /// The rule.
        rule: String,
        /// Labels that a table of all sets may have.
        most: usize,
    },
    /// What a float32 graph can't decide.
    #[error("a condition of the rules can't be computed in float32: {why}; use smaller numbers in it, or a smaller domain")]
    Condition {
        /// What the checker says.
        why: StepFault,
    },
    /// Too many comparisons.
    #[error(
        "rule {rules} ties outputs to each other by {found} comparisons, more than {most}; state it with fewer (a bound of the largest output \
         follows from bounds of each), or train with enforce = \"weights\""
    )]
    TooManyTies {
        /// The rules, in words.
        rules: String,
        /// Different ones.
        found: usize,
        /// What a graph may hold.
        most: usize,
    },
    /// Contradicting rules.
    #[error("no label set obeys the rules, whatever the input")]
    Impossible,
    /// Too many sets, and too entangled.
    #[error(
        "{labels} labels hang together in too many ways: their valid sets are no table of {sets}, and their decision diagram has more \
         than {nodes} nodes; loosen or split the rules that tie them together, or say hierarchies as `a => b`"
    )]
    TooLarge {
        /// Labels that hang together.
        labels: usize,
        /// Sets of a table.
        sets: usize,
        /// Nodes of a diagram.
        nodes: usize,
    },
    /// Not one range an output.
    #[error("{found} ranges for {outputs} outputs; state one an output")]
    Ranges {
        /// Ranges.
        found: usize,
        /// Outputs.
        outputs: usize,
    },
    /// Not one spread an output.
    #[error("not one positive spread for each of {outputs} outputs; state 1 for all where none is known")]
    Spread {
        /// Outputs.
        outputs: usize,
    },
    /// An anchor of another task.
    #[error("the anchor does not fit: {outputs} outputs and {columns} columns are needed")]
    Anchor {
        /// Outputs.
        outputs: usize,
        /// Columns of the input.
        columns: usize,
    },
    /// Too many alternatives.
    #[error(
        "rule {rules} leaves more than {most} alternatives for outputs that it ties together; state it with fewer `or`s, or train \
         with enforce = \"weights\""
    )]
    TooManyPieces {
        /// The rules, in words.
        rules: String,
        /// What a graph may try one after the other.
        most: usize,
    },
    /// Contradicting rules.
    #[error(
        "no outputs of the size of the data and of what the rules compare them with obey rule {rules}, whatever the input; loosen the rules"
    )]
    NothingAllowed {
        /// The rules, in words.
        rules: String,
    },
    /// An equality that float32 numbers can't be made to obey.
    #[error("rule '{rule}' demands an equality: {why}")]
    Equality {
        /// The rule.
        rule: String,
        /// What stands in the way.
        why: NotEqual,
    },
    /// An equality with a real feature.
    #[error(
        "rule '{rule}' demands an equality with a real feature, which float32 numbers obey only now and then; state the rule as \
         `abs(left - right) <= {tolerance}` (less leaves rounding little room, or none), or the feature as whole (kind = \"integer\") or, if the data are multiples of 0.5, 0.25 or another power of two, with that `step` (step = 0.25)"
    )]
    RealEquality {
        /// The rule.
        rule: String,
        /// The smallest difference that can be promised.
        tolerance: f64,
    },
    /// What a float32 graph can't decide.
    #[error("the rules can't be computed in float32: {why}{}", smaller(why))]
    Float32 {
        /// What the checker says.
        why: StepFault,
    },
}

/// What to do about sums that float32 can't hold.
fn smaller(why: &StepFault) -> &'static str {
    if matches!(why, StepFault::Large { .. }) { "" } else { "; use smaller numbers in them, or a smaller domain" }
}

impl MakeError {
    /// Whether it says of the rules that float32 numbers can't obey them.
    pub fn is_about_rules(&self) -> bool {
        matches!(
            self,
            Self::Impossible
                | Self::NothingAllowed { .. }
                | Self::Equality { .. }
                | Self::RealEquality { .. }
                | Self::Float32 { .. }
        )
    }
}

/// What stands in the way of an equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotEqual {
    /// No output can be computed from the others.
    #[error(
        "made whole (0.19 is 19 hundredths) each output in it has a factor beside 1 and -1, so none is on the grid whatever the others \
         are; use halves, quarters, ..., or state it with a tolerance, such as `abs(left - right) <= 0.01`"
    )]
    Factors,
    /// Its constant or a feature's share is not on the grid.
    #[error("a constant in it, or what it takes of a feature, is no multiple of the outputs' grid; use halves, quarters, ...")]
    OffGrid,
    /// An output may be anything.
    #[error("an output in it has no grid; ask `grids` for one")]
    NoGrid,
    /// The sum is too large.
    #[error("its sum is too large to be exact in float32; use smaller ranges, or a coarser grid")]
    TooLarge,
    /// It shares outputs with another one, and holds under one of many conditions.
    #[error(
        "it shares outputs with another equality and holds under a condition, and conditions of such equalities make more alternatives \
         than a graph can try; use fewer conditions, or state equalities under one condition as one rule"
    )]
    Entangled,
}

#[cfg(test)]
mod tests;
