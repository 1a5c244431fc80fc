//! The runs of an experiment enter, a page of tables and figures leaves.

use std::path::Path;

use super::html::{Html, escape, number};
use super::run::RunFolder;
use crate::figure::{Sample, compare};
use crate::reproduce::experiment::SWEEP;
use crate::reproduce::figures::{self, Figure};
use crate::reproduce::print::LEGEND;
use crate::reproduce::runner::MODELS;
use crate::reproduce::table::{CaseTable, tables};
use deepsade_data::mean;

use crate::results::{Results, RunResult};

/// Makes the page.
pub(crate) fn page(dir: &Path, results: &Results) -> String {
    let mut html = Html::new();
    if results.cut {
        html.raw(
            "<div class=\"badge warn\"><strong>The last line is cut off</strong>A run was being written; it is left out.</div>",
        );
    }
    html.section("results", "Results");
    if results.runs.is_empty() {
        html.paragraph("No run has finished yet.");
    }
    let (known, drawn) = (tables(results), pictures(dir));
    if let Some(made) = made_by(dir) {
        html.paragraph(&made);
    }
    html.paragraph(if known.is_empty() {
        "Mean ± standard deviation over the runs of each method. A score that a run does not have is left out of its mean."
    } else {
        LEGEND
    });
    // Runs that were made for a figure alone have no table.
    for use_case in results.use_cases().into_iter().filter(|name| !name.ends_with(SWEEP)) {
        let beside_paper = known.iter().find(|t| t.case == use_case);
        let title = beside_paper.map_or(if use_case.is_empty() { "(use case not named)" } else { use_case }, |t| &t.title);
        html.raw(&format!("<h3>{}</h3>\n", escape(title)));
        match beside_paper {
            Some(table) => {
                with_paper(&mut html, table);
                models(&mut html, dir, table);
            }
            None => table(&mut html, results, use_case),
        }
        let own: Vec<_> = drawn.iter().filter(|(figure, _)| figure.name.split('-').next() == Some(use_case)).collect();
        own.iter().for_each(|(figure, svg)| html.picture(svg, &figure.caption));
        for name in results.metrics(use_case).into_iter().filter(|_| own.is_empty()) {
            let samples: Vec<Sample> = results
                .methods(use_case)
                .into_iter()
                .map(|method| Sample {
                    name: method.into(),
                    values: results.of(use_case, method).into_iter().filter_map(|r| r.metric(name)).collect(),
                })
                .filter(|s| !s.values.is_empty())
                .collect();
            if main_score(name) && !samples.is_empty() {
                html.figure(&compare(name, &samples), &format!("{name} on {use_case}: every dot is a run, the bar is the mean."));
            }
        }
    }
    let name = super::run::title(dir);
    let kind = format!("Experiment, {} finished runs", results.runs.len());
    html.finish(&name, &kind, "")
}

/// The command, the day and the machine that `deepsade reproduce` wrote down.
fn made_by(dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(dir.join("tables.json")).ok()?;
    let tables: serde_json::Value = serde_json::from_str(&text).ok()?;
    let part = |name: &str| tables[name].as_str().map(str::to_string);
    Some(format!("Made by {}, {}; {}.", part("command")?, part("date")?, part("hardware")?))
}

/// The rules of a use case, and what the checker says now of the models that its first runs left.
fn models(html: &mut Html, dir: &Path, table: &CaseTable) {
    let read = |method: &str| {
        let name = format!("{}-{method}", table.case);
        RunFolder::read(&dir.join(MODELS).join(&name), None).ok().map(|folder| (name, folder))
    };
    let found: Vec<(String, RunFolder)> = table.rows.iter().filter_map(|row| read(&row.method)).collect();
    let Some(spec) = found.iter().find_map(|(_, folder)| folder.spec.as_ref()) else { return };
    let rules = spec.rules.iter().map(|r| format!("<li><code>{}</code></li>", escape(&r.text))).collect::<String>();
    html.raw(&format!("<p>The rules:</p><ul>{rules}</ul>\n"));
    let row = |(name, folder): &(String, RunFolder)| {
        vec![format!("models/{name}"), folder.proof.in_words(spec.count()), folder.sha256.clone()]
    };
    html.table(
        &["first run's model", "the checker, just now", "SHA-256 of model.onnx"],
        &found.iter().map(row).collect::<Vec<_>>(),
    );
}

/// The table of a use case of the paper, its numbers beside ours.
fn with_paper(html: &mut Html, table: &CaseTable) {
    let head = table.head();
    html.table(&head.iter().map(String::as_str).collect::<Vec<_>>(), &table.body(true));
    table.notes.iter().for_each(|note| html.paragraph(note));
    if table.rows.iter().any(|r| r.p.is_some()) {
        html.paragraph(
            "p: corrected resampled t-test of the first score against the best method of the other kind, with or without a guarantee.",
        );
    }
}

/// The figures that `deepsade reproduce` left, each with its drawing.
fn pictures(dir: &Path) -> Vec<(Figure, String)> {
    let folder = dir.join(figures::FIGURES);
    // A name that leads elsewhere is no figure's.
    let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let drawn = |f: Figure| std::fs::read_to_string(folder.join(format!("{}.svg", f.name))).ok().map(|svg| (f, svg));
    figures::listed(&folder).into_iter().filter(|f| plain(&f.name)).filter_map(drawn).collect()
}

/// Scores worth a picture: the task's own, on rows whose label obeys the rules.
fn main_score(name: &str) -> bool {
    ["mse", "accuracy", "coherent", "constraint_accuracy", "adi"].contains(&name.to_lowercase().as_str())
}

fn table(html: &mut Html, results: &Results, use_case: &str) {
    let metrics = results.metrics(use_case);
    let mut head = vec!["method", "runs"];
    head.extend(&metrics);
    head.extend(["seconds", "certified"]);
    let shown = |values: Vec<f64>| match mean(&values) {
        Some(m) if m.n > 1 => {
            let mean = number(m.mean);
            // As many decimals as the mean has.
            let digits = mean.split_once('.').filter(|_| !mean.contains('e')).map_or(0, |(_, d)| d.len());
            format!("{mean} ± {:.digits$}", m.deviation)
        }
        Some(m) => number(m.mean),
        None => "–".into(),
    };
    let row = |method: &str| {
        let runs: Vec<&RunResult> = results.of(use_case, method);
        let mut row = vec![method.to_string(), runs.len().to_string()];
        row.extend(metrics.iter().map(|name| shown(runs.iter().filter_map(|r| r.metric(name)).collect())));
        row.push(shown(runs.iter().filter_map(|r| r.seconds).collect()));
        let known: Vec<bool> = runs.iter().filter_map(|r| r.certified).collect();
        row.push(if known.is_empty() {
            "–".into()
        } else {
            format!("{} of {}", known.iter().filter(|c| **c).count(), known.len())
        });
        row
    };
    let rows: Vec<Vec<String>> = results.methods(use_case).into_iter().map(row).collect();
    html.table(&head, &rows);
}
