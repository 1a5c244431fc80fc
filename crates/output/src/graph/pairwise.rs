//! Two or more values of shapes that fit enter; one leaves: `y_i = f(a_i, b_i)`.

use super::broadcast::{choose, zip};
use super::error::Wrong;
use super::op::Operands;
use super::pointwise::{larger, smaller};
use super::value::{Array, Room, Value};

/// The function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pairwise {
    Arithmetic(NumberOp),
    Comparison(Comparison),
    Equal,
    And,
    Or,
    Where,
}

/// Numbers from numbers. Whole numbers wrap around.
#[derive(Debug, Clone, Copy)]
pub(super) enum NumberOp {
    Add,
    Sub,
    Mul,
    Div,
    Max,
    Min,
}

/// Whether an order holds; it never does for NaN.
#[derive(Debug, Clone, Copy)]
pub(super) enum Comparison {
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
}

impl Pairwise {
    pub(super) fn run(self, operands: &Operands, room: Room) -> Result<Value, Wrong> {
        let a = operands.get(0)?;
        match self {
            Self::Arithmetic(_) if operands.len() == 1 => match a {
                Value::Float(_) | Value::Int(_) => Ok(a.clone()),
                _ => Err(unfit(operands, 0)),
            },
            Self::Arithmetic(f) => {
                let two = f.run(a, operands, 1, room)?;
                (2..operands.len()).try_fold(two, |all, k| f.run(&all, operands, k, room))
            }
            Self::Comparison(f) => Ok(Value::Bool(match (a, operands.get(1)?) {
                (Value::Float(a), Value::Float(b)) => f.run(a, b, room)?,
                (Value::Int(a), Value::Int(b)) => f.run(a, b, room)?,
                _ => return Err(unfit(operands, 1)),
            })),
            Self::Equal => Ok(Value::Bool(match (a, operands.get(1)?) {
                (Value::Float(a), Value::Float(b)) => zip(a, b, room, |a, b| a == b)?,
                (Value::Int(a), Value::Int(b)) => zip(a, b, room, |a, b| a == b)?,
                (Value::Bool(a), Value::Bool(b)) => zip(a, b, room, |a, b| a == b)?,
                (Value::Text(a), Value::Text(b)) => zip(a, b, room, |a, b| a == b)?,
                _ => return Err(operands.unfit(1, a.element())),
            })),
            Self::And => Ok(Value::Bool(zip(operands.of(0)?, operands.of(1)?, room, |a: &bool, b: &bool| *a && *b)?)),
            Self::Or => Ok(Value::Bool(zip(operands.of(0)?, operands.of(1)?, room, |a: &bool, b: &bool| *a || *b)?)),
            Self::Where => {
                let condition = operands.of::<bool>(0)?;
                Ok(match (operands.get(1)?, operands.get(2)?) {
                    (Value::Float(x), Value::Float(y)) => Value::Float(choose(condition, x, y, room)?),
                    (Value::Int(x), Value::Int(y)) => Value::Int(choose(condition, x, y, room)?),
                    (Value::Bool(x), Value::Bool(y)) => Value::Bool(choose(condition, x, y, room)?),
                    (Value::Text(_), _) => return Err(operands.unfit(1, "float, bool or int64")),
                    (x, _) => return Err(operands.unfit(2, x.element())),
                })
            }
        }
    }
}

impl NumberOp {
    fn run(self, a: &Value, operands: &Operands, k: usize, room: Room) -> Result<Value, Wrong> {
        Ok(match (a, operands.get(k)?) {
            (Value::Float(a), Value::Float(b)) => Value::Float(self.floats(a, b, room)?),
            (Value::Int(a), Value::Int(b)) => Value::Int(self.ints(a, b, room)?),
            _ => return Err(unfit(operands, k)),
        })
    }

    fn floats(self, a: &Array<f32>, b: &Array<f32>, room: Room) -> Result<Array<f32>, Wrong> {
        match self {
            Self::Add => zip(a, b, room, |a, b| a + b),
            Self::Sub => zip(a, b, room, |a, b| a - b),
            Self::Mul => zip(a, b, room, |a, b| a * b),
            Self::Div => zip(a, b, room, |a, b| a / b),
            Self::Max => zip(a, b, room, |a, b| larger(*a, *b)),
            Self::Min => zip(a, b, room, |a, b| smaller(*a, *b)),
        }
    }

    fn ints(self, a: &Array<i64>, b: &Array<i64>, room: Room) -> Result<Array<i64>, Wrong> {
        match self {
            Self::Add => zip(a, b, room, |a, b| a.wrapping_add(*b)),
            Self::Sub => zip(a, b, room, |a, b| a.wrapping_sub(*b)),
            Self::Mul => zip(a, b, room, |a, b| a.wrapping_mul(*b)),
            Self::Div if b.data.contains(&0) => Err(Wrong::DivisionByZero),
            Self::Div => zip(a, b, room, |a, b| a.wrapping_div(*b)),
            Self::Max => zip(a, b, room, |a, b| *a.max(b)),
            Self::Min => zip(a, b, room, |a, b| *a.min(b)),
        }
    }
}

impl Comparison {
    fn run<T: PartialOrd>(self, a: &Array<T>, b: &Array<T>, room: Room) -> Result<Array<bool>, Wrong> {
        match self {
            Self::Greater => zip(a, b, room, |a, b| a > b),
            Self::Less => zip(a, b, room, |a, b| a < b),
            Self::GreaterOrEqual => zip(a, b, room, |a, b| a >= b),
            Self::LessOrEqual => zip(a, b, room, |a, b| a <= b),
        }
    }
}

/// What is wrong with operand 0, or with operand `k` beside it, if they are not numbers of one type.
fn unfit(operands: &Operands, k: usize) -> Wrong {
    match operands.get(0) {
        Ok(Value::Float(_)) => operands.unfit(k, "float"),
        Ok(Value::Int(_)) => operands.unfit(k, "int64"),
        _ => operands.unfit(0, "float or int64"),
    }
}
