//! The weights of a layer and a vector enter; their products leave, in float64, worked on as whole vectors of the processor.

use deepsade_solve::kernel::vector;

/// Sums kept side by side: a processor adds to several at once.
const LANES: usize = 8;

/// `out = w x + b`, after what `out` holds; w row by row.
pub(super) fn times(w: &[f64], b: &[f64], x: &[f64], out: &mut Vec<f64>) {
    let cols = x.len();
    if cols == 0 {
        return out.extend(b);
    }
    vector(
        #[inline(always)]
        || out.extend(w.chunks_exact(cols).zip(b).map(|(row, b)| dot(row, x) + b)),
    );
}

/// The sums of `|w| x`, row by row.
pub(super) fn sizes(w: &[f64], x: &[f64]) -> Vec<f64> {
    if x.is_empty() {
        return Vec::new();
    }
    vector(
        #[inline(always)]
        || w.chunks_exact(x.len()).map(|row| dot_of(row, x, f64::abs)).collect(),
    )
}

/// `into += a' w`.
pub(super) fn back(w: &[f64], a: &[f64], into: &mut [f64]) {
    let cols = into.len();
    if cols == 0 {
        return;
    }
    vector(
        #[inline(always)]
        || {
            for (a, row) in a.iter().zip(w.chunks_exact(cols)).filter(|(a, _)| **a != 0.0) {
                into.iter_mut().zip(row).for_each(|(i, w)| *i += a * w);
            }
        },
    );
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled with the caller's vector instructions")]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    dot_of(a, b, |a| a)
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled with the caller's vector instructions")]
fn dot_of(a: &[f64], b: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        (0..LANES).for_each(|l| sums[l] += of(a[l]) * b[l]);
    }
    sums.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| of(*a) * b).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_whole_numbers_are_exact_at_every_width() {
        for cols in 0..20usize {
            let w: Vec<f64> = (0..3 * cols).map(|k| k as f64 - 7.0).collect();
            let x: Vec<f64> = (0..cols).map(|k| (k * k) as f64).collect();
            let mut out = Vec::new();
            times(&w, &[1.0, 2.0, 3.0], &x, &mut out);
            let plain = |o: usize| (0..cols).map(|i| w[o * cols + i] * x[i]).sum::<f64>() + (o + 1) as f64;
            assert_eq!(out, [plain(0), plain(1), plain(2)]);
            let sizes = sizes(&w, &x);
            assert!(sizes.iter().enumerate().all(|(o, s)| *s == (0..cols).map(|i| w[o * cols + i].abs() * x[i]).sum::<f64>()));
            let mut into = vec![1.0; cols];
            back(&w, &[2.0, 0.0, -1.0], &mut into);
            let column = |i: usize| 1.0 + 2.0 * w[i] - w[2 * cols + i];
            assert_eq!(into, (0..cols).map(column).collect::<Vec<_>>());
        }
    }
}
