//! A cell of a rule's negation, in the units of training: empty on its region iff some multipliers make its atoms sum below zero.
//!
//! With y = W v + b (times the gate, if there is one) the sum of multiplier * atom is linear in v; its largest value over the
//! box m +- r of v is `q.m + |q|.r + constant`, with q the coefficients of v. That is the condition K' on W and b.

use super::metric::Metric;
use crate::bounds::Boxed;

/// One atom: `a.y + c.v + gate * rho + d >= 0`, with y the outputs before the gate.
#[derive(Debug, Clone, Default)]
pub struct Term {
    /// Coefficients of outputs.
    pub a: Vec<(usize, f64)>,
    /// Coefficients of what the last layer reads straight from the input.
    pub c: Vec<(usize, f64)>,
    /// Coefficient of the gate's feature, in its training units.
    pub gate: f64,
    /// The constant.
    pub d: f64,
    /// False for conditions on one input alone: they cut the region, and need no multiplier.
    pub free: bool,
}

/// A conjunction of atoms that must be empty on a region.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The rule it comes from.
    pub rule: usize,
    /// Index of the boxes of its region.
    pub region: usize,
    /// Its atoms, as `deepsade_spec::cells` orders them.
    pub atoms: Vec<Term>,
    /// One non-negative multiplier an atom, of sum 1.
    pub lambda: Vec<f64>,
    /// How often it was found not to be empty in this epoch.
    pub visits: u32,
    /// The values of the gate to check: both ends of its range, or 1 where everything scales with it.
    pub rho: Vec<f64>,
}

/// The last layer, to be written: W row by row, and b.
pub struct Layer<'a> {
    /// Weights, outputs x inputs.
    pub w: &'a mut [f32],
    /// Bias.
    pub b: &'a mut [f32],
}

/// Working memory for one cell.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    /// For each atom: coefficients of v through W.
    p: Vec<Vec<f64>>,
    /// For each atom: its constant through b, and the size of all that was summed.
    p0: Vec<(f64, f64)>,
    q: Vec<f64>,
    /// Where the weighted sum is largest.
    corner: Vec<f64>,
    moved: Vec<f64>,
    alpha: Vec<f64>,
}

/// How far below zero a cell must stay: a share of the size of what is summed, for rounding, and a constant.
#[derive(Debug, Clone, Copy)]
pub struct Margin {
    /// Share of the size.
    pub relative: f64,
    /// Constant part, in units of the outputs that the atoms speak of.
    pub absolute: f64,
}

/// How far a cell is from being empty.
#[derive(Debug, Clone, Copy)]
pub struct Slack {
    /// The largest value of the weighted sum, the margin added: at most 0 if the cell is empty.
    pub excess: f64,
    /// The gate's value where it is largest.
    pub rho: f64,
    /// The margin that was added.
    pub margin: f64,
}

impl Cell {
    /// Brings the coefficients of the atoms in use through W into the scratch; of all atoms if `all`.
    pub fn read(&self, all: bool, layer: &Layer, v: &Boxed, scratch: &mut Scratch) {
        let n = v.m.len();
        scratch.p.resize_with(self.atoms.len().max(scratch.p.len()), Vec::new);
        scratch.p0.resize(self.atoms.len().max(scratch.p0.len()), (0.0, 0.0));
        for (i, atom) in self.atoms.iter().enumerate().filter(|(i, _)| all || self.lambda[*i] > 0.0) {
            let p = &mut scratch.p[i];
            p.clear();
            p.resize(n, 0.0);
            let (mut constant, mut size) = (0.0, 0.0);
            for (j, a) in &atom.a {
                let bias = f64::from(layer.b[*j]);
                constant += a * bias;
                size += (a * bias).abs();
                for ((p, w), (m, r)) in p.iter_mut().zip(&layer.w[j * n..(j + 1) * n]).zip(v.m.iter().zip(&v.r)) {
                    let through = a * f64::from(*w);
                    *p += through;
                    size += through.abs() * f64::from(m.abs() + r);
                }
            }
            scratch.p0[i] = (constant, size);
        }
    }

    /// The excess for multipliers `lambda`; the atoms must have been read.
    pub fn slack(&self, lambda: &[f64], v: &Boxed, margin: Margin, scratch: &mut Scratch) -> Slack {
        let mut worst = Slack { excess: f64::NEG_INFINITY, rho: 1.0, margin: 0.0 };
        for &rho in &self.rho {
            let (constant, size) = self.combine(lambda, rho, v, scratch);
            let most: f64 =
                scratch.q.iter().zip(v.m.iter().zip(&v.r)).map(|(q, (m, r))| q * f64::from(*m) + q.abs() * f64::from(*r)).sum();
            let margin = margin.relative * size + margin.absolute * self.reach(lambda, rho) + 1e-30;
            let excess = most + constant + margin;
            if excess > worst.excess || excess.is_nan() {
                worst = Slack { excess, rho, margin };
            }
        }
        worst
    }

    /// By how much the weighted sum can change if every output changes by one.
    fn reach(&self, lambda: &[f64], rho: f64) -> f64 {
        let atom = |(atom, l): (&Term, &f64)| l * rho * atom.a.iter().map(|(_, a)| a.abs()).sum::<f64>();
        self.atoms.iter().zip(lambda).map(atom).sum()
    }

    /// q and the constant of the weighted sum, and the size of what was summed.
    fn combine(&self, lambda: &[f64], rho: f64, v: &Boxed, scratch: &mut Scratch) -> (f64, f64) {
        scratch.q.clear();
        scratch.q.resize(v.m.len(), 0.0);
        let (mut constant, mut size) = (0.0, 0.0);
        for (i, (atom, l)) in self.atoms.iter().zip(lambda).enumerate().filter(|(_, (_, l))| **l > 0.0) {
            for (q, p) in scratch.q.iter_mut().zip(&scratch.p[i]) {
                *q += l * rho * p;
            }
            for (k, c) in &atom.c {
                scratch.q[*k] += l * c;
                size += (l * c).abs() * f64::from(v.m[*k].abs() + v.r[*k]);
            }
            let (p0, p_size) = scratch.p0[i];
            constant += l * (rho * p0 + atom.d + rho * atom.gate);
            size += l * (rho * p_size + atom.d.abs() + (rho * atom.gate).abs());
        }
        (constant, size)
    }

    /// The excess with the hidden units tied to the input: at `slack.rho` of each value of the gate, the form at the point that
    /// `relate` gives for its coefficients. Leaves the worst one's coefficients and point in the scratch.
    pub fn related(
        &self,
        v: &Boxed,
        margin: Margin,
        relate: &mut impl FnMut(&[f64], &mut Vec<f64>),
        scratch: &mut Scratch,
    ) -> Slack {
        let mut worst = Slack { excess: f64::NEG_INFINITY, rho: 1.0, margin: 0.0 };
        let mut point = Vec::new();
        for &rho in &self.rho {
            let (constant, size) = self.combine(&self.lambda, rho, v, scratch);
            relate(&scratch.q, &mut point);
            let most: f64 = scratch.q.iter().zip(&point).map(|(q, p)| q * p).sum();
            let margin = margin.relative * size + margin.absolute * self.reach(&self.lambda, rho) + 1e-30;
            let excess = most + constant + margin;
            if excess > worst.excess || excess.is_nan() {
                worst = Slack { excess, rho, margin };
                std::mem::swap(&mut scratch.corner, &mut point);
            }
        }
        worst
    }

    /// Moves W and b so that the weighted sum falls below zero at its present maximiser v, with the least change of the
    /// predictions that `metric` measures; false if it can't. Where another v is the maximiser then, the next sweep finds it.
    pub fn cut(&self, slack: Slack, layer: &mut Layer, v: &Boxed, metric: &Metric, scratch: &mut Scratch) -> bool {
        self.combine(&self.lambda, slack.rho, v, scratch);
        let corner = |(q, (m, r)): (&f64, (&f32, &f32))| f64::from(*m) + if *q == 0.0 { 0.0 } else { q.signum() * f64::from(*r) };
        scratch.corner.clear();
        scratch.corner.extend(scratch.q.iter().zip(v.m.iter().zip(&v.r)).map(corner));
        self.cut_at_corner(slack, layer, metric, scratch)
    }

    /// The same at the maximiser that the scratch holds.
    pub fn cut_at_corner(&self, slack: Slack, layer: &mut Layer, metric: &Metric, scratch: &mut Scratch) -> bool {
        let norm = self.alpha(slack.rho, layer.b.len(), scratch);
        if norm <= 0.0 || !norm.is_finite() {
            return false;
        }
        let bias = metric.apply(&scratch.corner, &mut scratch.moved);
        let gain = bias + scratch.corner.iter().zip(&scratch.moved).map(|(v, d)| v * d).sum::<f64>();
        // Half a margin further, so that rounding W to float32 does not undo it.
        let t = (slack.excess + 0.5 * slack.margin) / gain;
        if !(t.is_finite() && t > 0.0) {
            return false;
        }
        scratch.moved.iter_mut().for_each(|d| *d *= -t);
        move_layer(layer, &scratch.alpha, norm, &scratch.moved, -t * bias);
        true
    }

    /// The weights of the outputs in the weighted sum, into the scratch; their squared norm.
    fn alpha(&self, rho: f64, outputs: usize, scratch: &mut Scratch) -> f64 {
        scratch.alpha.clear();
        scratch.alpha.resize(outputs, 0.0);
        for (atom, l) in self.atoms.iter().zip(&self.lambda) {
            for (j, a) in &atom.a {
                scratch.alpha[*j] += l * rho * a;
            }
        }
        scratch.alpha.iter().map(|a| a * a).sum()
    }

    /// Moves W and b as little as possible so that the excess at `slack.rho` becomes at most 0; false if it can't.
    ///
    /// The sum depends on W and b through g = W'alpha and beta = alpha.b alone, and the smallest change that moves these by dg
    /// and dbeta is alpha dg' / |alpha|^2. The nearest (g, beta) solves a scalar equation: for a step mu the coefficients q
    /// become soft(q - mu m, mu r), and the excess falls with mu.
    pub fn project(&self, slack: Slack, layer: &mut Layer, v: &Boxed, scratch: &mut Scratch) -> bool {
        let (constant, _) = self.combine(&self.lambda, slack.rho, v, scratch);
        let norm = self.alpha(slack.rho, layer.b.len(), scratch);
        if norm <= 0.0 || !norm.is_finite() {
            return false;
        }
        let Some(mu) = root(&scratch.q, v, constant + 1.5 * slack.margin) else { return false };
        scratch.moved.clear();
        scratch
            .moved
            .extend(scratch.q.iter().zip(v.m.iter().zip(&v.r)).map(|(q, (m, r))| step(*q, f64::from(*m), f64::from(*r), mu) - q));
        move_layer(layer, &scratch.alpha, norm, &scratch.moved, -mu);
        true
    }
}

/// The smallest change of W and b that moves W'alpha by `moved` and alpha.b by `bias`.
fn move_layer(layer: &mut Layer, alpha: &[f64], norm: f64, moved: &[f64], bias: f64) {
    let n = moved.len();
    for (j, alpha) in alpha.iter().enumerate().filter(|(_, a)| **a != 0.0) {
        let factor = alpha / norm;
        layer.b[j] = (f64::from(layer.b[j]) + factor * bias) as f32;
        for (w, moved) in layer.w[j * n..(j + 1) * n].iter_mut().zip(moved) {
            *w = (f64::from(*w) + factor * moved) as f32;
        }
    }
}

/// The coefficient after a step of length mu: soft(q - mu m, mu r).
fn step(q: f64, m: f64, r: f64, mu: f64) -> f64 {
    let t = q - mu * m;
    t.signum() * (t.abs() - mu * r).max(0.0)
}

/// The step at which the excess is 0: Newton's method, kept between a step that is too short and one that is long enough.
fn root(q: &[f64], v: &Boxed, constant: f64) -> Option<f64> {
    let excess = |mu: f64| {
        let (mut sum, mut slope) = (constant - mu, -1.0);
        for (q, (m, r)) in q.iter().zip(v.m.iter().zip(&v.r)) {
            let (m, r) = (f64::from(*m), f64::from(*r));
            let q = step(*q, m, r, mu);
            sum += q * m + q.abs() * r;
            if q != 0.0 {
                slope -= (m + q.signum() * r).powi(2);
            }
        }
        (sum, slope)
    };
    let (mut short, mut long) = (0.0, f64::INFINITY);
    let mut mu = 0.0;
    for _ in 0..60 {
        let (value, slope) = excess(mu);
        if !value.is_finite() {
            return None;
        }
        if value > 0.0 {
            short = mu;
        } else {
            long = mu;
            if value > -1e-9 * constant.abs().max(1e-12) || long - short <= 1e-12 * long {
                return Some(mu);
            }
        }
        let next = mu - value / slope;
        mu = if next > short && next < long {
            next
        } else if long.is_finite() {
            f64::midpoint(short, long)
        } else {
            2.0 * mu + 1e-9
        };
        // A Newton step from below ends a hair short; lean to the feasible side.
        if mu == short {
            mu = short * (1.0 + 1e-12) + 1e-300;
        }
    }
    long.is_finite().then_some(long)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Boxed, root, step};

    fn excess(q: &[f64], v: &Boxed, constant: f64) -> f64 {
        q.iter().zip(v.m.iter().zip(&v.r)).map(|(q, (m, r))| q * f64::from(*m) + q.abs() * f64::from(*r)).sum::<f64>() + constant
    }

    #[test]
    fn without_radii_it_is_the_projection_on_a_half_space() {
        // q.m + c = 2 - 1 + 3 = 4 above the plane; |(m, 1)|^2 = 1 + 1 + 1: a step of 4/3.
        let v = Boxed { m: vec![1.0, -1.0], r: vec![0.0, 0.0] };
        let mu = root(&[2.0, 1.0], &v, 3.0).unwrap();
        assert!((mu - 4.0 / 3.0).abs() < 1e-9, "{mu}");
    }

    proptest! {
        #[test]
        fn it_is_feasible_and_nothing_feasible_is_nearer(
            parts in prop::collection::vec((-3.0f64..3.0, -2.0f32..2.0, 0.0f32..2.0), 1..6),
            offset in 0.01f64..5.0,
            others in prop::collection::vec(prop::collection::vec(-1.0f64..1.0, 7), 50),
        ) {
            let q: Vec<f64> = parts.iter().map(|p| p.0).collect();
            let v = Boxed { m: parts.iter().map(|p| p.1).collect(), r: parts.iter().map(|p| p.2).collect() };
            // Such that the present coefficients are infeasible by `offset`.
            let constant = offset - excess(&q, &v, 0.0);
            let mu = root(&q, &v, constant).unwrap();
            let near: Vec<f64> = (0..q.len()).map(|k| step(q[k], f64::from(v.m[k]), f64::from(v.r[k]), mu)).collect();
            let left = excess(&near, &v, constant - mu);
            prop_assert!((-1e-6..=1e-9).contains(&left), "on the border, inside: {left}");
            let squared = |q2: &[f64], shift: f64| q.iter().zip(q2).map(|(a, b)| (a - b).powi(2)).sum::<f64>() + shift * shift;
            let distance = squared(&near, mu);
            for other in others {
                let trial: Vec<f64> = near.iter().zip(&other).map(|(q, d)| q + 0.3 * d).collect();
                let shift = -mu + 0.3 * other[6];
                if excess(&trial, &v, constant + shift) <= 0.0 {
                    prop_assert!(squared(&trial, shift) >= distance - 1e-5 * distance);
                }
            }
        }
    }
}
