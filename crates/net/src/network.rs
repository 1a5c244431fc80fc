//! A feed-forward network in single-assignment form: each node reads the input or earlier nodes.

use crate::Matrix;

/// Value 0 is the input; value k + 1 is what node k computes; the last value is the output.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Width of the input.
    pub inputs: usize,
    /// The nodes, each reading only values before its own.
    pub nodes: Vec<Node>,
}

/// One operation and the values it reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What is computed.
    pub op: Op,
    /// Indices of values: 0 is the network's input, k + 1 the result of node k.
    pub from: Vec<usize>,
}

/// The operations. Each is exactly what the exported ONNX graph computes, operator by operator.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// `x * scale + shift`, element by element.
    Affine {
        /// Factors, one a column.
        scale: Vec<f32>,
        /// Offsets, one a column.
        shift: Vec<f32>,
    },
    /// `W x + b`; W has one row an output.
    Dense {
        /// Weights, outputs x inputs.
        w: Matrix,
        /// Bias, one an output.
        b: Vec<f32>,
    },
    /// The activation, element by element.
    Act(Activation),
    /// The listed columns of the value read, in order.
    Select(Vec<usize>),
    /// The values read, side by side.
    Concat,
    /// Gate: every column of the first value times the single column of the second.
    Gate,
}

/// Element-wise non-linear functions, all of them non-decreasing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// max(0, x)
    Relu,
    /// 1 / (1 + exp(-x))
    Sigmoid,
    /// tanh(x)
    Tanh,
}
