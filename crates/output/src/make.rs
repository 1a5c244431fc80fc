//! Rules and a network's outputs enter; leaves a piece of a graph that makes candidates for the output step, as good as they can be.
//!
//! Nothing here is trusted: the tail of the graph judges every candidate, and answers by its fallback where one does not pass.

use deepsade_check::step::Outputs;
use deepsade_net::Piece;

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
