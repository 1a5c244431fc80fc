//! The operations, one a file: the formula, the float32 pass over rows, and the ball that any float32 evaluation stays in.

pub(crate) mod activation;
pub(crate) mod affine;
pub(crate) mod choose;
pub(crate) mod concat;
pub(crate) mod conv;
pub(crate) mod dense;
pub(crate) mod gate;
pub(crate) mod max_pool;
pub(crate) mod select;
pub(crate) mod window;

use self::conv::Conv;
use self::window::Window;
use crate::{Ball, Matrix};

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
    /// The row of the table whose column of the value read is largest; of several the first. Whatever is read, infinite or not a
    /// number included, the result is a row of the table.
    Choose(Matrix),
    /// A convolution: `W x + b` with a W whose rows are the same few weights at other columns.
    Conv(Conv),
    /// The largest column of each window.
    MaxPool(Window),
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

impl Op {
    /// The operation's name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Affine { .. } => "affine",
            Self::Dense { .. } => "dense",
            Self::Act(_) => "activation",
            Self::Select(_) => "select",
            Self::Concat => "concat",
            Self::Gate => "gate",
            Self::Choose(_) => "choose",
            Self::Conv(_) => "convolution",
            Self::MaxPool(_) => "max pool",
        }
    }

    /// Puts row `o` of a Dense or a Conv into `row`: columns and their weights that are not 0. The offset of the row is returned. Of other
    /// operations the row is empty.
    pub fn row(&self, o: usize, row: &mut Vec<(usize, f32)>) -> f32 {
        row.clear();
        match self {
            Self::Dense { w, b } => {
                row.extend(w.row(o).iter().copied().enumerate().filter(|(_, w)| *w != 0.0));
                b[o]
            }
            Self::Conv(conv) => conv.row(o, row),
            _ => 0.0,
        }
    }

    /// Rows of the one value read -> rows of the result, of an operation that reads one.
    pub fn apply(&self, x: &Matrix) -> Matrix {
        self.forward(&[x])
    }

    /// Rows of the values read -> rows of the result.
    pub(crate) fn forward(&self, from: &[&Matrix]) -> Matrix {
        match self {
            Self::Affine { scale, shift } => affine::forward(scale, shift, from[0]),
            Self::Dense { w, b } => dense::forward(w, b, from[0]),
            Self::Act(f) => activation::forward(*f, from[0]),
            Self::Select(columns) => select::forward(columns, from[0]),
            Self::Concat => concat::forward(from),
            Self::Gate => gate::forward(from[0], from[1]),
            Self::Choose(table) => choose::forward(table, from[0]),
            Self::Conv(conv) => conv::forward(conv, from[0]),
            Self::MaxPool(window) => max_pool::forward(window, from[0]),
        }
    }

    /// Balls around one row of the values read -> balls around the row of the result.
    pub(crate) fn enclose(&self, from: &[&[Ball]]) -> Vec<Ball> {
        match self {
            Self::Affine { scale, shift } => affine::enclose(scale, shift, from[0]),
            Self::Dense { w, b } => dense::enclose(w, b, from[0]),
            Self::Act(f) => activation::enclose(*f, from[0]),
            Self::Select(columns) => select::enclose(columns, from[0]),
            Self::Concat => from.concat(),
            Self::Gate => gate::enclose(from[0], from[1]),
            Self::Choose(table) => choose::enclose(table),
            Self::Conv(conv) => conv::enclose(conv, from[0]),
            Self::MaxPool(window) => max_pool::enclose(window, from[0]),
        }
    }
}
