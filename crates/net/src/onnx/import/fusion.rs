//! The network, and how the file wrote its nodes -> where a runtime may merge neighbours into what rounds or overflows otherwise.
//!
//! Merging is harmless where our node already stands for the merged operator (`MatMul` and the Add that joined it, a Gemm and its
//! activation). It is not where numbers of two nodes are multiplied beforehand, or added in another order than either node was
//! charged for. docs/soundness.md lists the transformations of onnxruntime, one by one.

use crate::onnx::error::NodePlace;
use crate::{Activation, Network, Op};

/// What a node was in the file, as far as runtimes look for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// `MatMul` by a constant.
    Product,
    /// Mul or Div by a constant of a single element, whatever its rank.
    Scale,
    /// Conv.
    Convolution,
    /// Anything else.
    Other,
}

/// A note for each node that may be merged so that the network no longer covers what is computed.
pub(super) fn notes(network: &Network, written: &[(Written, NodePlace)]) -> Vec<String> {
    let mut notes = vec![];
    let (roots, shapes) = (roots(network, written), Curves::of(network, written));
    for (k, node) in network.nodes.iter().enumerate() {
        let (kind, place) = &written[k];
        if vanishes(network, written, k) {
            continue;
        }
        for before in node.from.iter().filter_map(|&v| roots[v].checked_sub(1)) {
            let merged = match (written[before].0, *kind) {
                (Written::Scale, Written::Product) if !shifts(&network.nodes[before].op) => Some((&written[before].1, SCALE)),
                (Written::Product, Written::Scale) if !shifts(&network.nodes[before].op) => Some((place, SCALE)),
                (Written::Convolution, _) if matches!(node.op, Op::Affine { .. }) => Some((place, WINDOW)),
                (Written::Product, _) if is_sum(&node.op) && is_plain_dense(&network.nodes[before].op) => Some((place, SUM)),
                _ => None,
            };
            notes.extend(merged.map(|(place, why)| format!("{place}: {why}")));
        }
        if let (Op::Gate, [x, gate]) = (&node.op, &node.from[..])
            && shapes.are_one_curve(*x, *gate)
        {
            notes.push(format!("{place}: {CURVE}"));
        }
    }
    notes
}

const SCALE: &str = "a runtime may multiply this number into the matrix product beside it";
const SUM: &str =
    "a runtime may start the matrix product before it with these constants, where other nodes that read it disappear";
const WINDOW: &str = "a runtime may fold these numbers into the weights or the constants of the convolution before it";
const CURVE: &str = "a runtime may take this product for the end of an activation of its own (GELU)";

/// For each value the one that it is a copy of once nodes without effect are gone: itself, mostly.
pub(super) fn roots(network: &Network, written: &[(Written, NodePlace)]) -> Vec<usize> {
    let mut roots = vec![0];
    for (k, node) in network.nodes.iter().enumerate() {
        roots.push(if vanishes(network, written, k) { roots[node.from[0]] } else { k + 1 });
    }
    roots
}

/// Products with 1 and sums with 0, all columns in order, a Concat of one value: runtimes remove them. Not a `MatMul`, even by 1.
fn vanishes(network: &Network, written: &[(Written, NodePlace)], k: usize) -> bool {
    let node = &network.nodes[k];
    match &node.op {
        Op::Affine { scale, .. } => scale.iter().all(|s| *s == 1.0) && !shifts(&node.op),
        // The first few columns are no copy; to take them for one is at worst too strict.
        Op::Select(columns) => written[k].0 != Written::Product && columns.iter().enumerate().all(|(k, c)| k == *c),
        Op::Concat => node.from.len() == 1,
        _ => false,
    }
}

/// Whether something is added behind the product.
fn shifts(op: &Op) -> bool {
    match op {
        Op::Affine { shift: added, .. } | Op::Dense { b: added, .. } => added.iter().any(|v| *v != 0.0),
        _ => false,
    }
}

fn is_sum(op: &Op) -> bool {
    matches!(op, Op::Affine { scale, .. } if scale.iter().all(|s| *s == 1.0)) && shifts(op)
}

fn is_plain_dense(op: &Op) -> bool {
    matches!(op, Op::Dense { .. }) && !shifts(op)
}

/// For each value: the value that it is a function of element by element, and what that function holds.
struct Curves(Vec<Curve>);

#[derive(Clone, Copy)]
struct Curve {
    origin: usize,
    tanh: bool,
    scaled: bool,
}

impl Curves {
    fn of(network: &Network, written: &[(Written, NodePlace)]) -> Self {
        let mut shapes = vec![Curve { origin: 0, tanh: false, scaled: false }];
        for (k, node) in network.nodes.iter().enumerate() {
            let own = Curve { origin: k + 1, tanh: false, scaled: false };
            let first = node.from.first().map_or(own, |&v| shapes[v]);
            shapes.push(match (&node.op, &node.from[..]) {
                (Op::Act(f), _) => Curve { tanh: first.tanh || *f == Activation::Tanh, ..first },
                (Op::Affine { .. }, _) => Curve { scaled: first.scaled || written[k].0 == Written::Scale, ..first },
                (Op::Gate, [_, gate]) if shapes[*gate].origin == first.origin => {
                    let gate = shapes[*gate];
                    Curve { tanh: first.tanh || gate.tanh, scaled: first.scaled || gate.scaled, ..first }
                }
                _ => own,
            });
        }
        Self(shapes)
    }

    /// Whether both are functions of one value, with a tanh and a single factor among them: `x (1 + tanh(c x ...)) / 2`.
    fn are_one_curve(&self, x: usize, y: usize) -> bool {
        let (x, y) = (self.0[x], self.0[y]);
        x.origin == y.origin && (x.tanh || y.tanh) && (x.scaled || y.scaled)
    }
}
