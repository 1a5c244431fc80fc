//! A network enters; the width of each of its values leaves, or the node that does not fit.

use deepsade_net::{Network, Op};
use thiserror::Error;

/// A network that cannot be trained; nodes count from 0.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// A node reads a value that is not before its own.
    #[error("node {node} ({op}) reads value {value}, but only values 0 to {node} are before it")]
    Reference {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
        /// The value it asks for.
        value: usize,
    },
    /// A node reads too many or too few values.
    #[error("node {node} ({op}) reads {found} values, expected {expected}")]
    Arity {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
        /// How many it should read.
        expected: &'static str,
        /// How many it reads.
        found: usize,
    },
    /// A node's constants do not fit what it reads.
    #[error("node {node} ({op}) expects a value {expected} wide and reads one {found} wide")]
    Width {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
        /// The width it is made for.
        expected: usize,
        /// The width it reads.
        found: usize,
    },
    /// Weights, bias, scale or shift disagree in length.
    #[error("node {node} ({op}): {what} has {found} values, expected {expected}")]
    Constants {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
        /// Which constant.
        what: &'static str,
        /// Its length by the node's other constants.
        expected: usize,
        /// Its length.
        found: usize,
    },
    /// A column that is not there.
    #[error("node {node} (select) takes column {column} of a value {width} wide")]
    Column {
        /// The node.
        node: usize,
        /// The column.
        column: usize,
        /// The width of the value.
        width: usize,
    },
    /// No dense layer leads to the output, or the output has no columns.
    #[error("no dense layer leads to the network's output, so there is nothing to train")]
    NothingToTrain,
}

fn name(op: &Op) -> &'static str {
    match op {
        Op::Affine { .. } => "affine",
        Op::Dense { .. } => "dense",
        Op::Act(_) => "activation",
        Op::Select(_) => "select",
        Op::Concat => "concat",
        Op::Gate => "gate",
    }
}

/// Width of every value; refuses nodes that do not fit.
pub fn widths(network: &Network) -> Result<Vec<usize>, PlanError> {
    let mut widths = vec![network.inputs];
    for (k, node) in network.nodes.iter().enumerate() {
        let op = name(&node.op);
        if let Some(&value) = node.from.iter().find(|&&value| value > k) {
            return Err(PlanError::Reference { node: k, op, value });
        }
        let (fits, expected) = match node.op {
            Op::Concat => (!node.from.is_empty(), "at least 1"),
            Op::Gate => (node.from.len() == 2, "2"),
            _ => (node.from.len() == 1, "1"),
        };
        if !fits {
            return Err(PlanError::Arity { node: k, op, expected, found: node.from.len() });
        }
        let read: Vec<usize> = node.from.iter().map(|&v| widths[v]).collect();
        let reads = |expected: usize, found: usize| {
            if found == expected { Ok(()) } else { Err(PlanError::Width { node: k, op, expected, found }) }
        };
        let has = |what, expected: usize, found: usize| {
            if found == expected { Ok(()) } else { Err(PlanError::Constants { node: k, op, what, expected, found }) }
        };
        widths.push(match &node.op {
            Op::Affine { scale, shift } => {
                has("shift", scale.len(), shift.len())?;
                reads(scale.len(), read[0])?;
                read[0]
            }
            Op::Dense { w, b } => {
                has("the weights", w.rows * w.cols, w.data.len())?;
                has("the bias", w.rows, b.len())?;
                reads(w.cols, read[0])?;
                w.rows
            }
            Op::Act(_) => read[0],
            Op::Select(columns) => {
                if let Some(&column) = columns.iter().find(|&&column| column >= read[0]) {
                    return Err(PlanError::Column { node: k, column, width: read[0] });
                }
                columns.len()
            }
            Op::Concat => read.iter().sum(),
            Op::Gate => {
                reads(1, read[1])?;
                read[0]
            }
        });
    }
    Ok(widths)
}
