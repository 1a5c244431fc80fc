//! One value enters, one of the same shape leaves: `y_i = f(x_i)`.

use super::error::Wrong;
use super::op::Operands;
use super::value::{Array, Value};

/// The function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pointwise {
    Abs,
    Neg,
    Floor,
    Ceil,
    Relu,
    Exp,
    Sqrt,
    Sigmoid,
    IsNaN,
    Not,
    Identity,
    CastFloat,
    CastInt,
    CastBool,
    Clip,
}

impl Pointwise {
    /// The conversion to the type with this code.
    pub(super) fn cast(to: Option<i64>) -> Result<Self, Wrong> {
        match to {
            Some(1) => Ok(Self::CastFloat),
            Some(7) => Ok(Self::CastInt),
            Some(9) => Ok(Self::CastBool),
            _ => Err(Wrong::Attribute { name: "to", expected: "1 (float), 7 (int64) or 9 (bool)" }),
        }
    }

    pub(super) fn run(self, operands: &Operands) -> Result<Value, Wrong> {
        let x = operands.get(0)?;
        Ok(match (self, x) {
            (Self::Identity, _)
            | (Self::CastFloat, Value::Float(_))
            | (Self::CastInt, Value::Int(_))
            | (Self::CastBool, Value::Bool(_)) => x.clone(),
            (Self::Clip, Value::Float(x)) => {
                let [lo, hi] = [limit(operands, 1, f32::NEG_INFINITY)?, limit(operands, 2, f32::INFINITY)?];
                Value::Float(map(x, |x| smaller(larger(*x, lo), hi)))
            }
            (Self::Clip, Value::Int(x)) => {
                let [lo, hi] = [limit(operands, 1, i64::MIN)?, limit(operands, 2, i64::MAX)?];
                Value::Int(map(x, |x| (*x).max(lo).min(hi)))
            }
            (Self::Abs, Value::Int(x)) => Value::Int(map(x, |x| x.wrapping_abs())),
            (Self::Neg, Value::Int(x)) => Value::Int(map(x, |x| x.wrapping_neg())),
            (Self::Not, Value::Bool(x)) => Value::Bool(map(x, |x| !x)),
            (Self::IsNaN, Value::Float(x)) => Value::Bool(map(x, |x| x.is_nan())),
            (Self::CastFloat, Value::Int(x)) => Value::Float(map(x, |x| *x as f32)),
            (Self::CastFloat, Value::Bool(x)) => Value::Float(map(x, |x| f32::from(u8::from(*x)))),
            // Out of range, which the standard leaves open, is the nearest whole number here, and NaN is 0.
            (Self::CastInt, Value::Float(x)) => Value::Int(map(x, |x| *x as i64)),
            (Self::CastInt, Value::Bool(x)) => Value::Int(map(x, |x| i64::from(*x))),
            (Self::CastBool, Value::Float(x)) => Value::Bool(map(x, |x| *x != 0.0)),
            (Self::CastBool, Value::Int(x)) => Value::Bool(map(x, |x| *x != 0)),
            (_, Value::Float(x)) => Value::Float(self.number(x).ok_or_else(|| self.unfit(operands))?),
            _ => return Err(self.unfit(operands)),
        })
    }

    /// The functions from float to float.
    fn number(self, x: &Array<f32>) -> Option<Array<f32>> {
        Some(match self {
            Self::Abs => map(x, |x| x.abs()),
            Self::Neg => map(x, |x| -x),
            Self::Floor => map(x, |x| x.floor()),
            Self::Ceil => map(x, |x| x.ceil()),
            // NaN stays NaN.
            Self::Relu => map(x, |x| if *x < 0.0 { 0.0 } else { *x }),
            Self::Exp => map(x, |x| x.exp()),
            Self::Sqrt => map(x, |x| x.sqrt()),
            Self::Sigmoid => map(x, |x| 1.0 / (1.0 + (-x).exp())),
            _ => return None,
        })
    }

    fn unfit(self, operands: &Operands) -> Wrong {
        operands.unfit(
            0,
            match self {
                Self::Not => "bool",
                Self::Abs | Self::Neg | Self::Clip => "float or int64",
                Self::CastFloat | Self::CastInt | Self::CastBool => "float, int64 or bool",
                _ => "float",
            },
        )
    }
}

/// The larger of two numbers; NaN if one of them is.
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b || a.is_nan() { a } else { b }
}

/// The smaller of two numbers; NaN if one of them is.
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    if a < b || a.is_nan() { a } else { b }
}

fn limit<T: super::value::Element + Copy>(operands: &Operands, operand: usize, default: T) -> Result<T, Wrong> {
    if operands.maybe(operand).is_none() {
        return Ok(default);
    }
    let limit = operands.of::<T>(operand)?;
    match limit.data[..] {
        [limit] => Ok(limit),
        _ => Err(Wrong::Shape { found: limit.dims.clone(), expected: "one number" }),
    }
}

fn map<A, B>(x: &Array<A>, f: impl Fn(&A) -> B) -> Array<B> {
    Array { dims: x.dims.clone(), data: x.data.iter().map(f).collect() }
}
