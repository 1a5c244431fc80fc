//! Gate: `y_i = x_i g`, with g a single column.

use crate::Matrix;
use crate::ball::{Ball, SLACK, TINY, UNIT};

pub(crate) fn forward(x: &Matrix, gate: &Matrix) -> Matrix {
    let mut y = Matrix::zeros(x.rows, x.cols);
    for r in 0..x.rows {
        let g = gate.row(r)[0];
        for (y, x) in y.row_mut(r).iter_mut().zip(x.row(r)) {
            *y = x * g;
        }
    }
    y
}

/// `|xg - x'g'| <= |x| dg + |g| dx + dx dg`, then one rounding of a product no larger than `(|x| + dx) (|g| + dg)`.
pub(crate) fn enclose(x: &[Ball], gate: &[Ball]) -> Vec<Ball> {
    let g = gate[0];
    x.iter()
        .map(|x| {
            let carried = x.centre.abs() * g.radius + g.centre.abs() * x.radius + x.radius * g.radius;
            let rounding = UNIT * x.size() * g.size() + TINY * (1.0 + x.size() + g.size());
            Ball { centre: x.centre * g.centre, radius: (carried + rounding) * SLACK }
        })
        .collect()
}
