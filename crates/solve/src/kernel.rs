//! Row-major float32 matrices enter, the three products of a dense layer leave.
//!
//! faer on one thread, by measurement (docs/training.md): our own register-tiled loops were slower at every size but a layer of
//! two outputs, where the whole product takes about a microsecond.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Runs an element-wise loop compiled for this machine's widest vectors: a fifth of a whole step where the loss has many outputs.
#[inline(always)]
pub fn vector<R>(f: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(f)
}

/// Rows of a batch, inputs and outputs of a dense layer.
#[derive(Debug, Clone, Copy)]
pub struct DenseShape {
    /// Rows of the batch.
    pub rows: usize,
    /// Width of what the layer reads.
    pub inputs: usize,
    /// Width of what it computes.
    pub outputs: usize,
}

/// `y = x W' + b`; x: rows x inputs, W: outputs x inputs.
pub fn dense(y: &mut [f32], x: &[f32], w: &[f32], b: &[f32], s: DenseShape) {
    y.chunks_exact_mut(s.outputs.max(1)).for_each(|row| row.copy_from_slice(b));
    let y = MatMut::from_row_major_slice_mut(y, s.rows, s.outputs);
    let x = MatRef::from_row_major_slice(x, s.rows, s.inputs);
    let w = MatRef::from_row_major_slice(w, s.outputs, s.inputs);
    matmul(y, Accum::Add, x, w.transpose(), 1.0, Par::Seq);
}

/// `dW = dy' x` and `db` = the sum of the rows of dy.
pub fn dense_weights(dw: &mut [f32], db: &mut [f32], dy: &[f32], x: &[f32], s: DenseShape) {
    db.fill(0.0);
    vector(
        #[inline(always)]
        || {
            for row in dy.chunks_exact(s.outputs.max(1)) {
                db.iter_mut().zip(row).for_each(|(sum, d)| *sum += d);
            }
        },
    );
    let dw = MatMut::from_row_major_slice_mut(dw, s.outputs, s.inputs);
    let dy = MatRef::from_row_major_slice(dy, s.rows, s.outputs);
    let x = MatRef::from_row_major_slice(x, s.rows, s.inputs);
    matmul(dw, Accum::Replace, dy.transpose(), x, 1.0, Par::Seq);
}

/// `dx = dy W`, or `dx += dy W`.
pub fn dense_input(dx: &mut [f32], add: bool, dy: &[f32], w: &[f32], s: DenseShape) {
    let dx = MatMut::from_row_major_slice_mut(dx, s.rows, s.inputs);
    let dy = MatRef::from_row_major_slice(dy, s.rows, s.outputs);
    let w = MatRef::from_row_major_slice(w, s.outputs, s.inputs);
    matmul(dx, if add { Accum::Add } else { Accum::Replace }, dy, w, 1.0, Par::Seq);
}
