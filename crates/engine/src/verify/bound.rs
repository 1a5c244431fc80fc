//! A cell on a region enters; multipliers, slopes and weights of signs leave that bound it from above as well as a few steps find.

use deepsade_check::{Lines, SLOPES, relu_below};
use deepsade_solve::program::{self, Condition};
use deepsade_spec::{Atom, Rational, Region, Var};

use super::pass::{Pass, Reach, SearchForm, SearchSlopes, UnitSign};
use super::plan::{BoundPlan, BoundedNode, InputBox, SearchBoxes};
use crate::rounding::whole;

/// Steps of the optimisation before a cell counts as open, and with signs, whose weights need more.
const STEPS: usize = 12;
const STEPS_WITH_SIGNS: usize = 40;
/// Inputs up to which the linear program is asked: an exchange takes their square, and with 3136 one took minutes.
const PROGRAM_INPUTS: usize = 128;
/// A bound must be below zero by so much, relative to its terms: rounded multipliers and float64 arithmetic stay within it.
const MARGIN: f64 = 4e-9;
/// Atoms between which multipliers are balanced pair by pair.
const MOST_BALANCED: usize = 6;
/// Binary digits of a multiplier in the certificate: the fewest of these with which a cell is refuted.
const BITS: [u32; 3] = [4, 10, 30];

/// The atoms of a cell as forms, each scaled so that its largest output coefficient is 1. A cell without atoms is the whole region:
/// the negation of a claim that is false everywhere.
#[derive(Debug, Clone)]
pub(super) struct CellForms {
    pub atoms: Vec<SearchForm>,
    scale: Vec<f64>,
    /// Columns of outputs and inputs.
    widths: (usize, usize),
    /// Atoms that may get a multiplier: the others only cut the region.
    free: Vec<usize>,
    source: Vec<Atom>,
}

/// Where a cell is bounded: what is known of a region's values, and of signs of relus there.
#[derive(Clone, Copy)]
pub(super) struct KnownRegion<'a> {
    pub plan: &'a BoundPlan,
    pub kind: Reach,
    pub boxes: &'a SearchBoxes,
    pub inputs: &'a InputBox,
    pub signs: &'a [UnitSign],
}

/// How a cell was bounded.
#[derive(Debug, Clone)]
pub(super) struct CellBound {
    pub upper: f64,
    pub refuted: bool,
    /// Not refuted, but so close to it that only exact arithmetic tells.
    pub tight: bool,
    pub lambda: Vec<f64>,
    slopes: SearchSlopes,
    weights: Vec<f64>,
}

fn number(c: &Rational) -> f64 {
    c.to_f64().value()
}

impl CellForms {
    pub fn new(plan: &BoundPlan, atoms: &[Atom]) -> Self {
        let widths = (plan.widths[plan.output()], plan.widths[0]);
        let mut cell = Self { atoms: Vec::new(), scale: Vec::new(), widths, free: Vec::new(), source: atoms.to_vec() };
        for (k, atom) in atoms.iter().enumerate() {
            let mut form = SearchForm {
                y: vec![0.0; widths.0],
                x: vec![0.0; widths.1],
                constant: number(&atom.linear.constant),
                signs: Vec::new(),
            };
            for (var, c) in &atom.linear.terms {
                let c = number(c);
                match *var {
                    Var::Output(j) => form.y[j] += c,
                    input => form.constant += plan.map.of(input).times(&c, |column, c| form.x[column] += c),
                }
            }
            let largest = |v: &[f64]| v.iter().fold(0.0f64, |m, c| m.max(c.abs()));
            let size = Some(largest(&form.y)).filter(|s| *s > 0.0).unwrap_or(largest(&form.x));
            let scale = if size > 0.0 { 1.0 / size } else { 1.0 };
            form.y.iter_mut().chain(&mut form.x).chain([&mut form.constant]).for_each(|c| *c *= scale);
            if atom.linear.mentions_output() || atom.linear.terms.len() > 1 {
                cell.free.push(k);
            }
            cell.atoms.push(form);
            cell.scale.push(scale);
        }
        if cell.free.is_empty() {
            cell.free = (0..atoms.len()).collect();
        }
        cell
    }

    /// The part of a region where the cell's own conditions on single features hold.
    pub fn part(&self, region: &Region) -> Region {
        region.cut_by(&self.source)
    }

    fn form(&self, lambda: &[f64], signs: &[UnitSign], weights: &[f64]) -> SearchForm {
        let mut form = SearchForm { y: vec![0.0; self.widths.0], x: vec![0.0; self.widths.1], ..SearchForm::default() };
        for (l, k) in lambda.iter().zip(&self.free).filter(|(l, _)| **l != 0.0) {
            let atom = &self.atoms[*k];
            form.y.iter_mut().zip(&atom.y).for_each(|(a, b)| *a += l * b);
            form.x.iter_mut().zip(&atom.x).for_each(|(a, b)| *a += l * b);
            form.constant += l * atom.constant;
        }
        form.signs = signs.iter().copied().zip(weights.iter().copied()).filter(|(_, w)| *w > 0.0).collect();
        form
    }

    /// An atom's value where outputs and inputs are these.
    pub fn value(&self, k: usize, y: &[f64], x: &[f64]) -> f64 {
        let atom = &self.atoms[k];
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        atom.constant + dot(&atom.y, y) + dot(&atom.x, x)
    }

    /// Atoms by index, for attacks.
    pub fn free(&self) -> &[usize] {
        &self.free
    }

    /// The upper bound by these multipliers, weights of signs and slopes, and whether it is below zero by enough to refute the cell.
    fn upper(&self, on: KnownRegion, lambda: &[f64], weights: &[f64], slopes: &SearchSlopes, pass: &mut Pass) -> (f64, bool) {
        let form = self.form(lambda, on.signs, weights);
        let upper = pass.upper(on.plan, &form, on.kind, on.boxes, on.inputs, slopes);
        (upper, upper < -MARGIN * pass.size)
    }

    /// The upper bound by these multipliers with the usual slopes.
    pub fn by(&self, on: KnownRegion, lambda: &[f64], pass: &mut Pass) -> f64 {
        let usual: SearchSlopes = on.plan.steps.iter().map(|_| Vec::new()).collect();
        self.upper(on, lambda, &vec![0.0; on.signs.len()], &usual, pass).0
    }

    /// The least upper bound that one pass for each atom, and one for these multipliers, find.
    pub fn quick(&self, on: KnownRegion, lambda: &[f64], pass: &mut Pass) -> f64 {
        let n = self.free.len();
        let alone = if n > 1 { n } else { 0 };
        let mixed = self.by(on, lambda, pass);
        (0..alone).map(|i| self.by(on, &one_of(n, i), pass)).fold(mixed, f64::min)
    }

    /// The least upper bound that a few steps find. What the pass holds afterwards belongs to it.
    pub fn bound(&self, on: KnownRegion, pass: &mut Pass) -> CellBound {
        let KnownRegion { plan, kind, inputs, signs, .. } = on;
        let n = self.free.len();
        let usual: SearchSlopes = plan.steps.iter().map(|_| Vec::new()).collect();
        let none = vec![0.0; signs.len()];
        let mut best = CellBound {
            upper: f64::INFINITY,
            refuted: false,
            tight: false,
            // Stays where no bound is finite.
            lambda: vec![1.0 / n as f64; n],
            slopes: usual.clone(),
            weights: none.clone(),
        };
        let by_program = n > 1 && kind == Reach::Lines && inputs.lo.len() <= PROGRAM_INPUTS && plan.gate.is_none();
        let mut starts: Vec<Vec<f64>> = (0..n).map(|i| one_of(n, i)).collect();
        if n > 1 && !by_program {
            starts.push(vec![1.0 / n as f64; n]);
        }
        starts.extend(self.contradictions(inputs));
        let mut forms = Vec::new();
        for lambda in starts {
            let (upper, refuted) = self.upper(on, &lambda, &none, &usual, pass);
            if by_program && forms.len() < n {
                let (g, h) = pass.at_input();
                forms.push(Condition { g: g.to_vec(), h });
            }
            if upper < best.upper || refuted {
                best = CellBound { upper, refuted, lambda, ..best };
            }
            if refuted {
                return best;
            }
        }
        if by_program {
            self.mix(on, &forms, pass, &mut best);
        } else if n > 1 {
            self.balance(on, pass, &mut best);
        }
        let optimise =
            !best.refuted && kind == Reach::Lines && (n > 1 || plan.steps.iter().any(|s| matches!(s, BoundedNode::Act(..))));
        if optimise {
            self.optimise(on, pass, &mut best);
        }
        let small = inputs.lo.len() <= PROGRAM_INPUTS;
        if small && !best.refuted && !signs.is_empty() && kind == Reach::Lines && plan.gate.is_none() {
            self.program(on, pass, &mut best);
        }
        // Leave the pass at the best bound.
        self.upper(on, &best.lambda, &best.weights, &best.slopes, pass);
        pass.along(plan);
        best.tight = n > 0 && !best.refuted && best.upper <= MARGIN * pass.size;
        best
    }

    /// Multipliers by a linear program, from the bounds of the single atoms as forms of the input. The bound of the sum is no larger
    /// than the sum of the bounds.
    fn mix(&self, on: KnownRegion, forms: &[Condition], pass: &mut Pass, best: &mut CellBound) {
        let Some(goal) = best.lambda.iter().position(|l| *l == 1.0) else { return };
        let others: Vec<Condition> = forms.iter().enumerate().filter(|(k, _)| *k != goal).map(|(_, f)| f.clone()).collect();
        let mut lambda = program::weights(&forms[goal].g, &others, &on.inputs.lo, &on.inputs.hi);
        lambda.insert(goal, 1.0);
        let sum: f64 = lambda.iter().sum();
        lambda.iter_mut().for_each(|l| *l /= sum);
        let (upper, refuted) = self.upper(on, &lambda, &best.weights, &best.slopes, pass);
        if upper < best.upper || refuted {
            *best = CellBound { upper, refuted, lambda, ..best.clone() };
        }
    }

    /// Multipliers of conditions on the inputs that contradict each other, if they do: then nothing is asked of the outputs.
    fn contradictions(&self, inputs: &InputBox) -> Vec<Vec<f64>> {
        let conditions: Vec<usize> =
            (0..self.free.len()).filter(|i| self.atoms[self.free[*i]].y.iter().all(|c| *c == 0.0)).collect();
        if conditions.len() < 2 || conditions.len() > MOST_BALANCED || inputs.lo.len() > PROGRAM_INPUTS {
            return Vec::new();
        }
        let as_condition = |i: &usize| {
            let atom = &self.atoms[self.free[*i]];
            Condition { g: atom.x.clone(), h: atom.constant }
        };
        let by_goal = conditions.iter().map(|goal| {
            let others: Vec<usize> = conditions.iter().copied().filter(|i| i != goal).collect();
            let forms: Vec<Condition> = others.iter().map(as_condition).collect();
            let weights = program::weights(&as_condition(goal).g, &forms, &inputs.lo, &inputs.hi);
            let sum: f64 = 1.0 + weights.iter().sum::<f64>();
            let mut lambda = vec![0.0; self.free.len()];
            lambda[*goal] = 1.0 / sum;
            others.iter().zip(weights).for_each(|(i, w)| lambda[*i] = w / sum);
            lambda
        });
        by_goal.collect()
    }

    /// Multipliers by line searches between pairs of atoms: the bound is convex in them, as each line's end is the larger of two.
    fn balance(&self, on: KnownRegion, pass: &mut Pass, best: &mut CellBound) {
        let n = self.free.len();
        if n > MOST_BALANCED {
            return;
        }
        let mut lambda = best.lambda.clone();
        for _ in 0..if n == 2 { 1 } else { 3 } {
            let before = best.upper;
            for (i, j) in (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))) {
                let sum = lambda[i] + lambda[j];
                let mut try_at = |share: f64, best: &mut CellBound| {
                    let mut trial = lambda.clone();
                    (trial[i], trial[j]) = (share * sum, (1.0 - share) * sum);
                    let (upper, refuted) = self.upper(on, &trial, &best.weights, &best.slopes, pass);
                    if upper < best.upper || refuted {
                        *best = CellBound { upper, refuted, lambda: trial, ..best.clone() };
                    }
                    upper
                };
                // Golden section.
                let (mut a, mut b) = (0.0, 1.0);
                let ratio = (5f64.sqrt() - 1.0) / 2.0;
                let (mut c, mut d) = (b - ratio * (b - a), a + ratio * (b - a));
                let (mut at_c, mut at_d) = (try_at(c, best), try_at(d, best));
                for _ in 0..16 {
                    if best.refuted || sum == 0.0 {
                        break;
                    }
                    if at_c < at_d {
                        (b, d, at_d) = (d, c, at_c);
                        c = b - ratio * (b - a);
                        at_c = try_at(c, best);
                    } else {
                        (a, c, at_c) = (c, d, at_d);
                        d = a + ratio * (b - a);
                        at_d = try_at(d, best);
                    }
                }
                if best.refuted {
                    return;
                }
                lambda.clone_from(&best.lambda);
            }
            if best.upper > before - 1e-3 * before.abs() {
                break;
            }
        }
    }

    /// Subgradient steps (Adam) on slopes and weights of signs, multiplicative ones on the multipliers.
    fn optimise(&self, on: KnownRegion, pass: &mut Pass, best: &mut CellBound) {
        let KnownRegion { plan, boxes, signs, .. } = on;
        let n = self.free.len();
        let mut lambda: Vec<f64> = best.lambda.iter().map(|l| if n > 1 { 0.8 * l + 0.2 / n as f64 } else { *l }).collect();
        let mut slopes: SearchSlopes = plan.steps.iter().map(|step| open_slopes(step, boxes)).collect();
        let mut weights = vec![0.0; signs.len()];
        let (mut slope_moments, mut weight_moments) =
            (slopes.iter().map(|s| vec![(0.0, 0.0); s.len()]).collect::<Vec<_>>(), vec![(0.0, 0.0); signs.len()]);
        let steps = if signs.is_empty() { STEPS } else { STEPS_WITH_SIGNS };
        let start = best.upper;
        for t in 0..steps {
            let rounded: SearchSlopes =
                slopes.iter().map(|s| s.iter().map(|s| (s * SLOPES as f64).round() / SLOPES as f64).collect()).collect();
            let (upper, refuted) = self.upper(on, &lambda, &weights, &rounded, pass);
            if upper < best.upper || refuted {
                *best =
                    CellBound { upper, refuted, tight: false, lambda: lambda.clone(), slopes: rounded, weights: weights.clone() };
            }
            // Hopeless cells are left early: a third of the steps should have closed a tenth of the gap.
            if refuted || (t == steps / 3 && best.upper > 0.9 * start && signs.is_empty()) {
                return;
            }
            pass.along(plan);
            let decay = 0.96f64.powi(t as i32);
            if n > 1 {
                let (x, y) = (&pass.values[0], &pass.values[plan.output()]);
                let values: Vec<f64> = self.free.iter().map(|k| self.value(*k, y, x)).collect();
                let size = values.iter().fold(1e-12f64, |m, v| m.max(v.abs()));
                lambda.iter_mut().zip(&values).for_each(|(l, v)| *l *= (-0.7 * decay * v / size).exp());
                let sum: f64 = lambda.iter().sum();
                lambda.iter_mut().for_each(|l| *l /= sum);
            }
            for (k, step) in plan.steps.iter().enumerate() {
                let BoundedNode::Act(_, from) = step else { continue };
                for i in 0..slopes[k].len() {
                    let a = pass.a[k + 1][i];
                    let g = if a < 0.0 && !slopes[k][i].is_nan() { a * pass.values[*from][i] } else { 0.0 };
                    let moved = adam(g, &mut slope_moments[k][i], t, 0.25 * decay);
                    slopes[k][i] = (slopes[k][i] - moved).clamp(0.0, 1.0);
                }
            }
            for (j, sign) in signs.iter().enumerate() {
                let BoundedNode::Act(_, from) = plan.steps[sign.node] else { continue };
                let g = pass.values[from][sign.unit] * if sign.above { 1.0 } else { -1.0 };
                let scale = pass.a[from].iter().fold(1e-6f64, |m, a| m.max(a.abs()));
                weights[j] = (weights[j] - adam(g, &mut weight_moments[j], t, 0.3 * decay * scale)).max(0.0);
            }
        }
    }

    /// Multipliers and weights of signs by a linear program, for the slopes at hand: where all signs are known it is exact.
    fn program(&self, on: KnownRegion, pass: &mut Pass, best: &mut CellBound) {
        let (n, signs) = (self.free.len(), on.signs.len());
        let mut linear = |lambda: &[f64], weights: &[f64]| {
            self.upper(on, lambda, weights, &best.slopes, pass);
            let (g, h) = pass.at_input();
            Condition { g: g.to_vec(), h }
        };
        let goal = linear(&one_of(n, 0), &vec![0.0; signs]);
        let atoms = (1..n).map(|k| (one_of(n, k), vec![0.0; signs]));
        let sides = (0..signs).map(|j| (vec![0.0; n], one_of(signs, j)));
        let conditions: Vec<Condition> = atoms.chain(sides).map(|(lambda, weights)| linear(&lambda, &weights)).collect();
        let found = program::weights(&goal.g, &conditions, &on.inputs.lo, &on.inputs.hi);
        let (others, weights) = found.split_at(n - 1);
        let lambda: Vec<f64> = std::iter::once(1.0).chain(others.iter().copied()).collect();
        let (upper, refuted) = self.upper(on, &lambda, weights, &best.slopes, pass);
        // Bounds compare with multipliers that sum up to 1.
        let sum: f64 = lambda.iter().sum();
        if upper / sum < best.upper || refuted {
            let scaled = |v: &[f64]| v.iter().map(|v| v / sum).collect::<Vec<f64>>();
            *best = CellBound { upper: upper / sum, refuted, lambda: scaled(&lambda), weights: scaled(weights), ..best.clone() };
        }
    }

    /// The certificate's numbers for a cell that was refuted.
    pub fn numbers(&self, on: KnownRegion, found: &CellBound, pass: &mut Pass) -> (Vec<u64>, Lines) {
        let raw: Vec<f64> = found.lambda.iter().zip(&self.free).map(|(l, k)| l * self.scale[*k]).collect();
        let (numbers, factor) = self.short(on, found, &raw, pass);
        let mut multipliers = vec![0u64; self.atoms.len()];
        for (number, k) in numbers.into_iter().zip(&self.free) {
            multipliers[*k] = number;
        }
        let weight = |w: &f64| Some((w * factor) as f32).filter(|w| w.is_finite()).unwrap_or(0.0);
        let mut lines = Lines { signs: found.weights.iter().map(weight).collect(), slopes: Vec::new() };
        lines.signs.resize(on.signs.len(), 0.0);
        for (k, step) in on.plan.steps.iter().enumerate() {
            let BoundedNode::Act(_, from) = step else { continue };
            for (i, s) in found.slopes[k].iter().enumerate() {
                let usual = relu_below(on.boxes.lo[*from][i], on.boxes.hi[*from][i]);
                if !s.is_nan() && *s != usual {
                    lines.slopes.push([k, i, (s * SLOPES as f64).round() as usize]);
                }
            }
        }
        (multipliers, lines)
    }

    /// Multipliers as whole numbers with as few digits as refute the cell, and the factor by which they are larger.
    fn short(&self, on: KnownRegion, found: &CellBound, raw: &[f64], pass: &mut Pass) -> (Vec<u64>, f64) {
        // One atom alone: any number will do.
        let mut used = raw.iter().filter(|l| **l > 0.0);
        if let (Some(l), None) = (used.next(), used.next())
            && (1.0 / l).is_finite()
        {
            return (raw.iter().map(|l| u64::from(*l > 0.0)).collect(), 1.0 / l);
        }
        let [few @ .., most] = BITS;
        let refutes = |(numbers, factor): &(Vec<u64>, f64), pass: &mut Pass| {
            let rounded = numbers.iter().zip(&self.free).map(|(n, k)| *n as f64 / (factor * self.scale[*k]));
            self.upper(on, &rounded.collect::<Vec<_>>(), &found.weights, &found.slopes, pass).1
        };
        let shorter = few.map(|bits| whole(raw, bits)).into_iter().find(|short| found.refuted && refutes(short, pass));
        shorter.unwrap_or_else(|| whole(raw, most))
    }
}

/// The multipliers that take one atom alone.
fn one_of(n: usize, k: usize) -> Vec<f64> {
    (0..n).map(|i| f64::from(u8::from(i == k))).collect()
}

/// The usual slopes where a relu's sign is open, `NaN` elsewhere.
fn open_slopes(step: &BoundedNode, boxes: &SearchBoxes) -> Vec<f64> {
    let BoundedNode::Act(deepsade_net::Activation::Relu, from) = step else { return Vec::new() };
    let slope = |(lo, hi): (&f64, &f64)| if *lo < 0.0 && *hi > 0.0 { relu_below(*lo, *hi) } else { f64::NAN };
    boxes.lo[*from].iter().zip(&boxes.hi[*from]).map(slope).collect()
}

fn adam(g: f64, (m, v): &mut (f64, f64), t: usize, rate: f64) -> f64 {
    *m = 0.9 * *m + 0.1 * g;
    *v = 0.99 * *v + 0.01 * g * g;
    let (m, v) = (*m / (1.0 - 0.9f64.powi(t as i32 + 1)), *v / (1.0 - 0.99f64.powi(t as i32 + 1)));
    if v > 0.0 { rate * m / (v.sqrt() + 1e-12) } else { 0.0 }
}

/// The boxes with signs known; `None` if no evaluation has them.
pub(super) fn with_signs(plan: &BoundPlan, boxes: &SearchBoxes, signs: &[UnitSign]) -> Option<SearchBoxes> {
    let mut boxes = boxes.clone();
    for sign in signs {
        let BoundedNode::Act(_, from) = plan.steps[sign.node] else { continue };
        let (lo, hi) = (&mut boxes.lo[from][sign.unit], &mut boxes.hi[from][sign.unit]);
        if sign.above {
            *lo = lo.max(0.0);
        } else {
            *hi = hi.min(0.0);
        }
        if *lo > *hi {
            // Where rounding decides, the checker may see it the other way.
            if *lo - *hi > 1e-9 * (lo.abs() + hi.abs()) {
                return None;
            }
            *lo = *hi;
        }
        if !sign.above {
            (boxes.lo[sign.node + 1][sign.unit], boxes.hi[sign.node + 1][sign.unit]) = (0.0, 0.0);
        }
    }
    Some(boxes)
}
