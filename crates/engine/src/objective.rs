//! What training makes small, seen from the network: scores and truth of a batch enter, the loss and its gradient leave.

mod loss;

use std::fmt::Debug;

use deepsade_net::Matrix;
pub use loss::{Loss, Sum};

use crate::units::Units;

/// A loss with buffers of its own.
pub trait Objective {
    /// The loss of a batch with `width` scores a row, and as many targets; its gradient with respect to the scores goes into `delta`.
    /// `side` has [`RuleLoss::side`] numbers a row.
    fn gradient(&mut self, scores: &[f32], truth: &[f32], side: &[f32], weight: &[f32], width: usize, delta: &mut [f32]) -> Sum;
}

impl Objective for Loss {
    fn gradient(&mut self, scores: &[f32], truth: &[f32], _: &[f32], weight: &[f32], width: usize, delta: &mut [f32]) -> Sum {
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
