//! Rules in normal form and a network enter; a last layer for which they hold on the whole domain leaves, after every step.
//!
//! [`Guard::new`] takes the rules apart into cells, finds a last layer that satisfies them through the skipped features alone, and
//! so knows before training that the rules can be met. [`Guard::solve`] moves a last layer to the nearest one that satisfies
//! them, given the boxes of the hidden layers.

mod build;
pub mod cell;
mod change;
mod error;
mod joint;
mod metric;
mod multiplier;
mod projection;
mod solve;
mod start;
mod sweep;
mod tighten;
mod translate;
mod trees;

use build::Besides;
use cell::{Cell, CellScratch, Margin};
use change::Changes;
use deepsade_check::Bounds;
use deepsade_net::Network;
use deepsade_spec::NormalSpec;
use projection::{LayerCut, Projection};
use solve::blend;
use trees::Regions;

use crate::bounds::{HiddenBounds, RelationScratch};
use crate::clauses::Clauses;
use crate::signs::Signs;
use crate::units::Units;

pub use error::{GuardError, Obstacle};
pub use metric::Metric;
pub use solve::Solved;

/// How tightly the hidden units are bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tightness {
    /// How hidden units are bounded.
    pub bounds: Bounds,
    /// Regions that each rule's domain is cut into, to bound the hidden units more tightly.
    pub regions: usize,
}

/// What the data favour where the rules leave a choice of multipliers.
#[derive(Debug, Clone, PartialEq)]
pub struct Favoured {
    /// Clauses that imply the rules, and outputs, in training units, that are usual for each label.
    pub clauses: Option<(Clauses, Vec<f64>)>,
    /// Outputs of the most likely label set that obeys the rules.
    pub outputs: Option<Vec<f64>>,
}

/// Keeps a last layer inside what the rules allow.
///
/// ```
/// use deepsade_check::Bounds;
/// use deepsade_engine::guard::{Guard, Tightness};
/// use deepsade_engine::units::Units;
/// use deepsade_net::{Matrix, Network, Node, Op};
/// use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};
///
/// let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } };
/// let schema = Schema { features: vec![feature("income")], task: Task::regression(vec!["rent".into()]), one_hot: OneHot::Full, filled: vec![] };
/// let spec = compile(&[RuleText { name: "little".into(), text: "rent <= 2".into() }], &schema).unwrap();
/// // rent = income / 2
/// let half = Op::Dense { w: Matrix { rows: 1, cols: 1, data: vec![0.5] }, b: vec![0.0] };
/// let network = Network { inputs: 1, nodes: vec![Node { op: half, from: vec![0] }] };
/// let mut guard = Guard::new(&spec, &network, &Units::raw(1), Tightness { bounds: Bounds::Interval, regions: 1 }).unwrap();
/// // Weight and bias of rent = income / 2, which is 5 for an income of 10.
/// let mut layer = [0.5, 0.0];
/// assert!(guard.solve(&mut layer).moves > 0);
/// assert!(10.0 * layer[0] + layer[1] <= 2.0 && layer[1] <= 2.0, "{layer:?}");
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    cells: Vec<Cell>,
    bounds: HiddenBounds,
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
    kind: Bounds,
    nearest: Projection,
    scratch: CellScratch,
    /// Scratch: cuts of the step before, and a point.
    kept: Vec<LayerCut>,
    kept_count: usize,
    point: Vec<f64>,
    relation: RelationScratch,
    outputs: usize,
    inputs: usize,
    /// The signs of the last layer's weights that rules between two inputs ask for.
    signs: Option<Signs>,
    /// How much outputs may change between two inputs.
    changes: Option<Changes>,
    /// Whether multipliers are kept as long as they allow a last layer.
    settled: bool,
    /// How large outputs are: the units of training, in whatever units the last layer is.
    sizes: Vec<f64>,
    /// What is left of the work that a search for the safe last layer may take.
    effort: usize,
    /// The cells to look at for the nearest last layer: of those that say the same with their multipliers one.
    distinct: Vec<usize>,
}

#[derive(Debug, Clone, Default)]
struct Safe {
    w: Vec<f32>,
    b: Vec<f32>,
    lambda: Vec<Vec<f64>>,
}

impl Guard {
    /// Prepares the rules of `spec` for a network whose outputs are in `units`.
    pub fn new(spec: &NormalSpec, network: &Network, units: &Units, tightness: Tightness) -> Result<Self, GuardError> {
        build::guard(spec, network, units, tightness, Besides::NOTHING)
    }

    /// The same, given up as [`GuardError::Stopped`] once `stop` says so.
    pub fn until(
        spec: &NormalSpec,
        network: &Network,
        units: &Units,
        tightness: Tightness,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, GuardError> {
        build::guard(spec, network, units, tightness, Besides { stop, ..Besides::NOTHING })
    }

    /// The same, with multipliers that the data favour where the rules leave a choice; they are kept as long as some last layer
    /// satisfies them. Chosen anew for every last layer, they come to tie all outputs to each other.
    pub fn around(
        spec: &NormalSpec,
        network: &Network,
        units: &Units,
        tightness: Tightness,
        favoured: Option<&Favoured>,
    ) -> Result<Self, GuardError> {
        build::guard(spec, network, units, tightness, Besides { favoured, ..Besides::NOTHING })
    }

    /// The same guard, regions and multipliers included, for a network of the same rules with other layers or units. The safe
    /// last layer is given in its units. `stop` as for [`Guard::until`].
    pub fn transfer(
        &self,
        spec: &NormalSpec,
        network: &Network,
        units: &Units,
        safe: &[f32],
        strictness: f64,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, GuardError> {
        let mut guard = build::attach(spec, network, units, &self.sizes, (self.kind, strictness), &self.cuts, stop)?;
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
        Self { kind: Bounds::Interval, ..self.clone() }
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
        let mut seen = std::collections::BTreeSet::new();
        self.distinct = (0..self.cells.len()).filter(|k| !self.settled || seen.insert(self.cells[*k].says())).collect();
    }

    /// The columns of what the last layer reads that come straight from the input.
    pub fn straight_columns(&self) -> Vec<usize> {
        let origins = self.bounds.origins();
        (0..origins.len()).filter(|k| origins[*k].is_some()).collect()
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
}
