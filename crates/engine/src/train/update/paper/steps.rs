//! Batches enter; how their last layers were found leaves, as counts.

use serde::{Deserialize, Serialize};

use deepsade_solve::maxsmt::MaxSmtOutcome;

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
    /// Times that line 3 was done again.
    pub renewed: usize,
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
            renewed: self.renewed + later.renewed,
            restart: later.restart,
        }
    }

    /// Counts what came of a `MaxSMT` problem, and whether there is a last layer to go on from.
    pub(super) fn count(&mut self, outcome: &MaxSmtOutcome, found: bool) {
        *match outcome {
            MaxSmtOutcome::Infeasible => &mut self.infeasible,
            MaxSmtOutcome::Optimal(_) if found => &mut self.optimal,
            MaxSmtOutcome::Feasible { .. } if found => &mut self.feasible,
            _ => &mut self.unknown,
        } += 1;
    }
}
