//! A located file enters, a [`Table`] of its used columns leaves; the reader is chosen by the file's name.

mod csv;
mod parquet;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::DataError;
use super::limits::limits;
use super::number::{self, MarkedMissing};
use super::table::{Kind, Table};

/// How to read a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOptions {
    /// The columns to read. Default: all.
    pub columns: Columns,
    /// What named columns must hold; the others are looked at. Default: none.
    pub expected: BTreeMap<String, Kind>,
    /// Read only the first so many rows. Default: all.
    pub rows: Option<usize>,
    /// The byte between two values of a CSV file. Default: a comma.
    pub separator: Option<u8>,
    /// Texts that stand for no value in any column, besides those that always do. Default: none.
    pub markers: Vec<String>,
    /// Further ones of some columns. Default: none.
    pub markers_of: BTreeMap<String, Vec<String>>,
}

impl ReadOptions {
    /// What stands for no value in a column.
    pub(crate) fn marked(&self, column: &str) -> MarkedMissing {
        MarkedMissing::new(&[&self.markers[..], self.markers_of.get(column).map_or(&[][..], |m| &m[..])].concat())
    }
}

/// Which columns to read; the others cost no memory and may hold anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Columns {
    /// Every column.
    #[default]
    All,
    /// Every column but these.
    Except(Vec<String>),
    /// These, in the order of the file.
    Only(Vec<String>),
    /// Those of a model and further ones, in the order of the file.
    Beside {
        /// Those of the model.
        model: Vec<String>,
        /// The further ones.
        further: Vec<String>,
        /// Who names these, for messages.
        place: &'static str,
    },
}

/// How far a reader is: bytes of the file as stored, both passes of a CSV file counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read.
    pub bytes: u64,
    /// Bytes to read in all.
    pub total: u64,
}

/// Reads a `.parquet` file as such, a `.gz` file as compressed CSV, and any other as CSV.
///
/// `progress` is called a few times a second at most, and once at the end.
pub fn read_table(path: &Path, options: &ReadOptions, progress: &mut dyn FnMut(Progress)) -> Result<Table, DataError> {
    match path.extension().map(|e| e.to_string_lossy().to_lowercase()).as_deref() {
        Some("parquet") => parquet::read(path, options, progress),
        Some("gz") => csv::read(path, true, options, progress),
        _ => csv::read(path, false, options, progress),
    }
}

impl Columns {
    /// Indices into `header` of the columns to read; an unknown name is an error, and so is one that two of them have.
    pub(crate) fn choose(&self, file: &str, header: &[String]) -> Result<Vec<usize>, DataError> {
        let (named, place, wanted) = match self {
            Columns::Beside { model, further, place } => {
                known(further, header, place)?;
                return Columns::Only([model.as_slice(), further].concat()).choose(file, header);
            }
            Columns::All => (&Vec::new(), "", false),
            Columns::Except(names) => (names, "`ignore`", false),
            Columns::Only(names) => (names, "the model", true),
        };
        known(named, header, place)?;
        let named: HashSet<&String> = named.iter().collect();
        let chosen: Vec<usize> = (0..header.len()).filter(|&i| named.contains(&header[i]) == wanted).collect();
        let mut seen = HashSet::new();
        match chosen.iter().find(|&&i| !seen.insert(&header[i])) {
            Some(&i) => Err(DataError::DuplicateColumn { file: file.to_owned(), name: header[i].clone() }),
            None => Ok(chosen),
        }
    }
}

/// Refuses the first name that is not in `columns`; `place` says who names it.
pub(crate) fn known(names: &[String], columns: &[String], place: &'static str) -> Result<(), DataError> {
    let there: HashSet<&String> = columns.iter().collect();
    match names.iter().find(|name| !there.contains(name)) {
        None => Ok(()),
        Some(name) => Err(DataError::UnknownColumn {
            place,
            name: name.clone(),
            nearest: deepsade_spec::nearest(name, columns.iter().map(String::as_str)).map(String::from),
            columns: columns.to_vec(),
        }),
    }
}

/// Refuses more values than are kept without being asked to.
pub(crate) fn check_size(file: &str, rows: u64, columns: usize) -> Result<(), DataError> {
    let most = limits().values;
    if rows.saturating_mul(columns as u64) <= most {
        return Ok(());
    }
    let what = format!("more than {most} values ({columns} columns used, {rows} rows or more)");
    Err(DataError::Limit { file: file.to_owned(), what, option: "max-values" })
}

/// Refuses a header without names, or with numbers for names.
pub(crate) fn check_header(file: &str, header: &[String]) -> Result<(), DataError> {
    check_width(file, header.len())?;
    let mut seen = HashSet::new();
    let twice = header.iter().any(|name| !seen.insert(name));
    let numbers: Vec<f64> = header.iter().filter_map(|name| number::parse(name)).collect();
    // Whole numbers, each once, may be names (programs number their columns); decimals and repetitions are data.
    let is_data = numbers.len() == header.len() && (twice || numbers.iter().any(|v| v.fract() != 0.0));
    if is_data && !header.is_empty() {
        let first_line = header.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(DataError::NoHeader { file: file.to_owned(), first_line });
    }
    Ok(())
}

/// Refuses more columns than the limit.
pub(crate) fn check_width(file: &str, columns: usize) -> Result<(), DataError> {
    let most = limits().columns;
    if columns > most {
        let what = format!("{columns} columns, more than {most}");
        return Err(DataError::Limit { file: file.to_owned(), what, option: "max-columns" });
    }
    Ok(())
}

/// Passes progress on, a few times a second.
pub(crate) struct Meter<'a> {
    sink: &'a mut dyn FnMut(Progress),
    total: u64,
    last: Instant,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(sink: &'a mut dyn FnMut(Progress), total: u64) -> Self {
        Self { sink, total, last: Instant::now() }
    }

    pub(crate) fn at(&mut self, bytes: u64) {
        if self.last.elapsed() >= Duration::from_millis(250) {
            self.last = Instant::now();
            (self.sink)(Progress { bytes: bytes.min(self.total), total: self.total });
        }
    }

    pub(crate) fn end(&mut self) {
        (self.sink)(Progress { bytes: self.total, total: self.total });
    }
}

#[cfg(test)]
#[path = "read/tests.rs"]
mod tests;
