//! The values of one column enter in row order; a [`Column`] leaves.

use super::levels::Levels;
use super::table::{Column, Kind};

/// Rows reserved at once at most, so that a file that lies about its length costs no memory.
const MOST_RESERVED: usize = 1 << 24;

/// A column while it is being read.
pub(crate) enum ColumnBuilder {
    Number(Vec<f64>),
    Text(Levels),
}

impl ColumnBuilder {
    pub(crate) fn new(kind: Kind, rows: usize) -> Self {
        let rows = rows.min(MOST_RESERVED);
        match kind {
            Kind::Number => Self::Number(Vec::with_capacity(rows)),
            Kind::Text => Self::Text(Levels::with_capacity(rows)),
        }
    }

    pub(crate) fn push_missing(&mut self) {
        match self {
            Self::Number(values) => values.push(f64::NAN),
            Self::Text(levels) => levels.push_missing(),
        }
    }

    pub(crate) fn finish(self) -> Column {
        match self {
            Self::Number(values) => Column::Number(values),
            Self::Text(levels) => levels.finish(),
        }
    }
}
