//! `deepsade demo`: trains on data that comes with the program and shows every step.

use std::path::Path;

use deepsade_engine::artifact::write_whole;
use deepsade_engine::problem::Problem;

use super::train::TrainingEnd;
use super::{explain, predict, report, train};
use crate::args::{DemoArgs, ExplainArgs, PredictArgs, TrainArgs};
use crate::outcome::{Exit, emit};
use crate::render::While;

/// The rule file of the demo; also examples/wine.toml.
const RULES: &str = include_str!("../../../../examples/wine.toml");
/// Red wines: P. Cortez et al., Wine Quality, UCI Machine Learning Repository, 2009 (CC BY 4.0).
const WINES: &[u8] = include_bytes!("../../../../examples/winequality-red.csv.gz");

/// Runs the command.
pub fn run(args: &DemoArgs) -> anyhow::Result<Exit> {
    let out = &args.out;
    super::not_over_another(&out.join("model"), false, args.force)?;
    std::fs::create_dir_all(out).while_doing(|| format!("can't make the folder {}", out.display()))?;
    let file = out.join("wine.toml");
    if std::fs::read_to_string(&file).is_ok_and(|text| text != RULES) {
        emit(&format!("Using {} as it is there.\n", file.display()))?;
    } else {
        write_whole(&file, RULES.as_bytes())?;
    }
    write_whole(&out.join("winequality-red.csv.gz"), WINES)?;
    emit(
        "1599 red wines. From nine chemical measures predict free and total sulfur dioxide; the free part is a part of\n\
         the total, so `0 <= free <= total` must hold for every wine, not only for those measured.\n",
    )?;

    step(&format!("deepsade explain {}", file.display()))?;
    let problem = Problem::read(&file)?;
    explain::run(&ExplainArgs { file: file.clone(), data: None, json: false, quiet: true })?;

    let folder = out.join("model");
    step(&format!("deepsade train {} --out {}", file.display(), folder.display()))?;
    let args = TrainArgs {
        file,
        out: Some(folder.clone()),
        data: None,
        seed: None,
        fold: None,
        folds: None,
        enforce: None,
        update: None,
        maxsmt: None,
        solver: None,
        quantifiers: None,
        epochs: None,
        allow_library: false,
        resume: false,
        force: args.force,
        json: false,
        quiet: false,
    };
    let TrainingEnd::Done(done) = train::train(&problem, &folder, &args)? else { return Ok(Exit::Unknown) };
    emit(&done.in_words())?;
    let outcome = done.outcome();

    let predictions = out.join("predictions.csv");
    let data = out.join("winequality-red.csv.gz");
    step(&format!("deepsade predict {} {} --out {}", done.model.display(), data.display(), predictions.display()))?;
    predict::run(&PredictArgs {
        model: done.model,
        data: data.clone(),
        out: Some(predictions.clone()),
        strict: true,
        scores: false,
        proba: false,
        id: Vec::new(),
        separator: None,
        json: false,
        quiet: true,
    })?;
    emit(&first_lines(&predictions, 3)?)?;

    let page = folder.join("report.html");
    step(&format!("deepsade report {} --data {}", folder.display(), data.display()))?;
    report::write(&folder, Some(&data), &page)?;
    emit(&format!("Open {} in a browser: the proof, the scores, and sliders to try the network with.\n", page.display()))?;
    Ok(outcome)
}

fn step(command: &str) -> anyhow::Result<()> {
    emit(&format!("\n$ {command}\n"))
}

fn first_lines(path: &Path, n: usize) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.lines().take(n).map(|l| format!("{l}\n")).collect())
}
