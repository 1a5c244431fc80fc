//! A model and input rows enter; its outputs leave, those of the output step behind its network where it has one.

mod probability;

use std::borrow::Cow;
use std::collections::BTreeMap;

use deepsade_check::step::CALM;
use deepsade_net::{Behind, Matrix, Model, TRUNK_OUTPUT};
use deepsade_spec::{NormalSpec, Task};
use thiserror::Error;

use crate::decode::DecodeError;
use crate::graph::{Graph, Value};
pub use probability::{Estimator, Probabilities};

/// How a model's outputs are read.
///
/// ```
/// use deepsade_net::{Matrix, Model, Network, Node, Op};
/// use deepsade_output::Output;
/// use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};
///
/// let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } };
/// let schema = Schema { features: vec![feature("income")], task: Task::regression(vec!["rent".into()]), one_hot: OneHot::Full, filled: vec![] };
/// let spec = compile(&[RuleText { name: "afford".into(), text: "rent <= income".into() }], &schema).unwrap();
/// // rent = income / 2
/// let half = Op::Dense { w: Matrix { rows: 1, cols: 1, data: vec![0.5] }, b: vec![0.0] };
/// let model = Model::new(Network { inputs: 1, nodes: vec![Node { op: half, from: vec![0] }] });
/// let output = Output::of(&model, &spec).unwrap();
/// assert_eq!(output.outputs(&Matrix { rows: 2, cols: 1, data: vec![3.0, 8.0] }).data, [1.5, 4.0]);
/// assert!(!output.has_step());
/// ```
#[derive(Debug, Clone)]
pub struct Output<'a> {
    model: Cow<'a, Model>,
    spec: Cow<'a, NormalSpec>,
    /// The step, and what its outputs are called.
    step: Option<(Graph, Vec<String>)>,
    /// The probability of the second of two classes from which on it is predicted, if not one half.
    cutoff: Option<f64>,
}

/// The metadata of a model that decides between two classes at another probability of the second than one half: its scores are those
/// of the decision, and that probability says how to read the probabilities from them.
pub const CUTOFF_KEY: &str = "deepsade.cutoff";

/// A model that says nonsense of where it decides.
#[derive(Debug, Error)]
#[error("the model's metadata say '{CUTOFF_KEY}' is {0:?}: expected a probability between 0 and 1")]
pub struct BadCutoff(String);

/// The probability of the second class at which a model says that it decides, if it says one.
pub fn cutoff_of(metadata: &BTreeMap<String, String>) -> Result<Option<f64>, BadCutoff> {
    let Some(text) = metadata.get(CUTOFF_KEY) else { return Ok(None) };
    let read = text.parse().ok().filter(|c| 0.0 < *c && *c < 1.0);
    read.map(Some).ok_or_else(|| BadCutoff(text.clone()))
}

/// By how much the score of the second class is lower in a model that decides at `cutoff`: the logit, as it is trained.
pub fn shift(cutoff: f64) -> f32 {
    (cutoff / (1.0 - cutoff)).ln() as f32
}

/// What the step says of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags {
    /// Whether the input is in the domain.
    pub in_domain: bool,
    /// Whether the candidate passed; else the fallback answered.
    pub ok: bool,
}

/// Rows that go through a step at once.
const ROWS: usize = 1024;

impl<'a> Output<'a> {
    /// Makes a model ready to run; `spec` are the rules that it carries.
    pub fn of(model: &'a Model, spec: &'a NormalSpec) -> Result<Self, DecodeError> {
        Self::new(Cow::Borrowed(model), Cow::Borrowed(spec))
    }

    /// The same, kept together with the model.
    pub fn owned(model: Model, spec: NormalSpec) -> Result<Output<'static>, DecodeError> {
        Output::new(Cow::Owned(model), Cow::Owned(spec))
    }

    fn new(model: Cow<'a, Model>, spec: Cow<'a, NormalSpec>) -> Result<Self, DecodeError> {
        let wrong = |e: &dyn std::fmt::Display| DecodeError::Metadata(format!("its output step can't be run: {e}"));
        let ready = |Behind { piece, outputs }: &Behind| {
            let names = outputs.iter().map(|p| p.name.clone()).collect();
            Graph::new(piece, &["x", TRUNK_OUTPUT]).map(|graph| (graph, names)).map_err(|e| wrong(&e))
        };
        let step = model.behind.as_ref().map(ready).transpose()?;
        let stated = cutoff_of(&model.metadata).map_err(|e| DecodeError::Metadata(e.to_string()))?;
        let cutoff = stated.filter(|_| matches!(spec.schema.task, Task::Binary { .. }));
        Ok(Self { model, spec, step, cutoff })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The rules that it carries.
    pub fn spec(&self) -> &NormalSpec {
        &self.spec
    }

    /// Whether an output step stands behind the network.
    pub fn has_step(&self) -> bool {
        self.model.has_step()
    }

    /// The outputs. Not a number throughout for a row that the step can't be run on.
    pub fn outputs(&self, x: &Matrix) -> Matrix {
        self.outputs_and_flags(x).0
    }

    /// The outputs, and what the step says of each row; without a step nothing.
    pub fn outputs_and_flags(&self, x: &Matrix) -> (Matrix, Option<Vec<Flags>>) {
        let x = &*self.model.as_read(x);
        let Some((graph, names)) = &self.step else { return (self.model.network.forward(x), None) };
        let cols = self.spec.schema.task.outputs();
        let (mut y, mut flags) = (Matrix { rows: x.rows, cols, data: Vec::with_capacity(x.rows * cols) }, Vec::new());
        for start in (0..x.rows).step_by(ROWS) {
            let rows = ROWS.min(x.rows - start);
            let part = Matrix { rows, cols: x.cols, data: x.data[start * x.cols..(start + rows) * x.cols].to_vec() };
            match self.part(graph, names, part) {
                Some((outputs, said)) if outputs.len() == rows * cols && said.len() == rows => {
                    y.data.extend(outputs);
                    flags.extend(said);
                }
                _ => {
                    y.data.resize((start + rows) * cols, f32::NAN);
                    flags.resize(start + rows, Flags { in_domain: false, ok: false });
                }
            }
        }
        (y, Some(flags))
    }

    /// Rows that the graph's own `in_domain` puts outside although they are inside, with the feature that it is about: near 0 it takes
    /// numbers below 2^-100 in size for 0, also those of a range that ends there. Nothing for a model without such a flag.
    pub fn lost(&self, x: &Matrix) -> Vec<(usize, usize)> {
        let near_zero = |v: f32| v != 0.0 && v.abs() < 2f32.powi(CALM);
        let features = self.spec.schema.features.iter().enumerate();
        let ends_there = |range: Option<(f32, f32)>| range.is_some_and(|(lo, hi)| near_zero(lo) || near_zero(hi));
        let found: Vec<usize> = features.filter(|(_, f)| ends_there(f.domain.range())).map(|(k, _)| k).collect();
        if found.is_empty() {
            return Vec::new();
        }
        let Some(flags) = self.outputs_and_flags(x).1 else { return Vec::new() };
        let columns = self.spec.schema.columns();
        let tiny = |row: &[f32], f: usize| columns.iter().zip(row).any(|(c, v)| c.feature == f && near_zero(*v));
        let blamed = |row: usize| found.iter().copied().find(|f| tiny(x.row(row), *f)).unwrap_or(found[0]);
        (0..x.rows).filter(|row| !flags[*row].in_domain).map(|row| (row, blamed(row))).collect()
    }

    fn part(&self, graph: &Graph, names: &[String], x: Matrix) -> Option<(Vec<f32>, Vec<Flags>)> {
        let scores = self.model.network.forward(&x);
        let names: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
        let made = graph.run(vec![Value::from(x), Value::from(scores)], &names).ok()?;
        let (y, inside, ok) = match &made[..] {
            [Value::Float(y), Value::Bool(inside), Value::Bool(ok)] => (y, inside, Some(ok)),
            [Value::Float(y), Value::Bool(inside)] => (y, inside, None),
            _ => return None,
        };
        let ok = |k: usize| ok.is_none_or(|ok| ok.data.get(k) == Some(&true));
        let flags = inside.data.iter().enumerate().map(|(k, in_domain)| Flags { in_domain: *in_domain, ok: ok(k) });
        Some((y.data.clone(), flags.collect()))
    }

    /// The raw scores behind the outputs.
    pub fn scores(&self, x: &Matrix) -> Matrix {
        self.model.network.forward(&self.model.as_read(x))
    }
}
