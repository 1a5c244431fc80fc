//! What leaves a model: inputs and raw outputs enter; which rules they break, exactly, and what they mean in words leaves.
//!
//! [`judge`] evaluates the rules on a row, [`predict`] reads scores as classes, labels and places.
#![forbid(unsafe_code)]

pub mod decode;
pub mod judge;
pub mod nearest;
pub mod predict;

pub use judge::Judge;
