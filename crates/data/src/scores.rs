//! Predictions, probabilities and truth of some rows enter; the scores by which a model is judged leave, as other tools define them.
//!
//! Shares are numbers from 0 to 1, and every row with a prediction counts, whether or not its label obeys the rules. What can't be told
//! (an AUC of rows of one class) is not a number, and `null` in JSON. Each scorer takes a weight for every row: the bootstrap draws rows by
//! giving them whole weights.

mod binary;
mod bootstrap;
mod classes;
mod labels;
mod numbers;
mod rank;
mod segments;

use std::collections::BTreeMap;

use deepsade_net::Matrix;
use deepsade_output::predict::{predicted_class, predicted_label};
use deepsade_spec::Task;
use serde_json::{Map, Value, json};

pub use segments::{Segment, segments};

use bootstrap::intervals;

/// Numbers by name.
pub(crate) type Scalars = BTreeMap<&'static str, f64>;

/// What scores are computed from.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// What is predicted.
    pub task: &'a Task,
    /// What the model gives for each row; not a number throughout where it gives nothing.
    pub outputs: &'a Matrix,
    /// The probability of each class, label or place; nothing for numbers.
    pub probabilities: Option<&'a [Vec<f64>]>,
    /// The truth, as [`crate::Dataset::y`] has it.
    pub truth: &'a Matrix,
    /// What each row counts in the numbers; tables and curves count rows.
    pub weight: &'a [f32],
    /// The probability of the second of two classes from which on it is predicted.
    pub cutoff: f64,
}

/// A scorer of prepared rows.
pub(crate) trait Scorer {
    /// Numbers, each row counted with its weight.
    fn scalars(&self, weight: &[f64]) -> Scalars;

    /// What is no single number: tables and curves.
    fn details(&self) -> Map<String, Value>;
}

impl Judged<'_> {
    /// All scores as JSON: plain names, tables, and each segment's own. With a seed, 95 % intervals of the numbers as well.
    pub fn scores(&self, segments: &[Segment], seed: Option<u64>) -> Value {
        let rows: Vec<usize> = (0..self.outputs.rows).filter(|r| self.outputs.row(*r).iter().all(|v| !v.is_nan())).collect();
        let mut out = Map::new();
        out.insert("rows".into(), json!(rows.len()));
        out.insert("rows_without_prediction".into(), json!(self.outputs.rows - rows.len()));
        if rows.is_empty() {
            return Value::Object(out);
        }
        let scorer = self.scorer(&rows);
        out.extend(scorer.scalars(&self.weights(&rows)).into_iter().map(|(name, v)| (name.to_owned(), json!(v))));
        if let Some(seed) = seed {
            out.insert("intervals".into(), intervals(&*scorer, &self.weights(&rows), seed));
        }
        out.extend(scorer.details());
        if !segments.is_empty() {
            let each = |s: &Segment| json!({"column": s.column, "parts": self.parts(s, &rows)});
            out.insert("segments".into(), segments.iter().map(each).collect());
        }
        Value::Object(out)
    }

    /// One of the numbers, of rows that all have a prediction; not a number if the task has no such score.
    pub fn number(&self, name: &str) -> f64 {
        let rows: Vec<usize> = (0..self.outputs.rows).collect();
        self.scorer(&rows).scalars(&self.weights(&rows)).get(name).copied().unwrap_or(f64::NAN)
    }

    fn weights(&self, rows: &[usize]) -> Vec<f64> {
        rows.iter().map(|r| f64::from(self.weight[*r])).collect()
    }

    fn scorer(&self, rows: &[usize]) -> Box<dyn Scorer> {
        let probabilities = |r: usize| self.probabilities.map(|p| p[r].as_slice()).unwrap_or_default();
        match self.task {
            Task::Regression { targets, .. } => Box::new(numbers::NumberScores::new(targets, self.outputs, self.truth, rows)),
            Task::Binary { classes, .. } => {
                let row = |r: &usize| binary::BinaryRow {
                    p: probabilities(*r).get(1).copied().unwrap_or(f64::NAN),
                    predicted: predicted_class(self.outputs.row(*r)) == 1,
                    truth: predicted_class(self.truth.row(*r)) == 1,
                };
                Box::new(binary::Binary::new(classes, self.cutoff, rows.iter().map(row).collect()))
            }
            Task::Multiclass { classes, .. } => {
                let row = |r: &usize| classes::ClassRow {
                    p: probabilities(*r).to_vec(),
                    predicted: predicted_class(self.outputs.row(*r)),
                    truth: predicted_class(self.truth.row(*r)),
                };
                Box::new(classes::Classes::new(classes, rows.iter().map(row).collect()))
            }
            Task::Multilabel { .. } | Task::Ranking { .. } => {
                let row = |r: &usize| labels::LabelRow {
                    p: probabilities(*r).to_vec(),
                    predicted: self.outputs.row(*r).iter().map(|v| predicted_label(*v)).collect(),
                    truth: self.truth.row(*r).iter().map(|v| *v > 0.5).collect(),
                };
                Box::new(labels::LabelScores::new(rows.iter().map(row).collect()))
            }
        }
    }

    /// The scores of each part of a segment, the rates of what is predicted first.
    fn parts(&self, segment: &Segment, rows: &[usize]) -> Value {
        let part = |(k, name): (usize, &String)| {
            let own: Vec<usize> = rows.iter().copied().filter(|r| segment.part[*r] == k).collect();
            let mut out = Map::new();
            out.insert("value".into(), json!(name));
            out.insert("rows".into(), json!(own.len()));
            if !own.is_empty() {
                let scorer = self.scorer(&own);
                out.extend(scorer.scalars(&self.weights(&own)).into_iter().map(|(name, v)| (name.to_owned(), json!(v))));
                if let Some(classes) = self.task.classes() {
                    let share = |c: usize| {
                        let chosen = own.iter().filter(|r| predicted_class(self.outputs.row(**r)) == c).count();
                        json!(chosen as f64 / own.len() as f64)
                    };
                    let shares: Map<String, Value> =
                        classes.iter().enumerate().map(|(c, name)| (name.clone(), share(c))).collect();
                    out.insert("predicted".into(), Value::Object(shares));
                }
            }
            Value::Object(out)
        };
        segment.names.iter().enumerate().map(part).collect()
    }
}

/// A share, not a number of nothing.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { f64::NAN }
}

#[cfg(test)]
mod tests;
