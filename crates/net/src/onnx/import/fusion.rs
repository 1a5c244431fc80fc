//! The network, and how the file wrote its nodes -> where a runtime may merge neighbours into what rounds or overflows otherwise.
//!
//! Merging is harmless where our node already stands for the merged operator (`MatMul` and the Add that joined it, a Gemm and its
//! activation). It is not where numbers of two nodes are multiplied beforehand, or added in another order than either node was
//! charged for. docs/soundness.md lists the transformations of onnxruntime, one by one.

use crate::onnx::error::NodePlace;
use crate::{Activation, Network, Node, Op};

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
        if copied(network, written, k).is_some() {
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
    for k in 0..network.nodes.len() {
        roots.push(copied(network, written, k).map_or(k + 1, |v| roots[v]));
    }
    roots
}

/// The value that a node without effect copies. Products with 1 and sums with 0, all columns in whatever order, a Concat of one value, what a
/// Concat had put beside others: runtimes remove them, or move them elsewhere until they meet what undoes them. Not a `MatMul`, even by 1.
/// To take too much for a copy is at worst too strict.
fn copied(network: &Network, written: &[(Written, NodePlace)], k: usize) -> Option<usize> {
    let node = &network.nodes[k];
    let from = *node.from.first()?;
    let copies = match &node.op {
        Op::Affine { scale, .. } => scale.iter().all(|s| *s == 1.0) && !shifts(&node.op),
        // What a quotient became; a Conv of the file itself stays.
        Op::Conv(conv) => written[k].0 == Written::Other && conv.is_identity(),
        Op::Select(columns) if written[k].0 != Written::Product => {
            if let Some(Node { op: Op::Concat, from: beside }) = from.checked_sub(1).map(|n| &network.nodes[n]) {
                return one_of(network, beside, columns).or_else(|| permutes(columns).then_some(from));
            }
            // The first few columns are no copy.
            permutes(columns)
        }
        Op::Concat => node.from.len() == 1,
        _ => false,
    };
    copies.then_some(from)
}

/// Whether these are all columns up to some, each once: what a Transpose makes.
fn permutes(columns: &[usize]) -> bool {
    let mut seen = vec![false; columns.len()];
    columns.iter().all(|c| seen.get_mut(*c).is_some_and(|seen| !std::mem::replace(seen, true)))
}

/// The value beside others of which these columns are all, in whatever order.
fn one_of(network: &Network, beside: &[usize], columns: &[usize]) -> Option<usize> {
    let (mut before, first) = (0, columns.iter().min()?);
    for value in beside {
        let width = network.width(*value)?;
        if before == *first && width == columns.len() {
            let own: Option<Vec<usize>> = columns.iter().map(|c| c.checked_sub(before)).collect();
            return own.filter(|own| permutes(own)).map(|_| *value);
        }
        before += width;
    }
    None
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
