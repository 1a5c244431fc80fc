//! A tensor of the file -> its dimensions and numbers, with the size checked before anything is allocated.

use super::error::ImportError;
use super::proto::{TensorProto, element};

/// Dimensions of a tensor of a type that is read, whose data has the size that they claim.
pub(super) fn dims(t: &TensorProto) -> Result<Vec<usize>, ImportError> {
    if t.data_location == 1 {
        return Err(ImportError::ExternalData { name: t.name.clone() });
    }
    if !matches!(t.data_type, element::FLOAT | element::DOUBLE | element::INT64 | element::INT32 | element::BOOL) {
        return Err(wrong_type(t, "float"));
    }
    let found = stored(t).unwrap_or(0);
    let wrong = || ImportError::TensorSize { name: t.name.clone(), dims: t.dims.clone(), found };
    let dims: Vec<usize> = t.dims.iter().map(|&d| usize::try_from(d).map_err(|_| wrong())).collect::<Result<_, _>>()?;
    let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).ok_or_else(wrong)?;
    if stored(t) == Some(count) { Ok(dims) } else { Err(wrong()) }
}

/// The numbers of a float tensor.
pub(super) fn floats(t: &TensorProto) -> Result<Vec<f32>, ImportError> {
    dims(t)?;
    if t.data_type != element::FLOAT {
        return Err(wrong_type(t, "float"));
    }
    Ok(match raw(t) {
        Some(raw) => raw.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect(),
        None => t.float_data.clone(),
    })
}

/// A tensor of double as one of float, each number rounded to the nearest, as a Cast does.
pub(super) fn rounded(t: &TensorProto, name: &str) -> Result<TensorProto, ImportError> {
    dims(t)?;
    let doubles = match raw(t) {
        Some(raw) => raw.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        None => t.double_data.clone(),
    };
    let float_data = doubles.iter().map(|v| *v as f32).collect();
    Ok(TensorProto { dims: t.dims.clone(), data_type: element::FLOAT, name: name.into(), float_data, ..TensorProto::default() })
}

/// The numbers of an integer (or boolean) tensor.
pub(super) fn integers(t: &TensorProto) -> Result<Vec<i64>, ImportError> {
    dims(t)?;
    match (t.data_type, raw(t)) {
        (element::INT64, Some(raw)) => Ok(raw.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect()),
        (element::INT64, None) => Ok(t.int64_data.clone()),
        (element::INT32, Some(raw)) => Ok(raw.as_chunks::<4>().0.iter().map(|b| i64::from(i32::from_le_bytes(*b))).collect()),
        (element::BOOL, Some(raw)) => Ok(raw.iter().map(|&b| i64::from(b)).collect()),
        (element::INT32 | element::BOOL, None) => Ok(t.int32_data.iter().map(|&i| i64::from(i)).collect()),
        _ => Err(wrong_type(t, "integer")),
    }
}

fn wrong_type(t: &TensorProto, expected: &'static str) -> ImportError {
    ImportError::ElementType { name: t.name.clone(), expected, found: element::name(t.data_type) }
}

/// The raw bytes, where those hold the data. Writers leave an empty `raw_data` beside typed data, and none beside no data.
fn raw(t: &TensorProto) -> Option<&[u8]> {
    t.raw_data.as_deref().filter(|raw| !raw.is_empty())
}

/// How many elements the stored data makes; `None` for bytes left over, or for data stored twice, of which readers take either.
fn stored(t: &TensorProto) -> Option<usize> {
    let size = match t.data_type {
        element::INT64 | element::DOUBLE => 8,
        element::BOOL => 1,
        _ => 4,
    };
    let typed = match t.data_type {
        element::INT64 => t.int64_data.len(),
        element::DOUBLE => t.double_data.len(),
        element::INT32 | element::BOOL => t.int32_data.len(),
        _ => t.float_data.len(),
    };
    match raw(t) {
        Some(raw) => (typed == 0 && raw.len() % size == 0).then_some(raw.len() / size),
        None => Some(typed),
    }
}
