//! Rows of numbers enter; squared and absolute errors, R2 and quantiles of the errors leave, of all targets and of each.

use deepsade_net::Matrix;
use serde_json::{Map, Value, json};

use super::{Scalars, Scorer, share};
use crate::mean::quantile;

/// The shares of which quantiles are told.
const SHARES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// For each target its name, and for each row the prediction and the truth.
pub(super) struct NumberScores {
    targets: Vec<(String, Vec<(f64, f64)>)>,
}

impl NumberScores {
    pub(super) fn new(names: &[String], outputs: &Matrix, truth: &Matrix, rows: &[usize]) -> Self {
        let pair = |r: &usize, j: usize| (f64::from(outputs.row(*r)[j]), f64::from(truth.row(*r)[j]));
        let target = |(j, name): (usize, &String)| (name.clone(), rows.iter().map(|r| pair(r, j)).collect());
        Self { targets: names.iter().enumerate().map(target).collect() }
    }
}

/// MSE, its root, MAE and R2 of one target.
fn of_target(pairs: &[(f64, f64)], weight: &[f64]) -> [f64; 4] {
    let total: f64 = weight.iter().sum();
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| share(pairs.iter().zip(weight).map(|(p, w)| w * of(p)).sum(), total);
    let middle = mean(&|(_, t)| *t);
    let (mse, spread) = (mean(&|(y, t)| (y - t).powi(2)), mean(&|(_, t)| (t - middle).powi(2)));
    [mse, mse.sqrt(), mean(&|(y, t)| (y - t).abs()), if spread > 0.0 { 1.0 - mse / spread } else { f64::NAN }]
}

/// Quantiles of prediction minus truth.
fn quantiles(pairs: &[(f64, f64)]) -> Value {
    let mut errors: Vec<f64> = pairs.iter().map(|(y, t)| y - t).collect();
    errors.sort_by(f64::total_cmp);
    SHARES.iter().map(|q| json!({"share": q, "error": quantile(&errors, *q)})).collect()
}

impl Scorer for NumberScores {
    fn scalars(&self, weight: &[f64]) -> Scalars {
        let n = self.targets.len() as f64;
        let sums = self
            .targets
            .iter()
            .map(|(_, pairs)| of_target(pairs, weight))
            .fold([0.0; 4], |sum, one| std::array::from_fn(|k| sum[k] + one[k]));
        // The root is of each target, too: no mean of squares in different units.
        let [mse, rmse, mae, r2] = sums.map(|sum| sum / n);
        Scalars::from([("mse", mse), ("rmse", rmse), ("mae", mae), ("r2", r2)])
    }

    fn details(&self) -> Map<String, Value> {
        let pooled: Vec<(f64, f64)> = self.targets.iter().flat_map(|(_, pairs)| pairs.iter().copied()).collect();
        let one = |(name, pairs): &(String, Vec<(f64, f64)>)| {
            let [mse, rmse, mae, r2] = of_target(pairs, &vec![1.0; pairs.len()]);
            (name.clone(), json!({"mse": mse, "rmse": rmse, "mae": mae, "r2": r2, "error_quantiles": quantiles(pairs)}))
        };
        let targets: Map<String, Value> = self.targets.iter().map(one).collect();
        Map::from_iter([("error_quantiles".into(), quantiles(&pooled)), ("targets".into(), Value::Object(targets))])
    }
}
