//! A linear form in the values enters; an upper bound of it over a region leaves, and the point along its lines that takes it.
//!
//! Backwards each relu is replaced by a line (CROWN): above it where its coefficient is positive, below it with a free slope in
//! [0, 1] where it is negative. Forwards along the same lines, from the input that is best for what arrived there, come values at
//! which the bound is taken. They are its derivatives by the slopes and by the multipliers of atoms and signs.

use deepsade_check::{relu_below, relu_slope};
use deepsade_net::Activation;

use super::plan::{BoundPlan, BoundedNode, InputBox, SearchBoxes};
use super::rows::RowsScratch;
use super::{product, windows};

/// The side on which a unit's input is known to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnitSign {
    /// The relu among the nodes.
    pub node: usize,
    pub unit: usize,
    pub above: bool,
}

/// Slopes of lower lines by node and unit; `NaN` for the usual one.
pub(super) type SearchSlopes = Vec<Vec<f64>>;

/// Working memory, and what the last bound left in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Pass {
    /// Coefficients of each value as they arrived there.
    pub a: Vec<Vec<f64>>,
    /// Slope and offset of the line that stood for each unit of an activation.
    pub lines: Vec<Vec<(f64, f64)>>,
    /// The column that each of a pool's lines goes along.
    picked: Vec<Vec<usize>>,
    /// Values along the lines.
    pub values: Vec<Vec<f64>>,
    /// The input that is best for the form.
    pub x: Vec<f64>,
    /// Sum of magnitudes, to which rounding is relative.
    pub size: f64,
    constant: f64,
    /// Working memory for the rows of a layer.
    pub rows: RowsScratch,
    /// The gate's factor where the last bound was larger.
    gate_at: Option<f64>,
}

/// How far back a form goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reach {
    /// To the last activation, which takes an end of its interval.
    Interval,
    /// Through relus by lines.
    Lines,
}

impl Pass {
    fn clear(&mut self, plan: &BoundPlan) {
        self.a.resize(plan.widths.len(), Vec::new());
        self.lines.resize(plan.widths.len(), Vec::new());
        self.lines.iter_mut().for_each(Vec::clear);
        self.picked.resize(plan.widths.len(), Vec::new());
        self.picked.iter_mut().for_each(Vec::clear);
        for (a, w) in self.a.iter_mut().zip(&plan.widths) {
            a.clear();
            a.resize(*w, 0.0);
        }
        self.constant = 0.0;
        self.size = 0.0;
    }

    /// An upper bound of a form, over both ends of a gate.
    pub fn upper(
        &mut self,
        plan: &BoundPlan,
        form: &SearchForm,
        kind: Reach,
        boxes: &SearchBoxes,
        inputs: &InputBox,
        slopes: &SearchSlopes,
    ) -> f64 {
        let Some((_, column)) = plan.gate else { return self.end(plan, form, kind, boxes, inputs, slopes, None) };
        let ends = [inputs.lo[column], inputs.hi[column]].map(Some);
        let lower = self.end(plan, form, kind, boxes, inputs, slopes, ends[0]);
        let upper = self.end(plan, form, kind, boxes, inputs, slopes, ends[1]);
        if lower > upper { self.end(plan, form, kind, boxes, inputs, slopes, ends[0]) } else { upper }
    }

    #[allow(clippy::too_many_arguments, reason = "a form on a region, and how it is bounded")]
    fn end(
        &mut self,
        plan: &BoundPlan,
        form: &SearchForm,
        kind: Reach,
        boxes: &SearchBoxes,
        inputs: &InputBox,
        slopes: &SearchSlopes,
        gate: Option<f64>,
    ) -> f64 {
        self.clear(plan);
        self.gate_at = gate;
        self.constant = form.constant;
        self.a[0].copy_from_slice(&form.x);
        let last = plan.output();
        self.a[last].iter_mut().zip(&form.y).for_each(|(a, y)| *a += y);
        for (sign, l) in &form.signs {
            let BoundedNode::Act(_, from) = plan.steps[sign.node] else { continue };
            self.a[from][sign.unit] += if sign.above { *l } else { -*l };
        }
        self.back(plan, last, kind, boxes, inputs, Some(slopes), gate)
    }

    #[allow(clippy::too_many_arguments, reason = "one step of the pass each")]
    fn back(
        &mut self,
        plan: &BoundPlan,
        from_value: usize,
        kind: Reach,
        boxes: &SearchBoxes,
        inputs: &InputBox,
        slopes: Option<&SearchSlopes>,
        gate: Option<f64>,
    ) -> f64 {
        for k in (0..from_value).rev() {
            let a = std::mem::take(&mut self.a[k + 1]);
            if a.iter().any(|a| *a != 0.0) {
                self.step(plan, k, &a, kind, boxes, slopes, gate);
            }
            self.a[k + 1] = a;
        }
        let mut x = std::mem::take(&mut self.x);
        let most = inputs.most(&self.a[0], &plan.map, &mut x);
        self.size += self.a[0].iter().zip(&x).map(|(a, x)| (a * x).abs()).sum::<f64>() + self.constant.abs();
        self.x = x;
        self.constant + most
    }

    #[allow(clippy::too_many_arguments, reason = "one step of the pass each")]
    fn step(
        &mut self,
        plan: &BoundPlan,
        k: usize,
        a: &[f64],
        kind: Reach,
        boxes: &SearchBoxes,
        slopes: Option<&SearchSlopes>,
        gate: Option<f64>,
    ) {
        let charge = |constant: &mut f64| *constant += a.iter().zip(&boxes.error[k + 1]).map(|(a, e)| a.abs() * e).sum::<f64>();
        match &plan.steps[k] {
            BoundedNode::Dense { w, b, from, .. } => {
                charge(&mut self.constant);
                self.constant += a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                product::back(w, a, &mut self.a[*from]);
            }
            BoundedNode::Conv(conv, from) => {
                charge(&mut self.constant);
                self.constant += conv.back(a, &mut self.a[*from]);
            }
            BoundedNode::MaxPool(window, from) if kind == Reach::Lines => {
                charge(&mut self.constant);
                let mut columns = Vec::new();
                for (o, a) in a.iter().enumerate() {
                    window.columns_of(o, &mut columns);
                    let [above, below] = windows::lines(&columns, &boxes.lo[*from], &boxes.hi[*from]);
                    let (column, slope, offset) = if *a > 0.0 { above } else { below };
                    self.constant += a * offset;
                    self.a[*from][column] += a * slope;
                    self.lines[k].push((slope, offset));
                    self.picked[k].push(column);
                }
            }
            BoundedNode::Affine { scale, shift, from } => {
                charge(&mut self.constant);
                self.constant += a.iter().zip(shift).map(|(a, t)| a * t).sum::<f64>();
                self.a[*from].iter_mut().zip(a.iter().zip(scale)).for_each(|(i, (a, s))| *i += a * s);
            }
            BoundedNode::Select(columns, from) => {
                charge(&mut self.constant);
                a.iter().zip(columns).for_each(|(a, c)| self.a[*from][*c] += a);
            }
            BoundedNode::Concat(parts) => {
                charge(&mut self.constant);
                let mut at = 0;
                for v in parts {
                    self.a[*v].iter_mut().zip(&a[at..]).for_each(|(i, a)| *i += a);
                    at += plan.widths[*v];
                }
            }
            BoundedNode::Act(Activation::Relu, from) if kind == Reach::Lines => {
                let lines = &mut self.lines[k];
                lines.clear();
                let (lo, hi) = (&boxes.lo[*from], &boxes.hi[*from]);
                let own = slopes.map(|s| &s[k]);
                for (i, a) in a.iter().enumerate() {
                    let line = relu_line(*a, lo[i], hi[i], own.and_then(|s| s.get(i)).copied().filter(|s| !s.is_nan()));
                    self.constant += a * line.1 + if *a < 0.0 && line.0 > 0.0 { -a * plan.tiny() } else { 0.0 };
                    self.a[*from][i] += a * line.0;
                    lines.push(line);
                }
            }
            BoundedNode::Gate(from, _) if gate.is_some() && plan.gate.is_some_and(|g| g.0 == k + 1) => {
                let (r, column) = (gate.unwrap_or(0.0), plan.gate.map_or(0, |g| g.1));
                let range = (boxes.lo[0][column], boxes.hi[0][column]);
                // First, for what is multiplied may be the input itself.
                self.constant += std::mem::take(&mut self.a[0][column]) * r;
                for (i, a) in a.iter().enumerate() {
                    self.constant += a.abs() * plan.gate_error(r, range, boxes.size(*from, i));
                    self.a[*from][i] += a * r;
                }
            }
            BoundedNode::Act(..) | BoundedNode::Gate(..) | BoundedNode::MaxPool(..) => {
                let lines = &mut self.lines[k];
                lines.clear();
                for (i, a) in a.iter().enumerate() {
                    let end = if *a < 0.0 { boxes.lo[k + 1][i] } else { boxes.hi[k + 1][i] };
                    self.constant += a * end;
                    lines.push((0.0, end));
                }
            }
        }
    }

    /// The last bound as a form of the input: coefficients and constant.
    pub fn at_input(&self) -> (&[f64], f64) {
        (&self.a[0], self.constant)
    }

    /// Values along the lines of the last bound, from the input that is best for it.
    pub fn along(&mut self, plan: &BoundPlan) {
        let mut values = std::mem::take(&mut self.values);
        values.resize(plan.widths.len(), Vec::new());
        values[0].clone_from(&self.x);
        for (k, step) in plan.steps.iter().enumerate() {
            let (before, after) = values.split_at_mut(k + 1);
            let out = &mut after[0];
            out.clear();
            match step {
                BoundedNode::Dense { w, b, from, .. } => product::times(w, b, &before[*from], out),
                BoundedNode::Affine { scale, shift, from } => {
                    out.extend(before[*from].iter().zip(scale.iter().zip(shift)).map(|(x, (s, t))| x * s + t));
                }
                // Where the form did not reach a node there are no lines, and the bound does not depend on its values: any will do.
                BoundedNode::Act(_, from) => {
                    let lines = &self.lines[k];
                    out.extend(before[*from].iter().enumerate().map(|(i, v)| lines.get(i).map_or(0.0, |(s, t)| s * v + t)));
                }
                BoundedNode::Conv(conv, from) => out.extend(conv.times(&before[*from])),
                // By intervals, or where the form did not reach it, it goes along no column.
                BoundedNode::MaxPool(_, from) => out.extend((0..plan.widths[k + 1]).map(|o| {
                    let (s, t) = self.lines[k].get(o).copied().unwrap_or_default();
                    self.picked[k].get(o).map_or(t, |c| s * before[*from][*c] + t)
                })),
                BoundedNode::Select(columns, from) => out.extend(columns.iter().map(|c| before[*from][*c])),
                BoundedNode::Concat(parts) => parts.iter().for_each(|v| out.extend(&before[*v])),
                BoundedNode::Gate(from, _) => match (self.gate_at, plan.gate.is_some_and(|g| g.0 == k + 1)) {
                    (Some(r), true) => out.extend(before[*from].iter().map(|u| u * r)),
                    _ => out.extend((0..plan.widths[k + 1]).map(|i| self.lines[k].get(i).map_or(0.0, |l| l.1))),
                },
            }
        }
        self.values = values;
    }

    /// The best input as a point: with a gate, its factor at the end that counted.
    pub fn best_input(&self, plan: &BoundPlan) -> Vec<f64> {
        let mut x = self.x.clone();
        if let (Some((_, column)), Some(r)) = (plan.gate, self.gate_at) {
            x[column] = r;
        }
        x
    }
}

/// `a relu(v) <= a (s v + t)` on [l, u].
fn relu_line(a: f64, l: f64, u: f64, lower: Option<f64>) -> (f64, f64) {
    if u <= 0.0 {
        (0.0, 0.0)
    } else if l >= 0.0 {
        (1.0, 0.0)
    } else if a > 0.0 {
        relu_above(l, u)
    } else {
        (lower.unwrap_or_else(|| relu_below(l, u)), 0.0)
    }
}

/// Slope and offset of the line above relu on [l, u], l < 0 < u, as in the checker: rounded to float32, and the offset that goes with that
/// slope.
pub(super) fn relu_above(l: f64, u: f64) -> (f64, f64) {
    let s = f64::from(relu_slope(l, u));
    (s, (-s * l).max((1.0 - s) * u))
}

/// `y . outputs + x . inputs + constant`, plus multiples of known signs.
#[derive(Debug, Clone, Default)]
pub(super) struct SearchForm {
    pub y: Vec<f64>,
    pub x: Vec<f64>,
    pub constant: f64,
    pub signs: Vec<(UnitSign, f64)>,
}
