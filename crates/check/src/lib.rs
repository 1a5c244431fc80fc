//! The judge: an ONNX file, rules and a certificate enter; [`Accepted`] or the step that fails leaves.
//!
//! The whole argument is in docs/soundness.md; each step of it stands above the code that takes it. Nothing here searches, and
//! nothing here trusts what did: the certificate only says where to split the domain and how to weigh the atoms of a cell.
#![forbid(unsafe_code)]

mod blind;
mod bounds;
mod cell;
pub mod certificate;
mod check;
mod decode;
mod dyadic;
mod floats;
mod idle;
mod layout;
mod linear;
mod machine;
mod pair;
mod pool;
mod rejected;
mod sha256;
mod slope;
pub mod step;
mod tree;
mod trend;

pub use certificate::{Arithmetic, Bounds, Certificate, Lines, MAX_DEPTH, PairArgument, PairProof, RuleProof, SLOPES, Tree};
pub use check::{Accepted, Keeper, Proved, Verdict, check, check_exactly, check_until, filling_of};
pub use idle::idle;
pub use linear::{relu_below, relu_slope};
pub use pair::{PairProvedBy, ProvedPair};
pub use pool::{WindowLines, window_lines, window_slope};
pub use rejected::{CaseFault, InputPart, LostTrend, Misfit, Overflow, Rejected, Step, StepFault, Why};
pub use sha256::sha256_hex;
pub use tree::{MAX_ATOMS, ProvedRule};

#[cfg(test)]
extern crate self as deepsade_check;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;
