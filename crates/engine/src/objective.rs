//! What training makes small, seen from the network: scores and truth of a batch enter, the loss and its gradient leave.

mod loss;

use std::fmt::Debug;

use deepsade_net::Matrix;
pub use loss::{Loss, LossSum};

use crate::units::Units;

/// Rows of a batch, one after the other in each slice.
#[derive(Debug, Clone, Copy)]
pub struct ScoredRows<'a> {
    /// What the network said, `width` numbers a row.
    pub scores: &'a [f32],
    /// What it should have said, as many.
    pub truth: &'a [f32],
    /// What the loss knows of the input: [`RuleLoss::side`] numbers a row.
    pub side: &'a [f32],
    /// How much each row counts.
    pub weight: &'a [f32],
    /// Scores of a row.
    pub width: usize,
}

/// A loss with buffers of its own.
pub trait Objective {
    /// The loss of a batch; its gradient with respect to the scores goes into `delta`.
    fn gradient(&mut self, rows: ScoredRows, delta: &mut [f32]) -> LossSum;
}

impl Objective for Loss {
    fn gradient(&mut self, ScoredRows { scores, truth, weight, width, .. }: ScoredRows, delta: &mut [f32]) -> LossSum {
        Loss::gradient(*self, scores, truth, weight, width, delta)
    }
}

/// What the network is trained knowing about the rules: what follows it and keeps them, or a penalty for breaking them.
pub trait RuleLoss: Debug {
    /// The loss with the rules in it, for scores and targets in these units.
    fn objective(&self, units: &Units) -> Box<dyn Objective + '_>;

    /// How many numbers about a row's input the loss reads.
    fn side(&self) -> usize;

    /// A text that differs where the step does: for the fingerprint of a run.
    fn identity(&self) -> String;
}

/// An output step, and what it has to know about the inputs of the rows: [`RuleLoss::side`] numbers each.
#[derive(Debug, Clone, Copy)]
pub struct StepData<'a> {
    /// The step.
    pub step: &'a dyn RuleLoss,
    /// Of the training rows.
    pub train: &'a Matrix,
    /// Of the validation rows.
    pub validation: &'a Matrix,
}
