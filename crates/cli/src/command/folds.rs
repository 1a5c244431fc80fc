//! `deepsade train --folds N`: a rule file enters; N models are trained and tested on a fold each, and their scores leave.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use deepsade_data::{VALIDATION, folds};
use deepsade_engine::artifact::write_whole;
use deepsade_engine::enforce::EnforcedBy;
use deepsade_engine::files::FOLDS;
use deepsade_engine::pipeline::{Checked, Ended, Fold, Prepared};
use serde_json::{Value, json};

use super::train::{Watch, again_with, plain};
use crate::args::TrainArgs;
use crate::interrupt::Interrupt;
use crate::outcome::{Exit, emit};
use crate::progress::{EpochBar, ReadBar};

/// Scores of one fold.
struct ScoredFold {
    scores: BTreeMap<String, f64>,
    certified: bool,
    enforced: bool,
    rows: usize,
}

/// Runs the command; the settings are those of one training.
pub fn run(checked: &Checked, out: &Path, args: &TrainArgs, of: usize) -> anyhow::Result<Exit> {
    let mut bar = ReadBar::new(args.quiet);
    let first = match checked.clone().read(Some(Fold { index: 0, of }), &mut |p| bar.update(p)).map_err(plain)? {
        Prepared::Ready(ready) => *ready,
        Prepared::Contradictory(words) => bail!("{words}; `deepsade explain {}` says more", args.file.display()),
    };
    for note in first.notes().iter().filter(|_| !args.quiet) {
        eprintln!("note: {}", note.words());
    }
    let (spec, rows, seed) = (Arc::clone(&first.spec), Arc::clone(&first.rows), first.data.seed);
    let interrupt = Interrupt::listen();
    let mut watch = Watch { bar: EpochBar::new(args.quiet, first.problem.train().epochs), interrupt };
    let mut done = Vec::new();
    for index in 0..of {
        let split = folds(rows.all.rows(), of, index, VALIDATION, seed)?;
        let ready = checked.clone().with(Arc::clone(&spec), Arc::clone(&rows), split, seed).map_err(plain)?;
        match ready.train(None, &mut watch).map_err(plain)? {
            Ended::Done(finished) => {
                let test = &finished.fitted.test.metrics;
                let scores = test.iter().filter(|(name, _)| !name.starts_with("rows")).map(|(n, v)| (n.clone(), *v)).collect();
                let enforced = !matches!(finished.fitted.means, EnforcedBy::Nowhere);
                done.push(ScoredFold {
                    scores,
                    certified: finished.accepted().is_some(),
                    enforced,
                    rows: test["rows_all"] as usize,
                });
            }
            Ended::Interrupted => {
                eprintln!("interrupted after {} of {of} folds; nothing was written", done.len());
                return Ok(Exit::Unknown);
            }
            Ended::Diverged(stop) => bail!("fold {index}: {stop}"),
        }
    }
    watch.bar.finish();
    let said = as_json(&done, seed);
    write_whole(&out.join(FOLDS), (serde_json::to_string_pretty(&said)? + "\n").as_bytes())?;
    if args.json {
        emit(&(serde_json::to_string_pretty(&said)? + "\n"))?;
    } else {
        emit(&in_words(&done, seed, &args.file))?;
    }
    let unproved = done.iter().any(|fold| fold.enforced && !fold.certified);
    Ok(if unproved { Exit::Finding } else { Exit::Success })
}

/// Mean and standard deviation (of a sample) of each score that every fold has.
fn summary(done: &[ScoredFold]) -> BTreeMap<String, (f64, f64)> {
    let names = done.first().into_iter().flat_map(|fold| fold.scores.keys().cloned());
    let of = |name: &String| done.iter().map(|fold| fold.scores.get(name).copied()).collect::<Option<Vec<f64>>>();
    names
        .filter_map(|name| {
            let values = of(&name)?;
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
            Some((name, (mean, variance.sqrt())))
        })
        .collect()
}

fn as_json(done: &[ScoredFold], seed: u64) -> Value {
    let scores: BTreeMap<String, Value> = summary(done)
        .into_iter()
        .map(|(name, (mean, deviation))| (name, json!({"mean": mean, "deviation": deviation})))
        .collect();
    let each: Vec<Value> = done
        .iter()
        .enumerate()
        .map(|(fold, f)| json!({"fold": fold, "rows": f.rows, "certified": f.certified, "test": f.scores}))
        .collect();
    json!({"folds": each, "scores": scores, "certified": done.iter().all(|f| f.certified), "seed": seed, "model": null})
}

fn in_words(done: &[ScoredFold], seed: u64, file: &Path) -> String {
    let certified = |f: &ScoredFold| match (f.enforced, f.certified) {
        (false, _) => "not enforced",
        (true, true) => "certified",
        (true, false) => "NOT certified",
    };
    let names: Vec<String> = summary(done).into_keys().collect();
    let mut out = format!("{:<6} {:>8}  {:<13}  {}\n", "fold", "rows", "rules", names.join("  "));
    for (k, fold) in done.iter().enumerate() {
        let scores: Vec<String> = names.iter().map(|name| format!("{:>w$.3}", fold.scores[name], w = name.len())).collect();
        out += &format!("{k:<6} {:>8}  {:<13}  {}\n", fold.rows, certified(fold), scores.join("  "));
    }
    out += "test scores over the folds, mean and standard deviation:\n";
    for (name, (mean, deviation)) in summary(done) {
        out += &format!("  {name}: {mean:.3} +- {deviation:.3}\n");
    }
    out + &format!(
        "{} of {} folds are certified (seed {seed}). No model is kept: `{}` trains the one to hand over, by the file's own split.\n",
        done.iter().filter(|f| f.certified).count(),
        done.len(),
        again_with(file)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_of_a_sample() {
        let fold = |mse: f64| ScoredFold { scores: [("mse".to_string(), mse)].into(), certified: true, enforced: true, rows: 1 };
        let found = summary(&[fold(1.0), fold(2.0), fold(6.0)]);
        // Squares of -2, -1 and 3 over 2.
        assert_eq!(found["mse"], (3.0, 7.0_f64.sqrt()));
    }
}
