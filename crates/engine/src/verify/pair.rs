//! Rules between two inputs and a network enter; two inputs that break one leave, or an argument for each that the checker may accept.
//!
//! First pairs are tried, then signs of weights, which hold exactly; then bounds of the slopes on ever smaller regions.

mod slopes;

use deepsade_net::{Matrix, Network};
use deepsade_output::Output;
use deepsade_solve::sample;
use deepsade_spec::{Kept, Linear, Moves, NormalSpec, Pair, Rational, Region, Var};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::attack::CounterExample;
use super::plan::BoundPlan;
use super::{Halt, exact};

/// Pairs that are tried at a time, and rounds of them.
const BATCH: usize = 2048;
const ROUNDS: usize = 24;
/// Pairs that are moved on from one round to the next.
const KEPT: usize = 64;

/// What is asked about a rule between two inputs.
pub(super) struct PairQuestion<'a> {
    pub spec: &'a NormalSpec,
    pub network: &'a Network,
    /// What makes the outputs, if more than the network does.
    pub behind: Option<&'a Output<'a>>,
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
            let y = self.behind.map_or_else(|| self.network.forward(&x), |output| output.outputs(&x));
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
        let clear = self.behind.is_none() && {
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
        self.plan.map.of(var).value(x, |v| Rational::try_from(v).unwrap_or_default())
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
                    let v = f64::from(x[self.plan.map.first(f)]) + (rng.random::<f64>() - 0.5) * far;
                    x[self.plan.map.first(f)] = self.snapped(f, v);
                }
                (None, 0) => self.draw(f, &mut x, rng),
                _ => {}
            }
        }
        x
    }

    /// Another value of a feature, often an end.
    fn draw(&self, f: usize, x: &mut [f32], rng: &mut ChaCha8Rng) {
        let share = match rng.random_range(0..8) {
            0 => 0.0,
            1 => 1.0,
            _ => rng.random::<f64>(),
        };
        sample::put(self.whole, &self.plan.map, f, share, x);
    }

    fn snapped(&self, f: usize, v: f64) -> f32 {
        self.whole.nearest(f, v).unwrap_or_default()
    }

    /// The second input of a pair.
    fn moved(&self, part: &Pair, x: &[f32], rng: &mut ChaCha8Rng) -> Vec<f32> {
        let mut to = x.to_vec();
        let one = part.features[rng.random_range(0..part.features.len())];
        let all = rng.random_range(0..3) == 0;
        for (k, &f) in part.features.iter().enumerate().filter(|(_, f)| all || **f == one) {
            let first = self.plan.map.first(f);
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
fn certainly(part: &Pair, a: &[deepsade_net::ball::Ball], b: &[deepsade_net::ball::Ball]) -> bool {
    let Kept::Number { linear, by, .. } = &part.kept else { return false };
    let most = linear.terms.iter().fold(by.to_f64().value(), |sum, (var, c)| {
        let Var::Output(j) = var else { return sum };
        let c = c.to_f64().value();
        sum + c * (b[*j].centre - a[*j].centre) + c.abs() * (a[*j].radius + b[*j].radius)
    });
    most < 0.0
}
