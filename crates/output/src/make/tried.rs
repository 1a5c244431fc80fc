//! What makes candidates and a step enter; leaves the share of random candidates for which the fallback answers, and how long that takes.

use std::time::Instant;

use deepsade_check::step::{InputPorts, OutputStep, Tail, output_names};
use deepsade_net::{Matrix, Piece, Port};
use deepsade_solve::sample::InputSampler;
use deepsade_spec::NormalSpec;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Made, Source};
use crate::graph::{Graph, Value};

/// Rows to try.
const ROWS: usize = 1000;

/// What a step does with random candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// The share of inputs of the domain for which the fallback answers.
    pub fallbacks: f64,
    /// Microseconds a row in this program, 1000 rows at once.
    pub step_us: f64,
}

/// A piece that makes candidates with the tail behind it, to be run on scores and inputs, and the names of what it gives.
pub(super) fn with_tail(spec: &NormalSpec, piece: &Piece, step: &OutputStep, source: &Source) -> Option<(Graph, [String; 3])> {
    let names = output_names(|name| name == source.x || name == source.scores);
    let inputs = InputPorts::Rows(Port::rows(source.x, "float", Some(spec.schema.columns().len())));
    let tail = Tail::new(spec, step, &inputs, names.clone()).ok()?;
    let mut piece = piece.clone();
    piece.append(tail.piece);
    Some((Graph::new(&piece, &[source.scores, source.x]).ok()?, names))
}

/// Tries a step where a model gives numbers between some ends; `None` if it can't be run here.
pub fn tried(spec: &NormalSpec, made: &Made, step: &OutputStep, source: &Source, ends: &[(f64, f64)]) -> Option<Tried> {
    let (sampler, rng) = (InputSampler::new(&spec.schema), &mut ChaCha8Rng::seed_from_u64(0));
    let columns = spec.schema.columns().len();
    let (mut scores, mut x) = (Matrix::zeros(ROWS, ends.len()), Matrix::zeros(ROWS, columns));
    for r in 0..ROWS {
        x.row_mut(r).copy_from_slice(&sampler.row(rng));
        let between = |(lo, hi): &(f64, f64)| (lo + rng.random::<f64>() * (hi - lo)) as f32;
        let drawn: Vec<f32> = ends.iter().map(between).collect();
        scores.row_mut(r).copy_from_slice(&drawn);
    }
    let (graph, [y, inside, ok]) = with_tail(spec, &made.piece, step, source)?;
    let started = Instant::now();
    let mut found = graph.run(vec![scores.into(), x.into()], &[&y, &inside, &ok]).ok()?;
    let step_us = started.elapsed().as_secs_f64() * 1e6 / ROWS as f64;
    let Some(Value::Bool(taken)) = found.pop() else { return None };
    Some(Tried { fallbacks: taken.data.iter().filter(|taken| !**taken).count() as f64 / ROWS as f64, step_us })
}
