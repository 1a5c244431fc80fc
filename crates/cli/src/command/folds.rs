//! `deepsade train --folds N`: a rule file enters; N models are trained and tested on a fold each, and their scores leave.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::bail;
use deepsade_data::{Mean, score_shown};
use deepsade_engine::artifact::write_whole;
use deepsade_engine::files::FOLDS;
use deepsade_engine::pipeline::{FoldsEnd, Occupied, Ready, ScoredFold, ScoredFolds};

use super::train::{Watch, again_with, plain};
use crate::args::TrainArgs;
use crate::interrupt::Interrupt;
use crate::outcome::{Exit, emit};
use crate::progress::EpochBar;

/// Runs the command; the settings are those of one training.
pub fn run(ready: &Ready, out: &Path, args: &TrainArgs, of: usize) -> anyhow::Result<Exit> {
    let mut watch = Watch { bar: EpochBar::new(args.quiet, ready.problem.train().epochs), interrupt: Interrupt::listen() };
    let done = match ready.folds(of, &mut watch).map_err(plain)? {
        FoldsEnd::Done(done) => done,
        FoldsEnd::Interrupted(after) => {
            eprintln!("interrupted after {after} of {of} folds; nothing was written");
            return Ok(Exit::Unknown);
        }
        FoldsEnd::Diverged(fold, stop) => bail!("fold {fold}: {stop}"),
    };
    watch.bar.finish();
    let said = serde_json::to_string_pretty(&done.json())? + "\n";
    write_whole(&out.join(FOLDS), said.as_bytes())?;
    if args.json {
        emit(&said)?;
    } else {
        emit(&in_words(&done, &args.file))?;
    }
    let unproved = done.each.iter().any(|fold| fold.enforced && !fold.certified);
    Ok(if unproved { Exit::Finding } else { Exit::Success })
}

/// Refuses a folder that holds other folds, or a model with which these have nothing to do, unless that is asked for.
pub(super) fn not_over_another(folder: &Path, force: bool) -> anyhow::Result<()> {
    let there = folder.join(FOLDS).exists().then(|| format!("{FOLDS} already"));
    match there.or_else(|| Occupied::of(folder, false).map(|found| found.to_string())).filter(|_| !force) {
        None => Ok(()),
        Some(found) => bail!(
            "{} holds {found}; name another folder by --out, or write {FOLDS} there with --force, which leaves models as they are",
            folder.display()
        ),
    }
}

/// What folds could not tell, a line each set of folds.
fn untold(done: &ScoredFolds) -> String {
    let mut alike: BTreeMap<Vec<usize>, Vec<&str>> = BTreeMap::new();
    done.untold().into_iter().for_each(|(name, folds)| alike.entry(folds).or_default().push(name));
    let line = |(folds, names): (&Vec<usize>, &Vec<&str>)| {
        let of: Vec<String> = folds.iter().map(usize::to_string).collect();
        format!(
            "  {}: not told in fold {}, whose rows are too few or of one class, and so without a mean\n",
            names.join(", "),
            of.join(", ")
        )
    };
    alike.iter().map(line).collect()
}

fn in_words(done: &ScoredFolds, file: &Path) -> String {
    let certified = |f: &ScoredFold| match (f.enforced, f.certified) {
        (false, _) => "not enforced",
        (true, true) => "certified",
        (true, false) => "NOT certified",
    };
    let summary = done.summary();
    let names: Vec<String> = summary.keys().cloned().collect();
    let mut out = format!("{:<6} {:>8}  {:<13}  {}\n", "fold", "rows", "rules", names.join("  "));
    for (k, fold) in done.each.iter().enumerate() {
        let scores: Vec<String> =
            names.iter().map(|name| format!("{:>w$}", score_shown(fold.scores[name], 3), w = name.len())).collect();
        out += &format!("{k:<6} {:>8}  {:<13}  {}\n", fold.rows, certified(fold), scores.join("  "));
    }
    out += "test scores over the folds, mean and standard deviation (of rows whose label obeys the rules; `_all`, `auc` and those after it: of all rows):\n";
    for (name, Mean { mean, deviation, .. }) in summary {
        out += &format!("  {name}: {} +- {}\n", score_shown(mean, 3), score_shown(deviation, 3));
    }
    out += &untold(done);
    out + &format!(
        "{} of {} folds are certified (seed {}). No model is kept: `{}` trains the one to hand over, by the file's own split.\n",
        done.each.iter().filter(|f| f.certified).count(),
        done.each.len(),
        done.seed,
        again_with(file)
    )
}
