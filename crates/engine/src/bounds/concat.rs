//! `y = [x1; x2; ...]`.
//!
//! Columns are copied, so are their boxes, and nothing rounds. Linear bounds lose nothing: each part takes its own coefficients,
//! which add up where parts share an origin.

use super::Boxed;

pub(super) fn interval<'b>(out: &mut Boxed, parts: impl Iterator<Item = &'b Boxed>) {
    let mut at = 0;
    for x in parts {
        out.m[at..at + x.m.len()].copy_from_slice(&x.m);
        out.r[at..at + x.r.len()].copy_from_slice(&x.r);
        at += x.m.len();
    }
}

pub(super) fn back(into: &mut [Vec<f64>], coefficients: &[f64], parts: &[usize]) {
    let mut rest = coefficients;
    for v in parts {
        let (part, after) = rest.split_at(into[*v].len());
        into[*v].iter_mut().zip(part).for_each(|(i, c)| *i += c);
        rest = after;
    }
}

pub(super) fn along<'v>(out: &mut Vec<f64>, parts: impl Iterator<Item = &'v Vec<f64>>) {
    parts.for_each(|x| out.extend(x));
}
