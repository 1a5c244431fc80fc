//! Cells with several atoms enter; multipliers leave for which some last layer empties them all, or how far from that the best are.
//!
//! Multipliers of conditions on inputs do not meet the last layer: for a given mixture of the atoms about outputs, W, b and all of them
//! together are one linear program, exact by Farkas. So where each cell has one atom about outputs, one program decides. Where it
//! has more the problem is bilinear: programs in (W, b, conditions) and best mixtures for that W take turns, from several starts.
//!
//! K' over a box is a cut for each of its corners; the program has those that were broken by the solution before.

use deepsade_solve::simplex::{Simplex, Status};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::cell::{Cell, Margin, Term};
use super::{Guard, multiplier};
use crate::bounds::Boxed;

/// The distance from the border, in units of the outputs, that is aimed at.
const AIM: f64 = 0.3;
/// Ends of weights, of multipliers and of the distance that may lack.
const LARGEST: f64 = 1e6;
/// What a unit of weight costs beside a unit of distance: the smallest of all layers at that distance.
const LIGHT: f64 = 1e-7;
/// Unknowns and cuts of one program: its dictionary is dense;
const MOST_UNKNOWNS: usize = 400;
const MOST_CUTS: usize = 800;
/// and of all programs of a search together, the cuts times the unknowns.
const WORK: usize = 300_000;
const ROUNDS: usize = 80;
const PIVOTS: usize = 20_000;
/// Times that program and mixtures take turns.
const TURNS: usize = 12;
/// Starts at random, after those that are given.
const RANDOM: usize = 12;

/// What a search found.
pub(super) struct Joint {
    /// W and b.
    pub layer: Vec<f32>,
    /// The multipliers of each cell.
    pub lambda: Vec<Vec<f64>>,
    /// The distance that is kept; negative if none is.
    pub distance: f64,
}

/// A cell in the program: how its atoms about outputs are mixed, and which of its others may be added.
struct Mixed<'g> {
    cell: &'g Cell,
    mixture: Vec<f64>,
    conditions: Vec<usize>,
}

/// Where the unknowns are: for each output the columns in use and the bias, twice (W = p - q); the conditions' multipliers; the
/// distance that lacks.
struct Unknowns {
    columns: Vec<usize>,
    outputs: usize,
    /// First condition of each cell.
    conditions: Vec<usize>,
    count: usize,
}

/// `a . x + c >= 0` in the unknowns.
type Row = (Vec<(usize, f64)>, f64);

/// Looks for multipliers from these outputs and from random ones.
pub(super) fn search(guard: &Guard, starts: &[Vec<f64>]) -> Option<Joint> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let random = (0..RANDOM).map(|_| (0..guard.outputs).map(|_| rng.random::<f64>() * 4.0 - 2.0).collect::<Vec<f64>>());
    let starts: Vec<Vec<f64>> = starts.iter().cloned().chain(random).collect();
    let dead: Vec<Option<Vec<f64>>> = guard.cells.iter().map(|cell| dead(guard, cell)).collect();
    if guard.cells.iter().zip(&dead).any(|(cell, dead)| dead.is_none() && speaking(cell).next().is_none()) {
        return None;
    }
    // With one atom about outputs everywhere there is one mixture, and nothing to start from.
    let several = guard.cells.iter().zip(&dead).any(|(cell, dead)| dead.is_none() && speaking(cell).count() > 1);
    let mut best: Option<Joint> = None;
    let mut work = WORK;
    for start in starts.iter().take(if several { starts.len() } else { 1 }) {
        let mut mixtures: Vec<Vec<f64>> = guard.cells.iter().map(|cell| nearest_atom(guard, cell, start)).collect();
        let mut before = f64::NEG_INFINITY;
        for _ in 0..if several { TURNS } else { 1 } {
            let Some(found) = program(guard, &mixtures, &dead, &mut work) else { break };
            let distance = found.distance;
            let layer = found.layer.clone();
            if best.as_ref().is_none_or(|b| distance > b.distance) {
                best = Some(found);
            }
            if distance > 0.9 * AIM || distance <= before + 1e-3 * AIM {
                break;
            }
            before = distance;
            mixtures = remixed(guard, &layer, &mixtures, &dead);
        }
        if best.as_ref().is_some_and(|b| b.distance > 0.1 * AIM) {
            break;
        }
    }
    best
}

/// The atoms about outputs.
fn speaking(cell: &Cell) -> impl Iterator<Item = usize> {
    (0..cell.atoms.len()).filter(|i| cell.atoms[*i].free && !cell.atoms[*i].a.is_empty())
}

/// Multipliers that empty a cell by its conditions alone, whatever the last layer.
fn dead(guard: &Guard, cell: &Cell) -> Option<Vec<f64>> {
    let mut conditions = cell.clone();
    conditions.atoms.iter_mut().filter(|a| !a.a.is_empty()).for_each(|a| a.free = false);
    if !conditions.atoms.iter().any(|a| a.free) {
        return None;
    }
    let v = guard.bounds.last_input(cell.region);
    let (mut w, mut b) = (vec![0.0; guard.inputs * guard.outputs], vec![0.0; guard.outputs]);
    let layer = super::cell::LayerWeights { w: &mut w, b: &mut b };
    let lambda = multiplier::best(&conditions, &layer, v, guard.margin, 0.0)?;
    conditions.weigh(&lambda);
    let mut scratch = super::CellScratch::default();
    conditions.read(&layer, v, &mut scratch);
    (conditions.slack(v, guard.margin, &scratch).excess <= 0.0).then_some(lambda)
}

/// The atom about outputs that these outputs break most in the middle of the cell's region, alone.
fn nearest_atom(guard: &Guard, cell: &Cell, outputs: &[f64]) -> Vec<f64> {
    let mut alone = vec![0.0; cell.atoms.len()];
    if let Some(chosen) = cell.most_broken(speaking(cell), outputs, guard.bounds.last_input(cell.region)) {
        alone[chosen] = 1.0;
    }
    alone
}

/// For each cell the best mixture of its atoms about outputs for a last layer; the present one where there is none.
fn remixed(guard: &Guard, layer: &[f32], present: &[Vec<f64>], dead: &[Option<Vec<f64>>]) -> Vec<Vec<f64>> {
    let mut layer = layer.to_vec();
    let layer = Guard::layer(&mut layer, guard.inputs, guard.outputs);
    let mixture = |((cell, present), dead): ((&Cell, &Vec<f64>), &Option<Vec<f64>>)| {
        if dead.is_some() || speaking(cell).count() < 2 {
            return present.clone();
        }
        let margin = Margin { absolute: AIM, ..guard.margin };
        let best = multiplier::best(cell, &layer, guard.bounds.last_input(cell.region), margin, 0.0);
        let mut mixture = vec![0.0; cell.atoms.len()];
        let Some(best) = best else { return present.clone() };
        speaking(cell).for_each(|i| mixture[i] = best[i]);
        let sum: f64 = mixture.iter().sum();
        mixture.iter_mut().for_each(|l| *l /= sum);
        if sum > 1e-9 { mixture } else { present.clone() }
    };
    guard.cells.iter().zip(present).zip(dead).map(mixture).collect()
}

/// The last layer and the conditions' multipliers that keep the largest distance for these mixtures; `None` if the program is too large
/// or fails, or no work is left.
fn program(guard: &Guard, mixtures: &[Vec<f64>], dead: &[Option<Vec<f64>>], work: &mut usize) -> Option<Joint> {
    let alive: Vec<usize> = (0..guard.cells.len()).filter(|k| dead[*k].is_none()).collect();
    let mixed: Vec<Mixed> = alive
        .iter()
        .map(|k| {
            let cell = &guard.cells[*k];
            let conditions = (0..cell.atoms.len()).filter(|i| cell.atoms[*i].free && cell.atoms[*i].a.is_empty());
            Mixed { cell, mixture: mixtures[*k].clone(), conditions: conditions.collect() }
        })
        .collect();
    let unknowns = Unknowns::new(guard, &mixed);
    if unknowns.count > MOST_UNKNOWNS {
        return None;
    }
    let lacking = unknowns.count - 1;
    let mut cost = vec![LIGHT; unknowns.count];
    cost[lacking] = 1.0;
    let mut simplex = Simplex::new(cost, vec![0.0; unknowns.count], unknowns.largest(guard));
    let (mut cuts, mut x) = (0, vec![0.0; unknowns.count]);
    for _ in 0..ROUNDS {
        let mut broken = 0;
        for (k, mixed) in mixed.iter().enumerate() {
            let v = guard.bounds.last_input(mixed.cell.region);
            let Some((row, constant)) = mixed.worst(k, v, guard.margin, &unknowns, &x) else { continue };
            simplex.add_row(&row, constant);
            broken += 1;
        }
        if broken == 0 {
            return Some(unknowns.joint(guard, &mixed, &alive, dead, &x));
        }
        cuts += broken;
        *work = work.saturating_sub(broken * unknowns.count);
        if cuts > MOST_CUTS || *work == 0 || simplex.solve(PIVOTS) != Status::Optimal {
            return None;
        }
        x = (0..unknowns.count).map(|u| simplex.value(u)).collect();
    }
    None
}

impl Unknowns {
    fn new(guard: &Guard, mixed: &[Mixed]) -> Self {
        let used = |c: &usize| {
            mixed.iter().any(|m| {
                let v = guard.bounds.last_input(m.cell.region);
                v.m[*c] != 0.0 || v.r[*c] != 0.0
            })
        };
        let columns: Vec<usize> = (0..guard.inputs).filter(used).collect();
        let mut next = 2 * guard.outputs * (columns.len() + 1);
        let mut conditions = Vec::new();
        for m in mixed {
            conditions.push(next);
            next += m.conditions.len();
        }
        Self { columns, outputs: guard.outputs, conditions, count: next + 1 }
    }

    /// The positive part of output j's weight of the c-th column in use, or of its bias; the negative part is the next one.
    fn weight(&self, j: usize, c: usize) -> usize {
        2 * (j * (self.columns.len() + 1) + c)
    }

    /// The upper ends: a weight that must not be positive has no positive part, and so on.
    fn largest(&self, guard: &Guard) -> Vec<f64> {
        let mut largest = vec![LARGEST; self.count];
        let Some(signs) = &guard.signs else { return largest };
        for j in 0..self.outputs {
            for (c, column) in self.columns.iter().enumerate() {
                let (lo, hi) = signs.ends(j * guard.inputs + column);
                let parts = &mut largest[self.weight(j, c)..];
                parts[0] = if hi == 0.0 { 0.0 } else { parts[0] };
                parts[1] = if lo == 0.0 { 0.0 } else { parts[1] };
            }
        }
        largest
    }

    fn weight_at(&self, x: &[f64], j: usize, c: usize) -> f64 {
        x[self.weight(j, c)] - x[self.weight(j, c) + 1]
    }

    fn joint(&self, guard: &Guard, mixed: &[Mixed], alive: &[usize], dead: &[Option<Vec<f64>>], x: &[f64]) -> Joint {
        let mut layer = vec![0.0f32; (guard.inputs + 1) * guard.outputs];
        for j in 0..self.outputs {
            for (c, column) in self.columns.iter().enumerate() {
                layer[j * guard.inputs + column] = self.weight_at(x, j, c) as f32;
            }
            layer[guard.inputs * guard.outputs + j] = self.weight_at(x, j, self.columns.len()) as f32;
        }
        let mut lambda: Vec<Vec<f64>> = dead.iter().map(|d| d.clone().unwrap_or_default()).collect();
        for (k, m) in mixed.iter().enumerate() {
            let mut own = m.mixture.clone();
            m.conditions.iter().enumerate().for_each(|(i, at)| own[*at] = x[self.conditions[k] + i]);
            let sum: f64 = own.iter().sum();
            own.iter_mut().for_each(|l| *l /= sum);
            lambda[alive[k]] = own;
        }
        Joint { layer, lambda, distance: AIM - x[self.count - 1] }
    }
}

impl Mixed<'_> {
    /// The cut at the worst corner, as a row `a . x + c >= 0`, if x breaks it.
    fn worst(&self, k: usize, v: &Boxed, margin: Margin, unknowns: &Unknowns, x: &[f64]) -> Option<Row> {
        let mut worst: Option<(f64, Row)> = None;
        let multiplier = |i: usize| x[unknowns.conditions[k] + i];
        for &rho in &self.cell.rho {
            let mut q = vec![0.0; v.m.len()];
            for (atom, l) in self.atoms() {
                for (c, column) in unknowns.columns.iter().enumerate() {
                    q[*column] += l * rho * atom.a.iter().map(|(j, a)| a * unknowns.weight_at(x, *j, c)).sum::<f64>();
                }
                atom.c.iter().for_each(|(c, value)| q[*c] += l * value);
            }
            for (i, at) in self.conditions.iter().enumerate() {
                self.cell.atoms[*at].c.iter().for_each(|(c, value)| q[*c] += multiplier(i) * value);
            }
            let side = |q: f64| f64::from(i8::from(q > 0.0) - i8::from(q < 0.0));
            let corner: Vec<f64> = (0..q.len()).map(|c| f64::from(v.m[c]) + side(q[c]) * f64::from(v.r[c])).collect();
            let (row, constant) = self.row(k, &corner, rho, v, margin, unknowns);
            let value = constant + row.iter().map(|(u, a)| a * x[*u]).sum::<f64>();
            let size = constant.abs() + row.iter().map(|(u, a)| (a * x[*u]).abs()).sum::<f64>();
            if value < -1e-7 * (1.0 + size) && worst.as_ref().is_none_or(|w| value < w.0) {
                worst = Some((value, (row, constant)));
            }
        }
        worst.map(|(_, row)| row)
    }

    fn atoms(&self) -> impl Iterator<Item = (&Term, f64)> {
        self.cell.atoms.iter().zip(self.mixture.iter().copied()).filter(|(_, l)| *l > 0.0)
    }

    /// `lacking * reach - (weighted sum at a corner + what rounding takes + AIM * reach) >= 0`.
    fn row(&self, k: usize, corner: &[f64], rho: f64, v: &Boxed, margin: Margin, unknowns: &Unknowns) -> Row {
        let at = |c: usize| unknowns.columns.get(c).map_or(1.0, |column| corner[*column]);
        let (mut row, mut constant, mut reach) = (Vec::new(), 0.0, 0.0);
        for (atom, l) in self.atoms() {
            for (j, a) in &atom.a {
                for c in 0..=unknowns.columns.len() {
                    let value = -l * rho * a * at(c);
                    row.push((unknowns.weight(*j, c), value));
                    row.push((unknowns.weight(*j, c) + 1, -value));
                }
                reach += l * rho.abs() * a.abs();
            }
            constant -= l * known(atom, corner, rho, v, margin);
        }
        for (i, at) in self.conditions.iter().enumerate() {
            row.push((unknowns.conditions[k] + i, -known(&self.cell.atoms[*at], corner, rho, v, margin)));
        }
        row.push((unknowns.count - 1, reach));
        (row, constant - AIM * reach)
    }
}

/// What an atom has at a corner without its outputs, and what rounding may add to it.
fn known(atom: &Term, corner: &[f64], rho: f64, v: &Boxed, margin: Margin) -> f64 {
    let value = atom.c.iter().map(|(c, value)| value * corner[*c]).sum::<f64>() + atom.d + rho * atom.gate;
    let features: f64 = atom.c.iter().map(|(c, value)| value.abs() * f64::from(v.m[*c].abs() + v.r[*c])).sum();
    value + margin.relative * (features + atom.d.abs() + (rho * atom.gate).abs())
}
