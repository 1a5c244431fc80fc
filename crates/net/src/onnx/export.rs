//! A valid network -> ONNX bytes that onnxruntime runs and that verifiers (Marabou, `auto_LiRPA`) read.
//!
//! One ONNX node (or a few) for each of ours, in order, so that import gives the same network back. Marabou shapes three choices: it refuses
//! Gather, so Select is a product with a 0/1 matrix; it multiplies by single numbers only, so Affine is a Gemm with a diagonal
//! matrix (transB = 0, where Dense has transB = 1); and its Add edits the equation of the value it reads, which is wrong where that
//! value is read elsewhere too, so Affine does not use Add. A Conv or `MaxPool` stands between a Reshape and a Flatten, as all else works on
//! columns. The products with zero that a diagonal or 0/1 matrix adds are exact.

use prost::Message;

use super::Model;
use super::proto::{
    AttributeProto, Dimension, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto,
    TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, element, kind,
};
use crate::{Activation, Matrix, Network, NetworkError, Node, Op, Window};

const OPSET: i64 = 13;
/// Name of the second output of a network that ends in a choice.
pub(super) const SCORES: &str = "scores";
/// What the output of a plain network is called.
pub(super) const OUTPUT: &str = "y";
const IR_VERSION: i64 = 8;
/// Above this width a diagonal matrix would outgrow the rest of the file (256 KB), and Affine is written as Mul and Add.
const DIAGONAL_LIMIT: usize = 256;
/// The same where a Mul would be folded (4 MB).
const INNER_LIMIT: usize = 1024;

/// `output` is what the graph's output is called.
pub(super) fn export(model: &Model, output: &'static str) -> Result<Vec<u8>, NetworkError> {
    let network = &model.network;
    network.validate()?;
    let widths = network.widths();
    let scores = network.scores();
    let folds = folds(network);
    let mut graph = GraphWriter { last: network.nodes.len(), output, scores, ..GraphWriter::default() };
    for (k, node) in network.nodes.iter().enumerate() {
        graph.write(k, node, widths[node.from[0]], diagonal_limit(folds[node.from[0]]));
    }
    if network.nodes.is_empty() {
        graph.node("Identity", "n0", vec!["x".into()], output.into(), vec![]);
    }
    let graph = GraphProto {
        node: graph.nodes,
        name: "deepsade".into(),
        initializer: graph.initializers,
        input: vec![float_rows("x", network.inputs)],
        output: std::iter::once(float_rows(output, network.outputs()))
            .chain(scores.map(|v| float_rows(SCORES, widths[v])))
            .collect(),
        sparse_initializer: vec![],
    };
    let metadata_props =
        model.metadata.iter().map(|(key, value)| StringStringEntryProto { key: key.clone(), value: value.clone() }).collect();
    let file = ModelProto {
        ir_version: IR_VERSION,
        producer_name: "deepsade".into(),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: OPSET }],
        metadata_props,
        training_info: vec![],
        functions: vec![],
    };
    Ok(file.encode_to_vec())
}

/// For each value whether a Mul or Add by constants behind it may be folded: runtimes multiply them into those of the `MatMul`, Mul or Add
/// before it. Two Gemm, one behind the other, they leave alone.
fn folds(network: &Network) -> Vec<bool> {
    let mut folds = vec![false];
    for node in &network.nodes {
        folds.push(match (&node.op, &node.from[..]) {
            (Op::Affine { .. } | Op::Dense { .. } | Op::Select(_) | Op::Conv(_), _) => true,
            // Of one value it is a copy, which runtimes remove.
            (Op::Concat, [only]) => folds[*only],
            _ => false,
        });
    }
    folds
}

fn diagonal_limit(folds: bool) -> usize {
    if folds { INNER_LIMIT } else { DIAGONAL_LIMIT }
}

/// How many numbers the matrices of a valid network's file hold: the zeros of an Affine or Select can be far more than were read.
pub(super) fn numbers(network: &Network) -> usize {
    let (widths, folds) = (network.widths(), folds(network));
    let matrix = |node: &Node| match &node.op {
        Op::Dense { w, .. } => w.data.len(),
        Op::Affine { scale, .. } if scale.len() <= diagonal_limit(folds[node.from[0]]) => scale.len() * scale.len(),
        Op::Select(columns) if !is_wide(widths[node.from[0]], columns) => widths[node.from[0]] * columns.len(),
        Op::Conv(conv) => conv.w.len(),
        _ => 0,
    };
    network.nodes.iter().fold(0, |sum, node| sum.saturating_add(matrix(node)))
}

/// The first node of a valid network that is written so that a runtime may fold it, and its width.
pub(super) fn foldable(network: &Network) -> Option<(usize, usize)> {
    let folds = folds(network);
    network.nodes.iter().enumerate().find_map(|(k, node)| match &node.op {
        Op::Affine { scale, .. } if scale.len() > INNER_LIMIT && folds[node.from[0]] => Some((k, scale.len())),
        _ => None,
    })
}

#[derive(Default)]
struct GraphWriter {
    /// Index of the value that is the output.
    last: usize,
    /// What it is called.
    output: &'static str,
    /// Index of the value behind a choice of the output, which is a second output.
    scores: Option<usize>,
    nodes: Vec<NodeProto>,
    initializers: Vec<TensorProto>,
}

impl GraphWriter {
    /// `width` is that of the first value read, `limit` the width up to which an Affine becomes a matrix.
    fn write(&mut self, k: usize, node: &Node, width: usize, limit: usize) {
        let from: Vec<String> = node.from.iter().map(|&v| self.value(v)).collect();
        let x = from[0].clone();
        let name = format!("n{k}");
        let y = self.value(k + 1);
        match &node.op {
            Op::Dense { w, b } => {
                let w = self.tensor(&name, "w", &[w.rows, w.cols], &w.data);
                let b = self.tensor(&name, "b", &[b.len()], b);
                self.node("Gemm", &name, vec![x, w, b], y, vec![integer("transB", 1)]);
            }
            Op::Affine { scale, shift } if scale.len() <= limit => {
                let mut diagonal = Matrix::zeros(scale.len(), scale.len());
                scale.iter().enumerate().for_each(|(i, s)| diagonal.row_mut(i)[i] = *s);
                let mut reads = vec![x, self.tensor(&name, "scale", &[scale.len(), scale.len()], &diagonal.data)];
                if !is_zero(shift) {
                    reads.push(self.tensor(&name, "shift", &[shift.len()], shift));
                }
                self.node("Gemm", &name, reads, y, vec![]);
            }
            Op::Affine { scale, shift } => self.wide_affine(&name, scale, shift, x, y),
            Op::Act(f) => {
                let op = match f {
                    Activation::Relu => "Relu",
                    Activation::Sigmoid => "Sigmoid",
                    Activation::Tanh => "Tanh",
                };
                self.node(op, &name, vec![x], y, vec![]);
            }
            Op::Select(columns) if is_wide(width, columns) => {
                let columns: Vec<i64> = columns.iter().map(|c| *c as i64).collect();
                let columns = self.integers(&name, "columns", &columns);
                self.node("Gather", &name, vec![x, columns], y, vec![integer("axis", 1)]);
            }
            Op::Select(columns) => {
                let mut choice = Matrix::zeros(width, columns.len());
                columns.iter().enumerate().for_each(|(k, &c)| choice.row_mut(c)[k] = 1.0);
                let choice = self.tensor(&name, "choice", &[choice.rows, choice.cols], &choice.data);
                self.node("MatMul", &name, vec![x, choice], y, vec![]);
            }
            Op::Concat => self.node("Concat", &name, from, y, vec![integer("axis", 1)]),
            Op::Gate => self.node("Mul", &name, from, y, vec![]),
            Op::Conv(conv) => {
                let [down, right] = conv.window.size;
                let w = [conv.b.len(), conv.window.input[0] / conv.groups, down, right];
                let w = self.tensor(&name, "w", &w, &conv.w);
                let b = self.tensor(&name, "b", &[conv.b.len()], &conv.b);
                let groups = integer("group", conv.groups as i64);
                self.over_windows("Conv", &name, (x, vec![w, b]), y, &conv.window, groups);
            }
            // Its indices would be line by line.
            Op::MaxPool(window) => self.over_windows("MaxPool", &name, (x, vec![]), y, window, integer("storage_order", 0)),
            Op::Choose(table) => {
                let index = format!("{name}_index");
                self.node("ArgMax", &index, vec![x], index.clone(), vec![integer("axis", 1), integer("keepdims", 0)]);
                let table = self.tensor(&name, "table", &[table.rows, table.cols], &table.data);
                self.node("Gather", &name, vec![table, index], y, vec![integer("axis", 0)]);
            }
        }
    }

    /// Columns become a picture, and its results columns again.
    fn over_windows(
        &mut self,
        op: &str,
        name: &str,
        (x, parameters): (String, Vec<String>),
        y: String,
        window: &Window,
        own: AttributeProto,
    ) {
        let [channels, height, width] = window.input;
        let shape = self.integers(name, "shape", &[0, channels as i64, height as i64, width as i64]);
        let (read, given) = (format!("{name}_picture"), format!("{name}_windows"));
        self.node("Reshape", &read, vec![x, shape], read.clone(), vec![]);
        let numbers = |name: &str, v: &[usize]| AttributeProto {
            name: name.into(),
            ints: v.iter().map(|n| *n as i64).collect(),
            kind: Some(kind::INTS),
            ..AttributeProto::default()
        };
        let attributes = vec![
            numbers("dilations", &window.dilation),
            own,
            numbers("kernel_shape", &window.size),
            numbers("pads", &window.pads),
            numbers("strides", &window.stride),
        ];
        let reads = std::iter::once(read).chain(parameters).collect();
        self.node(op, &given, reads, given.clone(), attributes);
        self.node("Flatten", name, vec![given], y, vec![integer("axis", 1)]);
    }

    /// Mul is always written, even by 1: a Mul then marks where an Affine starts, and the Add behind it is its own.
    fn wide_affine(&mut self, name: &str, scale: &[f32], shift: &[f32], x: String, y: String) {
        // A vector even where all numbers are equal: runtimes multiply a single number into a MatMul beside it.
        let scale = self.tensor(name, "scale", &[scale.len()], scale);
        if is_zero(shift) {
            return self.node("Mul", name, vec![x, scale], y, vec![]);
        }
        let scaled = format!("{name}_scaled");
        self.node("Mul", &scaled, vec![x, scale], scaled.clone(), vec![]);
        let shift = self.tensor(name, "shift", &[shift.len()], shift);
        self.node("Add", name, vec![scaled, shift], y, vec![]);
    }

    fn value(&self, v: usize) -> String {
        match v {
            0 => "x".into(),
            v if v == self.last => self.output.into(),
            v if Some(v) == self.scores => SCORES.into(),
            v => format!("v{v}"),
        }
    }

    fn tensor(&mut self, node: &str, what: &str, dims: &[usize], data: &[f32]) -> String {
        let name = format!("{node}_{what}");
        self.initializers.push(TensorProto {
            dims: dims.iter().map(|&d| d as i64).collect(),
            data_type: element::FLOAT,
            name: name.clone(),
            raw_data: Some(data.iter().flat_map(|x| x.to_le_bytes()).collect()),
            ..TensorProto::default()
        });
        name
    }

    fn integers(&mut self, node: &str, what: &str, data: &[i64]) -> String {
        let name = format!("{node}_{what}");
        self.initializers.push(TensorProto {
            dims: vec![data.len() as i64],
            data_type: element::INT64,
            name: name.clone(),
            raw_data: Some(data.iter().flat_map(|n| n.to_le_bytes()).collect()),
            ..TensorProto::default()
        });
        name
    }

    fn node(&mut self, op: &str, name: &str, input: Vec<String>, output: String, attribute: Vec<AttributeProto>) {
        let (op_type, name) = (op.into(), name.into());
        self.nodes.push(NodeProto { input, output: vec![output], name, op_type, attribute, ..NodeProto::default() });
    }
}

/// Whether the 0/1 matrix of a Select would outgrow the rest of the file (4 MB), so that it is written as a Gather.
fn is_wide(width: usize, columns: &[usize]) -> bool {
    width.saturating_mul(columns.len()) > INNER_LIMIT * INNER_LIMIT
}

/// Bit for bit: a shift of -0.0 is written, so that it comes back.
fn is_zero(shift: &[f32]) -> bool {
    shift.iter().all(|s| s.to_bits() == 0)
}

fn integer(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i: Some(i), kind: Some(kind::INT), ..AttributeProto::default() }
}

fn float_rows(name: &str, width: usize) -> ValueInfoProto {
    value_info(name, element::FLOAT, &[None, Some(width)])
}

/// An input or output; an open dimension is called N.
pub(super) fn value_info(name: &str, elem_type: i32, dims: &[Option<usize>]) -> ValueInfoProto {
    let value = |d: &Option<usize>| d.map_or_else(|| Dimension::Param("N".into()), |n| Dimension::Value(n as i64));
    let shape = TensorShapeProto { dim: dims.iter().map(|d| DimensionProto { value: Some(value(d)) }).collect() };
    let tensor_type = Some(TensorTypeProto { elem_type, shape: Some(shape) });
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type }) }
}
