//! The rows of a data file as typed columns, before any encoding.

use std::collections::{HashMap, HashSet};

/// The code of a missing text.
pub(crate) const MISSING_CODE: u32 = u32::MAX;

/// Named columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Column names, as the header has them.
    pub names: Vec<String>,
    /// The columns, in the order of `names`.
    pub columns: Vec<Column>,
    /// For each row its 1-based place in the file, after the header; kept when rows are dropped, for messages.
    pub row_numbers: Vec<u64>,
}

/// The values of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// The decimals as written, to f64's precision; NaN where missing.
    Number(Vec<f64>),
    /// Indices into sorted levels; `u32::MAX` where missing.
    Text {
        /// The texts that occur.
        levels: Vec<String>,
        /// For each row its level.
        codes: Vec<u32>,
    },
    /// Numbers `value / divisor`, never missing: an eighth of the memory, for pixels and other small whole numbers.
    Bytes {
        /// For each row the numerator.
        values: Vec<u8>,
        /// The common denominator, not zero.
        divisor: f64,
    },
}

/// What a column holds, or is expected to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Decimal numbers.
    Number,
    /// Any text.
    Text,
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TableValue<'a> {
    /// A number.
    Number(f64),
    /// A text.
    Text(&'a str),
    /// Nothing.
    Missing,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Number => "numbers",
            Kind::Text => "text",
        })
    }
}

impl std::fmt::Display for TableValue<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TableValue::Number(v) => write!(f, "{v}"),
            TableValue::Text(text) => f.write_str(text),
            TableValue::Missing => f.write_str("(missing)"),
        }
    }
}

impl Table {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.row_numbers.len()
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.names.iter().position(|n| n == name).map(|i| &self.columns[i])
    }

    /// The place of each column, for those who look for many.
    pub fn places(&self) -> HashMap<&str, usize> {
        self.names.iter().enumerate().map(|(k, name)| (name.as_str(), k)).collect()
    }

    /// Keeps the rows marked `true`; levels that no longer occur go too.
    pub fn keep_rows(&mut self, keep: &[bool]) {
        debug_assert_eq!(keep.len(), self.rows(), "one mark a row");
        retain_marked(&mut self.row_numbers, keep);
        for column in &mut self.columns {
            match column {
                Column::Number(values) => retain_marked(values, keep),
                Column::Bytes { values, .. } => retain_marked(values, keep),
                Column::Text { levels, codes } => {
                    retain_marked(codes, keep);
                    drop_unused_levels(levels, codes);
                }
            }
        }
    }

    /// Removes the columns named.
    pub fn drop_columns(&mut self, names: &[String]) {
        let dropped: HashSet<&String> = names.iter().collect();
        let keep: Vec<bool> = self.names.iter().map(|name| !dropped.contains(name)).collect();
        retain_marked(&mut self.names, &keep);
        retain_marked(&mut self.columns, &keep);
    }
}

impl Column {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Column::Number(values) => values.len(),
            Column::Text { codes, .. } => codes.len(),
            Column::Bytes { values, .. } => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it holds.
    pub fn kind(&self) -> Kind {
        match self {
            Column::Number(_) | Column::Bytes { .. } => Kind::Number,
            Column::Text { .. } => Kind::Text,
        }
    }

    /// The cell in `row` (an index, not a row number).
    ///
    /// # Panics
    /// If `row` is not below [`Column::len`].
    pub fn value(&self, row: usize) -> TableValue<'_> {
        match self {
            Column::Number(values) if values[row].is_nan() => TableValue::Missing,
            Column::Number(values) => TableValue::Number(values[row]),
            Column::Bytes { values, divisor } => TableValue::Number(f64::from(values[row]) / divisor),
            Column::Text { codes, .. } if codes[row] == MISSING_CODE => TableValue::Missing,
            Column::Text { levels, codes } => TableValue::Text(&levels[codes[row] as usize]),
        }
    }

    /// Whether the cell in `row` holds nothing.
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Column::Number(values) => values[row].is_nan(),
            Column::Text { codes, .. } => codes[row] == MISSING_CODE,
            Column::Bytes { .. } => false,
        }
    }
}

fn retain_marked<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut marks = keep.iter();
    items.retain(|_| *marks.next().unwrap_or(&true));
}

fn drop_unused_levels(levels: &mut Vec<String>, codes: &mut [u32]) {
    let mut used = vec![false; levels.len()];
    for &code in codes.iter().filter(|code| **code != MISSING_CODE) {
        used[code as usize] = true;
    }
    let mut next = 0;
    let place: Vec<u32> = used
        .iter()
        .map(|&u| {
            let here = next;
            next += u32::from(u);
            here
        })
        .collect();
    for code in codes.iter_mut().filter(|code| **code != MISSING_CODE) {
        *code = place[*code as usize];
    }
    retain_marked(levels, &used);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_rows_keeps_row_numbers_and_forgets_unused_levels() {
        let mut table = Table {
            names: vec!["n".into(), "t".into(), "b".into()],
            columns: vec![
                Column::Number(vec![1.0, f64::NAN, 3.0]),
                Column::Text { levels: vec!["a".into(), "b".into(), "c".into()], codes: vec![2, 1, MISSING_CODE] },
                Column::Bytes { values: vec![0, 51, 255], divisor: 255.0 },
            ],
            row_numbers: vec![1, 2, 3],
        };
        table.keep_rows(&[true, false, true]);
        assert_eq!(table.row_numbers, [1, 3]);
        assert_eq!(table.columns[1], Column::Text { levels: vec!["c".into()], codes: vec![0, MISSING_CODE] });
        assert_eq!(table.columns[2].value(1), TableValue::Number(1.0));
        assert_eq!(table.columns[1].value(1), TableValue::Missing);
        table.drop_columns(&["t".into()]);
        assert_eq!(table.names, ["n", "b"]);
        assert!(table.column("t").is_none());
    }
}
