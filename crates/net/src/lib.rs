//! The network as plain data: nodes, forward pass, ONNX in and out.
#![forbid(unsafe_code)]

pub mod matrix;
pub mod network;

pub use matrix::Matrix;
pub use network::{Activation, Network, Node, Op};
