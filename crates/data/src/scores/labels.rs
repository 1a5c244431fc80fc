//! Rows of label sets enter; exact matches, micro and macro F1 and areas under precision and recall leave.

use serde_json::{Map, Value};

use super::rank::{Ranked, average_precision, order};
use super::{Scalars, Scorer, share};

#[derive(Debug, Clone)]
pub(super) struct LabelRow {
    pub(super) p: Vec<f64>,
    pub(super) predicted: Vec<bool>,
    pub(super) truth: Vec<bool>,
}

pub(super) struct LabelScores {
    rows: Vec<LabelRow>,
    width: usize,
    /// For each label the places of the rows by its probability, and which rows have it.
    ranked: Vec<Ranked>,
    /// The same of all labels of all rows, row after row.
    pooled: Ranked,
}

impl LabelScores {
    pub(super) fn new(rows: Vec<LabelRow>) -> Self {
        let width = rows.first().map_or(0, |r| r.truth.len());
        let p = |r: &LabelRow, j: usize| r.p.get(j).copied().unwrap_or(f64::NAN);
        let label = |j: usize| (order(rows.iter().map(|r| p(r, j))), rows.iter().map(|r| r.truth[j]).collect());
        let ranked = (0..width).map(label).collect();
        let all = || rows.iter().flat_map(|r| (0..width).map(move |j| (r, j)));
        let pooled = (order(all().map(|(r, j)| p(r, j))), all().map(|(r, j)| r.truth[j]).collect());
        Self { rows, width, ranked, pooled }
    }

    /// Weights of true positives, and of all positives of both kinds, of a label.
    fn counts(&self, j: usize, weight: &[f64]) -> (f64, f64) {
        self.rows.iter().zip(weight).fold((0.0, 0.0), |(both, either), (r, w)| {
            let (a, b) = (f64::from(r.predicted[j]), f64::from(r.truth[j]));
            (both + w * a * b, either + w * (a + b))
        })
    }
}

impl Scorer for LabelScores {
    fn scalars(&self, weight: &[f64]) -> Scalars {
        let total: f64 = weight.iter().sum();
        let each: Vec<(f64, f64)> = (0..self.width).map(|j| self.counts(j, weight)).collect();
        let (both, either) = each.iter().fold((0.0, 0.0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
        // A label that is neither predicted nor true anywhere counts as missed, as in scikit-learn.
        let f1 = |(both, either): &(f64, f64)| if *either > 0.0 { 2.0 * both / either } else { 0.0 };
        let known: Vec<f64> =
            self.ranked.iter().map(|(order, marked)| average_precision(order, marked, weight)).filter(|v| !v.is_nan()).collect();
        let each_weight: Vec<f64> = weight.iter().flat_map(|w| std::iter::repeat_n(*w, self.width)).collect();
        let exact = self.rows.iter().zip(weight).map(|(r, w)| w * f64::from(r.predicted == r.truth)).sum();
        Scalars::from([
            ("exact_match", share(exact, total)),
            ("f1_micro", share(2.0 * both, either)),
            ("f1_macro", share(each.iter().map(f1).sum(), self.width as f64)),
            ("auprc_micro", average_precision(&self.pooled.0, &self.pooled.1, &each_weight)),
            ("auprc_macro", share(known.iter().sum(), known.len() as f64)),
        ])
    }

    fn details(&self) -> Map<String, Value> {
        Map::new()
    }
}
