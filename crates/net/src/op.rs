//! The operations, one a file: the formula, the float32 pass over rows, and the ball that any float32 evaluation stays in.

pub(crate) mod activation;
pub(crate) mod affine;
pub(crate) mod choose;
pub(crate) mod concat;
pub(crate) mod dense;
pub(crate) mod gate;
pub(crate) mod select;

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
        }
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
        }
    }
}
