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

use crate::{Ball, Matrix, Op};

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
