//! A batch enters; moved layers leave: lines 7 to 32 of Algorithm 1, in one of two ways.
//!
//! `project` takes the gradient step and then the nearest last layer that satisfies K'; `paper` searches and solves as the paper does.

mod paper;
mod project;

use paper::Paper;
use project::Project;
use serde::Serialize;

use super::checkpoint::RunState;
use super::error::TrainError;
use super::{EpochRecord, LastLayer, Optimiser, PreparedRows, Run, Standard, Stepper, TrainSettings, UpdateName};
use crate::guard::{Guard, Metric, Solved};
use crate::objective::LossSum;
use deepsade_solve::maxsmt::SolverError;

pub use paper::{ErrorsIn, MaxSmtName, PaperSettings, PaperSteps, search_box, soft_constraints};

/// Rows that tell what a change of the last layer costs.
const METRIC_ROWS: usize = 256;

/// One way to learn from batches, and what it remembers from one to the next.
pub trait Update {
    /// How gradient descent goes on.
    fn descent(&self, settings: &TrainSettings) -> TrainSettings {
        settings.clone()
    }

    /// Line 3: a last layer that satisfies K'.
    fn begin(&mut self, stepper: &mut Stepper, data: &PreparedRows);

    /// Goes on from a state; a fresh one changes nothing.
    fn resume(&mut self, state: &RunState);

    /// An epoch begins, with its rows in this order.
    fn begin_epoch(&mut self, stepper: &mut Stepper, data: &PreparedRows, order: &[usize]);

    /// Lines 7 to 32. Returns the loss before the step; where it is not finite, or no solution is found, nothing has moved.
    fn batch(&mut self, at: Batch) -> Result<LossSum, SolverError>;

    /// Other layers stand before the last one than any batch has left: solves for it, if there are rules. Whether it is near the present one.
    fn settle(&mut self, stepper: &mut Stepper) -> bool;

    /// An epoch has ended: writes down what it came to.
    fn end_epoch(&mut self, stepper: &mut Stepper, record: &mut EpochRecord);

    /// Lines 24 to 26, as far as no batch has done them: whether `W_out`, `best` of the state, is of this epoch.
    fn remember(&mut self, stepper: &Stepper, record: &EpochRecord, state: &mut RunState) -> bool;

    /// What keeps the rules, if there are any.
    fn guarded(&self) -> Option<&Guarded>;

    /// The same at the end.
    fn into_guarded(self: Box<Self>) -> Option<Guarded>;
}

/// What a batch works on.
pub struct Batch<'a> {
    pub stepper: &'a mut Stepper,
    pub optimiser: &'a mut Optimiser,
    pub data: &'a PreparedRows,
    pub rows: &'a [usize],
    /// Which batch of which epoch.
    pub place: (usize, usize),
    /// `W_out`, to be written.
    pub out: &'a mut [f32],
}

/// The units in which a run learns.
pub fn standard(run: &Run, stepper: &Stepper) -> Standard {
    if run.settings.strictly_paper() { Standard::raw(stepper) } else { Standard::new(run.train, run.loss, stepper) }
}

/// Which partition of D into batches an epoch has: one of its own, or the first, to the letter of the paper.
pub fn partition(run: &Run, epoch: usize) -> usize {
    if run.settings.strictly_paper() { 1 } else { epoch }
}

/// The update that a run asks for, with K' from K and the layers before the last (line 2), or the rules that can't be met.
pub fn update<'a>(run: &Run<'a>, standard: &Standard, stepper: &mut Stepper) -> Result<Box<dyn Update + 'a>, TrainError> {
    let settings = &run.settings;
    let around = |rules| Guard::around(rules, &run.network, &standard.units(), settings.tightness(), run.favoured.as_ref());
    let mut guarded = run.rules.map(around).transpose()?.map(Guarded::new);
    if let (Some(Guarded { guard, .. }), Some(rules), true) = (&mut guarded, run.rules, settings.strictly_paper()) {
        guard.over_whole_latent_box(&rules.schema)?;
    }
    Ok(match (settings.update, guarded) {
        (UpdateName::Paper, Some(guarded)) => Box::new(Paper::new(guarded, run, standard, stepper)?),
        (_, guarded) => Box::new(Project::new(guarded, run, standard, stepper)),
    })
}

/// V. Rows without weight say nothing: all of them together are no validation set.
fn validation(run: &Run, standard: &Standard, stepper: &mut Stepper) -> Option<PreparedRows> {
    run.validation
        .weight
        .iter()
        .any(|&v| v > 0.0)
        .then(|| standard.prepare(run.validation, run.step.map(|data| data.validation), stepper))
}

/// What keeps the rules, and how often it had to act.
pub struct Guarded {
    pub guard: Guard,
    pub enforced: Enforced,
    /// Before the present epoch.
    before: Enforced,
}

impl Guarded {
    fn new(guard: Guard) -> Self {
        Self { guard, enforced: Enforced::default(), before: Enforced::default() }
    }

    /// Tells the guard what a change of the last layer costs, from the first of these rows.
    fn weigh(&mut self, stepper: &mut Stepper, data: &PreparedRows, rows: impl ExactSizeIterator<Item = usize>) {
        stepper.load(data, rows.take(METRIC_ROWS));
        stepper.forward();
        let LastLayer { z, inputs, .. } = stepper.last_layer();
        self.guard.begin_epoch(Some(Metric::new(z, inputs, &self.guard.straight_columns())));
    }

    /// Moves the last layer to the nearest one that satisfies K'.
    fn solve(&mut self, stepper: &mut Stepper) {
        let solved = self.settle(stepper);
        self.enforced.add(solved);
    }

    /// The same without counting it as a step.
    fn settle(&mut self, stepper: &mut Stepper) -> Solved {
        self.guard.solve(stepper.parameters_mut())
    }

    fn begin_epoch(&mut self, stepper: &mut Stepper, data: &PreparedRows, order: &[usize]) {
        self.weigh(stepper, data, order.iter().copied());
        self.before = self.enforced;
    }

    fn end_epoch(&mut self, stepper: &mut Stepper, record: &mut EpochRecord) {
        record.margin = Some(self.guard.margin(stepper.parameters_mut()));
        record.moved = Some(self.enforced.moved_since(self.before));
    }
}

/// How often the last layer had to be moved so that the rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Enforced {
    /// Steps after which the rules were looked at.
    pub steps: usize,
    /// Steps after which the last layer was moved.
    pub moved: usize,
    /// Steps after which it was pulled back towards the safe last layer.
    pub pulled_back: usize,
}

impl Enforced {
    fn add(&mut self, solved: Solved) {
        self.steps += 1;
        self.moved += usize::from(solved.moves > 0);
        self.pulled_back += usize::from(solved.pulled_back);
    }

    /// Share of the steps since `before` after which the last layer was moved.
    fn moved_since(self, before: Self) -> f64 {
        (self.moved - before.moved) as f64 / (self.steps - before.steps).max(1) as f64
    }
}

#[cfg(test)]
mod tests;
