//! Arrays of any rank with elements of four types; rows of numbers enter and leave.

use deepsade_net::Matrix;
use deepsade_net::onnx::piece::Numbers;

use super::error::{GraphError, Wrong};

/// Elements in a box of any rank.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Array<T> {
    /// The dimensions; none for a single element.
    pub dims: Vec<usize>,
    /// The elements, the last dimension fastest; as many as the product of the dimensions.
    pub data: Vec<T>,
}

/// What a tensor holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// float32
    Float(Array<f32>),
    /// bool
    Bool(Array<bool>),
    /// int64
    Int(Array<i64>),
    /// string
    Text(Array<String>),
}

/// A type of elements.
pub(super) trait Element: Clone {
    /// What ONNX calls it.
    const NAME: &'static str;
    /// The array, if the value holds such elements.
    fn of(value: &Value) -> Option<&Array<Self>>;
    /// The array as a value.
    fn value(array: Array<Self>) -> Value;
}

macro_rules! element {
    ($type:ty, $variant:ident, $name:literal) => {
        impl Element for $type {
            const NAME: &'static str = $name;

            fn of(value: &Value) -> Option<&Array<Self>> {
                if let Value::$variant(array) = value { Some(array) } else { None }
            }

            fn value(array: Array<Self>) -> Value {
                Value::$variant(array)
            }
        }
    };
}

element!(f32, Float, "float");
element!(bool, Bool, "bool");
element!(i64, Int, "int64");
element!(String, Text, "string");

/// The same expression for an array of any type; its result is the array of a new value.
macro_rules! for_any {
    ($value:expr, $array:ident => $body:expr) => {
        match $value {
            Value::Float($array) => Value::Float($body),
            Value::Bool($array) => Value::Bool($body),
            Value::Int($array) => Value::Int($body),
            Value::Text($array) => Value::Text($body),
        }
    };
}
pub(super) use for_any;

impl Value {
    /// The dimensions.
    pub fn dims(&self) -> &[usize] {
        match self {
            Self::Float(a) => &a.dims,
            Self::Bool(a) => &a.dims,
            Self::Int(a) => &a.dims,
            Self::Text(a) => &a.dims,
        }
    }

    /// What ONNX calls the type of the elements.
    pub fn element(&self) -> &'static str {
        match self {
            Self::Float(_) => f32::NAME,
            Self::Bool(_) => bool::NAME,
            Self::Int(_) => i64::NAME,
            Self::Text(_) => String::NAME,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Float(a) => a.data.len(),
            Self::Bool(a) => a.data.len(),
            Self::Int(a) => a.data.len(),
            Self::Text(a) => a.data.len(),
        }
    }

    /// Elements, and bytes of texts.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Text(a) => a.data.iter().map(String::len).fold(self.len(), usize::saturating_add),
            _ => self.len(),
        }
    }

    pub(super) fn constant(dims: &[usize], data: &Numbers) -> Self {
        let dims = dims.to_vec();
        match data {
            Numbers::Float(data) => Self::Float(Array { dims, data: data.clone() }),
            Numbers::Int(data) => Self::Int(Array { dims, data: data.clone() }),
        }
    }

    /// Whether there are as many elements as the dimensions say, and no more than there is room for.
    pub(super) fn check(&self, name: &str, room: Room) -> Result<(), GraphError> {
        if room.len(self.dims()) == Ok(self.len()) {
            return Ok(());
        }
        Err(GraphError::Size { name: name.into(), dims: self.dims().to_vec(), found: self.len() })
    }
}

impl From<Matrix> for Value {
    fn from(m: Matrix) -> Self {
        Self::Float(Array { dims: vec![m.rows, m.cols], data: m.data })
    }
}

impl TryFrom<Value> for Matrix {
    type Error = GraphError;

    fn try_from(value: Value) -> Result<Self, GraphError> {
        match value {
            Value::Float(Array { dims, data }) if dims.len() == 2 && dims[0].checked_mul(dims[1]) == Some(data.len()) => {
                Ok(Self { rows: dims[0], cols: dims[1], data })
            }
            other => Err(GraphError::NotRows { element: other.element(), dims: other.dims().to_vec() }),
        }
    }
}

/// How many elements one value may have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Room(pub(super) usize);

impl Room {
    /// The number of elements of a shape. A dimension of 0 counts as 1 against the limit, so that no product of some of the dimensions
    /// overflows, and no loop over some of them is long.
    pub(super) fn len(self, dims: &[usize]) -> Result<usize, Wrong> {
        match dims.iter().try_fold(1usize, |n, d| n.checked_mul((*d).max(1))) {
            Some(n) if n <= self.0 => Ok(dims.iter().product()),
            _ => Err(Wrong::TooLarge { dims: dims.to_vec(), most: self.0 }),
        }
    }

    /// Refuses more bytes of text than there is room for.
    pub(super) fn bytes(self, lengths: impl Iterator<Item = usize>) -> Result<(), Wrong> {
        if lengths.fold(0, usize::saturating_add) > self.0 { Err(Wrong::TooLong { most: self.0 }) } else { Ok(()) }
    }
}

/// The axis that a file means: negative ones count from the end.
pub(super) fn axis(axis: i64, rank: usize) -> Result<usize, Wrong> {
    index(axis, rank).map_err(|_| Wrong::Axis { axis, rank })
}

/// The element that a file means: negative indices count from the end.
pub(super) fn index(index: i64, len: usize) -> Result<usize, Wrong> {
    let forward = if index < 0 { index.checked_add_unsigned(len as u64) } else { Some(index) };
    let found = forward.and_then(|i| usize::try_from(i).ok()).filter(|i| *i < len);
    found.ok_or(Wrong::Index { index, len })
}

/// Which axes a list names.
pub(super) fn named(axes: &[i64], rank: usize) -> Result<Vec<bool>, Wrong> {
    let mut named = vec![false; rank];
    for &a in axes {
        if std::mem::replace(&mut named[axis(a, rank)?], true) {
            return Err(Wrong::Axis { axis: a, rank });
        }
    }
    Ok(named)
}

/// How many elements stand before, on and after an axis.
pub(super) fn around(dims: &[usize], axis: usize) -> [usize; 3] {
    [dims[..axis].iter().product(), dims[axis], dims[axis + 1..].iter().product()]
}
