//! A file enters; leaves the file that does not read some columns of its input, and the way back.
//!
//! What reads the input `x` of the one reads `blind.x` in the other, which two nodes in front make of it:
//!
//! ```text
//! blind.is = IsNaN(blind.values)
//! blind.x  = Where(blind.is, x, blind.values)
//! ```
//!
//! A column with a stored number has this number whatever stands in the input, any other passes as it is: nothing is computed, so nothing
//! is rounded. Everything behind reads `blind.x` alone, and every operator there is of a list of such whose results follow from what they
//! read: none is random, none adds up at places that may coincide, none has a graph of its own that could reach past it. So two inputs that differ in the stored columns alone
//! give the same bits.

use prost::Message;

use super::carried::{Carried, Port, number};
use super::error::ImportError;
use super::front::{graph, reading, rewritten, stored};
use super::piece::Piece;
use super::proto::NodeProto;
use super::tensor;
use super::wire;

/// What all names in front begin with.
const PREFIX: &str = "blind.";
const IS: &str = "blind.is";
const VALUES: &str = "blind.values";
const READ: &str = "blind.x";

/// The operators of other tools' learners.
const LEARNING: &str = "ai.onnx.ml";

/// Operators whose results follow from what they read, in alphabetical order.
const FUNCTIONS: [&str; 90] = [
    "Abs",
    "Add",
    "And",
    "ArgMax",
    "ArgMin",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Ceil",
    "Celu",
    "Clip",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Conv",
    "ConvTranspose",
    "CumSum",
    "Div",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Floor",
    "Gather",
    "GatherElements",
    "GatherND",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "InstanceNormalization",
    "IsNaN",
    "LayerNormalization",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "LogSoftmax",
    "MatMul",
    "Max",
    "MaxPool",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "OneHot",
    "Or",
    "PRelu",
    "Pad",
    "Pow",
    "Range",
    "Reciprocal",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Relu",
    "Reshape",
    "Round",
    "Selu",
    "Shape",
    "Sigmoid",
    "Sign",
    "Slice",
    "Softmax",
    "Softplus",
    "Split",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Tanh",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
    "Xor",
];

/// The same of [`LEARNING`].
const LEARNERS: [&str; 16] = [
    "ArrayFeatureExtractor",
    "Binarizer",
    "CategoryMapper",
    "FeatureVectorizer",
    "Imputer",
    "LabelEncoder",
    "LinearClassifier",
    "LinearRegressor",
    "Normalizer",
    "OneHotEncoder",
    "SVMClassifier",
    "SVMRegressor",
    "Scaler",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
    "ZipMap",
];

/// The columns of an input that a file does not read.
#[derive(Debug, Clone, PartialEq)]
pub struct Blind {
    /// For each column of the file's input what is read whatever stands there; `None` where the column is read.
    pub values: Vec<Option<f32>>,
}

impl Blind {
    /// The nodes in front, and what they store.
    fn piece(&self, input: &str) -> Piece {
        let mut piece = Piece::default();
        piece.floats(VALUES, &[self.values.len()], self.values.iter().map(|v| v.unwrap_or(f32::NAN)).collect());
        piece.call("IsNaN", &[VALUES], IS);
        piece.call("Where", &[IS, input, VALUES], READ);
        piece
    }

    /// The file with this in front. Its input are rows of one tensor, and all its operators are known to be functions.
    pub fn before(&self, inner: &[u8]) -> Result<Vec<u8>, ImportError> {
        let carried = Carried::read(inner)?;
        let [Port { name: input, .. }] = &carried.inputs[..] else {
            return Err(ImportError::Blind("its input is not one tensor with a column a number".into()));
        };
        if carried.inputs != [Port::rows(input, "float", Some(self.values.len()))] {
            return Err(ImportError::Blind("its input are not rows of numbers, as many as there are columns".into()));
        }
        if carried.mentions(PREFIX) {
            return Err(ImportError::Blind(format!("names that begin with '{PREFIX}' are taken")));
        }
        let piece = self.piece(input);
        rewritten(inner, |graph, out| {
            piece.calls.iter().for_each(|call| wire::put(number::NODE, &call.to_bytes(), out));
            for field in graph {
                match field.number {
                    number::NODE => {
                        is_function(field.bytes())?;
                        wire::put(number::NODE, &reading(field.bytes(), input, READ)?, out);
                    }
                    _ => out.extend_from_slice(field.raw),
                }
            }
            piece.tensors.iter().for_each(|tensor| wire::put(number::INITIALIZER, &tensor.to_bytes(), out));
            Ok(())
        })
    }

    /// What a file does not read, and the file behind it; `None` if nothing stands in front. Refuses all but what this program writes.
    pub fn split(bytes: &[u8]) -> Result<Option<(Self, Vec<u8>)>, ImportError> {
        let Some(blind) = Self::found(bytes)? else { return Ok(None) };
        let carried = Carried::read(bytes)?;
        let [Port { name: input, .. }] = &carried.inputs[..] else {
            return Err(ImportError::Blind("its input is not one tensor with a column a number".into()));
        };
        let calls = blind.piece(input).calls.len();
        let inner = rewritten(bytes, |graph, out| {
            let mut nodes = 0;
            for field in graph {
                match field.number {
                    number::NODE => {
                        nodes += 1;
                        if nodes > calls {
                            wire::put(number::NODE, &reading(field.bytes(), READ, input)?, out);
                        }
                    }
                    number::INITIALIZER if stored(field.bytes())?.name.starts_with(PREFIX) => {}
                    _ => out.extend_from_slice(field.raw),
                }
            }
            Ok(())
        })?;
        // A node behind that reads the input itself reads something else now.
        if blind.before(&inner)? != bytes {
            return Err(ImportError::Blind(
                "it is not written as this program writes it, or something reads the input itself".into(),
            ));
        }
        Ok(Some((blind, inner)))
    }

    /// By the first node and what is stored for it.
    fn found(bytes: &[u8]) -> Result<Option<Self>, ImportError> {
        // What can't be taken apart is told by who reads the file.
        let Ok(graph) = graph(bytes) else { return Ok(None) };
        let Some(first) = graph.iter().find(|f| f.number == number::NODE) else { return Ok(None) };
        if !NodeProto::decode(first.bytes().unwrap_or_default()).is_ok_and(|node| node.output == [IS]) {
            return Ok(None);
        }
        for field in graph.iter().filter(|f| f.number == number::INITIALIZER) {
            let tensor = stored(field.bytes())?;
            if tensor.name == VALUES {
                let values = tensor::floats(&tensor)?.into_iter().map(|v| (!v.is_nan()).then_some(v)).collect();
                return Ok(Some(Self { values }));
            }
        }
        Err(ImportError::Blind("no values are stored for it".into()))
    }
}

/// Refuses a node whose results may not follow from what it reads.
fn is_function(node: Option<&[u8]>) -> Result<(), ImportError> {
    let node = NodeProto::decode(node.unwrap_or_default())?;
    let known = match node.domain.as_str() {
        "" | "ai.onnx" => &FUNCTIONS[..],
        LEARNING => &LEARNERS[..],
        _ => &[],
    };
    if known.binary_search(&node.op_type.as_str()).is_ok() {
        return Ok(());
    }
    Err(ImportError::Blind(format!("that the operator '{}' gives the same for the same is not known", node.op_type)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Matrix, Model, Network, Node, Op};

    #[test]
    fn lists_are_in_order() {
        assert!(FUNCTIONS.is_sorted() && LEARNERS.is_sorted());
    }

    fn file() -> Vec<u8> {
        let w = Matrix { rows: 1, cols: 3, data: vec![1.0, 2.0, 4.0] };
        let node = Node { op: Op::Dense { w, b: vec![0.0] }, from: vec![0] };
        Model::new(Network { inputs: 3, nodes: vec![node] }).to_bytes().unwrap()
    }

    #[test]
    fn what_is_put_in_front_is_found_again() {
        let blind = Blind { values: vec![None, Some(0.5), None] };
        let written = blind.before(&file()).unwrap();
        assert_eq!(Blind::split(&written).unwrap(), Some((blind, file())));
        assert_eq!(Blind::split(&file()).unwrap(), None);
    }

    /// The dense layer reads `x` once more.
    #[test]
    fn a_node_that_reads_past_it_is_refused() {
        let written = Blind { values: vec![None, Some(0.5), None] }.before(&file()).unwrap();
        let mut nodes = 0;
        let forged = rewritten(&written, |graph, out| {
            for field in graph {
                nodes += usize::from(field.number == number::NODE);
                match field.number {
                    number::NODE if nodes > 2 => wire::put(number::NODE, &reading(field.bytes(), READ, "x")?, out),
                    _ => out.extend_from_slice(field.raw),
                }
            }
            Ok(())
        })
        .unwrap();
        assert_ne!(forged, written);
        assert!(matches!(Blind::split(&forged), Err(ImportError::Blind(_))));
    }

    #[test]
    fn operators_that_may_be_random_are_refused() {
        let node = |op: &str, domain: &str| {
            NodeProto { op_type: op.into(), domain: domain.into(), ..NodeProto::default() }.encode_to_vec()
        };
        for (op, domain) in [
            ("RandomNormalLike", ""),
            ("Bernoulli", ""),
            ("Dropout", ""),
            ("ScatterND", ""),
            ("If", ""),
            ("Relu", "mine"),
            ("Gemm", LEARNING),
        ] {
            assert!(is_function(Some(&node(op, domain))).is_err(), "{op}");
        }
        assert!(is_function(Some(&node("Gemm", ""))).is_ok() && is_function(Some(&node("Scaler", LEARNING))).is_ok());
    }
}
