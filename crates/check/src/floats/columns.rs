//! The coefficients of a dense layer's units enter; what they add to those of the columns that it reads leaves.
//!
//! Nearly all time of a check goes here. Column by column the sums stay in registers, where row by row each would go to memory and
//! back for every product. The lemma of `floats.rs` holds for sums in whatever order.

use deepsade_net::Matrix;

/// The weights of a dense layer, column by column.
pub(super) struct WeightColumns {
    pub(super) columns: Vec<Vec<f64>>,
    /// Of each row how many weights are not 0, and the sum of their magnitudes.
    pub(super) rows: Vec<(f64, f64)>,
}

/// Whether all coefficients are 0: what is not a number is not.
#[inline]
pub(super) fn zero<const L: usize>(a: &[f64; L]) -> bool {
    a.iter().fold(0.0, |sum, a| sum + a.abs()) == 0.0
}

impl WeightColumns {
    pub(super) fn new(w: &Matrix) -> Self {
        let row = |o: usize| {
            let weights = w.row(o).iter().filter(|w| **w != 0.0);
            (weights.clone().count() as f64, weights.map(|w| f64::from(w.abs())).sum())
        };
        let column = |i: usize| (0..w.rows).map(|o| f64::from(w.row(o)[i])).collect();
        Self { columns: (0..w.cols).map(column).collect(), rows: (0..w.rows).map(row).collect() }
    }

    /// The sums of `|w| x`, row by row, for x from 0 on.
    pub(super) fn sizes(&self, x: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.rows.len()];
        for (w, x) in self.columns.iter().zip(x).filter(|(_, x)| **x != 0.0) {
            sums.iter_mut().zip(w).for_each(|(sum, w)| *sum += w.abs() * x);
        }
        sums
    }

    /// The least and the largest `w . x`, row by row, for x between its ends.
    pub(super) fn ends(&self, lo: &[f64], hi: &[f64]) -> Vec<(f64, f64)> {
        let (mut least, mut most) = (vec![0.0; self.rows.len()], vec![0.0; self.rows.len()]);
        for (w, (lo, hi)) in self.columns.iter().zip(lo.iter().zip(hi)).filter(|(_, (lo, hi))| **lo != 0.0 || **hi != 0.0) {
            for ((least, most), w) in least.iter_mut().zip(&mut most).zip(w) {
                let (at_lo, at_hi) = (w * lo, w * hi);
                *least += if at_lo < at_hi { at_lo } else { at_hi };
                *most += if at_lo < at_hi { at_hi } else { at_lo };
            }
        }
        least.into_iter().zip(most).collect()
    }

    /// Adds `sum_o a_o w_oi` to each column i that is `alive`: of the others it is known that they are 0 in every evaluation, so that
    /// their terms are 0 whatever the coefficient.
    pub(super) fn back<const L: usize>(&self, a: &[[f64; L]], alive: impl Fn(usize) -> bool, into: &mut [[f64; L]]) {
        let used: Vec<(usize, &[f64; L])> = a.iter().enumerate().filter(|(_, a)| !zero(a)).collect();
        for (_, (into, w)) in into.iter_mut().zip(&self.columns).enumerate().filter(|(i, _)| alive(*i)) {
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
