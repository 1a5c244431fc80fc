//! A feed-forward network in single-assignment form: each node reads the input or earlier nodes.

use crate::Op;

/// Value 0 is the input; value k + 1 is what node k computes; the last value is the output.
///
/// Any such struct can be written down; [`Network::validate`] says whether it is a network: widths agree, parameters are finite, and
/// every node but the last is read by a later one.
///
/// ```
/// use deepsade_net::{Activation, Matrix, Network, Node, Op};
///
/// // relu(x0 - x1), and x0 beside it.
/// let w = Matrix { rows: 1, cols: 2, data: vec![1.0, -1.0] };
/// let nodes = vec![
///     Node { op: Op::Dense { w, b: vec![0.0] }, from: vec![0] },
///     Node { op: Op::Act(Activation::Relu), from: vec![1] },
///     Node { op: Op::Select(vec![0]), from: vec![0] },
///     Node { op: Op::Concat, from: vec![2, 3] },
/// ];
/// let network = Network { inputs: 2, nodes };
/// network.validate()?;
/// let x = Matrix { rows: 2, cols: 2, data: vec![5.0, 3.0, 1.0, 4.0] };
/// assert_eq!(network.forward(&x).data, [2.0, 5.0, 0.0, 1.0]);
/// # Ok::<(), deepsade_net::NetworkError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Width of the input.
    pub inputs: usize,
    /// The nodes, each reading only values before its own.
    pub nodes: Vec<Node>,
}

/// One operation and the values it reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What is computed.
    pub op: Op,
    /// Indices of values: 0 is the network's input, k + 1 the result of node k.
    pub from: Vec<usize>,
}

impl Network {
    /// Width of value `value`: 0 is the input, k + 1 the result of node k. `None` past the last value or where a node cannot be read.
    pub fn width(&self, value: usize) -> Option<usize> {
        self.widths().get(value).copied()
    }

    /// Width of the output.
    pub fn outputs(&self) -> usize {
        self.widths().last().copied().unwrap_or(self.inputs)
    }

    /// The value of which a last choice takes the totals: `table . scores`, then the row of the largest. Not the input itself.
    pub fn scores(&self) -> Option<usize> {
        let Node { op: Op::Choose(_), from } = self.nodes.last()? else { return None };
        let Node { op: Op::Dense { .. }, from } = self.nodes.get(from.first()?.checked_sub(1)?)? else { return None };
        from.first().copied().filter(|v| *v > 0)
    }

    /// The last dense node.
    pub fn last_dense(&self) -> Option<usize> {
        self.nodes.iter().rposition(|node| matches!(node.op, Op::Dense { .. }))
    }

    /// All parameters of the dense layers: layer by layer, weights row by row, then the bias.
    pub fn parameters(&self) -> impl Iterator<Item = f32> {
        self.nodes.iter().flat_map(|node| {
            let (w, b) = if let Op::Dense { w, b } = &node.op { (&w.data[..], &b[..]) } else { (&[][..], &[][..]) };
            w.iter().chain(b).copied()
        })
    }

    /// All parameters of the dense layers, in the same order, to be written.
    pub fn parameters_mut(&mut self) -> impl Iterator<Item = &mut f32> {
        self.nodes.iter_mut().flat_map(|node| {
            let (w, b) =
                if let Op::Dense { w, b } = &mut node.op { (&mut w.data[..], &mut b[..]) } else { (&mut [][..], &mut [][..]) };
            w.iter_mut().chain(b)
        })
    }

    /// Widths of the input and of every node, as far as nodes read only values before their own.
    pub fn widths(&self) -> Vec<usize> {
        let mut widths = vec![self.inputs];
        for node in &self.nodes {
            let Some(width) = node.width(&widths) else { break };
            widths.push(width);
        }
        widths
    }
}

impl Node {
    /// Width of the result, given the widths of the values before it; `None` where it reads none or a later one.
    pub(crate) fn width(&self, before: &[usize]) -> Option<usize> {
        let first = *before.get(*self.from.first()?)?;
        Some(match &self.op {
            Op::Affine { .. } | Op::Act(_) | Op::Gate => first,
            Op::Dense { w, .. } => w.rows,
            Op::Choose(table) => table.cols,
            Op::Conv(conv) => conv.rows(),
            Op::MaxPool(window) => window.results(),
            Op::Select(columns) => columns.len(),
            Op::Concat => self.from.iter().try_fold(0usize, |sum, &v| Some(sum.saturating_add(*before.get(v)?)))?,
        })
    }
}
