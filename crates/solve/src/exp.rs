//! A number enters, its exponential, sigmoid or hyperbolic tangent leaves, by plain arithmetic.
//!
//! So the compiler can vectorise it, and no system library decides its last bit. glibc's `expf`, called from SSE code between
//! faer's products, took about 135 ns a call here, most likely for switching between SSE and AVX.

/// `e^x` to 2 ulp; below -87 it stays at e^-87, above 88 at e^88.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // 1.5 * 2^23: adding it rounds to a whole number, which is then in the low bits.
    const SHIFT: f32 = 12_582_912.0;
    // ln 2 in two parts; the first has so few bits that its multiples are exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // The polynomial of Cephes' expf on [-ln 2 / 2, ln 2 / 2].
    let p = 1.987_569_2e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 0.166_666_65;
    let p = p * r + 0.5;
    let mantissa = p * (r * r) + r + 1.0;
    let exponent = shifted.to_bits().wrapping_sub(SHIFT.to_bits()).wrapping_add(127) << 23;
    mantissa * f32::from_bits(exponent)
}

/// `1 / (1 + e^-x)`; the exponent is never positive.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    let e = exp(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let e = exp(-2.0 * x.abs());
    let far = ((1.0 - e) / (1.0 + e)).copysign(x);
    // Near 0 the difference loses its digits; three terms of the series have them.
    let x2 = x * x;
    let near = x * (1.0 - x2 * (1.0 / 3.0 - x2 * (2.0 / 15.0)));
    if x.abs() < 0.1 { near } else { far }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative error against float64, over the whole range.
    fn worst(f: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64, to: f32) -> f64 {
        (-100_000..=100_000)
            .map(|i| i as f32 / 100_000.0 * to)
            .map(|x| ((f64::from(f(x)) - exact(f64::from(x))) / exact(f64::from(x)).abs().max(1e-300)).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn close_to_the_exact_functions() {
        assert!(worst(exp, f64::exp, 87.0) < 2.4e-7);
        assert!(worst(sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 80.0) < 4e-7);
        assert!(worst(tanh, f64::tanh, 20.0) < 2e-6);
    }

    #[test]
    fn ends_and_nan() {
        assert_eq!((exp(0.0), sigmoid(0.0), tanh(0.0)), (1.0, 0.5, 0.0));
        assert_eq!((sigmoid(200.0), tanh(-50.0)), (1.0, -1.0));
        assert!(exp(f32::NEG_INFINITY) < 2e-38 && exp(f32::INFINITY).is_finite());
        assert!(exp(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan() && tanh(f32::NAN).is_nan());
    }
}
