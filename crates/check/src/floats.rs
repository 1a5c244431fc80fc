//! A region enters; bounds of the network's values leave that hold for certain, computed in float64; and of linear forms in them.
//!
//! The procedure is that of `bounds.rs` and `linear.rs`, some hundred times faster. What it can't tell, exact arithmetic is asked.
//!
//! **Lemma.** Let u = 2^-53, N the number of all columns of all values plus 64, theta = 16 N u. A form `a . v + c` goes back through
//! the network as float64 numbers a' and c'. If each *contribution* p to a coefficient of a column with |v| <= size costs
//! `theta |p| size`, added to c', and if at the end `theta` times the sum m of the magnitudes of all terms of c' is added, and 2^-800,
//! then the result is no less than the form's exact bound.
//!
//! *Proof.* A coefficient is the sum of at most N contributions, one for each column that reads this one and one of the form's own,
//! each a product that is rounded once. Computed in whatever order it is off by at most gamma(N + 1) sum |p| + N 2^-1074, with
//! gamma(k) = k u / (1 - k u) < 2 k u; the second part is underflow. Times |v| that is paid, p by p. Through a dense row with
//! coefficient a the contributions are `a w_j`, and `sum_j |a w_j| size_j <= |a| S`, S the magnitude that float32's error is relative
//! to as well: paid together as |a| charge, charge >= error + theta S. The constant has at most 4 N terms of at most four roundings
//! each: off by at most gamma(4 N + 4) m < theta m / 1.5; m itself, whose terms may be added two by two before they are multiplied, is
//! off by a factor 1 - gamma(4 N + 4), and the last sums by 2 u m.
//! Underflows are at most 2^-1074 each, times sizes below 2^127, fewer than 2^62 of them: less than 2^-800. If a number overflows,
//! the magnitude m is infinite or not a number, and so is the result: nothing is below zero then.

mod columns;
mod lines;

use deepsade_net::ball::ACTIVATION_ERROR;
use deepsade_net::{Activation, Network, Op, Window};
use deepsade_spec::Region;

use crate::bounds::LIBRARY_ERROR;
use crate::certificate::{Arithmetic, Bounds};
use crate::dyadic::Dyadic;
use crate::layout::{Layout, RegionEnds};
use crate::linear::Form;
use crate::machine::{Machine, Sign};
use crate::pool;
use crate::rejected::Overflow;
use columns::{ColumnTerm, Forms, WeightColumns, biases, charges};
use lines::{LowerSlopes, RegionLines};

/// Columns of one value, and of all: so that the lemma's constants hold.
const MOST_COLUMNS: usize = 1 << 20;
const MOST_IN_ALL: usize = 1 << 30;
/// Forms that go back side by side, so that each weight is read once for all of them.
const LANES: usize = 8;
/// Sums of up to 2^21 numbers from 0 on, times this, are no less than the exact ones.
const UP: f64 = 1.0 + power(-30);

/// 2^e, for a normal float64.
const fn power(e: i64) -> f64 {
    f64::from_bits(((1023 + e) as u64) << 52)
}

/// A network, ready for bounds in float64.
pub(crate) struct Floats<'n> {
    network: &'n Network,
    layout: &'n Layout,
    tiny: f64,
    unit: f64,
    widths: Vec<usize>,
    theta: f64,
    /// The weights of each node that is a dense layer.
    columns: Vec<Option<WeightColumns>>,
}

/// Per value and column the ends of an interval that holds whatever is computed there, and what a coefficient of 1 pays for its
/// node's error and for float64's own.
#[derive(Clone, Default)]
pub(crate) struct Boxes {
    lo: Vec<Vec<f64>>,
    hi: Vec<Vec<f64>>,
    charge: Vec<Vec<f64>>,
    /// The columns that are not 0 in every evaluation, and perhaps some that are.
    live: Vec<Vec<usize>>,
    /// The largest magnitude behind a value.
    magnitude: f64,
}

/// The upper bound of a form, and the magnitude of what it was computed from.
#[derive(Clone, Copy)]
pub(crate) struct Upper {
    pub(crate) most: f64,
    pub(crate) size: f64,
}

/// Working memory for bounds of regions, one after another.
pub(crate) struct FloatScratch(Forms<LANES>, RegionLines);

impl FloatScratch {
    pub(crate) fn new() -> Self {
        Self(Forms::new(0), RegionLines::default())
    }
}

impl Boxes {
    fn push(&mut self, lo: Vec<f64>, hi: Vec<f64>, charge: Vec<f64>) {
        self.live.push((0..lo.len()).filter(|i| lo[*i] != 0.0 || hi[*i] != 0.0).collect());
        self.lo.push(lo);
        self.hi.push(hi);
        self.charge.push(charge);
    }

    fn size(&self, value: usize, i: usize) -> f64 {
        self.lo[value][i].abs().max(self.hi[value][i].abs())
    }

    /// The same with signs known, which are facts about the computed values; `None` if no evaluation has them.
    pub(crate) fn with(&self, signs: &[Sign]) -> Option<Self> {
        let mut boxes = self.clone();
        for Sign { node, value, unit, above } in signs {
            let (lo, hi) = (&mut boxes.lo[*value][*unit], &mut boxes.hi[*value][*unit]);
            if *above {
                *lo = lo.max(0.0);
            } else {
                *hi = hi.min(0.0);
            }
            if *lo > *hi {
                return None;
            }
            if !above {
                (boxes.lo[node + 1][*unit], boxes.hi[node + 1][*unit]) = (0.0, 0.0);
            }
        }
        Some(boxes)
    }
}

impl<'n> Floats<'n> {
    /// `None` for operators that only exact arithmetic has.
    pub(crate) fn new(machine: &Machine<'n>) -> Option<Self> {
        let Machine { network, layout, arithmetic } = *machine;
        let widths = network.widths();
        let columns = widths.iter().try_fold(64usize, |sum, w| sum.checked_add(*w))?;
        let exact_only = network.nodes.iter().any(|n| matches!(n.op, Op::Gate | Op::Choose(_)));
        if exact_only || columns > MOST_IN_ALL || widths.iter().any(|w| *w > MOST_COLUMNS) {
            return None;
        }
        let float32 = arithmetic == Arithmetic::Float32;
        let (tiny, unit) = if float32 { (power(-126), power(-24)) } else { (0.0, 0.0) };
        let theta = 16.0 * columns as f64 * power(-53);
        let dense = |op: &Op| if let Op::Dense { w, .. } = op { Some(WeightColumns::new(w)) } else { None };
        let columns = network.nodes.iter().map(|n| dense(&n.op)).collect();
        Some(Self { network, layout, tiny, unit, widths, theta, columns })
    }

    /// Bounds of all values on a region that is not empty, and better ones where those of a larger region are known; an error where
    /// float32 may overflow, or float64 did.
    pub(crate) fn boxes(
        &self,
        region: &Region,
        bounds: Bounds,
        larger: Option<&Boxes>,
        FloatScratch(forms, lines): &mut FloatScratch,
    ) -> Result<Boxes, Overflow> {
        let mut boxes = Boxes::default();
        let (lo, hi): (Vec<f64>, Vec<f64>) = self.layout.ends(region).into_iter().unzip();
        boxes.push(lo, hi, vec![0.0; self.widths[0]]);
        let inputs = self.layout.input_ends(region);
        lines.clear(bounds);
        for (k, node) in self.network.nodes.iter().enumerate() {
            let within = match &node.op {
                Op::Dense { .. } | Op::Conv(_) => {
                    self.extend(lines, &boxes, &LowerSlopes::new());
                    self.dense(k, &mut boxes, (&inputs, forms), (bounds, lines), larger)
                }
                op => self.columns(op, &node.from, &mut boxes),
            };
            let limit = power(127);
            let finite = |ends: &[f64]| ends.iter().all(|v| v.abs() < limit);
            if !within || !finite(&boxes.lo[k + 1]) || !finite(&boxes.hi[k + 1]) {
                return Err(Overflow { node: k, op: node.op.name() });
            }
        }
        Ok(boxes)
    }

    /// The magnitude behind `w . x + b` and the error of its evaluation (see `dot_error`), both rounded up.
    fn magnitude(&self, terms: impl Iterator<Item = (f32, f64)>, b: f32) -> (f64, f64) {
        let (mut n, mut size, mut operands) = (0.0, 0.0, 0.0);
        for (w, x) in terms.filter(|(w, _)| *w != 0.0) {
            let w = f64::from(w.abs());
            size += w * x;
            operands += w + x;
            n += 1.0;
        }
        self.rounded(n, size, operands, b)
    }

    /// The same, given how many weights are not 0, the sum of `|w| x`, and that of all their operands or of more.
    fn rounded(&self, n: f64, products: f64, operands: f64, b: f32) -> (f64, f64) {
        let size = products + f64::from(b.abs());
        let with_b = f64::from(u8::from(b != 0.0 && (n > 0.0 || !b.is_normal())));
        let t = if n > 0.0 { (n + with_b) * self.unit } else { 0.0 };
        let error = (t + 2.0 * t * t) * size + 2.0 * (2.0 * n + with_b + operands) * self.tiny;
        (size * UP, error * UP)
    }

    /// What a coefficient of 1 pays for a value of this size, or a sum of this magnitude, and this error.
    fn charge(&self, size: f64, error: f64) -> f64 {
        (error + self.theta * size) * UP + f64::MIN_POSITIVE
    }

    /// The units of a dense layer or a convolution; whether float32 can't overflow on the way.
    fn dense(
        &self,
        k: usize,
        boxes: &mut Boxes,
        (inputs, forms): (&RegionEnds, &mut Forms<LANES>),
        (bounds, lines): (Bounds, &RegionLines),
        larger: Option<&Boxes>,
    ) -> bool {
        let node = &self.network.nodes[k];
        let (from, units) = (node.from[0], self.widths[k + 1]);
        let sizes: Vec<f64> = (0..self.widths[from]).map(|i| boxes.size(from, i)).collect();
        let sums = self.magnitudes(k, &sizes);
        let charge: Vec<f64> = sums.iter().map(|(size, error)| self.charge(*size, *error)).collect();
        let all: Vec<usize> = (0..units).collect();
        let mut ends = vec![(f64::NEG_INFINITY, f64::INFINITY); units];
        let before = from.checked_sub(1).map(|before| &self.network.nodes[before].op);
        if matches!(before, Some(Op::Act(_) | Op::MaxPool(_))) {
            self.direct(k, &sums, &charge, boxes, &mut ends);
        } else {
            self.rows(k, &all, (boxes, &charge), (inputs, forms), &RegionLines::default(), &mut ends);
        }
        if let Some(larger) = larger {
            let before = larger.lo[k + 1].iter().zip(&larger.hi[k + 1]);
            ends.iter_mut().zip(before).for_each(|(e, (lo, hi))| *e = (e.0.max(*lo), e.1.min(*hi)));
        }
        let last = k + 1 == self.network.nodes.len();
        let open: Vec<usize> = match bounds {
            Bounds::Interval => Vec::new(),
            Bounds::Relational => all,
            Bounds::Inherited => all.into_iter().filter(|o| !last && ends[*o].0 < 0.0 && ends[*o].1 > 0.0).collect(),
        };
        // Of the input itself lines say what intervals say.
        let open = if from == 0 { Vec::new() } else { open };
        self.rows(k, &open, (boxes, &charge), (inputs, forms), lines, &mut ends);
        let (lo, hi) = ends.into_iter().unzip();
        boxes.push(lo, hi, charge);
        boxes.magnitude = sums.iter().fold(boxes.magnitude, |most, (size, _)| most.max(*size));
        sums.iter().all(|(size, error)| size + error < power(127))
    }

    /// Moves the ends of these units of a dense layer or a convolution inward to what forms of its rows say.
    fn rows(
        &self,
        k: usize,
        units: &[usize],
        (boxes, charge): (&Boxes, &[f64]),
        (inputs, forms): (&RegionEnds, &mut Forms<LANES>),
        lines: &RegionLines,
        ends: &mut [(f64, f64)],
    ) {
        let node = &self.network.nodes[k];
        let from = node.from[0];
        let mut row = Vec::new();
        for units in units.chunks(LANES / 2) {
            forms.clear(self.network.nodes.len());
            for (unit, o) in units.iter().enumerate() {
                let b = if let Op::Dense { b, .. } = &node.op { b[*o] } else { node.op.row(*o, &mut row) };
                for (lane, sign) in [(2 * unit, 1.0), (2 * unit + 1, -1.0)] {
                    forms.add(lane, sign * f64::from(b));
                    forms.add(lane, charge[*o]);
                }
                for (i, w) in &row {
                    let mut both = [0.0; LANES];
                    (both[2 * unit], both[2 * unit + 1]) = (f64::from(*w), -f64::from(*w));
                    forms.next.push((*i, both));
                }
            }
            for (i, columns) in self.columns[k].iter().flat_map(|columns| boxes.live[from].iter().map(move |i| (*i, columns))) {
                let (mut both, w) = ([0.0; LANES], columns.column(i));
                units.iter().enumerate().for_each(|(unit, o)| (both[2 * unit], both[2 * unit + 1]) = (w[*o], -w[*o]));
                forms.next.push((i, both));
            }
            forms.give(from, self.widths[from], self.columns[k].is_some());
            let upper = self.upper(forms, boxes, inputs, lines);
            for (unit, o) in units.iter().enumerate() {
                let (lo, hi) = (-upper[2 * unit + 1].most, upper[2 * unit].most);
                // A bound that is not a number says nothing: `max` and `min` keep the other.
                ends[*o] = (ends[*o].0.max(lo), ends[*o].1.min(hi));
            }
        }
    }

    /// The magnitudes behind the units of a dense layer or a convolution and the errors of their evaluation, given the sizes of what it
    /// reads.
    fn magnitudes(&self, k: usize, sizes: &[f64]) -> Vec<(f64, f64)> {
        let op = &self.network.nodes[k].op;
        if let (Some(columns), Op::Dense { b, .. }) = (&self.columns[k], op) {
            let together: f64 = sizes.iter().sum();
            let products = columns.sizes(sizes).into_iter().zip(&columns.rows).zip(b);
            return products.map(|((size, (n, weight)), b)| self.rounded(*n, size, weight + together, *b)).collect();
        }
        let mut row = Vec::new();
        let mut sum = |o: usize| {
            let b = op.row(o, &mut row);
            self.magnitude(row.iter().map(|(i, w)| (*w, sizes[*i])), b)
        };
        (0..self.widths[k + 1]).map(&mut sum).collect()
    }

    /// Ends of the units of a dense layer or a convolution from those of what it reads: what `upper` says where the form stops there at
    /// once. Its coefficients are the weights as they are, so the constant alone is rounded; its terms are no more than the magnitude.
    fn direct(&self, k: usize, sums: &[(f64, f64)], charge: &[f64], boxes: &Boxes, ends: &mut [(f64, f64)]) {
        let node = &self.network.nodes[k];
        let (lo, hi) = (&boxes.lo[node.from[0]], &boxes.hi[node.from[0]]);
        let products = self.columns[k].as_ref().map(|columns| columns.ends(lo, hi));
        let mut row = Vec::new();
        for (o, end) in ends.iter_mut().enumerate() {
            let b = if let Op::Dense { b, .. } = &node.op { b[o] } else { node.op.row(o, &mut row) };
            let (least, most) = products.as_ref().map_or_else(
                || {
                    row.iter().fold((0.0, 0.0), |(least, most), (i, w)| {
                        let (at_lo, at_hi) = (f64::from(*w) * lo[*i], f64::from(*w) * hi[*i]);
                        (least + at_lo.min(at_hi), most + at_lo.max(at_hi))
                    })
                },
                |products| products[o],
            );
            let (b, charge) = (f64::from(b), charge[o]);
            let paid = charge + self.theta * (sums[o].0 + charge) + power(-800);
            *end = (end.0.max(least + b - paid), end.1.min(most + b + paid));
        }
    }

    /// The columns of all other nodes; whether float32 can't overflow on the way.
    fn columns(&self, op: &Op, from: &[usize], boxes: &mut Boxes) -> bool {
        let mut out = (Vec::new(), Vec::new(), Vec::new());
        let mut most = 0.0f64;
        let x = from[0];
        // A result near zero may be flushed to it: only a bound on zero's far side has to move.
        let copied = |(lo, hi): (f64, f64)| {
            let flushed = (if lo > 0.0 && lo < self.tiny { 0.0 } else { lo }, if hi < 0.0 && -hi < self.tiny { 0.0 } else { hi });
            (flushed.0, flushed.1, self.charge(lo.abs().max(hi.abs()), self.tiny))
        };
        let ends = |value: usize, i: usize| (boxes.lo[value][i], boxes.hi[value][i]);
        match op {
            Op::Affine { scale, shift } => {
                for (i, (s, t)) in scale.iter().zip(shift).enumerate() {
                    let (size, error) = self.magnitude([(*s, boxes.size(x, i))].into_iter(), *t);
                    let charge = self.charge(size, error);
                    let ((lo, hi), s, t) = (ends(x, i), f64::from(*s), f64::from(*t));
                    // Three roundings, each at most u times a little more than the magnitude.
                    out.extend([((lo * s).min(hi * s) + t - charge, (lo * s).max(hi * s) + t + charge, charge)]);
                    most = most.max(size + error);
                }
            }
            Op::Select(columns) => out.extend(columns.iter().map(|c| copied(ends(x, *c)))),
            Op::Concat => out.extend(from.iter().flat_map(|v| (0..self.widths[*v]).map(|i| copied(ends(*v, i))))),
            Op::Act(Activation::Relu) => {
                out.extend((0..self.widths[x]).map(|i| copied((boxes.lo[x][i].max(0.0), boxes.hi[x][i].max(0.0)))));
            }
            Op::MaxPool(window) => {
                let mut columns = Vec::new();
                for o in 0..window.results() {
                    window.columns_of(o, &mut columns);
                    let most = |ends: &[f64]| columns.iter().fold(f64::NEG_INFINITY, |most, c| most.max(ends[*c]));
                    out.extend([copied((most(&boxes.lo[x]), most(&boxes.hi[x])))]);
                }
            }
            Op::Act(f) => {
                // See `smooth`; a little more, for the two sums.
                let assumed = if self.tiny > 0.0 { ACTIVATION_ERROR } else { 0.0 };
                let error = (power(LIBRARY_ERROR) + assumed) * (1.0 + power(-10));
                let f = |x: f64| if *f == Activation::Tanh { x.tanh() } else { 1.0 / (1.0 + (-x).exp()) };
                out.extend((0..self.widths[x]).map(|i| (f(boxes.lo[x][i]) - error, f(boxes.hi[x][i]) + error, 0.0)));
            }
            Op::Dense { .. } | Op::Conv(_) | Op::Gate | Op::Choose(_) => return false,
        }
        boxes.push(out.0, out.1, out.2);
        boxes.magnitude = boxes.magnitude.max(most);
        most < power(127)
    }

    /// Upper bounds of forms over all inputs of the region and all evaluations of the network.
    fn upper<const L: usize>(&self, forms: &mut Forms<L>, boxes: &Boxes, inputs: &RegionEnds, lines: &RegionLines) -> [Upper; L] {
        for k in (1..forms.a.len()).rev() {
            let a = std::mem::take(&mut forms.a[k]);
            if !a.is_empty() {
                self.step_back(k, &a, forms, boxes, lines);
            }
            forms.a[k] = a;
        }
        forms.clear_sums(self.widths[0]);
        forms.a[0].iter().for_each(|(i, c)| forms.sums[*i] = *c);
        let a = std::mem::take(&mut forms.sums);
        (0..L).for_each(|l| inputs.most_terms(|column| a[column][l], |term| forms.add(l, term)));
        forms.sums = a;
        std::array::from_fn(|l| {
            let size = forms.size[l];
            Upper { most: forms.constant[l] + self.theta * size + power(-800), size }
        })
    }

    /// Replaces `a . value k` by terms of earlier values that are at least as large.
    fn step_back<const L: usize>(&self, k: usize, a: &[ColumnTerm<L>], forms: &mut Forms<L>, boxes: &Boxes, lines: &RegionLines) {
        let node = &self.network.nodes[k - 1];
        let from = node.from[0];
        let width = self.widths[from];
        forms.next.clear();
        // `a (factor v + shift + e)`, v one column of an earlier value.
        let pass_on = |forms: &mut Forms<L>, (i, a): &ColumnTerm<L>, column: usize, (factor, shift): (f64, f64)| {
            (0..L).for_each(|l| forms.add(l, a[l] * shift));
            (0..L).for_each(|l| forms.add(l, a[l].abs() * boxes.charge[k][*i]));
            forms.next.push((column, a.map(|a| a * factor)));
        };
        match &node.op {
            Op::Dense { .. } | Op::Conv(_) => {
                forms.pay(charges(a, &boxes.charge[k]));
                let Forms { constant, size, next, .. } = forms;
                if let (Op::Dense { b, .. }, Some(columns)) = (&node.op, &self.columns[k - 1]) {
                    let (sum, sizes) = biases(a, b);
                    (0..L).for_each(|l| constant[l] += sum[l]);
                    (0..L).for_each(|l| size[l] += sizes[l]);
                    columns.back(a, &boxes.live[from], next);
                    return forms.give(from, width, true);
                }
                // Rows of convolutions are made one by one.
                let mut row = Vec::new();
                forms.clear_sums(width);
                for (o, a) in a {
                    let b = f64::from(node.op.row(*o, &mut row));
                    (0..L).for_each(|l| forms.add(l, a[l] * b));
                    for (i, w) in &row {
                        (0..L).for_each(|l| forms.sums[*i][l] += a[l] * f64::from(*w));
                    }
                }
                forms.take_sums();
                forms.give(from, width, true);
            }
            Op::MaxPool(window) if lines.relational => self.pool_back(k, window, a, forms, boxes),
            Op::Affine { scale, shift } => {
                a.iter().for_each(|term| pass_on(forms, term, term.0, (f64::from(scale[term.0]), f64::from(shift[term.0]))));
                forms.give(from, width, true);
            }
            Op::Select(columns) => {
                a.iter().for_each(|term| pass_on(forms, term, columns[term.0], (1.0, 0.0)));
                forms.give(from, width, false);
            }
            Op::Concat => {
                let mut first = 0;
                for v in &node.from {
                    let own = first..first + self.widths[*v];
                    a.iter()
                        .filter(|term| own.contains(&term.0))
                        .for_each(|term| pass_on(forms, term, term.0 - first, (1.0, 0.0)));
                    forms.give(*v, self.widths[*v], false);
                    first = own.end;
                }
            }
            Op::Act(Activation::Relu) if lines.relational => {
                let paid = lines::back(&lines.relus[k - 1], a, &mut forms.next);
                forms.pay(paid);
                forms.give(from, width, true);
            }
            Op::Act(_) | Op::Gate | Op::Choose(_) | Op::MaxPool(_) => {
                for (i, a) in a {
                    (0..L).for_each(|l| forms.add(l, a[l] * if a[l] < 0.0 { boxes.lo[k][*i] } else { boxes.hi[k][*i] }));
                }
            }
        }
    }

    /// The same for a max pool, by lines.
    fn pool_back<const L: usize>(&self, k: usize, window: &Window, a: &[ColumnTerm<L>], forms: &mut Forms<L>, boxes: &Boxes) {
        let from = self.network.nodes[k - 1].from[0];
        let mut columns = Vec::new();
        forms.clear_sums(self.widths[from]);
        for (o, a) in a {
            window.columns_of(*o, &mut columns);
            let [above, below] = pool_lines(&columns, &boxes.lo[from], &boxes.hi[from]);
            for (lane, a) in a.iter().enumerate() {
                // What is not a number goes the second way, and stays so.
                let (column, slope, offset) = if *a > 0.0 { above } else { below };
                forms.add(lane, a * offset);
                // The node's own charge pays for a contribution of its size, and this for one of the column's.
                forms.add(lane, a.abs() * (boxes.charge[k][*o] + self.theta * boxes.size(from, column)));
                forms.sums[column][lane] += a * slope;
            }
        }
        forms.take_sums();
        forms.give(from, self.widths[from], true);
    }

    /// The best of several upper bounds of an exact form, as in exact arithmetic: back through the network, by lines where they are
    /// allowed, and from the intervals of all values as they stand.
    pub(crate) fn most(
        &self,
        form: &Form,
        (boxes, region): (&Boxes, &Region),
        bounds: Bounds,
        (slopes, FloatScratch(_, lines)): (&LowerSlopes, &mut FloatScratch),
    ) -> Upper {
        let start = || {
            let mut forms = Forms::<1>::new(form.coefficients.len() - 1);
            forms.add(0, near(&form.constant));
            for (value, coefficients) in form.coefficients.iter().enumerate().filter(|(_, c)| !c.is_empty()) {
                for (i, c) in coefficients.iter().enumerate().filter(|(_, c)| !c.is_zero()) {
                    let c = near(c);
                    forms.a[value].push((i, [c]));
                    // What became of it on the way to float64 is a contribution's rounding, too.
                    forms.add(0, self.theta * c.abs() * boxes.size(value, i));
                }
            }
            forms
        };
        let inputs = self.layout.input_ends(region);
        let mut by = |bounds: Bounds| {
            lines.clear(bounds);
            self.extend(lines, boxes, slopes);
            self.upper(&mut start(), boxes, &inputs, lines)[0]
        };
        let lower = |a: Upper, b: Upper| if b.most < a.most || a.most.is_nan() { b } else { a };
        let mut best = by(bounds);
        if best.most >= 0.0 && bounds != Bounds::Interval {
            best = lower(best, by(Bounds::Interval));
        }
        if best.most >= 0.0 {
            let mut forms = start();
            for (value, a) in std::mem::take(&mut forms.a).iter().enumerate().skip(1) {
                a.iter().for_each(|(i, [a])| {
                    forms.add(0, a * if *a < 0.0 { boxes.lo[value][*i] } else { boxes.hi[value][*i] });
                });
            }
            forms.a = vec![start().a.swap_remove(0)];
            best = lower(best, self.upper(&mut forms, boxes, &inputs, &RegionLines::default())[0]);
        }
        // Terms that cancel on the way count, too.
        let reach = form.coefficients.iter().flatten().map(|c| near(c).abs()).sum::<f64>() * boxes.magnitude;
        Upper { size: best.size + reach, ..best }
    }
}

/// Columns, slopes and offsets of lines above and below the largest of some columns (see `pool`); the offset above is rounded up.
fn pool_lines(columns: &[usize], lo: &[f64], hi: &[f64]) -> [(usize, f64, f64); 2] {
    let chosen = pool::window_lines(columns, &|c| lo[c], &|c| hi[c]);
    let (l, u) = (lo[chosen.above], hi[chosen.above]);
    let s = f64::from(pool::window_slope(l, u, chosen.others));
    // The line at an end, and more than its two roundings cost.
    let end = |v: f64| {
        let most = chosen.others.map_or(v, |r| r.max(v));
        most - s * v + (most.abs() + v.abs()) * power(-50)
    };
    let offset = if s == 1.0 && chosen.others.is_none_or(|r| r <= l) { 0.0 } else { end(l).max(end(u)) };
    [(chosen.above, s, offset), (chosen.below, 1.0, 0.0)]
}

/// The float64 number below an exact one, less than 2^-51 of it away (or 2^-960); not a number where there is none.
fn near(x: &Dyadic) -> f64 {
    let near = x.f64_down();
    if near.abs() < power(900) { near } else { f64::NAN }
}

#[cfg(test)]
mod tests;
