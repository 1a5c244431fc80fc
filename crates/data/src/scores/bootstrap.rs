//! A scorer, the weights of its rows and a seed enter; for each of its numbers the middle 95 % over draws of the rows leave.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::Scorer;

/// Draws at most and at least, and rows drawn in all where that leaves a choice.
const MOST: usize = 1000;
const LEAST: usize = 100;
const ROWS: usize = 2_000_000;

/// `[lower, upper]` by name; `null` for what is not a number in too many draws.
pub(super) fn intervals(scorer: &dyn Scorer, weight: &[f64], seed: u64) -> Value {
    let rows = weight.len();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let draws = (ROWS / rows).clamp(LEAST, MOST);
    let mut found: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..draws {
        let mut drawn = vec![0.0; rows];
        for _ in 0..rows {
            let row = rng.random_range(0..rows);
            drawn[row] += weight[row];
        }
        for (name, value) in scorer.scalars(&drawn) {
            found.entry(name).or_default().push(value);
        }
    }
    let middle = |mut values: Vec<f64>| {
        values.retain(|v| !v.is_nan());
        if values.len() * 10 < draws * 9 {
            return Value::Null;
        }
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        json!([at(0.025), at(0.975)])
    };
    found.into_iter().map(|(name, values)| (name.to_owned(), middle(values))).collect()
}
