//! Rows of numbers enter; the mixture of columns whose largest row is smallest leaves: a matrix game, hence a linear program.
//!
//! With every number made positive by a shift, `min t, A l <= t, sum l = 1, l >= 0` becomes `max sum x, A x <= 1, x >= 0` with
//! l = x / sum x: feasible at 0, and a new row is one more step of the dual simplex method.

/// Numbers below this count as zero.
const TINY: f64 = 1e-12;

/// A game that grows by rows.
#[derive(Debug, Clone, Default)]
pub struct Game {
    columns: usize,
    shift: f64,
    /// Basic variables in terms of the others: `basic = value - sum of row * other`. Variables below `columns` are x, then slacks.
    rows: Vec<Vec<f64>>,
    values: Vec<f64>,
    basic: Vec<usize>,
    others: Vec<usize>,
    /// What each of the others would add to the sum of x: not positive once it is largest.
    gains: Vec<f64>,
}

impl Game {
    /// A game without rows; no number of a row may be below -`shift`.
    pub fn new(columns: usize, shift: f64) -> Self {
        let shift = shift * (1.0 + 1e-6) + f64::MIN_POSITIVE;
        Self { columns, shift, others: (0..columns).collect(), gains: vec![1.0; columns], ..Self::default() }
    }

    /// Adds a row and finds the best mixture again; false if numbers fail.
    pub fn add(&mut self, row: &[f64]) -> bool {
        let mut fresh = vec![0.0; self.columns];
        let mut value = 1.0;
        for (k, a) in row.iter().enumerate() {
            // In units of the shift, so that numbers are of size 1.
            let a = a / self.shift + 1.0;
            if let Some(c) = self.others.iter().position(|o| *o == k) {
                fresh[c] += a;
            } else if let Some(r) = self.basic.iter().position(|b| *b == k) {
                value -= a * self.values[r];
                fresh.iter_mut().zip(&self.rows[r]).for_each(|(f, t)| *f -= a * t);
            }
        }
        self.basic.push(self.columns + self.rows.len());
        self.rows.push(fresh);
        self.values.push(value);
        // The first row makes the sum finite; then the sum stays largest and rows are repaired.
        if self.rows.len() == 1 { self.climb() } else { self.repair() }
    }

    /// The mixture, and its largest row so far.
    pub fn mixture(&self) -> (Vec<f64>, f64) {
        let mut x = vec![0.0; self.columns];
        for (b, v) in self.basic.iter().zip(&self.values).filter(|(b, _)| **b < self.columns) {
            x[*b] = v.max(0.0);
        }
        let sum: f64 = x.iter().sum();
        x.iter_mut().for_each(|x| *x /= sum);
        (x, (1.0 / sum - 1.0) * self.shift)
    }

    /// Primal simplex steps: the other variable that gains most enters.
    fn climb(&mut self) -> bool {
        for step in 0..50 * (self.columns + self.rows.len()) {
            let gaining = (0..self.columns).filter(|c| self.gains[*c] > TINY);
            let entering = if step < 20 * self.columns {
                gaining.max_by(|a, b| self.gains[*a].total_cmp(&self.gains[*b]))
            } else {
                gaining.min_by_key(|c| self.others[*c])
            };
            let Some(c) = entering else { return true };
            let ratio = |r: &usize| self.values[*r].max(0.0) / self.rows[*r][c];
            let leaving = (0..self.rows.len())
                .filter(|r| self.rows[*r][c] > TINY)
                .min_by(|a, b| ratio(a).total_cmp(&ratio(b)).then(self.basic[*a].cmp(&self.basic[*b])));
            let Some(r) = leaving else { return false };
            self.pivot(r, c);
        }
        false
    }

    /// Dual simplex steps: the row that is broken most leaves.
    fn repair(&mut self) -> bool {
        for _ in 0..50 * (self.columns + self.rows.len()) {
            let broken = (0..self.rows.len()).filter(|r| self.values[*r] < -TINY);
            let Some(r) = broken.min_by(|a, b| self.values[*a].total_cmp(&self.values[*b])) else { return true };
            let ratio = |c: &usize| self.gains[*c].min(0.0) / self.rows[r][*c];
            let entering = (0..self.columns)
                .filter(|c| self.rows[r][*c] < -TINY)
                .min_by(|a, b| ratio(a).total_cmp(&ratio(b)).then(self.others[*a].cmp(&self.others[*b])));
            let Some(c) = entering else { return false };
            self.pivot(r, c);
        }
        false
    }

    /// Exchanges a basic variable and another one.
    fn pivot(&mut self, r: usize, c: usize) {
        let pivot = 1.0 / self.rows[r][c];
        self.rows[r].iter_mut().for_each(|t| *t *= pivot);
        self.rows[r][c] = pivot;
        self.values[r] *= pivot;
        let row = self.rows[r].clone();
        for k in (0..self.rows.len()).filter(|k| *k != r) {
            let factor = self.rows[k][c];
            if factor != 0.0 {
                self.values[k] -= factor * self.values[r];
                self.rows[k][c] = 0.0;
                self.rows[k].iter_mut().zip(&row).for_each(|(t, p)| *t -= factor * p);
            }
        }
        let gain = self.gains[c];
        self.gains[c] = 0.0;
        self.gains.iter_mut().zip(&row).for_each(|(g, p)| *g -= gain * p);
        std::mem::swap(&mut self.basic[r], &mut self.others[c]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Game;

    fn solve(rows: &[Vec<f64>]) -> (Vec<f64>, f64) {
        let most = rows.iter().flatten().fold(0.0f64, |m, a| m.max(a.abs()));
        let mut game = Game::new(rows[0].len(), most);
        rows.iter().for_each(|row| assert!(game.add(row), "simplex steps end"));
        game.mixture()
    }

    /// Matching pennies: half of each, value 0. Rock, paper, scissors: a third of each.
    #[test]
    fn known_games() {
        let (l, t) = solve(&[vec![1.0, -1.0], vec![-1.0, 1.0]]);
        assert!((l[0] - 0.5).abs() < 1e-9 && t.abs() < 1e-9, "{l:?} {t}");
        let (l, t) = solve(&[vec![0.0, 1.0, -1.0], vec![-1.0, 0.0, 1.0], vec![1.0, -1.0, 0.0]]);
        assert!(l.iter().all(|l| (l - 1.0 / 3.0).abs() < 1e-9) && t.abs() < 1e-9, "{l:?} {t}");
    }

    proptest! {
        /// Against every mixture of three columns on a fine grid.
        #[test]
        fn no_mixture_is_better(numbers in prop::collection::vec(-5.0f64..5.0, 3..30)) {
            let rows: Vec<Vec<f64>> = numbers.chunks_exact(3).map(<[f64]>::to_vec).collect();
            let worst = |l: &[f64]| rows.iter().map(|r| r.iter().zip(l).map(|(a, l)| a * l).sum()).fold(f64::MIN, f64::max);
            let (l, t) = solve(&rows);
            prop_assert!((l.iter().sum::<f64>() - 1.0).abs() < 1e-9 && l.iter().all(|l| *l >= 0.0));
            prop_assert!((worst(&l) - t).abs() < 1e-7, "{} is not the stated {t}", worst(&l));
            for i in 0..=40 {
                for k in 0..=40 - i {
                    let grid = [f64::from(i) / 40.0, f64::from(k) / 40.0, f64::from(40 - i - k) / 40.0];
                    prop_assert!(worst(&grid) >= t - 1e-7, "{grid:?} gives {}, less than {t}", worst(&grid));
                }
            }
        }
    }
}
