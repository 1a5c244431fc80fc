//! `y = W x + b`.
//!
//! Over a box m +- r the middle is `W m + b`, the radius `|W| r`: each `x_i` contributes `w_i` `m_i` +- |`w_i`| `r_i`. The radius grows by
//! the any-order float32 error of n + 1 terms, `gamma(n + 1) (|W| |x| + |b|)`, twice over to cover this computation's own rounding.
//! Columns of a category are not independent: exactly one is 1, so its share lies between its smallest and its largest weight.

use deepsade_solve::kernel::vector;

use super::{Boxed, UNIT};

/// Floats handled at a time, in each of the rows handled together.
const LANES: usize = 8;
const ROWS: usize = 4;

/// Middles and inflated radii laid out for the kernel: the last lanes overlap those before, with zeros where they do, so that no
/// row has a remainder. Fewer columns than lanes are not laid out.
#[derive(Debug, Clone, Default)]
pub(super) struct LaneLayout {
    columns: usize,
    m: Vec<[f32; LANES]>,
    r: Vec<[f32; LANES]>,
}

impl LaneLayout {
    pub(super) fn fill(&mut self, x: &Boxed) {
        let n = x.m.len();
        let kappa = kappa(n);
        self.columns = n;
        self.m.clear();
        self.m.resize(n.div_ceil(LANES), [0.0; LANES]);
        self.r.clear();
        self.r.resize(n.div_ceil(LANES), [0.0; LANES]);
        let padding = if n < LANES { 0 } else { self.m.len() * LANES - n };
        let last = self.m.len().saturating_sub(1) * LANES;
        for (k, (m, r)) in x.m.iter().zip(&x.r).enumerate() {
            let at = if k < last { k } else { k + padding };
            self.m[at / LANES][at % LANES] = *m;
            self.r[at / LANES][at % LANES] = r + kappa * (m.abs() + r);
        }
    }
}

/// The any-order error of n + 1 terms, twice over.
pub(super) fn kappa(n: usize) -> f32 {
    2.0 * (n as f32 + 3.0) * UNIT
}

pub(super) fn interval(out: &mut Boxed, lanes: &LaneLayout, w: &[f32], b: &[f32]) {
    let n = lanes.columns;
    if n < LANES {
        for i in 0..b.len() {
            let row = || w[i * n..(i + 1) * n].iter().enumerate();
            out.m[i] = row().map(|(k, w)| w * lanes.m[0][k]).sum();
            out.r[i] = row().map(|(k, w)| w.abs() * lanes.r[0][k]).sum();
        }
    } else {
        vector(
            #[inline(always)]
            || {
                let blocks = w.chunks_exact(ROWS * n);
                let rest = blocks.remainder();
                let whole = blocks.len() * ROWS;
                for (i, block) in blocks.enumerate() {
                    rows::<ROWS>(block, n, lanes, &mut out.m[i * ROWS..], &mut out.r[i * ROWS..]);
                }
                for (i, row) in rest.chunks_exact(n).enumerate() {
                    rows::<1>(row, n, lanes, &mut out.m[whole + i..], &mut out.r[whole + i..]);
                }
            },
        );
    }
    let kappa = kappa(n);
    for ((m, r), b) in out.m.iter_mut().zip(&mut out.r).zip(b) {
        *m += b;
        *r += kappa * b.abs() + f32::MIN_POSITIVE;
    }
}

/// `sum w m` and `sum |w| r` of a few rows.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled with the caller's vector instructions")]
fn rows<const R: usize>(w: &[f32], n: usize, lanes: &LaneLayout, m_out: &mut [f32], r_out: &mut [f32]) {
    let (mut sums, mut sizes) = ([[0.0f32; LANES]; R], [[0.0f32; LANES]; R]);
    for (chunk, (m, r)) in lanes.m.iter().zip(&lanes.r).enumerate() {
        let at = (chunk * LANES).min(n - LANES);
        for k in 0..R {
            let w = &w[k * n + at..][..LANES];
            for l in 0..LANES {
                sums[k][l] += w[l] * m[l];
                sizes[k][l] += w[l].abs() * r[l];
            }
        }
    }
    for k in 0..R {
        m_out[k] = add_up(sums[k]);
        r_out[k] = add_up(sizes[k]);
    }
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled with the caller's vector instructions")]
fn add_up(v: [f32; LANES]) -> f32 {
    ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]))
}

/// Adds the share of categories whose columns were left out.
pub(super) fn one_hot(out: &mut Boxed, groups: &[Vec<Option<usize>>], w: &[f32], inputs: usize) {
    for ((row, m), r) in w.chunks_exact(inputs.max(1)).zip(&mut out.m).zip(&mut out.r) {
        for group in groups {
            let (mut lo, mut hi) = (f32::INFINITY, f32::NEG_INFINITY);
            for at in group {
                let weight = at.map_or(0.0, |c| row[c]);
                lo = if weight < lo { weight } else { lo };
                hi = if weight > hi { weight } else { hi };
            }
            *m += (lo + hi) * 0.5;
            *r += (hi - lo) * 0.5 * (1.0 + 8.0 * UNIT) + 8.0 * UNIT * lo.abs().max(hi.abs());
        }
    }
}

pub(super) fn back(into: &mut [f64], coefficients: &[f64], w: &[f32]) {
    vector(
        #[inline(always)]
        || {
            for (c, row) in coefficients.iter().zip(w.chunks_exact(into.len().max(1))).filter(|(c, _)| **c != 0.0) {
                into.iter_mut().zip(row).for_each(|(i, w)| *i += c * f64::from(*w));
            }
        },
    );
}

pub(super) fn along(out: &mut Vec<f64>, x: &[f64], w: &[f32], b: &[f32]) {
    let n = x.len();
    let dot = |row: &[f32]| row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum::<f64>();
    out.extend(b.iter().enumerate().map(|(i, b)| f64::from(*b) + dot(&w[i * n..(i + 1) * n])));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Widths around multiples of the lanes, rows around multiples of the block: all give the sums of the definition.
        #[test]
        fn the_kernel_computes_the_box(n in 1usize..40, rows in 1usize..10, seed in any::<u32>()) {
            let value = |k: usize| ((seed as usize).wrapping_add(k * 7919) % 2003) as f32 / 1001.0 - 1.0;
            let x = Boxed { m: (0..n).map(value).collect(), r: (0..n).map(|k| value(k + n).abs()).collect() };
            let w: Vec<f32> = (0..n * rows).map(|k| value(k + 2 * n)).collect();
            let b: Vec<f32> = (0..rows).map(|k| value(k + 77)).collect();
            let mut out = Boxed::new(rows);
            let mut lanes = LaneLayout::default();
            lanes.fill(&x);
            interval(&mut out, &lanes, &w, &b);
            for i in 0..rows {
                let row = &w[i * n..(i + 1) * n];
                let m: f64 = row.iter().zip(&x.m).map(|(w, m)| f64::from(*w) * f64::from(*m)).sum::<f64>() + f64::from(b[i]);
                let r: f64 = row.iter().zip(&x.r).map(|(w, r)| f64::from(w.abs()) * f64::from(*r)).sum();
                prop_assert!((f64::from(out.m[i]) - m).abs() < 1e-5, "middle of row {i}");
                prop_assert!(f64::from(out.r[i]) >= r && f64::from(out.r[i]) < r * (1.0 + 1e-4) + 1e-3, "radius of row {i}");
            }
        }
    }
}
