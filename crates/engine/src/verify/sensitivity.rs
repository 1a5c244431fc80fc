//! Coefficients of outputs enter; by how much the outputs' interval grows with each input column leaves.
//!
//! Where a form stops at a sigmoid or tanh, its lines say nothing about the input; absolute weights and mean slopes do.

use super::plan::{BoundPlan, BoundedNode, SearchBoxes};

impl BoundPlan {
    /// Whether every activation is a relu.
    pub fn piecewise_linear(&self) -> bool {
        !self.steps.iter().any(|s| matches!(s, BoundedNode::Act(f, _) if *f != deepsade_net::Activation::Relu))
    }

    /// How many relus there are.
    pub fn relus(&self) -> usize {
        let width = |(k, step): (usize, &BoundedNode)| if let BoundedNode::Act(..) = step { self.widths[k + 1] } else { 0 };
        self.steps.iter().enumerate().map(width).sum()
    }

    /// How many weights there are, those of a convolution counted wherever they are used.
    pub fn weights(&self) -> usize {
        let weights = |step: &BoundedNode| match step {
            BoundedNode::Dense { w, .. } => w.len(),
            BoundedNode::Conv(conv, _) => conv.rows() * (conv.w.len() / conv.b.len()),
            _ => 0,
        };
        self.steps.iter().map(weights).sum()
    }

    /// For each input column the weight of its width in the width of `c . outputs`.
    pub fn sensitivity(&self, c: &[f64], boxes: &SearchBoxes) -> Vec<f64> {
        let mut s: Vec<Vec<f64>> = self.widths.iter().map(|w| vec![0.0; *w]).collect();
        s[self.output()].iter_mut().zip(c).for_each(|(s, c)| *s = c.abs());
        for (k, step) in self.steps.iter().enumerate().rev() {
            let here = std::mem::take(&mut s[k + 1]);
            match step {
                BoundedNode::Dense { w, cols, from, .. } => {
                    for (a, row) in here.iter().zip(w.chunks_exact(*cols)).filter(|(a, _)| **a != 0.0) {
                        s[*from].iter_mut().zip(row).for_each(|(s, w)| *s += a * w.abs());
                    }
                }
                BoundedNode::Affine { scale, from, .. } => {
                    s[*from].iter_mut().zip(here.iter().zip(scale)).for_each(|(s, (a, f))| *s += a * f.abs());
                }
                BoundedNode::Act(_, from) => {
                    for (i, a) in here.iter().enumerate() {
                        let (before, after) = (boxes.hi[*from][i] - boxes.lo[*from][i], boxes.hi[k + 1][i] - boxes.lo[k + 1][i]);
                        s[*from][i] += a * if before > 0.0 { (after / before).min(1.0) } else { 1.0 };
                    }
                }
                BoundedNode::Conv(conv, from) => {
                    let mut row = Vec::new();
                    for (o, a) in here.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                        conv.row(o, &mut row);
                        row.iter().for_each(|(i, w)| s[*from][*i] += a * f64::from(w.abs()));
                    }
                }
                BoundedNode::MaxPool(window, from) => {
                    let mut columns = Vec::new();
                    for (o, a) in here.iter().enumerate() {
                        window.columns_of(o, &mut columns);
                        columns.iter().for_each(|c| s[*from][*c] += a / columns.len() as f64);
                    }
                }
                BoundedNode::Select(columns, from) => here.iter().zip(columns).for_each(|(a, c)| s[*from][*c] += a),
                BoundedNode::Concat(parts) => {
                    let mut at = 0;
                    for v in parts {
                        s[*v].iter_mut().zip(&here[at..]).for_each(|(s, a)| *s += a);
                        at += self.widths[*v];
                    }
                }
                BoundedNode::Gate(from, factor) => {
                    let r = boxes.size(*factor, 0);
                    for (i, a) in here.iter().enumerate() {
                        s[*from][i] += a * r;
                        s[*factor][0] += a * boxes.size(*from, i);
                    }
                }
            }
        }
        s.swap_remove(0)
    }
}
