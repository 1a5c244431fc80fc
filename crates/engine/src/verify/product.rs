//! The weights of a layer and a vector enter; their products leave, in float64, worked on as whole vectors of the processor.

use deepsade_solve::kernel::vector;

/// Sums kept side by side: a processor adds to several at once.
pub(super) const LANES: usize = 8;
/// Forms side by side: a number of each.
pub(super) type Lanes = [f64; LANES];
/// Columns whose sums stay in the processor's registers at once.
const BLOCK: usize = 4;

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

/// The least and the largest `w x` for x between the ends, row by row.
pub(super) fn ends(w: &[f64], lo: &[f64], hi: &[f64], least: &mut [f64], most: &mut [f64]) {
    let cols = lo.len();
    if cols == 0 {
        least.fill(0.0);
        return most.fill(0.0);
    }
    vector(
        #[inline(always)]
        || {
            for (row, (least, most)) in w.chunks_exact(cols).zip(least.iter_mut().zip(most)) {
                let pick = |w: f64, lo: f64, hi: f64| w * if w < 0.0 { lo } else { hi };
                let ((w, w_rest), (lo, lo_rest), (hi, hi_rest)) =
                    (row.as_chunks::<LANES>(), lo.as_chunks::<LANES>(), hi.as_chunks::<LANES>());
                let mut sums: [Lanes; 2] = [[0.0; LANES]; 2];
                for (w, (lo, hi)) in w.iter().zip(lo.iter().zip(hi)) {
                    for l in 0..LANES {
                        sums[0][l] += pick(w[l], hi[l], lo[l]);
                        sums[1][l] += pick(w[l], lo[l], hi[l]);
                    }
                }
                let rest = |from: &[f64], to: &[f64]| {
                    w_rest.iter().zip(from.iter().zip(to)).map(|(w, (lo, hi))| pick(*w, *lo, *hi)).sum::<f64>()
                };
                *least = sums[0].iter().sum::<f64>() + rest(hi_rest, lo_rest);
                *most = sums[1].iter().sum::<f64>() + rest(lo_rest, hi_rest);
            }
        },
    );
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

/// Rows as columns: what `back_lanes` reads.
pub(super) fn transposed(w: &[f64], cols: usize) -> Vec<f64> {
    (0..cols).flat_map(|i| w.iter().skip(i).step_by(cols.max(1)).copied()).collect()
}

/// Memory of [`back_lanes`].
#[derive(Debug, Clone, Default)]
pub(super) struct BackScratch {
    rows: Vec<usize>,
    coefficients: Vec<Lanes>,
    columns: Vec<usize>,
}

/// `into += a' w` for eight forms side by side, w column by column, in the columns that are `alive`.
///
/// Column by column, so that sums stay in registers: row by row every product would be read from memory and written back.
pub(super) fn back_lanes(
    by_column: &[f64],
    a: &[Lanes],
    into: &mut [Lanes],
    alive: impl Fn(usize) -> bool,
    BackScratch { rows, coefficients, columns }: &mut BackScratch,
) {
    let height = a.len();
    rows.clear();
    coefficients.clear();
    columns.clear();
    columns.extend((0..into.len()).filter(|i| alive(*i)));
    for (o, a) in a.iter().enumerate().filter(|(_, a)| a.iter().any(|a| *a != 0.0)) {
        rows.push(o);
        coefficients.push(*a);
    }
    vector(
        #[inline(always)]
        || {
            let column = |i: usize| &by_column[i * height..][..height];
            let (blocks, rest) = columns.as_chunks::<BLOCK>();
            for block in blocks {
                let w = block.map(column);
                let mut sums = [[0.0; LANES]; BLOCK];
                for (o, a) in rows.iter().zip(&*coefficients) {
                    for (sum, w) in sums.iter_mut().zip(w) {
                        let w = w[*o];
                        (0..LANES).for_each(|l| sum[l] += a[l] * w);
                    }
                }
                for (i, sum) in block.iter().zip(sums) {
                    (0..LANES).for_each(|l| into[*i][l] += sum[l]);
                }
            }
            for i in rest {
                let (w, sum) = (column(*i), &mut into[*i]);
                for (o, a) in rows.iter().zip(&*coefficients) {
                    (0..LANES).for_each(|l| sum[l] += a[l] * w[*o]);
                }
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
            let (mut least, mut most) = (vec![0.0; 3], vec![0.0; 3]);
            ends(&w, &vec![-1.0; cols], &vec![2.0; cols], &mut least, &mut most);
            let row = |o: usize, low: f64, high: f64| {
                (0..cols).map(|i| w[o * cols + i]).map(|w| w * if w < 0.0 { low } else { high }).sum::<f64>()
            };
            assert!((0..3).all(|o| least[o] == row(o, 2.0, -1.0) && most[o] == row(o, -1.0, 2.0)));
            let mut into = vec![1.0; cols];
            back(&w, &[2.0, 0.0, -1.0], &mut into);
            let column = |i: usize| 1.0 + 2.0 * w[i] - w[2 * cols + i];
            assert_eq!(into, (0..cols).map(column).collect::<Vec<_>>());
            let lanes = [2.0, 0.0, -1.0].map(|a| std::array::from_fn(|l| a * (l + 1) as f64));
            let mut into = vec![[1.0; LANES]; cols];
            back_lanes(&transposed(&w, cols), &lanes, &mut into, |i| i != 5, &mut BackScratch::default());
            let lane = |i: usize, l: usize| if i == 5 { 1.0 } else { 1.0 + (column(i) - 1.0) * (l + 1) as f64 };
            assert!(into.iter().enumerate().all(|(i, into)| (0..LANES).all(|l| into[l] == lane(i, l))));
        }
    }
}
