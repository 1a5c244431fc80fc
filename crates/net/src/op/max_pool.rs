//! Max pool: `y = the largest x of a window`, channel by channel. Exact: a number is copied.

use super::window::Window;
use crate::{Ball, Matrix};

pub(crate) fn forward(window: &Window, x: &Matrix) -> Matrix {
    let mut y = Matrix::zeros(x.rows, window.results());
    let mut read = Vec::new();
    for o in 0..y.cols {
        window.columns_of(o, &mut read);
        for r in 0..x.rows {
            let from = x.row(r);
            // What is not a number stays so.
            let larger = |most: f32, i: &usize| if from[*i] > most || from[*i].is_nan() { from[*i] } else { most };
            y.row_mut(r)[o] = read.iter().fold(f32::NEG_INFINITY, larger);
        }
    }
    y
}

/// The largest of several numbers lies between the largest of their lower and the largest of their upper ends.
pub(crate) fn enclose(window: &Window, x: &[Ball]) -> Vec<Ball> {
    let mut read = Vec::new();
    let each = (0..window.results()).map(|o| {
        window.columns_of(o, &mut read);
        let most = |end: &dyn Fn(&Ball) -> f64| read.iter().map(|i| end(&x[*i])).fold(f64::NEG_INFINITY, f64::max);
        let (lo, hi) = (most(&|b| b.centre - b.radius), most(&|b| b.centre + b.radius));
        let centre = f64::midpoint(lo, hi);
        Ball { centre, radius: (hi - centre).max(centre - lo) * crate::ball::SLACK }
    });
    each.collect()
}
