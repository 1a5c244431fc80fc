//! Rows enter; leave the outputs that are usual at an input, as an affine function of some of its columns.

/// Columns that a function may read: those that tell most.
const MOST_COLUMNS: usize = 40;
/// Sweeps of coordinate descent; a fit need not be the best.
const SWEEPS: usize = 2000;
/// What weights cost, as a share of a column's own variance.
const RIDGE: f64 = 1e-6;

/// An affine function of the columns of an input.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Affinely {
    pub(super) weights: Vec<f64>,
    pub(super) constant: f64,
}

impl Affinely {
    pub(super) fn constant(width: usize, constant: f64) -> Self {
        Self { weights: vec![0.0; width], constant }
    }

    pub(super) fn at(&self, x: &[f32]) -> f64 {
        self.constant + self.weights.iter().zip(x).map(|(w, x)| w * f64::from(*x)).sum::<f64>()
    }

    /// What lies between, `share` of the way to another.
    pub(super) fn towards(&self, other: &Self, share: f64) -> Self {
        let between = |a: f64, b: f64| (1.0 - share) * a + share * b;
        let weights = self.weights.iter().zip(&other.weights).map(|(a, b)| between(*a, *b)).collect();
        Self { weights, constant: between(self.constant, other.constant) }
    }
}

/// A row: its input and its outputs.
type ShownRow<'a> = (&'a [f32], &'a [f32]);

/// The function of these columns that is nearest to an output of rows, by least squares.
pub(super) fn fitted(rows: &[ShownRow], output: usize, width: usize, columns: &[usize]) -> Affinely {
    let n = rows.len().max(1) as f64;
    let mean = |value: &dyn Fn(&ShownRow) -> f64| rows.iter().map(value).sum::<f64>() / n;
    let target = mean(&|(_, y)| f64::from(y[output]));
    let middles: Vec<f64> = columns.iter().map(|c| mean(&|(x, _)| f64::from(x[*c]))).collect();
    let spread = |k: usize, c: usize| mean(&|(x, _)| (f64::from(x[c]) - middles[k]).powi(2));
    let tells = |k: usize, c: usize| mean(&|(x, y)| (f64::from(x[c]) - middles[k]) * (f64::from(y[output]) - target));
    let mut told: Vec<(usize, f64, f64)> = columns
        .iter()
        .enumerate()
        .map(|(k, c)| (k, spread(k, *c), tells(k, *c)))
        .filter(|(_, spread, _)| *spread > f64::MIN_POSITIVE)
        .collect();
    told.sort_by(|a, b| (b.2 * b.2 / b.1).total_cmp(&(a.2 * a.2 / a.1)));
    told.truncate(MOST_COLUMNS);
    let product =
        |a: usize, b: usize| mean(&|(x, _)| (f64::from(x[columns[a]]) - middles[a]) * (f64::from(x[columns[b]]) - middles[b]));
    let gram: Vec<Vec<f64>> = told.iter().map(|(a, ..)| told.iter().map(|(b, ..)| product(*a, *b)).collect()).collect();
    let mut w = vec![0.0; told.len()];
    for _ in 0..SWEEPS {
        for k in 0..w.len() {
            let others: f64 = (0..w.len()).filter(|i| *i != k).map(|i| gram[k][i] * w[i]).sum();
            w[k] = (told[k].2 - others) / (gram[k][k] * (1.0 + RIDGE));
        }
    }
    let mut fitted = Affinely::constant(width, target);
    for ((k, ..), w) in told.iter().zip(w) {
        fitted.weights[columns[*k]] = w;
        fitted.constant -= w * middles[*k];
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::fitted;

    /// y = 3 + 2 a - b, with a and b far from independent and a third column that says nothing.
    #[test]
    fn a_plane_is_found_and_columns_that_are_left_out_are_not_read() {
        let x: Vec<[f32; 3]> = (0..50).map(|i| [i as f32, (i * i % 7) as f32 + 0.5 * i as f32, (i % 3) as f32]).collect();
        let y: Vec<[f32; 2]> = x.iter().map(|x| [0.0, 3.0 + 2.0 * x[0] - x[1]]).collect();
        let rows: Vec<(&[f32], &[f32])> = x.iter().zip(&y).map(|(x, y)| (&x[..], &y[..])).collect();
        let plane = fitted(&rows, 1, 3, &[0, 1, 2]);
        for (x, y) in &rows {
            assert!((plane.at(x) - f64::from(y[1])).abs() < 0.2, "{plane:?} at {x:?}: {}", y[1]);
        }
        assert_eq!(fitted(&rows, 1, 3, &[0]).weights[1..], [0.0, 0.0]);
        assert_eq!(fitted(&[], 1, 3, &[0, 1]).weights, [0.0; 3]);
    }
}
