//! Finished runs and the models of the first of them enter; the paper's figures leave, as SVG and PNG files.

mod latent;
mod slice;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use deepsade_engine::artifact::{read_model, write_whole};
use deepsade_engine::data;
use deepsade_engine::train::EpochRecord;
use deepsade_net::{Matrix, Model};
use deepsade_spec::Task;
use serde::{Deserialize, Serialize};

use super::ReproduceError;
use super::case::Case;
use super::measure::folder_name;
use super::method::Method;
use super::plan::{Plan, SWEEP};
use super::runner::MODELS;
use super::stock::{Dealt, Stock};
use crate::figure::{LambdaSeries, Sample, Scene, Theme, bounds_per_layer, compare, loss_against_lambda, training_curves};
use crate::report::{curve, layers};
use crate::results::{Results, mean};

/// The folder of figures in an experiment's folder.
pub const FIGURES: &str = "figures";
/// The file there that lists them.
pub const CAPTIONS: &str = "captions.json";
/// Pixels a unit of length of a PNG file.
const SCALE: f64 = 1.5;

/// A figure's file name, without its ending, and what it shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figure {
    /// Of the files.
    pub name: String,
    /// In a sentence.
    pub caption: String,
}

/// A model that the first run of a method left.
struct Kept {
    method: Method,
    model: Model,
    epochs: Vec<EpochRecord>,
}

/// Draws everything that runs and models are there for, and returns what was drawn.
pub fn draw(plan: &Plan, stock: &Stock, out: &Path, results: &Results) -> Result<Vec<Figure>, ReproduceError> {
    let folder = out.join(FIGURES);
    std::fs::create_dir_all(&folder).map_err(|source| ReproduceError::Folder { dir: folder.clone(), source })?;
    let mut drawn = Vec::new();
    let mut save = |name: String, caption: String, scene: &Scene| -> Result<(), ReproduceError> {
        write_whole(&folder.join(format!("{name}.svg")), scene.svg(Theme::File).as_bytes())?;
        write_whole(&folder.join(format!("{name}.png")), &scene.png(SCALE))?;
        drawn.push(Figure { name, caption });
        Ok(())
    };
    for case in &plan.cases {
        let name = &case.name;
        for score in case.scores.iter().take(1) {
            save(
                format!("{name}-{score}"),
                format!("{}: {score}, every dot a run, the bar the mean.", case.title),
                &runs(results, case, score),
            )?;
        }
        if let Some(scene) = lambda(results, case) {
            let caption = format!("{}: cross-entropy on test rows against the weight of the penalty, one repeat.", case.title);
            save(format!("{name}-lambda"), caption, &scene)?;
        }
        let kept = kept(out, case)?;
        let Some(deepsade) = kept.iter().find(|k| k.method == Method::Deepsade) else { continue };
        let best = deepsade.epochs.iter().rev().find(|r| r.best).map(|r| r.epoch);
        let epochs: Vec<_> = deepsade.epochs.iter().map(curve).collect();
        save(
            format!("{name}-training"),
            format!("{}: loss, margin of the rules and moved steps of deepsade.", case.title),
            &training_curves(&epochs, best),
        )?;
        let split_seed = plan.runs.iter().find(|r| plan.cases[r.case].name == *name && r.repeat == 0).map(|r| r.split_seed);
        let Some(split_seed) = split_seed else { continue };
        let dealt: Arc<Dealt> = stock.rows(case, split_seed)?;
        let spec = &dealt.prepared.spec;
        if let Some(widths) = layers::widths(&deepsade.model.network, &spec.schema) {
            save(
                format!("{name}-bounds"),
                format!("{}: widths of the bounds of each layer of deepsade.", case.title),
                &bounds_per_layer(&widths),
            )?;
        }
        let Some(ffn) = kept.iter().find(|k| k.method == Method::Ffn) else { continue };
        let split = data::folds(dealt.rows.all.rows(), plan.folds, 0, 0.1, split_seed)?;
        let test = dealt.rows.all.select(&split.test);
        let pair = [("deepsade", &deepsade.model), ("ffn", &ffn.model)];
        match spec.schema.task {
            Task::Multiclass { .. } => {
                let scene = latent::under_rules(spec, &test.x, &pair);
                let caption =
                    format!("{}: last hidden layer of test rows; the rules ask something of the rows marked so.", case.title);
                save(format!("{name}-latent-rows"), caption, &scene)?;
                for (method, model) in pair {
                    let caption = format!("{}: last hidden layer of test rows of {method}, by what it predicts.", case.title);
                    save(format!("{name}-latent-{method}"), caption, &latent::predictions(spec, &test.x, method, model))?;
                }
            }
            Task::Multilabel { .. } => {
                let caption = format!("{}: inputs of every layer for test rows, by the first label that is present.", case.title);
                save(format!("{name}-latent"), caption, &latent::every_layer(&test, &pair))?;
            }
            Task::Binary { .. } => {
                if let Some(found) = slice::find(spec, &dealt.rows.all.x, &ffn.model) {
                    for (method, model) in pair {
                        let caption =
                            format!("{}: a slice of the inputs around a row of the data, by what {method} predicts.", case.title);
                        save(format!("{name}-adversity-{method}"), caption, &slice::figure(spec, &found, model))?;
                    }
                }
            }
            Task::Regression { .. } | Task::Ranking { .. } => {}
        }
    }
    let list = serde_json::to_string_pretty(&drawn).expect("plain data becomes JSON") + "\n";
    write_whole(&folder.join(CAPTIONS), list.as_bytes())?;
    Ok(drawn)
}

/// Every run a dot.
fn runs(results: &Results, case: &Case, score: &str) -> Scene {
    let sample = |method: Method| {
        let runs = results.of(&case.name, method.name());
        Sample { name: method.name().into(), values: runs.iter().filter_map(|r| r.metric(score)).collect() }
    };
    let samples: Vec<Sample> = Method::ALL.into_iter().map(sample).filter(|s| !s.values.is_empty()).collect();
    compare(score, &samples)
}

/// The paper's figure 2: the loss for stated weights, and for comparison that of methods without one, as level lines.
fn lambda(results: &Results, case: &Case) -> Option<Scene> {
    let sweep = case.sweep.as_ref()?;
    let place = format!("{}{SWEEP}", case.name);
    let loss =
        |runs: Vec<&crate::results::RunResult>| mean(&runs.iter().filter_map(|r| r.metric("cross_entropy")).collect::<Vec<_>>());
    let swept: Vec<(f64, f64, f64)> = sweep
        .weights
        .iter()
        .filter_map(|w| loss(results.of(&place, &format!("{}:{w}", sweep.method))).map(|m| (*w, m.mean, m.deviation)))
        .collect();
    let (first, last) = (swept.first()?.0, swept.last()?.0);
    let mut series = vec![LambdaSeries { name: sweep.method.name().into(), points: swept }];
    for method in [Method::Deepsade, Method::DeepsadePaper] {
        let first_repeat = results.of(&case.name, method.name()).into_iter().filter(|r| r.repeat == Some(0)).collect();
        if let Some(m) = loss(first_repeat) {
            series.push(LambdaSeries {
                name: method.name().into(),
                points: vec![(first, m.mean, m.deviation), (last, m.mean, m.deviation)],
            });
        }
    }
    Some(loss_against_lambda("test loss (cross-entropy)", &series))
}

fn kept(out: &Path, case: &Case) -> Result<Vec<Kept>, ReproduceError> {
    let mut kept = Vec::new();
    for method in Method::ALL {
        let folder: PathBuf = out.join(MODELS).join(folder_name(&case.name, method));
        let path = folder.join("model.onnx");
        if path.exists() {
            let log = std::fs::read_to_string(folder.join("run.jsonl")).unwrap_or_default();
            let epochs = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            kept.push(Kept { method, model: read_model(&path)?.0, epochs });
        }
    }
    Ok(kept)
}

/// Some of many rows, evenly spaced.
fn sample(x: &Matrix, most: usize) -> Vec<usize> {
    (0..x.rows).step_by(x.rows.div_ceil(most).max(1)).collect()
}
