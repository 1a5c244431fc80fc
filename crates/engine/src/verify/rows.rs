//! Units of a layer enter; upper bounds of `sign * row . value` leave, by intervals or by lines, eight at a time.
//!
//! The same as [`super::pass::Pass`] does for one form, with eight forms side by side, so that every weight is read once for all of
//! them and the processor works on whole vectors. This is where nearly all time of a search goes.

use deepsade_check::relu_below;
use deepsade_net::{Activation, Conv, Window};
use deepsade_solve::kernel::vector;

use super::pass::{Reach, relu_above};
use super::plan::{BoundPlan, BoundedNode, InputBox, SearchBoxes};
use super::product::{self, BackScratch, LANES, Lanes};
use super::windows;

#[inline]
fn zero(a: &Lanes) -> bool {
    a.iter().all(|a| *a == 0.0)
}

/// Working memory.
#[derive(Debug, Clone, Default)]
pub(super) struct RowsScratch {
    a: Vec<Vec<Lanes>>,
    constant: Lanes,
    back: BackScratch,
    /// Of each relu on the region at hand, once they were asked for.
    lines: Vec<Option<Vec<ReluLine>>>,
}

/// The lines above and below a unit of a relu that is not always zero.
#[derive(Debug, Clone)]
struct ReluLine {
    unit: usize,
    above: f64,
    offset: f64,
    below: f64,
    /// What flushing costs along the line below.
    flush: f64,
}

impl RowsScratch {
    /// Another region is at hand.
    pub fn enter(&mut self, plan: &BoundPlan) {
        self.lines.clear();
        self.lines.resize(plan.steps.len(), None);
    }

    /// For each of these units of a layer the bounds of `row . value` and of `-row . value`.
    pub fn bounds(
        &mut self,
        plan: &BoundPlan,
        kind: Reach,
        (layer, units): (usize, &[usize]),
        from: usize,
        boxes: &SearchBoxes,
        inputs: &InputBox,
    ) -> Vec<f64> {
        let mut out = Vec::with_capacity(2 * units.len());
        let mut sparse = Vec::new();
        for chunk in units.chunks(LANES / 2) {
            self.a.resize(plan.widths.len(), Vec::new());
            for (a, w) in self.a.iter_mut().zip(&plan.widths).take(from + 1) {
                a.clear();
                a.resize(*w, [0.0; LANES]);
            }
            self.constant = [0.0; LANES];
            for (k, o) in chunk.iter().enumerate() {
                let both = |a: &mut Lanes, w: f64| (a[2 * k], a[2 * k + 1]) = (w, -w);
                match &plan.steps[layer] {
                    BoundedNode::Dense { w, cols, .. } => {
                        self.a[from].iter_mut().zip(&w[o * cols..(o + 1) * cols]).for_each(|(a, w)| both(a, *w));
                    }
                    BoundedNode::Conv(conv, _) => {
                        conv.row(*o, &mut sparse);
                        sparse.iter().for_each(|(i, w)| both(&mut self.a[from][*i], f64::from(*w)));
                    }
                    _ => {}
                }
            }
            for k in (0..from).rev() {
                let a = std::mem::take(&mut self.a[k + 1]);
                self.step(plan, k, &a, kind, boxes);
                self.a[k + 1] = a;
            }
            let mut c = vec![0.0; plan.widths[0]];
            let mut x = Vec::new();
            for lane in 0..2 * chunk.len() {
                c.iter_mut().zip(&self.a[0]).for_each(|(c, a)| *c = a[lane]);
                out.push(self.constant[lane] + inputs.most(&c, &plan.map, &mut x));
            }
        }
        out
    }

    fn step(&mut self, plan: &BoundPlan, k: usize, a: &[Lanes], kind: Reach, boxes: &SearchBoxes) {
        if a.iter().all(zero) {
            return;
        }
        let constant = &mut self.constant;
        let mut charge = |a: &[Lanes]| {
            for (a, e) in a.iter().zip(&boxes.error[k + 1]) {
                (0..LANES).for_each(|l| constant[l] += a[l].abs() * e);
            }
        };
        match &plan.steps[k] {
            BoundedNode::Dense { by_column, b, from, .. } => {
                charge(a);
                for (a, b) in a.iter().zip(b) {
                    (0..LANES).for_each(|l| constant[l] += a[l] * b);
                }
                // What is always zero adds nothing, whatever its coefficient.
                let alive = |i: usize| boxes.lo[*from][i] != 0.0 || boxes.hi[*from][i] != 0.0;
                product::back_lanes(by_column, a, &mut self.a[*from], alive, &mut self.back);
            }
            BoundedNode::Conv(conv, from) => {
                charge(a);
                back_conv(conv, a, constant, &mut self.a[*from]);
            }
            BoundedNode::MaxPool(window, from) if kind == Reach::Lines => {
                charge(a);
                back_pool(window, a, (&boxes.lo[*from], &boxes.hi[*from]), constant, &mut self.a[*from]);
            }
            BoundedNode::Affine { scale, shift, from } => {
                charge(a);
                for (i, (a, (s, t))) in a.iter().zip(scale.iter().zip(shift)).enumerate() {
                    for l in 0..LANES {
                        constant[l] += a[l] * t;
                        self.a[*from][i][l] += a[l] * s;
                    }
                }
            }
            BoundedNode::Select(columns, from) => {
                charge(a);
                for (a, c) in a.iter().zip(columns) {
                    (0..LANES).for_each(|l| self.a[*from][*c][l] += a[l]);
                }
            }
            BoundedNode::Concat(parts) => {
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
            BoundedNode::Act(Activation::Relu, from) if kind == Reach::Lines => {
                let lines = self.lines[k].get_or_insert_with(|| relu_lines(&boxes.lo[*from], &boxes.hi[*from], plan.tiny()));
                let into = &mut self.a[*from];
                vector(
                    #[inline(always)]
                    || {
                        for line in lines {
                            let (a, into) = (&a[line.unit], &mut into[line.unit]);
                            for lane in 0..LANES {
                                let (up, down) = (a[lane].max(0.0), a[lane].min(0.0));
                                into[lane] += up * line.above + down * line.below;
                                constant[lane] += up * line.offset - down * line.flush;
                            }
                        }
                    },
                );
            }
            BoundedNode::Act(..) | BoundedNode::Gate(..) | BoundedNode::MaxPool(..) => {
                for (i, a) in a.iter().enumerate() {
                    let (lo, hi) = (boxes.lo[k + 1][i], boxes.hi[k + 1][i]);
                    (0..LANES).for_each(|l| constant[l] += a[l] * if a[l] < 0.0 { lo } else { hi });
                }
            }
        }
    }
}

fn relu_lines(lo: &[f64], hi: &[f64], tiny: f64) -> Vec<ReluLine> {
    let line = |(unit, (l, u)): (usize, (&f64, &f64))| {
        let (above, offset, below) = if *l >= 0.0 {
            (1.0, 0.0, 1.0)
        } else {
            let (slope, offset) = relu_above(*l, *u);
            (slope, offset, relu_below(*l, *u))
        };
        ReluLine { unit, above, offset, below, flush: if below > 0.0 { tiny } else { 0.0 } }
    };
    lo.iter().zip(hi).enumerate().filter(|(_, (_, u))| **u > 0.0).map(line).collect()
}

/// Coefficients of a convolution's results go to what they are computed from, row by sparse row.
fn back_conv(conv: &Conv, a: &[Lanes], constant: &mut Lanes, into: &mut [Lanes]) {
    let mut row = Vec::new();
    vector(
        #[inline(always)]
        || {
            for (o, a) in a.iter().enumerate().filter(|(_, a)| !zero(a)) {
                let b = f64::from(conv.row(o, &mut row));
                (0..LANES).for_each(|l| constant[l] += a[l] * b);
                for (i, w) in &row {
                    let (i, w) = (&mut into[*i], f64::from(*w));
                    (0..LANES).for_each(|l| i[l] += a[l] * w);
                }
            }
        },
    );
}

/// Coefficients of a pool's results go to the columns whose lines stand for them.
fn back_pool(window: &Window, a: &[Lanes], (lo, hi): (&[f64], &[f64]), constant: &mut Lanes, into: &mut [Lanes]) {
    let mut columns = Vec::new();
    for (o, a) in a.iter().enumerate().filter(|(_, a)| !zero(a)) {
        window.columns_of(o, &mut columns);
        let [above, below] = windows::lines(&columns, lo, hi);
        for (lane, a) in a.iter().enumerate() {
            let (column, slope, offset) = if *a > 0.0 { above } else { below };
            constant[lane] += a * offset;
            into[column][lane] += a * slope;
        }
    }
}
