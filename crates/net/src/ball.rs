//! A ball: what any float32 runtime may compute for one number.
//!
//! A runtime may sum in any order, fuse multiply-add and flush denormals. A dot product of n terms then lies within
//! `gamma(n + 1) (sum |w_i| |x_i| + |b|) + (2n + 1 + sum |w_i| + sum |x_i|) tiny` of the exact one: the `tiny` term counts a flush
//! of each product, of each partial sum, and of each operand. The centres are computed in float64, whose own error is 2^-29 of the
//! radius at most; `SLACK` covers it. This is for tests and diagnosis: what is *proved* uses exact arithmetic elsewhere.

/// Unit roundoff of float32, 2^-24.
pub const UNIT: f64 = 1.0 / 16_777_216.0;
/// Smallest normal float32, 2^-126: the most that flushing a denormal to zero can cost.
pub const TINY: f64 = f32::MIN_POSITIVE as f64;
/// Assumed absolute error of a runtime's float32 sigmoid and tanh, 2^-20. onnxruntime 1.31 was measured at 2^-22.4 (sigmoid) and
/// 2^-21.5 (tanh); both leave their mathematical range by as much (a sigmoid of 1.0000001).
pub const ACTIVATION_ERROR: f64 = 1.0 / 1_048_576.0;
/// Covers the float64 rounding of the enclosure's own computation.
pub(crate) const SLACK: f64 = 1.0 + 1.0 / 1_048_576.0;

/// The numbers within `radius` of `centre`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ball {
    /// The value in (nearly) exact arithmetic.
    pub centre: f64,
    /// How far a float32 evaluation may be from it.
    pub radius: f64,
}

impl Ball {
    /// Whether `y` lies in the ball.
    pub fn contains(&self, y: f32) -> bool {
        (f64::from(y) - self.centre).abs() <= self.radius
    }

    /// Largest absolute value in the ball.
    pub fn size(&self) -> f64 {
        self.centre.abs() + self.radius
    }
}

/// `k u / (1 - k u)`: the relative error that k float32 roundings in a row can add up to. Needs k < 2^24.
pub fn gamma(k: usize) -> f64 {
    let ku = k as f64 * UNIT;
    ku / (1.0 - ku)
}

/// The ball around `w . x + b` computed in float32 in any order.
pub(crate) fn dot(w: &[f32], x: &[Ball], b: f32) -> Ball {
    let b = f64::from(b);
    let (mut centre, mut carried, mut magnitude, mut operands) = (b, 0.0, b.abs(), 0.0);
    for (w, x) in w.iter().zip(x) {
        let w = f64::from(*w);
        centre += w * x.centre;
        carried += w.abs() * x.radius;
        magnitude += w.abs() * x.size();
        operands += w.abs() + x.size();
    }
    let flushed = (2 * w.len() + 1) as f64 + operands;
    Ball { centre, radius: (carried + gamma(w.len() + 1) * magnitude + flushed * TINY) * SLACK }
}
