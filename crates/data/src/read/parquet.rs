//! A parquet file enters, a [`Table`] leaves: numbers, booleans (as 0/1) and strings; nulls are missing.

mod spelled;
mod zstd;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use self::spelled::Spelled;
use super::{Meter, Progress, ReadOptions, check_header, check_size};
use crate::builder::ColumnBuilder;
use crate::contained::contained;
use crate::error::DataError;
use crate::number;
use crate::table::{Column, Kind, Table};

/// Values decoded at a time.
const BATCH: usize = 8192;

/// The crate's reader panics on some damaged files; that is an error like others.
pub(crate) fn read(path: &Path, options: &ReadOptions, sink: &mut dyn FnMut(Progress)) -> Result<Table, DataError> {
    contained(|| read_columns(path, options, sink))
        .unwrap_or_else(|why| Err(DataError::Damaged { file: path.display().to_string(), why }))
}

fn read_columns(path: &Path, options: &ReadOptions, sink: &mut dyn FnMut(Progress)) -> Result<Table, DataError> {
    let file = path.display().to_string();
    let stored = File::open(path).map_err(|e| DataError::io(&file, e))?;
    let unreadable = |source: ParquetError| DataError::Parquet { file: file.clone(), source };
    let whole = Arc::new(stored.try_clone().map_err(|e| DataError::io(&file, e))?);
    let reader = SerializedFileReader::new(stored).map_err(unreadable)?;
    let metadata = reader.metadata();
    let described = metadata.file_metadata().schema_descr();

    let header: Vec<String> = described.columns().iter().map(|c| c.path().string()).collect();
    check_header(&file, &header)?;
    let chosen = options.columns.choose(&file, &header)?;
    let group_rows = |g: &RowGroupMetaData| usize::try_from(g.num_rows()).unwrap_or(0);
    let stored_rows = metadata.row_groups().iter().map(group_rows).fold(0, usize::saturating_add);
    let rows = stored_rows.min(options.rows.unwrap_or(usize::MAX));
    if rows == 0 {
        return Err(DataError::NoRows { file });
    }
    check_size(&file, rows as u64, chosen.len())?;

    let chunk_bytes = |group: usize, i: usize| metadata.row_group(group).column(i).compressed_size().max(0) as u64;
    let total =
        (0..reader.num_row_groups()).flat_map(|g| chosen.iter().map(move |&i| chunk_bytes(g, i))).fold(0, u64::saturating_add);
    let mut meter = Meter::new(sink, total);
    let mut bytes = 0;
    let mut columns = Vec::with_capacity(chosen.len());
    for &i in &chosen {
        let expected = options.expected.get(&header[i]).copied();
        let held = ParquetKind::of(&described.column(i), expected).map_err(|found| {
            let column = header[i].clone();
            DataError::ParquetType { file: file.clone(), column, found }
        })?;
        let kind = expected.unwrap_or(held.kind());
        let mut target = OpenColumn::new(&file, &header[i], held, kind, rows);
        for group in 0..reader.num_row_groups() {
            let stated = metadata.row_group(group);
            let chunk = if zstd::packs(stated.column(i)) {
                zstd::column(Arc::clone(&whole), stated.column(i), group_rows(stated))
            } else {
                reader.get_row_group(group).and_then(|g| g.get_column_reader(i))
            };
            let chunk = chunk.map_err(unreadable)?;
            target.read_chunk(chunk)?;
            bytes = chunk_bytes(group, i).saturating_add(bytes);
            meter.at(bytes);
        }
        columns.push(target.finish()?);
    }
    meter.end();
    let names = chosen.iter().map(|&i| header[i].clone()).collect();
    Ok(Table { names, columns, row_numbers: (1..=rows as u64).collect() })
}

/// What a parquet column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParquetKind {
    Number,
    Unsigned,
    Text,
    /// Dates and the like, which are read as texts where texts are asked for.
    Spelled(Spelled),
}

impl ParquetKind {
    fn of(column: &ColumnDescriptor, expected: Option<Kind>) -> Result<Self, String> {
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
            return Err("nested values".into());
        }
        let other = || match spelled::of(column) {
            (_, Some(spelled)) if expected == Some(Kind::Text) => Ok(Self::Spelled(spelled)),
            (name, _) => Err(name),
        };
        let unsigned = match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Integer(int)), _) => !int.is_signed,
            (_, ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64) => true,
            (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json) | None, ConvertedType::NONE)
            | (_, ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON)
            | (None, ConvertedType::INT_8 | ConvertedType::INT_16 | ConvertedType::INT_32 | ConvertedType::INT_64) => false,
            _ => return other(),
        };
        match column.physical_type() {
            Physical::BYTE_ARRAY => Ok(Self::Text),
            Physical::INT32 | Physical::INT64 if unsigned => Ok(Self::Unsigned),
            Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE | Physical::BOOLEAN => Ok(Self::Number),
            _ => other(),
        }
    }

    fn kind(self) -> Kind {
        if matches!(self, Self::Text | Self::Spelled(_)) { Kind::Text } else { Kind::Number }
    }
}

/// A column while it is being read.
struct OpenColumn<'a> {
    file: &'a str,
    name: &'a str,
    held: ParquetKind,
    most: usize,
    row: usize,
    values: ColumnBuilder,
}

impl<'a> OpenColumn<'a> {
    fn new(file: &'a str, name: &'a str, held: ParquetKind, kind: Kind, most: usize) -> Self {
        Self { file, name, held, most, row: 0, values: ColumnBuilder::new(kind, most) }
    }

    fn read_chunk(&mut self, chunk: ColumnReader) -> Result<(), DataError> {
        let unsigned = self.held == ParquetKind::Unsigned;
        if let ParquetKind::Spelled(spelled) = self.held {
            return self.read_spelled(spelled, chunk);
        }
        match chunk {
            ColumnReader::BoolColumnReader(r) => self.read_all(r, |t, v| t.push_number(f64::from(u8::from(*v)))),
            ColumnReader::Int32ColumnReader(r) if unsigned => self.read_all(r, |t, v| t.push_number(f64::from(*v as u32))),
            ColumnReader::Int32ColumnReader(r) => self.read_all(r, |t, v| t.push_number(f64::from(*v))),
            ColumnReader::Int64ColumnReader(r) if unsigned => self.read_all(r, |t, v| t.push_number(*v as u64 as f64)),
            ColumnReader::Int64ColumnReader(r) => self.read_all(r, |t, v| t.push_number(*v as f64)),
            // The shortest decimal that reads back as this float32 is what was meant: 0.1, not 0.10000000149.
            ColumnReader::FloatColumnReader(r) => {
                self.read_all(r, |t, v| t.push_number(v.to_string().parse().unwrap_or(f64::from(*v))))
            }
            ColumnReader::DoubleColumnReader(r) => self.read_all(r, |t, v| t.push_number(*v)),
            ColumnReader::ByteArrayColumnReader(r) => self.read_all(r, Self::push_text),
            ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
                unreachable!("ParquetKind::of refuses these types")
            }
        }
    }

    fn read_spelled(&mut self, spelled: Spelled, chunk: ColumnReader) -> Result<(), DataError> {
        match chunk {
            ColumnReader::Int32ColumnReader(r) => self.read_all(r, |t, v| t.push_spelled(spelled, Some((*v).into()))),
            ColumnReader::Int64ColumnReader(r) => self.read_all(r, |t, v| t.push_spelled(spelled, Some((*v).into()))),
            ColumnReader::ByteArrayColumnReader(r) => self.read_all(r, |t, v| t.push_spelled(spelled, spelled::whole(v.data()))),
            ColumnReader::FixedLenByteArrayColumnReader(r) => {
                self.read_all(r, |t, v| t.push_spelled(spelled, spelled::whole(v.data())))
            }
            _ => unreachable!("spelled::of refuses other bytes"),
        }
    }

    /// What stands for a stored whole number, where it is none of too many bytes.
    fn push_spelled(&mut self, spelled: Spelled, stored: Option<i128>) -> Result<(), DataError> {
        let Some(stored) = stored else { return Err(self.too_large("a decimal of more than 16 bytes".into())) };
        match &mut self.values {
            ColumnBuilder::Text(levels) => levels.push(&spelled.text(stored)),
            ColumnBuilder::Number(_) => unreachable!("it is read so only where texts are asked for"),
        }
        Ok(())
    }

    fn read_all<T: DataType>(
        &mut self,
        mut reader: ColumnReaderImpl<T>,
        push: impl Fn(&mut Self, &T::T) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        while self.row < self.most {
            levels.clear();
            values.clear();
            let batch = BATCH.min(self.most - self.row);
            let (records, _, _) = reader
                .read_records(batch, Some(&mut levels), None, &mut values)
                .map_err(|source| DataError::Parquet { file: self.file.to_owned(), source })?;
            if records == 0 {
                break;
            }
            let mut present = values.iter();
            for record in 0..records {
                // A column that cannot be null has no levels.
                match if levels.get(record).is_none_or(|level| *level > 0) { present.next() } else { None } {
                    Some(value) => push(self, value)?,
                    None => self.values.push_missing(),
                }
                self.row += 1;
            }
        }
        Ok(())
    }

    fn push_number(&mut self, value: f64) -> Result<(), DataError> {
        if value.is_nan() {
            self.values.push_missing();
            return Ok(());
        }
        if !number::fits_f32(value) {
            return Err(self.too_large(value.to_string()));
        }
        match &mut self.values {
            ColumnBuilder::Number(values) => values.push(value),
            ColumnBuilder::Text(levels) => levels.push(&number::as_text(value)),
        }
        Ok(())
    }

    fn push_text(&mut self, bytes: &ByteArray) -> Result<(), DataError> {
        let row = self.row as u64 + 1;
        let text = std::str::from_utf8(bytes.data()).map_err(|_| DataError::NotUtf8 { file: self.file.to_owned(), row })?;
        if let ColumnBuilder::Text(levels) = &mut self.values {
            levels.push(text);
            return Ok(());
        }
        if number::is_missing(text.trim().as_bytes()) {
            self.values.push_missing();
            return Ok(());
        }
        let Some(value) = number::parse(text.trim()) else {
            let (file, column) = (self.file.to_owned(), self.name.to_owned());
            return Err(DataError::NotANumber { file, row, column, value: text.to_owned() });
        };
        self.push_number(value)
    }

    fn too_large(&self, value: String) -> DataError {
        let (file, column) = (self.file.to_owned(), self.name.to_owned());
        DataError::TooLarge { file, row: self.row as u64 + 1, column, value }
    }

    /// The column, if the chunks held as many rows as the file's summary says.
    fn finish(self) -> Result<Column, DataError> {
        if self.row != self.most {
            return Err(DataError::RowCount { file: self.file.to_owned(), found: self.row, announced: self.most });
        }
        Ok(self.values.finish())
    }
}
