//! Of each case: rules, ranges and an anchor; random outputs and inputs, borders, huge ones and none; the interpreter runs the piece and the
//! checker's own tail behind it.

mod choices;
mod equalities;
mod faces;
mod refusals;
mod spread;
mod whole;

use deepsade_check::step::{Case, InputPorts, Number, OutputStep, Outputs, Tail, output_names};
use deepsade_net::{Matrix, Port};
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Anchor, grids, make};
use crate::graph::{Graph, Value};
use crate::judge::Judge;
use crate::make::tests::turned;
use crate::make::{CANDIDATE, Made, MakeError, NotEqual, PREFIX, Source};
use crate::nearest::Allowed;

const SOURCE: Source = Source { scores: "scores", x: "x", probabilities: false };
/// Spreads of outputs that count alike.
const ALIKE: [f64; 24] = [1.0; 24];

fn real(name: &str, lo: f32, hi: f32) -> Feature {
    Feature { name: name.into(), domain: Domain::Real { lo, hi } }
}

fn whole(name: &str, lo: i32, hi: i32) -> Feature {
    Feature { name: name.into(), domain: Domain::Integer { lo, hi } }
}

fn stepped(name: &str, lo: f32, hi: f32, step: f32) -> Feature {
    Feature { name: name.into(), domain: Domain::Stepped { lo, hi, step } }
}

fn category(name: &str, levels: &[&str]) -> Feature {
    Feature { name: name.into(), domain: Domain::Category { levels: levels.iter().map(|l| (*l).into()).collect() } }
}

fn spec(features: Vec<Feature>, targets: &[&str], rules: &[&str]) -> NormalSpec {
    let task = Task::regression(targets.iter().map(|t| (*t).into()).collect());
    let schema = Schema { features, task, one_hot: OneHot::DropFirst, filled: vec![] };
    let rules: Vec<RuleText> =
        rules.iter().enumerate().map(|(k, text)| RuleText { name: format!("rule {k}"), text: (*text).into() }).collect();
    compile(&rules, &schema).unwrap()
}

fn wide(outputs: usize, lo: f32, hi: f32) -> Vec<Number> {
    vec![Number { lo, hi, grid: None }; outputs]
}

fn constant(bias: &[f32]) -> Anchor {
    Anchor { weights: Vec::new(), bias: bias.to_vec() }
}

/// What came out for rows of outputs and inputs.
struct Ran {
    /// The candidates.
    y: Matrix,
    /// What the tail gave.
    given: Matrix,
    /// Whether it took each.
    ok: Vec<bool>,
}

/// What exists since opset 13 or before, with the signature of today.
const OPERATORS: [&str; 27] = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Max",
    "Min",
    "Greater",
    "Less",
    "Where",
    "Concat",
    "Gather",
    "MatMul",
    "Gemm",
    "Cast",
    "ArgMax",
    "Relu",
    "Floor",
    "Abs",
    "Neg",
    "And",
    "Or",
    "Not",
    "Flatten",
    "Clip",
    "Equal",
    "Transpose",
    "Reshape",
];

fn run(spec: &NormalSpec, made: &Made, s: &Matrix, x: &Matrix) -> Ran {
    let names = made.piece.calls.iter().map(|c| &c.makes).chain(made.piece.tensors.iter().map(|t| &t.name));
    names.for_each(|name| assert!(name.starts_with(PREFIX), "{name}"));
    made.piece.calls.iter().for_each(|call| assert!(OPERATORS.contains(&call.op.as_str()), "{}", call.op));
    let outputs = made.outputs.count();
    let fallback = Case { when: Vec::new(), weights: Vec::new(), bias: vec![0.0; outputs], trees: Vec::new() };
    let step = OutputStep { candidate: CANDIDATE.into(), outputs: made.outputs.clone(), fallback: vec![fallback] };
    let names = output_names(|_| false);
    let tail = Tail::new(spec, &step, &InputPorts::Rows(Port::rows("x", "float", Some(x.cols))), names.clone()).unwrap();
    let mut piece = made.piece.clone();
    piece.append(tail.piece);
    let graph = Graph::new(&piece, &["scores", "x"]).unwrap();
    let mut found = graph.run(vec![s.clone().into(), x.clone().into()], &[CANDIDATE, &names[0], &names[2]]).unwrap();
    let Some(Value::Bool(ok)) = found.pop() else { panic!("ok is a boolean") };
    let mut next = || Matrix::try_from(found.pop().unwrap()).unwrap();
    let (given, candidates) = (next(), turned(&next()));
    Ran { given, y: Matrix { rows: s.rows, cols: s.cols, data: candidates.concat() }, ok: ok.data }
}

/// Inputs of the domain: anywhere, at its ends, and at a few given values.
fn inputs(spec: &NormalSpec, rows: usize, borders: &[f32], rng: &mut ChaCha8Rng) -> Matrix {
    let mut data = Vec::new();
    for _ in 0..rows {
        for feature in &spec.schema.features {
            match &feature.domain {
                Domain::Real { lo, hi } => {
                    let v = match rng.random_range(0..10) {
                        0 => *lo,
                        1 => *hi,
                        2 if !borders.is_empty() => {
                            let at = borders[rng.random_range(0..borders.len())];
                            [at.next_down(), at, at.next_up()][rng.random_range(0..3)]
                        }
                        _ => lo + rng.random::<f32>() * (hi - lo),
                    };
                    data.push(v.clamp(*lo, *hi));
                }
                Domain::Integer { lo, hi } => data.push(rng.random_range(*lo..=*hi) as f32),
                Domain::Ordered { levels } => data.push(rng.random_range(0..levels.len()) as f32),
                Domain::Stepped { lo, hi, step } => {
                    data.push(rng.random_range((lo / step) as i32..=(hi / step) as i32) as f32 * step);
                }
                Domain::Category { levels } => {
                    let level = rng.random_range(0..levels.len());
                    data.extend((1..levels.len()).map(|l| f32::from(u8::from(l == level))));
                }
            }
        }
    }
    Matrix { rows, cols: spec.schema.columns().len(), data }
}

/// Outputs anywhere around the middle of an interval.
fn scores(rows: usize, outputs: usize, lo: f32, hi: f32, rng: &mut ChaCha8Rng) -> Matrix {
    let data = (0..rows * outputs).map(|_| lo + rng.random::<f32>() * (hi - lo)).collect();
    Matrix { rows, cols: outputs, data }
}

/// Outputs of any size, and infinite ones. For what is not a number the fallback may answer.
fn wild(rows: usize, outputs: usize, rng: &mut ChaCha8Rng) -> Matrix {
    let one = |rng: &mut ChaCha8Rng| match rng.random_range(1..8) {
        1 => f32::INFINITY,
        2 => f32::NEG_INFINITY,
        3 => 0.0,
        _ => (rng.random::<f32>() - 0.5) * 10f32.powi(rng.random_range(-40..38)),
    };
    Matrix { rows, cols: outputs, data: (0..rows * outputs).map(|_| one(rng)).collect() }
}

/// The share of rows that the tail refuses; every row that it takes obeys the rules, exactly.
fn refused(spec: &NormalSpec, made: &Made, s: &Matrix, x: &Matrix) -> f64 {
    let ran = run(spec, made, s, x);
    let judge = Judge::new(spec);
    let mut refused = 0;
    for row in 0..s.rows {
        let breaks = (0..spec.rules.len()).any(|rule| judge.breaks(rule, x.row(row), ran.given.row(row)));
        assert!(!(ran.ok[row] && breaks), "taken and broken: {:?} {:?} {:?}", x.row(row), s.row(row), ran.y.row(row));
        refused += usize::from(!ran.ok[row]);
    }
    refused as f64 / s.rows as f64
}

/// The squared distance of the candidates in units of the spreads, beside that of the exact nearest outputs; their sums.
fn ratio(spec: &NormalSpec, made: &Made, ranges: &[Number], spread: &[f64], s: &Matrix, x: &Matrix) -> f64 {
    let ran = run(spec, made, s, x);
    let allowed = Allowed::new(spec).with_spread(spread.to_vec());
    let (mut found, mut exact) = (0.0, 0.0);
    for row in 0..s.rows {
        let p: Vec<f64> = s.row(row).iter().zip(ranges).map(|(v, n)| f64::from(v.clamp(n.lo, n.hi))).collect();
        let best = allowed.nearest(&allowed.at(x.row(row)).unwrap(), &p, 0.0).unwrap().y;
        let square =
            |y: &mut dyn Iterator<Item = f64>| y.zip(&p).zip(spread).map(|((y, p), s)| ((y - p) / s).powi(2)).sum::<f64>();
        exact += square(&mut best.into_iter());
        found += square(&mut ran.y.row(row).iter().map(|v| f64::from(*v)));
    }
    found / exact
}

/// One case: a spec, ranges, and whether there is an anchor.
struct Trial<'a> {
    spec: &'a NormalSpec,
    ranges: &'a [Number],
    anchor: Option<&'a Anchor>,
    /// Where usual outputs are.
    usual: (f32, f32),
    /// Values of real features at which conditions change.
    borders: &'a [f32],
}

/// What is asked of it: shares of usual and of wild rows that may be refused, and the ratio of squared distances.
struct Asked {
    refused: f64,
    wild: f64,
    ratio: f64,
}

/// As good as can be asked where there is an anchor, or one can be found.
const SURE: Asked = Asked { refused: 0.0, wild: 0.001, ratio: 1.01 };

impl Trial<'_> {
    fn passes(&self, asked: &Asked) -> Made {
        self.passes_with(asked, &ALIKE[..self.ranges.len()])
    }

    fn passes_with(&self, asked: &Asked, spread: &[f64]) -> Made {
        const ROWS: usize = 3000;
        let rng = &mut ChaCha8Rng::seed_from_u64(7);
        let made = make(self.spec, &SOURCE, self.ranges, spread, self.anchor).unwrap();
        let (x, outputs) = (inputs(self.spec, ROWS, self.borders, rng), self.ranges.len());
        let s = scores(ROWS, outputs, self.usual.0, self.usual.1, rng);
        let rules: Vec<&str> = self.spec.rules.iter().map(|r| &r.text[..]).collect();
        let (found, ratio) = (refused(self.spec, &made, &s, &x), ratio(self.spec, &made, self.ranges, spread, &s, &x));
        let wild = refused(self.spec, &made, &wild(ROWS, outputs, rng), &x);
        let said =
            format!("{rules:?}, {}, {} calls: refused {found}, wild {wild}, ratio {ratio}", made.how, made.piece.calls.len());
        println!("{said}");
        assert!(found <= asked.refused && wild <= asked.wild && ratio <= asked.ratio, "{said}");
        made
    }
}

/// What leaves outputs as they are: what is asked of candidates must be more than that.
fn as_they_are(ranges: &[Number]) -> Made {
    let mut piece = deepsade_net::Piece::default();
    piece.call("Transpose", &["scores"], CANDIDATE);
    Made { piece, outputs: Outputs::Numbers(ranges.to_vec()), best: false, ratio: 1.0, nowhere: 0.0, how: "as they are".into() }
}
