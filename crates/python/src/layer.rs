//! Rules as a layer of somebody's own network: scores and inputs of a batch enter, outputs that obey the rules leave, and gradients.

use deepsade_engine::problem::Problem;
use deepsade_net::Matrix;
use deepsade_output::Judge;
use deepsade_output::decode::{DecodeScratch, Decoder};
use deepsade_output::nearest::Allowed;
use deepsade_spec::{NormalSpec, Task};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::{NumberArray, doubles, marks, out};
use crate::enter::enter;
use crate::errors::{Class, Failure};

/// Rules about stated features and targets.
#[pyclass(frozen, module = "deepsade._core")]
pub struct Rules {
    spec: NormalSpec,
    /// What chooses labels; None for a regression, whose outputs are moved.
    decoder: Option<Decoder>,
    settings: String,
}

/// Which faces hold each row of a batch.
#[pyclass(frozen, module = "deepsade._core")]
pub struct Held {
    active: Vec<Vec<usize>>,
}

/// The log of a probability for each row, and of each label given that.
type LogValid<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>);

impl Rules {
    /// The batch, if its widths are right.
    fn batch(&self, scores: &Bound<'_, PyAny>, x: &Bound<'_, PyAny>) -> PyResult<(Matrix, Matrix)> {
        let (scores, x) = (NumberArray::of(scores)?.matrix(), NumberArray::of(x)?.matrix());
        let (outputs, columns) = (self.spec.schema.task.outputs(), self.spec.schema.columns().len());
        if scores.cols != outputs || x.cols != columns || scores.rows != x.rows {
            return Err(PyValueError::new_err(format!(
                "scores are {} x {} and inputs {} x {}; expected {outputs} columns of scores, {columns} of inputs, and as many rows",
                scores.rows, scores.cols, x.rows, x.cols
            )));
        }
        Ok((scores, x))
    }

    fn chooses(&self) -> PyResult<&Decoder> {
        self.decoder.as_ref().ok_or_else(|| PyValueError::new_err("a regression has no label sets; its outputs are moved"))
    }
}

/// What there is to say to a row whose input leaves no outputs: with rules that were found possible, one outside the domain.
fn nothing(row: usize) -> Failure {
    let words = "no outputs were found that obey the rules for its input; does it lie outside the domain?";
    Failure::new(Class::Contradiction, format!("row {row} (counted from 0): {words}"))
}

#[pymethods]
impl Rules {
    /// Compiles rules; `settings` are the tables of a rule file as JSON, with stated domains.
    #[new]
    fn new(py: Python<'_>, settings: String) -> PyResult<Self> {
        enter(py, |_| {
            let (problem, _) = Problem::in_memory(&settings)?;
            let spec = problem.load(&mut |_| {})?.0;
            let decoder = match spec.schema.task {
                Task::Regression { .. } => {
                    Failure::if_contradictory(&spec)?;
                    None
                }
                _ => Some(Decoder::new(&spec, problem.train().decode_nodes)?),
            };
            Ok(Self { spec, decoder, settings })
        })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, (String,)) {
        (py.get_type::<Self>().into_any(), (self.settings.clone(),))
    }

    /// How many scores a row has.
    #[getter]
    fn outputs(&self) -> usize {
        self.spec.schema.task.outputs()
    }

    /// The names of the input columns: features, or feature=level.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.spec.schema.columns().into_iter().map(|c| c.name).collect()
    }

    /// Outputs that obey the rules in float32: the most likely label set, or the nearest numbers. An error for a row without any.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (mut scores, x) = self.batch(scores, x)?;
        let y = enter(py, |_| {
            if let Some(decoder) = &self.decoder {
                let (judge, mut scratch, mut set) = (Judge::new(&self.spec), DecodeScratch::default(), vec![0.0; scores.cols]);
                for r in 0..scores.rows {
                    if !decoder.best(scores.row(r), &decoder.met(&judge, x.row(r)), &mut scratch, &mut set) {
                        return Err(nothing(r));
                    }
                    scores.row_mut(r).copy_from_slice(&set);
                }
            } else {
                let allowed = Allowed::new(&self.spec);
                for r in 0..scores.rows {
                    let y = allowed.decode(x.row(r), scores.row(r)).map_err(|_| nothing(r))?;
                    scores.row_mut(r).copy_from_slice(&y);
                }
            }
            Ok(scores)
        })?;
        out(py, y)
    }

    /// The nearest numbers that obey the rules, up to float64's rounding, and what holds them, for the gradient.
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'py, PyAny>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Held)> {
        if self.decoder.is_some() {
            return Err(PyValueError::new_err("labels are chosen, not moved: this is for a regression"));
        }
        let (scores, x) = self.batch(scores, x)?;
        let (rows, cols) = (scores.rows, scores.cols);
        let (y, active) = enter(py, |_| {
            let allowed = Allowed::new(&self.spec);
            let (mut y, mut active) = (Vec::with_capacity(scores.data.len()), Vec::with_capacity(scores.rows));
            for r in 0..scores.rows {
                let p: Vec<f64> = scores.row(r).iter().map(|v| f64::from(*v)).collect();
                let found = allowed.nearest(&allowed.at(x.row(r)).map_err(Failure::from)?, &p, 0.0).map_err(|_| nothing(r))?;
                y.extend(found.y);
                active.push(found.active);
            }
            Ok((y, active))
        })?;
        Ok((doubles(py, y, rows, cols)?, Held { active }))
    }

    /// Turns gradients with respect to the nearest numbers into gradients with respect to the scores.
    fn backward<'py>(&self, py: Python<'py>, held: &Held, gradient: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let g = NumberArray::of(gradient)?.matrix();
        let outputs = self.spec.schema.task.outputs();
        if g.rows != held.active.len() || g.cols != outputs {
            return Err(PyValueError::new_err("gradients are not as wide or as many as the outputs"));
        }
        let allowed = Allowed::new(&self.spec);
        let mut data: Vec<f64> = g.data.iter().map(|v| f64::from(*v)).collect();
        for (active, row) in held.active.iter().zip(data.chunks_exact_mut(outputs)) {
            allowed.backward(active, row);
        }
        doubles(py, data, g.rows, outputs)
    }

    /// For each row whether its label set, 0 or 1 each, is one that the rules allow there.
    fn allows<'py>(&self, py: Python<'py>, y: &Bound<'py, PyAny>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let decoder = self.chooses()?;
        let (y, x) = self.batch(y, x)?;
        let allowed = enter(py, |_| {
            let (judge, mut scratch, mut set) = (Judge::new(&self.spec), DecodeScratch::default(), vec![0.0; y.cols]);
            let allows = |r: usize| {
                // With scores that speak for this set alone, any other is less likely: it is the best one, or it is none.
                let scores: Vec<f32> = y.row(r).iter().map(|v| 2.0 * v - 1.0).collect();
                decoder.best(&scores, &decoder.met(&judge, x.row(r)), &mut scratch, &mut set) && set == y.row(r)
            };
            Ok((0..y.rows).map(allows).collect::<Vec<_>>())
        })?;
        Ok(marks(py, &allowed))
    }

    /// For each row the log of the probability that independent labels with these scores obey the rules, and the probability of each
    /// label given that.
    fn log_valid<'py>(&self, py: Python<'py>, scores: &Bound<'py, PyAny>, x: &Bound<'py, PyAny>) -> PyResult<LogValid<'py>> {
        let decoder = self.chooses()?;
        let (scores, x) = self.batch(scores, x)?;
        let (rows, cols) = (scores.rows, scores.cols);
        let (log, marginals) = enter(py, |_| {
            let (judge, mut scratch) = (Judge::new(&self.spec), DecodeScratch::default());
            let (mut log, mut marginals) = (Vec::with_capacity(rows), vec![0.0; rows * cols]);
            for (r, marginals) in marginals.chunks_exact_mut(cols).enumerate() {
                let met = decoder.met(&judge, x.row(r));
                match decoder.log_valid(scores.row(r), &met, &mut scratch, marginals) {
                    Some(value) => log.push(value),
                    None => return Err(deepsade_output::decode::DecodeError::TooLarge { budget: 0 }.into()),
                }
            }
            Ok((log, marginals))
        })?;
        Ok((log.into_pyarray(py), doubles(py, marginals, rows, cols)?))
    }
}
