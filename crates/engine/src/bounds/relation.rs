//! Coefficients of what the last layer reads enter; the largest value of that linear form leaves, with the hidden units tied to the
//! input by linear bounds.
//!
//! Backwards, each relu is replaced by a line that lies above it where its coefficient is positive and below it where it is
//! negative (CROWN): `relu(v) <= s v - s l` with s = u / (u - l), `relu(v) >= 0` or `>= v`. What arrives at the input is maximised
//! there, together with the rule's own features, whose symbols are the same. Forwards from that input, along the same lines, come
//! the values at which the form takes that maximum.

use deepsade_net::Op;

use super::{Bounds, RegionBoxes, activation, affine, concat, dense, gate, select};

/// Working memory.
#[derive(Debug, Clone, Default)]
pub struct Relation {
    coefficients: Vec<Vec<f64>>,
    /// Slope and offset of the line that stands for each unit of an activation.
    lines: Vec<Vec<(f64, f64)>>,
    values: Vec<Vec<f64>>,
}

impl Bounds {
    /// The point that stands for the largest value of `q . v`, v what the last layer reads: that value is `q . point`.
    pub fn relate<'r>(&self, region: usize, parameters: &[f32], q: &[f64], relation: &'r mut Relation) -> &'r [f64] {
        let boxes = &self.regions[region];
        relation.coefficients.resize(boxes.values.len(), Vec::new());
        relation.values.resize(boxes.values.len(), Vec::new());
        relation.lines.resize(boxes.values.len(), Vec::new());
        for (k, value) in boxes.values.iter().enumerate().take(self.last_input + 1) {
            relation.coefficients[k].clear();
            relation.coefficients[k].resize(value.m.len(), 0.0);
        }
        relation.coefficients[self.last_input].copy_from_slice(q);
        for k in (0..self.last_input).rev() {
            self.backward(k, boxes, parameters, relation);
        }
        let start = maximiser(&relation.coefficients[0], boxes);
        relation.values[0] = start;
        for k in 0..self.last_input {
            self.forward_along(k, parameters, relation);
        }
        &relation.values[self.last_input]
    }

    fn backward(&self, k: usize, boxes: &RegionBoxes, parameters: &[f32], relation: &mut Relation) {
        let node = &self.network.nodes[k];
        let from = node.from[0];
        let mut coefficients = std::mem::take(&mut relation.coefficients[k + 1]);
        match &node.op {
            Op::Affine { scale, .. } => affine::back(&mut relation.coefficients[from], &coefficients, scale),
            Op::Dense { w, b } => {
                let (weights, _) = self.dense(k, w.cols, b.len(), parameters);
                dense::back(&mut relation.coefficients[from], &coefficients, weights);
            }
            Op::Act(f) => {
                activation::lines(&mut relation.lines[k], &coefficients, &boxes.values[from], &boxes.values[k + 1], *f);
                activation::back(&mut relation.coefficients[from], &coefficients, &relation.lines[k]);
            }
            Op::Select(columns) => select::back(&mut relation.coefficients[from], &coefficients, columns),
            Op::Concat => concat::back(&mut relation.coefficients, &coefficients, &node.from),
            Op::Gate => gate::back(&mut coefficients),
        }
        relation.coefficients[k + 1] = coefficients;
    }

    fn forward_along(&self, k: usize, parameters: &[f32], relation: &mut Relation) {
        let node = &self.network.nodes[k];
        let mut out = std::mem::take(&mut relation.values[k + 1]);
        out.clear();
        let x = &relation.values[node.from[0]];
        match &node.op {
            Op::Affine { scale, shift } => affine::along(&mut out, x, scale, shift),
            Op::Dense { w, b } => {
                let (weights, bias) = self.dense(k, w.cols, b.len(), parameters);
                dense::along(&mut out, x, weights, bias);
            }
            Op::Act(_) => activation::along(&mut out, x, &relation.lines[k]),
            Op::Select(columns) => select::along(&mut out, x, columns),
            Op::Concat => concat::along(&mut out, node.from.iter().map(|v| &relation.values[*v])),
            Op::Gate => gate::along(),
        }
        relation.values[k + 1] = out;
    }
}

/// The input at which the form is largest: ends of the numbers, the best level of each category.
fn maximiser(coefficients: &[f64], boxes: &RegionBoxes) -> Vec<f64> {
    let input = &boxes.values[0];
    let end = |(c, (m, r)): (&f64, (&f32, &f32))| f64::from(*m) + c.signum() * f64::from(*r);
    let mut x: Vec<f64> = coefficients.iter().zip(input.m.iter().zip(&input.r)).map(end).collect();
    for group in &boxes.groups {
        let weight = |at: &Option<usize>| at.map_or(0.0, |c| coefficients[c]);
        let best = group.iter().max_by(|a, b| weight(a).total_cmp(&weight(b)));
        for at in group.iter().flatten() {
            x[*at] = f64::from(u8::from(Some(&Some(*at)) == best));
        }
    }
    x
}
