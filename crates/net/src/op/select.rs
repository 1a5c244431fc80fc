//! Select: `y_k = x_columns[k]`. Exact: in the exported graph all other products are zeros, and adding zeros is exact.

use crate::{Ball, Matrix};

pub(crate) fn forward(columns: &[usize], x: &Matrix) -> Matrix {
    let mut y = Matrix::zeros(x.rows, columns.len());
    for r in 0..x.rows {
        let x = x.row(r);
        for (y, &c) in y.row_mut(r).iter_mut().zip(columns) {
            *y = x[c];
        }
    }
    y
}

pub(crate) fn enclose(columns: &[usize], x: &[Ball]) -> Vec<Ball> {
    columns.iter().map(|&c| x[c]).collect()
}
