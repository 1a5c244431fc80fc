//! results.jsonl of an experiment enters, its runs and their means leave.
//!
//! One JSON object a finished run: `use_case`, `method`, `repeat`, `fold`, `metrics` (numbers by name), `seconds`, `certified` and more. Fields
//! that are not there are not known; fields that are not listed play no part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use deepsade_engine::train::StopReason;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// The file's name in an experiment's folder.
pub const FILE: &str = "results.jsonl";

/// One finished run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunResult {
    /// Which problem.
    pub use_case: String,
    /// Which method.
    pub method: String,
    /// Which repetition, from 0.
    pub repeat: Option<u64>,
    /// Which fold, from 0.
    pub fold: Option<u64>,
    /// Scores; those that are no numbers, such as null, are not known.
    pub metrics: BTreeMap<String, Value>,
    /// Seconds of training, by the clock.
    pub seconds: Option<f64>,
    /// Seconds of training that its thread was at work, where the system tells: what else the machine does is not in them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
    /// Whether a certificate was accepted.
    pub certified: Option<bool>,
    /// Weights of the penalty that it was trained with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
    /// Seconds in which they were chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning_seconds: Option<f64>,
    /// Epochs that were run.
    pub epochs: Option<u64>,
    /// Why no more were, in words.
    pub stopped: Option<String>,
    /// The same as data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopReason>,
    /// What decided its initial weights and the order of its rows.
    pub seed: Option<u64>,
}

/// The runs of an experiment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results {
    /// In the order of the file.
    pub runs: Vec<RunResult>,
    /// True if the last line was cut off, as a killed program leaves it.
    pub cut: bool,
}

/// Why runs can't be read.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// The file can't be read.
    #[error("can't read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is no run.
    #[error("{}, line {line}: expected one JSON object a run: {source}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
}

/// Reads the runs.
///
/// ```
/// use deepsade_data::mean;
/// use deepsade_lab::results::read;
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("results.jsonl");
/// let run = |mse: f64| format!("{{\"use_case\": \"uc1\", \"method\": \"ffn\", \"metrics\": {{\"mse\": {mse}}}}}\n");
/// std::fs::write(&file, run(1.0) + &run(3.0))?;
/// let results = read(&file)?;
/// let scores: Vec<f64> = results.of("uc1", "ffn").iter().filter_map(|run| run.metric("mse")).collect();
/// assert_eq!(mean(&scores).unwrap().mean, 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path) -> Result<Results, ResultsError> {
    let text = std::fs::read_to_string(path).map_err(|source| ResultsError::Unreadable { path: path.into(), source })?;
    let mut results = Results::default();
    let lines: Vec<(usize, &str)> = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).collect();
    for (at, (k, line)) in lines.iter().enumerate() {
        match serde_json::from_str(line) {
            Ok(run) => results.runs.push(run),
            Err(_) if at + 1 == lines.len() && !text.ends_with('\n') => results.cut = true,
            Err(source) => return Err(ResultsError::Line { path: path.into(), line: k + 1, source }),
        }
    }
    Ok(results)
}

impl RunResult {
    /// A score, if it is a number.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).and_then(Value::as_f64)
    }
}

impl Results {
    /// The use cases, in the order in which they first occur.
    pub fn use_cases(&self) -> Vec<&str> {
        first_seen(self.runs.iter().map(|r| r.use_case.as_str()))
    }

    /// The methods of a use case, in the order in which they first occur.
    pub fn methods(&self, use_case: &str) -> Vec<&str> {
        first_seen(self.runs.iter().filter(|r| r.use_case == use_case).map(|r| r.method.as_str()))
    }

    /// The runs of one method on one use case.
    pub fn of(&self, use_case: &str, method: &str) -> Vec<&RunResult> {
        self.runs.iter().filter(|r| r.use_case == use_case && r.method == method).collect()
    }

    /// The names of all scores of a use case.
    pub fn metrics(&self, use_case: &str) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.runs.iter().filter(|r| r.use_case == use_case).flat_map(|r| r.metrics.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn first_seen<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Result<Results, ResultsError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn missing_and_unknown_fields_are_no_trouble() {
        let results = file("{\"method\": \"ffn\", \"metrics\": {\"mse\": 2.5, \"adi\": null}, \"host\": \"x\"}\n\n{}\n").unwrap();
        assert_eq!(results.runs.len(), 2);
        assert_eq!(
            (results.runs[0].metric("mse"), results.runs[0].metric("adi"), results.runs[0].metric("none")),
            (Some(2.5), None, None)
        );
        assert_eq!(results.methods(""), ["ffn", ""]);
    }

    #[test]
    fn a_cut_last_line_is_left_out_and_a_broken_one_is_named() {
        let cut = file("{\"method\": \"a\"}\n{\"meth").unwrap();
        assert!(cut.cut && cut.runs.len() == 1);
        let error = file("{\"method\": 3}\n{}\n").unwrap_err().to_string();
        assert!(error.contains("line 1"), "{error}");
    }
}
