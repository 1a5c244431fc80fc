//! Linear programs over boxes: costs, bounds and rows enter one after the other; the least cost and where it is taken leave.
//!
//! A dual simplex method with bounded variables on a dense dictionary. Every variable has two ends, so the one on the cheaper
//! side of its bounds is dual feasible from the start, and stays so when bounds change or rows are added: each solve goes on from
//! the basis of the one before, whichever node of a search that was.

/// Least violation of a bound that is worked on.
const FEASIBLE: f64 = 1e-9;
/// Least pivot.
const PIVOT: f64 = 1e-9;
/// Pivots after which the dictionary is computed anew from the rows.
const REFRESH: usize = 150;

/// How a solve ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// At the least cost.
    Optimal,
    /// No values satisfy all rows within the bounds.
    Infeasible,
    /// Too many pivots.
    Limit,
}

/// A linear program with its present dictionary: `basic = t * nonbasic + k`.
///
/// ```
/// use deepsade_solve::simplex::{Simplex, Status};
///
/// // The least x + 2 y with x + y >= 3, x and y from 0 to 2.
/// let mut program = Simplex::new(vec![1.0, 2.0], vec![0.0; 2], vec![2.0; 2]);
/// program.add_row(&[(0, 1.0), (1, 1.0)], -3.0);
/// assert_eq!(program.solve(100), Status::Optimal);
/// assert_eq!((program.value(0), program.value(1), program.objective()), (2.0, 1.0, 4.0));
/// program.add_row(&[(0, -1.0), (1, -1.0)], 2.0);
/// assert_eq!(program.solve(100), Status::Infeasible);
/// ```
#[derive(Debug, Clone)]
pub struct Simplex {
    /// Unknowns; variables from here on are the slacks of rows.
    n: usize,
    cost: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// The rows, `a . x + c >= 0`, scaled; in the order of their slacks.
    rows: Vec<(Vec<f64>, f64)>,
    /// What each row was divided by.
    scale: Vec<f64>,
    /// Which variable each dictionary row and column stands for.
    basic: Vec<usize>,
    nonbasic: Vec<usize>,
    /// Where each variable is: a row, or `usize::MAX - column`.
    place: Vec<usize>,
    t: Vec<Vec<f64>>,
    k: Vec<f64>,
    /// Reduced costs of the columns.
    d: Vec<f64>,
    at_upper: Vec<bool>,
    /// Values of the rows' variables.
    beta: Vec<f64>,
    pivots: usize,
}

impl Simplex {
    /// Minimises `cost . x` for x between `lo` and `hi`.
    pub fn new(cost: Vec<f64>, lo: Vec<f64>, hi: Vec<f64>) -> Self {
        let n = cost.len();
        let at_upper = cost.iter().map(|c| *c < 0.0).collect();
        Self {
            n,
            d: cost.clone(),
            cost,
            lo,
            hi,
            rows: Vec::new(),
            scale: Vec::new(),
            basic: Vec::new(),
            nonbasic: (0..n).collect(),
            place: (0..n).map(|c| usize::MAX - c).collect(),
            t: Vec::new(),
            k: Vec::new(),
            at_upper,
            beta: Vec::new(),
            pivots: 0,
        }
    }

    fn column(&self, var: usize) -> Option<usize> {
        let c = usize::MAX - self.place[var];
        (c < self.n).then_some(c)
    }

    fn at(&self, c: usize) -> f64 {
        let var = self.nonbasic[c];
        if self.at_upper[c] { self.hi[var] } else { self.lo[var] }
    }

    /// The value of an unknown.
    pub fn value(&self, var: usize) -> f64 {
        match self.column(var) {
            Some(c) => self.at(c),
            None => self.beta[self.place[var]].clamp(self.lo[var], self.hi[var]),
        }
    }

    /// The present cost.
    pub fn objective(&self) -> f64 {
        (0..self.n).map(|v| self.cost[v] * self.value(v)).sum()
    }

    /// Weights w >= 0 of the rows, in their order: `cost . x - sum w_j (a_j . x + c_j)` is nowhere in the box below its value here.
    pub fn weights(&self) -> Vec<f64> {
        self.of_rows(|slack| self.column(slack).map_or(0.0, |c| self.d[c]))
    }

    /// Where no values satisfy all rows: weights >= 0 with which the sum of the rows is below zero in the whole box.
    pub fn ray(&self) -> Vec<f64> {
        let Some((r, below)) = self.worst() else { return vec![0.0; self.rows.len()] };
        let sign = if below { -1.0 } else { 1.0 };
        let own = |slack: usize| if self.basic[r] == slack { 1.0 } else { 0.0 };
        self.of_rows(|slack| self.column(slack).map_or_else(|| own(slack), |c| sign * self.t[r][c]))
    }

    /// What each row has, by its slack, in units of the row as it was given.
    fn of_rows(&self, value: impl Fn(usize) -> f64) -> Vec<f64> {
        self.scale.iter().enumerate().map(|(r, scale)| value(self.n + r).max(0.0) / scale).collect()
    }

    /// Adds `a . x + c >= 0`.
    pub fn add_row(&mut self, a: &[(usize, f64)], c: f64) {
        let most = a.iter().map(|(_, a)| a.abs()).fold(0.0, f64::max);
        // A row without an unknown is true or false by its sign.
        let scale = if most > 0.0 { most } else { c.abs() }.max(1e-300);
        let mut dense = vec![0.0; self.n];
        a.iter().for_each(|(v, a)| dense[*v] += a / scale);
        let slack = self.n + self.rows.len();
        self.rows.push((dense, c / scale));
        self.scale.push(scale);
        self.lo.push(0.0);
        self.hi.push(f64::INFINITY);
        self.place.push(self.basic.len());
        self.basic.push(slack);
        self.dictionary_row(slack - self.n);
    }

    /// Appends row r in terms of the present columns.
    fn dictionary_row(&mut self, r: usize) {
        let (dense, c) = &self.rows[r];
        let (mut t, mut k) = (vec![0.0; self.n], *c);
        for (v, a) in dense.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            if let Some(column) = self.column(v) {
                t[column] += a;
            } else {
                let row = self.place[v];
                t.iter_mut().zip(&self.t[row]).for_each(|(t, u)| *t += a * u);
                k += a * self.k[row];
            }
        }
        self.beta.push(k + t.iter().enumerate().filter(|(_, t)| **t != 0.0).map(|(c, t)| t * self.at(c)).sum::<f64>());
        self.t.push(t);
        self.k.push(k);
    }

    /// The bounds of an unknown.
    pub fn bounds(&self, var: usize) -> (f64, f64) {
        (self.lo[var], self.hi[var])
    }

    /// Changes the bounds of an unknown.
    pub fn set_bounds(&mut self, var: usize, lo: f64, hi: f64) {
        if self.lo[var] == lo && self.hi[var] == hi {
            return;
        }
        let column = self.column(var);
        let before = column.map(|c| self.at(c));
        (self.lo[var], self.hi[var]) = (lo, hi);
        if let (Some(c), Some(before)) = (column, before) {
            // The cheaper side keeps the dictionary dual feasible.
            if self.d[c] != 0.0 {
                self.at_upper[c] = self.d[c] < 0.0;
            }
            let by = self.at(c) - before;
            self.shift(c, by);
        }
    }

    fn shift(&mut self, c: usize, by: f64) {
        if by != 0.0 {
            self.beta.iter_mut().zip(&self.t).for_each(|(b, t)| *b += t[c] * by);
        }
    }

    /// Goes to the least cost, in at most `limit` pivots.
    pub fn solve(&mut self, limit: usize) -> Status {
        for _ in 0..limit {
            if self.pivots >= REFRESH {
                self.refresh();
            }
            let Some((r, below)) = self.worst() else { return Status::Optimal };
            let Some(c) = self.entering(r, below) else {
                // A verdict is drawn from a fresh dictionary only.
                if self.pivots > 0 {
                    self.refresh();
                    continue;
                }
                return Status::Infeasible;
            };
            let var = self.basic[r];
            let goal = if below { self.lo[var] } else { self.hi[var] };
            let step = (goal - self.beta[r]) / self.t[r][c];
            let value = self.at(c) + step;
            self.shift(c, step);
            self.pivot(r, c);
            self.beta[r] = value;
            self.at_upper[c] = !below;
        }
        Status::Limit
    }

    /// The row that violates its bounds most, and whether from below.
    fn worst(&self) -> Option<(usize, bool)> {
        let mut worst = (FEASIBLE, None);
        for (r, (beta, var)) in self.beta.iter().zip(&self.basic).enumerate() {
            let (below, above) = (self.lo[*var] - beta, beta - self.hi[*var]);
            let scale = 1.0 + self.k[r].abs();
            if below / scale > worst.0 {
                worst = (below / scale, Some((r, true)));
            }
            if above / scale > worst.0 {
                worst = (above / scale, Some((r, false)));
            }
        }
        worst.1
    }

    /// The column whose variable enters, after those before it in the ratio test have been moved to their other end; `None` if
    /// all of them together do not bring the row to its bound.
    fn entering(&mut self, r: usize, below: bool) -> Option<usize> {
        let sign = if below { 1.0 } else { -1.0 };
        let var = self.basic[r];
        let mut left = if below { self.lo[var] - self.beta[r] } else { self.beta[r] - self.hi[var] };
        let mut candidates: Vec<(f64, f64, usize)> = Vec::new();
        for (c, t) in self.t[r].iter().enumerate() {
            let (a, v) = (sign * t, self.nonbasic[c]);
            let helps = if self.at_upper[c] { a < -PIVOT } else { a > PIVOT };
            if helps && self.hi[v] > self.lo[v] {
                candidates.push((self.d[c].abs() / a.abs(), a.abs(), c));
            }
        }
        candidates.sort_by(|x, y| x.0.total_cmp(&y.0).then(y.1.total_cmp(&x.1)).then(x.2.cmp(&y.2)));
        let mut flips = Vec::new();
        for (_, a, c) in candidates {
            let v = self.nonbasic[c];
            let reach = a * (self.hi[v] - self.lo[v]);
            if reach >= left {
                for c in flips {
                    let before = self.at(c);
                    self.at_upper[c] = !self.at_upper[c];
                    let by = self.at(c) - before;
                    self.shift(c, by);
                }
                return Some(c);
            }
            left -= reach;
            flips.push(c);
        }
        None
    }

    /// Exchanges the variable of row r with that of column c in the dictionary; values are the caller's.
    fn pivot(&mut self, r: usize, c: usize) {
        self.pivots += 1;
        let mut row = std::mem::take(&mut self.t[r]);
        let p = 1.0 / row[c];
        row.iter_mut().for_each(|t| *t *= -p);
        row[c] = p;
        let k = -self.k[r] * p;
        for (i, t) in self.t.iter_mut().enumerate().filter(|(i, _)| *i != r) {
            let f = t[c];
            if f != 0.0 {
                t[c] = 0.0;
                t.iter_mut().zip(&row).for_each(|(t, u)| *t += f * u);
                self.k[i] += f * k;
            }
        }
        let f = self.d[c];
        self.d[c] = 0.0;
        self.d.iter_mut().zip(&row).for_each(|(d, u)| *d += f * u);
        self.t[r] = row;
        self.k[r] = k;
        let (leaving, entering) = (self.basic[r], self.nonbasic[c]);
        (self.basic[r], self.nonbasic[c]) = (entering, leaving);
        (self.place[leaving], self.place[entering]) = (usize::MAX - c, r);
    }

    /// Computes the dictionary anew from the rows, with the same variables in it.
    fn refresh(&mut self) {
        let wanted: Vec<usize> = self.basic.iter().copied().filter(|v| *v < self.n).collect();
        let mut outside: Vec<bool> = vec![false; self.place.len()];
        self.nonbasic.iter().for_each(|v| outside[*v] = true);
        let upper: Vec<usize> = (0..self.n).filter(|c| self.at_upper[*c]).map(|c| self.nonbasic[c]).collect();
        self.nonbasic = (0..self.n).collect();
        self.basic = (self.n..self.n + self.rows.len()).collect();
        self.place = (0..self.n).map(|c| usize::MAX - c).chain(0..self.rows.len()).collect();
        self.t = self.rows.iter().map(|(a, _)| a.clone()).collect();
        self.k = self.rows.iter().map(|(_, c)| *c).collect();
        self.d.copy_from_slice(&self.cost);
        for var in wanted {
            let Some(c) = self.column(var) else { continue };
            // A slack that is to leave, and whose row has the largest pivot.
            let free = (0..self.basic.len()).filter(|r| outside[self.basic[*r]]);
            let Some(r) = free.max_by(|a, b| self.t[*a][c].abs().total_cmp(&self.t[*b][c].abs())) else { continue };
            if self.t[r][c].abs() > PIVOT {
                self.pivot(r, c);
            }
        }
        self.pivots = 0;
        let mut is_upper = vec![false; self.place.len()];
        upper.iter().for_each(|v| is_upper[*v] = true);
        for c in 0..self.n {
            let var = self.nonbasic[c];
            self.at_upper[c] = if self.d[c].abs() > 1e-12 { self.d[c] < 0.0 } else { is_upper[var] } && self.hi[var].is_finite();
        }
        let at: Vec<f64> = (0..self.n).map(|c| self.at(c)).collect();
        self.beta = self.t.iter().zip(&self.k).map(|(t, k)| k + t.iter().zip(&at).map(|(t, x)| t * x).sum::<f64>()).collect();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Simplex, Status};

    /// min -x - 2y, x + y <= 3, x - y >= -1, x and y in [0, 2]: at (1, 2), cost -5.
    #[test]
    fn a_program_solved_by_hand() {
        let mut lp = Simplex::new(vec![-1.0, -2.0], vec![0.0; 2], vec![2.0; 2]);
        lp.add_row(&[(0, -1.0), (1, -1.0)], 3.0);
        lp.add_row(&[(0, 1.0), (1, -1.0)], 1.0);
        assert_eq!(lp.solve(100), Status::Optimal);
        assert!((lp.value(0) - 1.0).abs() < 1e-9 && (lp.value(1) - 2.0).abs() < 1e-9, "{} {}", lp.value(0), lp.value(1));
        // y fixed to 0: x = 2.
        lp.set_bounds(1, 0.0, 0.0);
        assert_eq!(lp.solve(100), Status::Optimal);
        assert!((lp.objective() + 2.0).abs() < 1e-9);
        // and back again.
        lp.set_bounds(1, 0.0, 2.0);
        assert_eq!(lp.solve(100), Status::Optimal);
        assert!((lp.objective() + 5.0).abs() < 1e-9);
        lp.add_row(&[(0, -1.0), (1, -1.0)], -1.0);
        assert_eq!(lp.solve(100), Status::Infeasible);
    }

    proptest! {
        /// In the plane the optimum is a corner: brute force over pairs of lines.
        #[test]
        fn it_agrees_with_all_corners(
            cost in prop::array::uniform2(-2.0f64..2.0),
            rows in prop::collection::vec((-2.0f64..2.0, -2.0f64..2.0, -1.0f64..1.5), 0..7),
            fixed in 0usize..3,
        ) {
            let mut lp = Simplex::new(cost.to_vec(), vec![-1.0; 2], vec![1.0; 2]);
            let mut lines = vec![(1.0, 0.0, 1.0), (-1.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.0, -1.0, 1.0)];
            for (a, b, c) in &rows {
                lp.add_row(&[(0, *a), (1, *b)], *c);
                // Solved after each row, as cuts are added.
                lp.solve(1000);
                lines.push((*a, *b, *c));
            }
            if fixed < 2 {
                // There and back.
                lp.set_bounds(fixed, 0.5, 0.5);
                lp.solve(1000);
                lp.set_bounds(fixed, -1.0, 1.0);
            }
            let mut best: Option<f64> = None;
            for (i, p) in lines.iter().enumerate() {
                for q in &lines[i + 1..] {
                    let det = p.0 * q.1 - p.1 * q.0;
                    if det.abs() < 1e-9 { continue; }
                    let x = (p.1 * q.2 - p.2 * q.1) / det;
                    let y = (p.2 * q.0 - p.0 * q.2) / det;
                    if lines.iter().all(|l| l.0 * x + l.1 * y + l.2 >= -1e-7) {
                        let value = cost[0] * x + cost[1] * y;
                        best = Some(best.map_or(value, |b: f64| b.min(value)));
                    }
                }
            }
            let status = lp.solve(1000);
            match best {
                None => prop_assert_eq!(status, Status::Infeasible),
                Some(best) => {
                    prop_assert_eq!(status, Status::Optimal);
                    prop_assert!((lp.objective() - best).abs() < 1e-5, "{} {}", lp.objective(), best);
                }
            }
        }
    }
}
