//! What the tests of makers share: a domain, points on borders, wild scores, and running a piece.

use deepsade_check::step::{Case, InputPorts, OutputStep, Outputs, Tail};
use deepsade_net::{Matrix, Piece, Port};
use deepsade_spec::{NormalSpec, RuleText, Task, compile};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::{CANDIDATE, Made, PREFIX, Source};
use crate::graph::{Graph, Value};
use crate::{Judge, random_rules};

pub(super) const SOURCE: Source<'static> = Source { scores: "scores", x: "x", probabilities: false };

pub(super) fn spec<S: AsRef<str>>(task: Task, texts: &[S]) -> NormalSpec {
    let rules: Vec<RuleText> = texts.iter().map(|t| RuleText { name: t.as_ref().into(), text: t.as_ref().into() }).collect();
    compile(&rules, &random_rules::schema(task)).unwrap_or_else(|e| panic!("{rules:?}: {e:?}"))
}

pub(super) fn multilabel<S: AsRef<str>>(n: usize, texts: &[S]) -> NormalSpec {
    spec(random_rules::multilabel(n), texts)
}

/// A point of the domain, often on a border of the conditions `a < 3.5`, `a + b >= 4` or next to it.
pub(super) fn point(rng: &mut ChaCha8Rng) -> Vec<f32> {
    let b = rng.random_range(-5..=5) as f32;
    let a: f32 = match rng.random_range(0..4) {
        0 => [3.5, 3.5f32.next_down(), 3.5f32.next_up(), 0.0, 10.0][rng.random_range(0..5)],
        1 if (-5.0..5.0).contains(&b) => {
            let on = (4.0 - b).min(10.0);
            [on, on.next_down(), on.next_up().min(10.0)][rng.random_range(0..3)]
        }
        _ => rng.random_range(0.0..10.0),
    };
    let level = rng.random_range(0..3);
    let mut x = vec![a, b];
    x.extend((0..3).map(|l| f32::from(u8::from(l == level))));
    x
}

/// Where the sum `a + b` is too near to 4 for float32 to tell on which side it is.
pub(super) fn unclear(x: &[f32]) -> bool {
    (f64::from(x[0]) + f64::from(x[1]) - 4.0).abs() < 1e-4
}

/// Scores of one kind a row: smooth, with ties, or of all kinds.
pub(super) fn scores(rng: &mut ChaCha8Rng, n: usize) -> Vec<f32> {
    let wild = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 0.0, -0.0, 1e-45, 3.0, -2.0, 1e6];
    let kind = rng.random_range(0..4);
    let one = |rng: &mut ChaCha8Rng| match kind {
        0 => rng.random_range(-12i32..12) as f32 / 4.0,
        1 if rng.random_range(0..3) == 0 => wild[rng.random_range(0..wild.len())],
        _ => rng.random_range(-5.0..5.0),
    };
    (0..n).map(|_| one(rng)).collect()
}

/// The candidates for some rows.
pub(super) fn run(made: &Made, scores: &[Vec<f32>], x: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let names = made.piece.calls.iter().map(|c| &c.makes).chain(made.piece.tensors.iter().map(|t| &t.name));
    names.for_each(|name| assert!(name.starts_with(PREFIX), "{name}"));
    assert_eq!(made.piece.calls.last().unwrap().makes, CANDIDATE);
    let graph = Graph::new(&made.piece, &["scores", "x"]).unwrap();
    let matrix = |rows: &[Vec<f32>]| Matrix { rows: rows.len(), cols: rows[0].len(), data: rows.concat() };
    let found = graph.run(vec![matrix(scores).into(), matrix(x).into()], &[CANDIDATE]).unwrap().remove(0);
    let found = Matrix::try_from(found).unwrap();
    assert_eq!((found.cols, found.rows), (scores.len(), made.outputs.count()));
    turned(&found)
}

/// The columns of a matrix.
pub(super) fn turned(of: &Matrix) -> Vec<Vec<f32>> {
    (0..of.cols).map(|c| (0..of.rows).map(|r| of.row(r)[c]).collect()).collect()
}

/// The tail behind candidates.
fn tail(spec: &NormalSpec, outputs: &Outputs) -> Piece {
    let fallback = vec![Case { when: Vec::new(), weights: Vec::new(), bias: vec![0.0; outputs.count()], trees: Vec::new() }];
    let step = OutputStep { candidate: CANDIDATE.into(), outputs: outputs.clone(), fallback };
    let inputs = InputPorts::of(&[Port::rows("x", "float", Some(spec.schema.columns().len()))], &spec.schema).unwrap();
    Tail::new(spec, &step, &inputs, ["y", "in_domain", "ok"].map(String::from)).unwrap().piece
}

/// Which candidates pass the tail.
pub(super) fn pass(spec: &NormalSpec, made: &Made, candidates: &[Vec<f32>], x: &[Vec<f32>]) -> Vec<bool> {
    let graph = Graph::new(&tail(spec, &made.outputs), &[CANDIDATE, "x"]).unwrap();
    let matrix = |rows: &[Vec<f32>]| Matrix { rows: rows.len(), cols: rows[0].len(), data: rows.concat() };
    let standing = matrix(&turned(&matrix(candidates)));
    let Value::Bool(ok) = graph.run(vec![standing.into(), matrix(x).into()], &["ok"]).unwrap().remove(0) else {
        panic!("`ok` is no truth")
    };
    ok.data
}

pub(super) fn obeys(spec: &NormalSpec, x: &[f32], y: &[f32]) -> bool {
    let judge = Judge::new(spec);
    (0..spec.rules.len()).all(|rule| !judge.breaks(rule, x, y))
}
