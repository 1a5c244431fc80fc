//! Settings as JSON and a table enter; a trained model with its certificate leaves, or what the rules mean.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use deepsade_engine::enforce::{Means, decide};
use deepsade_engine::explain::{self as rules, audit, vacuous_notes, words};
use deepsade_engine::fit::{self as engine, Fit};
use deepsade_engine::problem::Problem;
use deepsade_engine::summary::{Timings, summary};
use deepsade_engine::train::{EpochRecord, Observer, StopReason};
use deepsade_engine::verdict::{Enough, accepted, as_deployed, in_words};
use deepsade_engine::{decode, nearest, recheck};
use deepsade_spec::{NormalSpec, Task};
use pyo3::prelude::*;
use serde_json::json;

use crate::enter::{Signals, enter};
use crate::errors::{Class, Failure};
use crate::model::Model;
use crate::question::{self, Rules};
use crate::table::Table;

/// The progress callback is called no more often than this.
const EVERY_MS: u64 = 100;

/// A finished training.
#[pyclass(frozen, get_all, module = "deepsade._core")]
pub struct Fitted {
    /// The model.
    model: Py<Model>,
    /// The certificate as JSON; None if no rules were enforced or there is no closed form to prove.
    certificate: Option<String>,
    /// Whether the checker accepts the certificate.
    certified: bool,
    /// What it says, in words.
    verdict: Option<String>,
    /// A rule file that states the domain, the task and the rules.
    rules: String,
    /// What training says of itself, as JSON.
    summary: String,
    /// A JSON line for each epoch.
    log: String,
    /// What to look at twice.
    notes: Vec<String>,
}

/// Tells Python how training goes on.
struct Watch<'a> {
    signals: &'a Signals,
    progress: Option<Py<PyAny>>,
    begun: Instant,
    told: AtomicU64,
    epochs: usize,
}

impl Observer for Watch<'_> {
    fn epoch(&mut self, record: &EpochRecord) {
        let Some(progress) = &self.progress else { return };
        let now = self.begun.elapsed().as_millis() as u64;
        if record.epoch < self.epochs && now < self.told.load(Ordering::Relaxed) + EVERY_MS {
            return;
        }
        self.told.store(now, Ordering::Relaxed);
        let told =
            Python::attach(|py| progress.call1(py, (record.epoch, self.epochs, record.train_loss, record.validation_loss)));
        if let Err(error) = told {
            self.signals.fail(error);
        }
    }

    fn stop(&self) -> bool {
        self.signals.pressed()
    }

    fn abandons(&self) -> bool {
        true
    }
}

/// Trains a network; `settings` are the tables of a rule file as JSON. The table is used up.
#[pyfunction]
#[pyo3(signature = (settings, table, seed, progress=None))]
pub fn fit(
    py: Python<'_>,
    settings: &str,
    mut table: PyRefMut<'_, Table>,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fitted> {
    let table = std::mem::take(&mut table.inner);
    let done = enter(py, |signals| {
        let begun = Instant::now();
        let (problem, data) = Problem::in_memory(settings)?;
        let (spec, loaded) = problem.load_table(table, &data)?;
        Failure::if_contradictory(&spec)?;
        let rows = engine::rows(&spec, &loaded, &data, seed)?;
        drop(loaded);
        let mut notes = notes(&spec, &problem)?;
        let mut watch = Watch { signals, progress, begun, told: AtomicU64::new(0), epochs: problem.train.epochs };
        let fit =
            Fit { spec: &spec, breaking_rows: data.breaking_rows, network: &problem.network, settings: &problem.train, seed };
        let started = Instant::now();
        let fitted = fit.run(&rows, None, &mut watch)?;
        let (read, trained) = ((started - begun).as_secs_f64(), started.elapsed().as_secs_f64());
        if let (StopReason::Diverged { .. }, None) = (fitted.trained.stop, fitted.trained.best_epoch) {
            return Err(Failure::new(Class::Diverged, format!("{}; there is no model", fitted.trained.stop)));
        }
        notes.extend(fitted.warnings.iter().map(ToString::to_string));
        let bytes = fitted.model.to_bytes().map_err(|e| Failure::new(Class::Model, e))?;
        let rules = problem.stated(&spec.schema);
        let started = Instant::now();
        let certificate = fitted.proof.as_ref().map(|p| p.certificate.to_json());
        let verdict = match &certificate {
            Some(certificate) => {
                let stated = Problem::parse(&rules, "rules.toml".as_ref())?;
                // What the estimator predicts, the library has decoded.
                let enough = Enough { library: true, ..Enough::default() };
                Some(as_deployed(recheck::held(&bytes, &stated, certificate, None)?, enough))
            }
            None => None,
        };
        let check = started.elapsed().as_secs_f64();
        let timings = Timings { read, train: trained - fitted.certify_seconds, certify: fitted.certify_seconds, check };
        let mut said = summary(&fitted, verdict.as_ref(), timings, seed);
        said["in_library"] = json!(fitted.in_library.as_ref().map(ToString::to_string));
        let log =
            fitted.trained.records.iter().map(|r| serde_json::to_string(r).expect("plain data becomes JSON") + "\n").collect();
        let certified = verdict.as_ref().and_then(accepted).is_some();
        let model = Model::of(bytes)?;
        Ok((model, certificate, certified, verdict.as_ref().map(in_words), rules, said.to_string(), log, notes))
    })?;
    let (model, certificate, certified, verdict, rules, summary, log, notes) = done;
    Ok(Fitted { model: Py::new(py, model)?, certificate, certified, verdict, rules, summary, log, notes })
}

/// The notes of the command line.
fn notes(spec: &NormalSpec, problem: &Problem) -> Result<Vec<String>, Failure> {
    let mut notes = vacuous_notes(spec);
    let audit = audit(spec);
    if audit.constant_only && matches!(decide(spec, &problem.train)?.means, Means::Weights) {
        notes.push(audit.words);
    }
    Ok(notes)
}

/// What the rules mean: in words, and as JSON. Without a table the settings must state the domain.
#[pyfunction]
#[pyo3(signature = (settings, table=None))]
pub fn explain(py: Python<'_>, settings: &str, table: Option<PyRefMut<'_, Table>>) -> PyResult<(String, String)> {
    let table = table.map(|mut t| std::mem::take(&mut t.inner));
    enter(py, |_| {
        let (problem, data) = Problem::in_memory(settings)?;
        let (spec, rows) = match table {
            Some(table) => {
                let (spec, loaded) = problem.load_table(table, &data)?;
                let rows = engine::rows(&spec, &loaded, &data, data.seed)?;
                (spec, Some(rows))
            }
            None => (problem.load(None, &mut |_| {})?.0, None),
        };
        let found = rules::explain(&spec, rows.as_ref(), &problem.network, &problem.train);
        let json = serde_json::to_string(&found).expect("plain data becomes JSON");
        Ok((words::in_words(&found, &spec), json))
    })
}

/// Builds the rules into the output step of any network: its ONNX file, the certificate (None where only the library can decode),
/// whether the checker accepts it, and a rule file.
#[pyfunction]
#[pyo3(signature = (onnx, rules, decode_nodes, output=None))]
pub fn decoded(
    py: Python<'_>,
    onnx: &[u8],
    rules: Rules,
    decode_nodes: usize,
    output: Option<String>,
) -> PyResult<(Model, Option<String>, bool, String)> {
    enter(py, |_| {
        let asked = question::read(onnx, &rules, output.as_deref())?;
        let (spec, network) = (&asked.spec, &asked.model.network);
        let (model, proof) = if matches!(spec.schema.task, Task::Regression { .. }) {
            Failure::if_contradictory(spec)?;
            match nearest::attach(spec, network, None)? {
                nearest::Attached::InGraph(model, proof) => (model, Some(*proof)),
                nearest::Attached::Library(model, _) => (model, None),
            }
        } else {
            let decoder = decode::Decoder::new(spec, decode_nodes)?;
            let (model, proof) = decode::attach(spec, network, &decoder)?;
            (model, Some(proof))
        };
        let bytes = model.to_bytes().map_err(|e| Failure::new(Class::Model, e))?;
        let certified = proof.as_ref().is_some_and(|p| p.accepted().is_some());
        Ok((Model::of(bytes)?, proof.map(|p| p.certificate.to_json()), certified, asked.rules))
    })
}
