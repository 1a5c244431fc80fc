//! Concat: `y = [x_1 ; x_2 ; ...]`, column blocks side by side.

use crate::Matrix;

pub(crate) fn forward(parts: &[&Matrix]) -> Matrix {
    let rows = parts[0].rows;
    let mut y = Matrix::zeros(rows, parts.iter().map(|p| p.cols).sum());
    for r in 0..rows {
        let mut rest = y.row_mut(r);
        for part in parts {
            let (here, after) = rest.split_at_mut(part.cols);
            here.copy_from_slice(part.row(r));
            rest = after;
        }
    }
    y
}
