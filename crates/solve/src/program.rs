//! A linear objective and linear conditions on a box enter; the weights of the conditions that bound the objective best leave.
//!
//! With `c . x` to be bounded from above where `g_j . x + h_j >= 0` and l <= x <= u, every w >= 0 gives the bound
//! `sum w_j h_j + max over the box of (c + sum w_j g_j) . x`. Its least value is a linear program in w with one row for each column of x,
//! solved by the simplex method from w = 0.

/// A condition `g . x + h >= 0`.
#[derive(Debug, Clone)]
pub struct Condition {
    /// One number a column.
    pub g: Vec<f64>,
    /// The offset.
    pub h: f64,
}

/// Exchanges before the weights are taken as they are.
const EXCHANGES: usize = 400;
/// How far to go where the bound falls without end: no x meets the conditions.
const FAR: f64 = 1e6;

/// The weights.
pub fn weights(c: &[f64], conditions: &[Condition], lo: &[f64], hi: &[f64]) -> Vec<f64> {
    let (n, m) = (c.len(), conditions.len());
    // Columns: the weights, then p and q with p - q = c + sum w g, which cost u and -l.
    let cost = |k: usize| match k {
        k if k < m => conditions[k].h,
        k if k < m + n => hi[k - m],
        k => -lo[k - m - n],
    };
    let column = |k: usize, i: usize| match k {
        k if k < m => -conditions[k].g[i],
        k if k < m + n => f64::from(u8::from(k - m == i)),
        k => -f64::from(u8::from(k - m - n == i)),
    };
    let mut basis: Vec<usize> = (0..n).map(|i| if c[i] >= 0.0 { m + i } else { m + n + i }).collect();
    // The inverse of the basis, row by row, and the basic values.
    let sign = |i: usize| if c[i] >= 0.0 { 1.0 } else { -1.0 };
    let mut inverse: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| if i == j { sign(i) } else { 0.0 }).collect()).collect();
    let mut values: Vec<f64> = c.iter().map(|c| c.abs()).collect();
    let read = |basis: &[usize], values: &[f64]| {
        let mut w = vec![0.0; m];
        basis.iter().zip(values).filter(|(k, _)| **k < m).for_each(|(k, v)| w[*k] = v.max(0.0));
        w
    };
    for exchange in 0..EXCHANGES {
        let prices: Vec<f64> = (0..n).map(|j| (0..n).map(|i| cost(basis[i]) * inverse[i][j]).sum()).collect();
        let reduced = |k: usize| cost(k) - (0..n).map(|j| prices[j] * column(k, j)).sum::<f64>();
        let tolerance = |k: usize| 1e-10 * (1.0 + cost(k).abs());
        let candidates =
            (0..m + 2 * n).filter(|k| !basis.contains(k)).map(|k| (reduced(k), k)).filter(|(r, k)| *r < -tolerance(*k));
        // The first one towards the end: then no circle is possible.
        let entering =
            if exchange < EXCHANGES / 2 { candidates.min_by(|a, b| a.0.total_cmp(&b.0)) } else { candidates.min_by_key(|c| c.1) };
        let Some((_, k)) = entering else { break };
        let direction: Vec<f64> = (0..n).map(|i| (0..n).map(|j| inverse[i][j] * column(k, j)).sum()).collect();
        let leaving = (0..n)
            .filter(|i| direction[*i] > 1e-11)
            .map(|i| (values[i].max(0.0) / direction[i], i))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(basis[a.1].cmp(&basis[b.1])));
        let Some((step, row)) = leaving else {
            let far = FAR * (1.0 + values.iter().fold(0.0f64, |m, v| m.max(v.abs())));
            let moved: Vec<f64> = values.iter().zip(&direction).map(|(v, d)| v - far * d).collect();
            let mut w = read(&basis, &moved);
            if k < m {
                w[k] = far;
            }
            return w;
        };
        values.iter_mut().zip(&direction).for_each(|(v, d)| *v -= step * d);
        values[row] = step;
        basis[row] = k;
        let pivot = direction[row];
        inverse[row].iter_mut().for_each(|v| *v /= pivot);
        let pivot_row = inverse[row].clone();
        for i in (0..n).filter(|i| *i != row) {
            inverse[i].iter_mut().zip(&pivot_row).for_each(|(v, p)| *v -= direction[i] * p);
        }
    }
    read(&basis, &values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(c: &[f64], conditions: &[Condition], lo: &[f64], hi: &[f64]) -> f64 {
        let w = weights(c, conditions, lo, hi);
        let constant: f64 = w.iter().zip(conditions).map(|(w, k)| w * k.h).sum();
        let total = |i: usize| c[i] + w.iter().zip(conditions).map(|(w, k)| w * k.g[i]).sum::<f64>();
        constant + (0..c.len()).map(|i| (total(i) * lo[i]).max(total(i) * hi[i])).sum::<f64>()
    }

    #[test]
    fn the_bound_is_the_maximum() {
        // x + y where x + 2 y <= 1 on [-1, 1]^2: at (1, 0).
        let one = Condition { g: vec![-1.0, -2.0], h: 1.0 };
        assert!((bound(&[1.0, 1.0], std::slice::from_ref(&one), &[-1.0; 2], &[1.0; 2]) - 1.0).abs() < 1e-9);
        // And y >= x: at (1/3, 1/3).
        let two = Condition { g: vec![-1.0, 1.0], h: 0.0 };
        assert!((bound(&[1.0, 1.0], &[one.clone(), two], &[-1.0; 2], &[1.0; 2]) - 2.0 / 3.0).abs() < 1e-9);
        // And x >= 3: nowhere.
        let three = Condition { g: vec![1.0, 0.0], h: -3.0 };
        assert!(bound(&[1.0, 1.0], &[one, three], &[-1.0; 2], &[1.0; 2]) < -1e3);
        assert_eq!(bound(&[1.0, -1.0], &[], &[-1.0; 2], &[1.0; 2]), 2.0);
    }
}
