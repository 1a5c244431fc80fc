//! Line 19 of Algorithm 1: a `MaxSMT` problem enters; a last layer in float32 that satisfies K' leaves.

use std::time::Duration;

use super::{MaxSmtName, PaperSettings, PaperSteps};
use deepsade_solve::maxsmt::{BranchAndBound, FuMalik, LocalSearch, MaxSmt, MaxSmtBudget, MaxSmtProblem, SolverError};

/// The engine that the settings name, and what it may spend on one problem.
pub struct Engine {
    maxsmt: Box<dyn MaxSmt>,
    budget: MaxSmtBudget,
}

impl Engine {
    /// Prepares the engine; a solver that is not there is an error now, not in the first batch that needs it.
    pub fn new(settings: &PaperSettings) -> Result<Self, SolverError> {
        let maxsmt: Box<dyn MaxSmt> = match settings.maxsmt {
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
        Ok(Self { maxsmt, budget: MaxSmtBudget { time: Duration::from_secs_f64(settings.limit), nodes: settings.nodes } })
    }

    /// Solves a problem and counts what came of it; the weights are rounded to float32 and must satisfy K' then.
    pub fn solve(
        &mut self,
        problem: &MaxSmtProblem,
        steps: &mut PaperSteps,
        mut satisfies: impl FnMut(&[f32]) -> bool,
    ) -> Result<Option<Vec<f32>>, SolverError> {
        if !problem.is_finite() {
            steps.unknown += 1;
            return Ok(None);
        }
        let outcome = self.maxsmt.solve(problem, self.budget)?;
        let rounded = outcome.solution().map(|solution| solution.w.iter().map(|w| *w as f32).collect::<Vec<f32>>());
        // Quantifiers that are kept allow what our multipliers may not prove: that is nothing to go on from.
        let found = rounded.filter(|w| satisfies(w));
        steps.count(&outcome, found.is_some());
        Ok(found)
    }
}
