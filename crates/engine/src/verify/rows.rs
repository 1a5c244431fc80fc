//! Rows of a layer enter; upper bounds of `sign * row . value` by lines leave, eight at a time.
//!
//! The same as [`super::pass::Pass`] does for one form, with eight forms side by side, so that every weight is read once for all of
//! them and the processor works on whole vectors. This is where nearly all time of a search goes.

use deepsade_net::Activation;
use deepsade_solve::kernel::vector;

use super::plan::{BoundPlan, Boxes, Inputs, Step};

const LANES: usize = 8;
type Lanes = [f64; LANES];

/// Working memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    a: Vec<Vec<Lanes>>,
    constant: Lanes,
}

impl Rows {
    /// For each `(row, sign)` the bound of `sign * row . value`.
    pub fn bounds(&mut self, plan: &BoundPlan, rows: &[(&[f64], f64)], from: usize, boxes: &Boxes, inputs: &Inputs) -> Vec<f64> {
        let mut out = Vec::with_capacity(rows.len());
        for chunk in rows.chunks(LANES) {
            self.a.resize(plan.widths.len(), Vec::new());
            for (a, w) in self.a.iter_mut().zip(&plan.widths).take(from + 1) {
                a.clear();
                a.resize(*w, [0.0; LANES]);
            }
            self.constant = [0.0; LANES];
            for (lane, (row, sign)) in chunk.iter().enumerate() {
                self.a[from].iter_mut().zip(*row).for_each(|(a, w)| a[lane] = sign * w);
            }
            for k in (0..from).rev() {
                let a = std::mem::take(&mut self.a[k + 1]);
                self.step(plan, k, &a, boxes);
                self.a[k + 1] = a;
            }
            let mut c = vec![0.0; plan.widths[0]];
            let mut x = Vec::new();
            for lane in 0..chunk.len() {
                c.iter_mut().zip(&self.a[0]).for_each(|(c, a)| *c = a[lane]);
                out.push(self.constant[lane] + inputs.most(&c, plan.dropped, &mut x));
            }
        }
        out
    }

    fn step(&mut self, plan: &BoundPlan, k: usize, a: &[Lanes], boxes: &Boxes) {
        if a.iter().all(|a| *a == [0.0; LANES]) {
            return;
        }
        let constant = &mut self.constant;
        let mut charge = |a: &[Lanes]| {
            for (a, e) in a.iter().zip(&boxes.error[k + 1]) {
                (0..LANES).for_each(|l| constant[l] += a[l].abs() * e);
            }
        };
        match &plan.steps[k] {
            Step::Dense { w, b, cols, from } => {
                charge(a);
                let into = &mut self.a[*from];
                vector(
                    #[inline(always)]
                    || {
                        for (a, (row, b)) in a.iter().zip(w.chunks_exact(*cols).zip(b)) {
                            if *a == [0.0; LANES] {
                                continue;
                            }
                            (0..LANES).for_each(|l| constant[l] += a[l] * b);
                            for (i, w) in into.iter_mut().zip(row) {
                                (0..LANES).for_each(|l| i[l] += a[l] * w);
                            }
                        }
                    },
                );
            }
            Step::Affine { scale, shift, from } => {
                charge(a);
                for (i, (a, (s, t))) in a.iter().zip(scale.iter().zip(shift)).enumerate() {
                    for l in 0..LANES {
                        constant[l] += a[l] * t;
                        self.a[*from][i][l] += a[l] * s;
                    }
                }
            }
            Step::Select(columns, from) => {
                charge(a);
                for (a, c) in a.iter().zip(columns) {
                    (0..LANES).for_each(|l| self.a[*from][*c][l] += a[l]);
                }
            }
            Step::Concat(parts) => {
                charge(a);
                let mut rest = a;
                for v in parts {
                    let (here, after) = rest.split_at(plan.widths[*v]);
                    for (i, a) in self.a[*v].iter_mut().zip(here) {
                        (0..LANES).for_each(|l| i[l] += a[l]);
                    }
                    rest = after;
                }
            }
            Step::Act(Activation::Relu, from) => {
                let tiny = plan.tiny();
                for (i, a) in a.iter().enumerate() {
                    let (l, u) = (boxes.lo[*from][i], boxes.hi[*from][i]);
                    if u <= 0.0 {
                        continue;
                    }
                    let (above, offset, below) = if l >= 0.0 {
                        (1.0, 0.0, 1.0)
                    } else {
                        let s = f64::from((u / (u - l)) as f32);
                        (s, (-s * l).max((1.0 - s) * u), f64::from(u8::from(u > -l)))
                    };
                    let into = &mut self.a[*from][i];
                    for lane in 0..LANES {
                        let (up, down) = (a[lane].max(0.0), a[lane].min(0.0));
                        into[lane] += up * above + down * below;
                        constant[lane] += up * offset - if below > 0.0 { down * tiny } else { 0.0 };
                    }
                }
            }
            Step::Act(..) | Step::Gate(..) => {
                for (i, a) in a.iter().enumerate() {
                    let (lo, hi) = (boxes.lo[k + 1][i], boxes.hi[k + 1][i]);
                    (0..LANES).for_each(|l| constant[l] += a[l] * if a[l] < 0.0 { lo } else { hi });
                }
            }
        }
    }
}
