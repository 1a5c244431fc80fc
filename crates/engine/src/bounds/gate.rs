//! `y = r x` with a gate r of one column.
//!
//! Behind the last dense layer a cell looks at both ends of r's range with x in its whole box (`guard::cell`), and no bound is asked for
//! here. Before it the corners of the two boxes bound the product, whatever ties x and r to each other: linear bounds end here, at
//! the end of the product's box that is worse for the form.

use super::{Boxed, UNIT};

pub(super) fn interval(out: &mut Boxed, x: &Boxed, gate: &Boxed) {
    let ends = |v: &Boxed, i: usize| {
        let (m, r) = (f64::from(v.m[i]), f64::from(v.r[i]));
        [m - r, m + r]
    };
    let [low, high] = ends(gate, 0);
    for i in 0..x.m.len() {
        let [a, b] = ends(x, i);
        let corners = [a * low, a * high, b * low, b * high];
        let (lo, hi) = corners.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), c| (lo.min(*c), hi.max(*c)));
        out.m[i] = f64::midpoint(lo, hi) as f32;
        out.r[i] = ((hi - lo) * 0.5 * (1.0 + 1e-6) + lo.abs().max(hi.abs()) * 8.0 * f64::from(UNIT)) as f32;
    }
}

/// How far float32 may be from the exact product.
pub(super) fn errors(out: &mut Vec<f32>, (x, own): (&Boxed, &[f32]), (gate, factor): (&Boxed, &[f32])) {
    let g = gate.m[0].abs() + gate.r[0];
    out.extend(own.iter().enumerate().map(|(i, e)| {
        let size = x.m[i].abs() + x.r[i];
        g * e + size * factor[0] + e * factor[0] + 8.0 * UNIT * g * size + f32::MIN_POSITIVE
    }));
}

/// The constant that stands for each product, as a line of slope 0.
pub(super) fn lines(lines: &mut Vec<(f64, f64)>, coefficients: &[f64], product: &Boxed) {
    lines.clear();
    let end = |(c, (m, r)): (&f64, (&f32, &f32))| (0.0, f64::from(*m) + c.signum() * f64::from(*r));
    lines.extend(coefficients.iter().zip(product.m.iter().zip(&product.r)).map(end));
}

pub(super) fn along(out: &mut Vec<f64>, lines: &[(f64, f64)]) {
    out.extend(lines.iter().map(|(_, end)| end));
}
