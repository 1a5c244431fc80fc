//! A linear objective and linear conditions on a box enter; the weights of the conditions that bound the objective best leave.
//!
//! With `c . x` to be bounded from above where `g_j . x + h_j >= 0` and l <= x <= u, every w >= 0 gives the bound
//! `sum w_j h_j + max over the box of (c + sum w_j g_j) . x`. The least of these bounds is the maximum itself, so the weights are the
//! dual solution of the program in x.

use crate::simplex::{Simplex, Status};

/// A condition `g . x + h >= 0`.
#[derive(Debug, Clone)]
pub struct Condition {
    /// One number a column.
    pub g: Vec<f64>,
    /// The offset.
    pub h: f64,
}

/// Exchanges before the weights are taken as they are.
const EXCHANGES: usize = 400;
/// How far to go where the bound falls without end: no x meets the conditions.
const FAR: f64 = 1e6;

/// The weights.
pub fn weights(c: &[f64], conditions: &[Condition], lo: &[f64], hi: &[f64]) -> Vec<f64> {
    let n = c.len();
    // Every column runs from -1 to 1: features of all sizes count alike.
    let middle: Vec<f64> = lo.iter().zip(hi).map(|(l, u)| (l + u) / 2.0).collect();
    let half: Vec<f64> = lo.iter().zip(hi).map(|(l, u)| (u - l) / 2.0).collect();
    let mut program = Simplex::new(c.iter().zip(&half).map(|(c, r)| -c * r).collect(), vec![-1.0; n], vec![1.0; n]);
    for Condition { g, h } in conditions {
        let row: Vec<(usize, f64)> = g.iter().zip(&half).map(|(g, r)| g * r).enumerate().collect();
        program.add_row(&row, h + g.iter().zip(&middle).map(|(g, m)| g * m).sum::<f64>());
    }
    let status = program.solve(EXCHANGES);
    let mut w = program.weights();
    if status == Status::Infeasible {
        let far = FAR * (1.0 + w.iter().fold(0.0f64, |m, v| m.max(*v)));
        w.iter_mut().zip(program.ray()).for_each(|(w, r)| *w += far * r);
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(c: &[f64], conditions: &[Condition], lo: &[f64], hi: &[f64]) -> f64 {
        let w = weights(c, conditions, lo, hi);
        let constant: f64 = w.iter().zip(conditions).map(|(w, k)| w * k.h).sum();
        let total = |i: usize| c[i] + w.iter().zip(conditions).map(|(w, k)| w * k.g[i]).sum::<f64>();
        constant + (0..c.len()).map(|i| (total(i) * lo[i]).max(total(i) * hi[i])).sum::<f64>()
    }

    #[test]
    fn the_bound_is_the_maximum() {
        // x + y where x + 2 y <= 1 on [-1, 1]^2: at (1, 0).
        let one = Condition { g: vec![-1.0, -2.0], h: 1.0 };
        assert!((bound(&[1.0, 1.0], std::slice::from_ref(&one), &[-1.0; 2], &[1.0; 2]) - 1.0).abs() < 1e-9);
        // And y >= x: at (1/3, 1/3).
        let two = Condition { g: vec![-1.0, 1.0], h: 0.0 };
        assert!((bound(&[1.0, 1.0], &[one.clone(), two], &[-1.0; 2], &[1.0; 2]) - 2.0 / 3.0).abs() < 1e-9);
        // And x >= 3: nowhere.
        let three = Condition { g: vec![1.0, 0.0], h: -3.0 };
        assert!(bound(&[1.0, 1.0], &[one, three], &[-1.0; 2], &[1.0; 2]) < -1e3);
        assert_eq!(bound(&[1.0, -1.0], &[], &[-1.0; 2], &[1.0; 2]), 2.0);
    }
}
