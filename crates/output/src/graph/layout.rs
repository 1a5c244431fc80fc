//! Values enter; the same elements leave in another shape or order, or behind one another.

use super::error::Wrong;
use super::op::Operands;
use super::value::{Array, Element, Room, Value, around, axis, for_any, named};

/// How elements are laid out anew.
#[derive(Debug, Clone)]
pub(super) enum Relayout {
    Concat {
        axis: i64,
    },
    Flatten {
        axis: i64,
    },
    /// With `zero`, a 0 in the new shape is a dimension of 0, and not the one that was there.
    Reshape {
        zero: bool,
    },
    Squeeze,
    Unsqueeze,
    Transpose {
        perm: Option<Vec<i64>>,
    },
}

impl Relayout {
    pub(super) fn run(&self, operands: &Operands, room: Room) -> Result<Value, Wrong> {
        let x = operands.get(0)?;
        match self {
            Self::Concat { axis } => match x {
                Value::Float(_) => concat::<f32>(operands, *axis, room),
                Value::Bool(_) => concat::<bool>(operands, *axis, room),
                Value::Int(_) => concat::<i64>(operands, *axis, room),
                Value::Text(_) => {
                    let parts = (0..operands.len()).filter_map(|k| operands.of::<String>(k).ok());
                    room.bytes(parts.flat_map(|part| part.data.iter().map(String::len)))?;
                    concat::<String>(operands, *axis, room)
                }
            },
            Self::Flatten { axis: at } => {
                let rank = x.dims().len();
                // The axis may also be the one behind the last.
                let at = if *at == rank as i64 { rank } else { axis(*at, rank)? };
                let (rows, cols) = x.dims().split_at(at);
                Ok(shaped(x, vec![rows.iter().product(), cols.iter().product()]))
            }
            Self::Reshape { zero } => reshape(x, &operands.of::<i64>(1)?.data, *zero, room),
            Self::Squeeze => {
                let rank = x.dims().len();
                let gone = match operands.maybe(1) {
                    Some(_) => named(&operands.of::<i64>(1)?.data, rank)?,
                    None => x.dims().iter().map(|d| *d == 1).collect(),
                };
                if x.dims().iter().zip(&gone).any(|(d, gone)| *gone && *d != 1) {
                    return Err(Wrong::Shape { found: x.dims().to_vec(), expected: "a length of 1 on the axes to be squeezed" });
                }
                Ok(shaped(x, x.dims().iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(d, _)| *d).collect()))
            }
            Self::Unsqueeze => {
                let axes = &operands.of::<i64>(1)?.data;
                let new = named(axes, x.dims().len() + axes.len())?;
                let mut old = x.dims().iter();
                Ok(shaped(x, new.iter().map(|new| if *new { 1 } else { *old.next().unwrap_or(&1) }).collect()))
            }
            Self::Transpose { perm } => transpose(x, perm.as_deref()),
        }
    }
}

fn shaped(x: &Value, dims: Vec<usize>) -> Value {
    for_any!(x, x => Array { dims, data: x.data.clone() })
}

fn concat<T: Element>(operands: &Operands, at: i64, room: Room) -> Result<Value, Wrong> {
    let first = operands.of::<T>(0)?;
    let at = axis(at, first.dims.len())?;
    let mut dims = first.dims.clone();
    let mut parts = vec![first];
    for k in 1..operands.len() {
        let part = operands.of::<T>(k)?;
        let fits = part.dims.len() == dims.len() && (0..dims.len()).all(|i| i == at || part.dims[i] == dims[i]);
        if !fits {
            return Err(Wrong::Shapes { a: first.dims.clone(), b: part.dims.clone() });
        }
        dims[at] = dims[at].saturating_add(part.dims[at]);
        parts.push(part);
    }
    let mut data = Vec::with_capacity(room.len(&dims)?);
    let [outer, _, inner] = around(&dims, at);
    let blocks: Vec<(&[T], usize)> = parts.iter().map(|p| (&p.data[..], p.dims[at] * inner)).collect();
    for o in 0..outer {
        blocks.iter().for_each(|(part, block)| data.extend_from_slice(&part[o * block..(o + 1) * block]));
    }
    Ok(T::value(Array { dims, data }))
}

fn reshape(x: &Value, to: &[i64], zero: bool, room: Room) -> Result<Value, Wrong> {
    let wrong = || Wrong::Reshape { from: x.dims().to_vec(), to: to.to_vec() };
    let mut open = None;
    let mut dims = Vec::with_capacity(to.len());
    for (i, &d) in to.iter().enumerate() {
        dims.push(match d {
            // One dimension may be left open; 1 stands there until the others are known.
            -1 if open.is_none() => {
                open = Some(i);
                1
            }
            0 if !zero => *x.dims().get(i).ok_or_else(wrong)?,
            d => usize::try_from(d).map_err(|_| wrong())?,
        });
    }
    let known = room.len(&dims)?;
    if let Some(i) = open {
        dims[i] = x.len().checked_div(known).ok_or_else(wrong)?;
    }
    if room.len(&dims)? == x.len() { Ok(shaped(x, dims)) } else { Err(wrong()) }
}

fn transpose(x: &Value, perm: Option<&[i64]>) -> Result<Value, Wrong> {
    let [rows, cols] = x.dims()[..] else {
        return Err(Wrong::Shape { found: x.dims().to_vec(), expected: "two axes" });
    };
    if perm == Some(&[0, 1]) {
        return Ok(x.clone());
    }
    Ok(for_any!(x, x => Array { dims: vec![cols, rows], data: turned(&x.data, rows, cols) }))
}

/// The columns of a matrix, one behind the other.
pub(super) fn turned<T: Clone>(x: &[T], rows: usize, cols: usize) -> Vec<T> {
    (0..cols).flat_map(|c| (0..rows).map(move |r| x[r * cols + c].clone())).collect()
}
