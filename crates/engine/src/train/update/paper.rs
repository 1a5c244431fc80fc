//! Algorithm 1 of the paper, lines 7 to 32: a batch enters; the last layer, solved for, and the hidden layers, moved, leave.
//!
//! Lines 1 to 6 and the end are in `run.rs`, which goes through epochs and batches.

mod engine;
mod line_search;
mod restart;
mod search_box;
mod settings;
mod soft;
mod steps;

use engine::Engine;

use super::{Batch, Guarded, Update};
use crate::objective::{Loss, LossSum};
use crate::train::checkpoint::RunState;
use crate::train::observe::best;
use crate::train::{EpochRecord, OptimiserName, PreparedRows, Run, Standard, Stepper, TrainSettings};
use crate::units::Units;
use deepsade_solve::maxsmt::{MaxSmtProblem, SolverError};

pub use search_box::search_box;
pub use settings::{ErrorsIn, MaxSmtName, PaperSettings};
pub use soft::soft_constraints;
pub use steps::PaperSteps;

/// Training rows that stand in for validation rows where there are none.
const EVALUATED_WITHOUT_VALIDATION: usize = 1000;

/// Failures in a row after which the last layer is made anew.
const FAILURES: usize = 10;

/// The size of the first last layer where rules about labels hold at any size, as a share of alpha.
const START: f64 = 0.25;

/// The paper's update with what it remembers from batch to batch.
pub struct Paper {
    guarded: Guarded,
    settings: PaperSettings,
    loss: Loss,
    units: Units,
    seed: u64,
    engine: Engine,
    /// V; without validation rows, some of the training rows.
    validation: PreparedRows,
    /// Solutions of the present epoch.
    found: usize,
    /// Batches of the present epoch without a solution, since the last that had one.
    failures: usize,
    /// Of the present epoch.
    steps: PaperSteps,
    /// The least validation loss so far, that of `W_out`.
    least: f64,
    /// The same before the present epoch.
    least_before: f64,
    /// The least validation loss of the present epoch.
    least_of_epoch: Option<f64>,
}

impl Paper {
    /// The update of a run, before line 3.
    pub fn new(guarded: Guarded, run: &Run, standard: &Standard, stepper: &mut Stepper) -> Result<Self, SolverError> {
        let settings = run.settings.paper.clone();
        let engine = Engine::new(&settings)?;
        let validation = super::validation(run, standard, stepper).unwrap_or_else(|| {
            let some: Vec<usize> = (0..run.train.rows().min(EVALUATED_WITHOUT_VALIDATION)).collect();
            standard.prepare(&run.train.select(&some), None, stepper)
        });
        Ok(Self {
            guarded,
            found: 0,
            failures: 0,
            settings,
            loss: run.loss,
            units: standard.units(),
            seed: run.seed,
            engine,
            validation,
            steps: PaperSteps::default(),
            least: f64::INFINITY,
            least_before: f64::INFINITY,
            least_of_epoch: None,
        })
    }

    /// Line 3: the last layer that satisfies K' next to the random one; not to the letter the one next to no weights at all, where that
    /// is the better start. The nearest to the random one may be far from it, and the epochs would go into the way back.
    fn first_layer(&mut self, stepper: &mut Stepper) {
        self.guarded.solve(stepper);
        // Behind clauses, which data chose, units that begin alike stay alike.
        if self.settings.strict || self.guarded.guard.favours_clauses() {
            return;
        }
        let last = stepper.last_range();
        let near_random = stepper.parameters()[last.clone()].to_vec();
        let loss = stepper.evaluate(self.loss, &self.validation).mean();
        stepper.parameters_mut()[last.clone()].fill(0.0);
        self.guarded.solve(stepper);
        let near_none = stepper.evaluate(self.loss, &self.validation).mean();
        if near_none.is_nan() || near_none >= loss {
            stepper.parameters_mut()[last].copy_from_slice(&near_random);
        }
    }

    /// Lines 7 to 32, with the letters of the paper: W the last layer, G its gradient.
    fn lines_7_to_32(&mut self, at: Batch) -> Result<LossSum, SolverError> {
        let Batch { stepper, optimiser, data, rows, place, out } = at;
        let Self { guarded: Guarded { guard, .. }, steps, loss, .. } = self;
        let PaperSettings { alpha, learning_rate: eta, line_search: s, strict, .. } = self.settings;
        let last = stepper.last_range();
        // 7: G = the gradient of L at W.
        stepper.load(data, rows.iter().copied());
        let sum = stepper.gradient(*loss);
        if !sum.loss.is_finite() {
            return Ok(sum);
        }
        let w = stepper.parameters()[last.clone()].to_vec();
        let mut g = stepper.parameter_gradient()[last.clone()].to_vec();
        // 8: K' = TranslateDomainConstraint(K, f_W).
        guard.translate(stepper.parameters());
        // 9 to 11: after a failure, flip the sign of each element of G at random.
        if steps.restart {
            restart::flip(&mut g, self.seed, place);
        }
        // 12 to 14: the furthest W_i = W - eta G i / s that satisfies K'.
        let mut trial = stepper.parameters().to_vec();
        let satisfies = |candidate: &[f32]| {
            trial[last.clone()].copy_from_slice(candidate);
            guard.satisfied(&mut trial, strict)
        };
        let found = if let Some(candidate) = line_search::line_search(&w, &g, eta, s, satisfies) {
            steps.line_search += 1;
            Some(candidate)
        } else {
            // 15 to 20. 16 and 18: H = Box(W, W - alpha sgn G) and K'.
            let (lo, hi) = search_box(&w, &g, alpha);
            // 17: S = SoftConstraints(h_{k-1}(... h_1(B) ...)).
            let soft = soft_constraints(&stepper.latent(), *loss, &self.units, &self.settings);
            let start = Some(
                line_search::candidate(&w, &g, eta.into())
                    .zip(lo.iter().zip(&hi))
                    .map(|(w, (lo, hi))| w.clamp(*lo, *hi))
                    .collect(),
            );
            let problem = MaxSmtProblem { soft, start, ..guard.problem(lo, hi) };
            // 19: W = MaxSMT(S, H).
            self.engine.solve(&problem, steps, |candidate| {
                trial[last.clone()].copy_from_slice(candidate);
                guard.satisfied(&mut trial, true)
            })?
        };
        // 21 to 23: no solution found, restart in another direction.
        let Some(found) = found else {
            steps.restart = true;
            self.failures += 1;
            if !strict && self.failures == FAILURES {
                // Line 3: the boxes have moved further than any box of W reaches.
                self.guarded.solve(stepper);
                self.steps.renewed += 1;
                self.failures = 0;
            }
            return Ok(sum);
        };
        self.failures = 0;
        stepper.parameters_mut()[last].copy_from_slice(&found);
        // 24 to 26: remember the best solution found, before the hidden layers move.
        if self.found.is_multiple_of(self.settings.validate_every) {
            let value = stepper.evaluate(*loss, &self.validation).mean();
            if value < self.least {
                self.least = value;
                out.copy_from_slice(stepper.parameters());
            }
            self.least_of_epoch = Some(self.least_of_epoch.map_or(value, |least| least.min(value)));
        }
        self.found += 1;
        // 27 to 29: gradient descent on the layers before.
        optimiser.begin();
        stepper.apply(optimiser, stepper.hidden_range());
        // 30.
        steps.restart = false;
        Ok(sum)
    }
}

impl Update for Paper {
    /// Plain, by eta.
    fn descent(&self, settings: &TrainSettings) -> TrainSettings {
        TrainSettings {
            optimiser: OptimiserName::Sgd,
            learning_rate: self.settings.learning_rate,
            momentum: 0.0,
            weight_decay: 0.0,
            ..settings.clone()
        }
    }

    fn begin(&mut self, stepper: &mut Stepper, data: &PreparedRows) {
        self.guarded.weigh(stepper, data, 0..data.rows());
        let Guarded { guard, .. } = &mut self.guarded;
        // Small enough that the first boxes hold several pieces of K'. Where the data favour one, from the random layer to that:
        // units that begin alike stay alike.
        let size = START * f64::from(self.settings.alpha);
        let decided = !self.settings.strict && guard.favours_clauses();
        if decided || !guard.start_small(stepper.parameters_mut(), size) {
            self.first_layer(stepper);
        }
    }

    fn resume(&mut self, state: &RunState) {
        self.guarded.enforced = state.enforced;
        self.least = best(&state.records).map_or(f64::INFINITY, EpochRecord::score);
        self.steps.restart = state.records.last().and_then(|record| record.paper).is_some_and(|steps| steps.restart);
    }

    /// A restart that is due stays due.
    fn begin_epoch(&mut self, stepper: &mut Stepper, data: &PreparedRows, order: &[usize]) {
        self.guarded.begin_epoch(stepper, data, order);
        self.steps = PaperSteps { restart: self.steps.restart, ..PaperSteps::default() };
        self.least_before = self.least;
        self.least_of_epoch = None;
        (self.found, self.failures) = (0, 0);
    }

    fn batch(&mut self, at: Batch) -> Result<LossSum, SolverError> {
        let searched = self.steps.line_search;
        self.guarded.enforced.steps += 1;
        let sum = self.lines_7_to_32(at)?;
        self.guarded.enforced.moved += usize::from(self.steps.line_search == searched);
        Ok(sum)
    }

    fn settle(&mut self, stepper: &mut Stepper) -> bool {
        !self.guarded.settle(stepper).pulled_back
    }

    fn end_epoch(&mut self, stepper: &mut Stepper, record: &mut EpochRecord) {
        record.validation_loss = self.least_of_epoch;
        self.guarded.end_epoch(stepper, record);
        record.paper = Some(self.steps);
    }

    /// Each batch has remembered its own.
    fn remember(&mut self, _: &Stepper, _: &EpochRecord, _: &mut RunState) -> bool {
        self.least < self.least_before
    }

    fn guarded(&self) -> Option<&Guarded> {
        Some(&self.guarded)
    }

    fn into_guarded(self: Box<Self>) -> Option<Guarded> {
        Some(self.guarded)
    }
}
