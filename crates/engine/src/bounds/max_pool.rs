//! The largest column of each window.
//!
//! The largest of the lower ends and the largest of the upper ends hold it. A form takes the end of that interval, as behind a gate.

use deepsade_net::Window;

use super::{Boxed, UNIT};

pub(super) fn interval(out: &mut Boxed, x: &Boxed, window: &Window) {
    let mut columns = Vec::new();
    for o in 0..out.m.len() {
        window.columns_of(o, &mut columns);
        let most = |end: &dyn Fn(usize) -> f32| columns.iter().map(|c| end(*c)).fold(f32::NEG_INFINITY, f32::max);
        let (lo, hi) = (most(&|c| x.m[c] - x.r[c]), most(&|c| x.m[c] + x.r[c]));
        out.m[o] = f32::midpoint(lo, hi);
        out.r[o] = (hi - lo) * 0.5 + 4.0 * UNIT * (lo.abs() + hi.abs());
    }
}

/// The largest number moves by no more than the one that moves most.
pub(super) fn errors(out: &mut Vec<f32>, errors: &[f32], window: &Window) {
    let mut columns = Vec::new();
    for o in 0..window.results() {
        window.columns_of(o, &mut columns);
        out.push(columns.iter().map(|c| errors[*c]).fold(f32::MIN_POSITIVE, f32::max));
    }
}
