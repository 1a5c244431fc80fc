//! Rows ready for training: encoded inputs and targets in float32.

use deepsade_net::Matrix;

/// Inputs, targets and weights, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dataset {
    /// rows x `Schema::columns().len()`: raw units, categories one-hot.
    pub x: Matrix,
    /// rows x `Task::outputs()`: values for regression, one-hot 0/1 for classes, 0/1 for labels and for `at[item, place]`.
    pub y: Matrix,
    /// Weight of each row in the training loss.
    pub weight: Vec<f32>,
}
