//! The judge: an ONNX file, rules and a certificate enter; `Accepted` or the step that fails leaves.
#![forbid(unsafe_code)]

pub mod certificate;
mod json;
mod sha256;

pub use certificate::{Arithmetic, Bounds, Certificate, Cut, RuleProof, Tree};
pub use sha256::sha256_hex;
