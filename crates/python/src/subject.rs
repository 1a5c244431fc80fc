//! A network and rules as Python hands them over enter; what is asked about leaves.

use std::path::{Path, PathBuf};

use deepsade_data::{encode_inputs, number};
use deepsade_engine::artifact::{described, model_rules, parse_any};
use deepsade_engine::draft;
use deepsade_engine::files::RULES;
use deepsade_engine::problem::Problem;
use deepsade_engine::subject::{SubjectFiles, together};
use deepsade_net::Model;
use deepsade_spec::{Claim, NormalSpec, RuleText, Schema, print};
use numpy::PyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::enter::enter;
use crate::errors::{Class, Failure};
use crate::model::NAME;
use crate::{array, table};

/// Which rules.
#[derive(Debug, Clone)]
pub enum RulesFrom {
    /// Those that the model carries.
    Own,
    /// The tables of a rule file, as JSON.
    Json(String),
    /// A rule file.
    File(PathBuf),
}

impl<'a, 'py> FromPyObject<'a, 'py> for RulesFrom {
    type Error = PyErr;

    /// None, text or a path.
    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            Ok(Self::Own)
        } else if let Ok(text) = value.extract::<String>() {
            Ok(Self::Json(text))
        } else {
            Ok(Self::File(value.extract()?))
        }
    }
}

/// A network and the rules about it.
pub struct Subject {
    pub model: Model,
    pub spec: NormalSpec,
    /// A rule file with these rules.
    pub rules: String,
}

/// Reads a model and brings it together with rules; `output` names a tensor to stop at.
pub fn read(onnx: &[u8], rules: &RulesFrom, output: Option<&str>) -> Result<Subject, Failure> {
    let path = Path::new(NAME);
    let model = parse_any(onnx, path, output)?;
    let (problem, named) = match rules {
        RulesFrom::Own => {
            let (model, schema) = described(model, path)?;
            let spec = model_rules(path, &model, &schema)?;
            if spec.is_empty() {
                return Err(Failure::new(Class::Rule, "the model carries no rules; name some"));
            }
            let texts = Claim::from(&spec).rules;
            let rules = Problem::about(&schema, texts)?.stated(&schema);
            return Ok(Subject { model, spec, rules });
        }
        RulesFrom::Json(text) => (Problem::in_memory(text)?.0, PathBuf::from("the rules")),
        RulesFrom::File(path) => (Problem::read(path)?, path.clone()),
    };
    let files = SubjectFiles { model: path, rules: &named, data: None, output, rows: false };
    let subject = together(model, problem, &files)?;
    let rules = subject.problem.stated(&subject.spec.schema);
    Ok(Subject { model: subject.model, spec: subject.spec, rules })
}

/// The tables `[network]`, `[train]`, `[task]` and `[[rule]]` of a rule file's text, as JSON; targets that `[data]` names stand in
/// `[task]`, and those of them that are whole numbers under `whole`.
#[pyfunction]
pub fn settings(py: Python<'_>, rules: &str) -> PyResult<String> {
    enter(py, |_| {
        let problem = Problem::parse(rules, Path::new(RULES))?;
        let mut task = problem.task.clone();
        task.targets = task.targets.or_else(|| problem.data.as_ref().map(|d| d.targets.clone())).filter(|t| !t.is_empty());
        let rules: Vec<_> = problem.rules.iter().map(|r| serde_json::json!({"name": r.name, "text": r.text})).collect();
        let (network, train) = (problem.network(), problem.train());
        let whole = task.whole(task.targets.as_deref().unwrap_or_default(), &problem.features).unwrap_or_default();
        Ok(serde_json::json!({"network": network, "train": train, "task": task, "whole": whole, "rule": rules}).to_string())
    })
}

/// The tables of a rule file, as JSON, that state a schema and rules (names and texts) over it.
#[pyfunction]
pub fn stated(py: Python<'_>, schema: &str, rules: Vec<(String, String)>) -> PyResult<String> {
    enter(py, |_| {
        let schema = Schema::from_json(schema).map_err(|e| Failure::new(Class::Model, e))?;
        let rules = rules.into_iter().map(|(name, text)| RuleText { name, text }).collect();
        Ok(Problem::about(&schema, rules)?.stated_as_json(&schema))
    })
}

/// Names and texts of the rules that make places of items an ordering.
#[pyfunction]
pub fn orderings(items: usize) -> Vec<(String, String)> {
    draft::orderings(items).map(|rule| (rule.name, rule.text)).into()
}

/// A name as rules write it; `None` if they have no way to say it.
#[pyfunction]
pub fn spelled_name(name: &str) -> Option<String> {
    print::name(name)
}

/// A level or class as rules write it; `None` if they have no way to say it.
#[pyfunction]
pub fn spelled_level(level: &str) -> Option<String> {
    print::level(level)
}

/// The columns of a schema, stated as JSON, for the rows of a table.
#[pyfunction]
pub fn encoded<'py>(py: Python<'py>, schema: &str, table: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let schema = Schema::from_json(schema).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let inputs = encode_inputs(&table::of(table)?.inner, &schema).map_err(Failure::from)?;
    array::out(py, inputs.x)
}

/// A number as class and level names spell it.
#[pyfunction]
pub fn number_text(value: f64) -> String {
    number::as_text(value)
}
