//! Columns that are no features enter: the weight of each row, and what says whether it trains, validates or tests. Weights and a split
//! of the rows that are left leave.

use std::collections::HashMap;
use std::path::Path;

use super::error::DataError;
use super::read::{Columns, ReadOptions, known, read_table};
use super::settings::CheckedData;
use super::split::{Part, Split, cuts};
use super::table::{Column, Kind, Table, TableValue};

/// Columns that were taken out of a table.
pub(crate) struct Aside<'a> {
    data: &'a CheckedData,
    columns: HashMap<String, Column>,
    row_numbers: Vec<u64>,
}

/// What they say about the rows that are left.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Said {
    /// The weight of each row.
    pub weights: Option<Vec<f32>>,
    /// Which rows train, validate and test, if that is not left to chance.
    pub split: Option<Split>,
}

impl<'a> Aside<'a> {
    /// Takes them out.
    pub(crate) fn take(table: &mut Table, data: &'a CheckedData) -> Result<Self, DataError> {
        let names: Vec<String> = data.aside().cloned().collect();
        known(&names, &table.names, "`weight` or `split`")?;
        let places = table.places();
        let columns = names.iter().map(|name| (name.clone(), table.columns[places[name.as_str()]].clone())).collect();
        table.drop_columns(&names);
        Ok(Self { data, columns, row_numbers: table.row_numbers.clone() })
    }

    /// What they say of the rows with these numbers; `file` is where a split stands, if in a file.
    pub(crate) fn say(&self, kept: &[u64], file: Option<&Path>) -> Result<Said, DataError> {
        let place: HashMap<u64, usize> = self.row_numbers.iter().copied().zip(0..).collect();
        let rows: Vec<usize> = kept.iter().map(|number| place[number]).collect();
        let weights = self.data.weight.as_ref().map(|name| self.weights(name, &rows)).transpose()?;
        let split = &self.data.split;
        let (dealt, by) = match (&split.column, &split.by, file) {
            (Some(name), ..) => (Some(Split::of_parts(&self.parts(name, &rows)?)), format!("column '{name}'")),
            (_, Some(name), _) => (Some(self.in_order(name, &rows)?), format!("the order of '{name}'")),
            (.., Some(path)) => (Some(Split::of_parts(&parts_of_file(path, kept)?)), path.display().to_string()),
            _ => (None, String::new()),
        };
        match dealt {
            Some(dealt) if dealt.train.is_empty() => Err(DataError::NobodyTrains { place: by }),
            split => Ok(Said { weights, split }),
        }
    }

    fn weights(&self, name: &str, rows: &[usize]) -> Result<Vec<f32>, DataError> {
        let weight = |row: &usize| match self.columns[name].value(*row) {
            TableValue::Number(v) if v >= 0.0 && (v as f32).is_finite() => Ok(v as f32),
            value => Err(DataError::BadWeight { row: self.row_numbers[*row], column: name.into(), value: value.to_string() }),
        };
        rows.iter().map(weight).collect()
    }

    fn parts(&self, name: &str, rows: &[usize]) -> Result<Vec<Part>, DataError> {
        let part = |row: &usize| {
            let value = match self.columns[name].value(*row) {
                TableValue::Missing => "nothing".into(),
                value => format!("'{value}'"),
            };
            let place = format!("column '{name}'");
            Part::read(value.trim_matches('\'')).ok_or(DataError::BadPart { row: self.row_numbers[*row], value, place })
        };
        rows.iter().map(part).collect()
    }

    /// The earliest rows train and the last test; rows of one time stay together, in the earlier part.
    fn in_order(&self, name: &str, rows: &[usize]) -> Result<Split, DataError> {
        let column = &self.columns[name];
        let bad = |row: &usize| match column.value(*row) {
            TableValue::Number(_) => false,
            TableValue::Text(text) => !year_first(text),
            TableValue::Missing => true,
        };
        if let Some(row) = rows.iter().find(|row| bad(row)) {
            let value = column.value(*row).to_string();
            return Err(DataError::BadTime { row: self.row_numbers[*row], column: name.into(), value });
        }
        let before = |a: usize, b: usize| match (column.value(rows[a]), column.value(rows[b])) {
            (TableValue::Number(a), TableValue::Number(b)) => a.total_cmp(&b),
            (TableValue::Text(a), TableValue::Text(b)) => a.cmp(b),
            _ => std::cmp::Ordering::Equal,
        };
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by(|a, b| before(*a, *b));
        let (train, seen) = cuts(order.len(), &self.data.split.shares());
        let together = |mut cut: usize| {
            while cut > 0 && cut < order.len() && before(order[cut - 1], order[cut]).is_eq() {
                cut += 1;
            }
            cut
        };
        let (train, seen) = (together(train), together(seen));
        let sorted = |part: &[usize]| {
            let mut part = part.to_vec();
            part.sort_unstable();
            part
        };
        let seen = seen.max(train);
        Ok(Split { train: sorted(&order[..train]), validation: sorted(&order[train..seen]), test: sorted(&order[seen..]) })
    }
}

/// Whether texts of this form are in order where their dates are: four digits of a year, then more from the larger unit to the smaller.
fn year_first(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    matches!(digits, 4 | 6 | 8) && text.bytes().all(|b| b.is_ascii_digit() || b"-/.: TZ+".contains(&b))
}

/// The parts that a file names for these rows.
fn parts_of_file(path: &Path, kept: &[u64]) -> Result<Vec<Part>, DataError> {
    let columns = Columns::Only(vec!["row".into(), "part".into()]);
    let expected = [("row".into(), Kind::Number), ("part".into(), Kind::Text)].into();
    let table = read_table(path, &ReadOptions { columns, expected, ..ReadOptions::default() }, &mut |_| {})?;
    let (row, part) = (table.column("row"), table.column("part"));
    let mut parts = HashMap::new();
    for k in 0..table.rows() {
        let (Some(TableValue::Number(row)), Some(part)) = (row.map(|c| c.value(k)), part.map(|c| c.value(k).to_string())) else {
            continue;
        };
        let place = path.display().to_string();
        let read = Part::read(&part).ok_or(DataError::BadPart { row: row as u64, value: format!("'{part}'"), place })?;
        parts.insert(row as u64, read);
    }
    let part = |row: &u64| {
        let missing = || DataError::BadPart { row: *row, value: "nothing".into(), place: path.display().to_string() };
        parts.get(row).copied().ok_or_else(missing)
    };
    kept.iter().map(part).collect()
}
