//! A network, and a last layer for which the rules hold, enter; one that changes the outputs less leaves, with its proof.
//!
//! What the last layer reads does not change, so at one input every rule is a condition on the last layer that is linear in it. The
//! smallest change that meets the conditions at some inputs is a quadratic program; `verify` then proves the rules or gives one
//! input more. The distance is that of the outputs on the rows. Conditions are asked to hold by more and more, so that this ends. Where
//! it does not in time, or labels score the result worse than the last layer that is known to be safe, layers between
//! the two are tried.

use std::time::{Duration, Instant};

use deepsade_net::{Matrix, Network, Op};
use deepsade_output::Judge;
use deepsade_solve::active_set::{HalfSpace, Infeasible, nearest};
use deepsade_solve::cholesky::Cholesky;
use deepsade_spec::{Atom, NormalSpec, Var};

use crate::proof::Certified;
use crate::verify::{Outcome, Undecided, VerifySettings, nearest_cell, verify};

/// Inputs that are taken into account one after the other.
const ROUNDS: usize = 400;
/// Shares of the last layer that is safe, in those between it and the one that is almost so: the smaller, the longer the proof.
const SHARES: [f32; 7] = [0.75, 0.5, 0.35, 0.25, 0.12, 0.06, 0.03];
/// What conditions are asked to hold by at first, as a share of the outputs' size: then a few inputs stand for all those near them;
const SPARE: f64 = 1e-3;
/// and twice as much after so many inputs.
const PATIENCE: usize = 8;
/// The part of the time that one proof may take before layers nearer to the safe one are tried, which have shorter proofs.
const SHORT: u32 = 6;

/// A network and where its last layer is.
pub(super) struct Shrink<'a> {
    pub spec: &'a NormalSpec,
    /// With the last layer as it was before the repair.
    pub network: &'a Network,
    /// The node of the last layer.
    pub at: usize,
    /// Rows on which the outputs should change little.
    pub rows: &'a Matrix,
    /// Columns that the last layer reads and whose weights may move; the bias may, too.
    pub free: &'a [bool],
    /// Seconds for everything.
    pub time: Duration,
    /// Whether labels score a network worse than the safe one.
    pub worse: &'a dyn Fn(&Network) -> bool,
    pub interrupted: &'a (dyn Fn() -> bool + Sync),
}

/// Conditions `g . u >= h` on the change u, with `|g| = 1`, in coordinates in which its size is the change of the outputs.
#[derive(Default)]
struct Conditions {
    g: Vec<Vec<f64>>,
    h: Vec<f64>,
    /// What g was divided by.
    length: Vec<f64>,
}

impl Shrink<'_> {
    /// A nearer last layer than `safe`, if one was found; both with everything before them.
    pub fn run(&self, safe: &Network) -> Option<(Network, Box<Certified>)> {
        if self.time.is_zero() {
            return None;
        }
        let started = Instant::now();
        let left = || self.time.saturating_sub(started.elapsed());
        let read = self.read(self.rows);
        let factor = spread(&read);
        let outputs = self.network.forward(self.rows);
        let size = (outputs.data.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / outputs.data.len().max(1) as f64).sqrt();
        let mut conditions = Conditions::default();
        let mut spare = SPARE * size.max(1e-6);
        let mut near = self.network.clone();
        let judge = Judge::new(self.spec);
        let (mut proved, mut refuted) = (None, 0);
        for _ in 0..ROUNDS {
            // No last layer meets them all: what is nearest to it so far has to do.
            let Ok(change) = conditions.solve() else { break };
            near = self.moved(&change, &factor);
            if left() < self.time / 2 || (self.interrupted)() {
                break;
            }
            if self.demand_rows(&near, &judge, spare, &factor, &mut conditions) {
                continue;
            }
            let more = match self.ask(&near, left().min(self.time / SHORT)) {
                Some(Outcome::Proved(proof)) => {
                    proved = Some(proof);
                    break;
                }
                Some(Outcome::Refuted(example)) => {
                    self.demand(example.rule, &example.x, &near, &judge, spare, &factor, &mut conditions);
                    refuted += 1;
                    if refuted % PATIENCE == 0 { 2.0 } else { 1.0 }
                }
                Some(Outcome::Unknown { why: Undecided::Margin | Undecided::Rejected { .. }, .. }) => 4.0,
                _ => break,
            };
            conditions.ask_for((more - 1.0) * spare);
            spare *= more;
        }
        if let Some(proof) = proved.filter(|_| !(self.worse)(&near)) {
            return Some((near, proof));
        }
        let mut best = None;
        for share in SHARES {
            let between = self.between(&near, safe, share);
            if (self.worse)(&between) {
                continue;
            }
            let Some(Outcome::Proved(proof)) = self.ask(&between, left() / 2) else { break };
            best = Some((between, proof));
        }
        best
    }

    /// Adds what the rules ask at one row that breaks them, spread over the rows, as that is quicker than a search; false if none does.
    fn demand_rows(&self, near: &Network, judge: &Judge, spare: f64, factor: &Cholesky, into: &mut Conditions) -> bool {
        let y = near.forward(self.rows);
        let start = into.g.len() * 97 % self.rows.rows.max(1);
        let mut any = false;
        for rule in 0..self.spec.rules.len() {
            let mut order = (start..self.rows.rows).chain(0..start);
            if let Some(r) = order.find(|r| judge.breaks(rule, self.rows.row(*r), y.row(*r))) {
                self.demand(rule, self.rows.row(r), near, judge, spare, factor, into);
                any = true;
            }
        }
        any
    }

    fn ask(&self, network: &Network, time: Duration) -> Option<Outcome> {
        let settings = VerifySettings { timeout: Some(time), ..VerifySettings::default() };
        if time.is_zero() || (self.interrupted)() {
            return None;
        }
        verify(self.spec, network, &settings, self.interrupted).ok().map(|(outcome, _)| outcome)
    }

    /// What the last layer reads for rows, with zero for what may not move, and 1 for the bias; times the gate's factor, if there is one.
    fn read(&self, x: &Matrix) -> Vec<Vec<f64>> {
        let value = |v: usize| match v {
            0 => x.clone(),
            v => Network { inputs: self.network.inputs, nodes: self.network.nodes[..v].to_vec() }.forward(x),
        };
        let z = value(self.network.nodes[self.at].from[0]);
        let gate = self.network.nodes.last().filter(|n| matches!(n.op, Op::Gate)).map(|n| value(n.from[1]));
        let row = |r: usize| {
            let factor = gate.as_ref().map_or(1.0, |g| f64::from(g.row(r)[0]));
            let free = z.row(r).iter().zip(self.free).map(|(v, free)| if *free { factor * f64::from(*v) } else { 0.0 });
            free.chain([factor]).collect()
        };
        (0..x.rows).map(row).collect()
    }

    /// Adds what a rule asks of the last layer at an input.
    #[allow(clippy::too_many_arguments, reason = "a rule at an input, and what is known about it")]
    fn demand(
        &self,
        rule: usize,
        x: &[f32],
        present: &Network,
        judge: &Judge,
        spare: f64,
        factor: &Cholesky,
        into: &mut Conditions,
    ) {
        let row = Matrix { rows: 1, cols: x.len(), data: x.to_vec() };
        let read = self.read(&row).remove(0);
        let mut white = read;
        factor.forward(&mut white);
        let length = white.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-12);
        let (now, before) = (present.enclose(x), self.network.enclose(x));
        let value = |atom: &Atom, y: &dyn Fn(usize) -> f64| {
            let term = |(var, c): (&Var, &deepsade_spec::Rational)| {
                c.to_f64().value() * if let Var::Output(j) = var { y(*j) } else { judge.input(x, *var) }
            };
            atom.linear.constant.to_f64().value() + atom.linear.terms.iter().map(term).sum::<f64>()
        };
        // How far the last layer must move for an atom to hold.
        let distance = |atom: &Atom| {
            if atom.is_condition() {
                return if judge.holds(atom, x, &[]) { 0.0 } else { f64::INFINITY };
            }
            (-value(atom, &|j| now[j].centre)).max(0.0) / (norm(atom) * length)
        };
        for atom in nearest_cell(&self.spec.rules[rule].claim, &|atom| -distance(atom)).1 {
            if atom.is_condition() {
                continue;
            }
            let mut g = vec![0.0; white.len() * self.network.outputs()];
            let mut rounding = 0.0;
            for (var, c) in &atom.linear.terms {
                let Var::Output(j) = var else { continue };
                let c = c.to_f64().value();
                rounding += c.abs() * now[*j].radius.max(before[*j].radius);
                g[j * white.len()..(j + 1) * white.len()].iter_mut().zip(&white).for_each(|(g, v)| *g += c * v);
            }
            into.add(g, -value(&atom, &|j| before[j].centre) + 2.0 * rounding + spare * norm(&atom));
        }
    }

    /// The network whose last layer is changed by u.
    fn moved(&self, u: &[f64], factor: &Cholesky) -> Network {
        let mut network = self.network.clone();
        let Op::Dense { w, b } = &mut network.nodes[self.at].op else { return network };
        if u.is_empty() {
            return network;
        }
        for o in 0..w.rows {
            let mut change = u[o * (w.cols + 1)..(o + 1) * (w.cols + 1)].to_vec();
            factor.backward(&mut change);
            let (weights, bias) = change.split_at(w.cols);
            w.row_mut(o).iter_mut().zip(weights).for_each(|(w, d)| *w = (f64::from(*w) + d) as f32);
            b[o] = (f64::from(b[o]) + bias[0]) as f32;
        }
        network
    }

    fn between(&self, near: &Network, safe: &Network, share: f32) -> Network {
        let mut network = near.clone();
        if let (Op::Dense { w, b }, Op::Dense { w: to, b: at }) = (&mut network.nodes[self.at].op, &safe.nodes[self.at].op) {
            let mix = |a: &mut f32, b: &f32| *a = (1.0 - share) * *a + share * b;
            w.data.iter_mut().zip(&to.data).for_each(|(a, b)| mix(a, b));
            b.iter_mut().zip(at).for_each(|(a, b)| mix(a, b));
        }
        network
    }
}

fn norm(atom: &Atom) -> f64 {
    let outputs = atom.linear.terms.iter().filter(|(v, _)| v.is_output());
    outputs.map(|(_, c)| c.to_f64().value().powi(2)).sum::<f64>().sqrt().max(1e-12)
}

impl Conditions {
    fn add(&mut self, mut g: Vec<f64>, h: f64) {
        let length = g.iter().map(|g| g * g).sum::<f64>().sqrt();
        // What no change has an influence on can't be asked for.
        if length > 0.0 {
            g.iter_mut().for_each(|g| *g /= length);
            self.g.push(g);
            self.h.push(h / length);
            self.length.push(length);
        }
    }

    /// Asks every condition to hold by so much more.
    fn ask_for(&mut self, more: f64) {
        self.h.iter_mut().zip(&self.length).for_each(|(h, length)| *h += more / length);
    }

    /// The smallest u that meets them; nothing where there is no condition.
    fn solve(&self) -> Result<Vec<f64>, Infeasible> {
        let half_spaces: Vec<HalfSpace> = self.g.iter().zip(&self.h).map(|(a, h)| HalfSpace { a, c: -h }).collect();
        let origin = vec![0.0; self.g.first().map_or(0, Vec::len)];
        nearest(&origin, &half_spaces).map(|found| found.y)
    }
}

/// The factor of E[v v'] with a little on the diagonal, so that columns which hardly vary can't move far for nothing.
fn spread(rows: &[Vec<f64>]) -> Cholesky {
    let n = rows.first().map_or(0, Vec::len);
    Cholesky::of_moments(rows.iter().map(|v| |k: usize| v[k]), n, |mean| 1e-3 * mean.max(1e-9))
}
