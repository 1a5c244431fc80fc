//! Dense: `y_o = sum_i W_oi x_i + b_o`.

use crate::Matrix;
use crate::ball::{self, Ball};

/// Partial sums kept side by side, so that the compiler may use vector registers without reordering a sum itself.
const LANES: usize = 16;

pub(crate) fn forward(w: &Matrix, b: &[f32], x: &Matrix) -> Matrix {
    let mut y = Matrix::zeros(x.rows, w.rows);
    for r in 0..x.rows {
        let x = x.row(r);
        for (o, (y, b)) in y.row_mut(r).iter_mut().zip(b).enumerate() {
            *y = dot(w.row(o), x) + b;
        }
    }
    y
}

fn dot(w: &[f32], x: &[f32]) -> f32 {
    let (w_blocks, w_rest) = w.as_chunks::<LANES>();
    let (x_blocks, x_rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    for (w, x) in w_blocks.iter().zip(x_blocks) {
        for (lane, (w, x)) in lanes.iter_mut().zip(w.iter().zip(x)) {
            *lane += w * x;
        }
    }
    let rest: f32 = w_rest.iter().zip(x_rest).map(|(w, x)| w * x).sum();
    lanes.iter().sum::<f32>() + rest
}

pub(crate) fn enclose(w: &Matrix, b: &[f32], x: &[Ball]) -> Vec<Ball> {
    b.iter().enumerate().map(|(o, b)| ball::dot(w.row(o), x, *b)).collect()
}

#[cfg(test)]
mod tests {
    use super::dot;

    #[test]
    fn dot_of_small_integers_is_exact_at_every_length() {
        // 0 + 1 + 4 + ... + (n-1)^2 = (n-1) n (2n-1) / 6; below 2^24 every order gives it exactly.
        for n in 1..100usize {
            let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
            assert_eq!(dot(&x, &x), ((n - 1) * n * (2 * n - 1) / 6) as f32, "n = {n}");
        }
    }
}
