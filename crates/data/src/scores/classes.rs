//! Rows of several classes enter; accuracy, macro AUC of each class against the rest, log-loss, Brier score and confusion leave.

use serde_json::{Map, Value, json};

use super::rank::{Ranked, auc_and_ks, order};
use super::{Scalars, Scorer, share};

#[derive(Debug, Clone)]
pub(super) struct ClassRow {
    pub(super) p: Vec<f64>,
    pub(super) predicted: usize,
    pub(super) truth: usize,
}

pub(super) struct Classes {
    names: Vec<String>,
    rows: Vec<ClassRow>,
    /// For each class the places of the rows by its probability, and which rows are of it.
    ranked: Vec<Ranked>,
}

impl Classes {
    pub(super) fn new(names: &[String], rows: Vec<ClassRow>) -> Self {
        let p = |r: &ClassRow, c: usize| r.p.get(c).copied().unwrap_or(f64::NAN);
        let class = |c: usize| (order(rows.iter().map(|r| p(r, c))), rows.iter().map(|r| r.truth == c).collect());
        let ranked = (0..names.len()).map(class).collect();
        Self { names: names.to_vec(), rows, ranked }
    }

    fn recall(&self, c: usize, weight: &[f64]) -> f64 {
        let of = |right: bool| {
            let counted = |(r, w): (&ClassRow, &f64)| if r.truth == c && (!right || r.predicted == c) { *w } else { 0.0 };
            self.rows.iter().zip(weight).map(counted).sum()
        };
        share(of(true), of(false))
    }
}

/// The mean of what is a number.
fn mean_of(values: impl Iterator<Item = f64>) -> f64 {
    let known: Vec<f64> = values.filter(|v| !v.is_nan()).collect();
    share(known.iter().sum(), known.len() as f64)
}

impl Scorer for Classes {
    fn scalars(&self, weight: &[f64]) -> Scalars {
        let total: f64 = weight.iter().sum();
        let mean = |of: &dyn Fn(&ClassRow) -> f64| share(self.rows.iter().zip(weight).map(|(r, w)| w * of(r)).sum(), total);
        let brier = |r: &ClassRow| r.p.iter().enumerate().map(|(c, p)| (p - f64::from(c == r.truth)).powi(2)).sum();
        let chance = |r: &ClassRow| r.p.get(r.truth).copied().unwrap_or(f64::NAN).clamp(f64::EPSILON, 1.0);
        Scalars::from([
            ("accuracy", mean(&|r| f64::from(r.predicted == r.truth))),
            ("balanced_accuracy", mean_of((0..self.names.len()).map(|c| self.recall(c, weight)))),
            ("auc_macro", mean_of(self.ranked.iter().map(|(order, marked)| auc_and_ks(order, marked, weight).0))),
            ("log_loss", mean(&|r| -chance(r).ln())),
            ("brier", mean(&brier)),
        ])
    }

    fn details(&self) -> Map<String, Value> {
        let weight = vec![1.0; self.rows.len()];
        let mut confusion = vec![vec![0u64; self.names.len()]; self.names.len()];
        self.rows.iter().for_each(|r| confusion[r.truth][r.predicted] += 1);
        let auc = |(name, (order, marked)): (&String, &Ranked)| (name.clone(), json!(auc_and_ks(order, marked, &weight).0));
        let each: Map<String, Value> = self.names.iter().zip(&self.ranked).map(auc).collect();
        Map::from_iter([
            ("classes".into(), json!(self.names)),
            ("confusion".into(), json!(confusion)),
            ("auc_each".into(), Value::Object(each)),
        ])
    }
}
