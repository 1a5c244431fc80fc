//! A convolution: `y = W x + b` with sparse rows that no training changes.
//!
//! As for a dense layer: the middle is `W m + b`, the radius `|W| r` and the any-order float32 error of the row's own terms, twice over.

use deepsade_net::Conv;

use super::Boxed;
use super::dense::kappa;

pub(super) fn interval(out: &mut Boxed, x: &Boxed, conv: &Conv) {
    let mut row = Vec::new();
    for o in 0..out.m.len() {
        let b = conv.row(o, &mut row);
        let kappa = kappa(row.len());
        out.m[o] = row.iter().map(|(i, w)| w * x.m[*i]).sum::<f32>() + b;
        let reach = |(i, w): &(usize, f32)| w.abs() * (x.r[*i] + kappa * (x.m[*i].abs() + x.r[*i]));
        out.r[o] = row.iter().map(reach).sum::<f32>() + kappa * b.abs() + f32::MIN_POSITIVE;
    }
}

pub(super) fn errors(out: &mut Vec<f32>, x: &Boxed, errors: &[f32], conv: &Conv) {
    let mut row = Vec::new();
    for o in 0..conv.rows() {
        let b = conv.row(o, &mut row);
        let kappa = kappa(row.len());
        let error = |(i, w): &(usize, f32)| w.abs() * (errors[*i] + kappa * (x.m[*i].abs() + x.r[*i]));
        out.push(row.iter().map(error).sum::<f32>() + kappa * b.abs() + f32::MIN_POSITIVE);
    }
}
