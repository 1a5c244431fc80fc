//! A CSV file, plain or gzipped, enters; a [`Table`] leaves, in two streaming passes: what do the columns hold, then their values.
//!
//! The text itself is never held: the first pass keeps one flag a column, the second the values.

use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

use csv::ByteRecord;
use flate2::read::MultiGzDecoder;

use super::{Meter, Progress, ReadOptions, check_header, check_size, check_width};
use crate::builder::ColumnBuilder;
use crate::error::DataError;
use crate::limits::{Limits, limits};
use crate::number::{self, MarkedMissing};
use crate::table::{Column, Kind, Table};

/// How many rows pass between two looks at the clock.
const ROWS_A_TICK: u64 = 1024;

pub(crate) fn read(path: &Path, gzip: bool, options: &ReadOptions, sink: &mut dyn FnMut(Progress)) -> Result<Table, DataError> {
    let file = path.display().to_string();
    let size = std::fs::metadata(path).map_err(|e| DataError::io(&file, e))?.len();
    let mut meter = Meter::new(sink, 2 * size);
    let open = |bytes_before| CsvPass::open(path, &file, gzip, options, bytes_before);

    let mut source = open(0)?;
    let header = source.header()?;
    let chosen = options.columns.choose(&file, &header)?;
    check_size(&file, 1, chosen.len())?;
    let marked: Vec<MarkedMissing> = chosen.iter().map(|&i| options.marked(&header[i])).collect();
    let (kinds, rows) = find_kinds(&mut source, &header, &chosen, (options, &marked), &mut meter)?;
    if rows == 0 {
        return Err(DataError::NoRows { file });
    }

    let mut source = open(size)?;
    source.header()?;
    let columns = read_values(&mut source, &header, &chosen, (&kinds, &marked), rows, &mut meter)?;
    meter.end();
    let names = chosen.iter().map(|&i| header[i].clone()).collect();
    Ok(Table { names, columns, row_numbers: (1..=rows).collect() })
}

/// First pass: a column holds numbers if every value that is not missing spells one. Also counts the rows.
fn find_kinds(
    source: &mut CsvPass,
    header: &[String],
    chosen: &[usize],
    (options, marked): (&ReadOptions, &[MarkedMissing]),
    meter: &mut Meter,
) -> Result<(Vec<Kind>, u64), DataError> {
    let expected: Vec<Option<Kind>> = chosen.iter().map(|&i| options.expected.get(&header[i]).copied()).collect();
    let mut kinds: Vec<Kind> = expected.iter().map(|e| e.unwrap_or(Kind::Number)).collect();
    let most = options.rows.map_or(u64::MAX, |rows| rows as u64);
    let mut record = ByteRecord::new();
    let mut rows = 0;
    while rows < most && source.next_row(&mut record, header.len(), meter)? {
        rows += 1;
        check_size(source.file, rows, chosen.len())?;
        for (c, &i) in chosen.iter().enumerate() {
            let field = record[i].trim_ascii();
            if kinds[c] == Kind::Number && (number::is_number(field) || number::is_missing(field) || marked[c].holds(field)) {
                continue;
            }
            let text = source.utf8(field)?;
            if expected[c] == Some(Kind::Number) {
                return Err(source.not_a_number(&header[i], text));
            }
            kinds[c] = Kind::Text;
        }
    }
    Ok((kinds, rows))
}

/// Second pass: the values of the chosen columns, `rows` of them.
fn read_values(
    source: &mut CsvPass,
    header: &[String],
    chosen: &[usize],
    (kinds, marked): (&[Kind], &[MarkedMissing]),
    rows: u64,
    meter: &mut Meter,
) -> Result<Vec<Column>, DataError> {
    let mut builders: Vec<ColumnBuilder> = kinds.iter().map(|kind| ColumnBuilder::new(*kind, rows as usize)).collect();
    let mut record = ByteRecord::new();
    for row in 0..rows {
        if !source.next_row(&mut record, header.len(), meter)? {
            return Err(DataError::RowCount { file: source.file.to_owned(), found: row as usize, announced: rows as usize });
        }
        for ((builder, &i), marked) in builders.iter_mut().zip(chosen).zip(marked) {
            let field = record[i].trim_ascii();
            if number::is_missing(field) || marked.holds(field) {
                builder.push_missing();
                continue;
            }
            let text = source.utf8(field)?;
            match builder {
                ColumnBuilder::Number(values) => {
                    let value = number::parse(text).ok_or_else(|| source.not_a_number(&header[i], text))?;
                    if !number::fits_f32(value) {
                        let (file, column) = (source.file.to_owned(), header[i].clone());
                        return Err(DataError::TooLarge { file, row: source.row, column, value: text.to_owned() });
                    }
                    values.push(value);
                }
                ColumnBuilder::Text(levels) => levels.push(text),
            }
        }
    }
    Ok(builders.into_iter().map(ColumnBuilder::finish).collect())
}

/// One pass over the file.
struct CsvPass<'a> {
    file: &'a str,
    reader: csv::Reader<Metered>,
    /// Bytes read of the file as it is stored.
    bytes: Rc<Cell<u64>>,
    /// Bytes unpacked since the last row.
    row_bytes: Rc<Cell<u64>>,
    /// The data row last read, from 1.
    row: u64,
    /// Until the header says otherwise.
    one_column: Rc<Cell<bool>>,
}

impl<'a> CsvPass<'a> {
    fn open(path: &Path, file: &'a str, gzip: bool, options: &ReadOptions, bytes_before: u64) -> Result<Self, DataError> {
        let stored = File::open(path).map_err(|e| DataError::io(file, e))?;
        let bytes = Rc::new(Cell::new(bytes_before));
        let counted = CountingReader { inner: stored, bytes: Rc::clone(&bytes) };
        let text: Box<dyn Read> = if gzip {
            Box::new(MultiGzDecoder::new(std::io::BufReader::with_capacity(1 << 16, counted)))
        } else {
            Box::new(counted)
        };
        let row_bytes = Rc::new(Cell::new(0));
        let one_column = Rc::new(Cell::new(true));
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            // Rows of the wrong length are reported here, by data row.
            .flexible(true)
            .delimiter(options.separator.unwrap_or(b','))
            .buffer_capacity(1 << 18)
            .from_reader(Metered {
                inner: text,
                all: 0,
                row_bytes: Rc::clone(&row_bytes),
                limits: limits(),
                one_column: Rc::clone(&one_column),
                lines: EmptyLineFinder::default(),
            });
        Ok(Self { file, reader, bytes, row_bytes, row: 0, one_column })
    }

    fn header(&mut self) -> Result<Vec<String>, DataError> {
        let mut record = ByteRecord::new();
        if !self.read_record(&mut record)? {
            return Err(DataError::EmptyFile { file: self.file.to_owned() });
        }
        // Before any name is kept.
        check_width(self.file, record.len())?;
        let names: Vec<String> =
            record.iter().map(|field| self.utf8(field.trim_ascii()).map(str::to_owned)).collect::<Result<_, _>>()?;
        check_header(self.file, &names)?;
        self.one_column.set(names.len() == 1);
        Ok(names)
    }

    /// Reads the next data row, of the header's width; `false` at the end.
    fn next_row(&mut self, record: &mut ByteRecord, width: usize, meter: &mut Meter) -> Result<bool, DataError> {
        let more = self.read_record(record)?;
        // Empty lines are nobody's row, but in a file of one column they may be a value that is missing.
        if width == 1
            && let Some(line) = self.reader.get_ref().lines.empty
        {
            return Err(DataError::EmptyLine { file: self.file.to_owned(), line });
        }
        if !more {
            return Ok(false);
        }
        self.row += 1;
        if record.len() != width {
            return Err(DataError::Ragged { file: self.file.to_owned(), row: self.row, found: record.len(), expected: width });
        }
        if self.row.is_multiple_of(ROWS_A_TICK) {
            meter.at(self.bytes.get());
        }
        Ok(true)
    }

    fn read_record(&mut self, record: &mut ByteRecord) -> Result<bool, DataError> {
        self.row_bytes.set(0);
        self.reader.read_byte_record(record).map_err(|e| match e.into_kind() {
            csv::ErrorKind::Io(source) => match source.get_ref().and_then(|e| e.downcast_ref::<TooMuch>()) {
                Some(TooMuch { what, option }) => DataError::Limit { file: self.file.to_owned(), what: what.clone(), option },
                None => DataError::io(self.file, source),
            },
            // Byte records of any length leave I/O as the only failure.
            kind => DataError::io(self.file, std::io::Error::other(format!("{kind:?}"))),
        })
    }

    fn utf8<'f>(&self, field: &'f [u8]) -> Result<&'f str, DataError> {
        std::str::from_utf8(field).map_err(|_| DataError::NotUtf8 { file: self.file.to_owned(), row: self.row })
    }

    fn not_a_number(&self, column: &str, value: &str) -> DataError {
        DataError::NotANumber { file: self.file.to_owned(), row: self.row, column: column.to_owned(), value: value.to_owned() }
    }
}

/// Refuses to unpack more than the limits, in all and for one row.
struct Metered {
    inner: Box<dyn Read>,
    all: u64,
    row_bytes: Rc<Cell<u64>>,
    limits: Limits,
    /// Whether there may be one column only, so that lines are looked at.
    one_column: Rc<Cell<bool>>,
    lines: EmptyLineFinder,
}

/// Looks for an empty line between others, outside of quotes.
#[derive(Default)]
struct EmptyLineFinder {
    /// Lines that have ended.
    ended: u64,
    /// Whether a line had anything in it, and whether the one at hand has.
    any: bool,
    filled: bool,
    quoted: bool,
    /// Whether the byte before was a carriage return, which ends a line with or without the line feed that may follow.
    returned: bool,
    /// The first empty line behind one that is not, from 1; `empty` once another follows that is not.
    last: Option<u64>,
    empty: Option<u64>,
}

impl EmptyLineFinder {
    fn see(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let ended = std::mem::replace(&mut self.returned, *byte == b'\r');
            match byte {
                b'\n' if ended => {}
                b'\n' | b'\r' if !self.quoted => {
                    self.ended += 1;
                    if self.any && !self.filled {
                        self.last = self.last.or(Some(self.ended));
                    }
                    self.filled = false;
                }
                byte => {
                    self.quoted ^= *byte == b'"';
                    (self.any, self.filled) = (true, true);
                    self.empty = self.empty.or(self.last);
                }
            }
        }
    }
}

/// Which limit was met, on its way through the CSV reader.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct TooMuch {
    what: String,
    option: &'static str,
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Limits { bytes, row_bytes, .. } = self.limits;
        let too_much = |what: String, option| std::io::Error::other(TooMuch { what, option });
        if self.row_bytes.get() > row_bytes {
            return Err(too_much(format!("a row of more than {row_bytes} bytes"), "max-row-bytes"));
        }
        if self.all > bytes {
            return Err(too_much(format!("more than {bytes} bytes, unpacked"), "max-bytes"));
        }
        let n = self.inner.read(buffer)?;
        self.all += n as u64;
        self.row_bytes.set(self.row_bytes.get() + n as u64);
        if self.one_column.get() {
            self.lines.see(&buffer[..n]);
        }
        Ok(n)
    }
}

/// Counts what is read from the file itself, below any decompression.
struct CountingReader {
    inner: File,
    bytes: Rc<Cell<u64>>,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.bytes.set(self.bytes.get() + n as u64);
        Ok(n)
    }
}
