//! Outputs that nearly obey and an anchor that does enter; calls leave that move the outputs towards the anchor until they obey.
//!
//! With the slack s > 0 of a face at the anchor and its violation v at the outputs, the face is met at the share `v / (s + v)` of the way.

use super::Anchor;
use super::direction::Direction;
use super::writer::{PerLine, Writer};

/// What an anchor on a face is taken to have in hand.
const TINY: f32 = 1e-30;

pub(super) fn ray(w: &mut Writer, y: &str, faces: &[Direction], anchor: &Anchor) -> String {
    let (outputs, columns) = (w.ground.outputs(), w.ground.columns().len());
    let mut rows = vec![vec![0.0; columns]; outputs];
    anchor.weights.iter().for_each(|(o, c, v)| rows[*o][*c] += f64::from(*v));
    let single: Vec<Direction> =
        faces.iter().flat_map(|d| d.bounds.iter().map(|b| Direction { a: d.a.clone(), bounds: vec![b.clone()] })).collect();
    let b = w.bounds_of(&single);
    // Both the anchor and the bounds are affine in the input, so slack is.
    let (mut slack, mut constants) = (Vec::new(), Vec::new());
    for Direction { a, bounds } in &single {
        let at = |c: usize| a.iter().zip(&rows).map(|(a, row)| a * row[c]).sum::<f64>() - bounds[0].x[c];
        slack.push((0..columns).map(at).collect::<Vec<f64>>());
        let constant = a.iter().zip(&anchor.bias).map(|(a, v)| a * f64::from(*v)).sum::<f64>() - bounds[0].constant;
        constants.push(constant as f32);
    }
    let against: Vec<Vec<f64>> = single.iter().map(|d| d.a.iter().map(|a| -a).collect()).collect();
    let v = w.product(y, &against, Some(&b));
    let v = w.draft.call("Relu", &[&v]);
    let slack = match w.of_input(&slack, constants) {
        PerLine::Constant(data) => w.name(&PerLine::Constant(data.into_iter().map(|s| s.max(TINY)).collect())),
        PerLine::Tensor(slack) => {
            let tiny = w.draft.number(TINY);
            w.draft.call("Max", &[&slack, &tiny])
        }
    };
    let all = w.draft.call("Add", &[&slack, &v]);
    let share = w.draft.call("Div", &[&v, &all]);
    let mut share = largest(w, share, single.len());
    // Outputs that none of the faces is about stay.
    let touched: Vec<f64> = (0..outputs).map(|j| f64::from(u8::from(faces.iter().any(|d| d.a[j] != 0.0)))).collect();
    if touched.contains(&0.0) {
        share = w.product(&share, &touched.into_iter().map(|v| vec![v]).collect::<Vec<_>>(), None);
    }
    let to = w.of_input(&rows, anchor.bias.clone());
    let to = w.name(&to);
    let way = w.draft.call("Sub", &[&to, y]);
    let way = w.draft.call("Mul", &[&share, &way]);
    w.draft.call("Add", &[y, &way])
}

/// The largest number of each row.
fn largest(w: &mut Writer, of: String, mut width: usize) -> String {
    let mut of = of;
    while width > 1 {
        let half = width.div_ceil(2);
        // Some of the columns, as a product: runtimes are slow at taking them one by one.
        let from = |first: usize| -> Vec<Vec<f64>> {
            (first..first + half).map(|k| (0..width).map(|j| f64::from(u8::from(j == k))).collect()).collect()
        };
        let (a, b) = (w.product(&of, &from(0), None), w.product(&of, &from(width - half), None));
        of = w.draft.call("Max", &[&a, &b]);
        width = half;
    }
    of
}
