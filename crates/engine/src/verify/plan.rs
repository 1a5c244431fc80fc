//! A network over a schema enters; its float64 copy leaves, with what bounds and gradients need: columns, errors, widths.
//!
//! Everything here steers the search. It repeats the checker's procedure (docs/certificate-format.md) in float64, float32 error terms
//! included, so that what is refuted here is refuted there but for float64 rounding.

use deepsade_check::Arithmetic;
use deepsade_net::ball::{ACTIVATION_ERROR, TINY, UNIT, gamma};
use deepsade_net::{Activation, Conv, Network, Op, Window};
use deepsade_spec::{ColumnKind, ColumnMap, Region, Schema};

use super::pass::{Pass, Reach};
use super::{product, windows};

/// One node; values are numbered as in [`Network`].
#[derive(Debug, Clone)]
pub(super) enum BoundedNode {
    /// Weights row by row, and column by column.
    Dense {
        w: Vec<f64>,
        by_column: Vec<f64>,
        b: Vec<f64>,
        cols: usize,
        from: usize,
    },
    Affine {
        scale: Vec<f64>,
        shift: Vec<f64>,
        from: usize,
    },
    Act(Activation, usize),
    Select(Vec<usize>, usize),
    Concat(Vec<usize>),
    Gate(usize, usize),
    Conv(Conv, usize),
    MaxPool(Window, usize),
}

/// The network in float64, and where features stand among its columns.
#[derive(Debug, Clone)]
pub(super) struct BoundPlan {
    pub steps: Vec<BoundedNode>,
    pub widths: Vec<usize>,
    /// Where features stand among the columns.
    pub map: ColumnMap,
    /// The last gate's value and the raw column of its factor, if that is a number.
    pub gate: Option<(usize, usize)>,
    /// For each row of a dense node how many weights are not 0, and the sum of their magnitudes.
    rows: Vec<Vec<(usize, f64)>>,
    /// Whether that number is 0 or at least 1 in size.
    gate_whole: bool,
    float32: bool,
}

/// A region as the network's columns see it.
#[derive(Debug, Clone)]
pub(super) struct InputBox {
    pub lo: Vec<f64>,
    pub hi: Vec<f64>,
    /// Each category and its allowed levels.
    pub categories: Vec<(usize, Vec<bool>)>,
}

/// Intervals of every value on a region, and the error of each node's own operation.
#[derive(Debug, Clone)]
pub(super) struct SearchBoxes {
    pub lo: Vec<Vec<f64>>,
    pub hi: Vec<Vec<f64>>,
    pub error: Vec<Vec<f64>>,
}

impl SearchBoxes {
    pub fn size(&self, value: usize, i: usize) -> f64 {
        self.lo[value][i].abs().max(self.hi[value][i].abs())
    }
}

impl BoundPlan {
    pub fn new(network: &Network, schema: &Schema, arithmetic: Arithmetic) -> Self {
        let f = |v: &[f32]| v.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
        let steps = network.nodes.iter().map(|node| match &node.op {
            Op::Dense { w, b } => {
                let (b, cols, from, w) = (f(b), w.cols, node.from[0], f(&w.data));
                BoundedNode::Dense { by_column: product::transposed(&w, cols), w, b, cols, from }
            }
            Op::Affine { scale, shift } => BoundedNode::Affine { scale: f(scale), shift: f(shift), from: node.from[0] },
            Op::Act(activation) => BoundedNode::Act(*activation, node.from[0]),
            Op::Select(columns) => BoundedNode::Select(columns.clone(), node.from[0]),
            Op::Concat => BoundedNode::Concat(node.from.clone()),
            Op::Gate => BoundedNode::Gate(node.from[0], node.from[1]),
            Op::Conv(conv) => BoundedNode::Conv(conv.clone(), node.from[0]),
            Op::MaxPool(window) => BoundedNode::MaxPool(window.clone(), node.from[0]),
            Op::Choose(_) => unreachable!("networks that choose have an answer of their own, or none"),
        });
        let steps: Vec<BoundedNode> = steps.collect();
        let columns = schema.columns();
        let gate = steps.iter().rposition(|s| matches!(s, BoundedNode::Gate(..))).and_then(|k| {
            let BoundedNode::Gate(_, factor) = &steps[k] else { return None };
            match steps.get(factor.checked_sub(1)?)? {
                BoundedNode::Select(selected, 0) => {
                    let column = *selected.first()?;
                    (columns[column].kind == ColumnKind::Number).then_some((k + 1, column))
                }
                _ => None,
            }
        });
        let domain = |c: usize| &schema.features[columns[c].feature].domain;
        let gate_whole = gate.is_some_and(|(_, c)| domain(c).grid().is_some_and(|k| k <= 0));
        let rows = steps.iter().map(weights_of_rows).collect();
        Self {
            steps,
            widths: network.widths(),
            map: schema.column_map(),
            gate,
            rows,
            gate_whole,
            float32: arithmetic == Arithmetic::Float32,
        }
    }

    /// The value of the outputs.
    pub fn output(&self) -> usize {
        self.steps.len()
    }

    pub fn inputs(&self, region: &Region) -> InputBox {
        let width = self.widths[0];
        let mut inputs = InputBox { lo: vec![0.0; width], hi: vec![1.0; width], categories: Vec::new() };
        for (f, columns) in self.map.features().enumerate() {
            if let Some((lo, hi)) = region.range(f) {
                (inputs.lo[columns.start], inputs.hi[columns.start]) = (lo, hi);
            } else if let Some(allowed) = region.levels(f) {
                for l in 0..allowed.len() {
                    let column = self.map.level(f, l).zip(region.column_range(f, ColumnKind::Level(l)));
                    let Some((column, range)) = column else { continue };
                    (inputs.lo[column], inputs.hi[column]) = range;
                }
                inputs.categories.push((f, allowed.to_vec()));
            }
        }
        inputs
    }

    /// The error of a dot product with these magnitudes (see the checker's `dot_error`).
    fn dot_error(&self, terms: usize, bias: bool, size: f64, operands: f64) -> f64 {
        if !self.float32 || terms == 0 {
            return 0.0;
        }
        let k = terms + usize::from(bias);
        let flushes = 2.0 * ((2 * terms + usize::from(bias)) as f64 + operands) * TINY;
        (gamma(k) * size + flushes) * (1.0 + 1e-9)
    }

    /// Whether the question is about exact arithmetic.
    pub fn is_real(&self) -> bool {
        !self.float32
    }

    pub fn tiny(&self) -> f64 {
        if self.float32 { TINY } else { 0.0 }
    }

    fn product_error(&self, g: f64, u: f64) -> f64 {
        if self.float32 { UNIT * g * u * (1.0 + 1e-6) + TINY * (8.0 + 4.0 * (g + u)) } else { 0.0 }
    }

    /// The error of the last gate's products at one end r of its factor's range (see the checker's `gate_error`).
    pub fn gate_error(&self, r: f64, (lo, hi): (f64, f64), u: f64) -> f64 {
        let size = lo.abs().max(hi.abs());
        if !self.float32 || size == 0.0 {
            return 0.0;
        }
        let one_sided = lo >= 0.0 || hi <= 0.0;
        let reach = if one_sided { r.abs() } else { size };
        let flushes = 2.0 * (2.0 + size + 2.0 * u) * TINY;
        UNIT * reach * u + if one_sided && self.gate_whole { flushes * reach } else { flushes }
    }

    /// Intervals of every value. With a prior (of a larger region) none is wider than there, and signs that are known stay so.
    pub fn boxes(&self, inputs: &InputBox, kind: Reach, prior: Option<&SearchBoxes>, pass: &mut Pass) -> SearchBoxes {
        let mut boxes =
            SearchBoxes { lo: vec![inputs.lo.clone()], hi: vec![inputs.hi.clone()], error: vec![vec![0.0; inputs.lo.len()]] };
        pass.rows.enter(self);
        for (k, step) in self.steps.iter().enumerate() {
            let (lo, hi, error) = self.step(k, step, inputs, &boxes, (kind, prior), pass);
            boxes.lo.push(lo);
            boxes.hi.push(hi);
            boxes.error.push(error);
        }
        boxes
    }

    fn step(
        &self,
        k: usize,
        step: &BoundedNode,
        inputs: &InputBox,
        boxes: &SearchBoxes,
        (kind, prior): (Reach, Option<&SearchBoxes>),
        pass: &mut Pass,
    ) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let tiny = self.tiny();
        let flushed = |lo: f64, hi: f64| {
            (if lo > 0.0 && lo < tiny { 0.0 } else { lo }, if hi < 0.0 && -hi < tiny { 0.0 } else { hi }, tiny)
        };
        match step {
            BoundedNode::Dense { .. } | BoundedNode::Conv(..) => self.linear(k, inputs, boxes, (kind, prior), pass),
            BoundedNode::Affine { scale, shift, from } => {
                let column = |(i, (s, t)): (usize, (&f64, &f64))| {
                    let (a, b) = (boxes.lo[*from][i] * s + t, boxes.hi[*from][i] * s + t);
                    let size = boxes.size(*from, i);
                    let n = usize::from(*s != 0.0);
                    let error = self.dot_error(n, *t != 0.0, size * s.abs() + t.abs(), size + s.abs());
                    (a.min(b) - error, a.max(b) + error, error)
                };
                unzip(scale.iter().zip(shift).enumerate().map(column))
            }
            BoundedNode::Select(columns, from) => {
                unzip(columns.iter().map(|c| flushed(boxes.lo[*from][*c], boxes.hi[*from][*c])))
            }
            BoundedNode::Concat(parts) => {
                unzip(parts.iter().flat_map(|v| (0..self.widths[*v]).map(move |i| flushed(boxes.lo[*v][i], boxes.hi[*v][i]))))
            }
            BoundedNode::Act(Activation::Relu, from) => {
                unzip((0..self.widths[*from]).map(|i| flushed(boxes.lo[*from][i].max(0.0), boxes.hi[*from][i].max(0.0))))
            }
            BoundedNode::MaxPool(window, from) => {
                let ends = windows::ends(window, &boxes.lo[*from], &boxes.hi[*from]);
                unzip(ends.into_iter().map(|(lo, hi)| flushed(lo, hi)))
            }
            BoundedNode::Act(f, from) => {
                let slack = if self.float32 { ACTIVATION_ERROR } else { 0.0 } + 1e-11;
                let f = |x: f64| activate(*f, x);
                unzip((0..self.widths[*from]).map(|i| (f(boxes.lo[*from][i]) - slack, f(boxes.hi[*from][i]) + slack, 0.0)))
            }
            BoundedNode::Gate(from, factor) => unzip((0..self.widths[*from]).map(|i| {
                let (x, g) = ((boxes.lo[*from][i], boxes.hi[*from][i]), (boxes.lo[*factor][0], boxes.hi[*factor][0]));
                let corners = [x.0 * g.0, x.0 * g.1, x.1 * g.0, x.1 * g.1];
                let (lo, hi) = corners.iter().fold((f64::MAX, f64::MIN), |(a, b), c| (a.min(*c), b.max(*c)));
                let error = self.product_error(boxes.size(*factor, 0), boxes.size(*from, i));
                let below = if lo >= 0.0 { (lo - error).max(0.0) } else { lo - error };
                let above = if hi <= 0.0 { (hi + error).min(0.0) } else { hi + error };
                (below, above, error)
            })),
        }
    }

    /// The units of a dense layer or a convolution: by intervals, no wider than on a larger region, and where a relu's sign is still open by lines.
    fn linear(
        &self,
        k: usize,
        inputs: &InputBox,
        boxes: &SearchBoxes,
        (kind, prior): (Reach, Option<&SearchBoxes>),
        pass: &mut Pass,
    ) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let (from, units) = (self.steps[k].reads(), self.widths[k + 1]);
        let sizes: Vec<f64> = (0..self.widths[from]).map(|i| boxes.size(from, i)).collect();
        let (most, together) = (self.steps[k].magnitudes(&sizes), sizes.iter().sum::<f64>());
        let b: Vec<f64> = (0..units).map(|o| self.steps[k].bias(o)).collect();
        let own_error = |o: usize| {
            let (terms, weight) = self.rows[k][o];
            self.dot_error(terms, b[o] != 0.0, most.get(o).map_or(0.0, |m| *m) + b[o].abs(), weight + together)
        };
        let error: Vec<f64> = (0..units).map(own_error).collect();
        let (mut lo, mut hi) = (vec![f64::NEG_INFINITY; units], vec![f64::INFINITY; units]);
        let mut narrow = |units: &[usize], kind: Reach, lo: &mut [f64], hi: &mut [f64]| {
            let bounds = pass.rows.bounds(self, kind, (k, units), from, boxes, inputs);
            for (&o, ends) in units.iter().zip(bounds.chunks_exact(2)) {
                hi[o] = hi[o].min(ends[0] + b[o] + error[o]);
                lo[o] = lo[o].max(-(ends[1] - b[o] + error[o]));
            }
        };
        let all: Vec<usize> = (0..units).collect();
        if let BoundedNode::Dense { w, .. } = &self.steps[k]
            && from.checked_sub(1).is_some_and(|before| matches!(self.steps[before], BoundedNode::Act(..)))
        {
            product::ends(w, &boxes.lo[from], &boxes.hi[from], &mut lo, &mut hi);
            (0..units).for_each(|o| (lo[o], hi[o]) = (lo[o] + b[o] - error[o], hi[o] + b[o] + error[o]));
        } else {
            narrow(&all, Reach::Interval, &mut lo, &mut hi);
        }
        if let Some(prior) = prior {
            lo.iter_mut().zip(&prior.lo[k + 1]).for_each(|(v, p)| *v = v.max(*p));
            hi.iter_mut().zip(&prior.hi[k + 1]).for_each(|(v, p)| *v = v.min(*p));
        }
        // Of the input itself lines say the same as intervals.
        if kind == Reach::Lines && from > 0 && k + 1 < self.steps.len() {
            let open: Vec<usize> = all.into_iter().filter(|o| lo[*o] < 0.0 && hi[*o] > 0.0).collect();
            narrow(&open, Reach::Lines, &mut lo, &mut hi);
        }
        (lo, hi, error)
    }

    /// Whether a float32 runtime may leave its range on the way to some value of this input.
    pub fn may_overflow_at(&self, x: &[f32]) -> bool {
        let x: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
        let inputs = InputBox { lo: x.clone(), hi: x, categories: Vec::new() };
        self.exceeds_float32(&self.boxes(&inputs, Reach::Interval, None, &mut Pass::default()))
    }

    /// Whether float32 may leave its range on the way to some value, if the question is about it: no bound here means anything then.
    pub fn may_overflow(&self, boxes: &SearchBoxes) -> bool {
        self.float32 && self.exceeds_float32(boxes)
    }

    fn exceeds_float32(&self, boxes: &SearchBoxes) -> bool {
        let most = |step: &BoundedNode| match step {
            BoundedNode::Dense { w, b, cols, from, .. } => {
                let row = |(row, b): (&[f64], &f64)| {
                    row.iter().enumerate().map(|(i, w)| w.abs() * boxes.size(*from, i)).sum::<f64>() + b.abs()
                };
                w.chunks_exact(*cols).zip(b).map(row).fold(0.0, f64::max)
            }
            BoundedNode::Conv(conv, from) => {
                let sizes: Vec<f64> = (0..self.widths[*from]).map(|i| boxes.size(*from, i)).collect();
                let bias = conv.b.iter().fold(0.0f64, |m, b| m.max(f64::from(b.abs())));
                step.magnitudes(&sizes).into_iter().fold(0.0, f64::max) + bias
            }
            BoundedNode::Affine { scale, shift, from } => {
                let column = |(i, (s, t)): (usize, (&f64, &f64))| s.abs() * boxes.size(*from, i) + t.abs();
                scale.iter().zip(shift).enumerate().map(column).fold(0.0, f64::max)
            }
            BoundedNode::Gate(from, factor) => {
                (0..self.widths[*from]).map(|i| boxes.size(*from, i) * boxes.size(*factor, 0)).fold(0.0, f64::max)
            }
            BoundedNode::Act(..) | BoundedNode::Select(..) | BoundedNode::Concat(..) | BoundedNode::MaxPool(..) => 0.0,
        };
        let finite = |ends: &Vec<f64>| ends.iter().all(|v| v.is_finite());
        let within = boxes.lo.iter().chain(&boxes.hi).all(finite);
        !(within && self.steps.iter().all(|step| most(step) * (1.0 + 1e-3) < f64::from(f32::MAX)))
    }

    /// All values for one input row, exactly but for float64 rounding.
    pub fn values(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let mut values = vec![x.to_vec()];
        for step in &self.steps {
            let value = match step {
                BoundedNode::Dense { w, b, from, .. } => {
                    let mut out = Vec::with_capacity(b.len());
                    product::times(w, b, &values[*from], &mut out);
                    out
                }
                BoundedNode::Affine { scale, shift, from } => {
                    values[*from].iter().zip(scale.iter().zip(shift)).map(|(x, (s, t))| x * s + t).collect()
                }
                BoundedNode::Act(f, from) => values[*from].iter().map(|v| activate(*f, *v)).collect(),
                BoundedNode::Conv(conv, from) => conv.times(&values[*from]),
                BoundedNode::MaxPool(window, from) => {
                    windows::largest(window, &values[*from]).map(|c| values[*from][c]).collect()
                }
                BoundedNode::Select(columns, from) => columns.iter().map(|c| values[*from][*c]).collect(),
                BoundedNode::Concat(parts) => parts.iter().flat_map(|v| values[*v].iter().copied()).collect(),
                BoundedNode::Gate(from, factor) => values[*from].iter().map(|u| u * values[*factor][0]).collect(),
            };
            values.push(value);
        }
        values
    }

    /// The gradient of `c . outputs` with respect to the input, at a point given by its values.
    pub fn gradient(&self, c: &[f64], values: &[Vec<f64>]) -> Vec<f64> {
        let mut gradient: Vec<Vec<f64>> = self.widths.iter().map(|w| vec![0.0; *w]).collect();
        gradient[self.output()].copy_from_slice(c);
        for (k, step) in self.steps.iter().enumerate().rev() {
            let a = std::mem::take(&mut gradient[k + 1]);
            match step {
                BoundedNode::Dense { w, from, .. } => product::back(w, &a, &mut gradient[*from]),
                BoundedNode::Affine { scale, from, .. } => {
                    gradient[*from].iter_mut().zip(a.iter().zip(scale)).for_each(|(g, (a, s))| *g += a * s);
                }
                BoundedNode::Conv(conv, from) => {
                    conv.back(&a, &mut gradient[*from]);
                }
                BoundedNode::MaxPool(window, from) => {
                    windows::largest(window, &values[*from]).zip(&a).for_each(|(c, a)| gradient[*from][c] += a);
                }
                BoundedNode::Act(f, from) => {
                    for (i, a) in a.iter().enumerate() {
                        let (v, y) = (values[*from][i], values[k + 1][i]);
                        gradient[*from][i] += a * match f {
                            Activation::Relu => f64::from(u8::from(v > 0.0)),
                            Activation::Sigmoid => y * (1.0 - y),
                            Activation::Tanh => 1.0 - y * y,
                        };
                    }
                }
                BoundedNode::Select(columns, from) => a.iter().zip(columns).for_each(|(a, c)| gradient[*from][*c] += a),
                BoundedNode::Concat(parts) => {
                    let mut at = 0;
                    for v in parts {
                        gradient[*v].iter_mut().zip(&a[at..]).for_each(|(g, a)| *g += a);
                        at += self.widths[*v];
                    }
                }
                BoundedNode::Gate(from, factor) => {
                    let r = values[*factor][0];
                    gradient[*factor][0] += a.iter().zip(&values[*from]).map(|(a, u)| a * u).sum::<f64>();
                    gradient[*from].iter_mut().zip(&a).for_each(|(g, a)| *g += a * r);
                }
            }
        }
        gradient.swap_remove(0)
    }
}

impl BoundedNode {
    /// What a dense layer or a convolution reads.
    fn reads(&self) -> usize {
        if let Self::Dense { from, .. } | Self::Conv(_, from) = self { *from } else { 0 }
    }

    /// The offset of one of its units.
    fn bias(&self, o: usize) -> f64 {
        match self {
            Self::Dense { b, .. } => b[o],
            Self::Conv(conv, _) => f64::from(conv.b[o / (conv.rows() / conv.b.len())]),
            _ => 0.0,
        }
    }

    /// The sums of `|w| x` of its units.
    fn magnitudes(&self, x: &[f64]) -> Vec<f64> {
        match self {
            Self::Dense { w, .. } => product::sizes(w, x),
            Self::Conv(conv, _) => windows::rows(conv, |row| row.iter().map(|(i, w)| f64::from(w.abs()) * x[*i]).sum()),
            _ => Vec::new(),
        }
    }
}

fn weights_of_rows(step: &BoundedNode) -> Vec<(usize, f64)> {
    if let BoundedNode::Conv(conv, _) = step {
        return windows::rows(conv, |row| (row.len(), row.iter().map(|(_, w)| f64::from(w.abs())).sum()));
    }
    let BoundedNode::Dense { w, b, cols, .. } = step else { return Vec::new() };
    let row = |o: usize| &w[o * cols..(o + 1) * cols];
    (0..b.len()).map(|o| (row(o).iter().filter(|w| **w != 0.0).count(), row(o).iter().map(|w| w.abs()).sum())).collect()
}

fn activate(f: Activation, v: f64) -> f64 {
    match f {
        Activation::Relu => v.max(0.0),
        Activation::Sigmoid => 1.0 / (1.0 + (-v).exp()),
        Activation::Tanh => v.tanh(),
    }
}

fn unzip(columns: impl Iterator<Item = (f64, f64, f64)>) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut out = (Vec::new(), Vec::new(), Vec::new());
    for (lo, hi, error) in columns {
        out.0.push(lo);
        out.1.push(hi);
        out.2.push(error);
    }
    out
}

impl InputBox {
    /// The largest `c . x` and where it is taken: numbers at an end, categories at their best allowed level.
    pub fn most(&self, c: &[f64], map: &ColumnMap, x: &mut Vec<f64>) -> f64 {
        x.clear();
        x.extend(c.iter().zip(self.lo.iter().zip(&self.hi)).map(|(c, (lo, hi))| if *c < 0.0 { *lo } else { *hi }));
        for (feature, allowed) in &self.categories {
            let weight = |l: usize| map.level(*feature, l).map_or(0.0, |column| c[column]);
            let levels = (0..allowed.len()).filter(|l| allowed[*l]);
            let best = levels.fold(None, |best: Option<usize>, l| best.filter(|b| weight(*b) >= weight(l)).or(Some(l)));
            if let Some(best) = best {
                map.put_level(*feature, best, x);
            }
        }
        c.iter().zip(&*x).map(|(c, x)| c * x).sum()
    }
}

#[cfg(test)]
mod tests;
