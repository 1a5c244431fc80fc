//! Finished runs and the models of the first of them enter; the paper's figures leave, as SVG and PNG files.

mod latent;
mod slice;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use deepsade_data as data;
use deepsade_engine::artifact::{read_model, write_whole};
use deepsade_engine::files::{MODEL, read_log};
use deepsade_engine::train::{EpochRecord, best_epoch};
use deepsade_net::Model;
use deepsade_spec::Task;
use serde::{Deserialize, Serialize};

use super::ReproduceError;
use super::case::UseCase;
use super::experiment::{Experiment, SWEEP};
use super::measure::folder_name;
use super::method::Method;
use super::runner::MODELS;
use super::stock::{Dealt, Stock};
use super::table::in_order;
use crate::figure::{
    Epoch, LambdaPoint, LambdaSeries, Sample, Scene, Theme, beyond, bounds_per_layer, compare, loss_against_lambda,
    training_curves,
};
use crate::layers;
use crate::results::Results;

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
struct KeptModel {
    method: Method,
    model: Model,
    epochs: Vec<EpochRecord>,
}

/// Draws everything that runs and models are there for, and returns what was drawn.
pub fn draw(plan: &Experiment, stock: &Stock, out: &Path, results: &Results) -> Result<Vec<Figure>, ReproduceError> {
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
            let samples = runs(results, case, score);
            let far = match beyond(&samples) {
                0 => String::new(),
                1 => " One run lies above the border.".into(),
                n => format!(" {n} runs lie above the border."),
            };
            let caption = format!("{}: {score}, every dot a run, the bar the mean.{far}", case.title);
            let unit = if score == "mse" { "MSE".into() } else { format!("{score}, %") };
            let label = if case.substitute { format!("{unit} (substitute data)") } else { unit };
            save(format!("{name}-{score}"), caption, &compare(&label, &samples))?;
        }
        if let Some(scene) = lambda(results, case) {
            let caption = format!(
                "{}: cross-entropy on test rows against the weight of the penalty; medians over runs, bars to the quartiles.",
                case.title
            );
            save(format!("{name}-lambda"), caption, &scene)?;
        }
        let kept = kept(out, case)?;
        let Some(deepsade) = kept.iter().find(|k| k.method == Method::Deepsade) else { continue };
        let best = best_epoch(&deepsade.epochs);
        let epochs: Vec<_> = deepsade.epochs.iter().map(Epoch::from).collect();
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
        let split = data::folds(dealt.rows.all.rows(), plan.folds, 0, split_seed)?;
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
                        let caption = format!(
                            "{}: a slice of the inputs around a row of the data, the other features as in the row, by what {method} predicts.",
                            case.title
                        );
                        save(format!("{name}-adversity-{method}"), caption, &slice::figure(spec, &found, model))?;
                    }
                }
            }
            Task::Regression { .. } | Task::Ranking { .. } => {}
        }
    }
    // Figures of use cases that an earlier call drew are still there.
    for figure in listed(&folder) {
        if folder.join(format!("{}.svg", figure.name)).exists() && drawn.iter().all(|d| d.name != figure.name) {
            drawn.push(figure);
        }
    }
    drawn.sort_by_key(|figure| figure.name.split('-').next().map(str::to_string));
    let list = serde_json::to_string_pretty(&drawn).expect("plain data becomes JSON") + "\n";
    write_whole(&folder.join(CAPTIONS), list.as_bytes())?;
    Ok(drawn)
}

/// What the figures in a folder show; nothing where that can't be read.
pub(crate) fn listed(folder: &Path) -> Vec<Figure> {
    let text = std::fs::read_to_string(folder.join(CAPTIONS)).ok();
    text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Every run a dot.
fn runs(results: &Results, case: &UseCase, score: &str) -> Vec<Sample> {
    let sample = |method: Method| {
        let runs = in_order(results.of(&case.name, method.name()));
        Sample { name: method.name().into(), values: runs.iter().filter_map(|r| r.metric(score)).collect() }
    };
    Method::ALL.into_iter().map(sample).filter(|s| !s.values.is_empty()).collect()
}

/// The paper's figure 2: the loss for stated weights, and for comparison that of methods without one, as level lines.
fn lambda(results: &Results, case: &UseCase) -> Option<Scene> {
    let sweep = case.sweep.as_ref()?;
    let place = format!("{}{SWEEP}", case.name);
    let loss = |runs: Vec<&crate::results::RunResult>| {
        let mut values: Vec<f64> = runs.iter().filter_map(|r| r.metric("cross_entropy")).collect();
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then(|| [0.25, 0.5, 0.75].map(|q| data::quantile(&values, q)))
    };
    let point = |x: f64, [low, median, high]: [f64; 3]| LambdaPoint { x, low, median, high };
    let swept: Vec<LambdaPoint> = sweep
        .weights
        .iter()
        .filter_map(|w| loss(results.of(&place, &format!("{}:{w}", sweep.method))).map(|l| point(*w, l)))
        .collect();
    let (first, last) = (swept.first()?.x, swept.last()?.x);
    let mut series = vec![LambdaSeries { name: sweep.method.name().into(), points: swept }];
    for method in [Method::Deepsade, Method::DeepsadePaper] {
        if let Some([_, median, _]) = loss(results.of(&case.name, method.name())) {
            let points = [first, last].map(|x| point(x, [median; 3])).to_vec();
            series.push(LambdaSeries { name: method.name().into(), points });
        }
    }
    Some(loss_against_lambda("test loss (cross-entropy)", &series))
}

fn kept(out: &Path, case: &UseCase) -> Result<Vec<KeptModel>, ReproduceError> {
    let mut kept = Vec::new();
    for method in Method::ALL {
        let folder: PathBuf = out.join(MODELS).join(folder_name(&case.name, method));
        let path = folder.join(MODEL);
        if path.exists() {
            kept.push(KeptModel { method, model: read_model(&path)?.0, epochs: read_log(&folder) });
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::experiment::Options;

    #[test]
    fn figures_of_use_cases_that_are_not_drawn_again_stay_listed() {
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().join(FIGURES);
        std::fs::create_dir(&folder).unwrap();
        let earlier = ["uc1-mse", "uc3-accuracy"].map(|name| Figure { name: name.into(), caption: "c".into() });
        std::fs::write(folder.join(CAPTIONS), serde_json::to_string(&earlier).unwrap()).unwrap();
        std::fs::write(folder.join("uc3-accuracy.svg"), "<svg/>").unwrap();
        let options = Options { cases: vec!["uc2".into()], methods: vec![], repeats: 1, folds: 2, quick: true, seed: 0 };
        let results = Results { runs: Vec::new(), cut: false };
        draw(&Experiment::new(&options).unwrap(), &Stock::new(out.path()), out.path(), &results).unwrap();
        // That of use case 1 has no file any more.
        let names: Vec<String> = listed(&folder).into_iter().map(|f| f.name).collect();
        assert_eq!(names, ["uc2-accuracy", "uc3-accuracy"]);
    }
}
