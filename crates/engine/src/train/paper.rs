//! Algorithm 1 of the paper, lines 7 to 32: a batch enters; the last layer, solved for, and the hidden layers, moved, leave.
//!
//! Lines 1 to 6 and the end are in `run.rs`, which goes through epochs and batches.

mod line_search;
mod restart;
mod search_box;
mod settings;
mod soft;

use deepsade_solve::maxsmt::{BranchAndBound, Budget, FuMalik, LocalSearch, MaxSmt, Outcome, Problem, SolverError};
use serde::{Deserialize, Serialize};

use super::{Optimiser, Prepared, Stepper};
use crate::guard::Guard;
use crate::objective::Loss;
use crate::objective::Sum;
use crate::units::Units;

pub use search_box::search_box;
pub use settings::{ErrorsIn, MaxSmtName, PaperSettings};
pub use soft::soft_constraints;

/// How the last layer was found in an epoch, or in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PaperSteps {
    /// Batches whose line search found a last layer.
    pub line_search: usize,
    /// Batches for which `MaxSMT` was solved to the optimum.
    pub optimal: usize,
    /// Batches for which it ran out of its budget with a solution.
    pub feasible: usize,
    /// Batches whose box has no last layer that satisfies K'.
    pub infeasible: usize,
    /// Batches for which nothing was found out.
    pub unknown: usize,
    /// Whether the next batch begins with a restart.
    pub restart: bool,
}

impl PaperSteps {
    /// Batches after which the signs of the gradient were flipped.
    pub fn restarts(self) -> usize {
        self.infeasible + self.unknown
    }

    /// Those of another epoch, added.
    #[must_use]
    pub fn and(self, later: Self) -> Self {
        Self {
            line_search: self.line_search + later.line_search,
            optimal: self.optimal + later.optimal,
            feasible: self.feasible + later.feasible,
            infeasible: self.infeasible + later.infeasible,
            unknown: self.unknown + later.unknown,
            restart: later.restart,
        }
    }
}

/// The paper's update with what it remembers from batch to batch.
pub struct Paper {
    settings: PaperSettings,
    units: Units,
    seed: u64,
    engine: Box<dyn MaxSmt>,
    /// Of the present epoch.
    pub steps: PaperSteps,
    /// The least validation loss so far, that of `W_out`.
    pub least: f64,
    /// The least validation loss of the present epoch.
    pub least_of_epoch: Option<f64>,
}

/// What a batch works on.
pub struct Batch<'a> {
    pub stepper: &'a mut Stepper,
    pub optimiser: &'a mut Optimiser,
    pub guard: &'a mut Guard,
    pub data: &'a Prepared,
    pub rows: &'a [usize],
    /// V.
    pub validation: &'a Prepared,
    pub loss: Loss,
    /// `W_out`, to be written.
    pub out: &'a mut [f32],
    /// Which batch of which epoch.
    pub place: (usize, usize),
}

impl Paper {
    /// Prepares the engine; a solver that is not there is an error now, not in the first batch that needs it.
    pub fn new(settings: &PaperSettings, units: Units, seed: u64) -> Result<Self, SolverError> {
        let engine: Box<dyn MaxSmt> = match settings.maxsmt {
            MaxSmtName::BranchAndBound => Box::new(BranchAndBound),
            MaxSmtName::LocalSearch => Box::new(LocalSearch),
            MaxSmtName::FuMalik => {
                let engine = FuMalik {
                    solver: settings.solver,
                    program: None,
                    quantifiers: settings.quantifiers,
                    replay: settings.replay.clone(),
                };
                engine.probe()?;
                Box::new(engine)
            }
        };
        let (steps, least) = (PaperSteps::default(), f64::INFINITY);
        Ok(Self { settings: settings.clone(), units, seed, engine, steps, least, least_of_epoch: None })
    }

    /// Begins an epoch; a restart that is due stays due.
    pub fn begin_epoch(&mut self) {
        self.steps = PaperSteps { restart: self.steps.restart, ..PaperSteps::default() };
        self.least_of_epoch = None;
    }

    /// Lines 7 to 32, with the letters of the paper: W the last layer, G its gradient.
    pub fn batch(&mut self, at: Batch) -> Result<Sum, SolverError> {
        let Batch { stepper, optimiser, guard, data, rows, validation, loss, out, place } = at;
        let PaperSettings { alpha, learning_rate: eta, line_search: s, .. } = self.settings;
        let last = stepper.last_range();
        // 7: G = the gradient of L at W.
        stepper.load(data, rows.iter().copied());
        let sum = stepper.gradient(loss);
        if !sum.loss.is_finite() {
            return Ok(sum);
        }
        let w = stepper.parameters()[last.clone()].to_vec();
        let mut g = stepper.parameter_gradient()[last.clone()].to_vec();
        // 8: K' = TranslateDomainConstraint(K, f_W).
        guard.translate(stepper.parameters());
        // 9 to 11: after a failure, flip the sign of each element of G at random.
        if self.steps.restart {
            restart::flip(&mut g, self.seed, place);
        }
        // 12 to 14: the furthest W_i = W - eta G i / s that satisfies K'.
        let mut trial = stepper.parameters().to_vec();
        let satisfies = |candidate: &[f32]| {
            trial[last.clone()].copy_from_slice(candidate);
            guard.satisfied(&mut trial)
        };
        let found = if let Some(candidate) = line_search::line_search(&w, &g, eta, s, satisfies) {
            self.steps.line_search += 1;
            Some(candidate)
        } else {
            // 15 to 20. 16 and 18: H = Box(W, W - alpha sgn G) and K'.
            let (lo, hi) = search_box(&w, &g, alpha);
            // 17: S = SoftConstraints(h_{k-1}(... h_1(B) ...)).
            let soft = soft_constraints(&stepper.latent(), loss, &self.units, &self.settings);
            let problem = Problem { soft, ..guard.problem(lo, hi) };
            // 19: W = MaxSMT(S, H).
            self.maxsmt(&problem, |candidate| {
                trial[last.clone()].copy_from_slice(candidate);
                guard.satisfied(&mut trial)
            })?
        };
        // 21 to 23: no solution found, restart in another direction.
        let Some(found) = found else {
            self.steps.restart = true;
            return Ok(sum);
        };
        stepper.parameters_mut()[last].copy_from_slice(&found);
        // 24 to 26: remember the best solution found, before the hidden layers move.
        let value = stepper.evaluate(loss, validation).mean();
        if value < self.least {
            self.least = value;
            out.copy_from_slice(stepper.parameters());
        }
        self.least_of_epoch = Some(self.least_of_epoch.map_or(value, |least| least.min(value)));
        // 27 to 29: gradient descent on the layers before.
        optimiser.begin();
        stepper.apply(optimiser, stepper.hidden_range());
        // 30.
        self.steps.restart = false;
        Ok(sum)
    }

    /// Solves a problem; the weights are rounded to float32 and must satisfy K' then.
    fn maxsmt(&mut self, problem: &Problem, mut satisfies: impl FnMut(&[f32]) -> bool) -> Result<Option<Vec<f32>>, SolverError> {
        let PaperSettings { limit, nodes, .. } = self.settings;
        if !problem.is_finite() {
            self.steps.unknown += 1;
            return Ok(None);
        }
        let outcome = self.engine.solve(problem, Budget { time: std::time::Duration::from_secs_f64(limit), nodes })?;
        let rounded = outcome.solution().map(|solution| solution.w.iter().map(|w| *w as f32).collect::<Vec<f32>>());
        // Quantifiers that are kept allow what our multipliers may not prove: that is nothing to go on from.
        let found = rounded.filter(|w| satisfies(w));
        match (&outcome, &found) {
            (Outcome::Infeasible, _) => self.steps.infeasible += 1,
            (Outcome::Optimal(_), Some(_)) => self.steps.optimal += 1,
            (Outcome::Feasible { .. }, Some(_)) => self.steps.feasible += 1,
            _ => self.steps.unknown += 1,
        }
        Ok(found)
    }
}
