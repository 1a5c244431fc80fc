//! The name of a tensor enters; leaves what the operators before and around it say of it: how many columns it has, and which classes
//! these are. Files state neither reliably.

use std::collections::BTreeMap;

use prost::Message;

use super::super::error::ImportError;
use super::super::import::LEARNING;
use super::super::proto::{NodeProto, TensorProto, element, is_standard};
use super::super::{tensor, wire};
use super::{Carried, number};

/// Operators whose result has the columns of what they read first.
const PASSING: [&str; 22] = [
    "Abs",
    "Cast",
    "Clip",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Identity",
    "Imputer",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "Neg",
    "Normalizer",
    "Reciprocal",
    "Relu",
    "Scaler",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Sqrt",
    "Tanh",
];
/// Operators that go through their operands column by column; one column goes with many.
const EACH: [&str; 8] = ["Add", "Div", "Max", "Min", "Mul", "Pow", "Sub", "Sum"];
/// What is looked through for the classes of scores: so many operators at most.
pub(super) const STEPS: usize = 12;

impl Carried<'_> {
    /// How many columns a tensor has, where its operators and weights say so.
    pub fn width_of(&self, name: &str) -> Result<Option<usize>, ImportError> {
        Ok(self.nodes()?.widths().get(name).copied())
    }

    /// The classes that the columns of a tensor are scores of, in order, where an operator names them: what turns the tensor into a
    /// map, or the classifier that makes it.
    pub fn classes_of(&self, name: &str) -> Result<Vec<Vec<String>>, ImportError> {
        let nodes = self.nodes()?;
        let mut level = vec![name];
        for _ in 0..STEPS {
            let found: Vec<Vec<String>> = level.iter().flat_map(|name| nodes.classes_at(name)).collect();
            if !found.is_empty() {
                return Ok(found);
            }
            level = level.iter().flat_map(|name| nodes.passed_from(name)).collect();
            level.sort_unstable();
            level.dedup();
        }
        Ok(Vec::new())
    }

    /// All lists of classes that operators of the learning set name, whatever tensor they are about; each once.
    pub fn class_lists(&self) -> Result<Vec<Vec<String>>, ImportError> {
        let mut lists: Vec<Vec<String>> = self.nodes()?.all.iter().filter_map(labels).collect();
        lists.sort();
        lists.dedup();
        Ok(lists)
    }

    /// Whether a tensor may hold probabilities of classes: it becomes a map of these, is called so, or is made as such.
    pub fn may_be_probabilities(&self, name: &str) -> Result<bool, ImportError> {
        let nodes = self.nodes()?;
        let mapped = nodes.all.iter().any(|n| is(n, "ZipMap") && reads(n, name));
        let maker = nodes.all.iter().find(|n| n.output.iter().any(|o| o == name));
        let made = maker.is_some_and(|n| ["Softmax", "Sigmoid", "Normalizer"].contains(&n.op_type.as_str()));
        Ok(mapped || made || name.to_lowercase().contains("prob"))
    }

    /// What a tensor was before it was regrouped into other rows, if it was: converters of several targets do that.
    pub fn before_reshape(&self, name: &str) -> Result<Option<String>, ImportError> {
        let nodes = self.nodes()?;
        let makes = |n: &&NodeProto| n.is_standard("Reshape") && n.output.first().is_some_and(|o| o == name);
        Ok(nodes.all.iter().find(makes).and_then(|n| n.input.first().cloned()))
    }

    pub(super) fn nodes(&self) -> Result<Nodes, ImportError> {
        let all: Vec<NodeProto> = self.messages(number::NODE).map(NodeProto::decode).collect::<Result<_, _>>()?;
        let mut stored = BTreeMap::new();
        for message in self.messages(number::INITIALIZER) {
            let values = Stored::read(message)?;
            stored.insert(values.name.clone(), values);
        }
        for node in all.iter().filter(|n| n.is_standard("Constant")) {
            let value = node.attribute.iter().find(|a| a.name == "value").and_then(|a| a.t.as_ref());
            if let (Some(value), [output]) = (value, &node.output[..]) {
                stored.insert(output.clone(), Stored::read(&value.encode_to_vec())?);
            }
        }
        let width = |dims: &[Option<usize>]| if let [_, width] = dims { *width } else { None };
        let inputs = self.inputs.iter().filter_map(|p| Some((p.name.clone(), width(&p.dims)?))).collect();
        Ok(Nodes { all, stored, inputs })
    }
}

/// A constant: its dimensions, and its elements if they are whole numbers or texts.
pub(super) struct Stored {
    name: String,
    dims: Vec<usize>,
    whole: Vec<i64>,
    texts: Vec<String>,
}

impl Stored {
    fn read(message: &[u8]) -> Result<Self, ImportError> {
        const TEXTS: u64 = 6;
        let fields = wire::fields(message)?;
        let texts = fields.iter().filter(|f| f.number == TEXTS && f.bytes().is_some());
        let texts = texts.map(|f| String::from_utf8_lossy(f.bytes().unwrap_or_default()).into_owned()).collect();
        let proto = TensorProto::decode(message)?;
        let dims = proto.dims.iter().map(|d| usize::try_from(*d).unwrap_or(0)).collect();
        let is_whole = [element::INT64, element::INT32].contains(&proto.data_type);
        let whole = if is_whole { tensor::integers(&proto).unwrap_or_default() } else { Vec::new() };
        Ok(Self { name: proto.name, dims, whole, texts })
    }

    /// Its elements as the names of classes.
    pub(super) fn classes(&self) -> Option<Vec<String>> {
        let all: Vec<String> =
            if self.texts.is_empty() { self.whole.iter().map(i64::to_string).collect() } else { self.texts.clone() };
        (!all.is_empty()).then_some(all)
    }
}

/// The operators of a file and what it stores.
pub(super) struct Nodes {
    pub all: Vec<NodeProto>,
    pub stored: BTreeMap<String, Stored>,
    inputs: BTreeMap<String, usize>,
}

impl Nodes {
    /// The last dimension of every tensor of which it is known. A file has its operators in the order in which they are computed.
    pub fn widths(&self) -> BTreeMap<&str, usize> {
        let mut known: BTreeMap<&str, usize> = self.inputs.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        known.extend(self.stored.iter().map(|(name, s)| (name.as_str(), s.dims.last().copied().unwrap_or(1))));
        for node in &self.all {
            if let (Some(width), Some(output)) = (self.width(node, &known), node.output.first()) {
                known.insert(output, width);
            }
        }
        known
    }

    fn width(&self, node: &NodeProto, known: &BTreeMap<&str, usize>) -> Option<usize> {
        let operand = |k: usize| node.input.get(k).map(String::as_str);
        let of = |k: usize| known.get(operand(k)?).copied();
        let stored = |k: usize| self.stored.get(operand(k)?);
        let int = |name: &str| node.attribute.iter().find(|a| a.name == name).and_then(|a| a.i);
        let op = node.op_type.as_str();
        match (op, is_standard(&node.domain)) {
            ("TreeEnsembleRegressor" | "TreeEnsemble", false) => usize::try_from(int("n_targets").unwrap_or(1)).ok(),
            ("ArrayFeatureExtractor", false) => stored(1).map(|s| s.dims.iter().product()),
            ("LinearRegressor", false) => usize::try_from(int("targets").unwrap_or(1)).ok(),
            _ if PASSING.contains(&op) => of(0),
            (_, true) if EACH.contains(&op) => {
                let all: Vec<usize> = (0..node.input.len()).map(of).collect::<Option<_>>()?;
                let most = all.iter().copied().max()?;
                all.iter().all(|n| *n == most || *n == 1).then_some(most)
            }
            ("MatMul", true) => stored(1).filter(|s| s.dims.len() > 1)?.dims.last().copied(),
            ("Gemm", true) => stored(1)?.dims.get(usize::from(int("transB").unwrap_or(0) == 0)).copied(),
            ("Reshape", true) => match stored(1)?.whole[..] {
                [_, width] => usize::try_from(width).ok().filter(|n| *n > 0),
                _ => None,
            },
            ("Concat", true) if [1, -1].contains(&int("axis")?) => (0..node.input.len()).map(of).sum(),
            _ => None,
        }
    }

    /// The lists of classes that are given right at a tensor.
    fn classes_at(&self, name: &str) -> Vec<Vec<String>> {
        let makes = |node: &&NodeProto| node.output.get(1).is_some_and(|o| o == name) || reads(node, name) && is(node, "ZipMap");
        self.all.iter().filter(makes).filter_map(labels).collect()
    }

    /// What the operator that makes a tensor reads, if it keeps columns in their places.
    fn passed_from(&self, name: &str) -> Vec<&str> {
        let makes = |n: &&NodeProto| n.output.first().is_some_and(|o| o == name);
        let passes = |n: &&NodeProto| [&PASSING[..], &EACH, &["Reshape"]].concat().contains(&n.op_type.as_str());
        let node = self.all.iter().find(makes).filter(passes);
        node.map(|n| n.input.iter().map(String::as_str).collect()).unwrap_or_default()
    }
}

pub(super) fn is(node: &NodeProto, op: &str) -> bool {
    node.op_type == op && node.domain == LEARNING
}

fn reads(node: &NodeProto, name: &str) -> bool {
    node.input.first().is_some_and(|i| i == name)
}

/// The classes that an operator of the learning set names.
pub(super) fn labels(node: &NodeProto) -> Option<Vec<String>> {
    let named = |a: &&super::super::proto::AttributeProto| a.name.starts_with("classlabels_");
    let lists = node.attribute.iter().filter(|_| node.domain == LEARNING).filter(named);
    let texts = lists.map(|a| {
        let whole = a.ints.iter().map(i64::to_string);
        whole.chain(a.strings.iter().map(|s| String::from_utf8_lossy(s).into_owned())).collect::<Vec<_>>()
    });
    texts.into_iter().find(|list| !list.is_empty())
}
