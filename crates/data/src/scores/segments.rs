//! A column enters; parts of the rows leave, by its levels, by its few values, or by quantiles of its numbers.

use std::collections::BTreeMap;

use crate::error::DataError;
use crate::load::Loaded;
use crate::number;
use crate::read::{Columns, ReadOptions, known, read_table};
use crate::settings::CheckedData;
use crate::table::{Column, TableValue};

/// Values of a number that are parts of their own, levels that are, and parts by quantiles.
const MOST_VALUES: usize = 6;
const MOST_LEVELS: usize = 30;
const PARTS: usize = 4;

/// Rows in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The column.
    pub column: String,
    /// What the parts are called.
    pub names: Vec<String>,
    /// For each row its part.
    pub part: Vec<usize>,
}

impl Segment {
    /// By a column; what is missing is a part of its own.
    pub fn of(name: &str, column: &Column) -> Self {
        let values: Vec<TableValue> = (0..column.len()).map(|row| column.value(row)).collect();
        let numbers: Vec<f64> =
            values.iter().filter_map(|v| if let TableValue::Number(v) = v { Some(*v) } else { None }).collect();
        let mut few = numbers.clone();
        few.sort_by(f64::total_cmp);
        few.dedup();
        let cuts = (few.len() > MOST_VALUES).then(|| cuts(&numbers));
        let key = |value: &TableValue| -> (usize, String) {
            match value {
                TableValue::Missing => (usize::MAX, "(missing)".into()),
                TableValue::Text(text) => (0, (*text).into()),
                TableValue::Number(v) => match &cuts {
                    // Numbers stand in their order, not in that of their texts.
                    None => (few.partition_point(|n| n < v), number::as_text(*v)),
                    Some(cuts) => {
                        let part = cuts.iter().filter(|cut| v > cut).count();
                        (part, words(cuts, part))
                    }
                },
            }
        };
        let mut keys: Vec<(usize, String)> = values.iter().map(key).collect();
        let mut count: BTreeMap<(usize, String), usize> = BTreeMap::new();
        keys.iter().for_each(|key| *count.entry(key.clone()).or_default() += 1);
        if count.len() > MOST_LEVELS {
            let mut large: Vec<_> = count.iter().map(|(key, rows)| (*rows, key.clone())).collect();
            large.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            let kept: Vec<_> = large.into_iter().take(MOST_LEVELS - 1).map(|(_, key)| key).collect();
            keys.iter_mut().filter(|key| !kept.contains(key)).for_each(|key| *key = (usize::MAX - 1, "(others)".into()));
        }
        let mut all = keys.clone();
        all.sort();
        all.dedup();
        let part = keys.iter().map(|key| all.binary_search(key).expect("every key is among all")).collect();
        Self { column: name.into(), names: all.into_iter().map(|(_, name)| name).collect(), part }
    }

    /// Some of the rows.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self { part: rows.iter().map(|r| self.part[*r]).collect(), ..self.clone() }
    }
}

/// The parts of the rows by each column named: one that is used, or any other of the file, such as one that the model must not see.
pub fn segments(names: &[String], loaded: &Loaded, data: &CheckedData) -> Result<Vec<Segment>, DataError> {
    let (table, place) = (&loaded.table, "`segments`");
    let further: Vec<String> = names.iter().filter(|name| table.column(name).is_none()).cloned().collect();
    if further.is_empty() {
        let used = |name: &String| table.column(name).map(|column| Segment::of(name, column));
        return Ok(names.iter().filter_map(used).collect());
    }
    if data.file.is_none() || data.recipe.is_some() {
        known(&further, &table.names, place)?;
    }
    let columns = Columns::Beside { model: Vec::new(), further, place };
    let options = ReadOptions { columns, rows: data.rows, separator: data.delimiter(), ..ReadOptions::default() };
    let whole = read_table(&loaded.file, &options, &mut |_| {})?;
    let places: Vec<usize> = table.row_numbers.iter().map(|row| (*row as usize).saturating_sub(1)).collect();
    if places.iter().any(|row| *row >= whole.rows()) {
        let (file, announced) = (loaded.file.display().to_string(), places.len());
        return Err(DataError::RowCount { file, found: whole.rows(), announced });
    }
    let segment = |name: &String| match table.column(name) {
        Some(column) => Segment::of(name, column),
        None => Segment::of(name, whole.column(name).expect("every column that was asked for is read")).select(&places),
    };
    Ok(names.iter().map(segment).collect())
}

/// Where numbers are cut into parts of about equal size.
fn cuts(numbers: &[f64]) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut cuts: Vec<f64> = (1..PARTS).map(|k| sorted[k * sorted.len() / PARTS - 1]).collect();
    cuts.dedup();
    cuts
}

fn words(cuts: &[f64], part: usize) -> String {
    let text = |k: usize| number::as_text(cuts[k]);
    match part {
        0 => format!("up to {}", text(0)),
        k if k == cuts.len() => format!("above {}", text(k - 1)),
        k => format!("above {} to {}", text(k - 1), text(k)),
    }
}
