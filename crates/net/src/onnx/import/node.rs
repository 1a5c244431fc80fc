//! One node of the file -> a value: which operators are understood, and access to operands and attributes.

use super::builder::{Builder, Imported, TensorView};
use super::signature;
use crate::onnx::error::{ImportError, NodePlace};
use crate::onnx::proto::{AttributeProto, NodeProto, TensorProto, is_standard, kind};
use crate::onnx::tensor;
use crate::{Activation, Op};

pub(super) struct NodeReader<'r, 'a> {
    pub node: &'a NodeProto,
    pub opset: i64,
    pub builder: &'r mut Builder<'a>,
}

impl<'a> NodeReader<'_, 'a> {
    pub(super) fn read(&mut self) -> Result<Imported<'a>, ImportError> {
        let unknown = || ImportError::Operator { place: self.place(), hint: self.hint() };
        let signature = signature::of(self.node, self.opset).ok_or_else(unknown)?;
        if let Some((found, expected)) = signature.broken_by(self.node) {
            return self.usage(found, expected);
        }
        let rows = match self.node.op_type.as_str() {
            // ZipMap only puts class names beside the scores.
            "Identity" | "ZipMap" => {
                let value = self.operand(0)?;
                return Ok(self.made(value));
            }
            "Cast" => {
                let value = self.cast()?;
                return Ok(self.made(value));
            }
            "ArgMax" => return self.arg_max().map(Imported::Largest),
            "Dropout" => self.dropout()?,
            "Gemm" => self.gemm()?,
            "MatMul" => self.matmul()?,
            "BatchNormalization" => self.batch_normalization()?,
            "Scaler" => self.scaler()?,
            "Add" => self.add()?,
            "Sub" => self.sub()?,
            "Mul" => self.mul()?,
            "Div" => self.div()?,
            "Relu" => self.activation(Activation::Relu)?,
            "Sigmoid" => self.activation(Activation::Sigmoid)?,
            "Tanh" => self.activation(Activation::Tanh)?,
            "Clip" => self.clip()?,
            "Concat" => self.concat()?,
            "Gather" => self.gather()?,
            "Slice" => self.slice()?,
            "Reshape" => self.reshape()?,
            "Flatten" => self.flatten()?,
            "Transpose" => self.transpose()?,
            "Conv" => self.conv()?,
            "MaxPool" => self.max_pool()?,
            "AveragePool" => self.average_pool()?,
            "GlobalAveragePool" => self.global_average_pool()?,
            "GlobalMaxPool" => self.global_max_pool()?,
            "ReduceMean" => self.reduce_mean()?,
            _ => return Err(ImportError::Operator { place: self.place(), hint: self.hint() }),
        };
        Ok(Imported::Rows(rows))
    }

    fn hint(&self) -> String {
        let before = self.node.input.first().map_or("", String::as_str);
        match self.node.op_type.as_str() {
            _ if !is_standard(&self.node.domain) => {
                format!("it belongs to the operator domain '{}'; only standard operators are read", self.node.domain)
            }
            _ if !self.node.overload.is_empty() => {
                "it calls one of several functions of its name: export with functions inlined".into()
            }
            "Softmax" | "LogSoftmax" | "ArgMax" | "TopK" | "ArrayFeatureExtractor" | "Normalizer" | "Hardmax" => {
                format!("to work with the scores that it reads, import the file up to the tensor '{before}'")
            }
            "Shape" | "ConstantOfShape" | "Range" => {
                "the graph computes shapes while it runs: export with a fixed flattening, such as Flatten".into()
            }
            "LeakyRelu" | "PRelu" | "Elu" | "Selu" | "Gelu" | "Softplus" | "HardSigmoid" | "HardSwish" | "Max" | "Min" => {
                "the activations are Relu, Sigmoid and Tanh".into()
            }
            "ConvTranspose" | "Resize" | "Upsample" | "LpPool" | "Pad" | "DepthToSpace" | "SpaceToDepth" => {
                "of the operators on pictures Conv (with its own pads), MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool and \
                 BatchNormalization are read"
                    .into()
            }
            _ => "feed-forward networks of dense layers, convolutions and pools are read; docs/onnx.md lists the operators".into(),
        }
    }

    pub(super) fn place(&self) -> NodePlace {
        place(self.node)
    }

    pub(super) fn usage<T>(&self, found: impl Into<String>, expected: &'static str) -> Result<T, ImportError> {
        Err(ImportError::Usage { place: self.place(), found: found.into(), expected })
    }

    /// Says that this node and what was made of it may round differently.
    pub(super) fn inexact(&mut self, reason: &str) {
        let note = format!("{}: {reason}", self.place());
        self.builder.inexact.push(note);
    }

    /// Says that a constant, if this is one, comes out of a node.
    fn made(&mut self, value: Imported<'a>) -> Imported<'a> {
        if matches!(value, Imported::Constant(_)) {
            let note =
                format!("{}: it makes a constant, which a runtime may not prepare as it does those of the file", self.place());
            self.builder.made.push(note);
        }
        value
    }

    /// Operand `k`, which must be there.
    pub(super) fn operand(&self, k: usize) -> Result<Imported<'a>, ImportError> {
        match self.node.input.get(k) {
            None => self.usage(format!("it has {} operands", self.node.input.len()), "it needs more"),
            Some(name) => {
                self.builder.value(name).ok_or_else(|| ImportError::Undefined { place: self.place(), tensor: name.clone() })
            }
        }
    }

    /// Operand `k` where it depends on the network's input.
    pub(super) fn rows(&self, k: usize) -> Result<TensorView, ImportError> {
        match self.operand(k)? {
            Imported::Rows(rows) => Ok(rows),
            Imported::Largest(_) => self.usage(format!("operand {k} is the result of an ArgMax"), "only Gather may read one"),
            Imported::Constant(t) => self.usage(
                format!("operand {k} is the constant '{}'", t.name),
                "it must depend on the network's input; fold constants before exporting",
            ),
        }
    }

    /// Operand `k` where it is one vector a row, and its width.
    pub(super) fn vector(&self, k: usize) -> Result<(TensorView, usize), ImportError> {
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
            Imported::Constant(t) => Ok(Some(t)),
            Imported::Rows(_) | Imported::Largest(_) => {
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
    pub(super) fn push_like(&mut self, op: Op, x: TensorView) -> Result<TensorView, ImportError> {
        let place = self.place();
        self.builder.push(&place, op, vec![x.index], x.shape)
    }
}

/// A node as messages name it.
pub(super) fn place(node: &NodeProto) -> NodePlace {
    let name = if node.name.is_empty() { node.output.first() } else { Some(&node.name) };
    NodePlace { node: name.cloned().unwrap_or_default(), op: node.op_type.clone() }
}
