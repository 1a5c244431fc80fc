//! A value enters; leaves what its elements on some axes have in common: their sum, the largest or the smallest.

use super::broadcast::Strides;
use super::error::Wrong;
use super::op::Operands;
use super::pointwise::{larger, smaller};
use super::value::{Array, Room, Value, named};

/// Which axes become one element, and how.
#[derive(Debug, Clone)]
pub(super) struct Reduce {
    pub(super) how: Folded,
    /// The axes, unless an operand names them; all of them if nothing does.
    pub(super) axes: Option<Vec<i64>>,
    /// Whether reduced axes stay, with length 1.
    pub(super) keep: bool,
    /// Whether no axes means none, and not all.
    pub(super) none: bool,
}

/// How two elements become one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Folded {
    Sum,
    Max,
    Min,
}

impl Reduce {
    pub(super) fn run(&self, operands: &Operands, room: Room) -> Result<Value, Wrong> {
        let x = operands.get(0)?;
        let axes = match (&self.axes, operands.maybe(1)) {
            (Some(_), Some(_)) => {
                return Err(Wrong::Attribute { name: "axes", expected: "left out where an operand names axes" });
            }
            (Some(axes), None) => axes,
            (None, Some(_)) => &operands.of::<i64>(1)?.data,
            (None, None) => &Vec::new(),
        };
        let rank = x.dims().len();
        let gone = match axes[..] {
            [] if self.none => return Ok(x.clone()),
            [] => vec![true; rank],
            _ => named(axes, rank)?,
        };
        // Of no elements: what changes nothing when it is joined with others.
        Ok(match (x, self.how) {
            (Value::Float(x), Folded::Sum) => Value::Float(self.fold(x, &gone, room, 0.0, |a, b| a + b)?),
            (Value::Float(x), Folded::Max) => Value::Float(self.fold(x, &gone, room, f32::NEG_INFINITY, larger)?),
            (Value::Float(x), Folded::Min) => Value::Float(self.fold(x, &gone, room, f32::INFINITY, smaller)?),
            (Value::Int(x), Folded::Sum) => Value::Int(self.fold(x, &gone, room, 0, i64::wrapping_add)?),
            (Value::Int(x), Folded::Max) => Value::Int(self.fold(x, &gone, room, i64::MIN, i64::max)?),
            (Value::Int(x), Folded::Min) => Value::Int(self.fold(x, &gone, room, i64::MAX, i64::min)?),
            _ => return Err(operands.unfit(0, "float or int64")),
        })
    }

    fn fold<T: Copy>(&self, x: &Array<T>, gone: &[bool], room: Room, start: T, f: impl Fn(T, T) -> T) -> Result<Array<T>, Wrong> {
        let mut dims: Vec<usize> = x.dims.iter().zip(gone).map(|(d, gone)| if *gone { 1 } else { *d }).collect();
        let mut data = vec![start; room.len(&dims)?];
        // The result, stretched to the shape of `x`, says where each element of `x` goes.
        let plan = Strides::new([&x.dims, &dims], room)?;
        plan.each(|[i, o]| {
            let row = &x.data[i..i + plan.cols];
            if plan.moves[1] {
                data[o..o + plan.cols].iter_mut().zip(row).for_each(|(y, x)| *y = f(*y, *x));
            } else {
                data[o] = row.iter().fold(data[o], |y, x| f(y, *x));
            }
        });
        if !self.keep {
            dims = dims.iter().zip(gone).filter(|(_, gone)| !**gone).map(|(d, _)| *d).collect();
        }
        Ok(Array { dims, data })
    }
}
