//! A model with an output step and rows enter; leaves how long the step takes beside the network, in this program's own evaluator.

use std::time::Instant;

use deepsade_net::{Matrix, Model};
use deepsade_output::Output;
use deepsade_spec::NormalSpec;
use serde::Serialize;

/// Rows that run at once.
pub const ROWS: usize = 1000;
/// Runs, of which the quickest counts.
const RUNS: usize = 5;

/// How long a model runs for each row, [`ROWS`] at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pace {
    /// Microseconds a row of the network alone.
    pub network_us: f64,
    /// Microseconds a row of the network with its step.
    pub model_us: f64,
    /// The second by the first.
    pub ratio: f64,
}

impl Pace {
    /// Of a model with a step; `None` without one, or without rows.
    pub fn of(model: &Model, spec: &NormalSpec, rows: &Matrix) -> Option<Self> {
        if !model.has_step() || rows.rows == 0 {
            return None;
        }
        let output = Output::of(model, spec).ok()?;
        let mut x = Matrix::zeros(ROWS, rows.cols);
        (0..ROWS).for_each(|r| x.row_mut(r).copy_from_slice(rows.row(r % rows.rows)));
        let (mut network_us, mut model_us) = (f64::INFINITY, f64::INFINITY);
        // In turns: others on the machine slow both down alike.
        for _ in 0..RUNS {
            network_us = network_us.min(taken(&|| drop(model.network.forward(&x))));
            model_us = model_us.min(taken(&|| drop(output.outputs(&x))));
        }
        Some(Self { network_us, model_us, ratio: model_us / network_us })
    }
}

/// Microseconds a row; a clock that stands still counts as a nanosecond.
fn taken(run: &dyn Fn()) -> f64 {
    let started = Instant::now();
    run();
    started.elapsed().as_secs_f64().max(1e-9) * 1e6 / ROWS as f64
}
