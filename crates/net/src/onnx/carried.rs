//! A file of any tool enters, to be carried over byte for byte; leaves what can be said of it without understanding its operators, and
//! the file with a piece behind it.

mod labels;
mod said;
mod writers;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use prost::Message;

use super::error::ImportError;
use super::export;
use super::import::{LEARNING, metadata, opset};
use super::piece::{Call, Numbers, Piece, Tensor};
use super::proto::{
    Dimension, FunctionProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto, TensorProto, ValueInfoProto,
    element, is_standard,
};
use super::tensor;
use super::wire::{self, Field, FieldValue};

/// Field numbers of onnx.proto.
pub(super) mod number {
    pub(in crate::onnx) const GRAPH: u64 = 7;
    pub(in crate::onnx) const OPSET: u64 = 8;
    pub(in crate::onnx) const METADATA: u64 = 14;
    pub(in crate::onnx) const FUNCTIONS: u64 = 25;
    pub(in crate::onnx) const NODE: u64 = 1;
    pub(in crate::onnx) const INITIALIZER: u64 = 5;
    pub(in crate::onnx) const INPUT: u64 = 11;
    pub(in crate::onnx) const OUTPUT: u64 = 12;
    pub(in crate::onnx) const SPARSE: u64 = 15;
    pub(in crate::onnx) const DATA_LOCATION: u64 = 14;
}

/// Operators that mean the same from set 7 of the standard to set 13, for all that a graph of set 7 can hold.
const LASTING: [&str; 40] = [
    "Abs",
    "Add",
    "And",
    "ArgMax",
    "ArgMin",
    "AveragePool",
    "Cast",
    "Concat",
    "Constant",
    "Conv",
    "Div",
    "Elu",
    "Equal",
    "Exp",
    "Flatten",
    "Gather",
    "Gemm",
    "GlobalAveragePool",
    "Greater",
    "Identity",
    "LeakyRelu",
    "Less",
    "Log",
    "MatMul",
    "Max",
    "MaxPool",
    "Min",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Relu",
    "Reshape",
    "Shape",
    "Sigmoid",
    "Sqrt",
    "Sub",
    "Sum",
    "Tanh",
    "Transpose",
];
/// The oldest set of the standard from which a file is raised.
const RAISED_FROM: i64 = 7;

/// The file with a newer set of the standard's operators, if it has an older one, or none, in which all that it uses is the same. Some
/// tools write files of trees that name no set, or one that is older than the operators that are to stand behind them.
pub fn raised(bytes: &[u8], to: i64) -> Result<Cow<'_, [u8]>, ImportError> {
    let fields = wire::fields(bytes)?;
    let import = |f: &Field| (f.number == number::OPSET).then(|| OperatorSetIdProto::decode(f.bytes().unwrap_or_default()));
    let mut sets = Vec::new();
    for found in fields.iter().filter_map(import) {
        sets.push(found?);
    }
    let standard: Vec<i64> = sets.iter().filter(|set| is_standard(&set.domain)).map(|set| set.version).collect();
    if standard.len() > 1 || standard.iter().any(|v| !(RAISED_FROM..to).contains(v)) {
        return Ok(Cow::Borrowed(bytes));
    }
    for graph in fields.iter().filter(|f| f.number == number::GRAPH).filter_map(Field::bytes) {
        for node in wire::fields(graph)?.iter().filter(|f| f.number == number::NODE) {
            let node = NodeProto::decode(node.bytes().unwrap_or_default())?;
            let lasts = !standard.is_empty() && LASTING.contains(&node.op_type.as_str());
            if is_standard(&node.domain) && !lasts {
                return Ok(Cow::Borrowed(bytes));
            }
        }
    }
    let mut file = Vec::with_capacity(bytes.len() + 8);
    let is_old = |f: &Field| import(f).and_then(Result::ok).is_some_and(|set| is_standard(&set.domain));
    fields.iter().filter(|f| !is_old(f)).for_each(|f| file.extend_from_slice(f.raw));
    wire::put(number::OPSET, &OperatorSetIdProto { domain: String::new(), version: to }.encode_to_vec(), &mut file);
    Ok(Cow::Owned(file))
}

/// The version of the set of operators for encoders that is imported where a file has none.
pub const LEARNING_OPSET: i64 = 1;
/// The oldest format in which a stored tensor need not be an input of the graph.
const OLDEST_FORMAT: i64 = 4;

/// An input or output of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// What its elements are, by the name that onnx.proto gives the type: float, bool, int64, string.
    pub element: String,
    /// Its dimensions, `None` for those that are open.
    pub dims: Vec<Option<usize>>,
}

/// A file taken apart.
#[derive(Debug)]
pub struct Carried<'a> {
    /// All fields of the model but its graph, functions included.
    model: Vec<Field<'a>>,
    graph: Vec<Field<'a>>,
    /// Version of the default operator set.
    pub opset: i64,
    /// Version of the set of operators for trees and encoders, if the file has it.
    pub learning_opset: Option<i64>,
    /// What the graph reads.
    pub inputs: Vec<Port>,
    /// What it gives.
    pub outputs: Vec<Port>,
    /// Its metadata.
    pub metadata: BTreeMap<String, String>,
}

/// What stands before a piece in a file.
#[derive(Debug)]
pub struct Before<'a> {
    raw: Vec<&'a [u8]>,
    /// Names of everything that is computed or stored there.
    pub defined: BTreeSet<String>,
}

impl<'a> Carried<'a> {
    /// Takes a file apart; refuses what another reader may understand differently.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ImportError> {
        Self::of_format(bytes, OLDEST_FORMAT)
    }

    /// The same for files of older formats, in which every constant is listed among the inputs.
    pub(super) fn of_format(bytes: &'a [u8], oldest: i64) -> Result<Self, ImportError> {
        let (graphs, model): (Vec<_>, Vec<_>) = wire::fields(bytes)?.into_iter().partition(|f| f.number == number::GRAPH);
        let [graph] = &graphs[..] else {
            return Err(if graphs.is_empty() { ImportError::NoGraph } else { ImportError::Wire("several graphs") });
        };
        let graph = wire::fields(graph.bytes().ok_or(ImportError::NoGraph)?)?;
        // Everything about the file but the graph, which may be of any size and shape.
        let around: Vec<u8> = model.iter().filter(|f| f.number != number::FUNCTIONS).flat_map(|f| f.raw).copied().collect();
        let file = ModelProto::decode(&around[..])?;
        if file.ir_version < oldest {
            return Err(ImportError::Format { found: file.ir_version, oldest });
        }
        if !file.training_info.is_empty() {
            return Err(ImportError::Training);
        }
        for function in model.iter().filter(|f| f.number == number::FUNCTIONS) {
            let own = FunctionProto::decode(function.bytes().unwrap_or_default())?;
            if is_standard(&own.domain) || own.domain == LEARNING {
                return Err(ImportError::Function { name: own.name });
            }
        }
        let functions: Vec<&[u8]> = model.iter().filter(|f| f.number == number::FUNCTIONS).filter_map(Field::bytes).collect();
        writers::refuse(&graph, &functions)?;
        let ports = |number: u64| graph.iter().filter(move |f| f.number == number).map(port).collect::<Result<Vec<_>, _>>();
        let (inputs, outputs) = (ports(number::INPUT)?, ports(number::OUTPUT)?);
        let mut names = BTreeSet::new();
        if let Some(twice) = inputs.iter().find(|p| !names.insert(&p.name)) {
            return Err(ImportError::DuplicateName { name: twice.name.clone() });
        }
        let mut learning = file.opset_import.iter().filter(|o| o.domain == LEARNING).map(|o| o.version);
        let learning_opset = learning.next();
        if learning.any(|v| Some(v) != learning_opset) {
            return Err(ImportError::Opsets);
        }
        Ok(Self { opset: opset(&file)?, learning_opset, metadata: metadata(&file)?, model, graph, inputs, outputs })
    }

    /// The file with a piece behind its graph, these outputs in place of its own, and metadata beside its own.
    pub fn with(&self, piece: &Piece, outputs: &[Port], metadata: &BTreeMap<String, String>) -> Vec<u8> {
        let mut graph = Vec::new();
        self.graph.iter().filter(|f| f.number != number::OUTPUT).for_each(|f| graph.extend_from_slice(f.raw));
        piece.calls.iter().for_each(|call| wire::put(number::NODE, &call.to_bytes(), &mut graph));
        piece.tensors.iter().for_each(|tensor| wire::put(number::INITIALIZER, &tensor.to_bytes(), &mut graph));
        outputs.iter().for_each(|port| wire::put(number::OUTPUT, &port.to_bytes(), &mut graph));
        let mut file = Vec::new();
        self.model.iter().filter(|f| f.number != number::METADATA).for_each(|f| file.extend_from_slice(f.raw));
        if self.learning_opset.is_none() && piece.calls.iter().any(|c| c.domain == LEARNING) {
            let import = OperatorSetIdProto { domain: LEARNING.into(), version: LEARNING_OPSET };
            wire::put(number::OPSET, &import.encode_to_vec(), &mut file);
        }
        wire::put(number::GRAPH, &graph, &mut file);
        let mut all = self.metadata.clone();
        all.extend(metadata.iter().map(|(key, value)| (key.clone(), value.clone())));
        for (key, value) in all {
            wire::put(number::METADATA, &StringStringEntryProto { key, value }.encode_to_vec(), &mut file);
        }
        file
    }

    /// What stands before a piece, if the file ends in it, byte for byte, and gives these outputs first.
    pub fn before(&self, piece: &Piece, outputs: &[Port]) -> Result<Before<'a>, ImportError> {
        let given: Vec<&[u8]> = self.messages(number::OUTPUT).collect();
        if given.len() < outputs.len() || outputs.iter().zip(&given).any(|(own, found)| *found != own.to_bytes()) {
            return Err(ImportError::Piece { place: "the outputs of the graph".into() });
        }
        let (nodes, tensors): (Vec<_>, Vec<_>) =
            (self.messages(number::NODE).collect(), self.messages(number::INITIALIZER).collect());
        let ends = |all: &[&[u8]], own: usize| all.len().checked_sub(own);
        let first = |what: &str| ImportError::Piece { place: format!("{what}: there are fewer than the step has") };
        let node = ends(&nodes, piece.calls.len()).ok_or_else(|| first("the nodes"))?;
        let tensor = ends(&tensors, piece.tensors.len()).ok_or_else(|| first("the stored tensors"))?;
        for (found, call) in nodes[node..].iter().zip(&piece.calls) {
            if *found != call.to_bytes() {
                return Err(ImportError::Piece { place: format!("the node that makes '{}' ({})", call.makes, call.op) });
            }
        }
        for (found, own) in tensors[tensor..].iter().zip(&piece.tensors) {
            if *found != own.to_bytes() {
                return Err(ImportError::Piece { place: format!("the stored tensor '{}'", own.name) });
            }
        }
        let (mut raw, mut defined, mut left) = (Vec::new(), BTreeSet::new(), [node, tensor]);
        for field in &self.graph {
            match field.number {
                number::OUTPUT => continue,
                number::NODE | number::INITIALIZER => {
                    let left = &mut left[usize::from(field.number == number::INITIALIZER)];
                    if *left == 0 {
                        continue;
                    }
                    *left -= 1;
                }
                _ => {}
            }
            raw.push(field.raw);
            defined.extend(names(field)?);
        }
        Ok(Before { raw, defined })
    }

    /// Calls and constants from the first call on that makes a tensor with one of these prefixes: what was put behind a trunk.
    pub fn piece(&self, prefixes: &[&str]) -> Result<Piece, ImportError> {
        let ours = |name: &str| prefixes.iter().any(|p| name.starts_with(p));
        let mut piece = Piece::default();
        for message in self.messages(number::NODE) {
            let node = NodeProto::decode(message)?;
            if !piece.calls.is_empty() || node.output.first().is_some_and(|o| ours(o)) {
                let unread = || ImportError::Piece { place: format!("the node that makes '{}'", node.output.join("', '")) };
                piece.calls.push(Call::read(&node).ok_or_else(unread)?);
            }
        }
        for message in self.messages(number::INITIALIZER) {
            let stored = TensorProto::decode(message)?;
            if ours(&stored.name) {
                let dims = tensor::dims(&stored)?;
                let data = match stored.data_type {
                    element::INT64 => Numbers::Int(tensor::integers(&stored)?),
                    _ => Numbers::Float(tensor::floats(&stored)?),
                };
                piece.tensors.push(Tensor { name: stored.name, dims, data });
            }
        }
        Ok(piece)
    }

    /// Names of everything that the graph computes, stores or reads.
    pub fn names(&self) -> Result<BTreeSet<String>, ImportError> {
        let mut all: BTreeSet<String> = self.inputs.iter().map(|p| p.name.clone()).collect();
        for field in &self.graph {
            all.extend(names(field)?);
        }
        Ok(all)
    }

    /// What is read by the nodes that turn rows of probabilities into maps from classes (`ZipMap`).
    pub fn unmapped(&self) -> Result<Vec<String>, ImportError> {
        let mut found = Vec::new();
        for message in self.messages(number::NODE) {
            let fields = wire::fields(message)?;
            let text = |number: u64| fields.iter().find(|f| f.number == number).map(Field::text).transpose();
            if text(4)?.as_deref() == Some("ZipMap") {
                found.extend(text(1)?);
            }
        }
        Ok(found)
    }

    /// Whether a stored tensor keeps its data in another file.
    pub fn has_external_data(&self) -> Result<bool, ImportError> {
        for message in self.messages(number::INITIALIZER) {
            let elsewhere =
                wire::fields(message)?.iter().any(|f| f.number == number::DATA_LOCATION && f.value == FieldValue::Varint(1));
            if elsewhere {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a text stands anywhere in the graph.
    pub fn mentions(&self, text: &str) -> bool {
        mentioned(self.graph.iter().map(|f| f.raw), text)
    }

    fn messages(&self, number: u64) -> impl Iterator<Item = &'a [u8]> {
        self.graph.iter().filter(move |f| f.number == number).filter_map(Field::bytes)
    }
}

impl Before<'_> {
    /// Whether a tensor that a piece reads stands there, or is an input. What stands nowhere, or is made by the piece itself, no runtime
    /// would load; and the empty name is that of an output which is left out.
    pub fn gives(&self, name: &str, inputs: &[Port]) -> Result<(), ImportError> {
        let known = self.defined.contains(name) || inputs.iter().any(|p| p.name == name);
        if known && !name.is_empty() { Ok(()) } else { Err(ImportError::Candidate { name: name.into() }) }
    }

    /// Whether a text stands anywhere in it: as a name, inside a sub-graph, or by chance.
    pub fn mentions(&self, text: &str) -> bool {
        mentioned(self.raw.iter().copied(), text)
    }
}

fn mentioned<'a>(mut parts: impl Iterator<Item = &'a [u8]>, text: &str) -> bool {
    parts.any(|raw| raw.windows(text.len()).any(|w| w == text.as_bytes()))
}

impl Port {
    /// Rows of so many numbers of a type, or one number a row.
    pub fn rows(name: &str, element: &str, width: Option<usize>) -> Self {
        let dims = std::iter::once(None).chain(width.map(Some)).collect();
        Self { name: name.into(), element: element.into(), dims }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        export::value_info(&self.name, element::code(&self.element), &self.dims).encode_to_vec()
    }
}

fn port(field: &Field) -> Result<Port, ImportError> {
    let info = ValueInfoProto::decode(field.bytes().unwrap_or_default())?;
    let tensor = info.r#type.and_then(|t| t.tensor_type);
    let dim = |d: super::proto::DimensionProto| match d.value {
        Some(Dimension::Value(n)) => usize::try_from(n).ok(),
        _ => None,
    };
    let (code, shape) = tensor.map_or((0, None), |t| (t.elem_type, t.shape));
    let dims = shape.map(|s| s.dim.into_iter().map(dim).collect()).unwrap_or_default();
    Ok(Port { name: info.name, element: element::name(code), dims })
}

/// The names that a field of a graph gives to tensors.
fn names(field: &Field) -> Result<Vec<String>, ImportError> {
    let texts = |message: &[u8], number: u64| {
        wire::fields(message)?.iter().filter(|f| f.number == number).map(Field::text).collect::<Result<Vec<_>, _>>()
    };
    let Some(message) = field.bytes() else { return Ok(Vec::new()) };
    match field.number {
        number::NODE => texts(message, 2),
        number::INITIALIZER => texts(message, 8),
        number::SPARSE => {
            let values = wire::fields(message)?.into_iter().filter(|f| f.number == 1).filter_map(|f| f.bytes());
            values.map(|v| texts(v, 8)).collect::<Result<Vec<_>, _>>().map(|n| n.concat())
        }
        _ => Ok(Vec::new()),
    }
}
