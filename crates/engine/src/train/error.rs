//! What a training run refuses before it starts.

use deepsade_data::Dataset;
use deepsade_net::Matrix;
use thiserror::Error;

use super::{CheckpointError, PlanError, Run, Stepper};
use crate::objective::StepData;

/// A run that cannot start, or cannot be saved.
#[derive(Debug, Error)]
pub enum TrainError {
    /// A network that cannot be trained.
    #[error(transparent)]
    Network(#[from] PlanError),
    /// A checkpoint that cannot be written or read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The rules can't be kept.
    #[error(transparent)]
    Guard(#[from] crate::guard::GuardError),
    /// A solver that can't be used.
    #[error(transparent)]
    Solver(#[from] deepsade_solve::maxsmt::SolverError),
    /// Nothing to learn from.
    #[error(
        "no row to learn from: the training rows are none, have weight 0, or all break a rule (`deepsade explain` counts them)"
    )]
    NoRows,
    /// Data that do not fit the network, or each other.
    #[error("the {set} data have {what} {found}, expected {expected}")]
    Shape {
        /// `training` or `validation`.
        set: &'static str,
        /// What is counted.
        what: &'static str,
        /// By the network, or by the rest of the data.
        expected: usize,
        /// In the data.
        found: usize,
    },
    /// A value that is not a number, or infinite.
    #[error("the {set} data have {value} as {what} of row {row}, column {column}; counted from 0")]
    NotFinite {
        /// `training` or `validation`.
        set: &'static str,
        /// `input`, `target` or `side value`.
        what: &'static str,
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The value.
        value: f32,
    },
    /// A weight that is negative or not finite.
    #[error("the {set} data have weight {value} in row {row}, counted from 0: must be 0 or above and finite")]
    Weight {
        /// `training` or `validation`.
        set: &'static str,
        /// The row.
        row: usize,
        /// The weight.
        value: f32,
    },
}

/// Refuses data that do not fit the network, or hold values that are not finite.
pub(super) fn check_data<'a>(run: &Run<'a>, stepper: &Stepper) -> Result<(), TrainError> {
    let (inputs, outputs) = (run.network.inputs, stepper.outputs());
    let side = |of: fn(&StepData<'a>) -> &'a Matrix| run.step.as_ref().map(|data| (data.step.side(), of(data)));
    check_set("training", run.train, side(|data| data.train), inputs, outputs)?;
    if !run.train.weight.iter().any(|&v| v > 0.0) {
        return Err(TrainError::NoRows);
    }
    // An empty set need not have columns.
    if run.validation.weight.is_empty() && run.validation.x.rows == 0 {
        return Ok(());
    }
    check_set("validation", run.validation, side(|data| data.validation), inputs, outputs)
}

/// `side` comes with the width that it must have.
fn check_set(
    set: &'static str,
    data: &Dataset,
    side: Option<(usize, &Matrix)>,
    inputs: usize,
    outputs: usize,
) -> Result<(), TrainError> {
    let rows = data.weight.len();
    let none = Matrix { rows, ..Matrix::default() };
    let (width, side) = side.unwrap_or((0, &none));
    for (what, expected, found) in [
        ("input columns:", inputs, data.x.cols),
        ("target columns:", outputs, data.y.cols),
        ("rows of inputs:", rows, data.x.rows),
        ("rows of targets:", rows, data.y.rows),
        ("input values:", rows * inputs, data.x.data.len()),
        ("target values:", rows * outputs, data.y.data.len()),
        ("side columns:", width, side.cols),
        ("rows of side data:", rows, side.rows),
        ("side values:", rows * width, side.data.len()),
    ] {
        if found != expected {
            return Err(TrainError::Shape { set, what, expected, found });
        }
    }
    for (what, Matrix { cols, data, .. }) in [("input", &data.x), ("target", &data.y), ("side value", side)] {
        if let Some(i) = data.iter().position(|x| !x.is_finite()) {
            return Err(TrainError::NotFinite { set, what, row: i / cols, column: i % cols, value: data[i] });
        }
    }
    match data.weight.iter().position(|v| !(v.is_finite() && *v >= 0.0)) {
        Some(row) => Err(TrainError::Weight { set, row, value: data.weight[row] }),
        None => Ok(()),
    }
}
