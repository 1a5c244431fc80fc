//! The network as plain data: nodes, forward pass, rounding error, ONNX in and out.
#![forbid(unsafe_code)]

pub mod ball;
pub mod enclose;
pub mod forward;
pub mod matrix;
pub mod network;
pub mod onnx;
mod op;
pub mod validate;

pub use ball::Ball;
pub use matrix::Matrix;
pub use network::{Network, Node};
pub use onnx::blind::Blind;
pub use onnx::carried::{Carried, Port};
pub use onnx::filling::Filling;
pub use onnx::piece::Piece;
pub use onnx::{Behind, ImportError, Model, TRUNK_OUTPUT};
pub use op::choose::first_largest;
pub use op::conv::Conv;
pub use op::window::Window;
pub use op::{Activation, Op};
pub use validate::NetworkError;
