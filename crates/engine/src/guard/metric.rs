//! How much a change of the last layer matters: by how much it changes the predictions on the data.
//!
//! A change d of one output's weights and bias changes its predictions by d.[v; 1], on average over the rows by d'M d with
//! M = E[[v; 1] [v; 1]']. Of M all is kept for the columns that come straight from the input and for the bias, so that a rule about a
//! few rows moves the weight of the feature that tells them apart; of the hidden units only the diagonal is kept.

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
        let size = full.len() + 1;
        let mut diagonal = vec![0.0; n];
        let mut block = vec![0.0; size * size];
        for v in rows {
            diagonal.iter_mut().zip(v).for_each(|(d, v)| *d += f64::from(*v) * f64::from(*v));
            let at = |k: usize| full.get(k).map_or(1.0, |c| f64::from(v[*c]));
            for i in 0..size {
                for j in 0..size {
                    block[i * size + j] += at(i) * at(j);
                }
            }
        }
        diagonal.iter_mut().chain(&mut block).for_each(|m| *m /= count);
        let ridge = RIDGE * (1.0 + diagonal.iter().sum::<f64>() / n.max(1) as f64);
        diagonal.iter_mut().for_each(|d| *d = 1.0 / (*d + ridge));
        full.iter().for_each(|c| diagonal[*c] = 0.0);
        (0..size).for_each(|i| block[i * size + i] += ridge);
        Self { full: full.to_vec(), block: inverse(block, size), diagonal }
    }

    /// The same, but hidden units keep their weights: only the columns that come straight from the input and the bias move. Little
    /// is added to the diagonal here, so a feature that singles out the rows a rule is about moves almost alone.
    pub fn straight(z: &[f32], n: usize, full: &[usize]) -> Self {
        let rows = z.chunks_exact(n.max(1));
        let (count, size) = (rows.len().max(1) as f64, full.len() + 1);
        let mut block = vec![0.0; size * size];
        for v in rows {
            let at = |k: usize| full.get(k).map_or(1.0, |c| f64::from(v[*c]));
            (0..size * size).for_each(|k| block[k] += at(k / size) * at(k % size) / count);
        }
        let mean = (0..size).map(|i| block[i * size + i]).sum::<f64>() / size as f64;
        (0..size).for_each(|i| block[i * size + i] += 1e-3 * mean);
        Self { full: full.to_vec(), block: inverse(block, size), diagonal: vec![0.0; n] }
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

/// Gauss-Jordan elimination of a small positive definite matrix.
fn inverse(mut a: Vec<f64>, n: usize) -> Vec<f64> {
    let mut b: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
    for c in 0..n {
        let pivot = 1.0 / a[c * n + c];
        for k in 0..n {
            a[c * n + k] *= pivot;
            b[c * n + k] *= pivot;
        }
        for r in (0..n).filter(|r| *r != c) {
            let factor = a[r * n + c];
            for k in 0..n {
                a[r * n + k] -= factor * a[c * n + k];
                b[r * n + k] -= factor * b[c * n + k];
            }
        }
    }
    b
}

#[cfg(test)]
mod tests {
    use super::inverse;

    #[test]
    fn an_inverse_undoes_its_matrix() {
        // 4 1; 1 3 has determinant 11.
        let found = inverse(vec![4.0, 1.0, 1.0, 3.0], 2);
        let expected = [3.0 / 11.0, -1.0 / 11.0, -1.0 / 11.0, 4.0 / 11.0];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
    }
}
