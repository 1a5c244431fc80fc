//! A network, a region and a feature enter; intervals of the slopes of linear forms of its outputs leave.
//!
//! In exact arithmetic a network is continuous, and between two inputs that differ in some features it changes by the integral of its
//! slopes along the segment between them. So bounds of the slopes on regions that cover the domain, with nothing between them, bound the
//! change. What is computed in float32 lies within `errors` of the exact outputs, in any order of operations, for each of two inputs.

use deepsade_net::ball::ACTIVATION_ERROR;
use deepsade_net::{Activation, Op, Window};
use deepsade_spec::{Linear, Rational, Var, common_denominator};

use crate::dyadic::{Dyadic, Interval};
use crate::machine::{Known, Machine};
use crate::rejected::Misfit;

/// A linear form of outputs with whole coefficients, and what it was multiplied by to get them.
pub(crate) struct Whole {
    terms: Vec<(usize, Dyadic)>,
    pub(crate) denominator: Rational,
}

impl Whole {
    pub(crate) fn new(linear: &Linear) -> Self {
        let denominator = Rational::from(common_denominator(linear.terms.values()));
        let whole = |c: &Rational| Dyadic::int((c * &denominator).numerator().clone());
        let output = |(var, c): (&Var, &Rational)| if let Var::Output(j) = var { Some((*j, whole(c))) } else { None };
        Self { terms: linear.terms.iter().filter_map(output).collect(), denominator }
    }

    /// An upper bound of its error, from those of the outputs.
    pub(crate) fn error(&self, errors: &[Dyadic]) -> Rational {
        let mut sum = Dyadic::default();
        self.terms.iter().for_each(|(j, c)| sum.add_product(&c.abs(), &errors[*j]));
        sum.rational()
    }
}

/// The slopes of a network's values in one feature, on a region.
pub(crate) struct Slopes<'k> {
    values: Vec<Vec<Interval>>,
    known: &'k Known,
}

impl Machine<'_> {
    /// The slopes of all values in a number, where `known` holds. A relu has slope 1 where what it reads is never negative, 0 where it is
    /// never positive, and something between elsewhere; a sigmoid has at most 1/4, tanh at most 1.
    pub(crate) fn slopes<'k>(&self, feature: usize, known: &'k Known) -> Result<Slopes<'k>, Misfit> {
        let zero = || Interval { lo: Dyadic::default(), hi: Dyadic::default() };
        let one = || Interval { lo: Dyadic::int(1), hi: Dyadic::int(1) };
        let column = |c: usize| if self.layout.number(c) == Some(feature) { one() } else { zero() };
        let mut values: Vec<Vec<Interval>> = vec![(0..self.layout.width()).map(column).collect()];
        let read_width = |value: usize| known.values[value].len();
        for node in &self.network.nodes {
            let (x, read) = (&values[node.from[0]], &known.values[node.from[0]]);
            let value: Vec<Interval> = match &node.op {
                Op::Dense { .. } | Op::Conv(_) => {
                    let mut row = Vec::new();
                    let slope = |o: usize| {
                        node.op.row(o, &mut row);
                        dot(row.iter().map(|(i, w)| (Dyadic::from(*w), &x[*i]))).rounded()
                    };
                    (0..read_width(values.len())).map(slope).collect()
                }
                // Almost everywhere along a segment the largest is one of them, with its slope.
                Op::MaxPool(window) => hulls(window, x),
                Op::Affine { scale, .. } => scale.iter().zip(x).map(|(s, x)| dot([(Dyadic::from(*s), x)].into_iter())).collect(),
                Op::Act(f) => {
                    let at_most = if *f == Activation::Sigmoid { Dyadic::power(-2) } else { Dyadic::int(1) };
                    let slope = |(x, v): (&Interval, &Interval)| match f {
                        Activation::Relu if !v.lo.is_negative() => x.clone(),
                        Activation::Relu if !v.hi.is_positive() => zero(),
                        _ => Interval {
                            lo: (&x.lo * &at_most).min(Dyadic::default()),
                            hi: (&x.hi * &at_most).max(Dyadic::default()),
                        },
                    };
                    x.iter().zip(read).map(slope).collect()
                }
                Op::Select(columns) => columns.iter().map(|c| x[*c].clone()).collect(),
                Op::Concat => node.from.iter().flat_map(|v| values[*v].iter().cloned()).collect(),
                Op::Gate => {
                    let (factor, slope) = (&known.values[node.from[1]][0], &values[node.from[1]][0]);
                    x.iter().zip(read).map(|(x, v)| product(x, factor).plus(&product(slope, v)).rounded()).collect()
                }
                Op::Choose(_) => return Err(Misfit::ChoiceOfSlopes),
            };
            values.push(value);
        }
        Ok(Slopes { values, known })
    }

    /// For each output how far what is computed may be from the exact result; `known` holds on the whole domain.
    pub(crate) fn errors(&self, known: &Known) -> Result<Vec<Dyadic>, Misfit> {
        let mut values: Vec<Vec<Dyadic>> = vec![vec![Dyadic::default(); self.layout.width()]];
        for (k, node) in self.network.nodes.iter().enumerate() {
            let (x, own) = (&values[node.from[0]], &known.errors[k + 1]);
            let carried: Vec<Dyadic> = match &node.op {
                Op::Dense { .. } | Op::Conv(_) => {
                    let mut row = Vec::new();
                    let carried = |o: usize| {
                        let mut sum = Dyadic::default();
                        node.op.row(o, &mut row);
                        row.iter().for_each(|(i, w)| sum.add_product(&Dyadic::from(w.abs()), &x[*i]));
                        sum
                    };
                    (0..own.len()).map(carried).collect()
                }
                // The largest number moves by no more than the number that moves most.
                Op::MaxPool(window) => most_of(window, x),
                Op::Affine { scale, .. } => scale.iter().zip(x).map(|(s, e)| &Dyadic::from(s.abs()) * e).collect(),
                Op::Act(Activation::Relu) => x.clone(),
                Op::Act(_) => x.iter().map(|e| e + &Dyadic::float(ACTIVATION_ERROR)).collect(),
                Op::Select(columns) => columns.iter().map(|c| x[*c].clone()).collect(),
                Op::Concat => node.from.iter().flat_map(|v| values[*v].iter().cloned()).collect(),
                Op::Gate => {
                    // |x g - x' g'| <= |x| dg + |g'| dx, with computed values on either side of it at most their sizes and errors.
                    let (g, dg) = (known.values[node.from[1]][0].size(), &values[node.from[1]][0]);
                    let both = |(v, dx): (&Interval, &Dyadic)| &(&(&v.size() + dx) * dg) + &(&g * dx);
                    known.values[node.from[0]].iter().zip(x).map(both).collect()
                }
                Op::Choose(_) => return Err(Misfit::ChoiceOfSlopes),
            };
            values.push(carried.iter().zip(own).map(|(e, own)| (e + own).up(crate::dyadic::LONG)).collect());
        }
        Ok(values.pop().unwrap_or_default())
    }
}

impl Slopes<'_> {
    /// The slope of a form of the outputs: the rows of a last layer are added first, so that what cancels in them does.
    pub(crate) fn of(&self, machine: &Machine, form: &Whole) -> Interval {
        let nodes = &machine.network.nodes;
        let dense = |value: usize| match value.checked_sub(1).map(|k| (&nodes[k].op, nodes[k].from[0])) {
            Some((Op::Dense { w, b }, from)) => Some((w, b, from)),
            _ => None,
        };
        let last = nodes.len();
        let gate = nodes.last().filter(|n| n.op == Op::Gate).map(|n| (n.from[0], n.from[1]));
        let Some((w, b, from)) = dense(gate.map_or(last, |(value, _)| value)) else {
            return dot(form.terms.iter().map(|(j, c)| (c.clone(), &self.values[last][*j])));
        };
        let combined = |of: &dyn Fn(usize) -> Dyadic| {
            let mut sum = Dyadic::default();
            form.terms.iter().for_each(|(j, c)| sum.add_product(c, &of(*j)));
            sum
        };
        let row: Vec<Dyadic> = (0..w.cols).map(|i| combined(&|j| Dyadic::from(w.row(j)[i]))).collect();
        let slope = dot(row.iter().cloned().zip(&self.values[from]));
        let Some((_, g)) = gate else { return slope };
        let bias = combined(&|j| Dyadic::from(b[j]));
        let value = dot(row.into_iter().zip(&self.known.values[from])).plus(&Interval { lo: bias.clone(), hi: bias });
        product(&slope, &self.known.values[g][0]).plus(&product(&value, &self.values[g][0]))
    }
}

/// For each window the smallest interval around those of its columns.
fn hulls(window: &Window, x: &[Interval]) -> Vec<Interval> {
    let mut columns = Vec::new();
    let hull = |o| {
        window.columns_of(o, &mut columns);
        let of = |end: &dyn Fn(&Interval) -> Dyadic| columns.iter().map(|c| end(&x[*c])).max().unwrap_or_default();
        Interval { lo: -&of(&|v| -&v.lo), hi: of(&|v| v.hi.clone()) }
    };
    (0..window.results()).map(hull).collect()
}

/// For each window the largest number of its columns.
fn most_of(window: &Window, x: &[Dyadic]) -> Vec<Dyadic> {
    let mut columns = Vec::new();
    let most = |o| {
        window.columns_of(o, &mut columns);
        columns.iter().map(|c| x[*c].clone()).max().unwrap_or_default()
    };
    (0..window.results()).map(most).collect()
}

/// The sum of factors times numbers of intervals.
fn dot<'i>(terms: impl Iterator<Item = (Dyadic, &'i Interval)>) -> Interval {
    let (mut lo, mut hi) = (Dyadic::default(), Dyadic::default());
    for (c, x) in terms.filter(|(c, _)| !c.is_zero()) {
        let (least, most) = if c.is_negative() { (&x.hi, &x.lo) } else { (&x.lo, &x.hi) };
        lo.add_product(&c, least);
        hi.add_product(&c, most);
    }
    Interval { lo, hi }
}

/// Products of numbers of two intervals: their extremes are at corners.
fn product(a: &Interval, b: &Interval) -> Interval {
    let corners = [&a.lo * &b.lo, &a.lo * &b.hi, &a.hi * &b.lo, &a.hi * &b.hi];
    let (lo, hi) = corners.iter().fold((&corners[0], &corners[0]), |(lo, hi), c| (lo.min(c), hi.max(c)));
    Interval { lo: lo.clone(), hi: hi.clone() }
}
