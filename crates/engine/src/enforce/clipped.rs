//! Outputs and targets of a batch enter; the loss of the outputs as they will be clipped leaves, with its gradient.
//!
//! `L(min(max(s, l), u))`. Beyond a bound the derivative is 0 but where it leads back: an output that is too large and should be smaller
//! learns it.

use deepsade_check::step::Clips;
use deepsade_net::Matrix;
use deepsade_spec::NormalSpec;

use super::step::clip::ends_of;
use crate::objective::{Loss, LossSum, Objective, RuleLoss, ScoredRows};
use crate::units::Units;

/// Clips that a network is trained through.
#[derive(Debug)]
pub struct Clipped {
    /// The clips.
    pub clips: Clips,
    /// The loss of what is clipped.
    pub loss: Loss,
}

impl Clipped {
    /// The bounds of each row's outputs: all smallest, then all largest.
    pub fn side_of(&self, spec: &NormalSpec, x: &Matrix) -> Matrix {
        ends_of(&self.clips, spec, x)
    }
}

impl RuleLoss for Clipped {
    fn objective(&self, units: &Units) -> Box<dyn Objective + '_> {
        Box::new(ClippedLoss { loss: self.loss, units: units.clone(), moved: Vec::new() })
    }

    fn side(&self) -> usize {
        2 * self.clips.numbers.len()
    }

    fn identity(&self) -> String {
        format!("clipped {}", self.clips.to_json())
    }
}

/// The loss behind the clips, and its buffer.
struct ClippedLoss {
    loss: Loss,
    units: Units,
    moved: Vec<f32>,
}

impl Objective for ClippedLoss {
    fn gradient(&mut self, rows: ScoredRows, delta: &mut [f32]) -> LossSum {
        let ScoredRows { scores, truth, side, weight, width } = rows;
        let Units { shift, scale } = &self.units;
        let end = |k: usize, part: usize| {
            let (row, j) = (k / width, k % width);
            ((f64::from(side[row * 2 * width + part * width + j]) - shift[j]) / scale[j]) as f32
        };
        self.moved.clear();
        self.moved.extend(scores.iter().enumerate().map(|(k, s)| s.max(end(k, 0)).min(end(k, 1))));
        let sum = self.loss.gradient(&self.moved, truth, weight, width, delta);
        for ((d, s), m) in delta.iter_mut().zip(scores).zip(&self.moved) {
            *d = if s > m {
                d.max(0.0)
            } else if s < m {
                d.min(0.0)
            } else {
                *d
            };
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use deepsade_check::step::{Clips, Number};

    use super::*;

    /// Two outputs in units of 2 and 3 around 1 and 0; the first is at most 5 (2 in training units), the second at least 3 (1 there).
    /// Inside the gradient is that of the squares; beyond a bound it is 0 unless it leads back.
    #[test]
    fn gradients_end_at_the_bounds_but_where_they_lead_back() {
        let number = Number { lo: -100.0, hi: 100.0, grid: None };
        let clipped = Clipped {
            clips: Clips { numbers: vec![number; 2], rounds: vec![], meet: vec![], trees: vec![] },
            loss: Loss::MeanSquares,
        };
        assert_eq!(clipped.side(), 4);
        let mut objective = clipped.objective(&Units { shift: vec![1.0, 0.0], scale: vec![2.0, 3.0] });
        let side = [-100.0, 3.0, 5.0, 100.0].repeat(3);
        let (scores, truth) = ([1.0, 2.0, 3.0, 0.0, 3.0, 0.0], [0.5, 2.5, 1.0, 2.0, 4.0, 0.5]);
        let (mut delta, mut plain) = ([0.0; 6], [0.0; 6]);
        let sum = objective
            .gradient(ScoredRows { scores: &scores, truth: &truth, side: &side, weight: &[1.0; 3], width: 2 }, &mut delta);
        let clipped = [1.0, 2.0, 2.0, 1.0, 2.0, 1.0];
        assert_eq!(sum, Loss::MeanSquares.gradient(&clipped, &truth, &[1.0; 3], 2, &mut plain));
        // Row 1 is inside; row 2 leads back from both bounds; row 3 would go further beyond both.
        assert_eq!(delta[..4], plain[..4]);
        assert_eq!(delta[4..], [0.0, 0.0]);
    }
}
