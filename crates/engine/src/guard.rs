//! Rules in normal form and a network enter; a last layer for which they hold on the whole domain leaves, after every step.
//!
//! [`Guard::new`] takes the rules apart into cells, finds a last layer that satisfies them through the skipped features alone, and
//! so knows before training that the rules can be met. [`Guard::solve`] moves a last layer to the nearest one that satisfies
//! them, given the boxes of the hidden layers.

mod build;
pub mod cell;
mod metric;
mod multiplier;
mod start;
mod tighten;
mod translate;

use deepsade_check::{Bounds as BoundsKind, Certificate, Tree};
use deepsade_net::Network;
use deepsade_spec::Cut;
use deepsade_spec::NormalSpec;
use thiserror::Error;

use crate::bounds::{Bounds, Relation};
use cell::{Cell, Layer, Margin, Scratch};

pub use build::Units;
pub use metric::Metric;

/// Sweeps over all cells by the metric before the nearest last layer in plain distance is taken.
const CUTS: usize = 12;
/// Sweeps in plain distance before the last layer is pulled back towards the safe one.
const SWEEPS: usize = 40;
/// A cell that is not empty gets new multipliers once in so many visits.
const PATIENCE: u32 = 32;

/// How the rules are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    /// How hidden units are bounded.
    pub bounds: BoundsKind,
    /// Regions that each rule's domain is cut into, to bound the hidden units more tightly.
    pub regions: usize,
}

/// Why no guard can be set up.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GuardError {
    /// A rule falls into too many cells.
    #[error(
        "rule '{rule}' falls into more than {most} cells, too many to enforce through the weights; split it into simpler rules"
    )]
    TooManyCells {
        /// The rule.
        rule: String,
        /// The limit.
        most: usize,
    },
    /// No last layer was found.
    #[error(
        "no last layer satisfies {} for every input: {}", names(.rules),
        "the rule must leave a margin that an affine function of the features it mentions can keep \
         (an equality leaves none: write abs(a - b) <= 0.001)"
    )]
    Infeasible {
        /// The smallest set of rules for which none was found.
        rules: Vec<String>,
    },
    /// The domain can't be used.
    #[error("{0}")]
    Domain(String),
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
    /// What a change of the last layer costs; `None`: plain distance.
    metric: Option<Metric>,
    margin: Margin,
    kind: BoundsKind,
    scratch: Scratch,
    relation: Relation,
    outputs: usize,
    inputs: usize,
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
        build::guard(spec, network, units, how)
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

    /// Forgets multipliers that the last epoch found, so that a resumed run goes the same way, and takes a new metric.
    pub fn begin_epoch(&mut self, metric: Option<Metric>) {
        self.metric = metric;
        for (cell, lambda) in self.cells.iter_mut().zip(&self.safe.lambda) {
            cell.lambda.clone_from(lambda);
            cell.visits = 0;
        }
    }

    /// The columns of what the last layer reads that come straight from the input.
    pub fn straight_columns(&self) -> Vec<usize> {
        let origins = self.bounds.origins();
        (0..origins.len()).filter(|k| origins[*k].is_some()).collect()
    }

    /// Moves the last layer, at the end of the flat parameters, to a near one for which every cell is empty.
    pub fn solve(&mut self, parameters: &mut [f32]) -> Solved {
        self.bounds.update(parameters);
        let mut solved = Solved::default();
        for round in 0..CUTS + SWEEPS {
            let moves = self.sweep(parameters, round < CUTS);
            if moves == 0 {
                return solved;
            }
            solved.moves += moves;
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

    /// Empties one cell after the other; returns how many were not empty.
    fn sweep(&mut self, parameters: &mut [f32], by_metric: bool) -> usize {
        let metric = self.metric.as_ref().filter(|_| by_metric);
        if self.kind == BoundsKind::Relational {
            return self.sweep_related(parameters);
        }
        let mut layer = Self::layer(parameters, self.inputs, self.outputs);
        let mut moves = 0;
        for cell in &mut self.cells {
            moves += usize::from(!empty_cell(cell, &self.bounds, self.margin, metric, &mut layer, &mut self.scratch));
        }
        moves
    }

    /// The same with the hidden units tied to the input. Multipliers are still found with independent boxes.
    fn sweep_related(&mut self, parameters: &mut [f32]) -> usize {
        let start = parameters.len() - (self.inputs + 1) * self.outputs;
        let plain = Metric::plain(self.inputs);
        let mut moves = 0;
        for cell in &mut self.cells {
            let v = self.bounds.last_input(cell.region);
            let (hidden, last) = parameters.split_at_mut(start);
            let mut layer = Self::layer(last, self.inputs, self.outputs);
            cell.read(false, &layer, v, &mut self.scratch);
            let (bounds, relation, region) = (&self.bounds, &mut self.relation, cell.region);
            let mut relate = |q: &[f64], point: &mut Vec<f64>| {
                point.clear();
                point.extend_from_slice(bounds.relate(region, hidden, q, relation));
            };
            let mut slack = cell.related(v, self.margin, &mut relate, &mut self.scratch);
            if slack.excess <= 0.0 {
                continue;
            }
            cell.visits += 1;
            if cell.visits % PATIENCE == 1 && cell.atoms.iter().filter(|a| a.free).count() > 1 {
                cell.read(true, &layer, v, &mut self.scratch);
                multiplier::improve(cell, v, self.margin, &mut self.scratch);
                slack = cell.related(v, self.margin, &mut relate, &mut self.scratch);
            }
            if slack.excess > 0.0 {
                cell.cut_at_corner(slack, &mut layer, self.metric.as_ref().unwrap_or(&plain), &mut self.scratch);
                moves += 1;
            }
        }
        moves
    }

    /// Whether every cell is empty with the multipliers at hand.
    fn holds(&mut self, parameters: &mut [f32]) -> bool {
        if self.kind == BoundsKind::Relational {
            let start = parameters.len() - (self.inputs + 1) * self.outputs;
            let (hidden, last) = parameters.split_at_mut(start);
            let layer = Self::layer(last, self.inputs, self.outputs);
            return self.cells.iter().all(|cell| {
                let v = self.bounds.last_input(cell.region);
                cell.read(false, &layer, v, &mut self.scratch);
                let mut relate = |q: &[f64], point: &mut Vec<f64>| {
                    point.clear();
                    point.extend_from_slice(self.bounds.relate(cell.region, hidden, q, &mut self.relation));
                };
                cell.related(v, self.margin, &mut relate, &mut self.scratch).excess <= 0.0
            });
        }
        let layer = Self::layer(parameters, self.inputs, self.outputs);
        self.cells.iter().all(|cell| {
            let v = self.bounds.last_input(cell.region);
            cell.read(false, &layer, v, &mut self.scratch);
            cell.slack(&cell.lambda, v, self.margin, &mut self.scratch).excess <= 0.0
        })
    }

    /// The smallest distance to a violation: by how much the weighted mean of a cell's atoms stays below zero, in training units;
    /// the largest number where there is no cell. Negative where boxes are looser than the bounds that keep the rules.
    pub fn margin(&mut self, parameters: &mut [f32]) -> f64 {
        let layer = Self::layer(parameters, self.inputs, self.outputs);
        let distance = |cell: &Cell| {
            let v = self.bounds.last_input(cell.region);
            cell.read(false, &layer, v, &mut self.scratch);
            let slack = cell.slack(&cell.lambda, v, self.margin, &mut self.scratch);
            slack.margin - slack.excess
        };
        self.cells.iter().map(distance).fold(f64::MAX, f64::min)
    }

    /// Goes from the safe last layer towards the present one for as long as every cell stays empty. With the multipliers of the
    /// safe one K' is convex, so all of the way up to there is feasible.
    fn pull_back(&mut self, parameters: &mut [f32]) {
        self.begin_epoch(self.metric.clone());
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

    /// The multipliers as a proof: each cell's scaled to whole numbers.
    pub fn certificate(&self, model: &[u8], spec: &NormalSpec) -> Certificate {
        let proof = |(name, tree): (&String, &Regions)| deepsade_check::RuleProof { name: name.clone(), tree: self.tree(tree) };
        Certificate {
            model_sha256: deepsade_check::sha256_hex(model),
            rules_sha256: deepsade_check::sha256_hex(deepsade_spec::canonical::canonical(spec).as_bytes()),
            arithmetic: deepsade_check::Arithmetic::Float32,
            rules: self.rules.iter().zip(&self.trees).map(proof).collect(),
        }
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
                let whole = |k: &usize| {
                    let lambda = &self.cells[*k].lambda;
                    let largest = lambda.iter().copied().fold(0.0, f64::max);
                    lambda.iter().map(|l| (l / largest * f64::from(1 << 20)).round() as u64).collect()
                };
                Tree::Leaf { bounds: self.kind, cells: cells.iter().map(whole).collect(), lines: Vec::new() }
            }
        }
    }
}

/// Empties a cell; true if it was empty, with its own multipliers or better ones.
fn empty_cell(
    cell: &mut Cell,
    bounds: &Bounds,
    margin: Margin,
    metric: Option<&Metric>,
    layer: &mut Layer,
    scratch: &mut Scratch,
) -> bool {
    let v = bounds.last_input(cell.region);
    cell.read(false, layer, v, scratch);
    let mut slack = cell.slack(&cell.lambda, v, margin, scratch);
    if slack.excess <= 0.0 {
        return true;
    }
    cell.visits += 1;
    let fresh = metric.is_none() || cell.visits % PATIENCE == 1;
    if fresh && cell.atoms.iter().filter(|a| a.free).count() > 1 {
        cell.read(true, layer, v, scratch);
        slack = multiplier::improve(cell, v, margin, scratch);
        if slack.excess <= 0.0 {
            return true;
        }
    }
    if !metric.is_some_and(|metric| cell.cut(slack, layer, v, metric, scratch)) {
        cell.project(slack, layer, v, scratch);
    }
    false
}

fn blend(out: &mut [f32], from: &[f32], to: &[f32], t: f64) {
    for (out, (a, b)) in out.iter_mut().zip(from.iter().zip(to)) {
        *out = (f64::from(*a) + t * (f64::from(*b) - f64::from(*a))) as f32;
    }
}
