//! A table and its settings enter; encoded rows leave, dealt out, with what their labels say of the rules; with a model, its scores on them.

use deepsade_data::{self as data, BreakingRows, CheckedData, Dataset, Labelled, Loaded, Metrics, Split, Table, inject, metrics};
use deepsade_net::{Matrix, Model};
use deepsade_output::decode::DecodeError;
use deepsade_output::reader::Flags;
use deepsade_output::{Judge, Output};
use deepsade_spec::NormalSpec;

use super::FitError;
use crate::warnings::Scored;

/// Encoded rows, dealt out, with what their labels say about the rules.
#[derive(Debug, Clone)]
pub struct Rows {
    /// All rows; labels after injection.
    pub all: Dataset,
    /// For each rule how many labels break it in the data as shipped; `None` for rules about scores.
    pub breaking_shipped: Vec<Option<usize>>,
    /// How many labels break some rule in the data as shipped.
    pub any_breaking_shipped: usize,
    /// For each row whether its label breaks some rule, after injection.
    pub breaking: Vec<bool>,
    /// Which rows train, validate and test.
    pub split: Split,
    /// For each row its place in the data file, from 1.
    pub numbers: Vec<u64>,
    /// What to know of the data before they are used.
    pub notes: Vec<String>,
}

/// Encodes the rows, judges their labels, injects violations and deals the rows out.
pub fn rows(spec: &NormalSpec, loaded: &Loaded, settings: &CheckedData, seed: u64) -> Result<Rows, FitError> {
    let mut rows = rows_of(spec, &loaded.table, settings, seed)?;
    rows.notes.clone_from(&loaded.notes);
    if let Some(weights) = &loaded.said.weights {
        rows.all.weight.clone_from(weights);
    }
    if let Some(split) = &loaded.said.split {
        rows.split.clone_from(split);
    }
    Ok(rows)
}

/// The same for a table whose rows lie in the domain, once its gaps are filled in.
pub fn rows_of(spec: &NormalSpec, table: &Table, settings: &CheckedData, seed: u64) -> Result<Rows, FitError> {
    let table = &*data::with_gaps_filled(table, &spec.schema);
    let mut all = data::encode(table, &spec.schema)?;
    let judge = Judge::new(spec);
    let labelled = Labelled::new(spec, table, &all);
    let n = all.rows();
    let breaking_shipped =
        (0..spec.rules.len()).map(|rule| (0..n).map(|row| labelled.breaks(&judge, rule, row).map(usize::from)).sum()).collect();
    let mut breaking: Vec<bool> = (0..n).map(|row| labelled.breaks_any(&judge, row)).collect();
    let any_breaking_shipped = breaking.iter().filter(|b| **b).count();
    inject(spec, &mut all, &mut breaking, settings.inject_violations, seed)?;
    let split = data::split(n, settings, seed);
    Ok(Rows {
        all,
        breaking_shipped,
        any_breaking_shipped,
        breaking,
        split,
        numbers: table.row_numbers.clone(),
        notes: Vec::new(),
    })
}

impl Rows {
    /// Rows to learn from, with `breaking_rows` applied.
    pub(super) fn weighted(&self, indices: &[usize], policy: BreakingRows) -> Dataset {
        let kept: Vec<usize> = match policy {
            BreakingRows::Drop => indices.iter().copied().filter(|r| !self.breaking[*r]).collect(),
            BreakingRows::Keep | BreakingRows::Weight(_) => indices.to_vec(),
        };
        let mut rows = self.all.select(&kept);
        if let BreakingRows::Weight(weight) = policy {
            for (v, row) in rows.weight.iter_mut().zip(&kept) {
                if self.breaking[*row] {
                    *v *= weight as f32;
                }
            }
        }
        rows
    }

    pub(crate) fn predicted(&self, spec: &NormalSpec, model: &Model, indices: &[usize]) -> Result<Predicted, DecodeError> {
        let rows = self.all.select(indices);
        let breaking: Vec<bool> = indices.iter().map(|r| self.breaking[*r]).collect();
        let (outputs, flags) = Output::of(model, spec)?.outputs_and_flags(&rows.x);
        Ok(Predicted { metrics: metrics(spec, &rows, &outputs, &breaking), rows, outputs, flags, breaking })
    }
}

/// Some rows with a model's outputs and their scores.
#[derive(Debug, Clone)]
pub struct Predicted {
    /// The rows.
    pub rows: Dataset,
    /// What the model gives for them.
    pub outputs: Matrix,
    /// What its output step says of each, if it has one.
    pub flags: Option<Vec<Flags>>,
    /// Which labels break a rule.
    pub breaking: Vec<bool>,
    /// Scores.
    pub metrics: Metrics,
}

impl Predicted {
    /// The rows to be judged by.
    pub(crate) fn scored(&self) -> Scored<'_> {
        Scored { rows: &self.rows, outputs: &self.outputs, breaking: &self.breaking }
    }
}
