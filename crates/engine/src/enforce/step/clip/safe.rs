//! Bounds enter; leave such in float32 that keep what these would, however they are rounded.

use deepsade_check::step::{CALM, Number};

use super::super::ends_over;
use super::{LearntBound, MARGIN};

/// How far a bound is inside where an upper one meets a lower one, or where all its terms are 0 somewhere, for each of its terms, as a share
/// of these at their largest: several times what rounding them costs.
const LOWERED: f64 = 1.0 / 4_194_304.0;

/// Whether all terms of a bound are 0 for some input: a share of them is nothing there.
pub(super) fn vanishes(bound: &LearntBound, ranges: &[(f32, f32)]) -> bool {
    bound.constant == 0.0 && bound.weights.iter().zip(ranges).all(|(w, (lo, hi))| *w == 0.0 || *lo <= 0.0 && *hi >= 0.0)
}

/// A bound in float32 that is a little inside, whatever rounding does: its weights and bias, and the ends between which it lies. If
/// `wholly`, it is inside by more than the rounding of its largest value, wherever it is.
pub(super) fn safe(bound: &LearntBound, ranges: &[(f32, f32)], wholly: bool) -> (Vec<f32>, f32, (f64, f64)) {
    let inward = if bound.upper { -1.0 } else { 1.0 };
    let mut bias = bound.constant + inward * MARGIN * bound.constant.abs();
    let mut weights = Vec::new();
    for (w, (lo, hi)) in bound.weights.iter().zip(ranges) {
        let (lo, hi) = (f64::from(*lo), f64::from(*hi));
        let side = if lo >= 0.0 {
            1.0
        } else if hi <= 0.0 {
            -1.0
        } else {
            0.0
        };
        if side == 0.0 {
            bias += inward * MARGIN * w.abs() * lo.abs().max(hi.abs());
        }
        weights.push((w + side * inward * MARGIN * w.abs()) as f32);
    }
    let ends = ends_over(0.0, weights.iter().copied().zip(ranges.iter().copied()));
    if wholly {
        let size = |(w, (lo, hi)): (&f64, &(f32, f32))| w.abs() * f64::from(lo.abs().max(hi.abs()));
        let terms = 4 + bound.weights.iter().filter(|w| **w != 0.0).count();
        bias += inward * LOWERED * terms as f64 * (bias.abs() + bound.weights.iter().zip(ranges).map(size).sum::<f64>());
    }
    let bias = if bias.abs() < f64::from(2f32.powi(CALM + 1)) { 0.0 } else { bias as f32 };
    (weights, bias, (ends.0 + f64::from(bias), ends.1 + f64::from(bias)))
}

/// A range that does not end at a tiny number.
pub(super) fn calm(n: Number) -> Number {
    let clear = |v: f32, end: f32| if v.abs() < 1e-20 { end } else { v };
    match n.grid {
        None => Number { lo: clear(n.lo, -1e-6), hi: clear(n.hi, 1e-6), grid: None },
        grid => Number { lo: n.lo.floor(), hi: n.hi.ceil(), grid },
    }
}
