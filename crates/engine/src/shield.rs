//! A model of any tool and rules enter; the same model leaves, byte for byte, with an output step behind it that keeps the rules, and its
//! certificate.
//!
//! Nothing is asked of the model but numbers: one row of outputs for each row of inputs. Trees, convolutions and whole pipelines are
//! carried over without being understood.

use std::collections::BTreeMap;

use deepsade_check::step::{Inputs, Outputs};
use deepsade_net::onnx::carried::{Carried, raised};
use deepsade_net::onnx::piece::{Piece, TO_FLOAT};
use deepsade_net::{ImportError, Port};
use deepsade_output::make;
use deepsade_spec::{NormalSpec, Task};
use thiserror::Error;

use crate::artifact::{self, STEP_KEY};
use crate::enforce::step::{MADE_KEY, Plan, StepError, Usual};
use crate::proof::{Proof, prove_step};

/// The oldest operator set with all that makes candidates.
const NEEDED: i64 = 11;
/// To which a file of an older one is raised, where that changes nothing.
const RAISED: i64 = 13;

/// Why a model can't be shielded.
#[derive(Debug, Error)]
pub enum ShieldError {
    /// The file can't be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// There is a step already.
    #[error("the model has an output step already: shield the model from before")]
    Already,
    /// An old set of operators, in which the model's may mean something else.
    #[error(
        "the model uses operator set {found} of the standard; the step needs {NEEDED}: export it again (target_opset={RAISED}), or convert it (onnx.version_converter)"
    )]
    Old {
        /// The file's.
        found: i64,
    },
    /// Weights in another file.
    #[error(
        "the model keeps weights in another file, which would not go with it: save it with all data inside (save_as_external_data=False)"
    )]
    External,
    /// The inputs do not fit.
    #[error("the graph's inputs do not fit the features of the rules: {0}")]
    Inputs(String),
    /// It is unclear which output is meant.
    #[error("{problem}; the graph's outputs are: {outputs}. Name the one to read (--output)")]
    Output {
        /// What is wrong.
        problem: String,
        /// What there is.
        outputs: String,
    },
    /// The step can't be made.
    #[error(transparent)]
    Step(#[from] StepError),
}

/// What to read of a model.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The tensor with its numbers; `None`: the one output that can be meant.
    pub output: Option<String>,
    /// From where on a label is present or, for two classes and one column, the second class is meant: 0 for logits, 1/2 for
    /// probabilities.
    pub threshold: Option<f32>,
}

/// A shielded model.
#[derive(Debug)]
pub struct Shielded {
    /// Its file.
    pub bytes: Vec<u8>,
    /// What became of its certificate.
    pub proof: Proof,
    /// How candidates are made.
    pub made: String,
    /// The tensor that was read.
    pub output: String,
}

/// Puts an output step behind a model; `usual` says where its outputs usually are.
pub fn shield(bytes: &[u8], spec: &NormalSpec, reading: &Reading, usual: &Usual) -> Result<Shielded, ShieldError> {
    let bytes = raised(bytes, RAISED)?;
    let carried = Carried::read(&bytes)?;
    if carried.mentions(deepsade_check::step::PREFIX) || carried.mentions(make::PREFIX) {
        return Err(ShieldError::Already);
    }
    if carried.has_external_data()? {
        return Err(ShieldError::External);
    }
    let inputs = Inputs::of(&carried.inputs, &spec.schema).map_err(ShieldError::Inputs)?;
    let output = find(&carried, spec, reading)?;
    let mut piece = Piece::default();
    let scores = as_rows(&output, spec, reading.threshold, &mut piece)?;
    if carried.opset < NEEDED {
        return Err(ShieldError::Old { found: carried.opset });
    }
    let taken = carried.names()?;
    let plan = Plan::new(spec, &inputs, &scores, usual)?;
    let mut behind = plan.behind(spec, &inputs, |name| taken.contains(name))?;
    if let (Outputs::Labels(_), Some(last)) = (plan.outputs(), behind.outputs.last_mut()) {
        // The network's own numbers under the name that they have in our files, if it is free.
        if taken.contains(&last.name) {
            behind.outputs.pop();
        } else {
            piece.call("Identity", &[&scores], &last.name);
        }
    }
    piece.append(behind.piece);
    let mut metadata: BTreeMap<String, String> = artifact::metadata(spec);
    metadata.insert(MADE_KEY.into(), plan.how.clone());
    metadata.insert(STEP_KEY.into(), plan.step().to_json());
    let bytes = carried.with(&piece, &behind.outputs, &metadata);
    let proof = prove_step(spec, &bytes, plan.step().clone());
    Ok(Shielded { bytes, proof, made: plan.how, output: output.name })
}

/// The tensor to read: the one that is named, or the one output of numbers. A map of probabilities is read before it becomes one.
fn find(carried: &Carried, spec: &NormalSpec, reading: &Reading) -> Result<Port, ShieldError> {
    let shown = || carried.outputs.iter().map(|p| format!("'{}' ({})", p.name, p.element)).collect::<Vec<_>>().join(", ");
    let wrong = |problem: String| ShieldError::Output { problem, outputs: shown() };
    let number = |p: &&Port| ["float", "double"].contains(&p.element.as_str());
    if let Some(name) = &reading.output {
        let known = carried.outputs.iter().find(|p| p.name == *name).cloned();
        return match known {
            Some(port) if number(&&port) => Ok(port),
            None if carried.names()?.contains(name) => Ok(Port { name: name.clone(), element: "float".into(), dims: Vec::new() }),
            Some(port) => Err(wrong(format!("'{name}' holds {} elements", port.element))),
            None => Err(wrong(format!("there is no tensor '{name}'"))),
        };
    }
    let numbers: Vec<&Port> = carried.outputs.iter().filter(number).collect();
    let maps = carried.unmapped()?;
    match (&numbers[..], &maps[..]) {
        ([port], _) => Ok((*port).clone()),
        ([], [name]) => Ok(Port { name: name.clone(), element: "float".into(), dims: vec![None, None] }),
        ([], _) => Err(wrong(format!("no output holds the numbers of a {}", spec.schema.task.kind()))),
        _ => Err(wrong("several outputs hold numbers".into())),
    }
}

/// Calls that make rows of float32 of the tensor; their name.
fn as_rows(port: &Port, spec: &NormalSpec, threshold: Option<f32>, piece: &mut Piece) -> Result<String, ShieldError> {
    let count = spec.schema.task.outputs();
    let mut name = port.name.clone();
    if port.element == "double" {
        let cast = format!("{}float", make::PREFIX);
        piece.call_with("Cast", &[&name], &cast, &[("to", TO_FLOAT)]);
        name = cast;
    }
    let width = port.dims.get(1).copied().flatten();
    let wrong = |problem: String| ShieldError::Output { problem, outputs: format!("'{}'", port.name) };
    let binary = matches!(spec.schema.task, Task::Binary { .. });
    if binary && (threshold.is_some() || width == Some(1) || port.dims.len() == 1) {
        let Some(threshold) = threshold else {
            return Err(wrong(format!(
                "'{}' has one number a row for two classes: say from where on the second is meant (--threshold 0 for logits, 0.5 for probabilities)",
                port.name
            )));
        };
        let [shape, rows, cut, up, down, both] =
            ["shape", "rows", "cut", "second", "first", "both"].map(|w| format!("{}{w}", make::PREFIX));
        piece.ints(&shape, &[2], vec![-1, 1]);
        piece.call("Reshape", &[&name, &shape], &rows);
        piece.floats(&cut, &[1], vec![threshold]);
        piece.call("Sub", &[&rows, &cut], &up);
        piece.call("Sub", &[&cut, &rows], &down);
        piece.call_with("Concat", &[&down, &up], &both, &[("axis", 1)]);
        return Ok(both);
    }
    if let Some(width) = width.filter(|w| *w != count) {
        return Err(wrong(format!("'{}' has {width} columns, but the rules speak of {count} outputs", port.name)));
    }
    let each = |dims: &[Option<usize>]| dims.iter().try_fold(1usize, |n, d| n.checked_mul((*d)?));
    if port.dims.len() > 2 && each(&port.dims[1..]) != Some(count) {
        return Err(wrong(format!("'{}' does not have one row of {count} numbers for each row of the input", port.name)));
    }
    if port.dims.len() != 2 {
        let [shape, rows] = ["shape", "rows"].map(|w| format!("{}{w}", make::PREFIX));
        piece.ints(&shape, &[2], vec![-1, count as i64]);
        piece.call("Reshape", &[&name, &shape], &rows);
        name = rows;
    }
    if let (Task::Multilabel { .. }, Some(threshold)) = (&spec.schema.task, threshold) {
        let [cut, above] = ["cut", "above"].map(|w| format!("{}{w}", make::PREFIX));
        piece.floats(&cut, &[1], vec![threshold]);
        piece.call("Sub", &[&name, &cut], &above);
        name = above;
    }
    Ok(name)
}
