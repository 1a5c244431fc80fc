//! `y = x[columns]`.
//!
//! Columns are copied, so are their boxes, and nothing rounds. Linear bounds lose nothing: a coefficient goes to the column it
//! was copied from.

use super::Boxed;

pub(super) fn interval(out: &mut Boxed, x: &Boxed, columns: &[usize]) {
    for (c, from) in columns.iter().enumerate() {
        (out.m[c], out.r[c]) = (x.m[*from], x.r[*from]);
    }
}

pub(super) fn back(into: &mut [f64], coefficients: &[f64], columns: &[usize]) {
    coefficients.iter().zip(columns).for_each(|(c, from)| into[*from] += c);
}

pub(super) fn along(out: &mut Vec<f64>, x: &[f64], columns: &[usize]) {
    out.extend(columns.iter().map(|c| x[*c]));
}
