//! Semantic loss (Xu and others, 2018): `R = -log P(valid)`, exact, by the decision diagram of the rules.
//!
//! Labels are present with probability `p = sigmoid(s)`, each on its own: `dR/ds = p - P(label | valid)`. Of classes exactly one is
//! chosen, with probability `p = softmax(s)`, so valid is meant among those: R is the logarithm of all by the allowed, and the
//! derivative has the same form.

use deepsade_output::decode::paths::{log_probabilities, probabilities};
use deepsade_output::decode::{DecodeScratch, Decoder};

use super::RowPenalty;

/// The loss of a row, with its buffers.
pub(super) struct Semantic<'a> {
    decoder: &'a Decoder,
    weight: f64,
    scratch: DecodeScratch,
    met: Vec<bool>,
    marginals: Vec<f64>,
}

impl<'a> Semantic<'a> {
    pub fn new(decoder: &'a Decoder, weight: f64) -> Self {
        let (met, marginals) = (vec![false; decoder.conditions()], vec![0.0; decoder.labels()]);
        Self { decoder, weight, scratch: DecodeScratch::default(), met, marginals }
    }
}

impl RowPenalty for Semantic<'_> {
    fn row(&mut self, scores: &[f32], side: &[f32], slope: &mut [f64]) -> f64 {
        self.met.iter_mut().zip(side).for_each(|(met, side)| *met = *side > 0.5);
        let valid = self.decoder.log_valid(scores, &self.met, &mut self.scratch, &mut self.marginals);
        // No set is valid only outside the domain.
        let Some(valid) = valid.filter(|v| v.is_finite()) else { return 0.0 };
        let all = if self.decoder.is_one_of() {
            let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = scores.iter().map(|s| f64::from(s - top).exp()).sum();
            slope.iter_mut().zip(scores).for_each(|(slope, s)| *slope = f64::from(s - top).exp() / sum);
            scores.iter().map(|s| log_probabilities(f64::from(*s))[0]).sum::<f64>() + f64::from(top) + sum.ln()
        } else {
            slope.iter_mut().zip(scores).for_each(|(slope, s)| *slope = probabilities(f64::from(*s))[1]);
            0.0
        };
        slope.iter_mut().zip(&self.marginals).for_each(|(p, marginal)| *p = self.weight * (*p - marginal));
        self.weight * (all - valid)
    }
}
