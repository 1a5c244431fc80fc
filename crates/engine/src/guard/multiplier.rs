//! Multipliers for a given last layer: the weights of a cell's atoms that push the largest value of their sum furthest down.
//!
//! For given multipliers that value is taken at a corner of the box (and an end of the gate); at this corner each atom has a value,
//! and their mixture bounds the sum from below for all other multipliers. So corners are the rows of a game (`game`), and Kelley's
//! method adds the corner of its best mixture until it is there already: an exact linear program, finite as corners are.

use deepsade_solve::game::Game;

use super::cell::{Cell, CellScratch, LayerWeights, Margin, Slack, Term, sum_up};
use crate::bounds::Boxed;

/// Corners to look at, at most.
const CORNERS: usize = 100;
/// Atoms up to which each alone is a row of the game before any mixture: all of them take steps by the cube of their number.
const MOST_ALONE: usize = 400;

/// How much conditions may weigh beside outputs.
const MOST: f64 = 1e3;

/// The free atoms of a cell, brought through W and b.
struct Atoms<'a> {
    cell: &'a Cell,
    v: &'a Boxed,
    margin: Margin,
    free: Vec<usize>,
    /// For each free atom its coefficients of v through W, its constant through b, and the size of all that is summed.
    p: Vec<Vec<f64>>,
    p0: Vec<(f64, f64)>,
}

/// Gives a cell its best multipliers, up to a share `within` of their excess, or keeps those that it has if they are no worse;
/// returns the excess.
pub fn improve(
    cell: &mut Cell,
    layer: &LayerWeights,
    v: &Boxed,
    margin: Margin,
    within: f64,
    scratch: &mut CellScratch,
) -> Slack {
    cell.read(layer, v, scratch);
    let before = cell.slack(v, margin, scratch);
    let present = cell.lambda().to_vec();
    let Some(lambda) = best(cell, layer, v, margin, within) else { return before };
    cell.weigh(&lambda);
    cell.read(layer, v, scratch);
    let after = cell.slack(v, margin, scratch);
    // Each by the weight of its outputs: conditions alone say nothing about W and b.
    let outputs = |lambda: &[f64], cell: &Cell| cell.weight_of_outputs(lambda);
    if after.excess * outputs(&present, cell) < before.excess * outputs(&lambda, cell) {
        return after;
    }
    cell.weigh(&present);
    cell.read(layer, v, scratch);
    before
}

/// The multipliers with the smallest excess beside those of the outputs' atoms; `None` if numbers fail.
///
/// Those of atoms about outputs sum to 1, and conditions may weigh up to `MOST` times as much: with a sum of 1 over all of them, of a
/// cell that is far from empty the conditions alone would be nearest to it, and these no layer can change.
pub(super) fn best(cell: &Cell, layer: &LayerWeights, v: &Boxed, margin: Margin, within: f64) -> Option<Vec<f64>> {
    let conditions: Vec<usize> = cell.conditions().collect();
    let outputs: Vec<usize> = (0..cell.atoms.len()).filter(|i| cell.atoms[*i].free && !conditions.contains(i)).collect();
    if conditions.is_empty() || outputs.is_empty() {
        return best_mixture(cell, layer, v, margin, within);
    }
    let pairs: Vec<(usize, Option<usize>)> =
        outputs.iter().flat_map(|o| [None].into_iter().chain(conditions.iter().map(|c| Some(*c))).map(|c| (*o, c))).collect();
    let joined = |(o, c): &(usize, Option<usize>)| {
        let mut atom = cell.atoms[*o].clone();
        c.iter().for_each(|c| atom.add(MOST, &cell.atoms[*c]));
        atom
    };
    let joint = Cell::new(cell.rule, cell.region, pairs.iter().map(joined).collect(), cell.rho.clone());
    let mixture = best_mixture(&joint, layer, v, margin, within)?;
    let mut lambda = vec![0.0; cell.atoms.len()];
    for ((o, c), l) in pairs.into_iter().zip(mixture) {
        lambda[o] += l;
        if let Some(c) = c {
            lambda[c] += l * MOST;
        }
    }
    let sum: f64 = lambda.iter().sum();
    lambda.iter_mut().for_each(|l| *l /= sum);
    (sum > 0.0).then_some(lambda)
}

/// The same among all mixtures of its atoms.
fn best_mixture(cell: &Cell, layer: &LayerWeights, v: &Boxed, margin: Margin, within: f64) -> Option<Vec<f64>> {
    let atoms = Atoms::new(cell, layer, v, margin);
    let count = atoms.free.len();
    let shift = (0..count).map(|k| atoms.largest(k)).fold(0.0, f64::max);
    let mut game = Game::new(count, shift);
    let (mut row, mut corner, mut q) = (Vec::new(), Vec::new(), Vec::new());
    let mut found = (f64::INFINITY, Vec::new());
    // Each atom alone first: often one of them does it.
    let alone: Vec<usize> = if count <= MOST_ALONE { (0..count).collect() } else { atoms.lowest().into_iter().collect() };
    for k in 0..CORNERS.max(2 * alone.len()) {
        let (mixture, bound) = match alone.get(k) {
            Some(one) => ((0..count).map(|i| f64::from(u8::from(i == *one))).collect(), f64::NEG_INFINITY),
            None => game.mixture(),
        };
        let excess = atoms.row(&mixture, &mut q, &mut corner, &mut row);
        if excess < found.0 {
            found = (excess, mixture);
        }
        let near = 1e-9 * shift + within * found.0.abs();
        if !excess.is_finite() || found.0 <= bound + near || !game.add(&row) {
            break;
        }
    }
    let mut lambda = vec![0.0; cell.atoms.len()];
    let (excess, mixture) = found;
    atoms.free.iter().zip(&mixture).for_each(|(i, l)| lambda[*i] = if *l < 1e-9 { 0.0 } else { *l });
    let sum: f64 = lambda.iter().sum();
    lambda.iter_mut().for_each(|l| *l /= sum);
    (excess.is_finite() && sum > 0.0).then_some(lambda)
}

impl<'a> Atoms<'a> {
    fn new(cell: &'a Cell, layer: &LayerWeights, v: &'a Boxed, margin: Margin) -> Self {
        let n = v.m.len();
        let free: Vec<usize> = (0..cell.atoms.len()).filter(|i| cell.atoms[*i].free).collect();
        let (mut p, mut p0) = (Vec::new(), Vec::new());
        for atom in free.iter().map(|i| &cell.atoms[*i]) {
            let (mut through, mut constant, mut size) = (vec![0.0; n], 0.0, 0.0);
            for (j, a) in &atom.a {
                let bias = a * f64::from(layer.b[*j]);
                constant += bias;
                size += bias.abs();
                for (i, w) in layer.w[j * n..(j + 1) * n].iter().enumerate() {
                    through[i] += a * f64::from(*w);
                    size += (a * f64::from(*w)).abs() * f64::from(v.m[i].abs() + v.r[i]);
                }
            }
            p.push(through);
            p0.push((constant, size));
        }
        Self { cell, v, margin, free, p, p0 }
    }

    /// The largest that the features of an atom add up to, by size.
    fn features(&self, atom: &Term) -> f64 {
        atom.c.iter().map(|(i, c)| c.abs() * f64::from(self.v.m[*i].abs() + self.v.r[*i])).sum()
    }

    /// The largest absolute value of one atom.
    fn largest(&self, k: usize) -> f64 {
        let atom = &self.cell.atoms[self.free[k]];
        let at = |rho: &f64| rho.abs() * (self.p0[k].1 + atom.gate.abs()) + self.margin(k, *rho);
        self.features(atom) + atom.d.abs() + self.cell.rho.iter().map(at).fold(0.0, f64::max)
    }

    fn margin(&self, k: usize, rho: f64) -> f64 {
        let atom = &self.cell.atoms[self.free[k]];
        let size = rho.abs() * self.p0[k].1 + self.features(atom) + atom.d.abs() + (rho * atom.gate).abs();
        self.margin.relative * size + self.margin.absolute * rho.abs() * atom.a.iter().map(|(_, a)| a.abs()).sum::<f64>()
    }

    /// The atom whose largest value is smallest.
    fn lowest(&self) -> Option<usize> {
        let mut q = vec![0.0; self.v.m.len()];
        let mut most = |k: usize| {
            let atom = &self.cell.atoms[self.free[k]];
            let mut at = |rho: f64| {
                q.iter_mut().zip(&self.p[k]).for_each(|(q, p)| *q = rho * p);
                atom.c.iter().for_each(|(i, c)| q[*i] += c);
                let reach = |i: usize| q[i] * f64::from(self.v.m[i]) + q[i].abs() * f64::from(self.v.r[i]);
                sum_up(q.len(), reach) + rho * (self.p0[k].0 + atom.gate) + atom.d + self.margin(k, rho)
            };
            self.cell.rho.iter().map(|rho| at(*rho)).fold(f64::NEG_INFINITY, f64::max)
        };
        let all: Vec<f64> = (0..self.free.len()).map(&mut most).collect();
        (0..all.len()).min_by(|a, b| all[*a].total_cmp(&all[*b]))
    }

    /// The largest value of a mixture, and the values of all atoms where it is taken.
    fn row(&self, mixture: &[f64], q: &mut Vec<f64>, corner: &mut Vec<f64>, row: &mut Vec<f64>) -> f64 {
        let v = self.v;
        let mut worst = f64::NEG_INFINITY;
        for &rho in &self.cell.rho {
            q.clear();
            q.resize(v.m.len(), 0.0);
            for (k, l) in mixture.iter().enumerate().filter(|(_, l)| **l > 0.0) {
                q.iter_mut().zip(&self.p[k]).for_each(|(q, p)| *q += l * rho * p);
                self.cell.atoms[self.free[k]].c.iter().for_each(|(i, c)| q[*i] += l * c);
            }
            let end =
                |(q, (m, r)): (&f64, (&f32, &f32))| f64::from(*m) + if *q == 0.0 { 0.0 } else { q.signum() * f64::from(*r) };
            corner.clear();
            corner.extend(q.iter().zip(v.m.iter().zip(&v.r)).map(end));
            let value = |k: usize| {
                let atom = &self.cell.atoms[self.free[k]];
                let features: f64 = atom.c.iter().map(|(i, c)| c * corner[*i]).sum();
                let outputs = sum_up(corner.len(), |i| self.p[k][i] * corner[i]) + self.p0[k].0;
                rho * (outputs + atom.gate) + features + atom.d + self.margin(k, rho)
            };
            let most = mixture.iter().enumerate().filter(|(_, l)| **l > 0.0).map(|(k, l)| l * value(k)).sum();
            if most > worst || f64::is_nan(most) {
                worst = most;
                row.clear();
                row.extend((0..self.free.len()).map(value));
            }
        }
        worst
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::cell::Term;
    use super::*;

    proptest! {
        /// Against all multipliers of three atoms on a grid, at random layers and boxes.
        #[test]
        fn no_multipliers_on_a_grid_are_better(
            numbers in prop::collection::vec(-1.0f32..1.0, 12),
            radii in prop::collection::vec(0.0f32..1.0, 4),
            constants in prop::collection::vec(-1.0f64..1.0, 3),
            gate in prop::option::of((0.0f64..1.0, 1.0f64..3.0)),
        ) {
            let (mut w, mut b) = (numbers[..8].to_vec(), numbers[8..10].to_vec());
            let layer = LayerWeights { w: &mut w, b: &mut b };
            let v = Boxed { m: numbers[2..6].to_vec(), r: radii };
            let term = |a: &[(usize, f64)], c: &[(usize, f64)], d: f64| Term { a: a.into(), c: c.into(), d, free: true, ..Term::default() };
            let atoms = vec![
                term(&[(0, 1.0)], &[], constants[0]),
                term(&[(1, 1.0)], &[(3, 0.5)], constants[1]),
                Term { gate: 0.3, ..term(&[(0, -1.0), (1, -1.0)], &[], constants[2]) },
            ];
            let cell = Cell::new(0, 0, atoms, gate.map_or(vec![1.0], |(lo, hi)| vec![lo, hi]));
            let margin = Margin { relative: 1e-6, absolute: 0.01 };
            let mut scratch = CellScratch::default();
            let mut excess = |lambda: &[f64]| {
                let mut cell = cell.clone();
                cell.weigh(lambda);
                cell.read(&layer, &v, &mut scratch);
                cell.slack(&v, margin, &scratch).excess
            };
            let found = best(&cell, &layer, &v, margin, 0.0).unwrap();
            let reached = excess(&found);
            for i in 0..=50 {
                for k in 0..=50 - i {
                    let grid = [f64::from(i) / 50.0, f64::from(k) / 50.0, f64::from(50 - i - k) / 50.0];
                    // Margins of mixtures are a little smaller than mixtures of margins.
                    prop_assert!(excess(&grid) >= reached - 2e-5, "{grid:?} gives {}, {found:?} {reached}", excess(&grid));
                }
            }
        }
    }
}
