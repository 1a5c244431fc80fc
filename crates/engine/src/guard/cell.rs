//! A cell of a rule's negation, in the units of training: empty on its region iff some multipliers make its atoms sum below zero.
//!
//! With y = W v + b (times the gate, if there is one) the sum of multiplier * atom is linear in v; its largest value over the
//! box m +- r of v is `q.m + |q|.r + constant`, with q the coefficients of v. That is the condition K' on W and b.

use deepsade_solve::kernel::vector;

use super::projection::LayerCut;
use crate::bounds::Boxed;

/// Two roundings of float32: what a constant output costs when its units change.
const CONSTANT: f64 = 2.0 * deepsade_net::ball::UNIT;
/// What is left of an output's coefficient where atoms cancel it, beside their sizes.
const CANCELLED: f64 = 1e-5;

/// What multipliers that have not moved sum to is no farther from 1.
const MOVED: f64 = 1e-9;

/// One atom: `a.y + c.v + gate * rho + d >= 0`, with y the outputs before the gate.
#[derive(Debug, Clone)]
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
    /// What the rule's own atom was divided by, beside 2^power.
    pub unit: f64,
    /// 0 but for an atom whose coefficients no float64 holds.
    pub power: isize,
}

impl Default for Term {
    /// `0 >= 0`.
    fn default() -> Self {
        Self { a: Vec::new(), c: Vec::new(), gate: 0.0, d: 0.0, free: false, unit: 1.0, power: 0 }
    }
}

impl Term {
    /// Whether it speaks of inputs alone, and needs a multiplier.
    fn is_condition(&self) -> bool {
        self.free && self.a.is_empty()
    }

    /// Divides it by a positive number.
    pub(super) fn in_unit(&mut self, unit: f64) {
        self.a.iter_mut().chain(&mut self.c).for_each(|(_, c)| *c /= unit);
        self.gate /= unit;
        self.d /= unit;
        self.unit *= unit;
    }

    /// Adds `l` times another one.
    pub(super) fn add(&mut self, l: f64, other: &Term) {
        let into = |to: &mut Vec<(usize, f64)>, from: &[(usize, f64)]| {
            for (k, c) in from {
                match to.iter_mut().find(|(at, _)| at == k) {
                    Some((_, sum)) => *sum += l * c,
                    None => to.push((*k, l * c)),
                }
            }
        };
        into(&mut self.a, &other.a);
        into(&mut self.c, &other.c);
        self.gate += l * other.gate;
        self.d += l * other.d;
    }
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
    /// The values of the gate to check: both ends of its range, or 1 where everything scales with it.
    pub rho: Vec<f64>,
    /// How often it was found not to be empty in this epoch.
    pub visits: u32,
    /// The multipliers that the data favour.
    pub favoured: Option<Vec<f64>>,
    /// One non-negative multiplier an atom, of sum 1.
    lambda: Vec<f64>,
    /// The sum of multiplier * atom.
    sum: Term,
    /// By how much that sum can change if every output changes by one.
    reach: f64,
}

/// The last layer, to be written: W row by row, and b.
pub struct LayerWeights<'a> {
    /// Weights, outputs x inputs.
    pub w: &'a mut [f32],
    /// Bias.
    pub b: &'a mut [f32],
}

/// Working memory for one cell: what [`Cell::read`] found.
#[derive(Debug, Clone, Default)]
pub struct CellScratch {
    /// Coefficients of v in alpha.(W v + b), alpha the outputs' coefficients in the sum.
    y: Vec<f64>,
    /// The same with absolute values.
    sizes: Vec<f64>,
    /// alpha.b, and the same with absolute values.
    bias: (f64, f64),
    /// The size of alpha.W v over the box.
    size: f64,
    q: Vec<f64>,
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
    /// A cell with the first atom that speaks of outputs as its only one in use.
    pub fn new(rule: usize, region: usize, atoms: Vec<Term>, rho: Vec<f64>) -> Self {
        let first = atoms.iter().position(|a| a.free).unwrap_or(0);
        let mut cell =
            Self { rule, region, atoms, rho, visits: 0, favoured: None, lambda: Vec::new(), sum: Term::default(), reach: 0.0 };
        cell.use_only(first);
        cell
    }

    /// Its multipliers.
    pub fn lambda(&self) -> &[f64] {
        &self.lambda
    }

    /// Whether there is a choice of multipliers.
    pub fn has_choice(&self) -> bool {
        self.atoms.iter().filter(|a| a.free).count() > 1
    }

    /// Takes these multipliers.
    pub fn weigh(&mut self, lambda: &[f64]) {
        self.lambda.clear();
        self.lambda.extend_from_slice(lambda);
        let mut sum = Term { free: true, ..Term::default() };
        self.atoms.iter().zip(lambda).filter(|(_, l)| **l > 0.0).for_each(|(atom, l)| sum.add(*l, atom));
        // A certificate's multipliers have so many digits: an output that cancels beyond them is not in the sum, however large it is.
        let of = |atom: &Term, j: usize| atom.a.iter().filter(|(k, _)| *k == j).map(|(_, a)| a.abs()).sum::<f64>();
        let size = |j: usize| self.atoms.iter().zip(lambda).map(|(atom, l)| l * of(atom, j)).sum::<f64>();
        sum.a.retain(|(j, a)| a.abs() > CANCELLED * size(*j));
        let reach = |(atom, l): (&Term, &f64)| l * atom.a.iter().map(|(_, a)| a.abs()).sum::<f64>();
        self.reach = self.atoms.iter().zip(lambda).map(reach).sum();
        self.sum = sum;
    }

    /// What it says with its multipliers: cells that say the same are empty together.
    pub(super) fn says(&self) -> (usize, Vec<u64>) {
        let sorted = |terms: &[(usize, f64)]| {
            let mut terms: Vec<(usize, f64)> = terms.to_vec();
            terms.sort_unstable_by_key(|(k, _)| *k);
            terms.into_iter().flat_map(|(k, c)| [k as u64, c.to_bits()]).collect::<Vec<u64>>()
        };
        let numbers = self.rho.iter().chain([&self.sum.gate, &self.sum.d, &self.reach]).map(|x| x.to_bits());
        let outputs = [self.sum.a.len() as u64].into_iter().chain(sorted(&self.sum.a));
        (self.region, numbers.chain(outputs).chain(sorted(&self.sum.c)).collect())
    }

    /// Of some atoms the one that constant outputs break most, in the middle of the box of the cell's region.
    pub(super) fn most_broken(&self, among: impl Iterator<Item = usize>, outputs: &[f64], v: &Boxed) -> Option<usize> {
        let rho = self.rho.iter().sum::<f64>() / self.rho.len() as f64;
        let value = |i: usize| {
            let Term { a, c, gate, d, .. } = &self.atoms[i];
            let outputs: f64 = a.iter().map(|(j, a)| a * outputs[*j]).sum();
            rho * (outputs + gate) + c.iter().map(|(k, c)| c * f64::from(v.m[*k])).sum::<f64>() + d
        };
        among.min_by(|i, k| value(*i).total_cmp(&value(*k)))
    }

    /// The conditions on inputs whose multipliers may move together with W and b: with those of the other atoms as they are, K' is
    /// convex in all of them.
    pub(super) fn conditions(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.atoms.len()).filter(|i| self.atoms[*i].is_condition())
    }

    /// Of such multipliers those of atoms about outputs; of all of them if there is no other.
    pub(super) fn weight_of_outputs(&self, lambda: &[f64]) -> f64 {
        let weight = |conditions: bool| {
            let of = self.atoms.iter().zip(lambda).filter(|(a, _)| a.free && a.is_condition() == conditions);
            of.map(|(_, l)| l).sum::<f64>()
        };
        let all = self.atoms.iter().all(|a| !a.free || a.is_condition());
        weight(all)
    }

    /// How freely the multipliers of its conditions move: as the outputs do.
    pub(super) fn freedom(&self) -> f64 {
        self.sum.a.iter().map(|(_, a)| a * a).sum::<f64>()
    }

    /// Tells a cut what the conditions are at its point, if their multipliers may move.
    pub(super) fn turns(&self, may: bool, cut: &mut LayerCut) {
        let value = |Term { c, gate, d, .. }: &Term| c.iter().map(|(k, c)| c * cut.point[*k]).sum::<f64>() + cut.rho * gate + d;
        cut.conditions.clear();
        cut.conditions.extend(self.conditions().filter(|_| may).map(|i| value(&self.atoms[i])));
        cut.freedom = self.freedom();
    }

    /// Adds to the multipliers of its conditions.
    pub(super) fn turn(&mut self, by: &[f64]) {
        let mut lambda = self.lambda.clone();
        self.conditions().zip(by).for_each(|(i, by)| lambda[i] = (lambda[i] + by).max(0.0));
        self.weigh(&lambda);
    }

    /// Brings its multipliers back to a sum of 1, if they have moved.
    pub(super) fn settle(&mut self) {
        let sum: f64 = self.lambda.iter().sum();
        if sum > 0.0 && sum.is_finite() && (sum - 1.0).abs() > MOVED {
            let lambda: Vec<f64> = self.lambda.iter().map(|l| l / sum).collect();
            self.weigh(&lambda);
        }
    }

    /// Takes one atom alone.
    pub fn use_only(&mut self, atom: usize) {
        let alone: Vec<f64> = (0..self.atoms.len()).map(|k| f64::from(u8::from(k == atom))).collect();
        self.weigh(&alone);
    }

    /// Brings the outputs' coefficients in the weighted sum through W and b into the scratch.
    pub fn read(&self, layer: &LayerWeights, v: &Boxed, scratch: &mut CellScratch) {
        let n = v.m.len();
        scratch.y.clear();
        scratch.y.resize(n, 0.0);
        scratch.sizes.clear();
        scratch.sizes.resize(n, 0.0);
        scratch.bias = (0.0, 0.0);
        vector(
            #[inline(always)]
            || {
                for (j, a) in &self.sum.a {
                    let bias = a * f64::from(layer.b[*j]);
                    scratch.bias = (scratch.bias.0 + bias, scratch.bias.1 + bias.abs());
                    let rows = layer.w[j * n..(j + 1) * n].iter().zip(scratch.y.iter_mut().zip(&mut scratch.sizes));
                    for (w, (y, size)) in rows {
                        let through = a * f64::from(*w);
                        *y += through;
                        *size += through.abs();
                    }
                }
                scratch.size = sum_up(n, |i| scratch.sizes[i] * f64::from(v.m[i].abs() + v.r[i]));
            },
        );
    }

    /// The excess; the layer must have been read.
    pub fn slack(&self, v: &Boxed, margin: Margin, scratch: &CellScratch) -> Slack {
        let mut worst = Slack { excess: f64::NEG_INFINITY, rho: 1.0, margin: 0.0 };
        for &rho in &self.rho {
            let term = |i: usize, q: f64| q * f64::from(v.m[i]) + q.abs() * f64::from(v.r[i]);
            let mut most = vector(
                #[inline(always)]
                || sum_up(v.m.len(), |i| term(i, rho * scratch.y[i])),
            );
            // Few features have coefficients of their own.
            most +=
                self.sum.c.iter().map(|(k, c)| term(*k, rho * scratch.y[*k] + c) - term(*k, rho * scratch.y[*k])).sum::<f64>();
            let margin = self.margin(rho, v, margin, scratch);
            let excess = most + self.constant(rho, scratch) + margin;
            if excess > worst.excess || excess.is_nan() {
                worst = Slack { excess, rho, margin };
            }
        }
        worst
    }

    fn constant(&self, rho: f64, scratch: &CellScratch) -> f64 {
        rho * (scratch.bias.0 + self.sum.gate) + self.sum.d
    }

    /// What the rounding of the last layer and of this computation may cost. A sum of constants does not round.
    pub(super) fn margin(&self, rho: f64, v: &Boxed, margin: Margin, scratch: &CellScratch) -> f64 {
        let features: f64 = self.sum.c.iter().map(|(k, c)| c.abs() * f64::from(v.m[*k].abs() + v.r[*k])).sum();
        let size = rho.abs();
        let constants = size * scratch.bias.1 + self.sum.d.abs() + (rho * self.sum.gate).abs();
        let constant = scratch.size == 0.0 && features == 0.0 && self.rho.len() == 1 && self.sum.gate == 0.0;
        let rounding = if constant {
            CONSTANT.min(margin.relative) * constants
        } else {
            margin.relative * (size * scratch.size + features + constants)
        };
        rounding + margin.absolute * size * self.reach + 1e-30
    }

    /// The coefficients of v in the weighted sum; the layer must have been read.
    fn coefficients<'s>(&self, rho: f64, scratch: &'s mut CellScratch) -> &'s [f64] {
        scratch.q.clear();
        scratch.q.extend(scratch.y.iter().map(|y| rho * y));
        self.sum.c.iter().for_each(|(k, c)| scratch.q[*k] += c);
        &scratch.q
    }

    /// On which side of each box the weighted sum is largest: -1, 0 or 1.
    pub(super) fn sides(&self, rho: f64, scratch: &mut CellScratch, sides: &mut Vec<f64>) {
        let side = |q: &f64| if *q == 0.0 { 0.0 } else { q.signum() };
        sides.clear();
        sides.extend(self.coefficients(rho, scratch).iter().map(side));
    }

    /// The weighted sum at a point, without a margin.
    pub(super) fn value(&self, rho: f64, point: &[f64], scratch: &CellScratch) -> f64 {
        let outputs = sum_up(point.len(), |i| scratch.y[i] * point[i]);
        rho * outputs + self.sum.c.iter().map(|(k, c)| c * point[*k]).sum::<f64>() + self.constant(rho, scratch)
    }

    /// The excess with the hidden units tied to the input: for each value of the gate the form at the point that `relate` gives for
    /// its coefficients, with what float32 may add there, or over the box if that is smaller. Leaves the worst one's point.
    pub fn related(
        &self,
        (v, errors): (&Boxed, &[f32]),
        margin: Margin,
        relate: &mut impl FnMut(&[f64], &mut Vec<f64>),
        scratch: &mut CellScratch,
        worst_point: &mut Vec<f64>,
    ) -> Slack {
        let mut worst = Slack { excess: f64::NEG_INFINITY, rho: 1.0, margin: 0.0 };
        let mut point = Vec::new();
        for &rho in &self.rho {
            let q = self.coefficients(rho, scratch);
            relate(q, &mut point);
            let corner = |i: usize| f64::from(v.m[i]) + if q[i] == 0.0 { 0.0 } else { q[i].signum() * f64::from(v.r[i]) };
            let mut added = sum_up(q.len(), |i| q[i].abs() * f64::from(errors[i]));
            if sum_up(q.len(), |i| q[i] * corner(i)) < sum_up(q.len(), |i| q[i] * point[i]) + added {
                point.clear();
                point.extend((0..q.len()).map(corner));
                added = 0.0;
            }
            let margin = self.margin(rho, v, margin, scratch) + added;
            let excess = self.value(rho, &point, scratch) + margin;
            if excess > worst.excess || excess.is_nan() {
                worst = Slack { excess, rho, margin };
                std::mem::swap(worst_point, &mut point);
            }
        }
        worst
    }

    /// The weights of the outputs in the weighted sum; their squared norm.
    pub(super) fn alpha(&self, rho: f64, outputs: usize, alpha: &mut Vec<f64>) -> f64 {
        alpha.clear();
        alpha.resize(outputs, 0.0);
        self.sum.a.iter().for_each(|(j, a)| alpha[*j] = rho * a);
        self.sum.a.iter().map(|(_, a)| (rho * a).powi(2)).sum()
    }

    /// Moves W and b as little as possible so that the excess at `slack.rho` becomes at most 0; false if it can't.
    ///
    /// The sum depends on W and b through g = W'alpha and beta = alpha.b alone, and the smallest change that moves these by dg
    /// and dbeta is alpha dg' / |alpha|^2. The nearest (g, beta) solves a scalar equation: for a step mu the coefficients q
    /// become soft(q - mu m, mu r), and the excess falls with mu.
    pub fn project(&self, slack: Slack, layer: &mut LayerWeights, v: &Boxed, scratch: &mut CellScratch) -> bool {
        let constant = self.constant(slack.rho, scratch);
        let mut alpha = std::mem::take(&mut scratch.alpha);
        let norm = self.alpha(slack.rho, layer.b.len(), &mut alpha);
        let q = self.coefficients(slack.rho, scratch);
        let mu = if norm > 0.0 && norm.is_finite() { root(q, v, constant + 1.5 * slack.margin) } else { None };
        if let Some(mu) = mu {
            let step = |(q, (m, r)): (&f64, (&f32, &f32))| step(*q, f64::from(*m), f64::from(*r), mu) - q;
            let moved: Vec<f64> = q.iter().zip(v.m.iter().zip(&v.r)).map(step).collect();
            alpha.iter_mut().for_each(|a| *a /= norm);
            move_layer(layer, &alpha, &moved, -mu);
            scratch.moved = moved;
        }
        scratch.alpha = alpha;
        mu.is_some()
    }
}

/// Adds `alpha [moved; bias]'` to W and b.
pub(super) fn move_layer(layer: &mut LayerWeights, alpha: &[f64], moved: &[f64], bias: f64) {
    let n = moved.len();
    vector(
        #[inline(always)]
        || {
            for (j, alpha) in alpha.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                layer.b[j] = (f64::from(layer.b[j]) + alpha * bias) as f32;
                for (w, moved) in layer.w[j * n..(j + 1) * n].iter_mut().zip(moved) {
                    *w = (f64::from(*w) + alpha * moved) as f32;
                }
            }
        },
    );
}

/// A sum in several lanes, which a single one would serialise.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled with the caller's vector instructions")]
pub(super) fn sum_up(n: usize, term: impl Fn(usize) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let whole = n - n % LANES;
    for at in (0..whole).step_by(LANES) {
        for (l, lane) in lanes.iter_mut().enumerate() {
            *lane += term(at + l);
        }
    }
    let halves = [lanes[0] + lanes[4], lanes[1] + lanes[5], lanes[2] + lanes[6], lanes[3] + lanes[7]];
    ((halves[0] + halves[1]) + (halves[2] + halves[3])) + (whole..n).map(term).sum::<f64>()
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
