//! Outputs of a regression enter; the nearest outputs that obey the rules at their input leave.
//!
//! For fixed inputs the rules are conditions on the outputs alone: a union of polyhedra, the *pieces*. The nearest point of
//! each is found exactly, the nearest of these is the prediction, and its derivative is the orthogonal projection on the faces
//! that hold it.

mod allowed;
mod one_by_one;

pub use allowed::{Allowed, AllowedAt, AllowedError, Face, NearestError};
