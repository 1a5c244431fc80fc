//! Rules between two inputs and a network enter; two inputs that break one leave, or an argument for each that the checker may accept.
//!
//! First pairs are tried, then signs of weights, which hold exactly; then bounds of the slopes on ever smaller regions.

use deepsade_check::{Bounds, PairArgument, Tree};
use deepsade_net::{Activation, Matrix, Network, Op};
use deepsade_spec::{Cut, Domain, Formula, Kept, Linear, Moves, NormalSpec, Pair, Rational, Region, Var};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::attack::CounterExample;
use super::pass::{Kind, Pass};
use super::plan::{BoundPlan, Boxes, Inputs, Step};
use super::{Halt, exact};

/// Pairs that are tried at a time, and rounds of them.
const BATCH: usize = 2048;
const ROUNDS: usize = 24;
/// Pairs that are moved on from one round to the next.
const KEPT: usize = 64;
/// Regions of one rule.
const MOST_REGIONS: usize = 200_000;

/// What is asked about a rule between two inputs.
pub(super) struct PairQuestion<'a> {
    pub spec: &'a NormalSpec,
    pub network: &'a Network,
    pub plan: &'a BoundPlan,
    pub whole: &'a Region,
    pub seed: u64,
    pub stop: &'a (dyn Fn() -> Option<Halt> + Sync),
}

impl PairQuestion<'_> {
    /// Two inputs that break a rule, the rules of one input counted before these.
    pub fn attack(&self) -> Option<CounterExample> {
        for (k, rule) in self.spec.pairs.iter().enumerate() {
            for part in &rule.parts {
                if let Some(found) = self.attack_part(part) {
                    return Some(CounterExample { rule: self.spec.rules.len() + k, ..found });
                }
            }
        }
        None
    }

    fn attack_part(&self, part: &Pair) -> Option<CounterExample> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let width = self.plan.widths[0];
        let mut best: Vec<(f64, Vec<f32>, Vec<f32>)> = Vec::new();
        for round in 0..ROUNDS {
            if (self.stop)().is_some() {
                return None;
            }
            let mut pairs: Vec<(Vec<f32>, Vec<f32>)> = Vec::with_capacity(BATCH);
            while pairs.len() < BATCH {
                let from = if round > 0 && !best.is_empty() && pairs.len().is_multiple_of(2) {
                    // Near a pair that came close: most features as they are.
                    let near = &best[rng.random_range(0..best.len())].1;
                    self.near(near, &mut rng)
                } else {
                    self.random(&mut rng)
                };
                let to = self.moved(part, &from, &mut rng);
                pairs.push((from, to));
            }
            let mut x = Matrix::zeros(2 * BATCH, width);
            for (k, (a, b)) in pairs.iter().enumerate() {
                x.row_mut(k).copy_from_slice(a);
                x.row_mut(BATCH + k).copy_from_slice(b);
            }
            let y = self.network.forward(&x);
            let mut seen: Vec<(f64, usize)> = Vec::new();
            for (k, pair) in pairs.iter().enumerate() {
                let (ya, yb) = (y.row(k), y.row(BATCH + k));
                let room = room(part, ya, yb);
                if room < 0.0
                    && let Some(found) = self.broken(part, pair, (ya, yb))
                {
                    return Some(found);
                }
                // What is left of the room beside the way that was gone: a small step that hardly rises is near one that falls.
                let way: f64 = pair.0.iter().zip(&pair.1).map(|(a, b)| f64::from((a - b).abs())).sum();
                if way > 0.0 && room.is_finite() {
                    seen.push((room / way, k));
                }
            }
            seen.sort_by(|a, b| a.0.total_cmp(&b.0));
            best.extend(seen.iter().take(KEPT).map(|(room, k)| (*room, pairs[*k].0.clone(), pairs[*k].1.clone())));
            best.sort_by(|a, b| a.0.total_cmp(&b.0));
            best.truncate(KEPT);
        }
        None
    }

    /// The exact judgement of two inputs with their float32 outputs; in real arithmetic with the exact ones.
    fn broken(&self, part: &Pair, (a, b): &(Vec<f32>, Vec<f32>), (ya, yb): (&[f32], &[f32])) -> Option<CounterExample> {
        let finite = ya.iter().chain(yb).all(|v| v.is_finite());
        let exactly = |x: &[f32]| self.plan.is_real().then(|| exact::outputs(self.network, x)).flatten();
        let [ea, eb] = [exactly(a), exactly(b)];
        let value = |x: &[f32], y: &[f32], e: &Option<Vec<Rational>>, var: Var| match (var, e) {
            (Var::Output(j), Some(exact)) => exact[j].clone(),
            (Var::Output(j), None) => Rational::try_from(y[j]).unwrap_or_default(),
            (input, _) => self.input(x, input),
        };
        let of = |var| value(a, ya, &ea, var);
        let to = |var| value(b, yb, &eb, var);
        if !finite || self.plan.is_real() && ea.is_none() || !part.allows(&self.spec.schema, &of, &to) || part.keeps(&of, &to) {
            return None;
        }
        let clear = {
            let (ba, bb) = (self.network.enclose(a), self.network.enclose(b));
            certainly(part, &ba, &bb)
        };
        Some(CounterExample {
            rule: 0,
            x: a.clone(),
            y: ya.to_vec(),
            exact: self.plan.is_real(),
            in_every_runtime: clear,
            other: Some((b.clone(), yb.to_vec())),
        })
    }

    /// The value of an input variable in a row of columns.
    fn input(&self, x: &[f32], var: Var) -> Rational {
        let exact = |v: f32| Rational::try_from(v).unwrap_or_default();
        match var {
            Var::Output(_) => Rational::ZERO,
            Var::Feature(f) => exact(x[self.plan.first[f]]),
            Var::Level(f, l) if l >= self.plan.dropped => exact(x[self.plan.first[f] + l - self.plan.dropped]),
            Var::Level(f, _) => {
                let Domain::Category { levels } = &self.spec.schema.features[f].domain else { return Rational::ZERO };
                let first = self.plan.first[f];
                Rational::ONE - x[first..first + levels.len() - 1].iter().map(|v| exact(*v)).fold(Rational::ZERO, |a, b| a + b)
            }
        }
    }

    /// A random input.
    fn random(&self, rng: &mut ChaCha8Rng) -> Vec<f32> {
        let mut x = vec![0.0; self.plan.widths[0]];
        (0..self.spec.schema.features.len()).for_each(|f| self.draw(f, &mut x, rng));
        x
    }

    /// An input that differs in a few features.
    fn near(&self, x: &[f32], rng: &mut ChaCha8Rng) -> Vec<f32> {
        let mut x = x.to_vec();
        for f in 0..self.spec.schema.features.len() {
            match (self.whole.range(f), rng.random_range(0..4)) {
                (Some((lo, hi)), 0) => {
                    let far = 10f64.powi(-rng.random_range(0..5)) * (hi - lo);
                    let v = f64::from(x[self.plan.first[f]]) + (rng.random::<f64>() - 0.5) * far;
                    x[self.plan.first[f]] = self.snapped(f, v);
                }
                (None, 0) => self.draw(f, &mut x, rng),
                _ => {}
            }
        }
        x
    }

    fn draw(&self, f: usize, x: &mut [f32], rng: &mut ChaCha8Rng) {
        let first = self.plan.first[f];
        if let Some((lo, hi)) = self.whole.range(f) {
            let at = match rng.random_range(0..8) {
                0 => lo,
                1 => hi,
                _ => lo + (hi - lo) * rng.random::<f64>(),
            };
            x[first] = self.snapped(f, at);
        } else if let Some(allowed) = self.whole.levels(f) {
            let chosen = rng.random_range(0..allowed.len());
            (self.plan.dropped..allowed.len()).for_each(|l| x[first + l - self.plan.dropped] = f32::from(u8::from(l == chosen)));
        }
    }

    fn snapped(&self, f: usize, v: f64) -> f32 {
        let (lo, hi) = self.whole.range(f).unwrap_or((0.0, 1.0));
        let v = self.whole.step(f).map_or(v, |step| (v / step).round() * step);
        (v.clamp(lo, hi) as f32).clamp(lo as f32, hi as f32)
    }

    /// The second input of a pair.
    fn moved(&self, part: &Pair, x: &[f32], rng: &mut ChaCha8Rng) -> Vec<f32> {
        let mut to = x.to_vec();
        let one = part.features[rng.random_range(0..part.features.len())];
        let all = rng.random_range(0..3) == 0;
        for (k, &f) in part.features.iter().enumerate().filter(|(_, f)| all || **f == one) {
            let first = self.plan.first[f];
            let Some((lo, hi)) = self.whole.range(f) else {
                self.draw(f, &mut to, rng);
                continue;
            };
            let at = f64::from(x[first]);
            let step = self.whole.step(f);
            let goal = match &part.moves {
                Moves::Any => lo + (hi - lo) * rng.random::<f64>(),
                Moves::By(by) => {
                    at + by[k].to_f64().value() * [-1.0, 1.0, 2.0 * rng.random::<f64>() - 1.0][rng.random_range(0..3)]
                }
                Moves::Up => match (rng.random_range(0..3), step) {
                    (0, None) => f64::from(x[first].next_up()),
                    (0, Some(step)) => at + step,
                    (1, _) => at + (hi - at) * rng.random::<f64>().powi(8),
                    _ => at + (hi - at) * rng.random::<f64>(),
                },
            };
            to[first] = self.snapped(f, goal);
        }
        to
    }

    /// A tree of regions on whose leaves the slopes do what the parts of a rule ask, as far as float64 tells; or why there is none.
    pub fn slopes(&self, rule: usize, regions: &mut usize) -> Result<PairArgument, Option<Halt>> {
        let mut queries: Vec<(&Pair, Linear)> = Vec::new();
        for part in &self.spec.pairs[rule].parts {
            match &part.kept {
                Kept::Number { linear, .. } => queries.push((part, linear.clone())),
                Kept::Condition(formula) => formula.atoms(&mut |atom| queries.push((part, atom.linear.clone()))),
            }
            if part.moves == Moves::Any {
                return Err(None);
            }
        }
        let mut left = MOST_REGIONS;
        let tree = self.tree(&queries, self.whole, &mut left, 0)?;
        *regions += MOST_REGIONS - left;
        Ok(PairArgument::Slopes(tree))
    }

    fn tree(&self, queries: &[(&Pair, Linear)], region: &Region, left: &mut usize, depth: usize) -> Result<Tree, Option<Halt>> {
        if let Some(halt) = (self.stop)() {
            return Err(Some(halt));
        }
        if *left == 0 || depth > deepsade_check::certificate::MAX_DEPTH - 10 {
            return Err(None);
        }
        *left -= 1;
        let bare = |bounds| Tree::Leaf { bounds, cells: Vec::new(), lines: Vec::new() };
        let met = region.touching(self.whole);
        let asked: Vec<&(&Pair, Linear)> = queries.iter().filter(|(part, _)| !self.excluded(&part.condition, &met)).collect();
        let inputs = self.plan.inputs(&met);
        let mut open = None;
        for (kind, bounds) in [(Kind::Interval, Bounds::Interval), (Kind::Lines, Bounds::Relational)] {
            let boxes = self.plan.boxes(&inputs, kind, None, &mut Pass::default());
            if asked.iter().all(|(part, form)| self.holds(part, form, &boxes)) {
                return Ok(bare(bounds));
            }
            open = Some(boxes);
        }
        let Some((feature, cut)) = open.and_then(|boxes| self.split(region, &inputs, &boxes)) else { return Err(None) };
        let [low, high] = region.split(feature, &cut).map_err(|_| None)?;
        let below = Box::new(self.tree(queries, &low, left, depth + 1)?);
        let above = Box::new(self.tree(queries, &high, left, depth + 1)?);
        Ok(Tree::Split { feature, cut, below, above })
    }

    fn excluded(&self, condition: &Formula, region: &Region) -> bool {
        let parts = condition.conjuncts();
        parts.iter().all(|p| matches!(p, Formula::Atom(_)))
            && parts.iter().any(|p| {
                let Formula::Atom(atom) = p else { return false };
                region.most(&atom.linear, &self.spec.schema) < Rational::ZERO
            })
    }

    /// Whether the slopes in these boxes do what a rule asks.
    fn holds(&self, part: &Pair, form: &Linear, boxes: &Boxes) -> bool {
        let slope = |f: usize| self.slope(self.plan.first[f], form, boxes);
        match (&part.moves, &part.kept) {
            (Moves::By(by), Kept::Number { by: most, .. }) => {
                let change = |(f, d): (&usize, &Rational)| {
                    let (lo, hi) = slope(*f);
                    d.to_f64().value() * hi.max(-lo)
                };
                let total: f64 = part.features.iter().zip(by).map(change).sum();
                total <= most.to_f64().value() * (1.0 - 1e-9)
            }
            _ => part.features.iter().all(|f| slope(*f).0 >= 0.0),
        }
    }

    /// The slope of a form of the outputs in a column.
    fn slope(&self, column: usize, form: &Linear, boxes: &Boxes) -> (f64, f64) {
        let plan = self.plan;
        let mut values: Vec<Vec<(f64, f64)>> = Vec::with_capacity(plan.widths.len());
        values.push((0..plan.widths[0]).map(|c| if c == column { (1.0, 1.0) } else { (0.0, 0.0) }).collect());
        let coefficients: Vec<(usize, f64)> = form
            .terms
            .iter()
            .filter_map(|(v, c)| if let Var::Output(j) = v { Some((*j, c.to_f64().value())) } else { None })
            .collect();
        for (k, step) in plan.steps.iter().enumerate() {
            let value: Vec<(f64, f64)> = match step {
                Step::Dense { w, cols, from, .. } if k + 1 == plan.steps.len() => {
                    let row = |i: usize| coefficients.iter().map(|(j, c)| c * w[j * cols + i]).sum::<f64>();
                    return dot((0..*cols).map(row), &values[*from]);
                }
                Step::Dense { w, cols, from, .. } => {
                    w.chunks(*cols).map(|row| dot(row.iter().copied(), &values[*from])).collect()
                }
                Step::Affine { scale, from, .. } => {
                    scale.iter().zip(&values[*from]).map(|(s, x)| dot(std::iter::once(*s), &[*x])).collect()
                }
                Step::Act(f, from) => {
                    let most = if *f == Activation::Sigmoid { 0.25 } else { 1.0 };
                    let unit = |(i, x): (usize, &(f64, f64))| match f {
                        Activation::Relu if boxes.lo[*from][i] >= 0.0 => *x,
                        Activation::Relu if boxes.hi[*from][i] <= 0.0 => (0.0, 0.0),
                        _ => ((x.0 * most).min(0.0), (x.1 * most).max(0.0)),
                    };
                    values[*from].iter().enumerate().map(unit).collect()
                }
                Step::Select(columns, from) => columns.iter().map(|c| values[*from][*c]).collect(),
                Step::Concat(parts) => parts.iter().flat_map(|v| values[*v].iter().copied()).collect(),
                Step::Gate(from, by) => {
                    let factor = (boxes.lo[*by][0], boxes.hi[*by][0]);
                    let unit = |(i, x): (usize, &(f64, f64))| {
                        let v = (boxes.lo[*from][i], boxes.hi[*from][i]);
                        let (a, b) = (product(*x, factor), product(values[*by][0], v));
                        (a.0 + b.0, a.1 + b.1)
                    };
                    values[*from].iter().enumerate().map(unit).collect()
                }
            };
            values.push(value);
        }
        coefficients.iter().fold((0.0, 0.0), |(lo, hi), (j, c)| {
            let (a, b) = dot(std::iter::once(*c), &[values[plan.output()][*j]]);
            (lo + a, hi + b)
        })
    }

    /// Where to cut: the number whose range moves most what relus of the first layers read while their sign is open.
    fn split(&self, region: &Region, inputs: &Inputs, boxes: &Boxes) -> Option<(usize, Cut)> {
        let mut reach = vec![0.0; self.plan.widths[0]];
        for node in &self.network.nodes {
            let (Op::Act(Activation::Relu), Some(before)) = (&node.op, node.from[0].checked_sub(1)) else { continue };
            let Step::Dense { w, cols, from, .. } = &self.plan.steps[before] else { continue };
            if *cols != reach.len() {
                continue;
            }
            let scale = |c: usize| match from.checked_sub(1).map(|k| &self.plan.steps[k]) {
                Some(Step::Affine { scale, .. }) => scale[c].abs(),
                _ => 1.0,
            };
            for (u, row) in w.chunks(*cols).enumerate() {
                if boxes.lo[before + 1][u] < 0.0 && boxes.hi[before + 1][u] > 0.0 {
                    row.iter().enumerate().for_each(|(c, w)| reach[c] += w.abs() * scale(c));
                }
            }
        }
        let whole = self.plan.inputs(self.whole);
        let mut best: Option<(f64, usize, Cut)> = None;
        for (f, &first) in self.plan.first.iter().enumerate() {
            let found = if let Some((lo, hi)) = region.range(f) {
                let width = (inputs.hi[first] - inputs.lo[first]) / (whole.hi[first] - whole.lo[first]).max(1e-30);
                let middle = f64::midpoint(lo, hi) as f32;
                // Below a few float32 numbers nothing is told apart any more.
                (hi > lo && width > 1e-6).then(|| (reach[first] * (hi - lo) + 1e-3 * width, Cut::At(middle)))
            } else {
                let allowed = region.levels(f).unwrap_or_default();
                let levels: Vec<usize> = (0..allowed.len()).filter(|l| allowed[*l]).collect();
                let half = levels[..levels.len() / 2].to_vec();
                let reached = reach[first..].iter().take(allowed.len() - self.plan.dropped).fold(0.0, |a: f64, b| a.max(*b));
                (levels.len() > 1).then_some((reached + 1e-3, Cut::Levels(half)))
            };
            if let Some((size, cut)) = found
                && best.as_ref().is_none_or(|(b, ..)| size > *b)
            {
                best = Some((size, f, cut));
            }
        }
        best.map(|(_, f, cut)| (f, cut))
    }
}

/// By how much what is claimed holds: negative if it may be broken.
fn room(part: &Pair, a: &[f32], b: &[f32]) -> f64 {
    let at = |linear: &Linear, y: &[f32]| {
        linear.terms.iter().fold(linear.constant.to_f64().value(), |sum, (var, c)| match var {
            Var::Output(j) => sum + c.to_f64().value() * f64::from(y[*j]),
            _ => sum,
        })
    };
    match &part.kept {
        Kept::Number { linear, by, .. } => at(linear, b) - at(linear, a) + by.to_f64().value(),
        Kept::Condition(formula) => {
            let holds = |y: &[f32]| {
                formula.holds(&mut |atom| {
                    let v = at(&atom.linear, y);
                    if atom.strict { v > 0.0 } else { v >= 0.0 }
                })
            };
            let mut closest = f64::INFINITY;
            formula.atoms(&mut |atom| closest = closest.min((at(&atom.linear, b) - at(&atom.linear, a)).abs()));
            if holds(a) && !holds(b) { -1.0 } else { closest }
        }
    }
}

/// Whether every float32 runtime breaks it: the balls around what they compute leave no other way. Of conditions nothing is said.
fn certainly(part: &Pair, a: &[deepsade_net::enclose::Ball], b: &[deepsade_net::enclose::Ball]) -> bool {
    let Kept::Number { linear, by, .. } = &part.kept else { return false };
    let most = linear.terms.iter().fold(by.to_f64().value(), |sum, (var, c)| {
        let Var::Output(j) = var else { return sum };
        let c = c.to_f64().value();
        sum + c * (b[*j].centre - a[*j].centre) + c.abs() * (a[*j].radius + b[*j].radius)
    });
    most < 0.0
}

fn dot(w: impl Iterator<Item = f64>, x: &[(f64, f64)]) -> (f64, f64) {
    w.zip(x).fold((0.0, 0.0), |(lo, hi), (w, (a, b))| if w < 0.0 { (lo + w * b, hi + w * a) } else { (lo + w * a, hi + w * b) })
}

fn product(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let corners = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
    corners.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), c| (lo.min(*c), hi.max(*c)))
}
