//! A network -> `Ok`, or the first node at which it is not one, with both shapes.

use crate::{Network, Node, Op, Window};

/// Why a [`Network`] cannot be evaluated. Node k computes value k + 1; value 0 is the input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// The input has no columns.
    #[error("the network's input has width 0: it needs at least one column")]
    NoInputs,
    /// A node reads too few or too many values.
    #[error("node {node} ({op}) reads {found} values, but must read {expected}")]
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
    /// A node reads its own result or a later one.
    #[error("node {node} ({op}) reads value {value}, but only values 0 to {node} come before it")]
    ReadsAhead {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
        /// The value it reads.
        value: usize,
    },
    /// The value read is not as wide as the parameters expect.
    #[error("node {node} ({op}) expects width {expected}, but value {value} that it reads has width {found}")]
    Width {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
        /// Width that the parameters ask for.
        expected: usize,
        /// The value read.
        value: usize,
        /// Its width.
        found: usize,
    },
    /// A list of parameters has the wrong length.
    #[error("node {node} ({op}): its {what} has {found} numbers, but {expected} are needed")]
    Parameters {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
        /// Which parameter.
        what: &'static str,
        /// How many are needed.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A parameter is infinite or not a number.
    #[error("node {node} ({op}): its {what} holds {value} at position {position}; every parameter must be finite")]
    NotFinite {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
        /// Which parameter.
        what: &'static str,
        /// Where in it, row by row.
        position: usize,
        /// The offending value, as text.
        value: String,
    },
    /// What fills in gaps does not fit in front of it.
    #[error("what fills in missing values gives {columns} columns, but the network reads {inputs}")]
    Filling {
        /// Columns behind what fills in.
        columns: usize,
        /// Width of the network's input.
        inputs: usize,
    },
    /// That nothing reads some columns can't be written in front of it.
    #[error("{0}")]
    Blind(String),
    /// A selected column does not exist.
    #[error("node {node} (select) takes column {column}, but value {value} that it reads has width {width}")]
    Column {
        /// The node.
        node: usize,
        /// The column asked for.
        column: usize,
        /// The value read.
        value: usize,
        /// Its width.
        width: usize,
    },
    /// A convolution or a pool whose numbers do not fit together.
    #[error("node {node} ({op}): {what}")]
    Window {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
        /// What must be so and is not.
        what: &'static str,
    },
    /// A node's result would have no columns.
    #[error("node {node} ({op}) computes nothing: its result has width 0")]
    Empty {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
    },
    /// A node's result goes nowhere.
    #[error("node {node} ({op}) is read by no later node and is not the output: leave it out")]
    Unread {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
    },
}

impl Network {
    /// Checks that the network can be evaluated: indices point backward, widths agree, parameters are finite, every node is used.
    pub fn validate(&self) -> Result<(), NetworkError> {
        if self.inputs == 0 {
            return Err(NetworkError::NoInputs);
        }
        let mut widths = vec![self.inputs];
        let mut read = vec![false; self.nodes.len() + 1];
        for (k, node) in self.nodes.iter().enumerate() {
            let op = node.op.name();
            check_reads(k, node)?;
            check_shapes(k, node, &widths)?;
            check_finite(k, node)?;
            node.from.iter().for_each(|&v| read[v] = true);
            match node.width(&widths) {
                None | Some(0) => return Err(NetworkError::Empty { node: k, op }),
                Some(width) => widths.push(width),
            }
        }
        // The input may go unread only by being the output; the last value is the output.
        match self.nodes.iter().zip(&read[1..]).take(self.nodes.len().saturating_sub(1)).position(|(_, read)| !read) {
            Some(node) => Err(NetworkError::Unread { node, op: self.nodes[node].op.name() }),
            None => Ok(()),
        }
    }
}

fn check_reads(k: usize, node: &Node) -> Result<(), NetworkError> {
    let (op, found) = (node.op.name(), node.from.len());
    let (fits, expected) = match node.op {
        Op::Concat => (found >= 1, "1 or more"),
        Op::Gate => (found == 2, "2"),
        _ => (found == 1, "1"),
    };
    if !fits {
        return Err(NetworkError::Arity { node: k, op, expected, found });
    }
    match node.from.iter().find(|&&v| v > k) {
        Some(&value) => Err(NetworkError::ReadsAhead { node: k, op, value }),
        None => Ok(()),
    }
}

fn check_shapes(k: usize, node: &Node, widths: &[usize]) -> Result<(), NetworkError> {
    let op = node.op.name();
    let first = node.from[0];
    let reads = |position: usize, expected: usize| {
        let value = node.from[position];
        if widths[value] == expected {
            Ok(())
        } else {
            Err(NetworkError::Width { node: k, op, expected, value, found: widths[value] })
        }
    };
    let length = |what, expected, found| {
        if expected == found { Ok(()) } else { Err(NetworkError::Parameters { node: k, op, what, expected, found }) }
    };
    match &node.op {
        Op::Affine { scale, shift } => {
            length("shift", scale.len(), shift.len())?;
            reads(0, scale.len())
        }
        Op::Dense { w, b } => {
            length("weight matrix", w.rows.saturating_mul(w.cols), w.data.len())?;
            length("bias", w.rows, b.len())?;
            reads(0, w.cols)
        }
        Op::Select(columns) => match columns.iter().find(|&&c| c >= widths[first]) {
            Some(&column) => Err(NetworkError::Column { node: k, column, value: first, width: widths[first] }),
            None => Ok(()),
        },
        Op::Gate => reads(1, 1),
        Op::Choose(table) => {
            length("table", table.rows.saturating_mul(table.cols), table.data.len())?;
            reads(0, table.rows)
        }
        Op::Conv(conv) => {
            let wrong = |what| Err(NetworkError::Window { node: k, op, what });
            let (channels, outputs) = (conv.window.input[0], conv.b.len());
            if conv.groups == 0 || !channels.is_multiple_of(conv.groups) || !outputs.is_multiple_of(conv.groups) {
                return wrong("channels must be a multiple of its groups");
            }
            let Some(weights) = conv.weights().and_then(|n| n.checked_mul(outputs)) else { return wrong(WINDOW) };
            length("weights", weights, conv.w.len())?;
            check_window(k, op, &conv.window, &reads)
        }
        Op::MaxPool(window) => {
            check_window(k, op, window, &reads)?;
            let what = "each window must read something";
            if window.reads_always() { Ok(()) } else { Err(NetworkError::Window { node: k, op, what }) }
        }
        Op::Act(_) | Op::Concat => Ok(()),
    }
}

const WINDOW: &str = "its window, strides and dilations must be at least 1, and it must fit into what is read";

fn check_window(
    node: usize,
    op: &'static str,
    window: &Window,
    reads: &dyn Fn(usize, usize) -> Result<(), NetworkError>,
) -> Result<(), NetworkError> {
    let positive = window.size.iter().chain(&window.stride).chain(&window.dilation).all(|n| *n > 0);
    match window.columns().filter(|_| positive && window.places().is_some()) {
        Some(columns) => reads(0, columns),
        None => Err(NetworkError::Window { node, op, what: WINDOW }),
    }
}

fn check_finite(k: usize, node: &Node) -> Result<(), NetworkError> {
    let parameters: [(&'static str, &[f32]); 2] = match &node.op {
        Op::Affine { scale, shift } => [("scale", scale), ("shift", shift)],
        Op::Dense { w, b } => [("weight matrix", &w.data), ("bias", b)],
        Op::Choose(table) => [("table", &table.data), ("table", &[])],
        Op::Conv(conv) => [("weights", &conv.w), ("bias", &conv.b)],
        _ => return Ok(()),
    };
    for (what, numbers) in parameters {
        if let Some(position) = numbers.iter().position(|x| !x.is_finite()) {
            let value = numbers[position].to_string();
            return Err(NetworkError::NotFinite { node: k, op: node.op.name(), what, position, value });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
