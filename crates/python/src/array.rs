//! numpy's arrays in and out.

use deepsade_net::Matrix;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, ToPyArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A matrix of numbers as numpy has it.
pub enum NumberArray<'py> {
    /// `float64`
    Double(PyReadonlyArray2<'py, f64>),
    /// `float32`
    Single(PyReadonlyArray2<'py, f32>),
}

impl<'py> NumberArray<'py> {
    /// Takes `float32` and `float64` matrices as they lie in memory.
    pub fn of(x: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(x) = x.extract::<PyReadonlyArray2<'py, f64>>() {
            Ok(Self::Double(x))
        } else if let Ok(x) = x.extract::<PyReadonlyArray2<'py, f32>>() {
            Ok(Self::Single(x))
        } else {
            Err(PyTypeError::new_err("expected a float32 or float64 matrix, or a deepsade Table"))
        }
    }

    /// A copy in float32.
    pub fn matrix(&self) -> Matrix {
        match self {
            Self::Double(x) => {
                let x = x.as_array();
                Matrix { rows: x.nrows(), cols: x.ncols(), data: x.iter().map(|v| *v as f32).collect() }
            }
            Self::Single(x) => {
                let x = x.as_array();
                Matrix { rows: x.nrows(), cols: x.ncols(), data: x.iter().copied().collect() }
            }
        }
    }
}

/// A matrix as a numpy array, without copying.
pub fn out(py: Python<'_>, m: Matrix) -> PyResult<Bound<'_, PyArray2<f32>>> {
    PyArray1::from_vec(py, m.data).reshape([m.rows, m.cols])
}

/// Doubles, row by row, as a numpy array.
pub fn doubles(py: Python<'_>, data: Vec<f64>, rows: usize, cols: usize) -> PyResult<Bound<'_, PyArray2<f64>>> {
    PyArray1::from_vec(py, data).reshape([rows, cols])
}

/// Marks as a numpy array.
pub fn marks<'py>(py: Python<'py>, data: &[bool]) -> Bound<'py, PyArray1<bool>> {
    data.to_pyarray(py)
}
