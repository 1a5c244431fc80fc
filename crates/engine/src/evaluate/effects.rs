//! A model and rows enter; how much each feature matters leaves, and how predictions move with those that matter most.
//!
//! Permutation importance: the values of one feature are dealt out anew among the rows, which breaks its tie to the truth and nothing else;
//! what that costs is what the model owes to it. Partial dependence: the mean prediction of the rows when all have one value of a feature.

use deepsade_data::Dataset;
use deepsade_net::Matrix;
use deepsade_output::Output;
use deepsade_output::reader::Estimator;
use deepsade_spec::{Schema, Task};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::Answers;

/// Times that a feature is dealt out anew.
const TIMES: usize = 5;
/// Rows that are predicted in all, and for one feature at least and at most.
const EFFORT: usize = 400_000;
const FEWEST: usize = 50;
const MOST: usize = 2000;
/// Features beyond which the work is left out.
const MOST_FEATURES: usize = 400;
/// Features that are drawn, values of each, rows of each value, and curves.
const DRAWN: usize = 8;
const VALUES: usize = 20;
const DRAWN_ROWS: usize = 200;
const CURVES: usize = 5;

/// The score that importance is measured by, and whether more is better.
fn measure(task: &Task) -> (&'static str, bool) {
    match task {
        Task::Regression { .. } => ("mse", false),
        Task::Binary { .. } => ("auc", true),
        Task::Multiclass { .. } => ("log_loss", false),
        Task::Multilabel { .. } | Task::Ranking { .. } => ("f1_micro", true),
    }
}

/// Importance of each feature, the largest first, and curves of the first few; `None` where there are no rows, or too many features.
pub fn effects(output: &Output, rows: &Dataset, budget: usize, seed: u64) -> Option<Value> {
    let schema = &output.spec().schema;
    let n = schema.features.len();
    let known: Vec<usize> = (0..rows.x.rows).collect();
    let most = (EFFORT / (TIMES * n.max(1))).clamp(FEWEST, MOST);
    let rows = rows.select(&spaced(&known, most));
    let estimator = Estimator::new(output, budget);
    let answers = Answers::of(output, &estimator, &rows.x);
    let told: Vec<usize> = (0..rows.x.rows).filter(|r| answers.outputs.row(*r).iter().all(|v| !v.is_nan())).collect();
    if n > MOST_FEATURES || told.len() < 10 {
        return None;
    }
    let rows = rows.select(&told);
    let (name, more_is_better) = measure(&schema.task);
    let score = |x: &Matrix| Answers::of(output, &estimator, x).judged(output, &rows).number(name);
    let (base, mut rng) = (score(&rows.x), ChaCha8Rng::seed_from_u64(seed));
    let columns = schema.columns();
    let mut found: Vec<(usize, f64, f64)> = (0..n)
        .map(|f| {
            let losses: Vec<f64> = (0..TIMES)
                .map(|_| {
                    let mut order: Vec<usize> = (0..rows.x.rows).collect();
                    order.shuffle(&mut rng);
                    let mut x = rows.x.clone();
                    for (k, _) in columns.iter().enumerate().filter(|(_, c)| c.feature == f) {
                        order.iter().enumerate().for_each(|(r, from)| x.row_mut(r)[k] = rows.x.row(*from)[k]);
                    }
                    if more_is_better { base - score(&x) } else { score(&x) - base }
                })
                .collect();
            let mean = losses.iter().sum::<f64>() / TIMES as f64;
            let spread = (losses.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / TIMES as f64).sqrt();
            (f, mean, spread)
        })
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let curves: Vec<Value> = found.iter().take(DRAWN).map(|(f, ..)| curve(output, &estimator, &rows, *f)).collect();
    let each = |(f, mean, spread): &(usize, f64, f64)| json!({"feature": schema.features[*f].name, "importance": mean, "deviation": spread});
    Some(json!({
        "score": name,
        "rows": rows.x.rows,
        "times": TIMES,
        "importance": found.iter().map(each).collect::<Vec<_>>(),
        "partial_dependence": curves,
    }))
}

/// The mean prediction at some values of a feature.
fn curve(output: &Output, estimator: &Estimator, rows: &Dataset, feature: usize) -> Value {
    let schema = &output.spec().schema;
    let all: Vec<usize> = (0..rows.x.rows).collect();
    let base = rows.x.select(&spaced(&all, DRAWN_ROWS));
    let (values, names) = values(schema, &rows.x, feature);
    let means: Vec<Vec<f64>> = values.iter().map(|value| mean(output, estimator, &at(schema, &base, feature, *value))).collect();
    let curve = |(j, name): (usize, String)| json!({"name": name, "mean": means.iter().map(|m| m[j]).collect::<Vec<_>>()});
    let curves: Vec<Value> = outputs(&schema.task).into_iter().enumerate().take(CURVES).map(curve).collect();
    let (name, levels) = (&schema.features[feature].name, schema.features[feature].domain.levels().is_some());
    json!({"feature": name, "levels": levels, "values": names, "curves": curves})
}

/// What each number of [`mean`] is called.
fn outputs(task: &Task) -> Vec<String> {
    match task {
        Task::Binary { classes, .. } => vec![format!("probability of {}", classes[1])],
        Task::Multiclass { classes, .. } => classes.iter().map(|c| format!("probability of {c}")).collect(),
        other => deepsade_output::predict::columns(other),
    }
}

fn mean(output: &Output, estimator: &Estimator, x: &Matrix) -> Vec<f64> {
    let Answers { outputs: y, probabilities } = Answers::of(output, estimator, x);
    let binary = matches!(output.spec().schema.task, Task::Binary { .. });
    let row = |r: usize| match &probabilities {
        Some(p) if binary => vec![p[r][1]],
        Some(p) => p[r].clone(),
        None => y.row(r).iter().map(|v| f64::from(*v)).collect(),
    };
    let known: Vec<Vec<f64>> = (0..x.rows).map(row).filter(|row| row.iter().all(|v| v.is_finite())).collect();
    let width = outputs(&output.spec().schema.task).len();
    (0..width).map(|j| known.iter().map(|row| row[j]).sum::<f64>() / known.len() as f64).collect()
}

/// Rows that all have one value of a feature; of a category the place of its level.
fn at(schema: &Schema, x: &Matrix, feature: usize, value: f32) -> Matrix {
    let (mut x, map) = (x.clone(), schema.column_map());
    (0..x.rows).for_each(|r| map.put(feature, &schema.features[feature].domain, value, x.row_mut(r)));
    x
}

/// Values of a feature that rows have, at most so many, evenly spaced among the rows; and how they are shown. Of levels all.
fn values(schema: &Schema, x: &Matrix, feature: usize) -> (Vec<f32>, Vec<Value>) {
    if let Some(levels) = schema.features[feature].domain.levels() {
        return ((0..levels.len()).map(|l| l as f32).collect(), levels.iter().map(|l| json!(l)).collect());
    }
    let column = schema.first_columns()[feature];
    let mut seen: Vec<f32> = (0..x.rows).map(|r| x.row(r)[column]).collect();
    seen.sort_by(f32::total_cmp);
    let mut different = seen.clone();
    different.dedup();
    let places: Vec<usize> = (0..seen.len()).collect();
    let mut chosen =
        if different.len() <= VALUES { different } else { spaced(&places, VALUES).iter().map(|k| seen[*k]).collect() };
    chosen.dedup();
    let shown = chosen.iter().map(|v| json!(v)).collect();
    (chosen, shown)
}

/// At most so many of them, evenly spaced, the first and the last among them.
fn spaced(all: &[usize], most: usize) -> Vec<usize> {
    if all.len() <= most {
        return all.to_vec();
    }
    (0..most).map(|k| all[k * (all.len() - 1) / (most - 1)]).collect()
}
