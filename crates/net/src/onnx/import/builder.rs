//! Values defined one by one -> the network. Keeps what each tensor name stands for, and an account of memory.

use std::collections::BTreeMap;

use super::fusion::{self, Written};
use super::names::{Constants, Names};
use crate::onnx::error::{ImportError, NodePlace};
use crate::onnx::proto::TensorProto;
use crate::{Network, Node, Op};

/// Numbers that even a small file may ask for: broadcasting lets ten bytes stand for a wide vector.
const FREE_NUMBERS: usize = 1 << 24;
/// Width that even a small file may ask for.
const FREE_WIDTH: usize = 1 << 20;

/// What a tensor of the file is.
#[derive(Clone)]
pub(super) enum Value<'a> {
    /// Known before anything is computed.
    Constant(&'a TensorProto),
    /// Computed from the input.
    Rows(Rows),
    /// Which column of a computed value is largest, the first of several.
    Largest(Rows),
}

/// One value of the network, seen as a tensor of the file.
#[derive(Clone)]
pub(super) struct Rows {
    /// The value's index in the network.
    pub index: usize,
    /// Dimensions of one row; the network knows their product only.
    pub shape: Vec<usize>,
    /// An Add of constants may still join the node that computes it (`MatMul`, Mul): nothing else reads it.
    pub open: bool,
}

impl Rows {
    /// Width in the network. Checked when the value was made.
    pub(super) fn width(&self) -> usize {
        self.shape.iter().product()
    }
}

pub(super) struct Builder<'a> {
    names: &'a Names<'a>,
    constants: &'a Constants<'a>,
    values: BTreeMap<&'a str, Value<'a>>,
    /// The input's batch size, where the file fixes it.
    pub batch: Option<usize>,
    pub network: Network,
    /// How the file wrote each node of the network.
    written: Vec<(Written, NodePlace)>,
    pub inexact: Vec<String>,
    max_width: usize,
    budget: usize,
    spent: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn start(names: &'a Names<'a>, constants: &'a Constants<'a>, file_size: usize) -> Result<Self, ImportError> {
        let (batch, shape) = names.input_shape()?;
        let mut builder = Self {
            names,
            constants,
            values: BTreeMap::new(),
            batch,
            network: Network { inputs: 0, nodes: vec![] },
            written: vec![],
            inexact: vec![],
            max_width: FREE_WIDTH.max(file_size),
            budget: FREE_NUMBERS.saturating_add(file_size.saturating_mul(4)),
            spent: 0,
        };
        let place = NodePlace { node: names.input.name.clone(), op: "input".into() };
        builder.network.inputs = builder.fits(&place, &shape)?;
        builder.define(&names.input.name, Value::Rows(Rows { index: 0, shape, open: false }));
        Ok(builder)
    }

    /// What the tensor `name` stands for.
    pub(super) fn value(&self, name: &str) -> Option<Value<'a>> {
        self.values.get(name).cloned().or_else(|| Some(Value::Constant(self.constants.get(name)?)))
    }

    pub(super) fn define(&mut self, name: &'a str, mut value: Value<'a>) {
        if let Value::Rows(rows) = &mut value {
            rows.open &= self.names.uses(name) == 1;
        }
        self.values.insert(name, value);
    }

    /// The product of `shape`, if a value may be that wide.
    pub(super) fn fits(&self, place: &NodePlace, shape: &[usize]) -> Result<usize, ImportError> {
        let width = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|w| *w <= self.max_width);
        width.ok_or_else(|| ImportError::TooLarge { place: place.clone(), limit: self.max_width })
    }

    /// Asks for room for `numbers` parameters before they are allocated.
    pub(super) fn charge(&mut self, place: &NodePlace, numbers: usize) -> Result<(), ImportError> {
        self.spent = self.spent.saturating_add(numbers);
        if self.spent > self.budget { Err(ImportError::TooLarge { place: place.clone(), limit: self.budget }) } else { Ok(()) }
    }

    /// Adds a node; `shape` is that of one row of its result.
    pub(super) fn push(&mut self, place: &NodePlace, op: Op, from: Vec<usize>, shape: Vec<usize>) -> Result<Rows, ImportError> {
        self.fits(place, &shape)?;
        self.network.nodes.push(Node { op, from });
        self.written.push((Written::Other, place.clone()));
        Ok(Rows { index: self.network.nodes.len(), shape, open: false })
    }

    /// Remembers how the file wrote the node that computes `rows`.
    pub(super) fn mark(&mut self, rows: &Rows, written: Written) {
        if let Some(node) = rows.index.checked_sub(1) {
            self.written[node].0 = written;
        }
    }

    pub(super) fn finish(mut self) -> Result<(Network, Vec<String>), ImportError> {
        let wrong = |problem: String| ImportError::Output { problem, names: self.names.outputs() };
        let name = self.names.output;
        match self.values.get(name) {
            Some(Value::Rows(rows)) if rows.shape.len() == 1 => {
                self.network.nodes.truncate(rows.index);
                self.inexact.extend(fusion::notes(&self.network, &self.written));
                Ok((self.network, self.inexact))
            }
            Some(Value::Rows(rows)) => Err(wrong(format!("output '{name}' has rows of shape {:?}, not one vector", rows.shape))),
            _ => Err(wrong(format!("output '{name}' does not depend on the input"))),
        }
    }
}
