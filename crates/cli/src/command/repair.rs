//! `deepsade repair`: a network that breaks rules enters; one with another last layer and a certificate leaves.

use std::time::Instant;

use anyhow::Context;
use deepsade_check::Bounds;
use deepsade_engine::artifact::write_whole;
use deepsade_engine::fit::{self, Rows};
use deepsade_engine::metrics::{Metrics, metrics};
use deepsade_engine::repair::{Mended, RepairError, Repaired, mend};
use deepsade_engine::summary::{self, numbers};
use deepsade_engine::verify::Proof;
use deepsade_net::Network;
use deepsade_spec::NormalSpec;
use serde_json::json;

use super::verify as report;
use crate::args::RepairArgs;
use crate::outcome::{Outcome, emit};
use deepsade_engine::subject::{self, Files};

/// Runs the command.
pub fn run(args: &RepairArgs) -> anyhow::Result<Outcome> {
    let files = Files { model: &args.model, rules: &args.rules, data: args.data.as_deref(), output: None, rows: true };
    let subject = subject::read(&files)?;
    subject.note().into_iter().for_each(|note| eprintln!("note: {note}"));
    let (spec, network) = (&subject.spec, &subject.model.network);
    let rows = match (&subject.problem.data, &subject.loaded) {
        (Some(settings), Some(loaded)) => Some(fit::rows(spec, loaded, settings, settings.seed)?),
        _ => None,
    };
    let rules = std::fs::read_to_string(&args.rules)?;
    std::fs::create_dir_all(&args.out).with_context(|| format!("can't make the folder {}", args.out.display()))?;
    let started = Instant::now();
    let found = match mend(spec, network, rows.as_ref(), &|| false) {
        Ok(Mended::Already(proof)) => {
            return already(&proof, args, &rules, rows.as_ref().map(|r| score(spec, network, r)).as_ref(), started);
        }
        Ok(Mended::Repaired(found)) => *found,
        Err(error @ (RepairError::Infeasible(_) | RepairError::Rejected(_) | RepairError::NoLastLayer)) => {
            let words = format!(
                "can't be repaired through the last layer: {error}\nEnforce the rules in the output step instead: `enforce = \"decode\"` under [train], which holds for any network.\n"
            );
            emit(&if args.json {
                serde_json::to_string_pretty(
                    &json!({"repaired": false, "certified": false, "why": error.to_string(), "offer": "decode"}),
                )? + "\n"
            } else {
                words
            })?;
            return Ok(Outcome::Finding);
        }
        Err(error) => return Err(error.into()),
    };
    write_whole(&args.out.join("model.onnx"), &found.model)?;
    write_whole(&args.out.join("rules.toml"), rules.as_bytes())?;
    write_whole(&args.out.join("certificate.json"), found.proof.certificate.to_json().as_bytes())?;
    let seconds = started.elapsed().as_secs_f64();
    let scores = rows.as_ref().map(|r| (score(spec, network, r), score(spec, &found.network, r)));
    if args.json {
        let out = json!({
            "repaired": true, "certified": found.proof.accepted().is_some(), "seconds": seconds, "change": found.change,
            "skips_added": found.skipped, "bounds": found.how.bounds.name(), "regions": found.how.regions, "features_only": found.features_only,
            "before": scores.as_ref().map(|s| numbers(&s.0)), "after": scores.as_ref().map(|s| numbers(&s.1)),
        });
        emit(&(serde_json::to_string_pretty(&out)? + "\n"))?;
    } else {
        emit(&in_words(&found, scores.as_ref(), seconds, &args.out.display().to_string()))?;
    }
    Ok(Outcome::Success)
}

fn already(proof: &Proof, args: &RepairArgs, rules: &str, before: Option<&Metrics>, started: Instant) -> anyhow::Result<Outcome> {
    report::write_proof(proof, rules, &args.out)?;
    let seconds = started.elapsed().as_secs_f64();
    if args.json {
        let before = before.map(numbers);
        let out = json!({"repaired": false, "certified": true, "before": before, "after": before, "seconds": seconds});
        emit(&(serde_json::to_string_pretty(&out)? + "\n"))?;
    } else {
        emit(&format!("nothing to repair: every rule holds already ({seconds:.2} s); the proof is in {}\n", args.out.display()))?;
    }
    Ok(Outcome::Success)
}

fn score(spec: &NormalSpec, network: &Network, rows: &Rows) -> Metrics {
    metrics(spec, &rows.all, &network.forward(&rows.all.x), &rows.breaking)
}

fn in_words(found: &Repaired, scores: Option<&(Metrics, Metrics)>, seconds: f64, folder: &str) -> String {
    let mut out = format!("repaired in {seconds:.2} s: every rule holds for every input, and the checker accepts the proof\n");
    if !found.skipped.is_empty() {
        out += &format!("  features that now reach the last layer: {}\n", found.skipped.join(", "));
    }
    let bounds = if found.how.bounds == Bounds::Interval { "intervals" } else { "linear bounds" };
    let moved = if found.features_only { "weights of features and the bias" } else { "the last layer" };
    out += &format!(
        "  moved: {moved}; all before it is as it was (bounded by {bounds}, at most {} regions a rule)\n",
        found.how.regions
    );
    match scores {
        Some((before, after)) => {
            out += &format!(
                "  on {} rows whose label obeys the rules: {} before, {} after\n",
                after["rows"],
                summary::scores(before),
                summary::scores(after)
            );
            out += &format!(
                "  predictions that break a rule: {} of {} before, {} after\n",
                before["rows_breaking_all"], before["rows_all"], after["rows_breaking_all"]
            );
            out += &format!("  outputs change by {:.4} (root mean square)\n", found.change);
        }
        None => out += &format!("  outputs change by {:.4} (root mean square, on inputs drawn from the domain)\n", found.change),
    }
    out + &format!("Model and certificate: {folder}; check with: deepsade check {folder}\n")
}
