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

impl Dataset {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.weight.len()
    }

    /// The rows at `indices`, in that order; an index may occur twice.
    ///
    /// # Panics
    /// If an index is not below [`Dataset::rows`].
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Self {
        Self { x: self.x.select(indices), y: self.y.select(indices), weight: indices.iter().map(|&i| self.weight[i]).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn select_takes_rows_in_the_order_asked_for() {
        let x = Matrix { rows: 3, cols: 2, data: vec![0.0, 1.0, 10.0, 11.0, 20.0, 21.0] };
        let y = Matrix { rows: 3, cols: 1, data: vec![5.0, 6.0, 7.0] };
        let d = Dataset { x, y, weight: vec![1.0, 0.5, 0.25] };
        let s = d.select(&[2, 0, 2]);
        assert_eq!(s.rows(), 3);
        assert_eq!(s.x.data, [20.0, 21.0, 0.0, 1.0, 20.0, 21.0]);
        assert_eq!(s.y.data, [7.0, 5.0, 7.0]);
        assert_eq!(s.weight, [0.25, 1.0, 0.25]);
    }
}
