//! A table and a schema enter; the input matrix leaves, with a word on each row: inside the domain, outside, or incomplete.

use std::collections::BTreeMap;

use deepsade_net::Matrix;
use deepsade_spec::{Domain, Schema};

use super::error::DataError;
use super::missing::with_gaps_filled;
use super::read::{Columns, ReadOptions, known};
use super::table::{Column, Kind, Table, TableValue};

/// Rows encoded together, so that a wide matrix is written cache line by cache line.
const BLOCK: usize = 64;

/// Encoded inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    /// rows x `Schema::columns().len()`: raw units, categories one-hot.
    pub x: Matrix,
    /// For each row whether the guarantee covers it.
    pub status: Vec<RowStatus>,
}

impl Inputs {
    /// Takes rows that a model's own flag puts outside, each with a feature, as lying outside: who runs its file elsewhere reads that.
    pub fn put_outside(&mut self, rows: impl IntoIterator<Item = (usize, usize)>) {
        for (row, feature) in rows {
            if self.status[row] == RowStatus::Inside {
                self.status[row] = RowStatus::Outside { feature };
            }
        }
    }
}

impl RowStatus {
    /// What a row is once the value of one more feature is known.
    fn and(self, feature: usize, value: ValueStatus) -> Self {
        match (self, value) {
            (Self::Inside, ValueStatus::Outside) => Self::Outside { feature },
            (Self::Inside | Self::Outside { .. }, ValueStatus::Missing) => Self::Missing { feature },
            (known, _) => known,
        }
    }
}

/// Whether an input lies in the domain, after rounding to float32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowStatus {
    /// Every feature is in its domain.
    Inside,
    /// A feature has a value outside its domain; an unknown level is encoded as zeros, in an ordered category as NaN.
    Outside {
        /// Index of the first such feature.
        feature: usize,
    },
    /// A feature has no value; it is encoded as NaN. Outranks [`RowStatus::Outside`].
    Missing {
        /// Index of the first such feature.
        feature: usize,
    },
}

impl ReadOptions {
    /// For prediction with a known schema: its features and nothing else, each as the schema wants it.
    pub fn for_schema(schema: &Schema) -> Self {
        let names = schema.given().iter().map(|f| f.name.clone()).collect();
        let markers_of = schema.filled.iter().map(|f| (f.feature.clone(), f.markers.clone())).collect();
        Self { columns: Columns::Only(names), expected: kinds_of_schema(schema), markers_of, ..Self::default() }
    }
}

/// How a known schema wants the columns of its features to be read, for prediction.
pub fn kinds_of_schema(schema: &Schema) -> BTreeMap<String, Kind> {
    // A level is a text also where its place is what enters, and though all levels spell numbers.
    let kind = |domain: &Domain| if domain.levels().is_some() { Kind::Text } else { Kind::Number };
    schema.given().iter().map(|f| (f.name.clone(), kind(&f.domain))).collect()
}

/// Encodes the features of `schema`, with what it fills in where there is no value; other columns of the table play no part, so targets
/// may be absent.
pub fn encode_inputs(table: &Table, schema: &Schema) -> Result<Inputs, DataError> {
    let table = &*with_gaps_filled(table, schema);
    let wanted: Vec<String> = schema.features.iter().map(|f| f.name.clone()).collect();
    known(&wanted, &table.names, "the model")?;
    let mut plans = Vec::with_capacity(schema.features.len());
    let places = table.places();
    for f in &schema.features {
        plans.push(FeatureEncoder::new(&f.name, &table.columns[places[f.name.as_str()]], &f.domain)?);
    }

    let skip = schema.one_hot.dropped();
    let mut x = Matrix::zeros(table.rows(), plans.iter().map(|p| p.width(skip)).sum());
    let mut status = vec![RowStatus::Inside; table.rows()];
    for block in (0..table.rows()).step_by(BLOCK) {
        let rows = block..(block + BLOCK).min(table.rows());
        let mut at = 0;
        for (feature, plan) in plans.iter().enumerate() {
            let width = plan.width(skip);
            for row in rows.clone() {
                let place = plan.fill(row, skip, &mut x.row_mut(row)[at..at + width]);
                status[row] = status[row].and(feature, place);
            }
            at += width;
        }
    }
    Ok(Inputs { x, status })
}

/// Encodes rows of plain numbers, for a schema without categories; `value` is asked for each row and each feature that data have.
///
/// # Panics
/// If a feature is a category.
pub fn encode_numbers(rows: usize, schema: &Schema, value: impl Fn(usize, usize) -> f64) -> Inputs {
    let domains: Vec<&Domain> = schema.features.iter().map(|f| &f.domain).collect();
    assert!(domains.iter().all(|domain| domain.range().is_some()), "every feature is a number");
    let fills: Vec<Option<f32>> =
        schema.given().iter().map(|f| schema.fill(&f.name).and_then(|fill| fill.number(&f.domain))).collect();
    let flagged: Vec<usize> = schema.indicated().filter_map(|name| schema.feature(name)).collect();
    let value = |row: usize, feature: usize| match (feature.checked_sub(fills.len()), fills.get(feature).copied().flatten()) {
        (Some(indicator), _) => f64::from(u8::from(value(row, flagged[indicator]).is_nan())),
        (_, Some(fill)) => Some(value(row, feature)).filter(|v| !v.is_nan()).unwrap_or_else(|| fill.into()),
        _ => value(row, feature),
    };
    let mut x = Matrix { rows, cols: domains.len(), data: Vec::with_capacity(rows * domains.len()) };
    let mut status = vec![RowStatus::Inside; rows];
    for (row, status) in status.iter_mut().enumerate() {
        for (feature, domain) in domains.iter().enumerate() {
            let v = value(row, feature) as f32 + 0.0;
            x.data.push(v);
            *status = status.and(feature, ValueStatus::of(v, domain));
        }
    }
    Inputs { x, status }
}

/// How one table column becomes the columns of one feature.
pub(crate) struct FeatureEncoder<'a> {
    column: &'a Column,
    domain: &'a Domain,
    how: ReadAs,
}

enum ReadAs {
    Number,
    /// For each level of the table its place in the domain.
    Places(Vec<Option<usize>>),
    /// For each level of the table its level in the domain, and how many the domain has.
    Levels {
        to_domain: Vec<Option<usize>>,
        count: usize,
    },
}

#[derive(Clone, Copy)]
enum ValueStatus {
    Inside,
    Outside,
    Missing,
}

impl ValueStatus {
    fn of(v: f32, domain: &Domain) -> Self {
        match v {
            _ if domain.holds(v) => Self::Inside,
            _ if v.is_nan() => Self::Missing,
            _ => Self::Outside,
        }
    }
}

impl<'a> FeatureEncoder<'a> {
    pub(crate) fn new(name: &str, column: &'a Column, domain: &'a Domain) -> Result<Self, DataError> {
        let how = match (domain, column, domain.range()) {
            (Domain::Ordered { levels }, Column::Text { levels: of_table, .. }, _) => {
                ReadAs::Places(of_table.iter().map(|level| levels.iter().position(|l| l == level)).collect())
            }
            (Domain::Ordered { .. }, ..) => {
                return Err(DataError::WrongKind { column: name.to_owned(), found: column.kind(), expected: Kind::Text });
            }
            (_, Column::Number(_) | Column::Bytes { .. }, Some(_)) => ReadAs::Number,
            (Domain::Category { levels }, Column::Text { levels: of_table, .. }, _) => {
                let to_domain = of_table.iter().map(|level| levels.iter().position(|l| l == level)).collect();
                ReadAs::Levels { to_domain, count: levels.len() }
            }
            _ => {
                let expected = if domain.range().is_some() { Kind::Number } else { Kind::Text };
                return Err(DataError::WrongKind { column: name.to_owned(), found: column.kind(), expected });
            }
        };
        Ok(Self { column, domain, how })
    }

    /// Whether the domain holds the value of `row`, rounded to float32.
    pub(crate) fn holds(&self, row: usize) -> bool {
        matches!(self.fill(row, 0, &mut []), ValueStatus::Inside)
    }

    fn width(&self, skip: usize) -> usize {
        match &self.how {
            ReadAs::Number | ReadAs::Places(_) => 1,
            ReadAs::Levels { count, .. } => count.saturating_sub(skip),
        }
    }

    /// Writes the feature's columns, which are zero so far; of an `out` too short only the place is found.
    fn fill(&self, row: usize, skip: usize, out: &mut [f32]) -> ValueStatus {
        if let (ReadAs::Levels { to_domain, .. }, Column::Text { codes, .. }) = (&self.how, self.column) {
            let Some(level) = to_domain.get(codes[row] as usize) else {
                // The code of a missing text is beyond every level.
                out.fill(f32::NAN);
                return ValueStatus::Missing;
            };
            // Where the first level is a row of zeros, what is no level must not be one.
            if level.is_none() && skip > 0 {
                out.fill(f32::NAN);
            }
            if let Some(cell) = level.and_then(|l| l.checked_sub(skip)).and_then(|l| out.get_mut(l)) {
                *cell = 1.0;
            }
            return if level.is_some() { ValueStatus::Inside } else { ValueStatus::Outside };
        }
        if let (ReadAs::Places(places), Column::Text { codes, .. }) = (&self.how, self.column) {
            let place = places.get(codes[row] as usize);
            out.fill(place.copied().flatten().map_or(f32::NAN, |k| k as f32));
            return match place {
                None => ValueStatus::Missing,
                Some(None) => ValueStatus::Outside,
                Some(Some(_)) => ValueStatus::Inside,
            };
        }
        let (ReadAs::Number, TableValue::Number(v)) = (&self.how, self.column.value(row)) else {
            out.fill(f32::NAN);
            return ValueStatus::Missing;
        };
        // Adding zero turns -0 into 0.
        let v = v as f32 + 0.0;
        out.fill(v);
        ValueStatus::of(v, self.domain)
    }
}

#[cfg(test)]
#[path = "inputs/tests.rs"]
mod tests;
