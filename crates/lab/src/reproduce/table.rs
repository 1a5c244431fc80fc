//! Finished runs enter; for each use case a table with the paper's columns leaves, ours and the paper's side by side.

use std::collections::BTreeMap;

use deepsade_data::{Mean, mean};
use deepsade_engine::train::StopReason;
use serde::Serialize;

use super::case::{UseCase, cases};
use super::method::Method;
use super::significance::p_value;
use crate::results::{Results, RunResult};

const PAPER: &str = include_str!("../../data/paper.toml");

/// One use case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseTable {
    /// Its name.
    pub case: String,
    /// What it is called.
    pub title: String,
    /// True if the paper's numbers are of other data.
    pub substitute: bool,
    /// The columns of numbers.
    pub columns: Vec<ScoreColumn>,
    /// One row a method.
    pub rows: Vec<MethodRow>,
    /// What else has to be said.
    pub notes: Vec<String>,
}

/// A column of numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreColumn {
    /// The name of the score in results.jsonl.
    pub name: String,
    /// Its heading.
    pub heading: String,
    /// Whether more is better; `None` if neither is.
    pub more_is_better: Option<bool>,
    /// Decimals to print.
    pub decimals: usize,
}

/// One method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodRow {
    /// Its name.
    pub method: String,
    /// Runs that are there.
    pub runs: usize,
    /// A number a column.
    pub cells: Vec<Entry>,
    /// Certified runs, of those that promise a certificate.
    pub certified: Option<(usize, usize)>,
    /// p of the difference in the first score to the best method of the other kind, with or without a guarantee.
    pub p: Option<f64>,
    /// That method.
    pub against: Option<String>,
}

/// A number of ours and the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Entry {
    /// Mean and standard deviation; `None` if no run has it.
    pub ours: Option<Mean>,
    /// Whether no other mean of the column is better.
    pub best: bool,
    /// The paper's mean and standard deviation.
    pub paper: Option<[f64; 2]>,
}

type PaperNumbers = BTreeMap<String, BTreeMap<String, BTreeMap<String, [f64; 2]>>>;

/// The tables of all use cases that have runs.
pub fn tables(results: &Results) -> Vec<CaseTable> {
    let paper: PaperNumbers = toml::from_str(PAPER).expect("data/paper.toml of this crate is well formed");
    let of = |case: &UseCase| {
        let methods: Vec<(Method, Vec<&RunResult>)> = Method::ALL
            .into_iter()
            .map(|method| (method, in_order(results.of(&case.name, method.name()))))
            .filter(|(_, runs)| !runs.is_empty())
            .collect();
        (!methods.is_empty()).then(|| table(case, &methods, paper.get(&case.name)))
    };
    cases(false).iter().filter_map(of).collect()
}

/// By repetition and fold: the order of the file depends on the number of jobs.
pub(super) fn in_order(mut runs: Vec<&RunResult>) -> Vec<&RunResult> {
    runs.sort_by_key(|r| (r.repeat, r.fold));
    runs
}

fn columns(case: &UseCase) -> Vec<ScoreColumn> {
    let column = |name: &str, heading: &str, more_is_better, decimals| ScoreColumn {
        name: name.into(),
        heading: heading.into(),
        more_is_better,
        decimals,
    };
    let mut columns = vec![column("constraint_accuracy", "constraint %", Some(true), 2), column("adi", "AdI", Some(false), 3)];
    for name in &case.scores {
        let heading = match name.as_str() {
            "mse" => "MSE".into(),
            other => format!("{other} %"),
        };
        columns.push(column(name, &heading, Some(name != "mse"), 2));
    }
    columns.push(column("seconds", "seconds", Some(false), 2));
    columns.push(column("distinct", "distinct", None, 0));
    columns
}

fn value(run: &RunResult, column: &str) -> Option<f64> {
    if column == "seconds" { run.cpu_seconds.or(run.seconds) } else { run.metric(column) }
}

fn table(
    case: &UseCase,
    methods: &[(Method, Vec<&RunResult>)],
    paper: Option<&BTreeMap<String, BTreeMap<String, [f64; 2]>>>,
) -> CaseTable {
    let columns = columns(case);
    let cell = |method: Method, runs: &[&RunResult], column: &ScoreColumn| Entry {
        ours: mean(&runs.iter().filter_map(|r| value(r, &column.name)).collect::<Vec<_>>()),
        best: false,
        paper: paper.and_then(|p| p.get(method.in_paper())?.get(&column.name).copied()),
    };
    let score = columns.iter().find(|c| c.name == case.scores[0]).expect("the first score is a column");
    let more = score.more_is_better == Some(true);
    let mut rows: Vec<MethodRow> = methods
        .iter()
        .map(|(method, runs)| {
            let others = methods.iter().filter(|(other, _)| other.guarantees() != method.guarantees());
            let scored = others.filter_map(|(other, theirs)| Some((other, theirs, cell(*other, theirs, score).ours?.mean)));
            let best = scored.max_by(|a, b| if more { a.2.total_cmp(&b.2) } else { b.2.total_cmp(&a.2) });
            let known: Vec<bool> = runs.iter().filter_map(|r| r.certified).collect();
            MethodRow {
                method: method.name().into(),
                runs: runs.len(),
                cells: columns.iter().map(|c| cell(*method, runs, c)).collect(),
                certified: (!known.is_empty()).then(|| (known.iter().filter(|c| **c).count(), known.len())),
                p: best.as_ref().and_then(|(_, theirs, _)| paired(runs, theirs, &score.name)),
                against: best.map(|(other, ..)| other.name().into()),
            }
        })
        .collect();
    for (k, column) in columns.iter().enumerate() {
        let Some(more) = column.more_is_better else { continue };
        let sign = if more { 1.0 } else { -1.0 };
        let best = rows.iter().filter_map(|r| Some(sign * r.cells[k].ours?.mean)).fold(f64::NEG_INFINITY, f64::max);
        for row in &mut rows {
            row.cells[k].best = row.cells[k].ours.is_some_and(|m| sign * m.mean >= best - 1e-9);
        }
    }
    let notes = methods.iter().flat_map(|(method, runs)| notes(case, *method, runs)).collect();
    CaseTable { case: case.name.clone(), title: case.title.clone(), substitute: case.substitute, columns, rows, notes }
}

/// The test on runs that both have.
fn paired(ours: &[&RunResult], theirs: &[&RunResult], score: &str) -> Option<f64> {
    let at = |r: &RunResult| (r.repeat, r.fold);
    let difference = |r: &&RunResult| Some(r.metric(score)? - theirs.iter().find(|t| at(t) == at(r))?.metric(score)?);
    let folds = ours.iter().filter_map(|r| r.fold).max()? as usize + 1;
    p_value(&ours.iter().filter_map(difference).collect::<Vec<_>>(), folds)
}

/// What the numbers of a method don't say by themselves.
fn notes(case: &UseCase, method: Method, runs: &[&RunResult]) -> Vec<String> {
    let mut notes = Vec::new();
    let average = |name: &str| mean(&runs.iter().filter_map(|r| r.metric(name)).collect::<Vec<_>>());
    if let (Some(rows), Some(undecided)) = (average("adi_rows"), average("adi_undecided"))
        && (rows.mean < case.rows as f64 || undecided.mean > 0.0)
    {
        notes.push(format!(
            "`{method}`: AdI around {:.0} of {} rows, of which {:.1} undecided.",
            rows.mean, case.rows, undecided.mean
        ));
    }
    let mut chosen: BTreeMap<String, usize> = BTreeMap::new();
    for run in runs.iter().filter(|r| !r.weights.is_empty()) {
        let weights = run.weights.iter().map(f64::to_string).collect::<Vec<_>>().join(" and ");
        *chosen.entry(weights).or_default() += 1;
    }
    if !chosen.is_empty() {
        let times = chosen.iter().map(|(w, n)| format!("{w} ({n})")).collect::<Vec<_>>().join(", ");
        let seconds = mean(&runs.iter().filter_map(|r| r.tuning_seconds).collect::<Vec<_>>()).map_or(0.0, |m| m.mean);
        notes
            .push(format!("`{method}`: weights chosen (runs): {times}; choosing took {seconds:.1} s a run, not in its seconds."));
    }
    let diverged = runs.iter().filter(|r| matches!(r.stop, Some(StopReason::Diverged { .. }))).count();
    if diverged > 0 {
        notes.push(format!(
            "`{method}`: {diverged} {} diverged; the network of the epoch before is scored.",
            if diverged == 1 { "run" } else { "runs" }
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(method: &str, fold: u64, accuracy: f64, certified: Option<bool>) -> RunResult {
        let metrics =
            [("accuracy", json!(accuracy)), ("adi", json!(0.25)), ("adi_rows", json!(492)), ("adi_undecided", json!(0))];
        RunResult {
            use_case: "uc2".into(),
            method: method.into(),
            repeat: Some(0),
            fold: Some(fold),
            metrics: metrics.map(|(k, v)| (k.to_string(), v)).into(),
            seconds: Some(1.0),
            certified,
            ..RunResult::default()
        }
    }

    /// deepsade is 2 better than ffn on each fold, and 1 worse than sl on average.
    #[test]
    fn best_is_marked_and_tested_against_the_other_kind() {
        let mut runs = Vec::new();
        for (fold, base) in [(1, 70.0), (0, 80.0), (2, 75.0)] {
            runs.push(run("ffn", fold, base, None));
            runs.push(run("deepsade", fold, base + 2.0, Some(fold != 2)));
            runs.push(run("sl", fold, base + 3.0 + (fold as f64 - 1.0), None));
        }
        let mut tables = tables(&Results { runs: runs.clone(), cut: false });
        assert_eq!(tables.len(), 1);
        let table = tables.remove(0);
        assert_eq!(table.rows.iter().map(|r| r.method.as_str()).collect::<Vec<_>>(), ["deepsade", "ffn", "sl"]);
        let at = table.columns.iter().position(|c| c.name == "accuracy").unwrap();
        assert_eq!(table.rows.iter().map(|r| r.cells[at].best).collect::<Vec<_>>(), [false, false, true]);
        assert_eq!(table.rows[0].certified, Some((2, 3)));
        assert_eq!(table.rows[0].cells[at].ours, mean(&[82.0, 72.0, 77.0]));
        assert_eq!(table.rows[0].cells[at].paper, Some([80.04, 4.29]));
        // Against sl the differences are -0, -1, -2.
        assert_eq!(table.rows[0].against.as_deref(), Some("sl"));
        let p = table.rows[0].p.unwrap();
        assert!((p - p_value(&[-0.0, -1.0, -2.0], 3).unwrap()).abs() < 1e-12 && p > 0.3, "{p}");
        // ffn is always 2 below deepsade: no chance.
        assert_eq!(table.rows[1].p, Some(0.0));
        // The order of the file does not matter.
        runs.reverse();
        assert_eq!(super::tables(&Results { runs, cut: false }), [table]);
    }

    #[test]
    fn numbers_of_the_paper_are_there_for_every_use_case() {
        let paper: PaperNumbers = toml::from_str(PAPER).unwrap();
        for case in cases(false) {
            let deepsade = &paper[&case.name]["deepsade"];
            assert!(case.scores.iter().chain(&["seconds".to_string()]).all(|s| deepsade.contains_key(s)), "{}", case.name);
        }
    }
}
