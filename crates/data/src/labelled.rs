//! A table and its encoding enter; which rules a row's label breaks leaves.

use deepsade_output::Judge;
use deepsade_spec::{Domain, NormalSpec, Task, Var};

use crate::dataset::Dataset;
use crate::table::{Column, Table, TableValue};

/// Data rows as written: decimals of the file for numbers, encoded columns for everything else.
pub struct Labelled<'a> {
    spec: &'a NormalSpec,
    features: Vec<&'a Column>,
    targets: Vec<&'a Column>,
    rows: &'a Dataset,
}

impl<'a> Labelled<'a> {
    /// Pairs a table with its encoding.
    ///
    /// # Panics
    /// If `spec` is not about the columns of `table`.
    pub fn new(spec: &'a NormalSpec, table: &'a Table, rows: &'a Dataset) -> Self {
        let places = table.places();
        let columns = |names: Vec<&str>| names.into_iter().map(|n| &table.columns[places[n]]).collect();
        Self {
            spec,
            features: columns(spec.schema.features.iter().map(|f| f.name.as_str()).collect()),
            targets: columns(spec.schema.task.target_columns()),
            rows,
        }
    }

    /// Whether the label of a row breaks a rule; `None` if the rule reads scores, which labels do not have.
    pub fn breaks(&self, judge: &Judge, rule: usize, row: usize) -> Option<bool> {
        let written = |var: Var| match (var, &self.spec.schema.task) {
            (Var::Feature(f), _) => match &self.spec.schema.features[f].domain {
                Domain::Ordered { levels } => match self.features[f].value(row) {
                    TableValue::Text(text) => levels.iter().position(|l| l == text).map_or(f64::NAN, |k| k as f64),
                    _ => f64::NAN,
                },
                _ => number(self.features[f], row),
            },
            (Var::Output(j), Task::Regression { .. }) => number(self.targets[j], row),
            (Var::Output(j), _) => f64::from(self.rows.y.row(row)[j]) * 2.0 - 1.0,
            (Var::Level(..), _) => f64::NAN,
        };
        judge.label_breaks(rule, self.rows.x.row(row), &written)
    }

    /// Whether the label of a row breaks some rule; rules about scores do not count.
    pub fn breaks_any(&self, judge: &Judge, row: usize) -> bool {
        (0..self.spec.rules.len()).any(|rule| self.breaks(judge, rule, row) == Some(true))
    }
}

fn number(column: &Column, row: usize) -> f64 {
    match column.value(row) {
        TableValue::Number(v) => v,
        _ => f64::NAN,
    }
}
