//! Predictions and truth enter, the scores of the paper's tables leave.

use std::collections::BTreeMap;

use deepsade_net::Matrix;
use deepsade_output::Judge;
use deepsade_output::predict::{predicted_class, predicted_label};
use deepsade_spec::{NormalSpec, Task};

use crate::dataset::Dataset;

/// Scores by name. Shares are percentages. A name alone counts rows whose true label obeys the rules; with `_all` every row.
pub type Metrics = BTreeMap<String, f64>;

/// A score for people: with so many decimals, or, where these would say little of it, with as many digits.
pub fn score_shown(score: f64, decimals: usize) -> String {
    let least = 10f64.powi(1 - decimals as i32);
    if score != 0.0 && score.abs() < least { format!("{score:.*e}", decimals - 1) } else { format!("{score:.decimals$}") }
}

/// Scores outputs `y` against the rows, each with its weight; `breaking` marks rows whose true label breaks a rule.
pub fn metrics(spec: &NormalSpec, rows: &Dataset, y: &Matrix, breaking: &[bool]) -> Metrics {
    let mut metrics = Metrics::new();
    let judge = Judge::new(spec);
    for (suffix, all) in [("", false), ("_all", true)] {
        let counted = |row: usize| all || !breaking[row];
        let chosen: Vec<usize> = (0..rows.x.rows).filter(|r| counted(*r)).collect();
        let mut put = |name: &str, value: f64| {
            metrics.insert(format!("{name}{suffix}"), value);
        };
        put("rows", chosen.len() as f64);
        put("rows_breaking", judge.count_breaking(&rows.x, y, counted) as f64);
        let weight: f64 = chosen.iter().map(|r| f64::from(rows.weight[*r])).sum();
        if chosen.is_empty() || weight <= 0.0 {
            continue;
        }
        let mean = |score: &dyn Fn(&[f32], &[f32]) -> f64| {
            chosen.iter().map(|r| f64::from(rows.weight[*r]) * score(y.row(*r), rows.y.row(*r))).sum::<f64>() / weight
        };
        let own = mean(&|y, truth| row_score(&spec.schema.task, y, truth));
        put(deciding_score(&spec.schema.task).name, own);
        if let Task::Multilabel { .. } | Task::Ranking { .. } = &spec.schema.task {
            put("flattened", 100.0 * mean(&|y, truth| agreeing(y, truth) as f64 / y.len() as f64));
            put("jaccard", 100.0 * mean(&jaccard));
        }
    }
    metrics
}

/// Whether a score is a number of rows, by its name.
pub fn counts_rows(name: &str) -> bool {
    name.starts_with("rows")
}

/// The score by which models of a task are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecidingScore {
    /// Its name among the scores.
    pub name: &'static str,
    /// Whether more is better.
    pub more: bool,
}

/// The score by which models of a task are compared.
pub fn deciding_score(task: &Task) -> DecidingScore {
    let (name, more) = match task {
        Task::Regression { .. } => ("mse", false),
        Task::Binary { .. } | Task::Multiclass { .. } => ("accuracy", true),
        Task::Multilabel { .. } | Task::Ranking { .. } => ("coherent", true),
    };
    DecidingScore { name, more }
}

impl DecidingScore {
    /// What it is among these, if it is a number.
    pub fn among(self, metrics: &Metrics) -> Option<f64> {
        metrics.get(self.name).copied().filter(|v| v.is_finite())
    }

    /// Whether one score is better than another; any is better than none.
    pub fn better(self, a: Option<f64>, b: Option<f64>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) if self.more => a > b,
            (Some(a), Some(b)) => a < b,
            (a, b) => a.is_some() && b.is_none(),
        }
    }
}

/// What a row adds to the score by which models of a task are compared: its squared error, or 100 where all of it is right.
pub fn row_score(task: &Task, y: &[f32], truth: &[f32]) -> f64 {
    let right = match task {
        Task::Regression { .. } => return squared_error(y, truth),
        Task::Binary { .. } | Task::Multiclass { .. } => predicted_class(y) == predicted_class(truth),
        Task::Multilabel { .. } | Task::Ranking { .. } => agreeing(y, truth) == y.len(),
    };
    100.0 * f64::from(right)
}

fn squared_error(y: &[f32], truth: &[f32]) -> f64 {
    y.iter().zip(truth).map(|(y, t)| (f64::from(*y) - f64::from(*t)).powi(2)).sum::<f64>() / y.len() as f64
}

fn agreeing(y: &[f32], truth: &[f32]) -> usize {
    y.iter().zip(truth).filter(|(y, t)| predicted_label(**y) == (**t > 0.5)).count()
}

/// Size of the common labels over size of all labels; two empty sets agree.
fn jaccard(y: &[f32], truth: &[f32]) -> f64 {
    let pairs = || y.iter().zip(truth).map(|(y, t)| (predicted_label(*y), *t > 0.5));
    let common = pairs().filter(|(a, b)| *a && *b).count();
    let either = pairs().filter(|(a, b)| *a || *b).count();
    if either == 0 { 1.0 } else { common as f64 / either as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jaccard_of_hand_counted_sets() {
        // {0, 1} and {1, 2}: one in common of three.
        assert_eq!(jaccard(&[0.1, 2.0, -1.0], &[0.0, 1.0, 1.0]), 1.0 / 3.0);
        assert_eq!(jaccard(&[-1.0, -2.0, 0.0], &[0.0, 0.0, 0.0]), 1.0);
        assert_eq!(agreeing(&[0.1, 2.0, -1.0], &[0.0, 1.0, 1.0]), 1);
    }

    #[test]
    fn squared_error_is_the_mean_over_targets() {
        assert_eq!(squared_error(&[1.0, 2.0], &[3.0, 2.0]), 2.0);
    }
}
