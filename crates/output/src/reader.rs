//! A model and input rows enter; its outputs leave, those of the output step behind its network where it has one.

use std::borrow::Cow;

use deepsade_net::{Behind, Matrix, Model, TRUNK_OUTPUT};
use deepsade_spec::NormalSpec;

use crate::decode::{DecodeError, Decoder, Scratch, paths};
use crate::graph::{Graph, Value};
use crate::judge::Judge;

/// How a model's outputs are read.
#[derive(Debug, Clone)]
pub struct Output<'a> {
    model: Cow<'a, Model>,
    spec: Cow<'a, NormalSpec>,
    /// The step, and what its outputs are called.
    step: Option<(Graph, Vec<String>)>,
}

/// What the step says of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags {
    /// Whether the input is in the domain.
    pub in_domain: bool,
    /// Whether the candidate passed; else the fallback answered.
    pub ok: bool,
}

/// What the valid sets make of one row of scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Probabilities {
    /// Of each label, given that the set is valid.
    pub labels: Vec<f64>,
    /// Of the set that is predicted, given that it is valid.
    pub set: f64,
}

/// What a graph takes for 0 at the borders of the domain is smaller: 2^-100.
const TINY: f32 = f32::from_bits(27 << 23);

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
        Ok(Self { model, spec, step })
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
        let near_zero = |v: f32| v != 0.0 && v.abs() < TINY;
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
        self.model.network.forward(x)
    }

    /// The probabilities behind each row of outputs; `None` for a row without a valid set. An error if they can't be had.
    pub fn probabilities(&self, x: &Matrix, y: &Matrix, budget: usize) -> Result<Vec<Option<Probabilities>>, DecodeError> {
        let decoder = Decoder::new(&self.spec, budget)?;
        if decoder.nodes().is_none() {
            return Err(DecodeError::NoProbabilities { budget });
        }
        let (scores, judge, mut scratch) = (self.scores(x), Judge::new(&self.spec), Scratch::default());
        let mut labels = vec![0.0; decoder.labels()];
        let row = |r: usize| {
            if y.row(r).iter().any(|y| y.is_nan()) {
                return None;
            }
            let (s, met) = (scores.row(r), decoder.met(&judge, x.row(r)));
            let log_valid = decoder.log_valid(s, &met, &mut scratch, &mut labels)?;
            let chosen = if decoder.is_one_of() { one_hot(y.row(r)) } else { y.row(r).to_vec() };
            let set = (paths::log_set(s, &chosen) - log_valid).exp();
            (log_valid > f64::NEG_INFINITY).then(|| Probabilities { labels: labels.clone(), set })
        };
        Ok((0..x.rows).map(row).collect())
    }
}

/// Scores of classes as the one that wins.
fn one_hot(scores: &[f32]) -> Vec<f32> {
    let best = crate::predict::predicted_class(scores);
    (0..scores.len()).map(|c| if c == best { 1.0 } else { 0.0 }).collect()
}
