//! Affine: `y_i = scale_i x_i + shift_i`.

use crate::Matrix;
use crate::ball::{Ball, dot};

pub(crate) fn forward(scale: &[f32], shift: &[f32], x: &Matrix) -> Matrix {
    let mut y = Matrix::zeros(x.rows, x.cols);
    for r in 0..x.rows {
        for (((y, x), s), t) in y.row_mut(r).iter_mut().zip(x.row(r)).zip(scale).zip(shift) {
            *y = x * s + t;
        }
    }
    y
}

/// A dot product of one term. Where the exported graph writes a diagonal matrix its other products are zeros, which add exactly.
pub(crate) fn enclose(scale: &[f32], shift: &[f32], x: &[Ball]) -> Vec<Ball> {
    x.iter().zip(scale).zip(shift).map(|((x, s), t)| dot(std::slice::from_ref(s), std::slice::from_ref(x), *t)).collect()
}
