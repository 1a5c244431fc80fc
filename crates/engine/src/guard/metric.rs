//! How much a change of the last layer matters: by how much it changes the predictions on the data.
//!
//! A change d of one output's weights and bias changes its predictions by d.[v; 1], on average over the rows by d'M d with
//! M = E[[v; 1] [v; 1]']. Of M all is kept for the columns that come straight from the input and for the bias, so that a rule about a
//! few rows moves the weight of the feature that tells them apart; of the hidden units only the diagonal is kept.

use deepsade_solve::cholesky::Cholesky;

/// Added to the diagonal, as a share of its mean: features that hardly vary in the data are not free to move.
const RIDGE: f64 = 0.2;

/// The inverse of M.
#[derive(Debug, Clone, Default)]
pub struct Metric {
    /// Columns kept in full; the bias is the last row of `block`.
    full: Vec<usize>,
    /// Inverse of their part of M.
    block: Vec<f64>,
    /// Inverse of the diagonal for the other columns.
    diagonal: Vec<f64>,
}

impl Metric {
    /// From what the last layer reads, `n` columns a row; `full` columns come straight from the input.
    pub fn new(z: &[f32], n: usize, full: &[usize]) -> Self {
        let rows = z.chunks_exact(n.max(1));
        let count = rows.len().max(1) as f64;
        let mut diagonal = vec![0.0; n];
        for v in rows {
            diagonal.iter_mut().zip(v).for_each(|(d, v)| *d += f64::from(*v) * f64::from(*v));
        }
        diagonal.iter_mut().for_each(|d| *d /= count);
        let ridge = RIDGE * (1.0 + diagonal.iter().sum::<f64>() / n.max(1) as f64);
        diagonal.iter_mut().for_each(|d| *d = 1.0 / (*d + ridge));
        full.iter().for_each(|c| diagonal[*c] = 0.0);
        Self { full: full.to_vec(), block: block(z, n, full, |_| ridge), diagonal }
    }

    /// The same, but hidden units keep their weights: only the columns that come straight from the input and the bias move. Little
    /// is added to the diagonal here, so a feature that singles out the rows a rule is about moves almost alone.
    pub fn straight(z: &[f32], n: usize, full: &[usize]) -> Self {
        Self { full: full.to_vec(), block: block(z, n, full, |mean| 1e-3 * mean), diagonal: vec![0.0; n] }
    }

    /// Plain distance between last layers.
    pub fn plain(inputs: usize) -> Self {
        Self { full: Vec::new(), block: vec![1.0], diagonal: vec![1.0; inputs] }
    }

    /// `M^-1 [v; 1]`: the columns into `out`, the bias returned.
    pub fn apply(&self, v: &[f64], out: &mut Vec<f64>) -> f64 {
        out.clear();
        out.extend(v.iter().zip(&self.diagonal).map(|(v, d)| v * d));
        let size = self.full.len() + 1;
        let row = |i: usize| {
            let at = |k: usize| self.full.get(k).map_or(1.0, |c| v[*c]);
            (0..size).map(|k| self.block[i * size + k] * at(k)).sum::<f64>()
        };
        for (i, c) in self.full.iter().enumerate() {
            out[*c] = row(i);
        }
        row(size - 1)
    }
}

/// The inverse of M's part of some columns and the bias, which is the last.
fn block(z: &[f32], n: usize, full: &[usize], ridge: impl FnOnce(f64) -> f64) -> Vec<f64> {
    let rows = z.chunks_exact(n.max(1)).map(|v| move |k: usize| full.get(k).map_or(1.0, |c| f64::from(v[*c])));
    Cholesky::of_moments(rows, full.len() + 1, ridge).inverse()
}
