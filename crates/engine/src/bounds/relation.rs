//! Coefficients of what the last layer reads enter; the largest value of that linear form leaves, with the hidden units tied to the
//! input by linear bounds.
//!
//! Backwards, each relu is replaced by a line that lies above it where its coefficient is positive and below it where it is
//! negative (CROWN): `relu(v) <= s v - s l` with s = u / (u - l), `relu(v) >= 0` or `>= v`. What arrives at the input is maximised
//! there, together with the rule's own features, whose symbols are the same. Forwards from that input, along the same lines, come
//! the values at which the form takes that maximum.

use deepsade_net::{Activation, Op};

use super::{Bounds, RegionBoxes};

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
            self.along_lines(k, parameters, relation);
        }
        &relation.values[self.last_input]
    }

    fn backward(&self, k: usize, boxes: &RegionBoxes, parameters: &[f32], relation: &mut Relation) {
        let node = &self.network.nodes[k];
        let mut coefficients = std::mem::take(&mut relation.coefficients[k + 1]);
        match &node.op {
            Op::Affine { scale, .. } => {
                let into = &mut relation.coefficients[node.from[0]];
                into.iter_mut().zip(&coefficients).zip(scale).for_each(|((i, c), s)| *i += c * f64::from(*s));
            }
            Op::Dense { w, b } => {
                let weights = &parameters[self.starts[k]..self.starts[k] + w.cols * b.len()];
                let into = &mut relation.coefficients[node.from[0]];
                for (c, row) in coefficients.iter().zip(weights.chunks_exact(w.cols.max(1))).filter(|(c, _)| **c != 0.0) {
                    into.iter_mut().zip(row).for_each(|(i, w)| *i += c * f64::from(*w));
                }
            }
            Op::Act(activation) => {
                let before = &boxes.values[node.from[0]];
                let after = &boxes.values[k + 1];
                let lines = &mut relation.lines[k];
                lines.clear();
                for (i, c) in coefficients.iter().enumerate() {
                    let (l, u) = (f64::from(before.m[i] - before.r[i]), f64::from(before.m[i] + before.r[i]));
                    let line = match activation {
                        Activation::Relu if l >= 0.0 => (1.0, 0.0),
                        Activation::Relu if u <= 0.0 => (0.0, 0.0),
                        Activation::Relu if *c > 0.0 => (u / (u - l), -l * u / (u - l)),
                        Activation::Relu => (f64::from(u8::from(u > -l)), 0.0),
                        // No line: the end of the unit's own interval.
                        Activation::Sigmoid | Activation::Tanh => {
                            (0.0, f64::from(after.m[i]) + c.signum() * f64::from(after.r[i]))
                        }
                    };
                    lines.push(line);
                }
                let into = &mut relation.coefficients[node.from[0]];
                into.iter_mut().zip(&coefficients).zip(&*lines).for_each(|((i, c), (s, _))| *i += c * s);
            }
            Op::Select(columns) => {
                for (c, from) in coefficients.iter().zip(columns) {
                    relation.coefficients[node.from[0]][*from] += c;
                }
            }
            Op::Concat => {
                let mut at = 0;
                for v in &node.from {
                    let into = &mut relation.coefficients[*v];
                    into.iter_mut().zip(&coefficients[at..]).for_each(|(i, c)| *i += c);
                    at += into.len();
                }
            }
            Op::Gate | Op::Choose(_) => coefficients.clear(),
        }
        relation.coefficients[k + 1] = coefficients;
    }

    fn along_lines(&self, k: usize, parameters: &[f32], relation: &mut Relation) {
        let node = &self.network.nodes[k];
        let mut out = std::mem::take(&mut relation.values[k + 1]);
        out.clear();
        let x = &relation.values[node.from[0]];
        match &node.op {
            Op::Affine { scale, shift } => {
                out.extend(x.iter().zip(scale).zip(shift).map(|((x, s), t)| x * f64::from(*s) + f64::from(*t)));
            }
            Op::Dense { w, b } => {
                let weights = &parameters[self.starts[k]..self.starts[k] + w.cols * b.len()];
                let bias = &parameters[self.starts[k] + w.cols * b.len()..][..b.len()];
                let dot = |row: &[f32]| row.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum::<f64>();
                out.extend(bias.iter().enumerate().map(|(i, b)| f64::from(*b) + dot(&weights[i * w.cols..(i + 1) * w.cols])));
            }
            Op::Act(_) => out.extend(x.iter().zip(&relation.lines[k]).map(|(x, (s, t))| s * x + t)),
            Op::Select(columns) => out.extend(columns.iter().map(|c| x[*c])),
            Op::Concat => node.from.iter().for_each(|v| out.extend(&relation.values[*v])),
            Op::Gate | Op::Choose(_) => {}
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
