//! Rows of two classes enter; accuracy, AUC, Gini, KS, log-loss, Brier score, rates, confusion and calibration leave.

use serde_json::{Map, Value, json};

use super::rank::{auc_and_ks, order};
use super::{Scalars, Scorer, share};

/// Bins of the calibration curve, of equal width.
const BINS: usize = 10;

/// One row, of which the second class is the one asked about.
#[derive(Debug, Clone, Copy)]
pub(super) struct BinaryRow {
    pub(super) p: f64,
    pub(super) predicted: bool,
    pub(super) truth: bool,
}

pub(super) struct Binary {
    classes: Vec<String>,
    cutoff: f64,
    rows: Vec<BinaryRow>,
    truth: Vec<bool>,
    order: Vec<(usize, f64)>,
}

/// Weights of rows by what was predicted and what is true.
#[derive(Debug, Clone, Copy, Default)]
struct Confusion {
    true_negative: f64,
    false_positive: f64,
    false_negative: f64,
    true_positive: f64,
}

impl Binary {
    pub(super) fn new(classes: &[String], cutoff: f64, rows: Vec<BinaryRow>) -> Self {
        let truth = rows.iter().map(|r| r.truth).collect();
        Self { classes: classes.to_vec(), cutoff, truth, order: order(rows.iter().map(|r| r.p)), rows }
    }

    fn confusion(&self, weight: &[f64]) -> Confusion {
        let mut c = Confusion::default();
        for (row, w) in self.rows.iter().zip(weight) {
            let place = match (row.truth, row.predicted) {
                (false, false) => &mut c.true_negative,
                (false, true) => &mut c.false_positive,
                (true, false) => &mut c.false_negative,
                (true, true) => &mut c.true_positive,
            };
            *place += w;
        }
        c
    }

    /// The bins that hold rows: from, to, rows, mean probability, share of the second class.
    fn calibration(&self) -> Vec<Value> {
        let mut bins = vec![(0usize, 0.0, 0usize); BINS];
        for row in self.rows.iter().filter(|r| r.p.is_finite()) {
            let bin = &mut bins[((row.p * BINS as f64) as usize).min(BINS - 1)];
            *bin = (bin.0 + 1, bin.1 + row.p, bin.2 + usize::from(row.truth));
        }
        let told = |(k, (rows, sum, yes)): (usize, &(usize, f64, usize))| {
            let (from, to) = (k as f64 / BINS as f64, (k + 1) as f64 / BINS as f64);
            json!({"from": from, "to": to, "rows": rows, "mean_probability": sum / *rows as f64, "share_observed": *yes as f64 / *rows as f64})
        };
        bins.iter().enumerate().filter(|(_, bin)| bin.0 > 0).map(told).collect()
    }
}

impl Scorer for Binary {
    fn scalars(&self, weight: &[f64]) -> Scalars {
        let total: f64 = weight.iter().sum();
        let Confusion { true_negative: tn, false_positive: fp, false_negative: fne, true_positive: tp } = self.confusion(weight);
        let mean = |of: &dyn Fn(&BinaryRow) -> f64| share(self.rows.iter().zip(weight).map(|(r, w)| w * of(r)).sum(), total);
        let (auc, ks) = auc_and_ks(&self.order, &self.truth, weight);
        let (recall, specificity) = (share(tp, tp + fne), share(tn, tn + fp));
        let chance = |r: &BinaryRow| if r.truth { r.p } else { 1.0 - r.p };
        Scalars::from([
            ("accuracy", share(tn + tp, total)),
            ("balanced_accuracy", f64::midpoint(recall, specificity)),
            ("auc", auc),
            ("gini", 2.0 * auc - 1.0),
            ("ks", ks),
            ("log_loss", mean(&|r| -chance(r).clamp(f64::EPSILON, 1.0).ln())),
            ("brier", mean(&|r| (r.p - f64::from(r.truth)).powi(2))),
            ("precision", share(tp, tp + fp)),
            ("recall", recall),
            ("specificity", specificity),
            ("true_positive_rate", recall),
            ("false_positive_rate", share(fp, tn + fp)),
            ("f1", share(2.0 * tp, 2.0 * tp + fp + fne)),
            ("share_predicted", share(tp + fp, total)),
            ("share_observed", share(tp + fne, total)),
            ("mean_probability", mean(&|r| r.p)),
        ])
    }

    fn details(&self) -> Map<String, Value> {
        let count = |v: f64| json!(v as u64);
        let c = self.confusion(&vec![1.0; self.rows.len()]);
        let confusion = json!({
            "true_negative": count(c.true_negative), "false_positive": count(c.false_positive),
            "false_negative": count(c.false_negative), "true_positive": count(c.true_positive),
        });
        let bins = self.calibration();
        let apart = |b: &Value| {
            let of = |name: &str| b[name].as_f64().unwrap_or_default();
            of("rows") * (of("mean_probability") - of("share_observed")).abs()
        };
        let error = bins.iter().map(apart).sum::<f64>() / self.rows.len() as f64;
        Map::from_iter([
            ("positive".into(), json!(self.classes[1])),
            ("negative".into(), json!(self.classes[0])),
            ("cutoff".into(), json!(self.cutoff)),
            ("confusion".into(), confusion),
            ("calibration_error".into(), json!(error)),
            ("calibration".into(), Value::Array(bins)),
        ])
    }
}
