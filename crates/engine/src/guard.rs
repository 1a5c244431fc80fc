//! Rules in normal form and a network enter; a last layer for which they hold on the whole domain leaves, after every step.
//!
//! [`Guard::new`] takes the rules apart into cells, finds a last layer that satisfies them through the skipped features alone, and
//! so knows before training that the rules can be met. [`Guard::solve`] moves a last layer to the nearest one that satisfies
//! them, given the boxes of the hidden layers.

mod build;
pub mod cell;
mod change;
mod joint;
mod metric;
mod multiplier;
mod projection;
mod start;
mod tighten;
mod translate;

use cell::{Cell, Layer, Margin, Scratch, Slack, Term};
use change::Changes;
use deepsade_check::{Bounds as BoundsKind, Tree};
use deepsade_net::Network;
use deepsade_spec::Cut;
use deepsade_spec::NormalSpec;
use projection::{Cut as LayerCut, Feasible, Projection};
use thiserror::Error;

use crate::bounds::{Bounds, Relation};
use crate::rounding::whole;
use crate::signs::Signs;
use crate::units::Units;

pub use metric::Metric;

/// Times that cuts are added to find the nearest last layer, before cells are emptied one by one.
const CUTS: usize = 16;
/// Sweeps over all cells, one by one, before the last layer is pulled back towards the safe one.
const SWEEPS: usize = 40;
/// A cut goes so much of the excess further, so that the corners next to it rarely ask for another round.
const LEAN: f64 = 0.3;
/// A cell that is not empty gets new multipliers once in so many visits,
const PATIENCE: u32 = 32;
/// with an excess within this share of the smallest: the layer will have moved before they matter.
const ROUGHLY: f64 = 0.02;

/// Times that cells and signs take turns.
const TURNS: usize = 12;
/// In place of a cell's index.
const NO_CELL: usize = usize::MAX;
/// Binary digits of a multiplier in a certificate.
const BITS: u32 = 20;

/// How the rules are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    /// How hidden units are bounded.
    pub bounds: BoundsKind,
    /// Regions that each rule's domain is cut into, to bound the hidden units more tightly.
    pub regions: usize,
}

/// Why no guard can be set up.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum GuardError {
    /// A rule falls into too many cells.
    #[error(
        "rule '{rule}' falls into more than {most} cells, or into cells of too many conditions in all, to be enforced through the weights; \
         split it into simpler rules"
    )]
    TooManyCells {
        /// The rule.
        rule: String,
        /// The limit.
        most: usize,
    },
    /// No last layer satisfies the rules, or none was found.
    #[error("no last layer {} {} for every input: {why}", if .why.is_firm() { "satisfies" } else { "was found that satisfies" }, names(.rules))]
    Infeasible {
        /// The smallest set of rules for which there is none.
        rules: Vec<String>,
        /// What stands in the way.
        why: Obstacle,
    },
    /// The domain can't be used.
    #[error("{0}")]
    Domain(String),
}

/// Why rules can't be kept by a last layer.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum Obstacle {
    /// Two sides of a rule must be equal.
    #[error(
        "an equality leaves no margin for rounding in float32; the output step keeps it, or says what float32 allows (enforce = \"decode\")"
    )]
    Equality,
    /// In exact arithmetic there is one.
    #[error("rounding in float32 takes a margin of about {needed:.1e} on each side, which the rule does not leave; widen it")]
    NoMargin {
        /// By how much the outputs must stay on the safe side, in the rule's units.
        needed: f64,
    },
    /// With a margin there is none, by linear programming.
    #[error(
        "no affine function of the features that the rule mentions keeps it with a margin, and the hidden units are not bounded tightly \
         enough to help; make the rule wider, or enforce it by decoding (enforce = \"decode\")"
    )]
    NotAffine,
    /// The rule has alternatives, and not all ways to combine them were tried.
    #[error(
        "none of the ways to combine the alternatives and conditions of the rule that were tried leaves an affine function of the \
         features that it mentions, which does not prove that there is none; make the rule wider, or enforce it by decoding \
         (enforce = \"decode\")"
    )]
    NotFound,
}

impl Obstacle {
    /// Whether it is proved that there is none, not only that none was found.
    pub fn is_firm(self) -> bool {
        // Without any margin, at a border of the domain, there may still be one.
        !matches!(self, Self::NotFound | Self::NotAffine)
    }
}

fn names(rules: &[String]) -> String {
    let quoted: Vec<String> = rules.iter().map(|r| format!("'{r}'")).collect();
    quoted.join(" and ")
}

/// Keeps a last layer inside what the rules allow.
#[derive(Debug, Clone)]
pub struct Guard {
    cells: Vec<Cell>,
    bounds: Bounds,
    /// For each rule where its regions are cut.
    cuts: Vec<build::Cuts>,
    /// For each rule how its regions lie, and which cells they have.
    trees: Vec<Regions>,
    rules: Vec<String>,
    /// A last layer that satisfies the rules whatever the hidden layers do, with its multipliers.
    safe: Safe,
    /// What a change of the last layer costs.
    metric: Metric,
    margin: Margin,
    kind: BoundsKind,
    nearest: Projection,
    scratch: Scratch,
    /// Scratch: cuts of the step before, and a point.
    kept: Vec<LayerCut>,
    kept_count: usize,
    point: Vec<f64>,
    relation: Relation,
    outputs: usize,
    inputs: usize,
    /// The signs of the last layer's weights that rules between two inputs ask for.
    signs: Option<Signs>,
    /// How much outputs may change between two inputs.
    changes: Option<Changes>,
    /// Whether multipliers are kept as long as they allow a last layer.
    settled: bool,
}

#[derive(Debug, Clone, Default)]
struct Safe {
    w: Vec<f32>,
    b: Vec<f32>,
    lambda: Vec<Vec<f64>>,
}

/// A tree of regions with the cells of each leaf.
#[derive(Debug, Clone)]
enum Regions {
    Split { feature: usize, cut: Cut, below: Box<Regions>, above: Box<Regions> },
    Leaf(Vec<usize>),
}

/// How the nearest last layer is looked for.
#[derive(Debug, Clone, Copy)]
struct Try {
    margin: Margin,
    kind: BoundsKind,
    /// Times that cuts are added.
    rounds: usize,
    /// How much further cuts go, as a share of the excess.
    lean: f64,
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
    /// Prepares the rules of `spec` for a network whose outputs are in `units`.
    pub fn new(spec: &NormalSpec, network: &Network, units: &Units, how: How) -> Result<Self, GuardError> {
        build::guard(spec, network, units, how, None)
    }

    /// The same, with multipliers that suit these outputs, in training units, where the rules leave a choice; they are kept as long
    /// as some last layer satisfies them. Chosen anew for every last layer, they come to tie all outputs to each other.
    pub fn around(
        spec: &NormalSpec,
        network: &Network,
        units: &Units,
        how: How,
        outputs: Option<&[f64]>,
    ) -> Result<Self, GuardError> {
        build::guard(spec, network, units, how, outputs)
    }

    /// The same guard, regions and multipliers included, for a network of the same rules with other layers or units. The safe
    /// last layer is given in its units.
    pub fn transfer(
        &self,
        spec: &NormalSpec,
        network: &Network,
        units: &Units,
        safe: &[f32],
        strictness: f64,
    ) -> Result<Self, GuardError> {
        let mut guard = build::attach(spec, network, units, self.kind, &self.cuts, strictness)?;
        let (w, b) = safe.split_at(safe.len() - guard.outputs);
        guard.safe = Safe { w: w.to_vec(), b: b.to_vec(), lambda: self.safe.lambda.clone() };
        guard.settled = self.settled;
        guard.begin_epoch(None);
        Ok(guard)
    }

    /// Moves the last layer towards the safe one, so that `share` of the difference is left.
    pub fn approach_safe(&self, parameters: &mut [f32], share: f64) {
        let start = parameters.len() - (self.inputs + 1) * self.outputs;
        let present = parameters[start..].to_vec();
        blend(&mut parameters[start..], &self.safe(), &present, share);
    }

    /// The same guard with independent boxes instead of linear bounds.
    #[must_use]
    pub fn with_intervals(&self) -> Self {
        Self { kind: BoundsKind::Interval, ..self.clone() }
    }

    /// The safe last layer: weights row by row, then the bias.
    pub fn safe(&self) -> Vec<f32> {
        self.safe.w.iter().chain(&self.safe.b).copied().collect()
    }

    /// Forgets multipliers and cuts that the last epoch found, so that a resumed run goes the same way, and takes a new metric;
    /// `None`: plain distance.
    pub fn begin_epoch(&mut self, metric: Option<Metric>) {
        self.metric = metric.unwrap_or_else(|| Metric::plain(self.inputs));
        self.nearest.clear();
        for (cell, lambda) in self.cells.iter_mut().zip(&self.safe.lambda) {
            cell.weigh(lambda);
            cell.visits = 0;
        }
    }

    /// The columns of what the last layer reads that come straight from the input.
    pub fn straight_columns(&self) -> Vec<usize> {
        let origins = self.bounds.origins();
        (0..origins.len()).filter(|k| origins[*k].is_some()).collect()
    }

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
    fn between_inputs(&mut self, parameters: &mut [f32]) -> bool {
        let start = parameters.len() - (self.inputs + 1) * self.outputs;
        self.signs.iter().for_each(|signs| signs.hold(0, &mut parameters[start..]));
        self.changes.as_mut().is_some_and(|changes| changes.shrink(parameters, self.inputs, self.outputs))
    }

    /// Whether a last layer does what rules between two inputs ask of it.
    fn pairs_hold(&mut self, parameters: &[f32]) -> bool {
        let start = parameters.len() - (self.inputs + 1) * self.outputs;
        self.signs.as_ref().is_none_or(|signs| signs.hold_for(&parameters[start..]))
            && self.changes.as_mut().is_none_or(|changes| changes.hold(parameters))
    }

    fn solve_cells(&mut self, parameters: &mut [f32]) -> Solved {
        match self.kind {
            BoundsKind::Interval => self.bounds.update(parameters),
            BoundsKind::Relational => self.bounds.update_tied(parameters, &mut self.relation),
        }
        let mut solved = Solved::default();
        let mut found = Feasible::Unknown;
        // Without leaning only where leaning is in the way: sides of a rule may be close to each other.
        for lean in [LEAN, 0.0] {
            let moves;
            (found, moves) = self.nearest(parameters, Try { margin: self.margin, kind: self.kind, rounds: CUTS, lean });
            solved.moves += moves;
            match found {
                Feasible::Yes => return solved,
                Feasible::Never(_) => self.nearest.undo(&mut Self::layer(parameters, self.inputs, self.outputs)),
                Feasible::Unknown => break,
            }
        }
        let choice = self.cells.iter().any(Cell::has_choice);
        for _ in 0..if choice || found == Feasible::Unknown { SWEEPS } else { 0 } {
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

    fn layer(parameters: &mut [f32], inputs: usize, outputs: usize) -> Layer<'_> {
        let start = parameters.len() - (inputs + 1) * outputs;
        let (w, b) = parameters[start..].split_at_mut(inputs * outputs);
        Layer { w, b }
    }

    /// The nearest last layer for the multipliers at hand; cells that are not empty get better ones now and then. Returns whether
    /// every cell is empty, and how often one was not.
    fn nearest(&mut self, parameters: &mut [f32], how: Try) -> (Feasible, usize) {
        let Try { kind, rounds, lean, .. } = how;
        let mut moves = 0;
        let mut push = 0.0f64;
        self.kept_count = self.nearest.begin(&mut self.kept);
        for round in 0..rounds {
            let mut broken = 0;
            for k in 0..self.cells.len() {
                let slack = self.look(k, parameters, how, round == 0);
                if slack.excess <= 0.0 {
                    continue;
                }
                broken += 1;
                let cell = &self.cells[k];
                let Some(cut) = self.nearest.next() else { return (Feasible::Unknown, moves + broken) };
                let v = self.bounds.last_input(cell.region);
                if kind == BoundsKind::Relational {
                    cut.sides.clear();
                    cut.point.clone_from(&self.point);
                } else {
                    cell.sides(slack.rho, &mut self.scratch, &mut cut.sides);
                    cut.place(v);
                }
                (cut.cell, cut.rho) = (k, slack.rho);
                if round == 0 {
                    push = push.max(slack.excess);
                }
                (cut.excess, cut.tolerance) = (slack.excess + 0.5 * slack.margin + lean * push, 0.25 * slack.margin);
                cell.alpha(slack.rho, self.outputs, &mut cut.alpha);
                self.nearest.commit(&self.metric, false);
            }
            if broken == 0 {
                return (Feasible::Yes, moves);
            }
            moves += broken;
            match self.nearest.solve() {
                Feasible::Yes => self.nearest.apply(&mut Self::layer(parameters, self.inputs, self.outputs)),
                other => return (other, moves),
            }
        }
        (Feasible::Unknown, moves)
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
                multiplier::improve(cell, &layer, v, margin, ROUGHLY, &mut self.scratch);
                fresh = true;
                slack = self.slack(k, parameters, margin, kind);
            }
        }
        if first && !fresh && kind == BoundsKind::Interval {
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
                let margin = cell.margin(cut.rho, v, margin, &self.scratch);
                cut.excess = cell.value(cut.rho, &cut.point, &self.scratch) + 1.5 * margin + lean * slack.excess.max(0.0);
                cut.tolerance = 0.25 * margin;
                self.nearest.commit(&self.metric, true);
            }
        }
        slack
    }

    /// How far a cell is from being empty.
    fn slack(&mut self, k: usize, parameters: &mut [f32], margin: Margin, kind: BoundsKind) -> Slack {
        let cell = &self.cells[k];
        let v = self.bounds.last_input(cell.region);
        let start = parameters.len() - (self.inputs + 1) * self.outputs;
        let (hidden, last) = parameters.split_at_mut(start);
        cell.read(&Self::layer(last, self.inputs, self.outputs), v, &mut self.scratch);
        if kind == BoundsKind::Interval {
            return cell.slack(v, margin, &self.scratch);
        }
        let mut relate = |q: &[f64], point: &mut Vec<f64>| {
            point.clear();
            point.extend_from_slice(self.bounds.relate(cell.region, hidden, q, &mut self.relation));
        };
        cell.related((v, self.bounds.last_errors(cell.region)), margin, &mut relate, &mut self.scratch, &mut self.point)
    }

    /// Empties one cell after the other, over boxes; returns how many were not empty.
    fn sweep(&mut self, parameters: &mut [f32]) -> usize {
        let mut layer = Self::layer(parameters, self.inputs, self.outputs);
        let mut moves = 0;
        for cell in &mut self.cells {
            moves += usize::from(!empty_cell(cell, &self.bounds, self.margin, &mut layer, &mut self.scratch));
        }
        moves
    }

    /// Whether every cell is empty with the multipliers at hand.
    fn holds(&mut self, parameters: &mut [f32]) -> bool {
        (0..self.cells.len()).all(|k| self.slack(k, parameters, self.margin, self.kind).excess <= 0.0)
            && self.pairs_hold(parameters)
    }

    /// The smallest distance to a violation: by how much the weighted mean of a cell's atoms stays below zero, in training units;
    /// the largest number where there is no cell. Negative where boxes are looser than the bounds that keep the rules.
    pub fn margin(&mut self, parameters: &mut [f32]) -> f64 {
        let layer = Self::layer(parameters, self.inputs, self.outputs);
        let distance = |cell: &Cell| {
            let v = self.bounds.last_input(cell.region);
            cell.read(&layer, v, &mut self.scratch);
            let slack = cell.slack(v, self.margin, &self.scratch);
            slack.margin - slack.excess
        };
        self.cells.iter().map(distance).fold(f64::MAX, f64::min)
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

    /// The multipliers as a proof of each rule: each cell's as whole numbers, of the atoms as the rules have them.
    pub fn trees(&self) -> Vec<Tree> {
        self.trees.iter().map(|regions| self.tree(regions)).collect()
    }

    fn tree(&self, regions: &Regions) -> Tree {
        match regions {
            Regions::Split { feature, cut, below, above } => Tree::Split {
                feature: *feature,
                cut: cut.clone(),
                below: Box::new(self.tree(below)),
                above: Box::new(self.tree(above)),
            },
            Regions::Leaf(cells) => {
                let multipliers = |k: &usize| {
                    let cell = &self.cells[*k];
                    let least = cell.atoms.iter().map(|atom| atom.power).min().unwrap_or(0);
                    let beside = |atom: &Term| 2f64.powi((least - atom.power).max(-2000) as i32);
                    let own = |(l, atom): (&f64, &Term)| l / atom.unit * beside(atom);
                    let raw: Vec<f64> = cell.lambda().iter().zip(&cell.atoms).map(own).collect();
                    whole(&raw, BITS).0
                };
                Tree::Leaf { bounds: self.kind, cells: cells.iter().map(multipliers).collect(), lines: Vec::new() }
            }
        }
    }
}

/// Empties a cell; true if it was empty, with its own multipliers or better ones.
fn empty_cell(cell: &mut Cell, bounds: &Bounds, margin: Margin, layer: &mut Layer, scratch: &mut Scratch) -> bool {
    let v = bounds.last_input(cell.region);
    cell.read(layer, v, scratch);
    let mut slack = cell.slack(v, margin, scratch);
    if slack.excess > 0.0 && cell.has_choice() {
        slack = multiplier::improve(cell, layer, v, margin, 0.0, scratch);
    }
    if slack.excess <= 0.0 {
        return true;
    }
    cell.project(slack, layer, v, scratch);
    false
}

fn blend(out: &mut [f32], from: &[f32], to: &[f32], t: f64) {
    for (out, (a, b)) in out.iter_mut().zip(from.iter().zip(to)) {
        *out = (f64::from(*a) + t * (f64::from(*b) - f64::from(*a))) as f32;
    }
}
