//! The coefficients of a dense layer's units enter; what they add to those of the columns that it reads leaves.
//!
//! Nearly all time of a check goes here. Column by column the sums stay in registers, where row by row each would go to memory and
//! back for every product. The lemma of `floats.rs` holds for sums in whatever order.

use deepsade_net::Matrix;

/// The weights of a dense layer, column by column.
pub(super) struct WeightColumns(Vec<Vec<f64>>);

impl WeightColumns {
    pub(super) fn new(w: &Matrix) -> Self {
        Self((0..w.cols).map(|i| (0..w.rows).map(|o| f64::from(w.row(o)[i])).collect()).collect())
    }

    /// Adds `sum_o a_o w_oi` to each column i that is `alive`: of the others it is known that they are 0 in every evaluation, so that
    /// their terms are 0 whatever the coefficient.
    pub(super) fn back<const L: usize>(&self, a: &[[f64; L]], alive: impl Fn(usize) -> bool, into: &mut [[f64; L]]) {
        // What is not a number is not 0, and stays.
        let used: Vec<(usize, [f64; L])> = a.iter().copied().enumerate().filter(|(_, a)| a.iter().any(|a| *a != 0.0)).collect();
        for (_, (into, w)) in into.iter_mut().zip(&self.0).enumerate().filter(|(i, _)| alive(*i)) {
            let mut sum = [0.0; L];
            for (o, a) in &used {
                let w = w[*o];
                (0..L).for_each(|l| sum[l] += a[l] * w);
            }
            (0..L).for_each(|l| into[l] += sum[l]);
        }
    }
}

#[cfg(test)]
mod tests;
