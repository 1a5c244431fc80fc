//! A piece of an ONNX graph and the tensors it reads enter; the tensors that are asked for leave.
//!
//! The operators mean what ONNX says since opset 13; what the standard leaves open is said where it is computed. Each file in `graph/`
//! holds one group of operators.

mod along;
mod attributes;
mod broadcast;
mod encode;
mod error;
mod layout;
mod op;
mod pairwise;
mod pointwise;
mod product;
mod reduce;
mod take;
mod value;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use deepsade_net::Piece;

pub use error::{GraphError, Wrong};
use op::{GraphOp, Operands};
use value::Room;
pub use value::{Array, Value};

/// Elements that a value may always have.
const LEAST_ROOM: usize = 1 << 24;

/// Elements that a value may have for each element that is given.
const ROOM_FOR_ONE: usize = 256;

/// Calls and constants made ready to run.
///
/// No value that is computed may have more than 2^24 elements, or 256 for each element that is given, or as many as all constants
/// together, whichever is most: a few bytes of a hostile file must not ask for all the memory. A dimension of 0 counts as 1 here, and the
/// bytes of texts count as elements.
///
/// ```
/// use deepsade_net::{Matrix, Piece};
/// use deepsade_output::graph::Graph;
///
/// let mut piece = Piece::default();
/// piece.floats("top", &[2], vec![1.0, 10.0]);
/// piece.call("Min", &["scores", "top"], "capped");
/// let graph = Graph::new(&piece, &["scores"])?;
///
/// let scores = Matrix { rows: 2, cols: 2, data: vec![0.5, 20.0, 3.0, 4.0] };
/// let capped = graph.run(vec![scores.into()], &["capped"])?.remove(0);
/// assert_eq!(Matrix::try_from(capped)?.data, [0.5, 10.0, 1.0, 4.0]);
/// # Ok::<(), deepsade_output::graph::GraphError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Graph {
    /// Every tensor's slot. Given values have the first ones, then constants, then what is computed.
    slots: BTreeMap<String, usize>,
    given: Vec<String>,
    constants: Vec<Value>,
    steps: Vec<ReadyCall>,
}

/// A call made ready.
#[derive(Debug, Clone)]
struct ReadyCall {
    op: GraphOp,
    /// The slots it reads; `None` where an operand is left out.
    reads: Vec<Option<usize>>,
    makes: usize,
    /// The operator and the tensor, for messages.
    name: [String; 2],
}

impl Graph {
    /// Prepares a piece; `given` names the tensors that will be supplied.
    pub fn new(piece: &Piece, given: &[&str]) -> Result<Self, GraphError> {
        let mut slots = BTreeMap::new();
        let add = |slots: &mut BTreeMap<String, usize>, name: &str| {
            let slot = slots.len();
            match slots.insert(name.into(), slot) {
                None => Ok(slot),
                Some(_) => Err(GraphError::Twice { name: name.into() }),
            }
        };
        for name in given {
            add(&mut slots, name)?;
        }
        let mut constants = Vec::with_capacity(piece.tensors.len());
        for tensor in &piece.tensors {
            add(&mut slots, &tensor.name)?;
            let value = Value::constant(&tensor.dims, &tensor.data);
            value.check(&tensor.name, Room(LEAST_ROOM.max(value.len())))?;
            constants.push(value);
        }
        let mut steps = Vec::with_capacity(piece.calls.len());
        for call in &piece.calls {
            let name = [call.op.clone(), call.makes.clone()];
            let op = GraphOp::read(call).map_err(|why| wrong(&name, why))?;
            let slot = |read: &String| match slots.get(read) {
                _ if read.is_empty() => Ok(None),
                Some(slot) => Ok(Some(*slot)),
                None => Err(wrong(&name, Wrong::Missing { name: read.clone() })),
            };
            let reads = call.reads.iter().map(slot).collect::<Result<_, _>>()?;
            let makes = add(&mut slots, &call.makes)?;
            steps.push(ReadyCall { op, reads, makes, name });
        }
        Ok(Self { slots, given: given.iter().map(|name| (*name).into()).collect(), constants, steps })
    }

    /// Runs the calls that the wanted tensors need; `given` are the tensors that were named before, in the same order.
    pub fn run(&self, given: Vec<Value>, wanted: &[&str]) -> Result<Vec<Value>, GraphError> {
        let room = self.room(&given)?;
        let slot = |name: &&str| self.slots.get(*name).copied().ok_or_else(|| GraphError::Unknown { name: (*name).into() });
        let wanted = wanted.iter().map(slot).collect::<Result<Vec<_>, _>>()?;
        let mut values: Vec<Option<Cow<Value>>> = given.into_iter().map(|value| Some(Cow::Owned(value))).collect();
        values.extend(self.constants.iter().map(|value| Some(Cow::Borrowed(value))));
        values.resize_with(self.slots.len(), || None);
        let mut readers = self.readers(&wanted);
        for (value, _) in values.iter_mut().zip(&readers).filter(|(_, readers)| **readers == 0) {
            *value = None;
        }
        for step in &self.steps {
            if readers[step.makes] == 0 {
                continue;
            }
            let operands = Operands(step.reads.iter().map(|read| read.and_then(|slot| values[slot].as_deref())).collect());
            let made = step.op.run(&operands, room).map_err(|why| wrong(&step.name, why))?;
            values[step.makes] = Some(Cow::Owned(made));
            for slot in step.reads.iter().flatten() {
                readers[*slot] -= 1;
                if readers[*slot] == 0 {
                    values[*slot] = None;
                }
            }
        }
        let hand_over = |slot: usize| {
            readers[slot] -= 1;
            let value = if readers[slot] == 0 { values[slot].take() } else { values[slot].clone() };
            value.expect("a value stays until its last reader has it").into_owned()
        };
        Ok(wanted.into_iter().map(hand_over).collect())
    }

    /// How many elements a value may have, if the given values are what they claim to be.
    fn room(&self, given: &[Value]) -> Result<Room, GraphError> {
        if given.len() != self.given.len() {
            return Err(GraphError::Given { found: given.len(), expected: self.given.len() });
        }
        let total = |values: &[Value]| values.iter().map(Value::weight).fold(0, usize::saturating_add);
        let room = Room(LEAST_ROOM.max(total(given).saturating_mul(ROOM_FOR_ONE)).max(total(&self.constants)));
        self.given.iter().zip(given).try_for_each(|(name, value)| value.check(name, room))?;
        Ok(room)
    }

    /// How often each slot is read on the way to the wanted ones, which count as read once more.
    fn readers(&self, wanted: &[usize]) -> Vec<usize> {
        let mut readers = vec![0; self.slots.len()];
        wanted.iter().for_each(|slot| readers[*slot] += 1);
        for step in self.steps.iter().rev() {
            if readers[step.makes] > 0 {
                step.reads.iter().flatten().for_each(|slot| readers[*slot] += 1);
            }
        }
        readers
    }
}

fn wrong([op, makes]: &[String; 2], why: Wrong) -> GraphError {
    GraphError::Call { makes: makes.clone(), op: op.clone(), why }
}
