//! `y = scale x + shift`, column by column.
//!
//! A box goes to the box of middle `scale m + shift` and radius `|scale| r`; eight roundings' worth of the size covers float32's
//! two and those made here. Linear bounds lose nothing: coefficients are multiplied by the scale, points are mapped.

use super::{Boxed, UNIT};

pub(super) fn interval(out: &mut Boxed, x: &Boxed, scale: &[f32], shift: &[f32]) {
    for c in 0..scale.len() {
        let (m, s, t) = (f64::from(x.m[c]), f64::from(scale[c]), f64::from(shift[c]));
        let size = (m.abs() + f64::from(x.r[c])) * s.abs() + t.abs();
        out.m[c] = (m * s + t) as f32;
        out.r[c] = (f64::from(x.r[c]) * s.abs() * (1.0 + 1e-6) + size * 8.0 * f64::from(UNIT)) as f32;
    }
}

pub(super) fn back(into: &mut [f64], coefficients: &[f64], scale: &[f32]) {
    into.iter_mut().zip(coefficients).zip(scale).for_each(|((i, c), s)| *i += c * f64::from(*s));
}

pub(super) fn along(out: &mut Vec<f64>, x: &[f64], scale: &[f32], shift: &[f32]) {
    out.extend(x.iter().zip(scale).zip(shift).map(|((x, s), t)| x * f64::from(*s) + f64::from(*t)));
}
