//! Choose: `y = table row k`, k the first column with the largest value. Exact: rows are copied.

use crate::{Ball, Matrix};

pub(crate) fn forward(table: &Matrix, x: &Matrix) -> Matrix {
    let mut y = Matrix::zeros(x.rows, table.cols);
    for r in 0..x.rows {
        y.row_mut(r).copy_from_slice(table.row(first_largest(x.row(r))));
    }
    y
}

/// Where the largest number stands; of equal ones the first.
pub fn first_largest(x: &[f32]) -> usize {
    let mut best = 0;
    for (k, v) in x.iter().enumerate() {
        if *v > x[best] {
            best = k;
        }
    }
    best
}

/// Near a tie a runtime that rounds otherwise may take another row: the ball of a column holds all of its numbers.
pub(crate) fn enclose(table: &Matrix) -> Vec<Ball> {
    let ball = |(lo, hi): (f32, f32)| {
        let (lo, hi) = (f64::from(lo), f64::from(hi));
        let centre = f64::midpoint(lo, hi);
        Ball { centre, radius: (hi - centre).max(centre - lo) }
    };
    table.column_ranges().map(ball).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_largest_columns_chooses_and_nothing_else_can_come_out() {
        let table = Matrix { rows: 3, cols: 2, data: vec![0.0, 1.0, 1.0, 0.0, 1.0, 1.0] };
        let x = Matrix { rows: 4, cols: 3, data: vec![1., 2., 2., 5., 5., 5., f32::NAN, 1., 2., -1., f32::INFINITY, 0.] };
        assert_eq!(forward(&table, &x).data, [1., 0., 0., 1., 0., 1., 1., 0.]);
        let balls = enclose(&table);
        assert!([0.0, 1.0].iter().all(|v| balls[0].contains(*v) && balls[1].contains(*v)));
    }
}
