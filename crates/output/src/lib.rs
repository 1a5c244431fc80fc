//! What leaves a model: a model, its rules and input rows enter; its outputs leave, whether they break a rule, exactly, and what they
//! mean in words.
//!
//! [`reader`] reads outputs as the model's file says: straight from the graph, or chosen by [`decode`] or moved by [`nearest`].
//! [`judge`] evaluates the rules on a row, [`predict`] reads scores as classes, labels and places. What the library chooses or moves
//! is right only if these are: no certificate covers them. [`graph`] runs operators that stand behind a network.
#![forbid(unsafe_code)]

pub mod decode;
pub mod graph;
pub mod judge;
pub mod make;
pub mod nearest;
pub mod predict;
pub mod reader;

pub use judge::Judge;
pub use reader::Output;
