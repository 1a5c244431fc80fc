//! A piece of a graph as plain data, to be put behind a trunk: operator calls and constants.

use prost::Message;

use super::proto::{AttributeProto, NodeProto, TensorProto, element, kind};

/// Calls in order, and the constants that they read. Equal pieces have equal bytes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Piece {
    /// The calls, each reading the graph's inputs, constants or what was computed before.
    pub calls: Vec<Call>,
    /// The constants.
    pub tensors: Vec<Tensor>,
}

/// One operator with its operands and its one result.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The operator.
    pub op: String,
    /// Its domain; empty for the standard's own.
    pub domain: String,
    /// The tensors it reads.
    pub reads: Vec<String>,
    /// The tensor it makes.
    pub makes: String,
    /// Its attributes, in order.
    pub attributes: Vec<(String, Attribute)>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// A whole number.
    Int(i64),
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Numbers.
    Floats(Vec<f32>),
    /// One number.
    Float(f32),
    /// Texts.
    Texts(Vec<String>),
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its dimensions; none for a single number.
    pub dims: Vec<usize>,
    /// Its numbers, the last dimension fastest.
    pub data: Numbers,
}

/// The numbers of a constant.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// float32
    Float(Vec<f32>),
    /// int64
    Int(Vec<i64>),
}

/// The code of a type of elements in an attribute `to`.
pub const TO_FLOAT: i64 = element::FLOAT as i64;

impl Piece {
    /// Appends a call without attributes.
    pub fn call(&mut self, op: &str, reads: &[&str], makes: &str) {
        self.call_with(op, reads, makes, &[]);
    }

    /// Appends a call with whole-number attributes.
    pub fn call_with(&mut self, op: &str, reads: &[&str], makes: &str, attributes: &[(&str, i64)]) {
        let reads = reads.iter().map(|r| (*r).into()).collect();
        let attributes = attributes.iter().map(|(name, i)| ((*name).into(), Attribute::Int(*i))).collect();
        self.calls.push(Call { op: op.into(), domain: String::new(), reads, makes: makes.into(), attributes });
    }

    /// Adds a constant of float32 numbers.
    pub fn floats(&mut self, name: &str, dims: &[usize], data: Vec<f32>) {
        self.tensors.push(Tensor { name: name.into(), dims: dims.to_vec(), data: Numbers::Float(data) });
    }

    /// Adds a constant of whole numbers.
    pub fn ints(&mut self, name: &str, dims: &[usize], data: Vec<i64>) {
        self.tensors.push(Tensor { name: name.into(), dims: dims.to_vec(), data: Numbers::Int(data) });
    }

    /// Appends another piece.
    pub fn append(&mut self, other: Piece) {
        self.calls.extend(other.calls);
        self.tensors.extend(other.tensors);
    }
}

impl Call {
    /// The value of a whole-number attribute.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.attributes.iter().find_map(|(n, value)| match value {
            Attribute::Int(i) if n == name => Some(*i),
            _ => None,
        })
    }

    /// The node's message in a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let attribute = |(name, value): &(String, Attribute)| {
            let mut proto = AttributeProto { name: name.clone(), ..AttributeProto::default() };
            let code = match value {
                Attribute::Int(i) => {
                    proto.i = Some(*i);
                    kind::INT
                }
                Attribute::Ints(ints) => {
                    proto.ints.clone_from(ints);
                    kind::INTS
                }
                Attribute::Float(f) => {
                    proto.f = Some(*f);
                    kind::FLOAT
                }
                Attribute::Floats(floats) => {
                    proto.floats.clone_from(floats);
                    kind::FLOATS
                }
                Attribute::Texts(texts) => {
                    proto.strings = texts.iter().map(|t| t.clone().into_bytes()).collect();
                    kind::STRINGS
                }
            };
            proto.kind = Some(code);
            proto
        };
        let node = NodeProto {
            input: self.reads.clone(),
            output: vec![self.makes.clone()],
            name: self.makes.clone(),
            op_type: self.op.clone(),
            attribute: self.attributes.iter().map(attribute).collect(),
            domain: self.domain.clone(),
            ..NodeProto::default()
        };
        node.encode_to_vec()
    }

    /// What [`Call::to_bytes`] wrote; `None` for other nodes.
    pub(super) fn read(node: &NodeProto) -> Option<Self> {
        let [makes] = &node.output[..] else { return None };
        let attribute = |a: &AttributeProto| {
            let value = match a.kind? {
                kind::INT => Attribute::Int(a.i?),
                kind::INTS => Attribute::Ints(a.ints.clone()),
                kind::FLOAT => Attribute::Float(a.f?),
                kind::FLOATS => Attribute::Floats(a.floats.clone()),
                kind::STRINGS => {
                    Attribute::Texts(a.strings.iter().map(|t| String::from_utf8(t.clone()).ok()).collect::<Option<_>>()?)
                }
                _ => return None,
            };
            Some((a.name.clone(), value))
        };
        Some(Self {
            op: node.op_type.clone(),
            domain: node.domain.clone(),
            reads: node.input.clone(),
            makes: makes.clone(),
            attributes: node.attribute.iter().map(attribute).collect::<Option<_>>()?,
        })
    }
}

impl Tensor {
    /// The constant's message in a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (data_type, raw) = match &self.data {
            Numbers::Float(data) => (element::FLOAT, data.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Numbers::Int(data) => (element::INT64, data.iter().flat_map(|x| x.to_le_bytes()).collect()),
        };
        let dims = self.dims.iter().map(|d| *d as i64).collect();
        TensorProto { dims, data_type, name: self.name.clone(), raw_data: Some(raw), ..TensorProto::default() }.encode_to_vec()
    }
}
