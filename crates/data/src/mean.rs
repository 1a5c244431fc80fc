//! Numbers enter; their mean and how far they are from it leave, or their quantiles.

use serde::Serialize;

/// Mean and standard deviation (with n - 1) of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mean {
    /// How many numbers there are.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; 0 for one number.
    pub deviation: f64,
}

/// Mean and deviation; `None` without values.
pub fn mean(values: &[f64]) -> Option<Mean> {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let spread = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n.max(2) - 1) as f64;
    (n > 0).then(|| Mean { n, mean, deviation: spread.sqrt() })
}

/// At most so many of some rows, at equal distances, the first among them.
pub fn thinned(rows: usize, most: usize) -> impl Iterator<Item = usize> {
    (0..rows).step_by(rows.div_ceil(most.max(1)).max(1))
}

/// What stands at a share of the way through sorted numbers, which are not none: between neighbours in proportion.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_by_hand() {
        assert_eq!(mean(&[1.0, 3.0]), Some(Mean { n: 2, mean: 2.0, deviation: 2f64.sqrt() }));
        // Squares of -2, -1 and 3 over 2.
        assert_eq!(mean(&[1.0, 2.0, 6.0]).unwrap().deviation, 7f64.sqrt());
        assert_eq!(mean(&[5.0]).unwrap().deviation, 0.0);
        assert_eq!(mean(&[]), None);
    }
}
