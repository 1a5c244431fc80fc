//! Scores of two methods on the same folds enter; the probability of so large a difference by chance leaves.
//!
//! The corrected resampled t-test (Nadeau and Bengio, 2003): folds share training rows, so their differences vary too little, and
//! the variance of their mean is taken as `(1/n + test rows / training rows)` times their own instead of `1/n` times.

use deepsade_data::{Mean, VALIDATION, mean};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Two-sided p of the differences between pairs over `folds` folds; `None` with fewer than two.
pub fn p_value(differences: &[f64], folds: usize) -> Option<f64> {
    let n = differences.len();
    if n < 2 || folds < 2 {
        return None;
    }
    let Mean { mean, deviation, .. } = mean(differences)?;
    if deviation == 0.0 {
        return Some(if mean == 0.0 { 1.0 } else { 0.0 });
    }
    let test = 1.0 / folds as f64;
    let t = mean / (deviation * (1.0 / n as f64 + test / (1.0 - test - VALIDATION)).sqrt());
    Some(two_sided(t, (n - 1) as f64))
}

/// The probability that Student's t with so many degrees of freedom is at least as far from 0.
fn two_sided(t: f64, freedom: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom).expect("there is a degree of freedom");
    2.0 * student.cdf(-t.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of Student's t as tables print them.
    #[test]
    fn tabled_points() {
        for (t, freedom, p) in
            [(12.706, 1.0, 0.05), (2.776, 4.0, 0.05), (2.064, 24.0, 0.05), (2.797, 24.0, 0.01), (0.0, 7.0, 1.0)]
        {
            assert!((two_sided(t, freedom) - p).abs() < 1e-4, "{t} {freedom}: {}", two_sided(t, freedom));
        }
    }

    /// Mean 2, variance 1, five folds once: t = 2 / sqrt(1/5 + 2/7) = 2.869; uncorrected it would be 4.472.
    #[test]
    fn shared_training_rows_are_accounted_for() {
        let differences = [1.0, 1.5, 2.0, 2.5, 3.0].map(|d: f64| 2.0 + (d - 2.0) * (1.0f64 / 0.625).sqrt());
        let p = p_value(&differences, 5).unwrap();
        assert!((p - two_sided(2.0 / (0.2f64 + 2.0 / 7.0).sqrt(), 4.0)).abs() < 1e-9);
        assert!(p > 0.04 && p < 0.05, "{p}");
        assert_eq!(p_value(&[1.0], 5), None);
        assert_eq!(p_value(&[0.0, 0.0], 5), Some(1.0));
        assert_eq!(p_value(&[1.0, 1.0], 5), Some(0.0));
    }
}
