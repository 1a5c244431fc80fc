//! A cell and a region enter; an input at which the network breaks the rule leaves, if one is found.
//!
//! Projected gradient steps from random points, faces, corners and the middle climb the smallest atom of the cell: where all atoms hold
//! the rule is broken. Every candidate is a point of the domain (whole numbers, one level a category), judged exactly: on what
//! [`Network::forward`] gives in float32, or on the outputs in exact arithmetic where the question is about those.

use deepsade_check::Arithmetic;
use deepsade_net::{Matrix, Network};
use deepsade_output::Judge;
use deepsade_spec::{Atom, NormalSpec, Rational, Region, Var};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Halt;
use super::bound::{CellForms, KnownRegion};
use super::choice::parts;
use super::exact;
use super::pass::{Pass, Reach};
use super::plan::{BoundPlan, InputBox};

/// Points among which a climb's start is the best: a look costs half a step, and where few points break a rule most climbs end elsewhere.
const DRAWN: usize = 32;

/// An input that breaks a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterExample {
    /// Index of the rule.
    pub rule: usize,
    /// The network's input row, in raw units.
    pub x: Vec<f32>,
    /// What the network gives for it in float32; if `exact`, the outputs in exact arithmetic, rounded.
    pub y: Vec<f32>,
    /// Whether it was judged in exact arithmetic.
    pub exact: bool,
    /// Whether every float32 runtime gives outputs that break the rule, in whatever order it adds: the rounding error bound leaves
    /// room.
    pub in_every_runtime: bool,
    /// The second input and its outputs, if the rule compares two.
    pub other: Option<(Vec<f32>, Vec<f32>)>,
}

/// What an attack works on.
pub(super) struct Attacked<'a> {
    pub plan: &'a BoundPlan,
    pub network: &'a Network,
    pub spec: &'a NormalSpec,
    pub judge: &'a Judge<'a>,
    pub rule: usize,
    /// Asked before each start.
    pub stop: &'a (dyn Fn() -> Option<Halt> + Sync),
}

/// How much is tried.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub starts: usize,
    pub steps: usize,
}

/// The first row whose outputs break a rule, and that rule.
pub(super) fn first_broken(spec: &NormalSpec, judge: &Judge, x: &Matrix, y: &Matrix) -> Option<(usize, usize)> {
    let rules = 0..spec.rules.len();
    let mut all = (0..x.rows).flat_map(|r| rules.clone().map(move |rule| (r, rule)));
    all.find(|(r, rule)| judge.breaks(*rule, x.row(*r), y.row(*r)))
}

impl Attacked<'_> {
    /// Asks `breaks` about these inputs, then about so many of each part of a region in which a rule asks for something.
    pub fn tried(
        &self,
        region: &Region,
        from: &[&[f32]],
        points: usize,
        seed: u64,
        stop: &dyn Fn() -> bool,
        breaks: &dyn Fn(&Matrix) -> Option<CounterExample>,
    ) -> Option<CounterExample> {
        let cols = self.network.inputs;
        if let Some(found) = breaks(&Matrix { rows: from.len(), cols, data: from.concat() }) {
            return Some(found);
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        parts(self.spec, region).into_iter().take_while(|_| !stop()).find_map(|part| {
            let inputs = self.plan.inputs(&part);
            let mut x = Matrix { rows: points, cols, data: Vec::with_capacity(points * cols) };
            for k in 0..points {
                let mut point = self.start(k, &inputs, &mut rng);
                self.snap(&mut point, &part);
                x.data.extend(point.iter().map(|v| *v as f32));
            }
            breaks(&x)
        })
    }

    /// Looks for a counter-example in a part of the domain; `from` is tried first.
    pub fn search(
        &self,
        cell: &CellForms,
        part: &Region,
        inputs: &InputBox,
        effort: Effort,
        from: &[Vec<f64>],
        seed: u64,
    ) -> Option<CounterExample> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for start in 0..effort.starts.max(from.len()) {
            if (self.stop)().is_some() {
                return None;
            }
            let x = match from.get(start) {
                Some(x) => {
                    let mut x = x.clone();
                    self.snap(&mut x, part);
                    x
                }
                None => self.drawn(cell, part, inputs, start, &mut rng),
            };
            if let Ok(found) = self.climb(cell, part, inputs, effort.steps, x, &mut rng) {
                return Some(found);
            }
        }
        None
    }

    /// The best of some points, snapped: the first time those around the middle, then others.
    pub fn drawn(&self, cell: &CellForms, part: &Region, inputs: &InputBox, start: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let draws = (start * DRAWN..(start + 1) * DRAWN).map(|k| {
            let mut x = self.start(k, inputs, rng);
            self.snap(&mut x, part);
            (self.least(cell, &x), x)
        });
        draws.max_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(Vec::new, |(_, x)| x)
    }

    /// The middle, a corner, a point of a face or any.
    pub fn start(&self, k: usize, inputs: &InputBox, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let number = |(lo, hi): (&f64, &f64), rng: &mut ChaCha8Rng| {
            let (bits, inside) = (rng.next_u32(), lo + (hi - lo) * rng.random::<f64>());
            let end = *if bits & 1 == 0 { lo } else { hi };
            match k % 4 {
                0 if k == 0 => f64::midpoint(*lo, *hi),
                0 => end,
                1 if bits & 2 == 0 => end,
                2 if bits & 6 != 0 => end,
                _ => inside,
            }
        };
        let mut x: Vec<f64> = inputs.lo.iter().zip(&inputs.hi).map(|r| number(r, rng)).collect();
        for (feature, allowed) in &inputs.categories {
            let levels: Vec<usize> = (0..allowed.len()).filter(|l| allowed[*l]).collect();
            self.plan.map.put_level(*feature, levels[rng.next_u32() as usize % levels.len()], &mut x);
        }
        x
    }

    /// The nearest point of the region: float32 numbers, whole ones or multiples where they must be, one level a category.
    pub fn snap(&self, x: &mut [f64], part: &Region) {
        let map = &self.plan.map;
        for (f, columns) in map.features().enumerate() {
            // A category may have no column.
            if let Some(allowed) = part.levels(f) {
                let absent = 1.0 - x[columns].iter().sum::<f64>();
                let share = |l: usize| map.level(f, l).map_or(absent, |column| x[column]);
                let levels = (0..allowed.len()).filter(|l| allowed[*l]);
                if let Some(best) = levels.max_by(|a, b| share(*a).total_cmp(&share(*b)).then(b.cmp(a))) {
                    map.put_level(f, best, x);
                }
            } else if let Some(v) = part.nearest(f, x[columns.start]) {
                x[columns.start] = f64::from(v);
            }
        }
    }

    /// A counter-example, or else the point where the climb ended.
    pub fn climb(
        &self,
        cell: &CellForms,
        part: &Region,
        inputs: &InputBox,
        steps: usize,
        mut x: Vec<f64>,
        rng: &mut ChaCha8Rng,
    ) -> Result<CounterExample, Vec<f64>> {
        if cell.atoms.is_empty() {
            // Nothing to climb: every point of the part is in the cell.
            return self.replay(&x).ok_or(x);
        }
        let mut found: Option<(f64, CounterExample)> = None;
        let mut after = 0;
        for t in 0..=steps {
            let values = self.plan.values(&x);
            let y = &values[self.plan.output()];
            let atoms = cell.free().iter().map(|k| (cell.value(*k, y, &x), *k));
            let Some(smallest) = atoms.min_by(|a, b| a.0.total_cmp(&b.0)) else { return Err(x) };
            if smallest.0 > -self.nearly(&values)
                && found.as_ref().is_none_or(|(best, _)| smallest.0 > *best)
                && let Some(example) = self.replay(&x)
            {
                let certain = example.in_every_runtime;
                found = Some((smallest.0, example));
                if certain {
                    break;
                }
            }
            // A few more steps, to get clear of rounding.
            after += usize::from(found.is_some());
            if after > 15 {
                break;
            }
            let atom = &cell.atoms[smallest.1];
            let mut g = self.plan.gradient(&atom.y, &values);
            g.iter_mut().zip(&atom.x).for_each(|(g, c)| *g += c);
            let rate = 0.3 * (1.0 - t as f64 / (steps as f64 + 1.0)).powi(2) + 0.002;
            for (i, (lo, hi)) in inputs.lo.iter().zip(&inputs.hi).enumerate() {
                // Not `signum`: where values overflow a slope is not a number, and says nothing.
                let direction = f64::from(i8::from(g[i] > 0.0) - i8::from(g[i] < 0.0));
                x[i] = (x[i] + direction * rate * (hi - lo)).clamp(*lo, *hi);
            }
            for (feature, allowed) in &inputs.categories {
                self.best_level(&mut x, &g, *feature, allowed, rng);
            }
            self.snap(&mut x, part);
        }
        found.map(|(_, example)| example).ok_or(x)
    }

    /// The least atom of a cell at a point: the rule is broken where it is above zero.
    pub fn least(&self, cell: &CellForms, x: &[f64]) -> f64 {
        let values = self.plan.values(x);
        let y = &values[self.plan.output()];
        cell.free().iter().map(|k| cell.value(*k, y, x)).fold(f64::INFINITY, f64::min)
    }

    /// The level to which the gradient points, now and then another one.
    fn best_level(&self, x: &mut [f64], g: &[f64], feature: usize, allowed: &[bool], rng: &mut ChaCha8Rng) {
        let weight = |l: usize| self.plan.map.level(feature, l).map_or(0.0, |column| g[column]);
        let levels: Vec<usize> = (0..allowed.len()).filter(|l| allowed[*l]).collect();
        let other = rng.next_u32() as usize % (4 * levels.len());
        let Some(best) = levels.iter().copied().max_by(|a, b| weight(*a).total_cmp(&weight(*b)).then(b.cmp(a))) else { return };
        let chosen = levels.get(other).copied().unwrap_or(best);
        self.plan.map.put_level(feature, chosen, x);
    }

    /// Atoms that are below zero by no more may hold when evaluated in the arithmetic of the question.
    fn nearly(&self, values: &[Vec<f64>]) -> f64 {
        let size = || values.iter().flatten().fold(1.0f64, |m, v| m.max(v.abs()));
        if self.plan.is_real() { 1e-9 * size() } else { 1e-4 }
    }

    /// Runs the network and asks the rule itself.
    pub fn replay(&self, x: &[f64]) -> Option<CounterExample> {
        let x: Vec<f32> = x.iter().map(|v| *v as f32).collect();
        if self.plan.is_real() {
            return self.replay_exactly(x);
        }
        let y = self.network.forward(&Matrix { rows: 1, cols: x.len(), data: x.clone() }).data;
        if !self.judge.breaks(self.rule, &x, &y) {
            return None;
        }
        Some(CounterExample { rule: self.rule, in_every_runtime: self.certainly_broken(&x), exact: false, x, y, other: None })
    }

    /// The same in exact arithmetic. With sigmoid or tanh, which have no exact value, the violation must be beyond rounding.
    fn replay_exactly(&self, x: Vec<f32>) -> Option<CounterExample> {
        let Some(outputs) = exact::outputs(self.network, &x) else {
            let y = self.network.enclose(&x).iter().map(|b| b.centre as f32).collect();
            let broken = self.certainly_broken(&x);
            return broken.then_some(CounterExample { rule: self.rule, in_every_runtime: true, exact: true, x, y, other: None });
        };
        let value = |var: Var| match var {
            Var::Output(j) => outputs[j].clone(),
            input => Rational::try_from(self.judge.input(&x, input)).unwrap_or_default(),
        };
        if self.spec.rules[self.rule].claim.at(&value) {
            return None;
        }
        let y = outputs.iter().map(|v| v.to_f64().value() as f32).collect();
        Some(CounterExample { rule: self.rule, in_every_runtime: self.certainly_broken(&x), exact: true, x, y, other: None })
    }

    /// Whether the rule is false for all outputs that a float32 runtime may give: no atom of it that could hold makes it true. Lines
    /// on the point's own box keep what rounding errors have in common, where intervals would multiply them layer by layer.
    fn certainly_broken(&self, x: &[f32]) -> bool {
        // Runtimes compute in float32, whatever arithmetic the question is about.
        let rounded = self.plan.is_real().then(|| BoundPlan::new(self.network, &self.spec.schema, Arithmetic::Float32));
        let plan = rounded.as_ref().unwrap_or(self.plan);
        if plan.may_overflow_at(x) {
            return false;
        }
        let point: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
        let inputs = InputBox { lo: point.clone(), hi: point, categories: Vec::new() };
        let mut pass = Pass::default();
        let boxes = plan.boxes(&inputs, Reach::Lines, None, &mut pass);
        let ground = KnownRegion { plan, kind: Reach::Lines, boxes: &boxes, inputs: &inputs, signs: &[] };
        let mut could_hold = |atom: &Atom| {
            if !atom.linear.mentions_output() {
                // About the input alone: exact.
                return self.judge.holds(atom, x, &[]);
            }
            let cell = CellForms::new(plan, std::slice::from_ref(atom));
            cell.by(ground, &[1.0], &mut pass) + 1e-12 * pass.size >= 0.0
        };
        !self.spec.rules[self.rule].claim.holds(&mut could_hold)
    }
}
