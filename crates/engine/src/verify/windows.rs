//! A convolution or a pool and a vector enter; what it makes of them leaves, in float64, row by sparse row.

use deepsade_check::{WindowLines, window_lines, window_slope};
use deepsade_net::{Conv, Window};

/// What `of` says of each row.
pub(super) fn rows<T>(conv: &Conv, of: impl Fn(&[(usize, f32)]) -> T) -> Vec<T> {
    let mut row = Vec::new();
    let each = |o| {
        conv.row(o, &mut row);
        of(&row)
    };
    (0..conv.rows()).map(each).collect()
}

/// The ends of each window's largest number.
pub(super) fn ends(window: &Window, lo: &[f64], hi: &[f64]) -> Vec<(f64, f64)> {
    let mut columns = Vec::new();
    let each = |o| {
        window.columns_of(o, &mut columns);
        let most = |ends: &[f64]| columns.iter().fold(f64::NEG_INFINITY, |most, c| most.max(ends[*c]));
        (most(lo), most(hi))
    };
    (0..window.results()).map(each).collect()
}

/// The column of each window's largest number, the first of several.
pub(super) fn largest(window: &Window, x: &[f64]) -> impl Iterator<Item = usize> {
    let mut columns = Vec::new();
    let each = |o| {
        window.columns_of(o, &mut columns);
        let first = columns.first().copied().unwrap_or(0);
        columns.iter().fold(first, |best, c| if x[*c] > x[best] { *c } else { best })
    };
    (0..window.results()).map(each).collect::<Vec<_>>().into_iter()
}

/// Lines above and below the largest of some columns: column, slope and offset of each, as the checker chooses them.
pub(super) fn lines(columns: &[usize], lo: &[f64], hi: &[f64]) -> [(usize, f64, f64); 2] {
    let WindowLines { below, above, others } = window_lines(columns, &|c| lo[c], &|c| hi[c]);
    let (l, u) = (lo[above], hi[above]);
    let s = f64::from(window_slope(l, u, others));
    let end = |v: f64| others.map_or(v, |r| r.max(v)) - s * v;
    [(above, s, end(l).max(end(u))), (below, 1.0, 0.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line above is nowhere below the largest number of a box, and one below nowhere above it.
    #[test]
    fn lines_hold_on_every_point_of_a_grid() {
        let boxes =
            [([-1.0, 0.5, -3.0], [2.0, 1.0, 0.25]), ([0.0, 0.0, 0.0], [1.0, 2.0, 1.5]), ([3.0, 0.0, 1.0], [4.0, 2.0, 1.0])];
        for (lo, hi) in boxes {
            let [above, below] = lines(&[0, 1, 2], &lo, &hi);
            for point in 0..5usize.pow(3) {
                let at = |i: usize| lo[i] + (hi[i] - lo[i]) * ((point / 5usize.pow(i as u32)) % 5) as f64 / 4.0;
                let most = (0..3).map(at).fold(f64::NEG_INFINITY, f64::max);
                assert!(at(above.0) * above.1 + above.2 >= most - 1e-6);
                assert!(at(below.0) * below.1 + below.2 <= most + 1e-6);
            }
        }
        // Where one column is the largest everywhere the lines are that column.
        assert_eq!(lines(&[0, 1, 2], &boxes[2].0, &boxes[2].1), [(0, 1.0, 0.0); 2]);
    }
}
