//! Operators enter one after the other; a piece of a graph leaves, every tensor of it under a name of its own.

use std::collections::HashMap;

use deepsade_net::Piece;
use deepsade_net::onnx::piece::TO_FLOAT;

use super::{CANDIDATE, PREFIX};

/// The code of int64 in an attribute `to`.
const TO_INT: i64 = 7;

/// A piece that is being written. Every method returns the name of what it makes.
///
/// The input and the scores lie, a row an input. All that is computed stands, a line an output, a label or a state, and a column an
/// input: lines are as long as a batch, to take some is to copy whole stretches of memory, and to compute with a number a line costs no
/// more than with one number; runtimes are slow at both with columns.
#[derive(Debug, Default)]
pub(super) struct Draft {
    piece: Piece,
    made: usize,
    /// Constants by dimensions and numbers: each is stored once.
    known: HashMap<(Vec<usize>, Bits), String>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Bits {
    Float(Vec<u32>),
    Int(Vec<i64>),
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
        let key = (dims.to_vec(), Bits::Float(data.iter().map(|v| v.to_bits()).collect()));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let name = self.name("floats");
        self.piece.floats(&name, dims, data);
        self.known.insert(key, name.clone());
        name
    }

    pub(super) fn ints(&mut self, dims: &[usize], data: Vec<i64>) -> String {
        let key = (dims.to_vec(), Bits::Int(data.clone()));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let name = self.name("ints");
        self.piece.ints(&name, dims, data);
        self.known.insert(key, name.clone());
        name
    }

    /// The same number for every row and column.
    pub(super) fn number(&mut self, v: f32) -> String {
        self.floats(&[1], vec![v])
    }

    /// A number a line.
    pub(super) fn each(&mut self, data: Vec<f32>) -> String {
        self.floats(&[data.len(), 1], data)
    }

    /// A matrix of this many rows and columns with ones at some places.
    pub(super) fn ones(&mut self, rows: usize, cols: usize, places: impl IntoIterator<Item = (usize, usize)>) -> String {
        let mut data = vec![0.0; rows * cols];
        places.into_iter().for_each(|(r, c)| data[r * cols + c] = 1.0);
        self.floats(&[rows, cols], data)
    }

    /// Some lines of a tensor that stands, in this order.
    pub(super) fn lines(&mut self, of: &str, lines: &[usize]) -> String {
        let lines = self.ints(&[lines.len()], lines.iter().map(|c| *c as i64).collect());
        self.call_with("Gather", &[of, &lines], &[("axis", 0)])
    }

    /// Some columns of the input, in this order.
    pub(super) fn columns(&mut self, of: &str, columns: &[usize]) -> String {
        let columns = self.ints(&[columns.len()], columns.iter().map(|c| *c as i64).collect());
        self.call_with("Gather", &[of, &columns], &[("axis", 1)])
    }

    /// Tensors one below the other.
    pub(super) fn below<S: AsRef<str>>(&mut self, parts: &[S]) -> String {
        let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
        if let [only] = parts[..] { only.into() } else { self.call_with("Concat", &parts, &[("axis", 0)]) }
    }

    /// What lies, put upright.
    pub(super) fn turned(&mut self, of: &str) -> String {
        self.call("Transpose", &[of])
    }

    pub(super) fn cast_float(&mut self, of: &str) -> String {
        self.call_with("Cast", &[of], &[("to", TO_FLOAT)])
    }

    pub(super) fn cast_int(&mut self, of: &str) -> String {
        self.call_with("Cast", &[of], &[("to", TO_INT)])
    }

    /// Numbers between two ends.
    pub(super) fn clip(&mut self, of: &str, lower: f32, upper: f32) -> String {
        let (lower, upper) = (self.floats(&[], vec![lower]), self.floats(&[], vec![upper]));
        self.call("Clip", &[of, &lower, &upper])
    }

    /// Numbers to compute with: 0 for what is none, and none beyond `most` in size. Whether a maximum of something with not a number
    /// is a number differs from runtime to runtime; a comparison with it fails in all.
    pub(super) fn sane(&mut self, of: &str, most: f32) -> String {
        let (none, size) = (self.number(0.0), self.call("Abs", &[of]));
        let below_all = self.number(-1.0);
        let seen = self.call("Greater", &[&size, &below_all]);
        let number = self.call("Where", &[&seen, of, &none]);
        self.clip(&number, -most, most)
    }

    /// The piece, whose last call makes the candidate.
    pub(super) fn finish(mut self) -> Piece {
        if let Some(last) = self.piece.calls.last_mut() {
            last.makes = CANDIDATE.into();
        }
        self.piece
    }
}
