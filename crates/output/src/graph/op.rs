//! A call enters; the operator it names leaves, with its attributes read, ready to be run on operands.

use std::ops::RangeInclusive;

use deepsade_net::onnx::piece::Call;

use super::along::Along;
use super::attributes::Attributes;
use super::encode::Encode;
use super::error::Wrong;
use super::layout::Relayout;
use super::pairwise::{Comparison, NumberOp, Pairwise};
use super::pointwise::Pointwise;
use super::product::Product;
use super::reduce::{Folded, Reduce};
use super::take::Take;
use super::value::{Array, Element, Room, Value};

/// An operator with its attributes.
#[derive(Debug, Clone)]
pub(super) enum GraphOp {
    Pointwise(Pointwise),
    Pairwise(Pairwise),
    Layout(Relayout),
    Take(Take),
    Product(Product),
    Reduce(Reduce),
    Along(Along),
    Encode(Encode),
}

const ANY: usize = usize::MAX;

impl GraphOp {
    pub(super) fn read(call: &Call) -> Result<Self, Wrong> {
        let mut attributes = Attributes::new(call);
        let (op, count) = match call.domain.as_str() {
            "" | "ai.onnx" => standard(call, &mut attributes)?,
            "ai.onnx.ml" if call.op == "LabelEncoder" => (Self::Encode(Encode::read(&mut attributes)?), 1..=1),
            _ => return Err(unknown(call)),
        };
        attributes.finish()?;
        let (least, most, found) = (*count.start(), *count.end(), call.reads.len());
        if !count.contains(&found) {
            return Err(Wrong::Operands { found, least, most });
        }
        // Operands beyond the least number may be left out, unless there may be any number of them.
        let needed = if most == ANY { found } else { least };
        match call.reads[..needed].iter().position(String::is_empty) {
            Some(operand) => Err(Wrong::Absent { operand }),
            None => Ok(op),
        }
    }

    pub(super) fn run(&self, operands: &Operands, room: Room) -> Result<Value, Wrong> {
        match self {
            Self::Pointwise(op) => op.run(operands),
            Self::Pairwise(op) => op.run(operands, room),
            Self::Layout(op) => op.run(operands, room),
            Self::Take(op) => op.run(operands, room),
            Self::Product(op) => op.run(operands, room),
            Self::Reduce(op) => op.run(operands, room),
            Self::Along(op) => op.run(operands, room),
            Self::Encode(op) => op.run(operands),
        }
    }
}

fn unknown(call: &Call) -> Wrong {
    Wrong::Operator { domain: call.domain.clone() }
}

/// The standard's own operators, and how many operands each has.
fn standard(call: &Call, attributes: &mut Attributes) -> Result<(GraphOp, RangeInclusive<usize>), Wrong> {
    let one = |f| (GraphOp::Pointwise(f), 1..=1);
    let two = |f| (GraphOp::Pairwise(f), 2..=2);
    let arithmetic = |f| two(Pairwise::Arithmetic(f));
    let any = |f| (GraphOp::Pairwise(Pairwise::Arithmetic(f)), 1..=ANY);
    let compare = |f| two(Pairwise::Comparison(f));
    Ok(match call.op.as_str() {
        "Abs" => one(Pointwise::Abs),
        "Neg" => one(Pointwise::Neg),
        "Floor" => one(Pointwise::Floor),
        "Ceil" => one(Pointwise::Ceil),
        "Relu" => one(Pointwise::Relu),
        "Exp" => one(Pointwise::Exp),
        "Sqrt" => one(Pointwise::Sqrt),
        "Sigmoid" => one(Pointwise::Sigmoid),
        "IsNaN" => one(Pointwise::IsNaN),
        "Not" => one(Pointwise::Not),
        "Identity" => one(Pointwise::Identity),
        "Cast" => one(Pointwise::cast(attributes.int("to")?)?),
        "Clip" => (GraphOp::Pointwise(Pointwise::Clip), 1..=3),
        "Add" => arithmetic(NumberOp::Add),
        "Sub" => arithmetic(NumberOp::Sub),
        "Mul" => arithmetic(NumberOp::Mul),
        "Div" => arithmetic(NumberOp::Div),
        "Max" => any(NumberOp::Max),
        "Min" => any(NumberOp::Min),
        "Greater" => compare(Comparison::Greater),
        "Less" => compare(Comparison::Less),
        "GreaterOrEqual" => compare(Comparison::GreaterOrEqual),
        "LessOrEqual" => compare(Comparison::LessOrEqual),
        "Equal" => two(Pairwise::Equal),
        "And" => two(Pairwise::And),
        "Or" => two(Pairwise::Or),
        "Where" => (GraphOp::Pairwise(Pairwise::Where), 3..=3),
        "Concat" => {
            let axis = attributes.int("axis")?.ok_or(Wrong::Attribute { name: "axis", expected: "a whole number" })?;
            (GraphOp::Layout(Relayout::Concat { axis }), 1..=ANY)
        }
        "Flatten" => (GraphOp::Layout(Relayout::Flatten { axis: attributes.int("axis")?.unwrap_or(1) }), 1..=1),
        "Reshape" => (GraphOp::Layout(Relayout::Reshape { zero: attributes.flag("allowzero", false)? }), 2..=2),
        "Squeeze" => (GraphOp::Layout(Relayout::Squeeze), 1..=2),
        "Unsqueeze" => (GraphOp::Layout(Relayout::Unsqueeze), 2..=2),
        "Transpose" => {
            let perm = attributes.ints("perm")?;
            if !matches!(perm.as_deref(), None | Some([0, 1] | [1, 0])) {
                return Err(Wrong::Attribute { name: "perm", expected: "[0, 1] or [1, 0]" });
            }
            (GraphOp::Layout(Relayout::Transpose { perm }), 1..=1)
        }
        "Gather" => (GraphOp::Take(Take::Gather { axis: attributes.int("axis")?.unwrap_or(0) }), 2..=2),
        "GatherElements" => (GraphOp::Take(Take::Elements { axis: attributes.int("axis")?.unwrap_or(0) }), 2..=2),
        "MatMul" => (GraphOp::Product(Product::PLAIN), 2..=2),
        "Gemm" => {
            let (turn_a, turn_b) = (attributes.flag("transA", false)?, attributes.flag("transB", false)?);
            let (alpha, beta) = (attributes.float("alpha", 1.0)?, attributes.float("beta", 1.0)?);
            (GraphOp::Product(Product { turn_a, turn_b, alpha, beta }), 2..=3)
        }
        "ReduceSum" => reduce(Folded::Sum, attributes)?,
        "ReduceMax" => reduce(Folded::Max, attributes)?,
        "ReduceMin" => reduce(Folded::Min, attributes)?,
        "ArgMax" => {
            if attributes.flag("select_last_index", false)? {
                return Err(Wrong::Attribute { name: "select_last_index", expected: "0" });
            }
            let axis = attributes.int("axis")?.unwrap_or(0);
            (GraphOp::Along(Along::ArgMax { axis, keep: attributes.flag("keepdims", true)? }), 1..=1)
        }
        "Softmax" => (GraphOp::Along(Along::Softmax { axis: attributes.int("axis")?.unwrap_or(-1) }), 1..=1),
        _ => return Err(unknown(call)),
    })
}

fn reduce(how: Folded, attributes: &mut Attributes) -> Result<(GraphOp, RangeInclusive<usize>), Wrong> {
    let axes = attributes.ints("axes")?;
    let (keep, none) = (attributes.flag("keepdims", true)?, attributes.flag("noop_with_empty_axes", false)?);
    Ok((GraphOp::Reduce(Reduce { how, axes, keep, none }), 1..=2))
}

/// What a call reads; `None` where it leaves an operand out.
pub(super) struct Operands<'a>(pub(super) Vec<Option<&'a Value>>);

impl<'a> Operands<'a> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn maybe(&self, operand: usize) -> Option<&'a Value> {
        self.0.get(operand).copied().flatten()
    }

    pub(super) fn get(&self, operand: usize) -> Result<&'a Value, Wrong> {
        self.maybe(operand).ok_or(Wrong::Absent { operand })
    }

    /// An operand whose elements must be of one type.
    pub(super) fn of<T: Element>(&self, operand: usize) -> Result<&'a Array<T>, Wrong> {
        T::of(self.get(operand)?).ok_or_else(|| self.unfit(operand, T::NAME))
    }

    /// That an operand is not of a type that the operator takes.
    pub(super) fn unfit(&self, operand: usize, expected: &'static str) -> Wrong {
        match self.maybe(operand) {
            Some(value) => Wrong::Element { operand, found: value.element(), expected },
            None => Wrong::Absent { operand },
        }
    }
}
