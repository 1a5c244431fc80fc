//! Scores, true sets and conditions of a batch enter; the negative log-likelihood over the valid sets and its gradient leave.
//!
//! `l = -log P(y | valid) = log P(valid) - log P(y)`, label j present with probability `sigmoid(s_j)`, each on its own;
//! `dl/ds = P(label | valid) - y`. For labels divided by their number, like the plain loss; for classes this is the softmax over
//! those that the rules allow. Where the diagram is too large for P(valid) the loss is a surrogate: each item's softmax over its
//! places and each place's over the items, halved (rankings); the plain loss of each label (implications).

use crate::objective::{Loss, LossSum, Objective, RuleLoss, ScoredRows};
use crate::units::Units;
use deepsade_output::decode::sets::Sets;
use deepsade_output::decode::{DecodeScratch, Decoder, paths::log_set};

/// The loss, with its buffers.
#[derive(Debug)]
pub struct OverValid<'a> {
    decoder: &'a Decoder,
    scratch: DecodeScratch,
    met: Vec<bool>,
    marginals: Vec<f64>,
    logs: Vec<f64>,
    /// What is added to the score of the second of two classes, and where.
    shift: f32,
    moved: Vec<f32>,
}

/// A decoder of classes that may be decided at a cut-off: of the second of two, probabilities are meant with this logit more.
#[derive(Debug, Clone, Copy)]
pub struct AtCutoff<'a> {
    /// The decoder.
    pub decoder: &'a Decoder,
    /// The logit; 0 for one half, and for all that are not two classes.
    pub shift: f32,
}

impl RuleLoss for AtCutoff<'_> {
    fn objective(&self, _: &Units) -> Box<dyn Objective + '_> {
        Box::new(OverValid {
            decoder: self.decoder,
            scratch: DecodeScratch::default(),
            met: Vec::new(),
            marginals: Vec::new(),
            logs: Vec::new(),
            shift: self.shift,
            moved: Vec::new(),
        })
    }

    fn side(&self) -> usize {
        self.decoder.conditions()
    }

    fn identity(&self) -> String {
        let cut = if self.shift == 0.0 { String::new() } else { format!(" {}", self.shift) };
        format!("{:?} {}{cut}", self.decoder.sets(), self.decoder.nodes().is_some())
    }
}

impl Objective for OverValid<'_> {
    fn gradient(&mut self, rows: ScoredRows, delta: &mut [f32]) -> LossSum {
        let ScoredRows { scores, truth, side, weight, width } = rows;
        let Self { decoder, scratch, met, marginals, logs, shift, moved } = self;
        let scores = if *shift == 0.0 {
            scores
        } else {
            moved.clear();
            moved.extend(scores.iter().enumerate().map(|(k, s)| if k % width == 1 { s + *shift } else { *s }));
            &moved[..]
        };
        met.clear();
        met.extend(side.iter().map(|m| *m > 0.5));
        marginals.resize(scores.len(), 0.0);
        logs.resize(weight.len(), 0.0);
        let exact = decoder.log_valid_rows(scores, met, scratch, marginals, logs);
        let n = if decoder.is_one_of() { 1.0 } else { width as f64 };
        let total: f32 = weight.iter().sum();
        let mut sum = LossSum::default();
        for (row, d) in delta.chunks_exact_mut(width).enumerate() {
            let (s, y, v) = (&scores[row * width..][..width], &truth[row * width..][..width], weight[row]);
            d.fill(0.0);
            if v <= 0.0 {
                continue;
            }
            let loss = if s.iter().any(|s| !s.is_finite()) {
                // Divergence must be seen, not decoded.
                f64::NAN
            } else if exact {
                for ((d, p), y) in d.iter_mut().zip(&marginals[row * width..]).zip(y) {
                    *d = (f64::from(v / total) * (p - f64::from(*y)) / n) as f32;
                }
                (logs[row] - log_set(s, y)) / n
            } else {
                surrogate(decoder.sets(), s, y, v / total, d)
            };
            sum += LossSum { loss: f64::from(v) * loss, weight: f64::from(v) };
        }
        sum
    }
}

/// The loss where the diagram is too large; `v dl/ds` goes into d.
fn surrogate(sets: &Sets, s: &[f32], y: &[f32], v: f32, d: &mut [f32]) -> f64 {
    match sets {
        Sets::Assignment(n) => lines(*n, s, y, v, d),
        _ => Loss::SigmoidCrossEntropy.gradient(s, y, &[1.0], s.len(), d).mean() * scaled(d, v),
    }
}

/// Multiplies a gradient; returns 1.
fn scaled(d: &mut [f32], v: f32) -> f64 {
    d.iter_mut().for_each(|d| *d *= v);
    1.0
}

/// The softmax of each item over the places and of each place over the items.
fn lines(n: usize, s: &[f32], y: &[f32], v: f32, d: &mut [f32]) -> f64 {
    let mut loss = 0.0;
    let factor = 1.0 / (2.0 * n as f64);
    for (start, step) in (0..n).flat_map(|k| [(k * n, 1), (k, n)]) {
        let at = |k: usize| start + k * step;
        let top = (0..n).map(|k| s[at(k)]).fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = (0..n).map(|k| f64::from(s[at(k)] - top).exp()).sum();
        for k in 0..n {
            let (log_p, y) = (f64::from(s[at(k)] - top) - sum.ln(), f64::from(y[at(k)]));
            loss -= factor * y * log_p;
            d[at(k)] += (f64::from(v) * factor * (log_p.exp() - y)) as f32;
        }
    }
    loss
}

#[cfg(test)]
mod tests;
