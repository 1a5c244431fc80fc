//! Rules and a network's outputs enter; leaves a piece of a graph that makes candidates for the output step, as good as they can be.
//!
//! Nothing here is trusted: the tail of the graph judges every candidate, and answers by its fallback where one does not pass.

pub mod classes;
mod draft;
pub mod labels;

use deepsade_check::step::Outputs;
use deepsade_net::Piece;
use thiserror::Error;

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
    /// How it is made, in a few words.
    pub how: String,
}

/// Why no candidates can be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
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
    /// What a float32 graph can't decide.
    #[error("a condition of the rules can't be computed in float32: {why}; use smaller numbers in it, or a smaller domain")]
    Condition {
        /// What the checker says.
        why: String,
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
}

#[cfg(test)]
mod tests;
