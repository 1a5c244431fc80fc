//! A finished training enters; what it says of itself leaves: the summary.json of its folder, and scores in words.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use deepsade_check::Verdict;
use deepsade_data::{Metrics, score_shown};
use serde::Serialize;
use serde_json::{Value, json};

use crate::choose::Cost;
use crate::enforce::EnforcedBy;
use crate::fit::Fitted;
use crate::pace::Pace;
use crate::train::{EpochRecord, PaperSteps};
use crate::verdict;

static PROGRAM: OnceLock<String> = OnceLock::new();

/// Which program trains, with the commit that it was built from where that is known; said once, at its start.
pub fn set_program(version: &str) {
    let _ = PROGRAM.set(version.into());
}

/// The version that was said, or that of this crate.
pub fn program() -> &'static str {
    PROGRAM.get().map_or(env!("CARGO_PKG_VERSION"), String::as_str)
}

/// The date, in UTC.
pub fn today() -> String {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

/// Where the seconds went.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Timings {
    /// Reading and encoding the data, and deciding where to enforce the rules.
    pub read: f64,
    /// Training, the rules enforced at every step.
    pub train: f64,
    /// Making the certificate.
    pub certify: f64,
    /// Checking what is written.
    pub check: f64,
    /// How long the model runs, where an output step is part of it.
    pub run: Option<Pace>,
}

/// Everything about a training; `model` is where its model is, if it is anywhere but in memory.
pub fn summary(
    fitted: &Fitted,
    cost: Option<&Cost>,
    verdict: Option<&Verdict>,
    timings: Timings,
    seed: u64,
    model: Option<&Path>,
) -> Value {
    let Fitted { trained, train, validation, test, gate, .. } = fitted;
    let accepted = verdict.and_then(verdict::accepted);
    let margins: BTreeMap<&str, f64> = accepted.iter().flat_map(|a| &a.rules).map(|r| (r.name.as_str(), r.margin)).collect();
    json!({
        "model": model,
        "seconds": timings.train + timings.certify,
        "timings": timings,
        "epochs": trained.records.len(),
        "best_epoch": trained.best_epoch,
        "stopped": trained.stop.to_string(),
        "seed": seed,
        "train": numbers(train),
        "validation": numbers(validation),
        "test": numbers(&test.metrics),
        "certified": accepted.is_some(),
        "arithmetic": accepted.map(|a| a.arithmetic.name()),
        "margins": margins,
        "enforce": fitted.means.name(),
        "enforced_by": fitted.means.name(),
        "cost": cost,
        "distinct": cost.map(|c| c.distinct),
        "fallbacks": cost.map(|c| c.fallbacks),
        "enforce_why": fitted.why,
        "decode": fitted.made.as_ref().map(|_| verdict::IN_GRAPH),
        "made": fitted.made,
        "loss": match &fitted.means {
            EnforcedBy::Decode(decoder) if decoder.nodes().is_none() => "surrogate",
            _ => "exact",
        },
        "left_out": fitted.left_out,
        "members": fitted.members,
        "gate": gate,
        "enforced": trained.guard.as_ref().map(|(_, _, enforced)| enforced),
        "paper": paper_steps(&trained.records).map(|steps| json!({
            "line_search": steps.line_search,
            "maxsmt_optimal": steps.optimal,
            "maxsmt_feasible": steps.feasible,
            "maxsmt_infeasible": steps.infeasible,
            "maxsmt_unknown": steps.unknown,
            "restarts": steps.restarts(),
            "renewed": steps.renewed,
        })),
        "verdict": verdict.map(verdict::in_words),
        "warnings": fitted.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// How the paper's update found its last layers, over all epochs.
pub fn paper_steps(records: &[EpochRecord]) -> Option<PaperSteps> {
    records.iter().filter_map(|record| record.paper).reduce(PaperSteps::and)
}

/// Counts as whole numbers, scores as they are.
pub fn numbers(metrics: &Metrics) -> Value {
    let number =
        |(name, v): (&String, &f64)| (name.clone(), if deepsade_data::counts_rows(name) { json!(*v as u64) } else { json!(v) });
    Value::Object(metrics.iter().map(number).collect())
}

/// The scores that a task has, for people.
pub fn scores(metrics: &Metrics) -> String {
    let shown = |name: &&str| metrics.get(*name).map(|v| format!("{name} {}", score_shown(*v, 3)));
    ["mse", "accuracy", "coherent", "flattened", "jaccard"].iter().filter_map(shown).collect::<Vec<_>>().join(", ")
}

/// The scores of the test rows by which other tools judge, with their intervals, for people; nothing where there are none.
pub fn judged(scores: &Value) -> Option<String> {
    let test = &scores["test"];
    let shown = |(key, name): &(&str, &str)| {
        let value = test[key].as_f64()?;
        let ends = &test["intervals"][key];
        let interval = match (ends[0].as_f64(), ends[1].as_f64()) {
            (Some(lo), Some(hi)) => format!(" ({} to {})", score_shown(lo, 3), score_shown(hi, 3)),
            _ => String::new(),
        };
        Some(format!("{name} {}{interval}", score_shown(value, 3)))
    };
    let told = [
        ("accuracy", "accuracy"),
        ("auc", "AUC"),
        ("auc_macro", "macro AUC"),
        ("ks", "KS"),
        ("log_loss", "log-loss"),
        ("exact_match", "exact matches"),
        ("f1_micro", "micro F1"),
        ("auprc_macro", "macro AUPRC"),
        ("mae", "MAE"),
        ("r2", "R2"),
    ];
    let found: Vec<String> = told.iter().filter_map(shown).collect();
    (!found.is_empty()).then(|| format!("All {} test rows, with 95 % intervals: {}.", test["rows"], found.join(", ")))
}
