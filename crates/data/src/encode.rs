//! A table without gaps and its schema enter; a [`Dataset`] in float32 leaves.

use deepsade_net::Matrix;
use deepsade_spec::{Schema, Task};

use super::dataset::Dataset;
use super::error::DataError;
use super::inputs::{RowStatus, encode_inputs};
use super::number;
use super::read::known;
use super::table::{Column, Table, TableValue};

/// Encodes features and targets, weight 1 each row; a gap or a value outside the domain is an error.
pub fn encode(table: &Table, schema: &Schema) -> Result<Dataset, DataError> {
    let inputs = encode_inputs(table, schema)?;
    for (row, status) in inputs.status.iter().enumerate() {
        let (RowStatus::Outside { feature } | RowStatus::Missing { feature }) = *status else { continue };
        let f = &schema.features[feature];
        let (row_number, column) = (table.row_numbers[row], f.name.clone());
        let value = table.column(&f.name).map_or(TableValue::Missing, |c| c.value(row));
        return Err(match value {
            TableValue::Missing => DataError::MissingValue { row: row_number, column },
            _ => DataError::OutsideDomain { row: row_number, column, value: value.to_string(), domain: f.domain.in_words() },
        });
    }
    Ok(Dataset { x: inputs.x, y: encode_targets(table, &schema.task)?, weight: vec![1.0; table.rows()] })
}

/// The truth as the network's outputs would say it: rows x `Task::outputs()`.
pub fn encode_targets(table: &Table, task: &Task) -> Result<Matrix, DataError> {
    let names: Vec<String> = task.target_columns().into_iter().map(str::to_owned).collect();
    known(&names, &table.names, "`targets`")?;
    let at = table.places();
    let targets: Vec<Target> =
        names.iter().map(|name| Target { table, name, column: &table.columns[at[name.as_str()]] }).collect();
    let mut y = Matrix::zeros(table.rows(), task.outputs());
    for row in 0..table.rows() {
        let out = y.row_mut(row);
        match task {
            Task::Regression { .. } => {
                for (cell, target) in out.iter_mut().zip(&targets) {
                    *cell = target.number(row, "a regression needs numbers")? as f32;
                }
            }
            Task::Binary { classes, .. } | Task::Multiclass { classes, .. } => out[targets[0].class(row, classes)?] = 1.0,
            Task::Multilabel { .. } => {
                for (cell, target) in out.iter_mut().zip(&targets) {
                    *cell = target.label(row)?;
                }
            }
            Task::Ranking { .. } => places(row, &targets, out)?,
        }
    }
    Ok(y)
}

/// Marks item i on its place; refuses places that are no ordering.
fn places(row: usize, targets: &[Target], out: &mut [f32]) -> Result<(), DataError> {
    let n = targets.len();
    let expected = format!("each row must hold every place from 1 to {n} once");
    let mut taken = vec![false; n];
    for (item, target) in targets.iter().enumerate() {
        let place = target.number(row, &expected)?;
        let at = (1..=n).find(|p| *p as f64 == place).filter(|p| !std::mem::replace(&mut taken[p - 1], true));
        let at = at.ok_or_else(|| target.refused(row, &expected))?;
        out[item * n + at - 1] = 1.0;
    }
    Ok(())
}

struct Target<'a> {
    table: &'a Table,
    name: &'a str,
    column: &'a Column,
}

impl Target<'_> {
    fn number(&self, row: usize, expected: &str) -> Result<f64, DataError> {
        match self.column.value(row) {
            TableValue::Number(v) => Ok(v),
            _ => Err(self.refused(row, expected)),
        }
    }

    fn label(&self, row: usize) -> Result<f32, DataError> {
        let expected = "a label column holds 0 or 1";
        match self.number(row, expected)? {
            0.0 => Ok(0.0),
            1.0 => Ok(1.0),
            _ => Err(self.refused(row, expected)),
        }
    }

    fn class(&self, row: usize, classes: &[String]) -> Result<usize, DataError> {
        let at = match self.column.value(row) {
            TableValue::Text(text) => classes.iter().position(|c| c == text),
            TableValue::Number(v) => classes.iter().position(|c| number::parse(c) == Some(v)),
            TableValue::Missing => None,
        };
        at.ok_or_else(|| self.refused(row, &format!("the classes are {}", classes.join(", "))))
    }

    fn refused(&self, row: usize, expected: &str) -> DataError {
        let (row_number, column) = (self.table.row_numbers[row], self.name.to_owned());
        match self.column.value(row) {
            TableValue::Missing => DataError::MissingValue { row: row_number, column },
            value => DataError::BadTarget { row: row_number, column, value: value.to_string(), expected: expected.to_owned() },
        }
    }
}

#[cfg(test)]
#[path = "encode/tests.rs"]
mod tests;
