//! Rows of any width enter, one point of the plane for each leaves: exact t-SNE (van der Maaten and Hinton, 2008).
//!
//! Exact, so its time grows with the square of the rows: callers take a sample (1000 rows take seconds). The start is drawn from a
//! seed and the sums have one order, so the same rows give the same picture.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How the layout is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TsneSettings {
    /// How many neighbours a point roughly has; lowered to a third of the rows.
    pub perplexity: f64,
    /// Steps of gradient descent.
    pub steps: usize,
    /// Decides the start.
    pub seed: u64,
}

impl Default for TsneSettings {
    fn default() -> Self {
        Self { perplexity: 30.0, steps: 500, seed: 0 }
    }
}

/// Steps at the beginning in which neighbours attract each other more strongly, so that groups can pass each other.
const EARLY: usize = 120;
const EXAGGERATION: f64 = 12.0;

/// Lays the rows out. Fewer than four rows have no neighbourhoods to keep: they stay at the start's places.
///
/// ```
/// use deepsade_lab::tsne::{TsneSettings, tsne};
///
/// let rows: Vec<Vec<f64>> = (0..12).map(|k| vec![f64::from(k % 2) * 100.0, f64::from(k) * 0.01, 1.0]).collect();
/// let places = tsne(&rows, TsneSettings { perplexity: 3.0, ..TsneSettings::default() });
/// let far = |a: usize, b: usize| (places[a][0] - places[b][0]).hypot(places[a][1] - places[b][1]);
/// assert!(far(0, 2) < far(0, 1), "what is near stays near");
/// ```
pub fn tsne(rows: &[Vec<f64>], settings: TsneSettings) -> Vec<[f64; 2]> {
    let n = rows.len();
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    let mut y: Vec<[f64; 2]> = (0..n).map(|_| [1e-2 * (rng.random::<f64>() - 0.5), 1e-2 * (rng.random::<f64>() - 0.5)]).collect();
    if n < 4 {
        return y;
    }
    let p = affinities(rows, settings.perplexity.min((n - 1) as f64 / 3.0).max(1.0));
    let rate = (n as f64 / EXAGGERATION).max(10.0);
    let (mut speed, mut gain) = (vec![[0.0f64; 2]; n], vec![[1.0f64; 2]; n]);
    let mut q = vec![0.0; n * n];
    for step in 0..settings.steps {
        let exaggeration = if step < EARLY { EXAGGERATION } else { 1.0 };
        let momentum = if step < EARLY { 0.5 } else { 0.8 };
        let mut total = 0.0;
        for i in 0..n {
            for j in 0..n {
                let d = [y[i][0] - y[j][0], y[i][1] - y[j][1]];
                q[i * n + j] = if i == j { 0.0 } else { 1.0 / (1.0 + d[0] * d[0] + d[1] * d[1]) };
                total += q[i * n + j];
            }
        }
        let before = y.clone();
        for i in 0..n {
            let mut gradient = [0.0; 2];
            for j in 0..n {
                let near = q[i * n + j];
                let pull = 4.0 * (exaggeration * p[i * n + j] - near / total) * near;
                for (axis, g) in gradient.iter_mut().enumerate() {
                    *g += pull * (before[i][axis] - before[j][axis]);
                }
            }
            for axis in 0..2 {
                let same = (gradient[axis] > 0.0) == (speed[i][axis] > 0.0);
                gain[i][axis] = if same { (gain[i][axis] * 0.8).max(0.01) } else { gain[i][axis] + 0.2 };
                speed[i][axis] = momentum * speed[i][axis] - rate * gain[i][axis] * gradient[axis];
                y[i][axis] += speed[i][axis];
            }
        }
        let mean = [0, 1].map(|axis| y.iter().map(|p| p[axis]).sum::<f64>() / n as f64);
        y.iter_mut().for_each(|p| *p = [p[0] - mean[0], p[1] - mean[1]]);
    }
    y
}

/// Symmetric affinities of sum 1; each row's bandwidth gives it the perplexity.
fn affinities(rows: &[Vec<f64>], perplexity: f64) -> Vec<f64> {
    let n = rows.len();
    let mut p = vec![0.0; n * n];
    for i in 0..n {
        let distance: Vec<f64> =
            (0..n).map(|j| rows[i].iter().zip(&rows[j]).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).collect();
        let nearest = (0..n).filter(|j| *j != i).map(|j| distance[j]).fold(f64::INFINITY, f64::min);
        let (mut beta, mut lo, mut hi) = (1.0, 0.0, f64::INFINITY);
        for _ in 0..64 {
            let weight = |j: usize| if j == i { 0.0 } else { (-(distance[j] - nearest) * beta).exp() };
            let sum: f64 = (0..n).map(weight).sum();
            let mean: f64 = (0..n).map(|j| weight(j) * (distance[j] - nearest)).sum::<f64>() / sum;
            // Entropy in nats.
            let entropy = sum.ln() + beta * mean;
            (0..n).for_each(|j| p[i * n + j] = weight(j) / sum);
            if (entropy - perplexity.ln()).abs() < 1e-4 {
                break;
            }
            if entropy > perplexity.ln() {
                lo = beta;
            } else {
                hi = beta;
            }
            beta = if hi.is_finite() { f64::midpoint(lo, hi) } else { beta * 2.0 };
        }
    }
    let mut symmetric = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            symmetric[i * n + j] = ((p[i * n + j] + p[j * n + i]) / (2.0 * n as f64)).max(1e-12);
        }
    }
    symmetric
}

#[cfg(test)]
mod tests {
    use super::{TsneSettings, tsne};

    /// Two far groups in ten dimensions stay two groups: every point's nearest neighbour is of its own group.
    #[test]
    fn planted_groups_are_kept_apart() {
        let row = |k: usize| (0..10).map(|d| ((k * 31 + d * 17) % 13) as f64 / 13.0 + 8.0 * (k % 2) as f64).collect();
        let rows: Vec<Vec<f64>> = (0..60).map(row).collect();
        let settings = TsneSettings { perplexity: 8.0, steps: 300, seed: 3 };
        let y = tsne(&rows, settings);
        let distance = |i: usize, j: usize| (y[i][0] - y[j][0]).hypot(y[i][1] - y[j][1]);
        for i in 0..60 {
            let nearest = (0..60).filter(|j| *j != i).min_by(|a, b| distance(i, *a).total_cmp(&distance(i, *b))).unwrap();
            assert_eq!(nearest % 2, i % 2, "row {i} stands beside row {nearest}");
        }
        assert_eq!(y, tsne(&rows, settings), "the same rows give the same picture");
    }

    #[test]
    fn few_or_equal_rows_are_no_trouble() {
        for rows in [vec![], vec![vec![1.0]], vec![vec![2.0, 2.0]; 12]] {
            assert!(tsne(&rows, TsneSettings { steps: 20, ..TsneSettings::default() }).iter().flatten().all(|v| v.is_finite()));
        }
    }
}
