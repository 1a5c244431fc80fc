//! Why an ONNX file was refused: the place, what was expected, and what to do.

use std::fmt;

use crate::NetworkError;

/// A node of the file, as messages name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePlace {
    /// The node's name, or the tensor it computes where it has none.
    pub node: String,
    /// The operator.
    pub op: String,
}

impl fmt::Display for NodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node '{}' ({})", self.node, self.op)
    }
}

/// Why a file cannot be imported.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The bytes are no protobuf message of the right kind.
    #[error("this is not an ONNX file, or it is damaged: it can't be read as one")]
    Damaged(#[from] prost::DecodeError),
    /// The bytes have a form that readers may understand differently.
    #[error("the file holds {0}: it is damaged, or made to be read in two ways")]
    Wire(&'static str),
    /// The file has no graph.
    #[error("the file holds no graph: it is empty, or not an ONNX model")]
    NoGraph,
    /// Several versions of the operator set.
    #[error("the file imports the default operator set in several versions: export it with one, such as opset 13")]
    Opsets,
    /// The operator set is missing, too old or too new.
    #[error("the file uses operator set {found}, but {oldest} to {newest} are understood: export it with opset 13")]
    Opset {
        /// The file's version of the default operator set; 0 when it names none.
        found: i64,
        /// Oldest that is understood.
        oldest: i64,
        /// Newest that is understood.
        newest: i64,
    },
    /// The format is too old.
    #[error(
        "the file has IR version {found}, in which every stored tensor is an input; {oldest} or newer is needed: export it again"
    )]
    Format {
        /// The file's.
        found: i64,
        /// Oldest that is understood.
        oldest: i64,
    },
    /// What fills in missing values in front of the network is not what it should be.
    #[error("what fills in missing values in front of the network can't be trusted: {0}")]
    Filling(&'static str),
    /// An operator that writes into what it reads.
    #[error(
        "the file has a BatchNormalization in training mode, which writes into what it reads: export the model for inference (in PyTorch after \
         `model.eval()`)"
    )]
    Writes,
    /// That nothing reads some columns of the input can't be told.
    #[error("that nothing in the file reads some of its columns can't be told: {0}")]
    Blind(String),
    /// The file does not end in the piece that it should end in.
    #[error("the end of the file is not the step that its rules ask for: {place} differs")]
    Piece {
        /// Where it differs.
        place: String,
    },
    /// The step reads what nothing before it makes.
    #[error("nothing before the step makes its candidate '{name}'")]
    Candidate {
        /// What it is called.
        name: String,
    },
    /// Two tensors share a name.
    #[error("the name '{name}' is given to two tensors: the file is damaged")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// The file gives an operator of the standard a meaning of its own.
    #[error("the file defines its own operator '{name}': only standard operators are read, so export it with functions inlined")]
    Function {
        /// The operator.
        name: String,
    },
    /// The file says how it is to be trained, which may change what its weights are.
    #[error("the file holds graphs for training: export it for inference")]
    Training,
    /// The file is a valid one, but not byte for byte what [`crate::Model::to_bytes`] writes.
    #[error("the file was not written by deepsade, or was changed since: import it and export it again")]
    NotOurs,
    /// A file of ours in which a runtime may multiply constants of two nodes together.
    #[error(
        "node {node} scales {width} columns right behind another linear node, where a runtime may fold both into one: join them"
    )]
    Foldable {
        /// The node of the network.
        node: usize,
        /// Its width.
        width: usize,
    },
    /// Two metadata entries share a key.
    #[error("the metadata key '{key}' occurs twice")]
    DuplicateMetadata {
        /// The key.
        key: String,
    },
    /// The graph does not have exactly one input.
    #[error("the graph has {} inputs ({}), but a network reads exactly one: concatenate them before exporting", names.len(), names.join(", "))]
    Inputs {
        /// Their names.
        names: Vec<String>,
    },
    /// A stored tensor that whoever runs the file may replace.
    #[error(
        "the stored tensor '{name}' is also an input of the graph, so whoever runs the file can replace it: export without that \
         (keep_initializers_as_inputs=False), or take it from the graph's inputs"
    )]
    Overridable {
        /// Its name.
        name: String,
    },
    /// The input is not a batch of float rows of known width.
    #[error("the input '{name}' is {found}, but a float tensor [batch, features] with known features is needed")]
    InputType {
        /// Its name.
        name: String,
        /// What it is instead.
        found: String,
    },
    /// It is unclear which output is meant, or the one asked for does not exist.
    #[error("{problem}; the graph's outputs are: {}. Name the one to read", names.join(", "))]
    Output {
        /// What is wrong.
        problem: String,
        /// Names of the graph's outputs.
        names: Vec<String>,
    },
    /// A node reads a tensor that no earlier node computes: missing, out of order, or part of a cycle.
    #[error("{place} reads '{tensor}', which is neither a constant nor computed by an earlier node")]
    Undefined {
        /// The node.
        place: NodePlace,
        /// The tensor.
        tensor: String,
    },
    /// The operator is not one that a network of this kind can have.
    #[error("{place}: this operator is not supported: {hint}")]
    Operator {
        /// The node.
        place: NodePlace,
        /// What to do.
        hint: String,
    },
    /// An operator is used in a way that is not supported.
    #[error("{place}: {found}, but {expected}")]
    Usage {
        /// The node.
        place: NodePlace,
        /// What the file has.
        found: String,
        /// What is needed.
        expected: &'static str,
    },
    /// A tensor's data is not there, or not of the size that its dimensions claim.
    #[error("tensor '{name}' has dimensions {dims:?}, but data for {found} elements: the file is damaged")]
    TensorSize {
        /// The tensor.
        name: String,
        /// Its dimensions.
        dims: Vec<i64>,
        /// Elements that its data holds.
        found: usize,
    },
    /// A tensor's elements have the wrong type.
    #[error("tensor '{name}' holds {found} elements, but {expected} are needed: convert the model to float32 before exporting")]
    ElementType {
        /// The tensor.
        name: String,
        /// The type needed.
        expected: &'static str,
        /// The type found.
        found: String,
    },
    /// A tensor's data lies in another file.
    #[error("tensor '{name}' keeps its data in another file: save the model with all data inside (save_as_external_data=False)")]
    ExternalData {
        /// The tensor.
        name: String,
    },
    /// The graph has sparse tensors.
    #[error("the graph has sparse tensors, which are not supported: convert them to dense ones before exporting")]
    Sparse,
    /// A parameter is, or becomes, infinite or not a number.
    #[error("{place}: a parameter is infinite or not a number (computed from '{tensor}')")]
    NotFinite {
        /// The node.
        place: NodePlace,
        /// The tensor it comes from.
        tensor: String,
    },
    /// The network would need far more memory than the file has bytes.
    #[error("{place}: the network would take more than {limit} numbers, out of proportion to a file of this size")]
    TooLarge {
        /// The node.
        place: NodePlace,
        /// The limit for this file.
        limit: usize,
    },
    /// What was read is not a network; names our node, not the file's.
    #[error("the imported network is not valid: {0}")]
    Network(#[from] NetworkError),
}
