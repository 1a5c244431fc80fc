//! How far predictions are from obeying: the paper's REG, `R = max(0, sum y - income)`, for any rule.
//!
//! An atom `a >= 0` is `max(0, -a)` away, in the rule's own units; all of several are the sum away, any of them the least, and a
//! count is as far as its nearest parts that reach the bound, the last one in proportion. Divided by the mean variance of the
//! targets, like the loss in training, so that a weight means what it means in raw units.

use super::tree::Grading;
use crate::units::Units;

/// Distances to obeying; what no output can mend is infinitely far, and not penalised.
pub(super) struct Hinge {
    variance: f64,
}

impl Hinge {
    pub fn new(units: &Units) -> Self {
        Self { variance: units.scale.iter().map(|s| s * s).sum::<f64>() / units.scale.len().max(1) as f64 }
    }
}

impl Grading for Hinge {
    fn atom(&self, _: usize, value: f64) -> [f64; 2] {
        if value < 0.0 { [-value, -1.0] } else { [0.0, 0.0] }
    }

    fn constant(&self, holds: bool) -> f64 {
        if holds { 0.0 } else { f64::INFINITY }
    }

    fn all(&self, grades: &[f64]) -> f64 {
        grades.iter().sum()
    }

    fn all_slopes(&self, _: &[f64], slopes: &mut [f64]) {
        slopes.fill(1.0);
    }

    fn any(&self, grades: &[f64]) -> f64 {
        grades.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn any_slopes(&self, grades: &[f64], slopes: &mut [f64]) {
        let least = (0..grades.len()).min_by(|a, b| grades[*a].total_cmp(&grades[*b]));
        least.into_iter().for_each(|k| slopes[k] = 1.0);
    }

    fn count(&self, weights: &[f64], grades: &[f64], bound: f64, slopes: &mut [f64]) -> f64 {
        let mut order: Vec<usize> = (0..grades.len()).collect();
        // Nearest for their weight first.
        order.sort_by(|a, b| (grades[*a] / weights[*a]).total_cmp(&(grades[*b] / weights[*b])));
        let (mut missing, mut sum) = (bound, 0.0);
        for k in order {
            let share = (missing / weights[k]).min(1.0);
            if share <= 0.0 {
                break;
            }
            slopes[k] = share;
            sum += share * grades[k];
            missing -= weights[k];
        }
        sum
    }

    fn cost(&self, grade: f64) -> [f64; 2] {
        if grade.is_finite() { [grade / self.variance, 1.0 / self.variance] } else { [0.0, 0.0] }
    }
}
