//! A linear form in the computed values enters; an upper bound of it over a region leaves.
//!
//! Going from the last node to the first, each value is replaced by what its node computes from earlier ones, or by an end of its
//! interval. What reaches the input is maximised there, together with what the form said about the input itself.

use deepsade_net::{Activation, Op};
use deepsade_spec::Region;

use crate::certificate::{Arithmetic, Bounds};
use crate::dyadic::{Dyadic, Interval, LONG, SHORT};
use crate::machine::{Known, Machine};
use crate::pool;

/// `sum of coefficient * value + constant`; an empty list stands for zeros. Value 0, the input, always has its list.
#[derive(Clone)]
pub(crate) struct Form {
    pub(crate) coefficients: Vec<Vec<Dyadic>>,
    pub(crate) constant: Dyadic,
}

/// One end of the range of a gate's factor r, a column of the raw input that the gate node `value` reads through one Select.
pub(crate) struct GateEnd {
    value: usize,
    column: usize,
    at: Dyadic,
    /// The largest |r| of the region.
    size: Dyadic,
    /// r does not change its sign.
    one_sided: bool,
    /// r is a whole number.
    whole: bool,
}

/// The slope of the line above relu on [l, u], for whoever looks for a proof, too. Any is sound, this one is good; a NaN becomes 0.
#[inline]
pub fn relu_slope(l: f64, u: f64) -> f32 {
    (u / (u - l)).clamp(0.0, 1.0) as f32
}

/// The slope of the line through 0 below relu on [l, u], l < 0 < u, where a certificate states none: the one that loses less.
#[inline]
pub fn relu_below(l: f64, u: f64) -> f64 {
    f64::from(u8::from(u > -l))
}

impl Form {
    /// Zero, over the input of this width and values up to `last`.
    pub(crate) fn new(inputs: usize, last: usize) -> Self {
        let mut coefficients = vec![Vec::new(); last + 1];
        coefficients[0] = vec![Dyadic::default(); inputs];
        Self { coefficients, constant: Dyadic::default() }
    }

    /// Adds terms `c * column i` of one value of the given width.
    pub(crate) fn add(&mut self, value: usize, width: usize, terms: impl Iterator<Item = (usize, Dyadic)>) {
        let target = &mut self.coefficients[value];
        if target.is_empty() {
            target.resize(width, Dyadic::default());
        }
        terms.for_each(|(i, c)| target[i] += &c);
    }
}

impl Machine<'_> {
    /// An upper bound of a form over all inputs of the region and all evaluations of the network.
    pub(crate) fn upper(&self, mut form: Form, known: &Known, region: &Region, bounds: Bounds, gate: Option<&GateEnd>) -> Dyadic {
        for k in (1..form.coefficients.len()).rev() {
            let mut a = std::mem::take(&mut form.coefficients[k]);
            if a.is_empty() {
                continue;
            }
            // A long coefficient is rounded down to a': a v <= a' v + (a - a') |v|.
            for (a, v) in a.iter_mut().zip(&known.values[k]) {
                let short = a.clone().down(SHORT);
                form.constant.add_product(&(&*a - &short), &v.size());
                *a = short;
            }
            self.step_back(k, &a, &mut form, known, bounds, gate);
            form.constant = form.constant.up(LONG);
        }
        &form.constant + &self.layout.most(region, &form.coefficients[0])
    }

    /// Replaces `a . value k` by terms of earlier values that are at least as large.
    fn step_back(&self, k: usize, a: &[Dyadic], form: &mut Form, known: &Known, bounds: Bounds, gate: Option<&GateEnd>) {
        let node = &self.network.nodes[k - 1];
        let from = node.from[0];
        let width = known.values[from].len();
        let used = || a.iter().enumerate().filter(|(_, a)| !a.is_zero());
        // The node's own error e has |e| <= error: a e <= |a| error.
        let charge = |form: &mut Form| {
            used().for_each(|(o, a)| form.constant.add_product(&a.abs(), &known.errors[k][o]));
        };
        match &node.op {
            Op::Dense { .. } | Op::Conv(_) => {
                charge(form);
                let mut row = Vec::new();
                for (o, a) in used() {
                    let b = node.op.row(o, &mut row);
                    form.constant.add_product(a, &Dyadic::from(b));
                    form.add(from, width, std::iter::empty());
                    for (i, w) in &row {
                        form.coefficients[from][*i].add_product(a, &Dyadic::from(*w));
                    }
                }
            }
            Op::Affine { scale, shift } => {
                charge(form);
                used().for_each(|(i, a)| form.constant.add_product(a, &Dyadic::from(shift[i])));
                form.add(from, width, used().map(|(i, a)| (i, a * &Dyadic::from(scale[i]))));
            }
            Op::Select(columns) => {
                charge(form);
                form.add(from, width, used().map(|(i, a)| (columns[i], a.clone())));
            }
            Op::Concat => {
                charge(form);
                let mut rest = a;
                for v in &node.from {
                    let (part, after) = rest.split_at(known.values[*v].len());
                    form.add(*v, part.len(), part.iter().cloned().enumerate());
                    rest = after;
                }
            }
            Op::Act(Activation::Relu) if bounds != Bounds::Interval => {
                let mut terms = Vec::new();
                for (i, a) in used() {
                    let (slope, constant) = self.relu(a, &known.values[from][i], known.slopes.get(&(k - 1, i)));
                    form.constant += &constant;
                    terms.push((i, slope));
                }
                form.add(from, width, terms.into_iter());
            }
            Op::MaxPool(window) if bounds != Bounds::Interval => {
                charge(form);
                let (mut columns, mut terms) = (Vec::new(), Vec::new());
                for (o, a) in used() {
                    window.columns_of(o, &mut columns);
                    let (column, slope, constant) = pool::line(a, &columns, &known.values[from]);
                    form.constant += &constant;
                    terms.push((column, slope));
                }
                form.add(from, width, terms.into_iter());
            }
            // With r at one end the product is linear: a (r u + e), and the form's own terms in r are taken at the same end.
            Op::Gate if gate.is_some_and(|g| g.value == k) => {
                let Some(g) = gate else { return };
                // First, for u may be the input itself: its terms are of u, which does not go to an end with r.
                let own = std::mem::take(&mut form.coefficients[0][g.column]);
                form.constant.add_product(&own, &g.at);
                for (i, a) in used() {
                    form.constant.add_product(&a.abs(), &self.gate_error(g, &known.values[from][i]));
                }
                form.add(from, width, used().map(|(i, a)| (i, a * &g.at)));
            }
            Op::Act(_) | Op::Gate | Op::Choose(_) | Op::MaxPool(_) => {
                used().for_each(|(i, a)| form.constant += &known.values[k][i].most(a));
            }
        }
    }

    /// `(s', c)` with `a relu(v) <= s' v + c` for every v of the interval, relu as computed: max(0, v), or 0 if that is denormal.
    ///
    /// a > 0: computed <= max(0, v) <= s v + max(-s l, (1 - s) u) for any s in [0, 1]: convex, so true at l, 0 and u suffices.
    /// a < 0: computed >= s v - tiny for any s in [0, 1]: at v >= 0 as computed >= v - tiny, at v < 0 as computed is 0.
    pub(crate) fn relu(&self, a: &Dyadic, v: &Interval, lower: Option<&Dyadic>) -> (Dyadic, Dyadic) {
        if !v.hi.is_positive() {
            return (Dyadic::default(), Dyadic::default());
        }
        if a.is_negative() {
            let steep = || Dyadic::int(i64::from(v.hi > -&v.lo));
            let s = if v.lo.is_negative() { lower.cloned().unwrap_or_else(steep) } else { Dyadic::int(1) };
            return if s.is_zero() { (s.clone(), s) } else { (a * &s, &a.abs() * &self.arithmetic.tiny()) };
        }
        if !v.lo.is_negative() {
            return (a.clone(), Dyadic::default());
        }
        let (l, u) = (v.lo.f64_down(), v.hi.f64_up());
        let s = Dyadic::from(relu_slope(l, u));
        let c = (&-&s * &v.lo).max(&(&Dyadic::int(1) - &s) * &v.hi);
        (a * &s, a * &c)
    }

    /// The ends of the range of r for the last gate `y = r u`, if r is a number of the raw input read through a Select.
    ///
    /// For fixed u and other inputs the form is linear in r, so at most its larger value at the two ends. At each end u is then
    /// bounded over the whole region, r included: independently, hence soundly.
    pub(crate) fn gate_ends(&self, region: &Region) -> Option<[GateEnd; 2]> {
        let value = self.network.nodes.iter().rposition(|n| n.op == Op::Gate)? + 1;
        let factor = self.network.nodes.get(self.network.nodes[value - 1].from[1].checked_sub(1)?)?;
        let (Op::Select(columns), [0]) = (&factor.op, factor.from.as_slice()) else { return None };
        let column = *columns.first()?;
        let feature = self.layout.number(column)?;
        let ((lo, hi), whole) = (region.range(feature)?, region.step(feature).is_some_and(|step| step >= 1.0));
        let ends = [lo, hi].map(Dyadic::float);
        let size = ends[0].abs().max(ends[1].abs());
        let one_sided = !ends[0].is_negative() || !ends[1].is_positive();
        Some(ends.map(|at| GateEnd { value, column, at, size: size.clone(), one_sided, whole }))
    }

    /// A bound of |computed y - r u| that is linear in r, at one end of r; u within its interval.
    ///
    /// The product rounds once: 2^-24 |r| |u|, linear where r keeps its sign. Flushes (of r in its Select, of both operands, of the
    /// result) cost at most `tiny (2 + |r| + 2 |u|)`, twice to cover later roundings, and nothing at r = 0; where other |r| are
    /// at least 1 (whole numbers, multiples of a larger step) |r| times that is a bound, too, and linear.
    fn gate_error(&self, g: &GateEnd, u: &Interval) -> Dyadic {
        if g.size.is_zero() || self.arithmetic == Arithmetic::Real {
            return Dyadic::default();
        }
        let u = u.size();
        let r = if g.one_sided { g.at.abs() } else { g.size.clone() };
        let rounding = &(&r * &u) * &self.arithmetic.unit();
        let flushes = &Dyadic::int(2) * &(&(&Dyadic::int(2) + &g.size) + &(&Dyadic::int(2) * &u));
        let flushes = if g.one_sided && g.whole { &flushes * &r } else { flushes };
        &rounding + &(&flushes * &self.arithmetic.tiny())
    }
}
