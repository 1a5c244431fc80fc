//! Coefficients of what the last layer reads enter; the largest value of that linear form leaves, with the hidden units tied to the
//! input by linear bounds.
//!
//! Backwards, each relu is replaced by a line that lies above it where its coefficient is positive and below it where it is
//! negative (CROWN; the lines stand in `activation`). What arrives at the input is maximised there, together with the rule's own
//! features, whose symbols are the same. Forwards from that input, along the same lines, come the values at which the form takes
//! that maximum. The same gives the hidden units' own bounds: the better of these and of their boxes is kept, as in the checker.
//! Lines are about exact values; what float32 adds to each value on the way is kept beside the boxes.

use deepsade_net::{Activation, Op};

use super::{HiddenBounds, RegionBoxes, UNIT, activation, affine, concat, conv, dense, gate, max_pool, select};

/// Working memory.
#[derive(Debug, Clone, Default)]
pub struct RelationScratch {
    coefficients: Vec<Vec<f64>>,
    /// Slope and offset of the line that stands for each unit of an activation.
    lines: Vec<Vec<(f64, f64)>>,
    values: Vec<Vec<f64>>,
    /// What the constants on the way add up to.
    constant: f64,
    row: Vec<f64>,
}

impl HiddenBounds {
    /// Recomputes the boxes for these parameters, each hidden unit's from the better of box and linear bounds.
    pub fn update_tied(&mut self, parameters: &[f32], relation: &mut RelationScratch) {
        let mut regions = std::mem::take(&mut self.regions);
        for boxes in &mut regions {
            // Without a hidden layer no node adds any.
            boxes.errors.resize(boxes.values.len(), Vec::new());
            boxes.errors[0].resize(boxes.values[0].m.len(), 0.0);
            for k in 0..self.last_input {
                if self.moving[k + 1] {
                    self.forward(k, boxes, parameters);
                }
                self.add_errors(k, boxes, parameters);
                if matches!(self.network.nodes[k].op, Op::Dense { .. }) && self.moving[self.network.nodes[k].from[0]] {
                    self.tie(k, boxes, parameters, relation);
                }
            }
        }
        self.regions = regions;
    }

    /// How far float32 may be from the exact values that the last layer reads, after [`update_tied`](Self::update_tied).
    pub fn last_errors(&self, region: usize) -> &[f32] {
        &self.regions[region].errors[self.last_input]
    }

    /// The point that stands for the largest value of `q . v`, v what the last layer reads: that value is `q . point`.
    pub fn relate<'r>(&self, region: usize, parameters: &[f32], q: &[f64], relation: &'r mut RelationScratch) -> &'r [f64] {
        let boxes = &self.regions[region];
        self.go_back(self.last_input, boxes, parameters, q, relation);
        relation.values.resize(boxes.values.len(), Vec::new());
        relation.values[0] = maximiser(&relation.coefficients[0], boxes);
        for k in 0..self.last_input {
            self.forward_along(k, parameters, relation);
        }
        &relation.values[self.last_input]
    }

    /// The largest `q . v` for any value v.
    fn most(&self, value: usize, boxes: &RegionBoxes, parameters: &[f32], q: &[f64], relation: &mut RelationScratch) -> f64 {
        self.go_back(value, boxes, parameters, q, relation);
        let coefficients = &relation.coefficients[0];
        relation.constant + coefficients.iter().zip(maximiser(coefficients, boxes)).map(|(c, x)| c * x).sum::<f64>()
    }

    /// Brings `q . v` back to the input: coefficients there, and a constant.
    fn go_back(&self, value: usize, boxes: &RegionBoxes, parameters: &[f32], q: &[f64], relation: &mut RelationScratch) {
        relation.coefficients.resize(boxes.values.len(), Vec::new());
        relation.lines.resize(boxes.values.len(), Vec::new());
        relation.constant = 0.0;
        for (k, value) in boxes.values.iter().enumerate().take(value + 1) {
            relation.coefficients[k].clear();
            relation.coefficients[k].resize(value.m.len(), 0.0);
        }
        relation.coefficients[value].copy_from_slice(q);
        for k in (0..value).rev() {
            self.backward(k, boxes, parameters, relation);
        }
    }

    /// Cuts the boxes of a dense layer's results down to what linear bounds leave of them.
    fn tie(&self, k: usize, boxes: &mut RegionBoxes, parameters: &[f32], relation: &mut RelationScratch) {
        let Op::Dense { w, b } = &self.network.nodes[k].op else { return };
        let from = self.network.nodes[k].from[0];
        let (weights, bias) = self.dense(k, w.cols, b.len(), parameters);
        let mut row = std::mem::take(&mut relation.row);
        for (i, weights) in weights.chunks_exact(w.cols.max(1)).enumerate() {
            let [hi, lo] = [1.0, -1.0].map(|sign: f64| {
                row.clear();
                row.extend(weights.iter().map(|w| sign * f64::from(*w)));
                let most = self.most(from, boxes, parameters, &row, relation);
                sign * (most + f64::from(boxes.errors[k + 1][i])) + f64::from(bias[i])
            });
            let value = &mut boxes.values[k + 1];
            let (m, r) = (f64::from(value.m[i]), f64::from(value.r[i]));
            let (lo, hi) = (lo.max(m - r), hi.min(m + r));
            if hi - lo < 2.0 * r && lo <= hi {
                value.m[i] = f64::midpoint(lo, hi) as f32;
                let radius = (hi - f64::from(value.m[i])).max(f64::from(value.m[i]) - lo);
                value.r[i] = (radius as f32).next_up();
            }
        }
        relation.row = row;
    }

    /// What float32 may add to value k + 1: what it added to the values before, as far as it comes through, and this node's own.
    fn add_errors(&self, k: usize, boxes: &mut RegionBoxes, parameters: &[f32]) {
        let node = &self.network.nodes[k];
        let mut out = std::mem::take(&mut boxes.errors[k + 1]);
        out.clear();
        let (x, errors) = (&boxes.values[node.from[0]], &boxes.errors[node.from[0]]);
        let size = |i: usize| x.m[i].abs() + x.r[i];
        match &node.op {
            Op::Affine { scale, shift } => out.extend(
                (0..scale.len()).map(|i| scale[i].abs() * errors[i] + 8.0 * UNIT * (size(i) * scale[i].abs() + shift[i].abs())),
            ),
            Op::Dense { w, b } => {
                let (weights, bias) = self.dense(k, w.cols, b.len(), parameters);
                let kappa = dense::kappa(w.cols);
                out.extend(bias.iter().enumerate().map(|(o, b)| {
                    let row = weights[o * w.cols..(o + 1) * w.cols].iter().enumerate();
                    row.map(|(i, w)| w.abs() * (errors[i] + kappa * size(i))).sum::<f32>() + kappa * b.abs() + f32::MIN_POSITIVE
                }));
            }
            // None of them is steeper than 1.
            Op::Act(Activation::Relu) => out.extend(errors.iter().map(|e| e + f32::MIN_POSITIVE)),
            Op::Act(_) => out.extend(errors.iter().map(|e| e + 4.0 * activation::ACTIVATION_ERROR)),
            Op::Select(columns) => out.extend(columns.iter().map(|c| errors[*c])),
            Op::Concat => node.from.iter().for_each(|v| out.extend(&boxes.errors[*v])),
            Op::Gate => {
                let by = node.from[1];
                gate::errors(&mut out, (x, errors), (&boxes.values[by], &boxes.errors[by]));
            }
            Op::Conv(op) => conv::errors(&mut out, x, errors, op),
            Op::MaxPool(window) => max_pool::errors(&mut out, errors, window),
            // A choice has no guard.
            Op::Choose(_) => {}
        }
        boxes.errors[k + 1] = out;
    }

    fn backward(&self, k: usize, boxes: &RegionBoxes, parameters: &[f32], relation: &mut RelationScratch) {
        let node = &self.network.nodes[k];
        let from = node.from[0];
        let coefficients = std::mem::take(&mut relation.coefficients[k + 1]);
        match &node.op {
            Op::Affine { scale, shift } => {
                affine::back(&mut relation.coefficients[from], &coefficients, scale);
                relation.constant += coefficients.iter().zip(shift).map(|(c, t)| c * f64::from(*t)).sum::<f64>();
            }
            Op::Dense { w, b } => {
                let (weights, bias) = self.dense(k, w.cols, b.len(), parameters);
                dense::back(&mut relation.coefficients[from], &coefficients, weights);
                relation.constant += coefficients.iter().zip(bias).map(|(c, b)| c * f64::from(*b)).sum::<f64>();
            }
            Op::Act(f) => {
                activation::lines(&mut relation.lines[k], &coefficients, &boxes.values[from], &boxes.values[k + 1], *f);
                activation::back(&mut relation.coefficients[from], &coefficients, &relation.lines[k]);
                relation.constant += coefficients.iter().zip(&relation.lines[k]).map(|(c, (_, t))| c * t).sum::<f64>();
            }
            Op::Select(columns) => select::back(&mut relation.coefficients[from], &coefficients, columns),
            Op::Concat => concat::back(&mut relation.coefficients, &coefficients, &node.from),
            Op::Conv(op) => relation.constant += op.back(&coefficients, &mut relation.coefficients[from]),
            Op::Gate | Op::MaxPool(_) => {
                gate::lines(&mut relation.lines[k], &coefficients, &boxes.values[k + 1]);
                relation.constant += coefficients.iter().zip(&relation.lines[k]).map(|(c, (_, t))| c * t).sum::<f64>();
            }
            Op::Choose(_) => {}
        }
        relation.coefficients[k + 1] = coefficients;
    }

    fn forward_along(&self, k: usize, parameters: &[f32], relation: &mut RelationScratch) {
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
            Op::Conv(op) => out.extend(op.times(x)),
            Op::Gate | Op::MaxPool(_) => gate::along(&mut out, &relation.lines[k]),
            Op::Choose(_) => {}
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
