//! Products of vectors enter; the triangular factor of their matrix leaves, and the solutions of its equations.

/// L with `L L' = G`, L a lower triangle, for a positive definite G that grows by one row and column at a time.
#[derive(Debug, Clone, Default)]
pub struct Cholesky {
    size: usize,
    /// Row after row: one number, two numbers, ...
    rows: Vec<f64>,
}

impl Cholesky {
    /// The factor of E[v v'] over rows v of `n` numbers, with a ridge on its diagonal, which is told the diagonal's mean: columns that
    /// hardly vary are not free to move.
    pub fn of_moments<V: Fn(usize) -> f64>(
        rows: impl ExactSizeIterator<Item = V>,
        n: usize,
        ridge: impl FnOnce(f64) -> f64,
    ) -> Self {
        let count = rows.len().max(1) as f64;
        let mut m = vec![0.0; n * n];
        for v in rows {
            let v: Vec<f64> = (0..n).map(v).collect();
            for (i, a) in v.iter().enumerate() {
                m[i * n..=i * n + i].iter_mut().zip(&v).for_each(|(m, b)| *m += a * b);
            }
        }
        m.iter_mut().for_each(|m| *m /= count);
        let ridge = ridge((0..n).map(|i| m[i * n + i]).sum::<f64>() / n.max(1) as f64);
        let mut factor = Self::default();
        for i in 0..n {
            factor.push(|j| m[i * n + j], m[i * n + i] + ridge, 1e-12);
        }
        factor
    }

    /// The inverse of G, row after row.
    pub fn inverse(&self) -> Vec<f64> {
        let n = self.size;
        let mut inverse: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
        inverse.chunks_exact_mut(n.max(1)).for_each(|row| self.solve(row));
        inverse
    }

    /// How many rows there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Makes room for so many rows, so that they are added without an allocation.
    pub fn reserve(&mut self, size: usize) {
        self.rows.reserve((size * (size + 1) / 2).saturating_sub(self.rows.len()));
    }

    /// Keeps the first rows.
    pub fn truncate(&mut self, size: usize) {
        self.size = self.size.min(size);
        self.rows.truncate(self.size * (self.size + 1) / 2);
    }

    /// Adds a row: `product(j)` with the j-th row so far, and `own` with itself. Returns what of `own` the rows so far leave over:
    /// nothing, up to rounding, where the new row depends on them. L's diagonal is taken from at least `floor`.
    pub fn push(&mut self, product: impl Fn(usize) -> f64, own: f64, floor: f64) -> f64 {
        let start = self.rows.len();
        self.rows.resize(start + self.size + 1, 0.0);
        let (above, row) = self.rows.split_at_mut(start);
        let mut at = 0;
        for j in 0..self.size {
            let above = &above[at..=at + j];
            row[j] = (product(j) - dot(&row[..j], &above[..j])) / above[j];
            at += j + 1;
        }
        let rest = own - dot(&row[..self.size], &row[..self.size]);
        row[self.size] = rest.max(floor).sqrt();
        self.size += 1;
        rest
    }

    /// Solves `G x = b` in place, for the first rows and columns of G: as many as b has.
    pub fn solve(&self, b: &mut [f64]) {
        self.forward(b);
        self.backward(b);
    }

    /// Solves `L x = b` in place, for as many rows.
    pub fn forward(&self, b: &mut [f64]) {
        for i in 0..b.len() {
            let row = self.row(i);
            let (known, rest) = b.split_at_mut(i);
            rest[0] = (rest[0] - dot(&row[..i], known)) / row[i];
        }
    }

    /// Solves `L' x = b` in place, for as many rows.
    pub fn backward(&self, b: &mut [f64]) {
        for i in (0..b.len()).rev() {
            let row = self.row(i);
            b[i] /= row[i];
            let (rest, known) = b.split_at_mut(i);
            rest.iter_mut().zip(row).for_each(|(b, l)| *b -= l * known[0]);
        }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * (i + 1) / 2..][..=i]
    }
}

/// The product of two vectors, in order: few numbers, and the same bytes whatever the machine's vectors are.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::Cholesky;

    /// 4 2 2; 2 5 3; 2 3 6 is L L' with L = 2; 1 2; 1 1 2.
    #[test]
    fn a_factor_known_by_hand() {
        let g = [[4.0, 2.0, 2.0], [2.0, 5.0, 3.0], [2.0, 3.0, 6.0]];
        let mut factor = Cholesky::default();
        let left: Vec<f64> = (0..3).map(|i| factor.push(|j| g[i][j], g[i][i], 0.0)).collect();
        assert_eq!(left, [4.0, 4.0, 4.0]);
        assert_eq!(factor.rows, [2.0, 1.0, 2.0, 1.0, 1.0, 2.0]);
        let mut x = [8.0, 10.0, 11.0];
        factor.solve(&mut x);
        assert_eq!(x, [1.0, 1.0, 1.0]);
        // The last row again, and one that depends on it.
        // The first two rows alone.
        let mut x = [6.0, 7.0];
        factor.solve(&mut x);
        assert_eq!(x, [1.0, 1.0]);
        factor.truncate(2);
        assert_eq!(factor.push(|j| g[2][j], g[2][2], 0.0), 4.0);
        assert_eq!(factor.push(|j| g[2][j], g[2][2], 0.0), 0.0);
        assert_eq!(factor.size(), 4);
    }

    #[test]
    fn moments_and_their_inverse_by_hand() {
        // Rows (1, 2) and (3, 0): E[v v'] = 5 1; 1 2, with a mean of 3.5 on its diagonal.
        let rows = [[1.0, 2.0], [3.0, 0.0]];
        let factor = Cholesky::of_moments(rows.iter().map(|v| |k: usize| v[k]), 2, |mean| mean - 2.5);
        // 6 1; 1 3 has determinant 17.
        let expected = [3.0 / 17.0, -1.0 / 17.0, -1.0 / 17.0, 6.0 / 17.0];
        assert!(factor.inverse().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{:?}", factor.inverse());
    }

    #[test]
    fn the_two_halves_of_a_solution() {
        let mut factor = Cholesky::default();
        factor.push(|_| 0.0, 4.0, 0.0);
        factor.push(|_| 2.0, 5.0, 0.0);
        let (mut down, mut up) = ([2.0, 5.0], [4.0, 2.0]);
        factor.forward(&mut down);
        factor.backward(&mut up);
        assert_eq!((down, up), ([1.0, 2.0], [1.5, 1.0]));
    }
}
