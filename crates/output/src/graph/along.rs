//! A value enters; leaves what its elements along one axis say together: which one is largest, or how likely each is.

use super::error::Wrong;
use super::op::Operands;
use super::pointwise::larger;
use super::value::{Array, Room, Value, around, axis};

/// What is asked of the elements along an axis.
#[derive(Debug, Clone, Copy)]
pub(super) enum Along {
    /// The place of the first of the largest ones; with `keep`, the axis stays with length 1.
    ArgMax { axis: i64, keep: bool },
    /// `exp(x_i) / sum_j exp(x_j)`
    Softmax { axis: i64 },
}

impl Along {
    pub(super) fn run(self, operands: &Operands, room: Room) -> Result<Value, Wrong> {
        let x = operands.get(0)?;
        match (self, x) {
            (Self::ArgMax { axis, keep }, Value::Float(x)) => first_largest(x, axis, keep, room, |x, best| {
                // NaN is larger than nothing, and everything is larger than NaN.
                x > best || (best.is_nan() && !x.is_nan())
            }),
            (Self::ArgMax { axis, keep }, Value::Int(x)) => first_largest(x, axis, keep, room, |x, best| x > best),
            (Self::ArgMax { .. }, _) => Err(operands.unfit(0, "float or int64")),
            (Self::Softmax { axis }, _) => softmax(operands.of::<f32>(0)?, axis),
        }
    }
}

fn first_largest<T: Copy>(
    x: &Array<T>,
    at: i64,
    keep: bool,
    room: Room,
    is_larger: impl Fn(T, T) -> bool,
) -> Result<Value, Wrong> {
    let at = axis(at, x.dims.len())?;
    let [outer, len, inner] = around(&x.dims, at);
    if len == 0 {
        return Err(Wrong::Shape { found: x.dims.clone(), expected: "elements on the axis" });
    }
    let mut dims = x.dims.clone();
    dims[at] = 1;
    let mut data = Vec::with_capacity(room.len(&dims)?);
    for o in 0..outer {
        let block = &x.data[o * len * inner..(o + 1) * len * inner];
        for i in 0..inner {
            let mut best = 0;
            for j in 1..len {
                if is_larger(block[j * inner + i], block[best * inner + i]) {
                    best = j;
                }
            }
            data.push(best as i64);
        }
    }
    if !keep {
        dims.remove(at);
    }
    Ok(Value::Int(Array { dims, data }))
}

fn softmax(x: &Array<f32>, at: i64) -> Result<Value, Wrong> {
    let [outer, len, inner] = around(&x.dims, axis(at, x.dims.len())?);
    let mut y = x.clone();
    for o in 0..outer {
        let block = &mut y.data[o * len * inner..(o + 1) * len * inner];
        for i in 0..inner {
            let line = (0..len).map(|j| j * inner + i);
            // Less the largest one, so that no power overflows.
            let largest = line.clone().fold(f32::NEG_INFINITY, |m, j| larger(m, block[j]));
            line.clone().for_each(|j| block[j] = (block[j] - largest).exp());
            let sum: f32 = line.clone().map(|j| block[j]).sum();
            line.for_each(|j| block[j] /= sum);
        }
    }
    Ok(Value::Float(y))
}
