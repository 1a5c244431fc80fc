//! Forms as the columns that they mention, and the coefficients of a dense layer enter; what these add to the columns that it reads leaves.
//!
//! Nearly all time of a check goes here. Column by column the sums stay in registers, where row by row each would go to memory and
//! back for every product. The lemma of `floats.rs` holds for sums in whatever order.

use deepsade_net::Matrix;

/// The weights of a dense layer, column by column.
pub(super) struct WeightColumns {
    /// One after the other.
    weights: Vec<f64>,
    /// Of each row how many weights are not 0, and the sum of their magnitudes.
    pub(super) rows: Vec<(f64, f64)>,
}

/// A column, and its coefficient in each of some forms side by side.
pub(super) type ColumnTerm<const L: usize> = (usize, [f64; L]);

/// Forms side by side: of each value the columns that they mention, each once.
pub(super) struct Forms<const L: usize> {
    pub(super) a: Vec<Vec<ColumnTerm<L>>>,
    pub(super) constant: [f64; L],
    pub(super) size: [f64; L],
    /// What a value is about to be given.
    pub(super) next: Vec<ColumnTerm<L>>,
    /// Sums by column.
    pub(super) sums: Vec<[f64; L]>,
}

impl<const L: usize> Forms<L> {
    /// Zeros, over values up to `last`.
    pub(super) fn new(last: usize) -> Self {
        Self { a: vec![Vec::new(); last + 1], constant: [0.0; L], size: [0.0; L], next: Vec::new(), sums: Vec::new() }
    }

    /// Zeros again, in the same memory.
    pub(super) fn clear(&mut self, last: usize) {
        self.a.iter_mut().for_each(Vec::clear);
        self.a.resize(last + 1, Vec::new());
        self.next.clear();
        (self.constant, self.size) = ([0.0; L], [0.0; L]);
    }

    pub(super) fn add(&mut self, lane: usize, term: f64) {
        self.constant[lane] += term;
        self.size[lane] += term.abs();
    }

    /// Adds terms from 0 on, or what is not a number.
    pub(super) fn pay(&mut self, terms: [f64; L]) {
        for (lane, term) in terms.into_iter().enumerate() {
            self.constant[lane] += term;
            self.size[lane] += term;
        }
    }

    /// Sums of 0.
    pub(super) fn clear_sums(&mut self, width: usize) {
        self.sums.clear();
        self.sums.resize(width, [0.0; L]);
    }

    /// Makes the sums next, but for zeros: what is not a number is none.
    pub(super) fn take_sums(&mut self) {
        let used = |(_, c): &(usize, &[f64; L])| c.iter().any(|c| *c != 0.0);
        self.next.extend(self.sums.iter().enumerate().filter(used).map(|(i, c)| (i, *c)));
    }

    /// Adds what is next to the terms of a value; `once` if no column stands twice in it.
    pub(super) fn give(&mut self, value: usize, width: usize, once: bool) {
        if !once || !self.a[value].is_empty() {
            self.clear_sums(width);
            for (i, c) in self.a[value].drain(..).chain(self.next.drain(..)) {
                (0..L).for_each(|l| self.sums[i][l] += c[l]);
            }
            self.take_sums();
        }
        std::mem::swap(&mut self.a[value], &mut self.next);
    }
}

impl WeightColumns {
    pub(super) fn new(w: &Matrix) -> Self {
        let row = |o: usize| {
            let weights = w.row(o).iter().filter(|w| **w != 0.0);
            (weights.clone().count() as f64, weights.map(|w| f64::from(w.abs())).sum())
        };
        let weights = (0..w.cols).flat_map(|i| (0..w.rows).map(move |o| f64::from(w.row(o)[i])));
        Self { weights: weights.collect(), rows: (0..w.rows).map(row).collect() }
    }

    /// The weights of a column.
    pub(super) fn column(&self, i: usize) -> &[f64] {
        let height = self.rows.len();
        &self.weights[i * height..][..height]
    }

    /// The weights of each column.
    fn columns(&self) -> impl Iterator<Item = &[f64]> {
        // Without rows there are no weights, either.
        self.weights.chunks_exact(self.rows.len().max(1))
    }

    /// The sums of `|w| x`, row by row, for x from 0 on.
    pub(super) fn sizes(&self, x: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.rows.len()];
        for (w, x) in self.columns().zip(x).filter(|(_, x)| **x != 0.0) {
            sums.iter_mut().zip(w).for_each(|(sum, w)| *sum += w.abs() * x);
        }
        sums
    }

    /// The least and the largest `w . x`, row by row, for x between its ends.
    pub(super) fn ends(&self, lo: &[f64], hi: &[f64]) -> Vec<(f64, f64)> {
        let (mut least, mut most) = (vec![0.0; self.rows.len()], vec![0.0; self.rows.len()]);
        for (w, (lo, hi)) in self.columns().zip(lo.iter().zip(hi)).filter(|(_, (lo, hi))| **lo != 0.0 || **hi != 0.0) {
            for ((least, most), w) in least.iter_mut().zip(&mut most).zip(w) {
                let (at_lo, at_hi) = (w * lo, w * hi);
                *least += if at_lo < at_hi { at_lo } else { at_hi };
                *most += if at_lo < at_hi { at_hi } else { at_lo };
            }
        }
        least.into_iter().zip(most).collect()
    }

    /// Appends `sum_o a_o w_oi` for each column i of those that are `live`: of the others it is known that they are 0 in every
    /// evaluation, so that their terms are 0 whatever the coefficient.
    pub(super) fn back<const L: usize>(&self, a: &[ColumnTerm<L>], live: &[usize], into: &mut Vec<ColumnTerm<L>>) {
        into.reserve(live.len());
        let (pairs, rest) = live.as_chunks::<2>();
        for [i, j] in pairs {
            let [sum, other] = two(a, self.column(*i), self.column(*j));
            into.push((*i, sum));
            into.push((*j, other));
        }
        for i in rest {
            let [sum, _] = two(a, self.column(*i), self.column(*i));
            into.push((*i, sum));
        }
    }
}

/// The sums for two columns: a processor adds to several numbers at once.
#[inline(never)]
fn two<const L: usize>(used: &[ColumnTerm<L>], w: &[f64], v: &[f64]) -> [[f64; L]; 2] {
    let (mut sum, mut other) = ([0.0; L], [0.0; L]);
    for (o, a) in used {
        let (w, v) = (w[*o], v[*o]);
        (0..L).for_each(|l| sum[l] += a[l] * w);
        (0..L).for_each(|l| other[l] += a[l] * v);
    }
    [sum, other]
}

/// The sums of `|a| charge`.
#[inline(never)]
pub(super) fn charges<const L: usize>(used: &[ColumnTerm<L>], charge: &[f64]) -> [f64; L] {
    let mut sum = [0.0; L];
    for (o, a) in used {
        let charge = charge[*o];
        (0..L).for_each(|l| sum[l] += a[l].abs() * charge);
    }
    sum
}

/// The sums of `a b`, and of their magnitudes.
#[inline(never)]
pub(super) fn biases<const L: usize>(used: &[ColumnTerm<L>], b: &[f32]) -> ([f64; L], [f64; L]) {
    let (mut sum, mut size) = ([0.0; L], [0.0; L]);
    for (o, a) in used {
        let b = f64::from(b[*o]);
        (0..L).for_each(|l| sum[l] += a[l] * b);
        (0..L).for_each(|l| size[l] += (a[l] * b).abs());
    }
    (sum, size)
}

#[cfg(test)]
mod tests;
