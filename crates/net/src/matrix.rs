//! A dense row-major matrix of float32.

/// `rows` x `cols` values, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// The values; `data.len() == rows * cols`.
    pub data: Vec<f32>,
}

impl Matrix {
    /// All zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![0.0; rows * cols] }
    }

    /// Row `r`.
    pub fn row(&self, r: usize) -> &[f32] {
        &self.data[r * self.cols..(r + 1) * self.cols]
    }

    /// Row `r`, to be written.
    pub fn row_mut(&mut self, r: usize) -> &mut [f32] {
        &mut self.data[r * self.cols..(r + 1) * self.cols]
    }

    /// These rows, in this order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut data = Vec::with_capacity(rows.len() * self.cols);
        rows.iter().for_each(|r| data.extend_from_slice(self.row(*r)));
        Self { rows: rows.len(), cols: self.cols, data }
    }

    /// Smallest and largest number of each column; numbers are finite.
    pub fn column_ranges(&self) -> impl Iterator<Item = (f32, f32)> + '_ {
        let range = move |c: usize| {
            let column = (0..self.rows).map(move |r| self.row(r)[c]);
            column.fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)))
        };
        (0..self.cols).map(range)
    }
}
