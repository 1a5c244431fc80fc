//! Columns of numpy and of Arrow enter, the engine's table leaves.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    ArrowDictionaryKeyType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{ArrowError, DataType};
use deepsade_data::{self as data, Column, Levels};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::{Class, Failure};

/// Named columns in memory.
#[pyclass(module = "deepsade._core")]
#[derive(Default)]
pub struct Table {
    pub inner: data::Table,
}

#[pymethods]
impl Table {
    /// An empty table.
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// How many rows there are.
    fn __len__(&self) -> usize {
        self.inner.rows()
    }

    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.inner.names.clone()
    }

    /// The names of those that hold texts.
    #[getter]
    fn texts(&self) -> Vec<String> {
        let columns = self.inner.names.iter().zip(&self.inner.columns);
        columns.filter(|(_, column)| matches!(column, Column::Text { .. })).map(|(name, _)| name.clone()).collect()
    }

    /// Adds a column of numbers; NaN where missing.
    #[allow(clippy::needless_pass_by_value)]
    fn add_numbers(&mut self, name: String, values: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        self.add(name, Column::Number(values.as_array().iter().copied().collect()))
    }

    /// Adds a column for each column of a matrix.
    #[allow(clippy::needless_pass_by_value)]
    fn add_matrix(&mut self, names: Vec<String>, values: PyReadonlyArray2<'_, f64>) -> PyResult<()> {
        let values = values.as_array();
        if names.len() != values.ncols() {
            return Err(PyValueError::new_err(format!("{} names for {} columns", names.len(), values.ncols())));
        }
        for (name, column) in names.into_iter().zip(values.columns()) {
            self.add(name, Column::Number(column.iter().copied().collect()))?;
        }
        Ok(())
    }

    /// Adds a column of texts: for each row an index into `levels`, negative where missing.
    #[allow(clippy::needless_pass_by_value)]
    fn add_levels(&mut self, name: String, levels: Vec<String>, codes: PyReadonlyArray1<'_, i64>) -> PyResult<()> {
        let n = levels.len() as i64;
        let codes = codes.as_array().iter().map(|c| if (0..n).contains(c) { *c as u32 } else { u32::MAX }).collect();
        self.add(name, Column::Text { levels, codes })
    }

    /// Adds the columns of anything that speaks the Arrow C stream interface; its buffers are read in place.
    fn add_arrow(&mut self, py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<()> {
        let capsule = frame.call_method0("__arrow_c_stream__")?;
        let capsule = capsule.cast::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: by the interface's contract a capsule of this name holds such a stream, which its consumer moves out.
        let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr()) };
        let columns = py.detach(|| reader.map_err(|e| arrow(&e)).and_then(read)).map_err(PyErr::from)?;
        for (name, column) in columns {
            self.add(name, column)?;
        }
        Ok(())
    }
}

impl Table {
    fn add(&mut self, name: String, column: Column) -> PyResult<()> {
        if self.inner.columns.is_empty() {
            // As Python counts rows.
            self.inner.row_numbers = (0..column.len() as u64).collect();
        } else if column.len() != self.inner.rows() {
            let (found, expected) = (column.len(), self.inner.rows());
            return Err(PyValueError::new_err(format!("column '{name}' has {found} rows, the columns before it {expected}")));
        }
        self.inner.names.push(name);
        self.inner.columns.push(column);
        Ok(())
    }
}

fn arrow(error: &ArrowError) -> Failure {
    Failure::new(Class::Data, format!("the frame can't be read: {error}"))
}

/// A column while its batches come in.
enum Growing {
    Number(Vec<f64>),
    Text(Levels),
}

fn read(reader: RecordBatchStreamReader) -> Result<Vec<(String, Column)>, Failure> {
    use arrow_array::RecordBatchReader;
    let schema = reader.schema();
    let grow = |f: &arrow_schema::FieldRef| {
        if is_text(f.data_type()) { Growing::Text(Levels::default()) } else { Growing::Number(Vec::new()) }
    };
    let mut columns: Vec<Growing> = schema.fields().iter().map(grow).collect();
    for batch in reader {
        let batch = batch.map_err(|e| arrow(&e))?;
        for ((array, column), field) in batch.columns().iter().zip(&mut columns).zip(schema.fields()) {
            match column {
                Growing::Number(values) => numbers(array, values, field.name())?,
                Growing::Text(levels) => texts(array, levels, field.name())?,
            }
        }
    }
    let finish = |column: Growing| match column {
        Growing::Number(values) => Column::Number(values),
        Growing::Text(levels) => levels.finish(),
    };
    Ok(schema.fields().iter().map(|f| f.name().clone()).zip(columns.into_iter().map(finish)).collect())
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => is_text(value),
        _ => false,
    }
}

fn refused(name: &str, kind: &DataType) -> Failure {
    let words = "numbers, booleans, strings and categories can be used: convert it, or leave it out";
    Failure::new(Class::Data, format!("column '{name}' holds {kind}; {words}"))
}

fn plain<T: ArrowPrimitiveType>(array: &ArrayRef, out: &mut Vec<f64>, number: impl Fn(T::Native) -> f64) {
    let array: &PrimitiveArray<T> = array.as_primitive();
    if array.null_count() == 0 {
        out.extend(array.values().iter().map(|v| number(*v)));
    } else {
        out.extend(array.iter().map(|v| v.map_or(f64::NAN, &number)));
    }
}

fn numbers(array: &ArrayRef, out: &mut Vec<f64>, name: &str) -> Result<(), Failure> {
    match array.data_type() {
        DataType::Float64 => plain::<Float64Type>(array, out, |v| v),
        DataType::Float32 => plain::<Float32Type>(array, out, f64::from),
        DataType::Int64 => plain::<Int64Type>(array, out, |v| v as f64),
        DataType::Int32 => plain::<Int32Type>(array, out, f64::from),
        DataType::Int16 => plain::<Int16Type>(array, out, f64::from),
        DataType::Int8 => plain::<Int8Type>(array, out, f64::from),
        DataType::UInt64 => plain::<UInt64Type>(array, out, |v| v as f64),
        DataType::UInt32 => plain::<UInt32Type>(array, out, f64::from),
        DataType::UInt16 => plain::<UInt16Type>(array, out, f64::from),
        DataType::UInt8 => plain::<UInt8Type>(array, out, f64::from),
        DataType::Boolean => out.extend(array.as_boolean().iter().map(|v| v.map_or(f64::NAN, |v| f64::from(u8::from(v))))),
        other => return Err(refused(name, other)),
    }
    Ok(())
}

fn texts(array: &ArrayRef, out: &mut Levels, name: &str) -> Result<(), Failure> {
    let mut push = |text: Option<&str>| match text {
        Some(text) => out.push(text),
        None => out.push_missing(),
    };
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().for_each(push),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().for_each(push),
        DataType::Utf8View => array.as_string_view().iter().for_each(push),
        DataType::Dictionary(key, _) => {
            let ok = match **key {
                DataType::UInt8 => dictionary::<UInt8Type>(array, &mut push),
                DataType::UInt16 => dictionary::<UInt16Type>(array, &mut push),
                DataType::UInt32 => dictionary::<UInt32Type>(array, &mut push),
                DataType::UInt64 => dictionary::<UInt64Type>(array, &mut push),
                DataType::Int8 => dictionary::<Int8Type>(array, &mut push),
                DataType::Int16 => dictionary::<Int16Type>(array, &mut push),
                DataType::Int32 => dictionary::<Int32Type>(array, &mut push),
                DataType::Int64 => dictionary::<Int64Type>(array, &mut push),
                _ => false,
            };
            if !ok {
                return Err(refused(name, array.data_type()));
            }
        }
        other => return Err(refused(name, other)),
    }
    Ok(())
}

fn dictionary<K: ArrowDictionaryKeyType>(array: &ArrayRef, push: &mut dyn FnMut(Option<&str>)) -> bool {
    let array = array.as_dictionary::<K>();
    let values = array.values();
    let text = |k: usize| match values.data_type() {
        _ if values.is_null(k) => None,
        DataType::Utf8 => Some(values.as_string::<i32>().value(k)),
        DataType::LargeUtf8 => Some(values.as_string::<i64>().value(k)),
        _ => Some(values.as_string_view().value(k)),
    };
    (0..array.len()).for_each(|row| push(array.key(row).and_then(text)));
    true
}

/// A table that Python handed over where one is expected.
pub fn of<'a, 'py>(x: &'a Bound<'py, PyAny>) -> PyResult<PyRef<'py, Table>> {
    x.extract::<PyRef<'py, Table>>().map_err(|_| PyTypeError::new_err("expected a deepsade Table"))
}
