//! A directory of name.onnx with their inputs name.x (and name.output where another tensor than the only output is meant) -> for each
//! name.json, what import says of the file, and name.bounds: for each row and output the centre and radius that any float32 evaluation
//! must stay in, infinite where something may overflow. Numbers are raw little-endian float64.
//!
//! `cargo run -p deepsade-net --example enclose_files -- DIRECTORY`; `tests/python/test_foreign.py` and `test_levels.py` run it.

use std::path::Path;
use std::{env, fs, io};

use deepsade_net::{Ball, Model, Network, Op};
use serde_json::{Value, json};

/// No partial sum of a certified network reaches it.
const LARGEST: f64 = (1u128 << 127) as f64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = env::args().nth(1).ok_or("usage: enclose_files DIRECTORY")?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "onnx") {
            let bytes = fs::read(&path)?;
            let read = match fs::read_to_string(path.with_extension("output")) {
                Ok(output) => Model::from_bytes_until(&bytes, &output),
                Err(_) => Model::from_bytes(&bytes),
            };
            let report = match read {
                Ok(model) => look(&model, &path)?,
                Err(refused) => json!({"refused": refused.to_string()}),
            };
            fs::write(path.with_extension("json"), report.to_string())?;
        }
    }
    Ok(())
}

fn look(model: &Model, path: &Path) -> io::Result<Value> {
    let network = &model.network;
    let numbers = fs::read(path.with_extension("x"))?;
    let x: Vec<f32> = numbers.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b) as f32).collect();
    let mut bounds = vec![];
    for row in x.chunks_exact(network.inputs) {
        let values = network.enclose_values(row);
        let safe = stays_finite(network, &values);
        for ball in values.last().into_iter().flatten() {
            bounds.extend(ball.centre.to_le_bytes());
            bounds.extend(if safe { ball.radius } else { f64::INFINITY }.to_le_bytes());
        }
    }
    fs::write(path.with_extension("bounds"), bounds)?;
    let nodes: Vec<_> = network.nodes.iter().map(|n| n.op.name()).collect();
    Ok(json!({"refused": null, "inexact": model.inexact, "nodes": nodes, "inputs": network.inputs, "outputs": network.outputs()}))
}

/// Whether no value, product or partial sum can overflow, in any order. A size that is not a number proves nothing.
fn stays_finite(network: &Network, values: &[Vec<Ball>]) -> bool {
    network.nodes.iter().zip(&values[1..]).all(|(node, value)| {
        let read = &values[node.from[0]];
        let term = |w: &f32, x: &Ball| f64::from(w.abs()) * x.size();
        let small = |sum: f64, b: &f32| sum + f64::from(b.abs()) < LARGEST;
        let sums_are_small = match &node.op {
            Op::Dense { w, b } => (0..w.rows).all(|o| small(w.row(o).iter().zip(read).map(|(w, x)| term(w, x)).sum(), &b[o])),
            Op::Conv(conv) => (0..conv.rows()).all(|o| {
                let mut row = Vec::new();
                let b = conv.row(o, &mut row);
                small(row.iter().map(|(i, w)| term(w, &read[*i])).sum(), &b)
            }),
            Op::Affine { scale, shift } => scale.iter().zip(shift).zip(read).all(|((s, t), x)| small(term(s, x), t)),
            _ => true,
        };
        sums_are_small && value.iter().all(|b| b.size() < LARGEST)
    })
}
