//! Rules and a weight enter; a loss leaves that makes predictions which break the rules dearer, and guarantees nothing.
//!
//! `L' = (1 - sum_r lambda_r) L + sum_r lambda_r R_r`, with the task's own loss L and one R a rule, or one for all rules. These are
//! the baselines of the paper: SL is `semantic`, SBR is `fuzzy`, REG is `hinge`. Each reads the normal form of the rules, so
//! any rule can be asked for.

mod fuzzy;
mod hinge;
mod semantic;
mod tree;

use deepsade_net::Matrix;
use deepsade_output::Judge;
use deepsade_output::decode::{DecodeError, Decoder};
use deepsade_spec::{NormalSpec, Task};
use semantic::Semantic;
use thiserror::Error;
use tree::{Graded, Grades};

use crate::objective::{Loss, LossSum, Objective, RuleLoss, ScoredRows};
use crate::train::{PenaltyName, PenaltySettings};
use crate::units::Units;

/// Why rules can't be made a penalty.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PenaltyError {
    /// Neither one weight for all rules nor one a rule.
    #[error("train.penalty.weights has {found} weights; give {expected}")]
    Weights {
        /// How many were given.
        found: usize,
        /// How many it may be.
        expected: String,
    },
    /// Sets of labels can't be counted.
    #[error("train.penalty.kind = \"semantic\" counts label sets: {0}")]
    Semantic(#[from] DecodeError),
    /// A regression has no label sets.
    #[error("train.penalty.kind = \"semantic\" counts label sets, and a regression has none; use \"hinge\" or \"fuzzy\"")]
    Regression,
}

/// The loss with a penalty, for the rules of a problem.
#[derive(Debug, Clone)]
pub struct Penalty {
    loss: Loss,
    settings: PenaltySettings,
    how: PenaltyKind,
}

#[derive(Debug, Clone)]
enum PenaltyKind {
    Semantic(Box<Decoder>),
    Graded(Graded),
}

impl Penalty {
    /// Prepares the penalty of `settings` on top of `loss`; a diagram may take at most `nodes`.
    pub fn new(spec: &NormalSpec, settings: &PenaltySettings, loss: Loss, nodes: usize) -> Result<Self, PenaltyError> {
        let (found, rules) = (settings.weights.len(), spec.rules.len());
        let one_each = settings.kind == PenaltyName::Hinge;
        if found != 1 && !(one_each && found == rules) {
            let expected =
                if one_each { format!("one for all rules, or {rules}, one a rule") } else { "one for all rules".into() };
            return Err(PenaltyError::Weights { found, expected });
        }
        let how = match settings.kind {
            PenaltyName::Semantic if matches!(spec.schema.task, Task::Regression { .. }) => return Err(PenaltyError::Regression),
            PenaltyName::Semantic => {
                let decoder = Decoder::new(spec, nodes)?;
                if decoder.nodes().is_none() {
                    return Err(DecodeError::TooLarge { budget: nodes }.into());
                }
                PenaltyKind::Semantic(Box::new(decoder))
            }
            PenaltyName::Fuzzy | PenaltyName::Hinge => PenaltyKind::Graded(Graded::new(spec)),
        };
        Ok(Self { loss, settings: settings.clone(), how })
    }

    /// What the penalty has to know about the inputs of rows: see [`RuleLoss::side`].
    #[must_use]
    pub fn side_of(&self, spec: &NormalSpec, x: &Matrix) -> Matrix {
        let (judge, cols) = (Judge::new(spec), self.side());
        let mut data = Vec::with_capacity(x.rows * cols);
        for r in 0..x.rows {
            match &self.how {
                PenaltyKind::Semantic(decoder) => {
                    data.extend(decoder.met(&judge, x.row(r)).into_iter().map(|m| f32::from(u8::from(m))));
                }
                PenaltyKind::Graded(graded) => data.extend(graded.side(&judge, x.row(r))),
            }
        }
        Matrix { rows: x.rows, cols, data }
    }
}

impl RuleLoss for Penalty {
    fn objective(&self, units: &Units) -> Box<dyn Objective + '_> {
        let weights = &self.settings.weights;
        let part: Box<dyn RowPenalty + '_> = match &self.how {
            PenaltyKind::Semantic(decoder) => Box::new(Semantic::new(decoder, weights[0])),
            PenaltyKind::Graded(graded) => {
                let one = |of: usize| if weights.len() == 1 { weights[0] } else { weights[of] };
                let weights = (0..graded.rules()).map(one).collect();
                match self.settings.kind {
                    PenaltyName::Fuzzy => {
                        Box::new(Grades::new(graded, units, weights, fuzzy::Fuzzy::new(graded, units, self.loss)))
                    }
                    _ => Box::new(Grades::new(graded, units, weights, hinge::Hinge::new(units))),
                }
            }
        };
        let rest = 1.0 - weights.iter().sum::<f64>();
        Box::new(Penalised { loss: self.loss, rest, side: self.side(), slope: Vec::new(), part })
    }

    fn side(&self) -> usize {
        match &self.how {
            PenaltyKind::Semantic(decoder) => decoder.conditions(),
            PenaltyKind::Graded(graded) => graded.atoms(),
        }
    }

    fn identity(&self) -> String {
        format!("{self:?}")
    }
}

/// The penalty of one row.
trait RowPenalty {
    /// `sum_r lambda_r R_r` of a row of scores, with what it has to know of its input; its gradient goes into `slope`.
    fn row(&mut self, scores: &[f32], side: &[f32], slope: &mut [f64]) -> f64;
}

/// L', with its buffers.
struct Penalised<'a> {
    loss: Loss,
    rest: f64,
    side: usize,
    slope: Vec<f64>,
    part: Box<dyn RowPenalty + 'a>,
}

impl Objective for Penalised<'_> {
    fn gradient(&mut self, batch: ScoredRows, delta: &mut [f32]) -> LossSum {
        let ScoredRows { scores, truth, side, weight, width } = batch;
        let mut sum = self.loss.gradient(scores, truth, weight, width, delta);
        sum.loss *= self.rest;
        delta.iter_mut().for_each(|d| *d *= self.rest as f32);
        let total: f32 = weight.iter().sum();
        self.slope.resize(width, 0.0);
        let rows = scores.chunks_exact(width).zip(weight).zip(delta.chunks_exact_mut(width));
        for (row, ((s, &v), d)) in rows.enumerate().filter(|(_, ((_, v), _))| **v > 0.0) {
            // Divergence must be seen.
            if s.iter().any(|s| !s.is_finite()) {
                sum.loss = f64::NAN;
                continue;
            }
            self.slope.fill(0.0);
            sum.loss += f64::from(v) * self.part.row(s, &side[row * self.side..][..self.side], &mut self.slope);
            d.iter_mut().zip(&self.slope).for_each(|(d, slope)| *d += v / total * *slope as f32);
        }
        sum
    }
}

#[cfg(test)]
mod tests;
