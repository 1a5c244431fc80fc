//! The first last layer: an affine function of the skipped features that satisfies the rules whatever the hidden layers do.
//!
//! With independent boxes for the hidden units nothing is lost: if some last layer satisfies K', so does the one that has the
//! middle of the hidden boxes in its bias and no weights on them. So rules that can't be met are known before training.

use deepsade_check::Bounds;
use deepsade_solve::budget::Budget;
use deepsade_solve::eliminate::Point;
use deepsade_solve::satisfy::{MAX_TERMS, Satisfiable, satisfy_within};
use deepsade_spec::{Atom, Domain, Formula, Rational, Schema, Var, normalize::var_range};

use super::build::{FixedParts, readable};
use super::cell::{Cell, Margin};
use super::projection::FeasibleCuts;
use super::solve::Try;
use super::sweep::empty_cell;
use super::{Guard, Safe, joint};

/// Distances from the border, in units of the outputs, to try for.
const SLACKS: [f64; 9] = [0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 0.0];
const SWEEPS: usize = 3_000;
/// Work of all sweeps together: the cube of a cell's atoms for each time that it is looked at.
pub(super) const EFFORT: usize = 300_000_000;
/// A guess is worth this part of a whole search.
const GUESSING: usize = 40;
/// The score of a class that wins clearly.
const CLEARLY: u8 = 4;
/// Times that cells and signs take turns.
const SIGN_TURNS: usize = 100;
/// Times that cuts are added for one try.
const CUTS: usize = 200;

/// Finds the safe last layer of a guard, or names a cell that stays in the way.
pub(super) fn safe(guard: &mut Guard, frame: &FixedParts) -> Result<(), usize> {
    // So that no cell gets other multipliers on the way.
    guard.settled = true;
    if let Some(layer) = SLACKS.iter().find_map(|slack| by_clauses(guard, frame, Margin { absolute: *slack, ..guard.margin })) {
        keep(guard, layer);
        return Ok(());
    }
    guard.settled = frame.besides.favoured.is_some_and(|favoured| favoured.outputs.is_some());
    let mut stuck = 0;
    for slack in SLACKS {
        if frame.stopped() {
            return Err(stuck);
        }
        match first_layer(guard, frame, Margin { absolute: slack, ..guard.margin }) {
            Ok(layer) => {
                keep(guard, layer);
                return Ok(());
            }
            Err(cell) => stuck = cell,
        }
    }
    together(guard, frame).ok_or(stuck)
}

/// Takes a layer for the safe one, with the multipliers at hand.
fn keep(guard: &mut Guard, mut layer: Vec<f32>) {
    let b = layer.split_off(guard.inputs * guard.outputs);
    let lambda = guard.cells.iter().map(|c| c.lambda().to_vec()).collect();
    guard.safe = Safe { w: layer, b, lambda };
}

/// A last layer that keeps the clauses that the data favour, near what is usual.
fn by_clauses(guard: &mut Guard, frame: &FixedParts, margin: Margin) -> Option<Vec<f32>> {
    let (_, usual) = frame.besides.favoured?.clauses.as_ref()?;
    for cell in &mut guard.cells {
        let favoured = cell.favoured.clone()?;
        cell.weigh(&favoured);
    }
    let mut layer = vec![0.0f32; guard.inputs * guard.outputs];
    layer.extend(usual.iter().map(|v| *v as f32));
    guard.nearest.clear();
    (nearest_with_signs(guard, &mut layer, margin) == FeasibleCuts::Yes).then_some(layer)
}

/// The safe last layer of cells with several atoms by a search for all multipliers at once.
fn together(guard: &mut Guard, frame: &FixedParts) -> Option<()> {
    if !guard.cells.iter().any(Cell::has_choice) {
        return None;
    }
    let usual = frame.besides.favoured.and_then(|favoured| favoured.outputs.clone());
    let starts: Vec<Vec<f64>> = [usual, Some(vec![0.0; guard.outputs]), guess(guard, frame, 0.0)].into_iter().flatten().collect();
    let found = joint::search(guard, &starts)?;
    for slack in SLACKS.into_iter().filter(|s| *s <= found.distance.max(0.0)) {
        let mut layer = found.layer.clone();
        guard.cells.iter_mut().zip(&found.lambda).for_each(|(cell, lambda)| cell.weigh(lambda));
        guard.nearest.clear();
        let how = Try { margin: Margin { absolute: slack, ..guard.margin }, kind: Bounds::Interval, rounds: CUTS, lean: 0.0 };
        if guard.nearest(&mut layer, how).0 == FeasibleCuts::Yes && guard.pairs_hold(&layer) {
            keep(guard, layer);
            return Some(());
        }
    }
    None
}

/// If a last layer exists in exact arithmetic: how much of a margin float32 asks for there.
pub(super) fn without_rounding(guard: &mut Guard, frame: &FixedParts) -> Option<f64> {
    let mut layer = first_layer(guard, frame, Margin { relative: 0.0, absolute: 0.0 }).ok()?;
    let margin = guard.margin;
    (0..guard.cells.len()).map(|k| guard.slack(k, &mut layer, margin, Bounds::Interval).margin).reduce(f64::max)
}

/// A last layer for which every cell stays below zero by a margin. Where every cell has one atom, the quadratic program finds it or
/// shows that there is none; where there is a choice of multipliers, those of several outputs that obey the rules are tried, and
/// others found on the way.
fn first_layer(guard: &mut Guard, frame: &FixedParts, margin: Margin) -> Result<Vec<f32>, usize> {
    let size = guard.inputs * guard.outputs;
    let choice = guard.cells.iter().any(Cell::has_choice);
    let mut stuck = 0;
    let usual = frame.besides.favoured.and_then(|favoured| favoured.outputs.clone());
    for start in [usual, Some(vec![0.0; guard.outputs]), guess(guard, frame, margin.absolute)].into_iter().flatten() {
        let mut layer = vec![0.0f32; size];
        layer.extend(start.iter().map(|v| *v as f32));
        choose_atoms(guard, &layer[size..]);
        let given = layer.clone();
        guard.nearest.clear();
        match nearest_with_signs(guard, &mut layer, margin) {
            FeasibleCuts::Yes => return Ok(layer),
            FeasibleCuts::Never(cuts) => {
                stuck = guard.nearest.cells(&cuts).last().copied().unwrap_or(0);
                if !choice {
                    return Err(stuck);
                }
            }
            FeasibleCuts::Unknown => {}
        }
        layer.copy_from_slice(&given);
        match settle(guard, &mut layer, margin, frame) {
            Ok(()) if guard.pairs_hold(&layer) => return Ok(layer),
            Ok(()) => {}
            Err(cell) => stuck = cell,
        }
    }
    Err(stuck)
}

/// The nearest last layer for the multipliers at hand, in turns with the one whose weights have their signs.
fn nearest_with_signs(guard: &mut Guard, layer: &mut [f32], margin: Margin) -> FeasibleCuts {
    for _ in 0..SIGN_TURNS {
        let found = guard.nearest(layer, Try { margin, kind: Bounds::Interval, rounds: CUTS, lean: 0.0 }).0;
        if found != FeasibleCuts::Yes || guard.pairs_hold(layer) {
            return found;
        }
        guard.between_inputs(layer);
        guard.nearest.clear();
    }
    FeasibleCuts::Unknown
}

/// Empties all cells, the hidden units at zero: the boxes have not been updated yet, so they are.
fn settle(guard: &mut Guard, layer: &mut [f32], margin: Margin, frame: &FixedParts) -> Result<(), usize> {
    let mut stuck = 0;
    let mut before = layer.to_vec();
    for sweep in 1..=SWEEPS {
        let mut writable = Guard::layer(layer, guard.inputs, guard.outputs);
        let mut clean = true;
        for (k, cell) in guard.cells.iter_mut().enumerate() {
            if !empty_cell(cell, &guard.bounds, margin, &mut writable, &mut guard.scratch) {
                (clean, stuck) = (false, k);
            }
            guard.effort = guard.effort.saturating_sub(cell.atoms.len().pow(3));
        }
        if clean {
            return Ok(());
        }
        if frame.stopped() || guard.effort == 0 {
            break;
        }
        // Between sets that have no point in common the sweeps come to go round in a circle.
        if sweep % 100 == 0 {
            let moved = layer.iter().zip(&before).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            let size = layer.iter().map(|a| a.abs()).fold(0.0, f32::max);
            if moved <= 1e-4 * size {
                break;
            }
            before.copy_from_slice(layer);
        }
    }
    Err(stuck)
}

/// For each cell the atom that these outputs break most, in the middle of the cell's region.
fn choose_atoms(guard: &mut Guard, b: &[f32]) {
    let outputs: Vec<f64> = b.iter().map(|b| f64::from(*b)).collect();
    for cell in &mut guard.cells {
        let free = (0..cell.atoms.len()).filter(|i| cell.atoms[*i].free);
        if let Some(chosen) = cell.most_broken(free, &outputs, guard.bounds.last_input(cell.region)) {
            cell.use_only(chosen);
        }
    }
}

/// The formula with every atom about outputs tightened by `slack` in units of the outputs: what satisfies it keeps that distance.
fn tightened(formula: &Formula, slack: f64, frame: &FixedParts) -> Formula {
    formula.replaced(&mut |atom| {
        // As the guard reads it: in float64 a coefficient may be infinite.
        let (linear, _) = readable(&atom.linear);
        let reach = |(var, c): (&Var, &Rational)| match var {
            Var::Output(j) => c.to_f64().value().abs() * frame.units.scale[*j],
            _ => 0.0,
        };
        let distance = slack * linear.terms.iter().map(reach).sum::<f64>();
        let mut atom = Atom { linear: linear.into_owned(), strict: atom.strict };
        atom.linear.constant -= Rational::try_from(distance).unwrap_or_default();
        Formula::Atom(atom)
    })
}

/// Scores by which one class wins clearly and obeys.
fn clear_winner(claims: &[&Formula], schema: &Schema, middle: &Point) -> Option<Point> {
    let scores = |k: usize| {
        let mut point = middle.clone();
        point.extend((0..schema.task.outputs()).map(|j| (Var::Output(j), Rational::from(if j == k { CLEARLY } else { 0 }))));
        point
    };
    let obeys = |point: &Point| {
        let value = |var: Var| point.get(&var).cloned().unwrap_or_default();
        claims.iter().all(|claim| claim.at(&value))
    };
    (0..schema.task.classes()?.len()).map(scores).find(obeys)
}

/// Outputs that obey every rule in the middle of the domain, at a distance from the border, in training units.
fn guess(guard: &Guard, frame: &FixedParts, slack: f64) -> Option<Vec<f64>> {
    let chosen = frame.spec.rules.iter().filter(|r| guard.rules.contains(&r.name));
    let claims: Vec<Formula> = chosen.map(|r| tightened(&r.claim, slack, frame)).collect();
    let claims: Vec<&Formula> = claims.iter().collect();
    let schema = &frame.spec.schema;
    let mut middle = Point::new();
    for (f, feature) in schema.features.iter().enumerate() {
        match &feature.domain {
            Domain::Category { levels } => {
                for l in 0..levels.len() {
                    middle.insert(Var::Level(f, l), Rational::from(u8::from(l == 0)));
                }
            }
            Domain::Real { .. } | Domain::Integer { .. } | Domain::Stepped { .. } | Domain::Ordered { .. } => {
                let (lo, hi) = var_range(Var::Feature(f), schema);
                let mid = (lo + hi) / Rational::from(2);
                let unit = feature.domain.grid().map(|k| Rational::from(2).pow(-k as isize));
                let mid = unit.map_or(mid.clone(), |unit| Rational::from((mid / &unit).floor()) * unit);
                middle.insert(Var::Feature(f), mid);
            }
        }
    }
    let point = match satisfy_within(&claims, schema, &middle, &Budget::new(MAX_TERMS / GUESSING)) {
        Satisfiable::Yes(point, _) => point,
        Satisfiable::No => return None,
        Satisfiable::Unknown => clear_winner(&claims, schema, &middle)?,
    };
    let gate = frame.gate.map_or(1.0, |gate| {
        let f = schema.columns()[gate.column].feature;
        middle.get(&Var::Feature(f)).map_or(1.0, |v| v.to_f64().value()) * gate.scale + gate.shift
    });
    let output = |j: usize| {
        let y = point.get(&Var::Output(j)).map_or(0.0, |v| v.to_f64().value());
        (y - frame.units.shift[j]) / frame.units.scale[j] / gate.max(1e-6)
    };
    Some((0..guard.outputs).map(output).collect())
}
