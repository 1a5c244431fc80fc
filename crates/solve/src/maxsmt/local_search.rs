//! Incomplete `MaxSMT`: feasible weights near where gradient descent would go are moved to satisfy one more soft constraint at a time.

use std::time::Instant;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::nearest::hold;
use super::problem::{LayerForm, LayerRow, Soft, TOLERANCE};
use super::{MaxSmt, MaxSmtBudget, MaxSmtOutcome, MaxSmtProblem, Solution, SolverError, Unsolved};

/// Projections before a point is given up.
const PROJECTIONS: usize = 60;

/// How much further than needed a move goes.
const FURTHER: f64 = 5e-4;
/// How far below 0 a form is brought besides, as a share of its largest terms: some roundings to float32.
const ROOM: f64 = 1e-6;

/// The incomplete engine. The same problem gives the same answer.
#[derive(Debug, Clone, Default)]
pub struct LocalSearch;

impl MaxSmt for LocalSearch {
    fn solve(&mut self, problem: &MaxSmtProblem, budget: MaxSmtBudget) -> Result<MaxSmtOutcome, SolverError> {
        let deadline = budget.deadline();
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let bound = problem.reachable();
        let solution = |w: Vec<f64>| Solution { satisfied: problem.satisfied(&w), w };
        let from = |start: &Vec<f64>| nearest(problem, start.clone()).or_else(|| repair(problem, start.clone()));
        let mut best = problem.start.as_ref().and_then(from).map(solution);
        let others = if best.is_some() { Vec::new() } else { starts(problem, &mut rng) };
        for start in others {
            if let Some(found) = repair(problem, start).map(solution)
                && best.as_ref().is_none_or(|best| found.satisfied > best.satisfied)
            {
                best = Some(found);
            }
        }
        let Some(mut best) = best else { return Ok(MaxSmtOutcome::Unknown(Unsolved::MaxSmtBudget)) };
        let mut moves = 0;
        let mut present = best.clone();
        let mut order: Vec<usize> = (0..problem.soft.len()).collect();
        let mut idle = 0;
        while best.satisfied < bound && moves < budget.nodes && idle < 4 && Instant::now() < deadline {
            idle += 1;
            order.shuffle(&mut rng);
            for soft in order.iter().map(|k| &problem.soft[*k]) {
                if soft.holds(&present.w) {
                    continue;
                }
                if moves == budget.nodes {
                    break;
                }
                moves += 1;
                let Some(next) = satisfy(problem, soft, present.w.clone()).map(solution) else { continue };
                // Moves that cost nothing are made, too: they lead off plateaus.
                if next.satisfied >= present.satisfied {
                    present = next;
                    if present.satisfied > best.satisfied {
                        best = present.clone();
                        idle = 0;
                    }
                }
            }
        }
        Ok(if best.satisfied >= bound { MaxSmtOutcome::Optimal(best) } else { MaxSmtOutcome::Feasible { solution: best, bound } })
    }
}

/// The two ends of the box, its middle, and some points between.
fn starts(problem: &MaxSmtProblem, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let between = |t: &mut dyn FnMut() -> f64| -> Vec<f64> {
        problem.lo.iter().zip(&problem.hi).map(|(lo, hi)| lo + t() * (hi - lo)).collect()
    };
    let mut starts = vec![between(&mut || 0.5), between(&mut || 0.0), between(&mut || 1.0)];
    for _ in 0..3 {
        starts.push(between(&mut || rng.random::<f64>()));
    }
    starts
}

/// Moves w so that the row holds, changing it as little as the box allows; false if no weights of the box satisfy it.
fn project(problem: &MaxSmtProblem, row: &LayerRow, w: &mut [f64]) -> bool {
    // Further than needed, so that the next projection does not undo it by a rounding.
    let goal = |value: f64| -value * (1.0 + FURTHER) + 1e-9;
    for _ in 0..=row.a.len() {
        let value = row.value(w);
        if value >= 0.0 {
            return true;
        }
        let movable = |k: usize, a: f64| if a > 0.0 { w[k] < problem.hi[k] } else { w[k] > problem.lo[k] };
        let norm: f64 = row.a.iter().filter(|(k, a)| movable(*k, *a)).map(|(_, a)| a * a).sum();
        if norm <= 1e-300 {
            return false;
        }
        let t = goal(value) / norm;
        for (k, a) in &row.a {
            w[*k] = (w[*k] + t * a).clamp(problem.lo[*k], problem.hi[*k]);
        }
    }
    row.value(w) >= 0.0
}

/// Weights near w that satisfy the hard part: the first choice of each clause, which is of the multipliers at hand, is made to hold in
/// turn, by the smallest move.
fn nearest(problem: &MaxSmtProblem, mut w: Vec<f64>) -> Option<Vec<f64>> {
    // Cells of one rule are emptied by the same few forms.
    let mut forms: Vec<(&LayerForm, usize)> = Vec::new();
    for clause in &problem.hard {
        for form in clause.choices.first().into_iter().flatten() {
            if !forms.contains(&(form, clause.latent)) {
                forms.push((form, clause.latent));
            }
        }
    }
    let reach = problem.boxes.iter().flat_map(|at| at.m.iter().zip(&at.r)).map(|(m, r)| m.abs() + r).fold(1.0, f64::max);
    let size = 1.0 + reach * w.iter().map(|w| w.abs()).fold(0.0, f64::max);
    for _ in 0..PROJECTIONS {
        let values =
            forms.iter().map(|(form, latent)| (*form, &problem.boxes[*latent], form.largest(&w, &problem.boxes[*latent])));
        let Some((form, latent, value)) = values.into_iter().find(|(.., value)| *value > TOLERANCE * size) else {
            return Some(w);
        };
        let mut move_by = |room| hold(form, latent, (&problem.lo, &problem.hi), room, &mut w);
        // Further than needed: float32 rounds what is found, and the next move must not undo it.
        if !move_by(FURTHER * value + ROOM * size) && !move_by(0.0) {
            return None;
        }
    }
    None
}

/// The choice of each clause that is nearest to holding is made to hold, in turn.
fn repair(problem: &MaxSmtProblem, mut w: Vec<f64>) -> Option<Vec<f64>> {
    for _ in 0..PROJECTIONS {
        let mut clean = true;
        for clause in &problem.hard {
            let rows = clause.choices.iter().map(|choice| problem.violated(clause, choice, &w));
            let nearest = rows.min_by(|a, b| {
                let excess = |row: &Option<LayerRow>| row.as_ref().map_or(0.0, |row| -row.value(&w));
                excess(a).total_cmp(&excess(b))
            });
            if let Some(Some(row)) = nearest {
                clean = false;
                if !project(problem, &row, &mut w) {
                    return None;
                }
            }
        }
        if clean {
            return Some(w);
        }
    }
    None
}

/// Moves w so that the soft constraint holds and K' stays.
fn satisfy(problem: &MaxSmtProblem, soft: &Soft, mut w: Vec<f64>) -> Option<Vec<f64>> {
    for _ in 0..4 {
        for row in &soft.rows {
            if !project(problem, row, &mut w) {
                return None;
            }
        }
        w = repair(problem, w)?;
        if soft.holds(&w) {
            return Some(w);
        }
    }
    None
}
