//! One node of the file -> a value: which operators are understood, and access to operands and attributes.

use std::collections::BTreeSet;

use super::builder::{Builder, Rows, Value};
use crate::onnx::error::{ImportError, Place};
use crate::onnx::proto::{AttributeProto, NodeProto, TensorProto, kind};
use crate::onnx::tensor;
use crate::{Activation, Op};

pub(super) struct Reader<'r, 'a> {
    pub node: &'a NodeProto,
    pub opset: i64,
    pub builder: &'r mut Builder<'a>,
}

impl<'a> Reader<'_, 'a> {
    pub(super) fn read(&mut self) -> Result<Value<'a>, ImportError> {
        self.attributes_once()?;
        let rows = match (self.node.domain.as_str(), self.node.op_type.as_str()) {
            // ZipMap only puts class names beside the scores.
            ("" | "ai.onnx", "Identity") | ("ai.onnx.ml", "ZipMap") => return self.operand(0),
            ("" | "ai.onnx", "Cast") => return self.cast(),
            ("" | "ai.onnx", "ArgMax") => return self.arg_max().map(Value::Largest),
            ("" | "ai.onnx", "Dropout") => self.dropout()?,
            ("" | "ai.onnx", "Gemm") => self.gemm()?,
            ("" | "ai.onnx", "MatMul") => self.matmul()?,
            ("" | "ai.onnx", "BatchNormalization") => self.batch_normalization()?,
            ("ai.onnx.ml", "Scaler") => self.scaler()?,
            ("" | "ai.onnx", "Add") => self.add()?,
            ("" | "ai.onnx", "Sub") => self.sub()?,
            ("" | "ai.onnx", "Mul") => self.mul()?,
            ("" | "ai.onnx", "Div") => self.div()?,
            ("" | "ai.onnx", "Relu") => self.activation(Activation::Relu)?,
            ("" | "ai.onnx", "Sigmoid") => self.activation(Activation::Sigmoid)?,
            ("" | "ai.onnx", "Tanh") => self.activation(Activation::Tanh)?,
            ("" | "ai.onnx", "Clip") => self.clip()?,
            ("" | "ai.onnx", "Concat") => self.concat()?,
            ("" | "ai.onnx", "Gather") => self.gather()?,
            ("" | "ai.onnx", "Slice") => self.slice()?,
            ("" | "ai.onnx", "Reshape") => self.reshape()?,
            ("" | "ai.onnx", "Flatten") => self.flatten()?,
            _ => return Err(ImportError::Operator { place: self.place(), hint: self.hint() }),
        };
        Ok(Value::Rows(rows))
    }

    /// Readers differ in which of two attributes of one name they take.
    fn attributes_once(&self) -> Result<(), ImportError> {
        let mut seen = BTreeSet::new();
        match self.node.attribute.iter().find(|a| !seen.insert(a.name.as_str())) {
            Some(twice) => self.usage(format!("its attribute '{}' is given twice", twice.name), "it must be given once"),
            None => Ok(()),
        }
    }

    fn hint(&self) -> String {
        let before = self.node.input.first().map_or("", String::as_str);
        match self.node.op_type.as_str() {
            "Softmax" | "LogSoftmax" | "ArgMax" | "TopK" | "ArrayFeatureExtractor" | "Normalizer" | "Hardmax" => {
                format!("to work with the scores that it reads, import the file up to the tensor '{before}'")
            }
            "Shape" | "ConstantOfShape" | "Range" => {
                "the graph computes shapes while it runs: export with a fixed flattening, such as Flatten".into()
            }
            "LeakyRelu" | "PRelu" | "Elu" | "Selu" | "Gelu" | "Softplus" | "HardSigmoid" | "HardSwish" | "Max" | "Min" => {
                "the activations are Relu, Sigmoid and Tanh".into()
            }
            _ if !matches!(self.node.domain.as_str(), "" | "ai.onnx") => {
                format!("it belongs to the operator domain '{}'; only standard operators are read", self.node.domain)
            }
            _ => "only fully connected networks are read; docs/onnx.md lists the operators".into(),
        }
    }

    pub(super) fn place(&self) -> Place {
        let name = if self.node.name.is_empty() { self.node.output.first() } else { Some(&self.node.name) };
        Place { node: name.cloned().unwrap_or_default(), op: self.node.op_type.clone() }
    }

    pub(super) fn usage<T>(&self, found: impl Into<String>, expected: &'static str) -> Result<T, ImportError> {
        Err(ImportError::Usage { place: self.place(), found: found.into(), expected })
    }

    /// Says that this node and what was made of it may round differently.
    pub(super) fn inexact(&mut self, reason: &str) {
        let note = format!("{}: {reason}", self.place());
        self.builder.inexact.push(note);
    }

    /// Operand `k`, which must be there.
    pub(super) fn operand(&self, k: usize) -> Result<Value<'a>, ImportError> {
        match self.node.input.get(k) {
            None => self.usage(format!("it has {} operands", self.node.input.len()), "it needs more"),
            Some(name) => {
                self.builder.value(name).ok_or_else(|| ImportError::Undefined { place: self.place(), tensor: name.clone() })
            }
        }
    }

    /// Operand `k` where it depends on the network's input.
    pub(super) fn rows(&self, k: usize) -> Result<Rows, ImportError> {
        match self.operand(k)? {
            Value::Rows(rows) => Ok(rows),
            Value::Largest(_) => self.usage(format!("operand {k} is the result of an ArgMax"), "only Gather may read one"),
            Value::Constant(t) => self.usage(
                format!("operand {k} is the constant '{}'", t.name),
                "it must depend on the network's input; fold constants before exporting",
            ),
        }
    }

    /// Operand `k` where it is one vector a row, and its width.
    pub(super) fn vector(&self, k: usize) -> Result<(Rows, usize), ImportError> {
        let rows = self.rows(k)?;
        match rows.shape[..] {
            [width] => Ok((rows, width)),
            _ => self.usage(format!("operand {k} has rows of shape {:?}", rows.shape), "it must be flattened first"),
        }
    }

    /// Operand `k` where it is constant; `None` where it is left out.
    pub(super) fn constant(&self, k: usize) -> Result<Option<&'a TensorProto>, ImportError> {
        if self.node.input.get(k).is_none_or(String::is_empty) {
            return Ok(None);
        }
        match self.operand(k)? {
            Value::Constant(t) => Ok(Some(t)),
            Value::Rows(_) | Value::Largest(_) => {
                self.usage(format!("operand {k} is computed from the input"), "it must be constant")
            }
        }
    }

    /// The integers of the constant operand `k`, or of the attribute of that name in older files.
    pub(super) fn integers(&self, k: usize, attribute: &str) -> Result<Option<Vec<i64>>, ImportError> {
        match self.constant(k)? {
            Some(t) => tensor::integers(t).map(Some),
            None => Ok(self.attribute(attribute).map(|a| a.ints.clone())),
        }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&'a AttributeProto> {
        self.node.attribute.iter().find(|a| a.name == name)
    }

    /// An integer attribute. Some writers leave a zero out and give the kind only.
    pub(super) fn int(&self, name: &str, default: i64) -> Result<i64, ImportError> {
        match self.attribute(name).map(|a| (a.i, a.kind)) {
            None => Ok(default),
            Some((Some(i), _)) => Ok(i),
            Some((None, Some(kind::INT))) => Ok(0),
            Some(_) => self.usage(format!("its {name} is not an integer"), "it must be one"),
        }
    }

    /// A float attribute, likewise.
    pub(super) fn float(&self, name: &str, default: f32) -> Result<f32, ImportError> {
        match self.attribute(name).map(|a| (a.f, a.kind)) {
            None => Ok(default),
            Some((Some(f), _)) => Ok(f),
            Some((None, Some(kind::FLOAT))) => Ok(0.0),
            Some(_) => self.usage(format!("its {name} is not a number"), "it must be one"),
        }
    }

    /// Adds a node whose result has the shape of the one value it reads.
    pub(super) fn push_like(&mut self, op: Op, x: Rows) -> Result<Rows, ImportError> {
        let place = self.place();
        self.builder.push(&place, op, vec![x.index], x.shape)
    }
}
