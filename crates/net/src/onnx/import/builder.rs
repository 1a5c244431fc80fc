//! Values defined one by one -> the network. Keeps what each tensor name stands for, and an account of memory.

use std::collections::BTreeMap;

use super::fusion::{self, Written};
use super::names::{BatchDimension, Constants, Names};
use crate::onnx::Model;
use crate::onnx::error::{ImportError, NodePlace};
use crate::onnx::proto::TensorProto;
use crate::{Conv, Network, Node, Op};

/// Numbers that even a small file may ask for: broadcasting lets ten bytes stand for a wide vector.
const FREE_NUMBERS: usize = 1 << 24;
/// Width that even a small file may ask for.
const FREE_WIDTH: usize = 1 << 20;

/// What a tensor of the file is.
#[derive(Clone)]
pub(super) enum Imported<'a> {
    /// Known before anything is computed.
    Constant(&'a TensorProto),
    /// Computed from the input.
    Rows(TensorView),
    /// Which column of a computed value is largest, the first of several.
    Largest(TensorView),
}

/// One value of the network, seen as a tensor of the file.
#[derive(Clone)]
pub(super) struct TensorView {
    /// The value's index in the network.
    pub index: usize,
    /// Dimensions of one row; the network knows their product only.
    pub shape: Vec<usize>,
    /// An Add of constants may still join the node that computes it (`MatMul`, Mul): nothing else reads it.
    pub open: bool,
    /// Nothing else reads it.
    pub alone: bool,
}

impl TensorView {
    /// Width in the network. Checked when the value was made.
    pub(super) fn width(&self) -> usize {
        self.shape.iter().product()
    }
}

pub(super) struct Builder<'a> {
    names: &'a Names<'a>,
    constants: &'a Constants<'a>,
    values: BTreeMap<&'a str, Imported<'a>>,
    /// The input's first dimension.
    pub batch: BatchDimension,
    pub network: Network,
    /// How the file wrote each node of the network.
    written: Vec<(Written, NodePlace)>,
    pub inexact: Vec<String>,
    pub made: Vec<String>,
    pub rounded: Vec<String>,
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
            made: vec![],
            rounded: vec![],
            max_width: FREE_WIDTH.max(file_size),
            budget: FREE_NUMBERS.saturating_add(file_size.saturating_mul(4)),
            spent: 0,
        };
        let place = NodePlace { node: names.input.name.clone(), op: "input".into() };
        builder.network.inputs = builder.fits(&place, &shape)?;
        builder.define(&names.input.name, Imported::Rows(TensorView { index: 0, shape, open: false, alone: false }));
        Ok(builder)
    }

    /// What the tensor `name` stands for.
    pub(super) fn value(&self, name: &str) -> Option<Imported<'a>> {
        self.values.get(name).cloned().or_else(|| Some(Imported::Constant(self.constants.get(name)?)))
    }

    pub(super) fn define(&mut self, name: &'a str, mut value: Imported<'a>) {
        if let Imported::Rows(rows) = &mut value {
            rows.alone &= self.names.uses(name) == 1;
            rows.open &= rows.alone;
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
    pub(super) fn push(
        &mut self,
        place: &NodePlace,
        op: Op,
        from: Vec<usize>,
        shape: Vec<usize>,
    ) -> Result<TensorView, ImportError> {
        self.fits(place, &shape)?;
        self.network.nodes.push(Node { op, from });
        self.written.push((Written::Other, place.clone()));
        Ok(TensorView { index: self.network.nodes.len(), shape, open: false, alone: true })
    }

    /// Remembers how the file wrote the node that computes `rows`.
    pub(super) fn mark(&mut self, rows: &TensorView, written: Written) {
        if let Some(node) = rows.index.checked_sub(1) {
            self.written[node].0 = written;
        }
    }

    /// Whether the file wrote a node of the network as a `MatMul`.
    pub(super) fn is_product(&self, node: usize) -> bool {
        self.written[node].0 == Written::Product
    }

    /// Whether the file wrote what computes a value, but for nodes without effect, as a Conv or a `MatMul`.
    pub(super) fn is_sum_of_products(&self, value: usize) -> bool {
        let root = fusion::roots(&self.network, &self.written)[value];
        let written = root.checked_sub(1).map(|node| self.written[node].0);
        matches!(written, Some(Written::Convolution | Written::Product))
    }

    /// The convolution that computes `rows`, where nothing else reads them.
    pub(super) fn own_convolution(&mut self, rows: &TensorView) -> Option<&mut Conv> {
        let node = rows.index.checked_sub(1).filter(|k| rows.alone && self.written[*k].0 == Written::Convolution)?;
        if let Op::Conv(conv) = &mut self.network.nodes[node].op { Some(conv) } else { None }
    }

    /// Takes out the node that computes a value which nothing reads; later values move up.
    pub(super) fn remove(&mut self, value: usize) {
        self.network.nodes.remove(value - 1);
        self.written.remove(value - 1);
        let moved = |index: &mut usize| *index -= usize::from(*index > value);
        self.network.nodes.iter_mut().flat_map(|n| &mut n.from).for_each(moved);
        self.values.retain(|_, v| !matches!(v, Imported::Rows(rows) | Imported::Largest(rows) if rows.index == value));
        for v in self.values.values_mut() {
            if let Imported::Rows(rows) | Imported::Largest(rows) = v {
                moved(&mut rows.index);
            }
        }
    }

    pub(super) fn finish(mut self, metadata: BTreeMap<String, String>) -> Result<Model, ImportError> {
        let wrong = |problem: String| ImportError::Output { problem, names: self.names.outputs() };
        let name = self.names.output;
        match self.values.get(name) {
            Some(Imported::Rows(rows)) if rows.shape.len() == 1 => {
                self.network.nodes.truncate(rows.index);
                self.inexact.extend(fusion::notes(&self.network, &self.written));
                let Self { network, inexact, made, rounded, .. } = self;
                Ok(Model { metadata, inexact, made, rounded, ..Model::new(network) })
            }
            Some(Imported::Rows(rows)) => {
                Err(wrong(format!("output '{name}' has rows of shape {:?}, not one vector", rows.shape)))
            }
            _ => Err(wrong(format!("output '{name}' does not depend on the input"))),
        }
    }
}
