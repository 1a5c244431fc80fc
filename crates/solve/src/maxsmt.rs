//! A [`MaxSmtProblem`] of the last layer enters a [`MaxSmt`] engine; the weights that satisfy all of its hard and most of its soft part leave.
//!
//! Three engines answer the same question: [`BranchAndBound`] (ours, exact, anytime), [`FuMalik`] (exact, over an SMT solver's
//! process, the paper's way) and [`LocalSearch`] (incomplete). See docs/training.md.

mod branch_and_bound;
mod fu_malik;
mod local_search;
mod nearest;
pub mod problem;
pub mod smtlib;
pub mod solver;

use std::time::{Duration, Instant};

use thiserror::Error;

pub use branch_and_bound::BranchAndBound;
pub use fu_malik::FuMalik;
pub use local_search::LocalSearch;
pub use problem::MaxSmtProblem;
pub use solver::{SolverError, SolverName};

/// How long an engine may search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxSmtBudget {
    /// Wall-clock time of one call.
    pub time: Duration,
    /// Nodes of a branch and bound, or moves of a local search.
    pub nodes: usize,
}

impl MaxSmtBudget {
    /// When a call that starts now must end.
    fn deadline(self) -> Instant {
        Instant::now() + self.time
    }
}

/// Weights that satisfy the hard part.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// The last layer: weights row by row, then the bias.
    pub w: Vec<f64>,
    /// The weight of the soft constraints that it satisfies.
    pub satisfied: f64,
}

/// How a search ended.
#[derive(Debug, Clone, PartialEq)]
pub enum MaxSmtOutcome {
    /// No weights satisfy more.
    Optimal(Solution),
    /// The best that was found; none satisfy more than `bound`.
    Feasible {
        /// The best that was found.
        solution: Solution,
        /// What can't be exceeded.
        bound: f64,
    },
    /// No weights satisfy the hard part.
    Infeasible,
    /// Nothing was found, and nothing is known.
    Unknown(Unsolved),
}

impl MaxSmtOutcome {
    /// The weights, if there are any.
    pub fn solution(&self) -> Option<&Solution> {
        match self {
            Self::Optimal(solution) | Self::Feasible { solution, .. } => Some(solution),
            Self::Infeasible | Self::Unknown(_) => None,
        }
    }
}

/// Why nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unsolved {
    /// The time or the nodes were used up.
    #[error("the budget was used up")]
    MaxSmtBudget,
    /// The solver answered `unknown`.
    #[error("the solver answered unknown")]
    Solver,
    /// The solver's process ended, or wrote what is no answer.
    #[error("the solver failed: {0}")]
    Failed(String),
}

/// An engine. An error is a solver that can't be started; everything else is an [`MaxSmtOutcome`].
pub trait MaxSmt {
    /// Searches for weights within the budget.
    fn solve(&mut self, problem: &MaxSmtProblem, budget: MaxSmtBudget) -> Result<MaxSmtOutcome, SolverError>;
}
