//! The graph -> which tensor is the input, which the output, and which nodes lie between; each name defined once.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{node, signature};
use crate::onnx::error::ImportError;
use crate::onnx::export::SCORES;
use crate::onnx::proto::{Dimension, GraphProto, NodeProto, TensorProto, ValueInfoProto, element};
use crate::onnx::tensor;

/// Tensors known before anything is computed, by name: initializers and Constant nodes.
pub(super) type Constants<'a> = BTreeMap<&'a str, Cow<'a, TensorProto>>;

pub(super) fn constants(graph: &GraphProto, opset: i64) -> Result<Constants<'_>, ImportError> {
    let initializers = graph.initializer.iter().map(|t| (t.name.as_str(), Cow::Borrowed(t)));
    let nodes = || graph.node.iter().filter(|n| n.is_standard("Constant"));
    for node in nodes() {
        // No two attributes: each reader would take the one that it looks for first.
        let one = node.attribute.len() == 1;
        let one = if one { None } else { Some(("it does not have one value".into(), "it must have one")) };
        let broken = || signature::of(node, opset).and_then(|s| s.broken_by(node));
        if let Some((found, expected)) = one.or_else(broken) {
            return Err(ImportError::Usage { place: node::place(node), found, expected });
        }
    }
    let computed = nodes().filter_map(|n| Some((n.output.first()?.as_str(), constant(n)?)));
    let mut constants = Constants::new();
    for (name, tensor) in initializers.chain(computed) {
        if constants.insert(name, tensor).is_some() {
            return Err(ImportError::DuplicateName { name: name.into() });
        }
    }
    let casts: Vec<&NodeProto> = graph.node.iter().filter(|n| casts_double(n, &constants)).collect();
    for node in casts {
        let (Some(from), Some(name)) = (node.input.first(), node.output.first()) else { continue };
        let cast = tensor::rounded(&constants[from.as_str()], name)?;
        if constants.insert(name, Cow::Owned(cast)).is_some() {
            return Err(ImportError::DuplicateName { name: name.clone() });
        }
    }
    Ok(constants)
}

/// Whether a node makes a constant of float out of one of double.
pub(super) fn casts_double(node: &NodeProto, constants: &Constants<'_>) -> bool {
    let from = node.input.first().and_then(|name| constants.get(name.as_str()));
    let to_float = node.attribute.iter().any(|a| a.name == "to" && a.i == Some(i64::from(element::FLOAT)));
    node.is_standard("Cast") && to_float && from.is_some_and(|t| t.data_type == element::DOUBLE)
}

/// The value of a Constant node; `None` for kinds that no supported operator reads (strings, sparse tensors).
fn constant(node: &NodeProto) -> Option<Cow<'_, TensorProto>> {
    let attribute = node.attribute.first()?;
    let name = node.output.first()?.clone();
    let float = |dims, float_data| TensorProto { data_type: element::FLOAT, dims, float_data, ..TensorProto::default() };
    let int = |dims, int64_data| TensorProto { data_type: element::INT64, dims, int64_data, ..TensorProto::default() };
    let tensor = match attribute.name.as_str() {
        "value" => return attribute.t.as_ref().map(Cow::Borrowed),
        "value_float" => float(vec![], vec![attribute.f?]),
        "value_floats" => float(vec![attribute.floats.len() as i64], attribute.floats.clone()),
        "value_int" => int(vec![], vec![attribute.i?]),
        "value_ints" => int(vec![attribute.ints.len() as i64], attribute.ints.clone()),
        _ => return None,
    };
    Some(Cow::Owned(TensorProto { name, ..tensor }))
}

/// The first dimension of the input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchDimension {
    /// There is none: the input is one row.
    None,
    /// Of any size.
    Any,
    /// Of this size.
    Fixed(usize),
}

pub(super) struct Names<'a> {
    pub input: &'a ValueInfoProto,
    pub output: &'a str,
    graph: &'a GraphProto,
    live: Vec<usize>,
    uses: BTreeMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    /// `output`: the tensor to stop at, where it is not the graph's only float output.
    pub(super) fn index(graph: &'a GraphProto, constants: &Constants<'_>, output: Option<&str>) -> Result<Self, ImportError> {
        // Files of before IR version 4 list the initializers among the inputs.
        let stored: BTreeSet<_> = graph.initializer.iter().map(|t| t.name.as_str()).collect();
        let inputs: Vec<_> = graph.input.iter().filter(|i| !stored.contains(i.name.as_str())).collect();
        let [input] = inputs[..] else {
            return Err(ImportError::Inputs { names: inputs.iter().map(|i| i.name.clone()).collect() });
        };
        let producers = producers(graph, &input.name, constants)?;
        let output = match output {
            Some(wanted) => named_output(graph, &producers, wanted)?,
            None => only_output(graph, &producers)?,
        };
        let live = live(graph, &producers, output);
        let mut uses = BTreeMap::from([(output, 1)]);
        for &k in &live {
            for name in &graph.node[k].input {
                *uses.entry(name.as_str()).or_insert(0) += 1;
            }
        }
        Ok(Self { input, output, graph, live, uses })
    }

    /// The nodes that the output depends on, in the file's order, without Constant nodes.
    pub(super) fn live_nodes(&self) -> impl Iterator<Item = &'a NodeProto> {
        self.live.iter().map(|&k| &self.graph.node[k])
    }

    /// How often live nodes read a tensor; being the output counts as once.
    pub(super) fn uses(&self, name: &str) -> usize {
        self.uses.get(name).copied().unwrap_or(0)
    }

    /// Names of the graph's outputs, for messages.
    pub(super) fn outputs(&self) -> Vec<String> {
        self.graph.output.iter().map(|o| o.name.clone()).collect()
    }

    /// The input's batch size where it is fixed, and the dimensions of one row; a single dimension is a row without a batch.
    pub(super) fn input_shape(&self) -> Result<(BatchDimension, Vec<usize>), ImportError> {
        let wrong = |found: &str| ImportError::InputType { name: self.input.name.clone(), found: found.into() };
        let tensor = self.input.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()).ok_or_else(|| wrong("not a tensor"))?;
        if tensor.elem_type != element::FLOAT {
            return Err(wrong(&format!("a tensor of {}", element::name(tensor.elem_type))));
        }
        let dims = tensor.shape.as_ref().map(|s| &s.dim[..]).ok_or_else(|| wrong("of unknown shape"))?;
        let known = |d: &Option<Dimension>| match d {
            Some(Dimension::Value(n)) => usize::try_from(*n).ok().filter(|n| *n > 0),
            _ => None,
        };
        let (batch, row) = match dims {
            [] => return Err(wrong("of rank 0")),
            [_] => (BatchDimension::None, dims),
            [batch, row @ ..] => (known(&batch.value).map_or(BatchDimension::Any, BatchDimension::Fixed), row),
        };
        let row: Option<Vec<usize>> = row.iter().map(|d| known(&d.value)).collect();
        Ok((batch, row.ok_or_else(|| wrong("of unknown width"))?))
    }
}

/// Which node computes a tensor. The empty name stands for an output that is left out.
fn producers<'a>(
    graph: &'a GraphProto,
    input: &'a str,
    constants: &Constants<'_>,
) -> Result<BTreeMap<&'a str, usize>, ImportError> {
    let mut producers = BTreeMap::new();
    for (k, node) in graph.node.iter().enumerate() {
        for name in node.output.iter().filter(|name| !name.is_empty()) {
            let folded = node.is_standard("Constant") || casts_double(node, constants);
            let constant = constants.contains_key(name.as_str()) && !folded;
            if constant || name == input || producers.insert(name.as_str(), k).is_some() {
                return Err(ImportError::DuplicateName { name: name.clone() });
            }
        }
    }
    Ok(producers)
}

fn named_output<'a>(graph: &'a GraphProto, producers: &BTreeMap<&'a str, usize>, wanted: &str) -> Result<&'a str, ImportError> {
    let names = || graph.output.iter().map(|o| o.name.clone()).collect();
    producers
        .get_key_value(wanted)
        .map(|(name, _)| *name)
        .ok_or_else(|| ImportError::Output { problem: format!("no node computes '{wanted}'"), names: names() })
}

fn only_output<'a>(graph: &'a GraphProto, producers: &BTreeMap<&'a str, usize>) -> Result<&'a str, ImportError> {
    let zip_map = |name: &str| producers.get(name).is_some_and(|&k| graph.node[k].op_type == "ZipMap");
    let scores = |o: &&ValueInfoProto| match o.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()) {
        Some(tensor) => tensor.elem_type == element::FLOAT,
        None => zip_map(&o.name),
    };
    let candidates: Vec<_> = match &graph.output[..] {
        [only] => vec![only],
        // A choice with the scores behind it, as the exporter writes it.
        [chosen, scores] if chosen.name == "y" && scores.name == SCORES => vec![chosen],
        several => several.iter().filter(scores).collect(),
    };
    match candidates[..] {
        [only] => Ok(&only.name),
        _ => Err(ImportError::Output {
            problem: format!("{} of the graph's outputs are float tensors, not one", candidates.len()),
            names: graph.output.iter().map(|o| o.name.clone()).collect(),
        }),
    }
}

fn live(graph: &GraphProto, producers: &BTreeMap<&str, usize>, output: &str) -> Vec<usize> {
    let mut found = BTreeSet::new();
    let mut pending: Vec<usize> = producers.get(output).copied().into_iter().collect();
    while let Some(k) = pending.pop() {
        if !graph.node[k].is_standard("Constant") && found.insert(k) {
            pending.extend(graph.node[k].input.iter().filter_map(|name| producers.get(name.as_str()).copied()));
        }
    }
    found.into_iter().collect()
}
