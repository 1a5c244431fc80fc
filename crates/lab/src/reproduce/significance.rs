//! Scores of two methods on the same folds enter; the probability of so large a difference by chance leaves.
//!
//! The corrected resampled t-test (Nadeau and Bengio, 2003): folds share training rows, so their differences vary too little, and
//! the variance of their mean is taken as `(1/n + test rows / training rows)` times their own instead of `1/n` times.

use deepsade_data::VALIDATION;

/// Two-sided p of the differences between pairs over `folds` folds; `None` with fewer than two.
pub fn p_value(differences: &[f64], folds: usize) -> Option<f64> {
    let n = differences.len();
    if n < 2 || folds < 2 {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / n as f64;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    if variance == 0.0 {
        return Some(if mean == 0.0 { 1.0 } else { 0.0 });
    }
    let test = 1.0 / folds as f64;
    let t = mean / (variance * (1.0 / n as f64 + test / (1.0 - test - VALIDATION))).sqrt();
    Some(two_sided(t, (n - 1) as f64))
}

/// The probability that Student's t with so many degrees of freedom is at least as far from 0.
fn two_sided(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The regularised incomplete beta function, by its continued fraction (Lentz's method).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (a * x.ln() + b * (1.0 - x).ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp() / a;
    let nonzero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut c, mut d) = (1.0, 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for step in [even, odd] {
            d = 1.0 / nonzero(1.0 + step * d);
            c = nonzero(1.0 + step / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-14 {
            break;
        }
    }
    front * fraction
}

/// Lanczos' approximation, good to 1e-10 for what is above 0.
fn ln_gamma(x: f64) -> f64 {
    const C: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        1.208_650_973_866_179e-3,
        -5.395_239_384_953e-6,
    ];
    let t = x + 5.5;
    let series = C.iter().enumerate().fold(1.000_000_000_190_015, |sum, (k, c)| sum + c / (x + 1.0 + k as f64));
    (x + 0.5) * t.ln() - t + (2.506_628_274_631_000_5 * series / x).ln()
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
