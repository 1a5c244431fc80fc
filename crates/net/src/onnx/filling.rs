//! A file whose input has no gaps enters; leaves the file that fills in gaps before it, and the way back.
//!
//! `x` of the one becomes `missing.x` of the other, which two to five nodes in front make of the new input `x`:
//!
//! ```text
//! missing.is     = IsNaN(x)
//! missing.filled = Where(missing.is, missing.values, x)
//! missing.flags  = Cast(Gather(missing.is, missing.columns))
//! missing.x      = Concat(missing.filled, missing.flags)
//! ```
//!
//! None of these rounds: a number passes as it is, what is not a number becomes the stored value of its column, and a flag is 0 or 1.
//! Everything behind reads `missing.x` alone, so it computes what the file without gaps computes on (filled, flags).

use prost::Message;

use super::carried::{Carried, Port, number};
use super::error::ImportError;
use super::front::{graph, reading, rewritten, stored};
use super::piece::{Piece, TO_FLOAT};
use super::proto::NodeProto;
use super::tensor;
use super::wire;

/// What all names in front begin with.
const PREFIX: &str = "missing.";
const INPUT: &str = "x";
const FILLED: &str = "missing.x";
const IS: &str = "missing.is";
const VALUES: &str = "missing.values";
const COLUMNS: &str = "missing.columns";

/// What is read where a column of the input is not a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Filling {
    /// For each column of the file's input what stands in its place; `None` leaves it as it is.
    pub values: Vec<Option<f32>>,
    /// Columns whose gaps are told, 0 or 1, in columns behind all others, in this order.
    pub flags: Vec<usize>,
}

impl Filling {
    /// How many columns there are behind it.
    pub fn width(&self) -> usize {
        self.values.len() + self.flags.len()
    }

    /// The nodes in front, and what they store.
    fn piece(&self) -> Piece {
        let mut piece = Piece::default();
        let filled = if self.flags.is_empty() { FILLED } else { "missing.filled" };
        // A column without a value keeps what it has: not a number.
        piece.floats(VALUES, &[self.values.len()], self.values.iter().map(|v| v.unwrap_or(f32::NAN)).collect());
        piece.call("IsNaN", &[INPUT], IS);
        piece.call("Where", &[IS, VALUES, INPUT], filled);
        if !self.flags.is_empty() {
            piece.ints(COLUMNS, &[self.flags.len()], self.flags.iter().map(|c| *c as i64).collect());
            piece.call_with("Gather", &[IS, COLUMNS], "missing.gaps", &[("axis", 1)]);
            piece.call_with("Cast", &["missing.gaps"], "missing.flags", &[("to", TO_FLOAT)]);
            piece.call_with("Concat", &[filled, "missing.flags"], FILLED, &[("axis", 1)]);
        }
        piece
    }

    /// The file with this in front.
    pub(super) fn before(&self, inner: &[u8]) -> Result<Vec<u8>, ImportError> {
        let carried = Carried::read(inner)?;
        if carried.inputs != [Port::rows(INPUT, "float", Some(self.width()))] || carried.mentions(PREFIX) {
            return Err(ImportError::Filling("the input behind it is not the filled one, or its names are taken"));
        }
        let piece = self.piece();
        rewritten(inner, |graph, out| {
            piece.calls.iter().for_each(|call| wire::put(number::NODE, &call.to_bytes(), out));
            for field in graph {
                match field.number {
                    number::NODE => wire::put(number::NODE, &reading(field.bytes(), INPUT, FILLED)?, out),
                    number::INPUT => {
                        let port = Port::rows(INPUT, "float", Some(self.values.len()));
                        wire::put(number::INPUT, &port.to_bytes(), out);
                    }
                    _ => out.extend_from_slice(field.raw),
                }
            }
            piece.tensors.iter().for_each(|tensor| wire::put(number::INITIALIZER, &tensor.to_bytes(), out));
            Ok(())
        })
    }

    /// What a file has in front, and the file behind it; `None` if it has nothing there. Refuses all but what this program writes.
    pub fn split(bytes: &[u8]) -> Result<Option<(Self, Vec<u8>)>, ImportError> {
        let Some(filling) = Self::found(bytes)? else { return Ok(None) };
        let calls = filling.piece().calls.len();
        let inner = rewritten(bytes, |graph, out| {
            let mut nodes = 0;
            for field in graph {
                match field.number {
                    number::NODE => {
                        nodes += 1;
                        if nodes > calls {
                            wire::put(number::NODE, &reading(field.bytes(), FILLED, INPUT)?, out);
                        }
                    }
                    number::INPUT => {
                        let port = Port::rows(INPUT, "float", Some(filling.width()));
                        wire::put(number::INPUT, &port.to_bytes(), out);
                    }
                    number::INITIALIZER if stored(field.bytes())?.name.starts_with(PREFIX) => {}
                    _ => out.extend_from_slice(field.raw),
                }
            }
            Ok(())
        })?;
        // Whatever else the file has, such as a node behind that reads the input itself, is gone or changed now.
        if filling.before(&inner)? != bytes {
            return Err(ImportError::Filling("it is not written as this program writes it, or something else reads the input"));
        }
        Ok(Some((filling, inner)))
    }

    /// By the first node and what is stored for it.
    fn found(bytes: &[u8]) -> Result<Option<Self>, ImportError> {
        // What can't be taken apart is told by who reads the file.
        let Ok(graph) = graph(bytes) else { return Ok(None) };
        let Some(first) = graph.iter().find(|f| f.number == number::NODE) else { return Ok(None) };
        let is_ours = NodeProto::decode(first.bytes().unwrap_or_default()).is_ok_and(|node| node.output == [IS]);
        if !is_ours {
            return Ok(None);
        }
        let (mut values, mut flags) = (None, Vec::new());
        for field in graph.iter().filter(|f| f.number == number::INITIALIZER) {
            let tensor = stored(field.bytes())?;
            match tensor.name.as_str() {
                VALUES => values = Some(tensor::floats(&tensor)?),
                COLUMNS => flags = tensor::integers(&tensor)?,
                _ => {}
            }
        }
        let values = values.ok_or(ImportError::Filling("no values are stored for it"))?;
        let flags = flags.into_iter().map(|c| usize::try_from(c).ok().filter(|c| *c < values.len()));
        let flags = flags.collect::<Option<_>>().ok_or(ImportError::Filling("a flag is about no column"))?;
        Ok(Some(Self { values: values.into_iter().map(|v| (!v.is_nan()).then_some(v)).collect(), flags }))
    }
}
