//! Multipliers for a given last layer: the weights of a cell's atoms that push the largest value of their sum furthest down.
//!
//! That value is convex in the multipliers, so along the line between any two of them a golden-section search finds its minimum;
//! sweeps over all pairs go on while they help.

use super::cell::{Cell, Margin, Scratch, Slack};
use crate::bounds::Boxed;

const GOLDEN: f64 = 0.618_033_988_749_894_9;
const SWEEPS: usize = 6;

/// Improves `cell.lambda` until the cell is empty or no pair helps; the atoms must have been read.
pub fn improve(cell: &mut Cell, v: &Boxed, margin: Margin, scratch: &mut Scratch) -> Slack {
    let mut lambda = cell.lambda.clone();
    let mut best = cell.slack(&lambda, v, margin, scratch);
    let free: Vec<usize> = (0..cell.atoms.len()).filter(|i| cell.atoms[*i].free).collect();
    // Each atom alone first: often one of them does it.
    for &i in &free {
        let alone: Vec<f64> = (0..cell.atoms.len()).map(|k| f64::from(u8::from(k == i))).collect();
        let slack = cell.slack(&alone, v, margin, scratch);
        if slack.excess < best.excess {
            (lambda, best) = (alone, slack);
        }
    }
    for _ in 0..SWEEPS {
        let before = best.excess;
        for &i in &free {
            for &k in free.iter().filter(|k| **k > i) {
                if best.excess <= 0.0 {
                    cell.lambda = lambda;
                    return best;
                }
                let total = lambda[i] + lambda[k];
                if let Some(found) = along(cell, &lambda, (i, k), total.max(1e-3), v, margin, scratch)
                    && found.1.excess < best.excess
                {
                    (lambda, best) = found;
                }
            }
        }
        if best.excess >= before - 1e-9 * before.abs() {
            break;
        }
    }
    cell.lambda = lambda;
    best
}

/// The best share of `total` between two atoms.
fn along(
    cell: &Cell,
    lambda: &[f64],
    (i, k): (usize, usize),
    total: f64,
    v: &Boxed,
    margin: Margin,
    scratch: &mut Scratch,
) -> Option<(Vec<f64>, Slack)> {
    let at = |share: f64| {
        let mut trial = lambda.to_vec();
        (trial[i], trial[k]) = (share * total, (1.0 - share) * total);
        trial
    };
    let mut excess = |share: f64| cell.slack(&at(share), v, margin, scratch).excess;
    let (mut lo, mut hi) = (0.0, 1.0);
    let (mut a, mut b) = (hi - GOLDEN * (hi - lo), lo + GOLDEN * (hi - lo));
    let (mut fa, mut fb) = (excess(a), excess(b));
    for _ in 0..30 {
        if fa < fb {
            (hi, b, fb) = (b, a, fa);
            a = hi - GOLDEN * (hi - lo);
            fa = excess(a);
        } else {
            (lo, a, fa) = (a, b, fb);
            b = lo + GOLDEN * (hi - lo);
            fb = excess(b);
        }
    }
    let trial = at(f64::midpoint(lo, hi));
    let slack = cell.slack(&trial, v, margin, scratch);
    slack.excess.is_finite().then_some((trial, slack))
}
