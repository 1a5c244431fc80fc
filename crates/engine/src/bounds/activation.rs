//! `y = f(x)`, unit by unit; f is relu, sigmoid or tanh.
//!
//! f does not fall, so the ends of a box go to the ends of the result; sigmoid and tanh are assumed right to `ACTIVATION_ERROR`.
//! Linear bounds of relu on [l, u], l < 0 < u: it is convex, so below its chord `s (v - l)`, s = u / (u - l), and above 0 and v.
//! Above counts where the coefficient is positive, below where it is negative. For the others: the end of the unit's interval.

use deepsade_check::relu_below;
use deepsade_net::Activation;
use deepsade_solve::kernel::vector;

use super::{Boxed, UNIT};

/// Accuracy that is assumed of sigmoid and tanh, as in the checker.
pub(super) const ACTIVATION_ERROR: f32 = deepsade_net::ball::ACTIVATION_ERROR as f32;

pub(super) fn interval(out: &mut Boxed, x: &Boxed, activation: Activation) {
    let squash = |f: fn(f32) -> f32, out: &mut Boxed| {
        for i in 0..x.m.len() {
            let (lo, hi) = (f(x.m[i] - x.r[i]), f(x.m[i] + x.r[i]));
            out.m[i] = f32::midpoint(lo, hi);
            out.r[i] = (hi - lo) * 0.5 + 4.0 * ACTIVATION_ERROR;
        }
    };
    match activation {
        Activation::Relu => vector(
            #[inline(always)]
            || {
                let ends = x.m.iter().zip(&x.r).map(|(m, r)| ((m - r).max(0.0), (m + r).max(0.0)));
                for ((m, r), (lo, hi)) in out.m.iter_mut().zip(&mut out.r).zip(ends) {
                    *m = (lo + hi) * 0.5;
                    *r = (hi - lo) * 0.5 + 4.0 * UNIT * hi;
                }
            },
        ),
        Activation::Sigmoid => squash(|v| 1.0 / (1.0 + (-v).exp()), out),
        Activation::Tanh => squash(f32::tanh, out),
    }
}

/// The line (slope, offset) that stands for each unit, by the sign of its coefficient.
pub(super) fn lines(lines: &mut Vec<(f64, f64)>, coefficients: &[f64], before: &Boxed, after: &Boxed, activation: Activation) {
    lines.clear();
    lines.extend(coefficients.iter().enumerate().map(|(i, c)| {
        let (l, u) = (f64::from(before.m[i] - before.r[i]), f64::from(before.m[i] + before.r[i]));
        match activation {
            Activation::Relu if l >= 0.0 => (1.0, 0.0),
            Activation::Relu if u <= 0.0 => (0.0, 0.0),
            Activation::Relu if *c > 0.0 => (u / (u - l), -l * u / (u - l)),
            Activation::Relu => (relu_below(l, u), 0.0),
            Activation::Sigmoid | Activation::Tanh => (0.0, f64::from(after.m[i]) + c.signum() * f64::from(after.r[i])),
        }
    }));
}

pub(super) fn back(into: &mut [f64], coefficients: &[f64], lines: &[(f64, f64)]) {
    into.iter_mut().zip(coefficients).zip(lines).for_each(|((i, c), (s, _))| *i += c * s);
}

pub(super) fn along(out: &mut Vec<f64>, x: &[f64], lines: &[(f64, f64)]) {
    out.extend(x.iter().zip(lines).map(|(x, (s, t))| s * x + t));
}
