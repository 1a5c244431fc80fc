//! Check, verify, adversity, repair and report, as the command line has them: bytes, JSON and tables enter, JSON leaves.

use std::path::{Path, PathBuf};
use std::time::Instant;

use deepsade_check::Arithmetic;
use deepsade_data::{self as data, RowStatus};
use deepsade_engine::adversity::{self as engine, Near};
use deepsade_engine::artifact;
use deepsade_engine::files;
use deepsade_engine::folder_lock::Hold;
use deepsade_engine::pipeline::Occupied;
use deepsade_engine::problem::Problem;
use deepsade_engine::proof::Certified;
use deepsade_engine::recheck;
use deepsade_engine::repair::words::{as_json as repaired_as_json, scores};
use deepsade_engine::repair::{KnownRows, RepairSettings, mend, network_of};
use deepsade_engine::unfinished;
use deepsade_engine::verdict::{as_deployed, as_json, in_words};
use deepsade_engine::verify::words;
use deepsade_engine::verify::{self as search, FileAnswer, VerifySettings};
use deepsade_lab::report::RunFolder;
use deepsade_net::Matrix;
use deepsade_spec::{Claim, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::array::NumberArray;
use crate::enter::enter;
use crate::errors::{Class, Failure};
use crate::model::NAME;
use crate::subject::{self, RulesFrom};
use crate::table::{self, Table};

/// What the checker says to a certificate, as JSON, and in words.
#[pyfunction]
#[pyo3(signature = (onnx, rules, certificate, real=false))]
pub fn check(py: Python<'_>, onnx: &[u8], rules: RulesFrom, certificate: &str, real: bool) -> PyResult<(String, String)> {
    enter(py, |signals| {
        let stop = || signals.pressed();
        let judged = match &rules {
            // The checker reads the graph: a shielded one may be made of anything.
            RulesFrom::Own => {
                let spec = artifact::carried_spec(onnx, Path::new(NAME))?;
                if spec.is_empty() {
                    return Err(Failure::new(Class::Rule, "the model carries no rules; name some"));
                }
                recheck::judged(onnx, &Claim::from(&spec), certificate, &stop)
            }
            RulesFrom::Json(text) => recheck::held(onnx, &Problem::in_memory(text)?.0, certificate, &stop)?,
            RulesFrom::File(path) => recheck::held(onnx, &Problem::read(path)?, certificate, &stop)?,
        };
        let verdict = as_deployed(judged, real);
        Ok((as_json(&verdict).to_string(), in_words(&verdict)))
    })
}

/// A proof's model and certificate.
type ProofFiles = (Py<PyBytes>, String);

fn proof(py: Python<'_>, certified: &Certified) -> ProofFiles {
    (PyBytes::new(py, certified.model()).unbind(), certified.certificate().to_json())
}

/// What is decided about a network: JSON, words, a rule file, and a proof's model and certificate.
#[pyfunction]
#[pyo3(signature = (onnx, rules, timeout=60.0, arithmetic="float32", threads=None, output=None))]
pub fn verify(
    py: Python<'_>,
    onnx: &[u8],
    rules: RulesFrom,
    timeout: f64,
    arithmetic: &str,
    threads: Option<usize>,
    output: Option<String>,
) -> PyResult<(String, String, String, Option<ProofFiles>)> {
    let arithmetic = match arithmetic {
        "float32" => Arithmetic::Float32,
        "real" => Arithmetic::Real,
        other => return Err(PyValueError::new_err(format!("arithmetic = '{other}': must be 'float32' or 'real'"))),
    };
    let settings = settings(timeout, threads)?;
    let settings = VerifySettings { arithmetic, ..settings };
    let (json, words, rules, found) = enter(py, |signals| {
        let asked = subject::read(onnx, &rules, output.as_deref())?;
        let FileAnswer { decided, proof, differs, work, seconds } =
            search::verify_file(&asked.spec, &asked.model, &settings, &|| signals.pressed())?;
        let json = words::as_json(&decided, &asked.spec, seconds, work, &differs).to_string();
        Ok((json, words::in_words(&decided, &asked.spec, seconds, work.regions, None), asked.rules, proof))
    })?;
    Ok((json, words, rules, found.map(|found| proof(py, &found))))
}

fn settings(timeout: f64, threads: Option<usize>) -> PyResult<VerifySettings> {
    let wrong = || PyValueError::new_err(format!("timeout = {timeout}: must be a positive number of seconds"));
    VerifySettings::new(timeout, threads).ok_or_else(wrong)
}

/// Rows without labels.
enum Given {
    Table(data::Table),
    Matrix(Matrix),
}

impl Given {
    fn of(x: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(if x.is_instance_of::<Table>() {
            Self::Table(table::of(x)?.inner.clone())
        } else {
            Self::Matrix(NumberArray::of(x)?.matrix())
        })
    }

    /// The rows that lie in the domain, encoded, their places, and how many rows there are.
    fn inside(self, schema: &Schema) -> Result<(Matrix, Vec<usize>, usize), Failure> {
        let inputs = match self {
            Self::Table(table) => data::encode_inputs(&table, schema)?,
            Self::Matrix(x) => {
                let features = schema.features.len();
                if x.cols != features || schema.columns().len() != features {
                    let words = format!(
                        "X has {} columns; the model has {features} features, some of which may be categories: give a frame then",
                        x.cols
                    );
                    return Err(Failure::new(Class::Data, words));
                }
                data::encode_numbers(x.rows, schema, |r, c| f64::from(x.row(r)[c]))
            }
        };
        let inside: Vec<usize> = (0..inputs.x.rows).filter(|r| inputs.status[*r] == RowStatus::Inside).collect();
        Ok((inputs.x.select(&inside), inside, inputs.x.rows))
    }
}

/// For each row inside the domain a JSON object with what was found near it, and how many rows lie outside.
#[pyfunction]
#[pyo3(signature = (onnx, rules, x, radius=engine::RADIUS, timeout=engine::SECONDS, threads=None, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn adversity(
    py: Python<'_>,
    onnx: &[u8],
    rules: RulesFrom,
    x: &Bound<'_, PyAny>,
    radius: f64,
    timeout: f64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<String>, usize)> {
    if !engine::is_radius(radius) {
        return Err(PyValueError::new_err(format!("radius = {radius}: must be a number from 0 on")));
    }
    let settings = settings(timeout, threads)?;
    let given = Given::of(x)?;
    enter(py, |signals| {
        let asked = subject::read(onnx, &rules, None)?;
        let (x, inside, rows) = given.inside(&asked.spec.schema)?;
        let told = |done: usize| {
            if let Some(progress) = &progress
                && let Err(error) = Python::attach(|py| progress.call1(py, (done, x.rows)))
            {
                signals.fail(error);
            }
        };
        let found = engine::adversity(&asked.spec, &asked.model, &x, radius, &settings, &told, &|| signals.pressed())?;
        let line = |(near, row): (&Near, &usize)| engine::near_as_json(&asked.spec, *row as u64, near).to_string();
        Ok((found.iter().zip(&inside).map(line).collect(), rows - inside.len()))
    })
}

/// What `deepsade adversity --json` says, of lines that [`adversity`] gave.
#[pyfunction]
pub fn adversity_index(lines: Vec<String>, radius: f64, outside: usize, seconds: f64) -> PyResult<String> {
    let near: Result<Vec<Value>, _> = lines.iter().map(|line| serde_json::from_str(line)).collect();
    let near = near.map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(engine::as_json(&near, radius, outside, seconds).to_string())
}

/// Repairs a network: JSON with the number of rows that lie outside the domain, a rule file, and the proof's model and certificate. The table, if there is one, holds labels, too; `x` are rows
/// without.
#[pyfunction]
#[pyo3(signature = (onnx, rules, table=None, x=None))]
pub fn repair(
    py: Python<'_>,
    onnx: &[u8],
    rules: RulesFrom,
    table: Option<PyRefMut<'_, Table>>,
    x: Option<&Bound<'_, PyAny>>,
) -> PyResult<((String, usize), String, ProofFiles)> {
    let table = table.map(|mut t| std::mem::take(&mut t.inner));
    let given = x.map(Given::of).transpose()?;
    let (json, rules, mended) = enter(py, |signals| {
        let asked = subject::read(onnx, &rules, None)?;
        let (spec, network) = (&asked.spec, network_of(&asked.model)?);
        Failure::if_contradictory(spec)?;
        let (known, outside) = match (table, given) {
            (Some(table), _) | (None, Some(Given::Table(table))) => KnownRows::within(spec, table)?,
            (None, Some(given)) => {
                let (x, inside, rows) = given.inside(&spec.schema)?;
                (KnownRows::Inputs(x), rows - inside.len())
            }
            (None, None) => (KnownRows::Nothing, 0),
        };
        if outside > 0 && known.is_empty() {
            let words = format!("no row lies in the domain ({outside} lie outside or are incomplete)");
            return Err(Failure::new(Class::Data, words));
        }
        let started = Instant::now();
        let mended = mend(spec, network, &known, &RepairSettings::default(), &|| signals.pressed())?;
        let mended = mended.at_cutoff_of(spec, &asked.model);
        let seconds = started.elapsed().as_secs_f64();
        let scores = known.labelled().map(|rows| scores(spec, network, &mended, rows));
        let json = repaired_as_json(&mended, scores.as_ref(), seconds);
        Ok(((json.to_string(), outside), asked.rules, mended))
    })?;
    let proof = proof(py, mended.certified());
    Ok((json, rules, proof))
}

/// Ends what a run that was killed had begun to rename in a folder.
#[pyfunction]
pub fn settle(folder: PathBuf) {
    // Where nothing may be written, what is there is read.
    let _ = unfinished::settle(&folder);
}

/// Writes the page about a training run's folder; says what the page says about the proof.
#[pyfunction]
#[pyo3(signature = (folder, out, name=None, data=None))]
pub fn report(py: Python<'_>, folder: PathBuf, out: PathBuf, name: Option<String>, data: Option<PathBuf>) -> PyResult<String> {
    enter(py, |_| {
        let mut run = RunFolder::read(&folder, data.as_deref())?;
        if let Some(name) = name {
            run.name = name;
        }
        let page = run.page();
        artifact::write_whole(&out, page.html.as_bytes())?;
        Ok(page.said)
    })
}

/// Writes what `deepsade check` reads into a folder that is there.
#[pyfunction]
#[pyo3(signature = (folder, onnx, rules, certificate=None))]
pub fn write_proof(py: Python<'_>, folder: PathBuf, onnx: &[u8], rules: &str, certificate: Option<&str>) -> PyResult<()> {
    enter(py, |_| {
        let _hold = held(&folder)?;
        Ok(files::write_proof(&folder, onnx, rules, certificate).map(drop)?)
    })
}

/// Writes the files of a run into a folder that is there; `said` are its summary and its log. What the run has not is removed.
#[pyfunction]
#[pyo3(signature = (folder, onnx, rules, certificate=None, said=None))]
pub fn write_run(
    py: Python<'_>,
    folder: PathBuf,
    onnx: &[u8],
    rules: &str,
    certificate: Option<&str>,
    said: Option<(String, String)>,
) -> PyResult<()> {
    enter(py, |_| {
        let _hold = held(&folder)?;
        let said = said.as_ref().map(|(summary, log)| (summary.as_str(), log.as_str()));
        Ok(files::write_run(&folder, onnx, rules, certificate, said)?)
    })
}

fn held(folder: &Path) -> Result<Hold, Failure> {
    Hold::of(folder).map_err(|busy| Failure::new(Class::Os, format!("can't write into {}: {busy}", folder.display())))
}

/// What a folder holds that a run would replace, in words.
#[pyfunction]
pub fn occupied(folder: PathBuf) -> Option<String> {
    Occupied::of(&folder, false).map(|found| found.to_string())
}

/// Writes a file whole or not at all.
#[pyfunction]
pub fn write_whole(py: Python<'_>, path: PathBuf, bytes: &[u8]) -> PyResult<()> {
    enter(py, |_| Ok(artifact::write_whole(Path::new(&path), bytes)?))
}
