//! One planned run enters; it is trained and scored, and a line of the results leaves.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use deepsade_data as data;
use deepsade_engine::adversity::{Counts, RADIUS, adversity};
use deepsade_engine::fit::{self, FitError, Fitted, Predicted};
use deepsade_engine::objective::Loss;
use deepsade_engine::pipeline::{Checked, Ready};
use deepsade_engine::train::{Observer, StopReason};
use deepsade_engine::verify::VerifySettings;
use deepsade_output::predict::distinct;
use deepsade_output::{Judge, Output};
use deepsade_spec::NormalSpec;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::ReproduceError;
use super::case::UseCase;
use super::experiment::{Experiment, Planned, stable};
use super::method::Method;
use super::stock::{Dealt, Stock};
use super::tune::Tuning;
use crate::results::RunResult;

/// Stops a training when told to.
pub(super) struct RunWatch<'a>(pub &'a (dyn Fn() -> bool + Sync));

impl Observer for RunWatch<'_> {
    fn stop(&self) -> bool {
        (self.0)()
    }
}

/// Trains and scores a run; `None` if it was interrupted. The first run of each kind leaves its model in `models`.
pub fn measure(
    plan: &Experiment,
    run: &Planned,
    stock: &Stock,
    models: Option<&Path>,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Option<RunResult>, ReproduceError> {
    let case = &plan.cases[run.case];
    let begun = Instant::now();
    let dealt = stock.rows(case, run.split_seed)?;
    let prepared = &dealt.prepared;
    let spec = &prepared.spec;
    let split = data::folds(dealt.rows.all.rows(), plan.folds, run.fold, run.split_seed)?;
    let read = begun.elapsed().as_secs_f64();
    let mut watch = RunWatch(interrupted);
    let epochs = case.epochs.get(&run.method).copied();
    let begun = Instant::now();
    let weights = match (run.weight, run.method.penalty()) {
        (Some(weight), _) => vec![weight],
        (None, None) => vec![],
        (None, Some(_)) => {
            let tuning = Tuning { case, epochs, dealt: &dealt, split: &split, method: run.method, seed: run.seed };
            match tuning.choose(&mut watch)? {
                Some(weights) => weights,
                None => return Ok(None),
            }
        }
    };
    let tuning_seconds = run.method.penalty().filter(|_| run.weight.is_none()).map(|_| begun.elapsed().as_secs_f64());
    let settings = Checked::new(run.method.apply(prepared.problem.clone(), epochs, &weights)?)?;
    let (begun, at_work) = (Instant::now(), at_work());
    let ready = dealt.ready(settings, split, run.seed)?;
    let chosen = if run.method.chooses() { ready.choose(None, &mut watch)? } else { ready.train_only(&mut watch)? };
    let seconds = begun.elapsed().as_secs_f64();
    let cpu_seconds = at_work.zip(self::at_work()).map(|(before, after)| after - before);
    let fitted = &chosen.fitted;
    if fitted.trained.stop == StopReason::Interrupted {
        return Ok(None);
    }
    let certified = fitted.proved();
    let mut metrics = scores(spec, case, fitted);
    // Runs for a figure are about the loss alone.
    if run.weight.is_none() {
        let Some(index) = adversity_index(spec, case, fitted, &dealt, certified, interrupted)? else { return Ok(None) };
        metrics.extend(index);
    }
    let (use_case, method) = plan.names(run);
    let (epochs, stop) = (fitted.trained.records.len() as u64, fitted.trained.stop);
    if let Some(folder) = models {
        std::fs::create_dir_all(folder).map_err(|source| ReproduceError::Folder { dir: folder.into(), source })?;
        // As `deepsade train` does, for `check`, `predict`, `report` and the figures.
        Ready { read_seconds: read, source: prepared.source(), ..ready }.finish(chosen, seconds)?.write(folder)?;
    }
    Ok(Some(RunResult {
        use_case,
        method,
        repeat: Some(run.repeat),
        fold: Some(run.fold as u64),
        metrics,
        seconds: Some(seconds),
        cpu_seconds,
        certified: run.method.guarantees().then_some(certified),
        weights,
        tuning_seconds,
        epochs: Some(epochs),
        stopped: Some(stop.to_string()),
        stop: Some(stop),
        seed: Some(run.seed),
    }))
}

/// Seconds that this thread has been at work, as Linux counts them.
fn at_work() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? * 1e-9)
}

type Scores = BTreeMap<String, Value>;

/// Scores on the test rows.
fn scores(spec: &NormalSpec, case: &UseCase, fitted: &Fitted) -> Scores {
    let Predicted { rows, outputs: y, breaking, metrics: test, .. } = &fitted.test;
    let mut metrics = Scores::new();
    metrics.insert("constraint_accuracy".into(), json!(100.0 * (1.0 - test["rows_breaking_all"] / test["rows_all"])));
    for name in &case.scores {
        metrics.insert(name.clone(), json!(test.get(name)));
    }
    metrics.insert("distinct".into(), json!(distinct(&spec.schema.task, y)));
    metrics.insert("test_rows".into(), json!(test["rows_all"]));
    metrics.insert("scored_rows".into(), json!(test["rows"]));
    let loss = fit::loss(&spec.schema.task);
    if !fitted.model.has_step() && loss != Loss::MeanSquares {
        let weight: Vec<f32> = breaking.iter().map(|b| f32::from(u8::from(!b))).collect();
        let mean = loss.gradient(&y.data, &rows.y.data, &weight, y.cols, &mut vec![0.0; y.data.len()]).mean();
        metrics.insert("cross_entropy".into(), json!(mean));
    }
    metrics
}

/// The share of rows with an input near them that breaks a rule; 0 by proof where there is one. `None` if it was interrupted.
fn adversity_index(
    spec: &NormalSpec,
    case: &UseCase,
    fitted: &Fitted,
    dealt: &Dealt,
    certified: bool,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Scores>, ReproduceError> {
    let put = |share: f64, rows: usize, undecided: usize| {
        let named = [("adi", json!(share)), ("adi_rows", json!(rows)), ("adi_undecided", json!(undecided))];
        Some(named.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    };
    let n = dealt.rows.all.rows();
    if certified {
        return Ok(put(0.0, n, 0));
    }
    let x = &dealt.rows.all.select(&around(case, n)).x;
    let y = Output::of(&fitted.model, spec).map_err(FitError::from)?.outputs(x);
    if fitted.made.is_some() || y.data.iter().any(|v| !v.is_finite()) {
        // Chosen outputs without a proof can't be searched, and numbers that are none obey nothing.
        return Ok(put(f64::NAN, 0, x.rows));
    }
    // A row that breaks a rule itself needs no search.
    let judge = Judge::new(spec);
    let (broken, whole): (Vec<usize>, Vec<usize>) = (0..x.rows).partition(|r| judge.breaks_any(x.row(*r), y.row(*r)));
    let settings =
        VerifySettings { timeout: None, threads: 1, most_regions: case.adversity.regions, ..VerifySettings::default() };
    let near = adversity(spec, &fitted.model, &x.select(&whole), RADIUS, &settings, &|_| {}, interrupted)?;
    if interrupted() {
        return Ok(None);
    }
    let found = Counts::of(&near);
    Ok(put((broken.len() + found.broken) as f64 / x.rows.max(1) as f64, x.rows, found.undecided))
}

/// The rows to look around, the same for every run of a use case.
pub(super) fn around(case: &UseCase, n: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    if case.adversity.rows < n {
        all.shuffle(&mut ChaCha8Rng::seed_from_u64(stable(&format!("adversity {}", case.name))));
        all.truncate(case.adversity.rows);
        all.sort_unstable();
    }
    all
}

/// The folder of the model that a run leaves, if it leaves one.
pub fn model_folder(plan: &Experiment, run: &Planned) -> Option<String> {
    let first = (run.repeat, run.fold, run.weight) == (0, 0, None);
    first.then(|| folder_name(&plan.cases[run.case].name, run.method))
}

/// The name of a model's folder.
pub fn folder_name(case: &str, method: Method) -> String {
    format!("{case}-{method}")
}
