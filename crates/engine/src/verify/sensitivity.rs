//! Coefficients of outputs enter; by how much the outputs' interval grows with each input column leaves.
//!
//! Where a form stops at a sigmoid or tanh, its lines say nothing about the input; absolute weights and mean slopes do.

use super::plan::{BoundPlan, Boxes, Step};

impl BoundPlan {
    /// Whether every activation is a relu.
    pub fn piecewise_linear(&self) -> bool {
        !self.steps.iter().any(|s| matches!(s, Step::Act(f, _) if *f != deepsade_net::Activation::Relu))
    }

    /// How many relus there are.
    pub fn relus(&self) -> usize {
        let width = |(k, step): (usize, &Step)| if let Step::Act(..) = step { self.widths[k + 1] } else { 0 };
        self.steps.iter().enumerate().map(width).sum()
    }

    /// For each input column the weight of its width in the width of `c . outputs`.
    pub fn sensitivity(&self, c: &[f64], boxes: &Boxes) -> Vec<f64> {
        let mut s: Vec<Vec<f64>> = self.widths.iter().map(|w| vec![0.0; *w]).collect();
        s[self.output()].iter_mut().zip(c).for_each(|(s, c)| *s = c.abs());
        for (k, step) in self.steps.iter().enumerate().rev() {
            let here = std::mem::take(&mut s[k + 1]);
            match step {
                Step::Dense { w, cols, from, .. } => {
                    for (a, row) in here.iter().zip(w.chunks_exact(*cols)).filter(|(a, _)| **a != 0.0) {
                        s[*from].iter_mut().zip(row).for_each(|(s, w)| *s += a * w.abs());
                    }
                }
                Step::Affine { scale, from, .. } => {
                    s[*from].iter_mut().zip(here.iter().zip(scale)).for_each(|(s, (a, f))| *s += a * f.abs());
                }
                Step::Act(_, from) => {
                    for (i, a) in here.iter().enumerate() {
                        let (before, after) = (boxes.hi[*from][i] - boxes.lo[*from][i], boxes.hi[k + 1][i] - boxes.lo[k + 1][i]);
                        s[*from][i] += a * if before > 0.0 { (after / before).min(1.0) } else { 1.0 };
                    }
                }
                Step::Select(columns, from) => here.iter().zip(columns).for_each(|(a, c)| s[*from][*c] += a),
                Step::Concat(parts) => {
                    let mut at = 0;
                    for v in parts {
                        s[*v].iter_mut().zip(&here[at..]).for_each(|(s, a)| *s += a);
                        at += self.widths[*v];
                    }
                }
                Step::Gate(from, factor) => {
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
