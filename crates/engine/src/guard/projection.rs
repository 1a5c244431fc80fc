//! Cuts and the present last layer enter; the nearest last layer that satisfies them leaves: a quadratic program, in the metric.
//!
//! For given multipliers K' says that a cell's weighted sum is below zero at every point v of its box. One v makes a cut: a linear
//! condition `alpha.(W v + b) + ... <= 0` on W and b with normal `g = alpha [v; 1]'`. The nearest layer is
//! `W - sum mu_k alpha_k (M^-1 [v_k; 1])'` with mu >= 0, and cuts meet each other only in the products `g_k . M^-1 g_l`: so the
//! program is solved in mu, by the dual active-set method of Goldfarb and Idnani (Mathematical Programming 27, 1983). It is exact
//! and finite, and tells when no layer satisfies the cuts, hence K'. Cuts are added where they are broken; those that are active
//! are kept for the next call, on the same sides of their boxes.

use deepsade_solve::active_set::first_to_leave;
use deepsade_solve::cholesky::Cholesky;
use deepsade_solve::kernel::vector;

use super::cell::{Cell, LayerWeights, move_layer, sum_up};
use super::metric::Metric;
use crate::bounds::Boxed;

/// Cuts at a time: with more of them, sweeps over cells one by one are the better way.
const MOST: usize = 96;
/// Of two normals, the share that must be independent.
const INDEPENDENT: f64 = 1e-9;

/// Whether there is a layer that satisfies the cuts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FeasibleCuts {
    /// There is.
    Yes,
    /// There is none: these cuts exclude each other.
    Never(Vec<usize>),
    /// Out of budget.
    Unknown,
}

/// A condition on the last layer.
#[derive(Debug, Clone, Default)]
pub(super) struct LayerCut {
    /// The cell it comes from.
    pub cell: usize,
    /// The gate's value.
    pub rho: f64,
    /// On which side of each box the point is; empty if it is no corner.
    pub sides: Vec<f64>,
    /// The point v.
    pub point: Vec<f64>,
    /// Weights of the outputs.
    pub alpha: Vec<f64>,
    /// By how much the layer that was given breaks it, half a margin added so that rounding W to float32 does not undo it.
    pub excess: f64,
    /// How much of that may be left.
    pub tolerance: f64,
    /// The values of its cell's conditions at the point: by how much the sum grows with their multipliers.
    pub conditions: Vec<f64>,
    /// How freely these multipliers move.
    pub freedom: f64,
    /// `M^-1 [v; 1]`, the last entry apart.
    moved: Vec<f64>,
    bias: f64,
    /// Its multiplier, and the part of it that the layer has.
    mu: f64,
    applied: f64,
}

impl LayerCut {
    /// The corner of a box on the cut's sides.
    pub fn place(&mut self, v: &Boxed) {
        self.point.clear();
        self.point.extend(self.sides.iter().zip(v.m.iter().zip(&v.r)).map(|(s, (m, r))| f64::from(*m) + s * f64::from(*r)));
    }

    /// Whether it weighs the outputs alike: it comes from the same cell, at the same value of the gate.
    fn same_outputs(&self, other: &LayerCut) -> bool {
        self.cell == other.cell && self.rho == other.rho
    }
}

/// The cuts of one call, and what the call before has left.
#[derive(Debug, Clone, Default)]
pub(super) struct Projection {
    cuts: Vec<LayerCut>,
    /// How many of them are in use.
    count: usize,
    /// `g_k . M^-1 g_l`, MOST numbers a row.
    gram: Vec<f64>,
    active: Vec<usize>,
    /// Of the active cuts' part of `gram`.
    cholesky: Cholesky,
    direction: Vec<f64>,
}

impl Projection {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.count = 0;
        self.active.clear();
    }

    /// Begins a call: hands over what is left of the one before, in exchange for room, and returns how many cuts that are. Those of
    /// one cell are made one: with the sum of their multipliers, the mean of their points has the same effect.
    pub fn begin(&mut self, kept: &mut Vec<LayerCut>) -> usize {
        let mut active = std::mem::take(&mut self.active);
        active.retain(|k| !self.cuts[*k].sides.is_empty() && self.cuts[*k].mu > 0.0);
        active.sort_unstable_by_key(|k| (self.cuts[*k].cell, *k));
        let (mut count, mut weight) = (0, 0.0);
        for k in active.drain(..) {
            let cut = &mut self.cuts[k];
            if let Some(mean) = kept[..count].last_mut().filter(|last| last.same_outputs(cut)) {
                weight += cut.mu;
                let share = cut.mu / weight;
                mean.sides.iter_mut().zip(&cut.sides).for_each(|(mean, side)| *mean += share * (side - *mean));
            } else {
                weight = cut.mu;
                if kept.len() == count {
                    kept.push(LayerCut::default());
                }
                std::mem::swap(&mut kept[count], cut);
                count += 1;
            }
        }
        self.active = active;
        self.count = 0;
        count
    }

    /// Multipliers with which the active cuts are at their borders; cuts whose own would be negative leave.
    fn balance(&mut self) {
        self.cuts[..self.count].iter_mut().for_each(|cut| cut.mu = 0.0);
        let mut mu = std::mem::take(&mut self.direction);
        while !self.active.is_empty() {
            if !self.factor(0) {
                self.active.clear();
                break;
            }
            mu.clear();
            mu.extend(self.active.iter().map(|k| self.cuts[*k].excess));
            self.cholesky.solve(&mut mu);
            if mu.iter().all(|mu| *mu >= 0.0) {
                self.active.iter().zip(&mu).for_each(|(k, mu)| self.cuts[*k].mu = *mu);
                break;
            }
            let mut signs = mu.iter();
            self.active.retain(|_| signs.next().is_some_and(|mu| *mu >= 0.0));
        }
        self.direction = mu;
    }

    /// Room for the next cut, to be filled and given to [`commit`](Self::commit); `None` if there are too many.
    pub fn next(&mut self) -> Option<&mut LayerCut> {
        if self.count == MOST {
            return None;
        }
        if self.cuts.len() == self.count {
            self.cuts.push(LayerCut::default());
        }
        Some(&mut self.cuts[self.count])
    }

    /// Takes the cut that was filled in, `active` if it is likely to be. Its excess is that of the layer as it is now. A cut that is
    /// there already gets the new excess.
    pub fn commit(&mut self, metric: &Metric, active: bool) {
        let (before, rest) = self.cuts.split_at_mut(self.count);
        let cut = &mut rest[0];
        if let Some(same) = before.iter().position(|c| c.same_outputs(cut) && c.point == cut.point) {
            let applied: f64 = before.iter().enumerate().map(|(l, c)| self.gram[same * MOST + l] * c.applied).sum();
            before[same].excess = cut.excess + applied;
            return;
        }
        cut.bias = metric.apply(&cut.point, &mut cut.moved);
        (cut.mu, cut.applied) = (0.0, 0.0);
        self.gram.resize(MOST * MOST, 0.0);
        let (cuts, gram, own) = (&mut self.cuts, &mut self.gram, self.count);
        vector(
            #[inline(always)]
            || {
                let mut before = 0.0;
                let mut outputs = 0.0;
                for l in 0..=own {
                    let (cut, other) = (&cuts[own], &cuts[l]);
                    if l == 0 || !cuts[l - 1].same_outputs(other) {
                        outputs = dot(&cut.alpha, &other.alpha);
                    }
                    let mut product = if outputs == 0.0 { 0.0 } else { outputs * (dot(&other.point, &cut.moved) + cut.bias) };
                    if cut.cell == other.cell && !cut.conditions.is_empty() {
                        product += cut.freedom * dot(&cut.conditions, &other.conditions);
                    }
                    gram[own * MOST + l] = product;
                    gram[l * MOST + own] = product;
                    before += product * other.applied;
                }
                // Back to the layer that was given.
                cuts[own].excess += before;
            },
        );
        if active {
            self.active.push(self.count);
        }
        self.count += 1;
    }

    /// Finds the multipliers of all cuts.
    pub fn solve(&mut self) -> FeasibleCuts {
        self.balance();
        for _ in 0..8 * MOST {
            let broken = |k: &usize| {
                let cut = &self.cuts[*k];
                let left = self.left(*k);
                (left > cut.tolerance || left.is_nan()).then(|| left / self.gram[k * MOST + k].sqrt())
            };
            let open = (0..self.count).filter(|k| !self.active.contains(k));
            let Some((worst, _)) = open.filter_map(|k| broken(&k).map(|b| (k, b))).max_by(|a, b| a.1.total_cmp(&b.1)) else {
                return FeasibleCuts::Yes;
            };
            match self.activate(worst) {
                FeasibleCuts::Yes => {}
                other => return other,
            }
        }
        FeasibleCuts::Unknown
    }

    /// Whether a cell has a cut.
    pub fn knows(&self, cell: usize) -> bool {
        self.cuts[..self.count].iter().any(|cut| cut.cell == cell)
    }

    /// Moves the layer to where the multipliers say, cuts of one cell together, and the multipliers of the cells' conditions.
    pub fn apply(&mut self, layer: &mut LayerWeights, cells: &mut [Cell]) {
        for k in 0..self.count {
            let cell = self.cuts[k].cell;
            if self.cuts[k].conditions.is_empty() || self.cuts[..k].iter().any(|c| c.cell == cell) {
                continue;
            }
            let mut by = vec![0.0; self.cuts[k].conditions.len()];
            for cut in self.cuts[k..self.count].iter().filter(|c| c.cell == cell && c.mu != c.applied) {
                by.iter_mut().zip(&cut.conditions).for_each(|(by, c)| *by += (cut.applied - cut.mu) * cut.freedom * c);
            }
            if by.iter().any(|by| *by != 0.0) {
                cells[cell].turn(&by);
            }
        }

        let mut moved = std::mem::take(&mut self.direction);
        let mut k = 0;
        while k < self.count {
            let next = (k + 1..self.count).find(|l| !self.cuts[k].same_outputs(&self.cuts[*l])).unwrap_or(self.count);
            let mut bias = 0.0;
            moved.clear();
            moved.resize(self.cuts[k].moved.len(), 0.0);
            let group = &mut self.cuts[k..next];
            let changed = group.iter().any(|c| c.mu != c.applied);
            for cut in group.iter_mut().filter(|c| c.mu != c.applied) {
                let change = cut.applied - cut.mu;
                moved.iter_mut().zip(&cut.moved).for_each(|(sum, m)| *sum += change * m);
                bias += change * cut.bias;
                cut.applied = cut.mu;
            }
            if changed {
                move_layer(layer, &group[0].alpha, &moved, bias);
            }
            k = next;
        }
        self.direction = moved;
    }

    /// Moves the layer back to the one that was given.
    pub fn undo(&mut self, layer: &mut LayerWeights, cells: &mut [Cell]) {
        self.cuts[..self.count].iter_mut().for_each(|cut| cut.mu = 0.0);
        self.apply(layer, cells);
        self.clear();
    }

    /// The cells of some cuts.
    pub fn cells(&self, cuts: &[usize]) -> Vec<usize> {
        cuts.iter().map(|k| self.cuts[*k].cell).collect()
    }

    /// By how much a cut is still broken.
    fn left(&self, k: usize) -> f64 {
        self.cuts[k].excess - self.active.iter().map(|l| self.gram[k * MOST + l] * self.cuts[*l].mu).sum::<f64>()
    }

    /// Brings a broken cut to its border: its multiplier grows, those of the active ones follow; one that would become negative
    /// leaves. If nothing can leave and nothing moves, the cut's normal is a negative combination of the active ones: no layer
    /// satisfies them all.
    fn activate(&mut self, p: usize) -> FeasibleCuts {
        for _ in 0..4 * MOST {
            let left = self.left(p) - self.gram[p * MOST + p] * self.cuts[p].mu;
            let mut direction = std::mem::take(&mut self.direction);
            direction.clear();
            direction.extend(self.active.iter().map(|k| self.gram[p * MOST + k]));
            self.cholesky.solve(&mut direction);
            let own = self.gram[p * MOST + p];
            let free = own - self.active.iter().zip(&direction).map(|(k, d)| self.gram[p * MOST + k] * d).sum::<f64>();
            let blocking = first_to_leave(self.active.iter().map(|k| self.cuts[*k].mu), &direction);
            let full = if free > INDEPENDENT * own { left / free } else { f64::INFINITY };
            if full.is_nan() || own <= 0.0 && left > 0.0 {
                return FeasibleCuts::Never(vec![p]);
            }
            let step = blocking.map_or(full, |(t, _)| t.min(full));
            if step.is_infinite() {
                let needed = (0..self.active.len()).filter(|i| direction[*i] < 0.0).map(|i| self.active[i]);
                return FeasibleCuts::Never(needed.chain([p]).collect());
            }
            for (k, d) in self.active.iter().zip(&direction) {
                self.cuts[*k].mu -= step * d;
            }
            self.direction = direction;
            self.cuts[p].mu += step;
            if let Some((t, i)) = blocking.filter(|(t, _)| *t <= full) {
                debug_assert!(t >= 0.0, "active multipliers are not negative");
                let leaving = self.active.remove(i);
                self.cuts[leaving].mu = 0.0;
                if !self.factor(i) {
                    return FeasibleCuts::Unknown;
                }
                continue;
            }
            self.active.push(p);
            return if self.factor_row(self.active.len() - 1) { FeasibleCuts::Yes } else { FeasibleCuts::Unknown };
        }
        FeasibleCuts::Unknown
    }

    /// Cholesky factor of the active cuts' products, from the row of one of them on; false if they are not independent.
    fn factor(&mut self, from: usize) -> bool {
        (from..self.active.len()).all(|i| self.factor_row(i))
    }

    fn factor_row(&mut self, i: usize) -> bool {
        self.cholesky.reserve(MOST);
        self.cholesky.truncate(i);
        let products = &self.gram[self.active[i] * MOST..][..MOST];
        let own = products[self.active[i]];
        let active = &self.active;
        self.cholesky.push(|j| products[active[j]], own, 0.0) > 0.1 * INDEPENDENT * own
    }
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled with the caller's vector instructions")]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum_up(a.len().min(b.len()), |i| a[i] * b[i])
}

#[cfg(test)]
mod tests;
