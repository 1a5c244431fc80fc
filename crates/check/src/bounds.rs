//! A region enters; for every value of the network an interval leaves that holds whatever the runtime computes there.
//!
//! Throughout, `v` is the *computed* value: a node's result is its exact operation on computed values, plus an error of its own of
//! at most `error`. So bounds of computed values, and linear forms in them, carry over from node to node without further loss.

use deepsade_net::ball::ACTIVATION_ERROR;
use deepsade_net::{Activation, Op};
use deepsade_spec::Region;

use crate::certificate::{Arithmetic, Bounds};
use crate::dyadic::{Dyadic, Interval, LONG};
use crate::linear::Form;
use crate::machine::{Known, Machine};
use crate::pool;
use crate::rejected::Overflow;

/// Magnitudes reach at most this power of two, so that no partial sum leaves float32.
const RANGE: i64 = 127;
/// 2^-40: covers float64's exp and tanh of the platform and the roundings around them, whose results are at most 1.
pub(crate) const LIBRARY_ERROR: i64 = -40;

impl Machine<'_> {
    /// Bounds of all values on a region that is not empty; an error where float32 may overflow.
    pub(crate) fn known(&self, region: &Region, bounds: Bounds) -> Result<Known, Overflow> {
        self.known_within(region, bounds, None)
    }

    /// The same, and better bounds where those of a larger region are known.
    pub(crate) fn known_within(&self, region: &Region, bounds: Bounds, larger: Option<&Known>) -> Result<Known, Overflow> {
        let mut known = Known { values: vec![self.layout.intervals(region)], errors: vec![Vec::new()], ..Known::default() };
        for (k, node) in self.network.nodes.iter().enumerate() {
            let (value, errors) = self.node(k, &known, region, bounds, larger.map(|l| l.values[k + 1].as_slice()));
            // Dense and affine nodes are judged by the sum of their magnitudes, which no partial sum exceeds.
            let limit = Dyadic::power(RANGE);
            if errors.iter().any(|e| e.1 >= limit) || value.iter().any(|v| v.size() >= limit) {
                return Err(Overflow { node: k, op: node.op.name() });
            }
            known.values.push(value);
            known.errors.push(errors.into_iter().map(|e| e.0).collect());
        }
        Ok(known)
    }

    /// Intervals of node k, and for each column the error and the magnitude behind it.
    fn node(
        &self,
        k: usize,
        known: &Known,
        region: &Region,
        bounds: Bounds,
        larger: Option<&[Interval]>,
    ) -> (Vec<Interval>, Vec<(Dyadic, Dyadic)>) {
        let node = &self.network.nodes[k];
        let x = &known.values[node.from[0]];
        let sizes: Vec<Dyadic> = x.iter().map(Interval::size).collect();
        let tiny = self.arithmetic.tiny();
        let copied = |x: &[Interval]| -> (Vec<Interval>, Vec<(Dyadic, Dyadic)>) {
            x.iter().map(|x| (x.flushed(&tiny), (tiny.clone(), Dyadic::default()))).unzip()
        };
        match &node.op {
            Op::Dense { .. } | Op::Conv(_) => (0..self.network.width(k + 1).unwrap_or_default())
                .map(|o| {
                    let mut row = Vec::new();
                    let b = node.op.row(o, &mut row);
                    let error = dot_error(self.arithmetic, row.iter().map(|(i, w)| (*w, &sizes[*i])), b);
                    let by = |bounds| self.row(&row, b, node.from[0], known, region, bounds).widened(&error.0).rounded();
                    let mut value = by(Bounds::Interval);
                    if let Some(larger) = larger {
                        value = value.within(&larger[o]);
                    }
                    // Lines where a relu needs them: those of a unit whose sign is known anyway are not asked for.
                    let open = k + 1 < self.network.nodes.len() && value.lo.is_negative() && value.hi.is_positive();
                    if bounds == Bounds::Relational || bounds == Bounds::Inherited && open {
                        value = value.within(&by(Bounds::Relational));
                    }
                    (value, error)
                })
                .unzip(),
            Op::Affine { scale, shift } => (x.iter().zip(&sizes).zip(scale).zip(shift))
                .map(|(((x, size), s), t)| {
                    let error = dot_error(self.arithmetic, [(*s, size)].into_iter(), *t);
                    let (s, t) = (Dyadic::from(*s), Dyadic::from(*t));
                    let exact = Interval { lo: &-&x.most(&-&s) + &t, hi: &x.most(&s) + &t };
                    (exact.widened(&error.0).rounded(), error)
                })
                .unzip(),
            Op::Select(columns) => copied(&columns.iter().map(|c| x[*c].clone()).collect::<Vec<_>>()),
            Op::Concat => copied(&node.from.iter().flat_map(|v| known.values[*v].iter().cloned()).collect::<Vec<_>>()),
            Op::Act(Activation::Relu) => {
                let zero = Dyadic::default();
                let relu = |x: &Interval| Interval { lo: x.lo.clone().max(zero.clone()), hi: x.hi.clone().max(zero.clone()) };
                copied(&x.iter().map(relu).collect::<Vec<_>>())
            }
            Op::MaxPool(window) => copied(&pool::intervals(window, x)),
            Op::Act(f) => x.iter().map(|x| (self.smooth(*f, x), (Dyadic::default(), Dyadic::default()))).unzip(),
            Op::Gate => x.iter().map(|x| self.product(x, &known.values[node.from[1]][0])).unzip(),
            Op::Choose(table) => {
                let ends = |(lo, hi)| Interval { lo: Dyadic::from(lo), hi: Dyadic::from(hi) };
                copied(&table.column_ranges().map(ends).collect::<Vec<_>>())
            }
        }
    }

    /// The exact `w . v + b` for all computed values v of the node read, by linear forms down to the input (or to the activations
    /// before it): so one-hot groups and skipped features count once.
    fn row(&self, w: &[(usize, f32)], b: f32, from: usize, known: &Known, region: &Region, bounds: Bounds) -> Interval {
        let form = |sign: f32| {
            let mut form = Form::new(self.layout.width(), from);
            form.constant = Dyadic::from(sign * b);
            form.add(from, known.values[from].len(), w.iter().map(|(i, w)| (*i, Dyadic::from(sign * w))));
            form
        };
        let most = |sign: f32| self.upper(form(sign), known, region, bounds, None);
        Interval { lo: -&most(-1.0), hi: most(1.0) }
    }

    /// Sigmoid or tanh, both non-decreasing. The runtime's function is assumed to be within `ACTIVATION_ERROR` of the true one (it
    /// may leave [0, 1] or [-1, 1]); float64 here to be within `LIBRARY_ERROR`.
    fn smooth(&self, f: Activation, x: &Interval) -> Interval {
        let f = |x: f64| if f == Activation::Tanh { x.tanh() } else { 1.0 / (1.0 + (-x).exp()) };
        let exact = Interval { lo: Dyadic::float(f(x.lo.f64_down())), hi: Dyadic::float(f(x.hi.f64_up())) };
        let assumed = if self.arithmetic == Arithmetic::Real { 0.0 } else { ACTIVATION_ERROR };
        exact.widened(&(&Dyadic::power(LIBRARY_ERROR) + &Dyadic::float(assumed)))
    }

    /// `x g`: extremes of a product are at corners; one rounding and the flushes around it. A product has the sign of its exact
    /// value or is 0, so no bound crosses zero.
    fn product(&self, x: &Interval, g: &Interval) -> (Interval, (Dyadic, Dyadic)) {
        let corners = [&x.lo * &g.lo, &x.lo * &g.hi, &x.hi * &g.lo, &x.hi * &g.hi];
        let zero = Dyadic::default();
        let (lo, hi) = corners.iter().fold((&corners[0], &corners[0]), |(lo, hi), c| (lo.min(c), hi.max(c)));
        let (error, size) = dot_error(self.arithmetic, [(1.0, &(&x.size() * &g.size()))].into_iter(), 0.0);
        let error = &error + &(&(&(&x.size() + &g.size()) * &Dyadic::int(2)) * &self.arithmetic.tiny());
        let mut value = Interval { lo: lo - &error, hi: hi + &error };
        if !lo.is_negative() {
            value.lo = value.lo.max(zero.clone());
        }
        if !hi.is_positive() {
            value.hi = value.hi.min(zero);
        }
        (value.rounded(), (error.up(LONG), size))
    }
}

/// How far `w . x + b` with |x| up to the given sizes, computed in any order, with or without fusing and flushing, may be from
/// its exact value; and the sum of all magnitudes, which bounds every partial sum.
///
/// Products with a zero weight are exact zeros and adding them is exact. Each of the k other terms (b included, if not 0) passes
/// at most k roundings (one product, k - 1 sums), hence gamma(k) = t / (1 - t) <= t (1 + 2 t), t = k 2^-24 <= 1/2. Flushing
/// costs at most `tiny` for each product, sum and b, and `tiny` times the other factor for each operand; later roundings
/// multiply that by less than 2. A normal b without any term is what comes out: nothing is rounded or flushed.
pub(crate) fn dot_error<'i>(arithmetic: Arithmetic, terms: impl Iterator<Item = (f32, &'i Dyadic)>, b: f32) -> (Dyadic, Dyadic) {
    let (mut n, mut size, mut operands) = (0, Dyadic::from(b.abs()), Dyadic::default());
    for (w, x) in terms.filter(|(w, _)| *w != 0.0) {
        let w = Dyadic::from(w.abs());
        size.add_product(&w, x);
        operands += &w;
        operands += x;
        n += 1;
    }
    let with_b = i64::from(b != 0.0 && (n > 0 || !b.is_normal()));
    let t = &Dyadic::int(if n > 0 { n + with_b } else { 0 }) * &arithmetic.unit();
    let gamma = &t + &(&(&t * &t) * &Dyadic::int(2));
    let flushes = &Dyadic::int(2) * &(&Dyadic::int(2 * n + with_b) + &operands);
    let error = &(&gamma * &size) + &(&flushes * &arithmetic.tiny());
    size += &error;
    (error.up(LONG), size)
}

#[cfg(test)]
mod tests;
