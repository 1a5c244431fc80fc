//! Values and indices enter; the elements that the indices point at leave.

use super::error::Wrong;
use super::op::Operands;
use super::value::{Array, Room, Value, around, axis, for_any, index};

/// What an index points at.
#[derive(Debug, Clone, Copy)]
pub(super) enum Take {
    /// A slice across an axis.
    Gather { axis: i64 },
    /// One element on an axis, at the place of the index on the others.
    Elements { axis: i64 },
}

impl Take {
    pub(super) fn run(self, operands: &Operands, room: Room) -> Result<Value, Wrong> {
        let (x, indices) = (operands.get(0)?, operands.of::<i64>(1)?);
        match self {
            Self::Gather { axis: at } => {
                let at = axis(at, x.dims().len())?;
                if let Value::Text(x) = x {
                    let lengths = Array { dims: x.dims.clone(), data: x.data.iter().map(String::len).collect() };
                    room.bytes(gather(&lengths, indices, at, room)?.data.into_iter())?;
                }
                Ok(for_any!(x, x => gather(x, indices, at, room)?))
            }
            Self::Elements { axis: at } => {
                let at = axis(at, x.dims().len())?;
                Ok(match x {
                    Value::Float(x) => Value::Float(elements(x, indices, at, room)?),
                    Value::Bool(x) => Value::Bool(elements(x, indices, at, room)?),
                    Value::Int(x) => Value::Int(elements(x, indices, at, room)?),
                    Value::Text(_) => return Err(operands.unfit(0, "float, bool or int64")),
                })
            }
        }
    }
}

fn gather<T: Clone>(x: &Array<T>, indices: &Array<i64>, at: usize, room: Room) -> Result<Array<T>, Wrong> {
    let dims = [&x.dims[..at], &indices.dims, &x.dims[at + 1..]].concat();
    let mut data = Vec::with_capacity(room.len(&dims)?);
    let [outer, len, inner] = around(&x.dims, at);
    let places = indices.data.iter().map(|i| index(*i, len)).collect::<Result<Vec<_>, _>>()?;
    for o in 0..outer {
        let block = &x.data[o * len * inner..(o + 1) * len * inner];
        if inner == 1 {
            data.extend(places.iter().map(|p| block[*p].clone()));
        } else {
            places.iter().for_each(|p| data.extend_from_slice(&block[p * inner..(p + 1) * inner]));
        }
    }
    Ok(Array { dims, data })
}

fn elements<T: Copy>(x: &Array<T>, indices: &Array<i64>, at: usize, room: Room) -> Result<Array<T>, Wrong> {
    let rank = x.dims.len();
    let fits = indices.dims.len() == rank && (0..rank).all(|i| i == at || indices.dims[i] <= x.dims[i]);
    if !fits {
        return Err(Wrong::Shapes { a: x.dims.clone(), b: indices.dims.clone() });
    }
    let mut data = Vec::with_capacity(room.len(&indices.dims)?);
    let steps: Vec<usize> = (0..rank).map(|i| x.dims[i + 1..].iter().product()).collect();
    // Where the walk over the indices stands, and where that is in `x`, the axis apart.
    let (mut place, mut base) = (vec![0; rank], 0);
    for &i in &indices.data {
        data.push(x.data[base + index(i, x.dims[at])? * steps[at]]);
        for k in (0..rank).rev() {
            let step = if k == at { 0 } else { steps[k] };
            place[k] += 1;
            base += step;
            if place[k] < indices.dims[k] {
                break;
            }
            base -= step * place[k];
            place[k] = 0;
        }
    }
    Ok(Array { dims: indices.dims.clone(), data })
}
