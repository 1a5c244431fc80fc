//! Two matrices enter; their product leaves: `Y = alpha A B + beta C`.
//!
//! Each element is summed from left to right, whatever the size of the matrices, so that the result for a row does not depend on how
//! many rows are given with it.

use super::broadcast::zip;
use super::error::Wrong;
use super::layout::turned;
use super::op::Operands;
use super::value::{Array, Room, Value};

/// Columns of `B` that are summed side by side, in vector registers; the narrow strips take the columns that are left over.
const WIDE: usize = 16;
const NARROW: usize = 4;
/// At most one in so many numbers of a sparse `A` is not 0; so are the counts of an output step with many rules.
const SPARSE: usize = 8;

/// What is multiplied, and with which factors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Product {
    /// Whether `A` is read by columns.
    pub(super) turn_a: bool,
    /// Whether `B` is read by columns.
    pub(super) turn_b: bool,
    pub(super) alpha: f32,
    pub(super) beta: f32,
}

impl Product {
    /// `A B` and nothing else.
    pub(super) const PLAIN: Self = Self { turn_a: false, turn_b: false, alpha: 1.0, beta: 1.0 };

    pub(super) fn run(self, operands: &Operands, room: Room) -> Result<Value, Wrong> {
        let (a, b) = (operands.of::<f32>(0)?, operands.of::<f32>(1)?);
        let ([a_rows, a_cols], [b_rows, b_cols]) = (sides(a)?, sides(b)?);
        let (n, k) = if self.turn_a { (a_cols, a_rows) } else { (a_rows, a_cols) };
        let (b_k, m) = if self.turn_b { (b_cols, b_rows) } else { (b_rows, b_cols) };
        if k != b_k {
            return Err(Wrong::Shapes { a: a.dims.clone(), b: b.dims.clone() });
        }
        room.len(&[n, m])?;
        let turned_a = self.turn_a.then(|| turned(&a.data, a_rows, a_cols));
        let data = product(turned_a.as_ref().unwrap_or(&a.data), &RightMatrix { data: &b.data, k, m, turned: self.turn_b }, n);
        let mut y = Array { dims: vec![n, m], data };
        if self.alpha != 1.0 {
            y.data.iter_mut().for_each(|y| *y *= self.alpha);
        }
        if operands.maybe(2).is_some() {
            let c = operands.of::<f32>(2)?;
            let shapes = Wrong::Shapes { a: y.dims.clone(), b: c.dims.clone() };
            let sum = zip(&y, c, room, |y, c| y + self.beta * c)?;
            // C is stretched to the product, never the other way round.
            y = if sum.dims == y.dims { sum } else { return Err(shapes) };
        }
        Ok(Value::Float(y))
    }
}

fn sides(x: &Array<f32>) -> Result<[usize; 2], Wrong> {
    match x.dims[..] {
        [rows, cols] => Ok([rows, cols]),
        _ => Err(Wrong::Shape { found: x.dims.clone(), expected: "two axes" }),
    }
}

/// The right matrix, of `k` rows and `m` columns.
struct RightMatrix<'a> {
    data: &'a [f32],
    k: usize,
    m: usize,
    /// Stored column by column.
    turned: bool,
}

impl RightMatrix<'_> {
    /// Columns from `first` on, row by row, with zeros behind the last one.
    fn strip<const W: usize>(&self, first: usize) -> Vec<[f32; W]> {
        let last = self.m.min(first + W);
        let mut strip = vec![[0.0; W]; self.k];
        if self.turned {
            let columns = self.data.chunks_exact(self.k).take(last).skip(first);
            for (c, column) in columns.enumerate() {
                strip.iter_mut().zip(column).for_each(|(row, b)| row[c] = *b);
            }
        } else {
            let rows = self.data.chunks_exact(self.m);
            strip.iter_mut().zip(rows).for_each(|(row, b)| row[..last - first].copy_from_slice(&b[first..last]));
        }
        strip
    }
}

fn product(a: &[f32], b: &RightMatrix, n: usize) -> Vec<f32> {
    let mut y = vec![0.0; n * b.m];
    if b.k == 0 {
        return y;
    }
    if b.m >= WIDE && a.iter().filter(|v| **v != 0.0).count() <= a.len() / SPARSE && b.data.iter().all(|v| v.is_finite()) {
        sparse(a, b, &mut y);
        return y;
    }
    let wide = b.m - b.m % WIDE;
    (0..wide).step_by(WIDE).for_each(|first| rows::<WIDE, 2>(a, &b.strip(first), first, b.m, &mut y));
    (wide..b.m).step_by(NARROW).for_each(|first| rows::<NARROW, 4>(a, &b.strip(first), first, b.m, &mut y));
    y
}

/// The same number for number, without the products with zeros: a sum that began at 0 stays what it is when a zero of either sign is added.
fn sparse(a: &[f32], b: &RightMatrix, y: &mut [f32]) {
    let turned_b = b.turned.then(|| turned(b.data, b.m, b.k));
    let b_rows = turned_b.as_deref().unwrap_or(b.data);
    for (a, y) in a.chunks_exact(b.k).zip(y.chunks_exact_mut(b.m)) {
        for (a, b) in a.iter().zip(b_rows.chunks_exact(b.m)).filter(|(a, _)| **a != 0.0) {
            y.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
        }
    }
}

/// Fills the columns of a strip, `R` rows at a time.
fn rows<const W: usize, const R: usize>(a: &[f32], strip: &[[f32; W]], first: usize, m: usize, y: &mut [f32]) {
    let (k, width) = (strip.len(), W.min(m - first));
    let (blocks, last) = (a.chunks_exact(R * k), a.chunks_exact(R * k).remainder());
    let done = blocks.len() * R * m;
    for (a, y) in blocks.zip(y.chunks_exact_mut(R * m)) {
        let sums = block::<W, R>(a, strip);
        sums.iter().zip(y.chunks_exact_mut(m)).for_each(|(sums, y)| y[first..first + width].copy_from_slice(&sums[..width]));
    }
    for (a, y) in last.chunks_exact(k).zip(y[done..].chunks_exact_mut(m)) {
        let [sums] = block::<W, 1>(a, strip);
        y[first..first + width].copy_from_slice(&sums[..width]);
    }
}

fn block<const W: usize, const R: usize>(a: &[f32], strip: &[[f32; W]]) -> [[f32; W]; R] {
    let k = strip.len();
    let a: [&[f32]; R] = std::array::from_fn(|r| &a[r * k..(r + 1) * k]);
    let mut sums = [[0.0f32; W]; R];
    for (l, b) in strip.iter().enumerate() {
        for (sums, a) in sums.iter_mut().zip(a) {
            let a = a[l];
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum += a * b;
            }
        }
    }
    sums
}
