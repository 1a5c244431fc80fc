//! A model in memory, for predictions: rows enter as numpy arrays or tables, outputs leave as numpy arrays.

use std::path::Path;
use std::time::Instant;

use deepsade_data::{Inputs, RowStatus, encode_inputs, encode_numbers};
use deepsade_engine::artifact::{described, model_rules, parse_any};
use deepsade_engine::train::TrainSettings;
use deepsade_engine::verdict::IN_GRAPH;
use deepsade_net::Matrix;
use deepsade_output::Output;
use deepsade_output::predict::predicted_class;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;

use crate::array::{NumberArray, doubles, marks, out};
use crate::enter::enter;
use crate::errors::Failure;
use crate::table::{self, Table};

/// A network with the schema and the rules that its file carries.
#[pyclass(frozen, module = "deepsade._core")]
pub struct Model {
    output: Output<'static>,
    bytes: Vec<u8>,
    /// Whether every feature is a number.
    numbers: bool,
}

/// What messages call a model that is in memory.
pub const NAME: &str = "the model";

impl Model {
    /// Reads an ONNX file of this program.
    pub fn of(bytes: Vec<u8>) -> Result<Self, Failure> {
        let path = Path::new(NAME);
        let (model, schema) = described(parse_any(&bytes, path, None)?, path)?;
        let spec = model_rules(path, &model, &schema)?;
        let numbers = schema.features.iter().all(|f| f.domain.levels().is_none());
        Ok(Self { output: Output::owned(model, spec)?, bytes, numbers })
    }

    /// The rows, encoded; an error where a value is missing or not finite.
    fn encoded(&self, x: &Bound<'_, PyAny>) -> PyResult<Inputs> {
        let schema = &self.output.spec().schema;
        if x.is_instance_of::<Table>() {
            let table = table::of(x)?;
            let inputs = encode_inputs(&table.inner, schema).map_err(Failure::from)?;
            return self.complete(inputs);
        }
        let numbers = NumberArray::of(x)?;
        let (rows, cols) = match &numbers {
            NumberArray::Double(x) => x.as_array().dim(),
            NumberArray::Single(x) => x.as_array().dim(),
        };
        if !self.numbers {
            return Err(PyValueError::new_err("some features are categories: give the rows as a frame"));
        }
        if cols != schema.features.len() {
            let expected = schema.features.len();
            return Err(PyValueError::new_err(format!(
                "X has {cols} features, but the model is expecting {expected} features as input"
            )));
        }
        let inputs = match &numbers {
            // A slice of the view lies row by row; numpy's own would also be one of columns (Fortran's order).
            NumberArray::Double(x) => match x.as_array().as_slice() {
                Some(values) => encode_numbers(rows, schema, |r, c| values[r * cols + c]),
                None => encode_numbers(rows, schema, |r, c| x.as_array()[[r, c]]),
            },
            NumberArray::Single(x) => match x.as_array().as_slice() {
                Some(values) => encode_numbers(rows, schema, |r, c| f64::from(values[r * cols + c])),
                None => encode_numbers(rows, schema, |r, c| f64::from(x.as_array()[[r, c]])),
            },
        };
        self.complete(inputs)
    }

    fn complete(&self, mut inputs: Inputs) -> PyResult<Inputs> {
        inputs.put_outside(self.output.lost(&inputs.x));
        for (row, status) in inputs.status.iter().enumerate() {
            let (RowStatus::Missing { feature } | RowStatus::Outside { feature }) = *status else { continue };
            let bad = inputs.x.row(row).iter().find(|v| !v.is_finite());
            if let Some(bad) = bad {
                let feature = &self.output.spec().schema.features[feature];
                let name = &feature.name;
                if matches!(status, RowStatus::Outside { .. }) && feature.domain.levels().is_some() {
                    let domain = feature.domain.in_words();
                    return Err(PyValueError::new_err(format!("row {row} (counted from 0): '{name}' must be {domain}.")));
                }
                return Err(PyValueError::new_err(format!(
                    "Input X contains {bad} in row {row}, column '{name}' (counted from 0)."
                )));
            }
        }
        Ok(inputs)
    }

    fn run<T: Send>(
        &self,
        x: &Bound<'_, PyAny>,
        work: impl FnOnce(&Output<'static>, &Matrix) -> Result<T, Failure> + Send,
    ) -> PyResult<(T, usize)> {
        let Inputs { x: rows, status } = self.encoded(x)?;
        let outside = status.iter().filter(|s| **s != RowStatus::Inside).count();
        Ok((enter(x.py(), |_| work(&self.output, &rows))?, outside))
    }
}

#[pymethods]
impl Model {
    #[new]
    fn new(onnx: &[u8]) -> PyResult<Self> {
        Ok(Self::of(onnx.to_vec())?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, (Bound<'py, PyBytes>,)) {
        (py.get_type::<Self>().into_any(), (self.onnx(py),))
    }

    /// The ONNX file.
    #[getter]
    fn onnx<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    /// Features with their domains, and the task, as JSON.
    #[getter]
    fn schema(&self) -> String {
        self.output.spec().schema.to_json()
    }

    /// The rules, as a JSON list of name and text.
    #[getter]
    fn rules(&self) -> String {
        let rules: Vec<_> = self.output.spec().texts().map(|(name, text)| json!({"name": name, "text": text})).collect();
        serde_json::Value::Array(rules).to_string()
    }

    /// Where outputs are made to obey the rules behind the network: "in-graph" or None.
    #[getter]
    fn place(&self) -> Option<&'static str> {
        self.output.has_step().then_some(IN_GRAPH)
    }

    /// Outputs for each row, and how many rows lie outside the domain.
    fn outputs<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyArray2<f32>>, usize)> {
        let (y, outside) = self.run(x, |output, x| Ok(output.outputs(x)))?;
        Ok((out(py, y)?, outside))
    }

    /// For each row the index of the predicted class, and how many rows lie outside the domain.
    fn classes<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyArray1<i64>>, usize)> {
        let (classes, outside) = self.run(x, |output, x| {
            let y = output.outputs(x);
            Ok((0..y.rows).map(|r| predicted_class(y.row(r)) as i64).collect::<Vec<_>>())
        })?;
        Ok((classes.into_pyarray(py), outside))
    }

    /// Raw scores for each row, before any choice, and how many rows lie outside the domain.
    fn scores<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyArray2<f32>>, usize)> {
        let (scores, outside) = self.run(x, |output, x| Ok(output.scores(x)))?;
        Ok((out(py, scores)?, outside))
    }

    /// The probability of each label, class or place, of a model that chooses its outputs among all that obey the rules, and of the whole
    /// prediction (in the last column); not a number for a row without a valid prediction. And how many rows lie outside the domain.
    fn probabilities<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyArray2<f64>>, usize)> {
        let ((data, rows), outside) = self.run(x, |output, x| {
            let y = output.outputs(x);
            let found = output.probabilities(x, &y, TrainSettings::default().decode_nodes)?;
            let mut data = Vec::with_capacity(y.rows * (y.cols + 1));
            for row in &found {
                match row {
                    Some(p) => data.extend(p.labels.iter().copied().chain([p.set])),
                    None => data.extend(std::iter::repeat_n(f64::NAN, y.cols + 1)),
                }
            }
            Ok((data, y.rows))
        })?;
        let cols = self.output.spec().schema.task.outputs() + 1;
        Ok((doubles(py, data, rows, cols)?, outside))
    }

    /// Seconds that the outputs of these rows take in Rust, once they are encoded: what the rest is measured against.
    fn seconds(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<f64> {
        let Inputs { x, .. } = self.encoded(x)?;
        enter(py, |_| {
            let begun = Instant::now();
            std::hint::black_box(self.output.outputs(&x));
            Ok(begun.elapsed().as_secs_f64())
        })
    }

    /// For each row whether it lies in the domain.
    fn inside<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let inputs = self.encoded(x)?;
        let inside: Vec<bool> = inputs.status.iter().map(|s| *s == RowStatus::Inside).collect();
        Ok(marks(py, &inside))
    }
}
