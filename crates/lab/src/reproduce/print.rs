//! Tables enter, Markdown leaves; with what made them.

use std::path::Path;

use deepsade_data::Mean;
use serde::Serialize;

use super::table::{CaseTable, Entry, MethodRow, ScoreColumn};

/// The tables and what made them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tables {
    /// The command line.
    pub command: String,
    /// The day.
    pub date: String,
    /// The machine.
    pub hardware: String,
    /// The tables.
    pub tables: Vec<CaseTable>,
}

impl Tables {
    /// Markdown, columns aligned so that it can be read as it is.
    pub fn markdown(&self) -> String {
        let mut out = format!("`{}`, {}; {}.\n\n{LEGEND}\n", self.command, self.date, self.hardware);
        for table in &self.tables {
            out += &format!("\n### {}\n\n{}", table.title, grid(&table.head(), &table.body(true)));
            if !table.notes.is_empty() {
                out += "\n";
            }
            for note in &table.notes {
                out += &format!("- {note}\n");
            }
        }
        out
    }
}

/// What the columns mean.
pub(crate) const LEGEND: &str = "Mean ± standard deviation over the runs, on test rows whose label obeys the rules; constraint: predictions that \
obey the rules, of all test rows; AdI: share of rows with an input within 0.1 of them that breaks a rule (0 by proof where certified); \
seconds: of a training with its certificate, its processor time if it was measured; distinct: different predictions on the test rows (1 is a constant). The best mean of a \
column is bold. p: corrected resampled t-test (Nadeau and Bengio, test rows / training rows 2/7 for 5 folds) of the first score against the best method of the other kind, with or \
without a guarantee. After each number the paper's, where it has one.";

impl CaseTable {
    /// The headings.
    pub fn head(&self) -> Vec<String> {
        let mut head = vec!["method".to_string(), "runs".into()];
        for (k, column) in self.columns.iter().enumerate() {
            head.push(column.heading.clone());
            if self.has_paper(k) {
                head.push(if self.substitute { "paper (other data)" } else { "paper" }.into());
            }
        }
        head.extend(["certified".into(), "p (against)".into()]);
        head
    }

    /// The rows as text; with stars around what is best.
    pub fn body(&self, stars: bool) -> Vec<Vec<String>> {
        let row = |row: &MethodRow| {
            let mut cells = vec![row.method.clone(), row.runs.to_string()];
            for (k, (column, cell)) in self.columns.iter().zip(&row.cells).enumerate() {
                cells.push(ours(column, cell, stars));
                if self.has_paper(k) {
                    let text = |[mean, deviation]: [f64; 2]| number(column, mean, deviation);
                    cells.push(cell.paper.map_or_else(|| "–".into(), text));
                }
            }
            cells.push(row.certified.map_or_else(|| "–".into(), |(n, of)| format!("{n} of {of}")));
            cells.push(match (row.p, &row.against) {
                (Some(p), Some(against)) if p < 0.001 => format!("< 0.001 ({against})"),
                (Some(p), Some(against)) => format!("{p:.3} ({against})"),
                _ => "–".into(),
            });
            cells
        };
        self.rows.iter().map(row).collect()
    }

    fn has_paper(&self, column: usize) -> bool {
        self.rows.iter().any(|r| r.cells[column].paper.is_some())
    }
}

fn ours(column: &ScoreColumn, cell: &Entry, stars: bool) -> String {
    match cell.ours {
        Some(Mean { mean, deviation, .. }) if cell.best && stars => format!("**{}**", number(column, mean, deviation)),
        Some(Mean { mean, deviation, .. }) => number(column, mean, deviation),
        None => "–".into(),
    }
}

fn number(column: &ScoreColumn, mean: f64, deviation: f64) -> String {
    let digits = if mean.abs() >= 1000.0 { 0 } else { column.decimals };
    format!("{mean:.digits$} ± {deviation:.digits$}")
}

fn grid(head: &[String], rows: &[Vec<String>]) -> String {
    let width = |k: usize| rows.iter().map(|r| r[k].chars().count()).chain([head[k].chars().count()]).max().unwrap_or(0);
    let line = |cells: &[String]| {
        let padded = cells.iter().enumerate().map(|(k, c)| format!(" {c}{} ", " ".repeat(width(k) - c.chars().count())));
        format!("|{}|\n", padded.collect::<Vec<_>>().join("|"))
    };
    let rule = format!("|{}|\n", (0..head.len()).map(|k| "-".repeat(width(k) + 2)).collect::<Vec<_>>().join("|"));
    line(head) + &rule + &rows.iter().map(|r| line(r)).collect::<String>()
}

pub use deepsade_engine::summary::today;

/// The processor, its cores and the memory, as far as the system tells.
pub fn hardware() -> String {
    let read = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|l| l.starts_with(name))?.split_once(':')?.1.trim().to_string();
        (!line.is_empty()).then_some(line)
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let name = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    let memory = field(&read("/proc/meminfo"), "MemTotal").and_then(|m| m.trim_end_matches(" kB").parse::<f64>().ok());
    let memory = memory.map_or_else(String::new, |kb| format!(", {:.0} GB", kb / 1_048_576.0));
    format!("{name}, {cores} cores{memory}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_has_bold_and_the_papers_numbers() {
        let mean = |mean| Some(Mean { n: 25, mean, deviation: 0.5 });
        let columns = vec![
            ScoreColumn { name: "accuracy".into(), heading: "accuracy %".into(), more_is_better: Some(true), decimals: 2 },
            ScoreColumn { name: "seconds".into(), heading: "seconds".into(), more_is_better: Some(false), decimals: 2 },
        ];
        let cells = |accuracy, best, paper| {
            vec![Entry { ours: mean(accuracy), best, paper }, Entry { ours: None, best: false, paper: None }]
        };
        let row = |method: &str, cells| MethodRow {
            method: method.into(),
            runs: 25,
            cells,
            certified: None,
            p: Some(0.04),
            against: Some("x".into()),
        };
        let table = CaseTable {
            case: "uc2".into(),
            title: "Loans".into(),
            substitute: false,
            columns,
            rows: vec![row("a", cells(80.0, true, Some([79.5, 4.0]))), row("bcd", cells(7.0, false, None))],
            notes: vec!["a note".into()],
        };
        let text =
            Tables { command: "deepsade".into(), date: "today".into(), hardware: "here".into(), tables: vec![table] }.markdown();
        let lines: Vec<&str> = text.lines().filter(|l| l.starts_with('|')).collect();
        assert_eq!(lines[0], "| method | runs | accuracy %       | paper        | seconds | certified | p (against) |");
        assert_eq!(lines[2], "| a      | 25   | **80.00 ± 0.50** | 79.50 ± 4.00 | –       | –         | 0.040 (x)   |");
        assert_eq!(lines[3], "| bcd    | 25   | 7.00 ± 0.50      | –            | –       | –         | 0.040 (x)   |");
        assert!(text.contains("- a note\n"));
    }
}
