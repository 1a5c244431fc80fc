//! A last layer enters; the nearest one for which every cell is empty leaves, given the boxes of the hidden layers.

use deepsade_check::Bounds;

use super::cell::{Cell, LayerWeights, Margin, Slack};
use super::projection::FeasibleCuts;
use super::{Guard, multiplier};

/// Times that cuts are added to find the nearest last layer, before cells are emptied one by one.
const CUTS: usize = 16;
/// Sweeps over all cells, one by one, before the last layer is pulled back towards the safe one.
pub(super) const SWEEPS: usize = 40;
/// A cut goes so much of the excess further, so that the corners next to it rarely ask for another round.
const LEAN: f64 = 0.3;
/// Coefficients of outputs so many times as large as others are of other units.
const ALIKE: f64 = 16.0;
/// A cell that is not empty gets new multipliers once in so many visits,
const PATIENCE: u32 = 32;
/// with an excess within this share of the smallest: the layer will have moved before they matter.
const ROUGHLY: f64 = 0.02;
/// Where conditions have multipliers, what is left of the excess, at most: those that are best for a layer far from all that is
/// allowed say little about where it should go.
const WORTH: f64 = 0.5;

/// Times that cells and signs take turns.
const TURNS: usize = 12;
/// In place of a cell's index.
const NO_CELL: usize = usize::MAX;

/// How the nearest last layer is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Try {
    pub(super) margin: Margin,
    pub(super) kind: Bounds,
    /// Times that cuts are added.
    pub(super) rounds: usize,
    /// How much further cuts go, as a share of the excess.
    pub(super) lean: f64,
}

/// How a call of [`Guard::solve`] went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Solved {
    /// Cells that had to be emptied by moving the last layer.
    pub moves: usize,
    /// Whether the last layer had to be pulled back towards the safe one.
    pub pulled_back: bool,
}

impl Guard {
    /// Moves the last layer, at the end of the flat parameters, to the nearest one for which every cell is empty.
    ///
    /// For the multipliers at hand that is a quadratic program. Where it is too large, or its multipliers allow no last layer, cells
    /// are emptied one by one with new multipliers; and if that does not end, the layer is pulled back towards the safe one.
    ///
    /// Where weights have signs, that set and theirs take turns: both are convex, and the safe layer is in both.
    pub fn solve(&mut self, parameters: &mut [f32]) -> Solved {
        if self.signs.is_none() && self.changes.is_none() {
            return self.solve_cells(parameters);
        }
        let mut solved = Solved::default();
        for _ in 0..TURNS {
            let shrunk = self.between_inputs(parameters);
            let Solved { moves, pulled_back } = self.solve_cells(parameters);
            solved.moves += moves + usize::from(shrunk);
            solved.pulled_back |= pulled_back;
            if self.pairs_hold(parameters) {
                return solved;
            }
        }
        self.between_inputs(parameters);
        if !self.holds(parameters) {
            self.pull_back(parameters);
            solved.pulled_back = true;
        }
        solved
    }

    /// Brings weights of the wrong sign to 0, and scales those down that let outputs change too much; whether any of these did.
    pub(super) fn between_inputs(&mut self, parameters: &mut [f32]) -> bool {
        let start = parameters.len() - (self.inputs + 1) * self.outputs;
        self.signs.iter().for_each(|signs| signs.hold(0, &mut parameters[start..]));
        self.changes.as_mut().is_some_and(|changes| changes.shrink(parameters, self.inputs, self.outputs))
    }

    /// Whether a last layer does what rules between two inputs ask of it.
    pub(super) fn pairs_hold(&mut self, parameters: &[f32]) -> bool {
        let start = parameters.len() - (self.inputs + 1) * self.outputs;
        self.signs.as_ref().is_none_or(|signs| signs.hold_for(&parameters[start..]))
            && self.changes.as_mut().is_none_or(|changes| changes.hold(parameters))
    }

    fn solve_cells(&mut self, parameters: &mut [f32]) -> Solved {
        // Rules between two inputs alone ask nothing of bounds.
        if self.cells.is_empty() {
            return Solved::default();
        }
        match self.kind {
            Bounds::Interval => self.bounds.update(parameters),
            Bounds::Relational | Bounds::Inherited => self.bounds.update_tied(parameters, &mut self.relation),
        }
        let mut solved = Solved::default();
        if self.settled && self.kind == Bounds::Interval {
            let (held, moves) = self.one_by_one(parameters);
            solved.moves += moves;
            if held {
                return solved;
            }
        }
        let mut found = FeasibleCuts::Unknown;
        // Without leaning only where leaning is in the way: sides of a rule may be close to each other.
        for lean in [LEAN, 0.0] {
            let moves;
            (found, moves) = self.nearest(parameters, Try { margin: self.margin, kind: self.kind, rounds: CUTS, lean });
            solved.moves += moves;
            match found {
                FeasibleCuts::Yes => return solved,
                FeasibleCuts::Never(_) => {
                    self.nearest.undo(&mut Self::layer(parameters, self.inputs, self.outputs), &mut self.cells);
                }
                FeasibleCuts::Unknown => break,
            }
        }
        let choice = self.cells.iter().any(Cell::has_choice);
        for _ in 0..if choice || found == FeasibleCuts::Unknown { SWEEPS } else { 0 } {
            let moves = self.sweep(parameters);
            solved.moves += moves;
            if moves == 0 {
                return solved;
            }
        }
        if !self.holds(parameters) {
            self.pull_back(parameters);
            solved.pulled_back = true;
        }
        solved
    }

    pub(super) fn layer(parameters: &mut [f32], inputs: usize, outputs: usize) -> LayerWeights<'_> {
        let start = parameters.len() - (inputs + 1) * outputs;
        let (w, b) = parameters[start..].split_at_mut(inputs * outputs);
        LayerWeights { w, b }
    }

    /// The nearest last layer for the multipliers at hand; cells that are not empty get better ones now and then. Returns whether
    /// every cell is empty, and how often one was not.
    pub(super) fn nearest(&mut self, parameters: &mut [f32], how: Try) -> (FeasibleCuts, usize) {
        let Try { kind, rounds, lean, .. } = how;
        let mut moves = 0;
        let (mut push, mut farthest) = (0.0f64, 0.0f64);
        self.kept_count = self.nearest.begin(&mut self.kept);
        for round in 0..rounds {
            let mut broken = 0;
            for at in 0..self.distinct.len() {
                let k = self.distinct[at];
                let slack = self.look(k, parameters, how, round == 0);
                if slack.excess <= 0.0 {
                    continue;
                }
                broken += 1;
                self.keep_signs(k);
                let cell = &self.cells[k];
                let Some(cut) = self.nearest.next() else { return (FeasibleCuts::Unknown, moves + broken) };
                let v = self.bounds.last_input(cell.region);
                if kind == Bounds::Relational {
                    cut.sides.clear();
                    cut.point.clone_from(&self.point);
                } else {
                    cell.sides(slack.rho, &mut self.scratch, &mut cut.sides);
                    cut.place(v);
                }
                (cut.cell, cut.rho) = (k, slack.rho);
                let norm = cell.alpha(slack.rho, self.outputs, &mut cut.alpha).sqrt();
                if round == 0 {
                    push = push.max(slack.excess);
                    farthest = farthest.max(slack.excess / norm);
                }
                // An excess of outputs of another size is no measure.
                let further = push.min(ALIKE * farthest * norm);
                (cut.excess, cut.tolerance) = (slack.excess + 0.5 * slack.margin + lean * further, 0.25 * slack.margin);
                cell.turns(!self.settled, cut);
                self.nearest.commit(&self.metric, false);
            }
            if broken == 0 {
                self.cells.iter_mut().for_each(Cell::settle);
                return (FeasibleCuts::Yes, moves);
            }
            moves += broken;
            match self.nearest.solve() {
                FeasibleCuts::Yes => {
                    self.nearest.apply(&mut Self::layer(parameters, self.inputs, self.outputs), &mut self.cells);
                }
                other => return (other, moves),
            }
        }
        (FeasibleCuts::Unknown, moves)
    }

    /// Looks at one cell. At the first look of a call it may get better multipliers; if it keeps its own, its cuts of the call before
    /// are taken over to where its box is now.
    fn look(&mut self, k: usize, parameters: &mut [f32], how: Try, first: bool) -> Slack {
        let Try { margin, kind, lean, .. } = how;
        let mut slack = self.slack(k, parameters, margin, kind);
        let mut fresh = false;
        let cell = &mut self.cells[k];
        let v = self.bounds.last_input(cell.region);
        if slack.excess > 0.0 {
            cell.visits += 1;
            if first && cell.visits % PATIENCE == 1 && cell.has_choice() && !self.settled {
                let layer = Self::layer(parameters, self.inputs, self.outputs);
                let (before, weight) = (cell.lambda().to_vec(), cell.weight_of_outputs(cell.lambda()));
                let better = multiplier::improve(cell, &layer, v, margin, ROUGHLY, &mut self.scratch).excess;
                let hopeless = better * weight > WORTH * slack.excess * cell.weight_of_outputs(cell.lambda());
                if cell.conditions().next().is_some() && hopeless {
                    cell.weigh(&before);
                }
                fresh = true;
                slack = self.slack(k, parameters, margin, kind);
            }
        }
        if first && !fresh && kind == Bounds::Interval {
            if self.kept[..self.kept_count].iter().any(|cut| cut.cell == k) {
                self.keep_signs(k);
            }
            let cell = &self.cells[k];
            let v = self.bounds.last_input(cell.region);
            for kept in self.kept[..self.kept_count].iter_mut().filter(|cut| cut.cell == k) {
                let Some(cut) = self.nearest.next() else { break };
                std::mem::swap(cut, kept);
                // What is there now is an old cut, of whichever cell: nobody's.
                kept.cell = NO_CELL;
                cut.place(v);
                // The multipliers may have changed since.
                cell.alpha(cut.rho, self.outputs, &mut cut.alpha);
                cell.turns(!self.settled, cut);
                let margin = cell.margin(cut.rho, v, margin, &self.scratch);
                cut.excess = cell.value(cut.rho, &cut.point, &self.scratch) + 1.5 * margin + lean * slack.excess.max(0.0);
                cut.tolerance = 0.25 * margin;
                self.nearest.commit(&self.metric, true);
            }
        }
        slack
    }

    /// Multipliers of a cell's conditions that may move do not become negative. Settled ones stay: of cells that say the same with them one
    /// is looked at.
    fn keep_signs(&mut self, k: usize) {
        if self.settled || self.nearest.knows(k) {
            return;
        }
        let cell = &self.cells[k];
        let count = cell.conditions().count();
        for (at, i) in cell.conditions().enumerate() {
            let Some(cut) = self.nearest.next() else { return };
            (cut.cell, cut.rho, cut.excess, cut.tolerance) = (k, f64::NAN, -cell.lambda()[i], 1e-12);
            cut.sides.clear();
            cut.point.clear();
            cut.point.resize(self.inputs, 0.0);
            cut.alpha.clear();
            cut.alpha.resize(self.outputs, 0.0);
            cut.conditions.clear();
            cut.conditions.extend((0..count).map(|c| if c == at { -1.0 } else { 0.0 }));
            cut.freedom = cell.freedom();
            self.nearest.commit(&self.metric, false);
        }
    }

    /// How far a cell is from being empty.
    pub(super) fn slack(&mut self, k: usize, parameters: &mut [f32], margin: Margin, kind: Bounds) -> Slack {
        let cell = &self.cells[k];
        let v = self.bounds.last_input(cell.region);
        let start = parameters.len() - (self.inputs + 1) * self.outputs;
        let (hidden, last) = parameters.split_at_mut(start);
        cell.read(&Self::layer(last, self.inputs, self.outputs), v, &mut self.scratch);
        if kind == Bounds::Interval {
            return cell.slack(v, margin, &self.scratch);
        }
        let mut relate = |q: &[f64], point: &mut Vec<f64>| {
            point.clear();
            point.extend_from_slice(self.bounds.relate(cell.region, hidden, q, &mut self.relation));
        };
        cell.related((v, self.bounds.last_errors(cell.region)), margin, &mut relate, &mut self.scratch, &mut self.point)
    }

    /// Whether every cell is empty with the multipliers at hand.
    pub(super) fn holds(&mut self, parameters: &mut [f32]) -> bool {
        (0..self.cells.len()).all(|k| self.slack(k, parameters, self.margin, self.kind).excess <= 0.0)
            && self.pairs_hold(parameters)
    }

    /// Goes from the safe last layer towards the present one for as long as every cell stays empty. With the multipliers of the
    /// safe one K' is convex, so all of the way up to there is feasible.
    fn pull_back(&mut self, parameters: &mut [f32]) {
        self.begin_epoch(Some(self.metric.clone()));
        let start = parameters.len() - (self.inputs + 1) * self.outputs;
        let goal = parameters[start..].to_vec();
        let safe = self.safe();
        let (mut reached, mut beyond) = (0.0f64, 1.0f64);
        for _ in 0..30 {
            let t = f64::midpoint(reached, beyond);
            blend(&mut parameters[start..], &safe, &goal, t);
            if self.holds(parameters) { reached = t } else { beyond = t }
        }
        blend(&mut parameters[start..], &safe, &goal, reached);
    }
}

pub(super) fn blend(out: &mut [f32], from: &[f32], to: &[f32], t: f64) {
    for (out, (a, b)) in out.iter_mut().zip(from.iter().zip(to)) {
        *out = (f64::from(*a) + t * (f64::from(*b) - f64::from(*a))) as f32;
    }
}
