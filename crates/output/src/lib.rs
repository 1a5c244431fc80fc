//! What leaves a model: a model, its rules and input rows enter; its outputs leave, whether they break a rule, exactly, and what they
//! mean in words.
//!
//! [`reader`] runs a model as its file says, [`graph`] the operators that stand behind a network. [`judge`] evaluates the rules on a row,
//! [`predict`] reads scores as classes, labels and places, [`printed`] finds numbers to print. [`make`] writes the part of a graph that
//! makes candidates for the output step, by what [`decode`] and [`nearest`] know of the best outputs that obey; none of it is trusted.
#![forbid(unsafe_code)]

pub mod decode;
pub mod graph;
pub mod judge;
pub mod make;
pub mod nearest;
pub mod predict;
pub mod printed;
#[cfg(test)]
mod random_rules;
pub mod reader;

pub use judge::Judge;
pub use reader::Output;
