//! A node -> how it is read: the operators that are understood, each with the operands and attributes that its opset gives it.
//!
//! An attribute that the standard does not know there is refused: one runtime ignores it, another gives it a meaning (the `min` of a
//! Clip moved to an operand in opset 11).

use super::LEARNING;
use crate::onnx::proto::{AttributeProto, NodeProto, is_standard, kind};

/// What a node of some operator may hold.
pub(super) struct Signature {
    pub operands: usize,
    attributes: &'static [&'static str],
}

/// The signature of the node's operator; `None` where it is not one that is understood.
pub(super) fn of(node: &NodeProto, opset: i64) -> Option<Signature> {
    let (operands, attributes): (usize, &[&str]) = match (node.op_type.as_str(), opset) {
        _ if !node.overload.is_empty() => return None,
        ("Scaler", _) if node.domain == LEARNING => (1, &["offset", "scale"]),
        ("ZipMap", _) if node.domain == LEARNING => (1, &["classlabels_strings", "classlabels_int64s"]),
        _ if !is_standard(&node.domain) => return None,
        ("Constant", _) => (0, &["value", "value_float", "value_floats", "value_int", "value_ints"]),
        ("Identity" | "Relu" | "Sigmoid" | "Tanh" | "GlobalAveragePool" | "GlobalMaxPool", _) => (1, &[]),
        ("Add" | "Sub" | "Mul" | "Div" | "MatMul", _) => (2, &[]),
        ("Gemm", _) => (3, &["alpha", "beta", "transA", "transB"]),
        ("BatchNormalization", ..9) => (5, &["epsilon", "momentum", "spatial"]),
        ("BatchNormalization", 9..14) => (5, &["epsilon", "momentum"]),
        ("BatchNormalization", _) => (5, &["epsilon", "momentum", "training_mode"]),
        ("Cast", _) => (1, &["to", "saturate", "round_mode"]),
        ("Dropout", ..12) => (1, &["ratio"]),
        ("Dropout", _) => (3, &["seed"]),
        ("Clip", ..11) => (1, &["min", "max"]),
        ("Clip", _) => (3, &[]),
        ("ArgMax", _) => (1, &["axis", "keepdims", "select_last_index"]),
        ("Gather", _) => (2, &["axis"]),
        ("Slice", ..10) => (1, &["starts", "ends", "axes"]),
        ("Slice", _) => (5, &[]),
        ("Reshape", _) => (2, &["allowzero"]),
        ("Flatten", _) => (1, &["axis"]),
        ("Transpose", _) => (1, &["perm"]),
        ("Conv", _) => (3, &["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"]),
        ("MaxPool", ..8) => (1, &["auto_pad", "kernel_shape", "pads", "strides"]),
        ("MaxPool", 8..10) => (1, &["auto_pad", "kernel_shape", "pads", "storage_order", "strides"]),
        ("MaxPool", _) => (1, &["auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides"]),
        ("ReduceMean", ..18) => (1, &["axes", "keepdims"]),
        ("ReduceMean", _) => (2, &["keepdims", "noop_with_empty_axes"]),
        ("AveragePool", ..10) => (1, &["auto_pad", "count_include_pad", "kernel_shape", "pads", "strides"]),
        ("AveragePool", 10..19) => (1, &["auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"]),
        ("AveragePool", _) => {
            (1, &["auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"])
        }
        ("Concat", _) => (usize::MAX, &["axis"]),
        _ => return None,
    };
    Some(Signature { operands, attributes })
}

impl Signature {
    /// What is wrong with the node's operands and attributes, and what is needed.
    pub(super) fn broken_by(&self, node: &NodeProto) -> Option<(String, &'static str)> {
        if node.input.len() > self.operands {
            return Some((format!("it has {} operands", node.input.len()), "the standard gives it fewer"));
        }
        let several = ["Dropout", "BatchNormalization", "MaxPool"].contains(&node.op_type.as_str());
        if !several && node.output.len() > 1 {
            return Some((format!("it has {} outputs", node.output.len()), "the standard gives it one"));
        }
        for (k, a) in node.attribute.iter().enumerate() {
            let named = |what: &str| format!("its attribute '{}' {what}", a.name);
            if node.attribute[..k].iter().any(|b| b.name == a.name) {
                return Some((named("is given twice"), "it must be given once"));
            }
            if !self.attributes.contains(&a.name.as_str()) {
                return Some((named("is not one of this operator in this opset"), "only attributes of the standard are read"));
            }
            if !a.refers_to.is_empty() || mixed(a) {
                return Some((named("has no value of its own, or several"), "it must have one"));
            }
        }
        None
    }
}

/// Whether readers that look at the stated kind and readers that look at what is stored could differ.
fn mixed(a: &AttributeProto) -> bool {
    let stored = [
        (kind::FLOAT, a.f.is_some()),
        (kind::INT, a.i.is_some()),
        (kind::STRING, a.s.is_some()),
        (kind::TENSOR, a.t.is_some()),
        (kind::FLOATS, !a.floats.is_empty()),
        (kind::INTS, !a.ints.is_empty()),
    ];
    let mut stored = stored.iter().filter(|(_, there)| *there).map(|(kind, _)| *kind);
    match (stored.next(), stored.next()) {
        (Some(_), Some(_)) => true,
        (Some(found), None) => a.kind.is_some_and(|stated| stated != found),
        (None, _) => false,
    }
}
