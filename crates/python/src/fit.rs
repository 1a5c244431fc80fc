//! Settings as JSON and a table enter; a trained model with its certificate leaves, or what the rules mean.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use deepsade_engine::enforce::step::{self, Usual};
use deepsade_engine::explain::{self as rules, words};
use deepsade_engine::fit::{self as engine, FitError};
use deepsade_engine::pipeline::{Checked, Ended, Note, Prepared};
use deepsade_engine::problem::Problem;
use deepsade_engine::proof::certificate;
use deepsade_engine::train::{EpochRecord, Observer};
use deepsade_engine::verdict::in_words;
use pyo3::prelude::*;

use crate::enter::{Signals, enter};
use crate::errors::{Class, Failure};
use crate::model::Model;
use crate::subject::{self, RulesFrom};
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
struct PythonObserver<'a> {
    signals: &'a Signals,
    progress: Option<Py<PyAny>>,
    begun: Instant,
    told: AtomicU64,
    epochs: usize,
}

impl Observer for PythonObserver<'_> {
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
    let (model, finished, notes) = enter(py, |signals| {
        let begun = Instant::now();
        let ready = match Checked::in_memory(settings, seed)?.take(table)? {
            Prepared::Ready(ready) => ready,
            Prepared::Contradictory(words) => return Err(Failure::new(Class::Contradiction, words)),
        };
        let mut watch =
            PythonObserver { signals, progress, begun, told: AtomicU64::new(0), epochs: ready.problem.train().epochs };
        let finished = match ready.train(None, &mut watch)? {
            Ended::Done(finished) => finished,
            Ended::Interrupted => return Err(FitError::Abandoned.into()),
            Ended::Diverged(stop) => return Err(Failure::new(Class::Diverged, format!("{stop}; there is no model"))),
        };
        // What "auto" chooses is no warning; the summary says it.
        let notes = ready.notes();
        let notes =
            notes.iter().filter(|note| matches!(note, Note::Rules(_) | Note::Data(_))).map(|note| note.words().to_owned());
        let notes: Vec<String> = notes.chain(finished.fitted.warnings.iter().map(ToString::to_string)).collect();
        Ok((Model::of(finished.bytes.clone())?, finished, notes))
    })?;
    Ok(Fitted {
        model: Py::new(py, model)?,
        certified: finished.accepted().is_some(),
        verdict: finished.verdict.as_ref().map(in_words),
        summary: finished.summary(None).to_string(),
        log: finished.log(),
        certificate: finished.certificate,
        rules: finished.rules,
        notes,
    })
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
            None => (problem.load(&mut |_| {})?.0, None),
        };
        let found = rules::explain(&spec, rows.as_ref(), problem.network(), problem.train());
        let json = serde_json::to_string(&found).expect("plain data becomes JSON");
        Ok((words::in_words(&found, &spec), json))
    })
}

/// Builds the rules into the output step of any network: its ONNX file, the certificate, whether the checker accepts it,
/// and a rule file.
#[pyfunction]
#[pyo3(signature = (onnx, rules, output=None))]
pub fn decoded(py: Python<'_>, onnx: &[u8], rules: RulesFrom, output: Option<String>) -> PyResult<(Model, String, bool, String)> {
    enter(py, |_| {
        let asked = subject::read(onnx, &rules, output.as_deref())?;
        let (spec, network) = (&asked.spec, &asked.model.network);
        Failure::if_contradictory(spec)?;
        let (model, proof) = step::attach(spec, network, &Usual::unknown(spec))?;
        let bytes = model.to_bytes().map_err(|e| Failure::new(Class::Model, e))?;
        Ok((Model::of(bytes)?, certificate(&proof).to_json(), proof.is_ok(), asked.rules))
    })
}
