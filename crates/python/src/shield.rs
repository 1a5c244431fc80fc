//! An ONNX file of any tool, rules and rows enter; the same file with an output step behind it leaves, and its certificate.

use deepsade_engine::problem::Problem;
use deepsade_engine::shield::{self as engine, Reading, ShieldError};
use deepsade_engine::verdict::{accepted, in_words};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::enter::enter;
use crate::subject::RulesFrom;
use crate::table::Table;

/// A shielded model.
#[pyclass(frozen, get_all, module = "deepsade._core")]
pub struct Shielded {
    /// Its file.
    onnx: Py<PyBytes>,
    /// The certificate as JSON.
    certificate: String,
    /// Whether the checker accepts it.
    certified: bool,
    /// What it says, in words.
    verdict: String,
    /// A rule file that states the domain, the task and the rules.
    rules: String,
    /// Features with their domains, and the task, as JSON.
    schema: String,
    /// The fields of `deepsade shield --json`.
    answer: String,
    /// How outputs are made to obey, in words.
    made: String,
    /// The tensor that was read.
    output: String,
    /// How the model's numbers for classes are read, in words, where it has only these.
    numbered: Option<String>,
    /// That the data are not where the rule file says.
    note: Option<String>,
    /// That the fallback answers often.
    warning: Option<String>,
}

/// Puts an output step behind a model. The table, if there is one, holds its rows and targets, and is used up: they say what `rules`
/// leave open of the domain, and where outputs usually are.
#[pyfunction]
#[pyo3(signature = (onnx, rules, table=None, output=None, threshold=None, probabilities=false))]
pub fn shield(
    py: Python<'_>,
    onnx: &[u8],
    rules: RulesFrom,
    table: Option<PyRefMut<'_, Table>>,
    output: Option<String>,
    threshold: Option<f32>,
    probabilities: bool,
) -> PyResult<Shielded> {
    let table = table.map(|mut t| std::mem::take(&mut t.inner));
    let (shielded, schema, note) = enter(py, |_| {
        let (mut problem, stated) = match &rules {
            RulesFrom::Own => return Err(ShieldError::NoRule.into()),
            RulesFrom::Json(text) => Problem::in_memory(text)?,
            RulesFrom::File(path) => {
                let problem = Problem::read(path)?;
                let stated = problem.data.clone().unwrap_or_default();
                (problem, stated)
            }
        };
        let (spec, loaded, note) = match table {
            Some(table) => {
                problem.data = None;
                let (spec, loaded) = engine::over_table(&problem, &stated, table)?;
                (spec, Some(loaded), None)
            }
            None => problem.load_or_stated(&mut |_| {})?,
        };
        let shielded = engine::shield(
            onnx,
            &problem,
            &spec,
            loaded.as_ref(),
            &Reading { output, threshold, probabilities: Some(probabilities) },
        )?;
        Ok((shielded, spec.schema.to_json(), note))
    })?;
    Ok(Shielded {
        answer: shielded.as_json().to_string(),
        onnx: PyBytes::new(py, &shielded.bytes).unbind(),
        certified: accepted(&shielded.verdict).is_some(),
        verdict: in_words(&shielded.verdict),
        made: shielded.made,
        output: shielded.output,
        certificate: shielded.certificate,
        rules: shielded.rules,
        schema,
        note,
        numbered: shielded.numbered.map(|n| n.to_string()),
        warning: shielded.warning.map(|w| w.to_string()),
    })
}
