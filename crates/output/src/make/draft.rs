//! Operators enter one after the other; a piece of a graph leaves, every tensor of it under a name of its own.

use deepsade_net::Piece;
use deepsade_net::onnx::piece::TO_FLOAT;

use super::{CANDIDATE, PREFIX};

/// A piece that is being written. Every method returns the name of what it makes.
#[derive(Debug, Default)]
pub(super) struct Draft {
    piece: Piece,
    made: usize,
}

impl Draft {
    fn name(&mut self, what: &str) -> String {
        self.made += 1;
        format!("{PREFIX}{}{}", what.to_ascii_lowercase(), self.made)
    }

    /// A name to put in front of names that others choose.
    pub(super) fn prefix(&mut self, what: &str) -> String {
        self.name(what) + "."
    }

    /// For calls that others write.
    pub(super) fn piece(&mut self) -> &mut Piece {
        &mut self.piece
    }

    pub(super) fn call(&mut self, op: &str, reads: &[&str]) -> String {
        self.call_with(op, reads, &[])
    }

    pub(super) fn call_with(&mut self, op: &str, reads: &[&str], attributes: &[(&str, i64)]) -> String {
        let makes = self.name(op);
        self.piece.call_with(op, reads, &makes, attributes);
        makes
    }

    pub(super) fn floats(&mut self, dims: &[usize], data: Vec<f32>) -> String {
        let name = self.name("floats");
        self.piece.floats(&name, dims, data);
        name
    }

    pub(super) fn ints(&mut self, dims: &[usize], data: Vec<i64>) -> String {
        let name = self.name("ints");
        self.piece.ints(&name, dims, data);
        name
    }

    /// The same number for every row and column.
    pub(super) fn number(&mut self, v: f32) -> String {
        self.floats(&[1], vec![v])
    }

    /// A number a column.
    pub(super) fn row(&mut self, data: Vec<f32>) -> String {
        self.floats(&[1, data.len()], data)
    }

    /// Some columns of a tensor, in this order.
    pub(super) fn columns(&mut self, of: &str, columns: &[usize]) -> String {
        let columns = self.ints(&[columns.len()], columns.iter().map(|c| *c as i64).collect());
        self.call_with("Gather", &[of, &columns], &[("axis", 1)])
    }

    pub(super) fn to_float(&mut self, of: &str) -> String {
        self.call_with("Cast", &[of], &[("to", TO_FLOAT)])
    }

    /// The piece, whose last call makes the candidate.
    pub(super) fn finish(mut self) -> Piece {
        if let Some(last) = self.piece.calls.last_mut() {
            last.makes = CANDIDATE.into();
        }
        self.piece
    }
}
