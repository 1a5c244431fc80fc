//! A data file enters, its table leaves, with the columns that no reader takes named and left out.

use std::path::Path;

use deepsade_data::{Columns, DataError, Progress, ReadOptions, Table, is_data_name, read_table};

use super::columns::LeftOut;

/// Separators that are tried where a comma finds but one column.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

/// A file as it was read.
pub(super) struct Sheet {
    pub table: Table,
    /// The separator, where it is no comma.
    pub separator: Option<char>,
    /// Columns that could not be read, and why.
    pub unread: Vec<(String, LeftOut)>,
}

/// Reads a file; a column that the reader refuses is left out, and the reading begins again.
pub(super) fn read(file: &Path, separator: Option<char>, progress: &mut dyn FnMut(Progress)) -> Result<Sheet, DataError> {
    if !is_data_name(file) {
        return Err(DataError::NotData { file: file.display().to_string() });
    }
    let separator = match separator {
        Some(given) => Some(given).filter(|c| *c != ','),
        None => guess(file),
    };
    let mut unread: Vec<(String, LeftOut)> = Vec::new();
    loop {
        let columns = Columns::Except(unread.iter().map(|(name, _)| name.clone()).collect());
        let options = ReadOptions { columns, separator: separator.map(|c| c as u8), ..ReadOptions::default() };
        let (name, why) = match read_table(file, &options, progress) {
            Ok(table) => return Ok(Sheet { table, separator, unread }),
            Err(DataError::DuplicateColumn { name, .. }) => (name, LeftOut::Twice),
            Err(DataError::ParquetType { column, found, .. }) => (column, LeftOut::Type { found }),
            Err(DataError::TooLarge { column, value, row, .. }) => (column, LeftOut::Beyond { value, row }),
            Err(error) => return Err(error),
        };
        if unread.iter().any(|(known, _)| *known == name) {
            return Err(DataError::DuplicateColumn { file: file.display().to_string(), name });
        }
        unread.push((name, why));
    }
}

/// The separator that finds most columns in the first rows, if it is not the comma.
fn guess(file: &Path) -> Option<char> {
    let width = |separator: char| {
        let options = ReadOptions { separator: Some(separator as u8), rows: Some(20), ..ReadOptions::default() };
        match read_table(file, &options, &mut |_| {}) {
            Ok(table) => table.names.len(),
            Err(DataError::DuplicateColumn { .. } | DataError::TooLarge { .. } | DataError::Limit { .. }) => 2,
            // One row is short, or has a quote too many: the header is as good as before, and the reader says where.
            Err(DataError::Ragged { expected, .. }) => expected,
            Err(_) => 0,
        }
    };
    if width(',') > 1 {
        return None;
    }
    // Of equally wide ones the first.
    let best = SEPARATORS.into_iter().rev().max_by_key(|&separator| width(separator))?;
    Some(best).filter(|c| *c != ',')
}
