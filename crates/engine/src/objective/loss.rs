//! Outputs and targets of a batch enter; the loss and its gradient with respect to the outputs leave.

// Loops must be inlined into the dispatching function, or they are not compiled for its vectors.
#![allow(clippy::inline_always)]

use deepsade_solve::exp::exp;
use deepsade_solve::kernel::vector;
use serde::{Deserialize, Serialize};

/// What training makes small: `L = sum_r v_r l(s_r, y_r) / sum_r v_r`, with a weight v, scores s and truth y for each row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Regression: `l = 1/n sum_j (s_j - y_j)^2` over n targets; `dl/ds_j = 2/n (s_j - y_j)`. In training, targets and scores
    /// are in units of the targets' standard deviation.
    MeanSquares,
    /// Classes, y one-hot: `l = -log softmax(s)_c` for the true class c; `dl/ds = softmax(s) - y`.
    SoftmaxCrossEntropy,
    /// The same of two classes that are decided at another probability than one half: the scores are those of the decision, and the
    /// second is this logit above them where probabilities are meant, `softmax(s_0, s_1 + shift)`.
    SoftmaxAtCutoff {
        /// The logit of the cut-off.
        shift: f32,
    },
    /// Labels and rankings, y of 0 and 1: `l = -1/n sum_j (y_j log p_j + (1 - y_j) log(1 - p_j))`, `p = sigmoid(s)`, over n
    /// labels; `dl/ds = (p - y) / n`. A mean, so that a learning rate suits any number of labels.
    SigmoidCrossEntropy,
}

/// A sum of weighted losses and the sum of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LossSum {
    /// `sum_r v_r l_r`
    pub loss: f64,
    /// `sum_r v_r`
    pub weight: f64,
}

impl LossSum {
    /// The weighted mean; 0 if no row has weight.
    pub fn mean(self) -> f64 {
        if self.weight > 0.0 || self.loss.is_nan() { self.loss / self.weight } else { 0.0 }
    }
}

impl std::ops::AddAssign for LossSum {
    fn add_assign(&mut self, other: Self) {
        self.loss += other.loss;
        self.weight += other.weight;
    }
}

impl Loss {
    /// The loss of a batch of rows `width` wide; its gradient `dL/ds` goes into `delta`.
    pub fn gradient(self, scores: &[f32], truth: &[f32], weight: &[f32], width: usize, delta: &mut [f32]) -> LossSum {
        vector(
            #[inline(always)]
            || {
                let total: f32 = weight.iter().sum();
                let mut sum = LossSum::default();
                let rows = scores.chunks_exact(width).zip(truth.chunks_exact(width)).zip(weight);
                for (((s, y), &v), d) in rows.zip(delta.chunks_exact_mut(width)) {
                    // A row without weight is absent, even if its loss is infinite.
                    if v > 0.0 {
                        sum += LossSum { loss: f64::from(v) * self.row(s, y, v / total, d), weight: f64::from(v) };
                    } else {
                        d.fill(0.0);
                    }
                }
                sum
            },
        )
    }

    /// l of one row; `v dl/ds` goes into d.
    #[inline(always)]
    fn row(self, s: &[f32], y: &[f32], v: f32, d: &mut [f32]) -> f64 {
        let n = s.len() as f32;
        match self {
            Loss::MeanSquares => {
                d.iter_mut().zip(s.iter().zip(y)).for_each(|(d, (s, y))| *d = v * 2.0 / n * (s - y));
                s.iter().zip(y).map(|(s, y)| f64::from(s - y).powi(2)).sum::<f64>() / f64::from(n)
            }
            Loss::SoftmaxCrossEntropy => {
                // The largest score is subtracted: no exponential overflows.
                let top = s.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                d.iter_mut().zip(s).for_each(|(d, s)| *d = exp(s - top));
                let sum: f32 = d.iter().sum();
                let factor = v / sum;
                d.iter_mut().zip(y).for_each(|(d, y)| *d = factor * *d - v * y);
                let rest = f64::from(sum).ln();
                s.iter().zip(y).map(|(s, y)| f64::from(*y) * (rest - f64::from(s - top))).sum()
            }
            Loss::SoftmaxAtCutoff { shift } => Loss::SoftmaxCrossEntropy.row(&[s[0], s[1] + shift], y, v, d),
            Loss::SigmoidCrossEntropy => {
                // -log sigmoid(s) = max(-s, 0) + log(1 + e^-|s|), and y = 0 mirrors s.
                d.iter_mut().zip(s).for_each(|(d, s)| *d = exp(-s.abs()));
                // The logarithm of a product is cheaper than many; 2^512 does not overflow.
                let logs = d.chunks(512).map(|d| d.iter().map(|&e| 1.0 + f64::from(e)).product::<f64>().ln());
                let loss = logs.sum::<f64>() + s.iter().zip(y).map(|(s, y)| f64::from(s.max(0.0) - s * y)).sum::<f64>();
                let factor = v / n;
                for (d, (s, y)) in d.iter_mut().zip(s.iter().zip(y)) {
                    let p = (if *s < 0.0 { *d } else { 1.0 }) / (1.0 + *d);
                    *d = factor * (p - y);
                }
                loss / f64::from(n)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSES: [Loss; 3] = [Loss::MeanSquares, Loss::SoftmaxCrossEntropy, Loss::SigmoidCrossEntropy];

    /// `dL/ds_i = (L(s + h e_i) - L(s - h e_i)) / 2h + O(h^2)`
    #[test]
    fn gradients_are_central_differences() {
        let scores = [0.3f32, -1.2, 2.0, 0.1, 0.7, -0.4];
        let truth = [0.0, 0.0, 1.0, 0.0, 1.0, 0.0];
        let weight = [1.0, 2.5];
        for loss in LOSSES {
            let mut delta = [0.0; 6];
            loss.gradient(&scores, &truth, &weight, 3, &mut delta);
            for i in 0..6 {
                let at = |h: f32| {
                    let mut moved = scores;
                    moved[i] += h;
                    loss.gradient(&moved, &truth, &weight, 3, &mut [0.0; 6]).mean()
                };
                let h = 1.0 / 128.0;
                let slope = (at(h) - at(-h)) / f64::from(2.0 * h);
                assert!((slope - f64::from(delta[i])).abs() < 2e-5, "{loss:?} {i}: {slope} {}", delta[i]);
            }
        }
    }

    #[test]
    fn closed_forms() {
        let value = |loss: Loss, s: &[f32], y: &[f32]| loss.gradient(s, y, &[1.0], s.len(), &mut vec![0.0; s.len()]).mean();
        assert_eq!(value(Loss::MeanSquares, &[3.0, 1.0], &[1.0, 1.0]), 2.0);
        assert!((value(Loss::SoftmaxCrossEntropy, &[1.0; 4], &[0.0, 1.0, 0.0, 0.0]) - 4f64.ln()).abs() < 1e-6);
        assert!((value(Loss::SigmoidCrossEntropy, &[0.0, 0.0], &[1.0, 0.0]) - 2f64.ln()).abs() < 1e-6);
    }

    #[test]
    fn a_cutoff_moves_the_decision_and_not_the_probability() {
        let shift = deepsade_output::reader::shift(0.2);
        // Scores that tie are at the cut-off: the second class has its probability there.
        let mut d = [0.0; 2];
        let loss = Loss::SoftmaxAtCutoff { shift }.gradient(&[0.7, 0.7], &[0.0, 1.0], &[1.0], 2, &mut d).mean();
        assert!((loss + 0.2f64.ln()).abs() < 1e-6 && (d[1] + 0.8).abs() < 1e-6 && (d[0] - 0.8).abs() < 1e-6, "{loss} {d:?}");
    }

    #[test]
    fn large_scores_stay_finite() {
        let (s, y) = ([3e4, -3e4], [0.0, 1.0]);
        let mut d = [0.0; 2];
        for (loss, expected) in [(Loss::SoftmaxCrossEntropy, 6e4), (Loss::SigmoidCrossEntropy, 3e4)] {
            assert_eq!(loss.gradient(&s, &y, &[1.0], 2, &mut d).mean(), expected);
            assert!(d.iter().all(|d| d.is_finite()));
        }
    }

    #[test]
    fn a_row_without_weight_is_absent() {
        for loss in LOSSES {
            let (mut both, mut alone) = ([9.0; 4], [9.0; 2]);
            let scores = [0.5, 1.0, f32::INFINITY, 3.0];
            let first = loss.gradient(&scores, &[0.0, 1.0, 1.0, 0.0], &[2.0, 0.0], 2, &mut both);
            let second = loss.gradient(&[0.5, 1.0], &[0.0, 1.0], &[1.0], 2, &mut alone);
            assert_eq!(first.mean(), second.mean());
            assert_eq!(both, [alone[0], alone[1], 0.0, 0.0]);
        }
    }
}
