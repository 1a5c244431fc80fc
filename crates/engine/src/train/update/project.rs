//! A batch enters; all layers, moved along the gradient, leave, the last one at the nearest place that satisfies K'. Without rules
//! this is plain training.

use super::{Batch, Guarded, Update};
use crate::objective::{LossSum, Objective};
use crate::train::checkpoint::RunState;
use crate::train::observe::best;
use crate::train::{EpochRecord, PreparedRows, Run, Standard, Start, Stepper};
use deepsade_solve::maxsmt::SolverError;

/// How much of a fresh last layer stays when it is brought near the safe one: random weights on hidden units with wide boxes would
/// have to be paid for by a large offset.
const FRESH_SHARE: f64 = 0.25;

/// The gradient step, then the nearest last layer that satisfies the rules, if there are any.
pub struct Project<'a> {
    guarded: Option<Guarded>,
    objective: Box<dyn Objective + 'a>,
    start: Start,
    validation: Option<PreparedRows>,
}

impl<'a> Project<'a> {
    /// The update of a run, before line 3.
    pub fn new(guarded: Option<Guarded>, run: &Run<'a>, standard: &Standard, stepper: &mut Stepper) -> Self {
        let objective = run.step.map_or_else(|| Box::new(run.loss) as _, |data| data.step.objective(&standard.units()));
        Self { guarded, objective, start: run.start, validation: super::validation(run, standard, stepper) }
    }
}

impl Update for Project<'_> {
    fn begin(&mut self, stepper: &mut Stepper, data: &PreparedRows) {
        if let Some(guarded) = &mut self.guarded {
            guarded.weigh(stepper, data, 0..data.rows());
            if self.start == Start::Fresh {
                guarded.guard.approach_safe(stepper.parameters_mut(), FRESH_SHARE);
            }
            guarded.solve(stepper);
        }
    }

    fn resume(&mut self, state: &RunState) {
        if let Some(guarded) = &mut self.guarded {
            guarded.enforced = state.enforced;
        }
    }

    fn begin_epoch(&mut self, stepper: &mut Stepper, data: &PreparedRows, order: &[usize]) {
        if let Some(guarded) = &mut self.guarded {
            guarded.begin_epoch(stepper, data, order);
        }
    }

    fn batch(&mut self, at: Batch) -> Result<LossSum, SolverError> {
        let Batch { stepper, optimiser, data, rows, .. } = at;
        // G = gradient of L at W (line 7).
        stepper.load(data, rows.iter().copied());
        let sum = stepper.gradient_of(&mut *self.objective);
        // The last layer moves first (lines 8 to 23), then the layers before it (lines 27 to 29).
        if sum.loss.is_finite() {
            optimiser.begin();
            stepper.apply(optimiser, stepper.last_range());
            stepper.apply(optimiser, stepper.hidden_range());
            // K' for the layers as they are now, and the nearest last layer that satisfies it.
            if let Some(guarded) = &mut self.guarded {
                guarded.solve(stepper);
            }
        }
        Ok(sum)
    }

    fn settle(&mut self, stepper: &mut Stepper) -> bool {
        self.guarded.as_mut().is_none_or(|guarded| !guarded.settle(stepper).pulled_back)
    }

    fn end_epoch(&mut self, stepper: &mut Stepper, record: &mut EpochRecord) {
        record.validation_loss = self.validation.as_ref().map(|data| stepper.evaluate_of(&mut *self.objective, data).mean());
        if let Some(guarded) = &mut self.guarded {
            guarded.end_epoch(stepper, record);
        }
    }

    /// Lines 24 to 26, once an epoch.
    fn remember(&mut self, stepper: &Stepper, record: &EpochRecord, state: &mut RunState) -> bool {
        let better = best(&state.records).is_none_or(|best| record.score() < best.score());
        if better {
            state.best.copy_from_slice(stepper.parameters());
        }
        better
    }

    fn guarded(&self) -> Option<&Guarded> {
        self.guarded.as_ref()
    }

    fn into_guarded(self: Box<Self>) -> Option<Guarded> {
        self.guarded
    }
}
