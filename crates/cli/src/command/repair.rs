//! `deepsade repair`: a network that breaks rules enters; one with another last layer and a certificate leaves.

use std::time::{Duration, Instant};

use anyhow::bail;
use deepsade_check::Bounds;
use deepsade_data::{CheckedData, Columns, Metrics, ReadOptions, read_table};
use deepsade_engine::explain::{Conflicts, smallest_conflict_until, vacuous_notes};
use deepsade_engine::fit;
use deepsade_engine::repair::{self, KnownRows, Mended, RepairError, RepairSettings, Repaired, mend, words};
use deepsade_engine::subject::{self, Subject, SubjectFiles};
use deepsade_engine::summary;
use deepsade_spec::{NormalSpec, shown};
use serde_json::json;

use super::verify as report;
use crate::args::RepairArgs;
use crate::interrupt::Interrupt;
use crate::outcome::{Exit, emit};
use crate::render::While;

/// Runs the command.
pub fn run(args: &RepairArgs) -> anyhow::Result<Exit> {
    let Ok(back) = Duration::try_from_secs_f64(args.timeout) else {
        bail!("--timeout {} must be a number of seconds from 0 on", args.timeout);
    };
    super::not_over_inputs(&args.out, std::slice::from_ref(&args.rules))?;
    let settings = RepairSettings { back, ..RepairSettings::default() };
    let output = args.output.as_deref();
    let files = SubjectFiles { model: &args.model, rules: &args.rules, data: args.data.as_deref(), output, rows: true };
    let subject = subject::read(&files)?;
    let network = repair::network_of(&subject.model).while_doing(|| args.model.display().to_string())?;
    subject.notes().into_iter().chain(vacuous_notes(&subject.spec)).for_each(|note| eprintln!("note: {note}"));
    let spec = &subject.spec;
    let known = known(args, &subject)?;
    let rows = known.labelled();
    let rules = subject.problem.stated(&spec.schema);
    let _hold = report::writable(&args.out, &args.model, args.force)?;
    let interrupt = Interrupt::listen();
    let started = Instant::now();
    let mended = match mend(spec, network, &known, &settings, &|| interrupt.pressed()) {
        Err(error @ (RepairError::Infeasible(_) | RepairError::Rejected(_) | RepairError::NoLastLayer)) => {
            return refused(&error, spec, args, &interrupt);
        }
        Err(error @ RepairError::Stopped) => return stopped(&error, args),
        other => other?.at_cutoff_of(spec, &subject.model),
    };
    report::write_proof(mended.certified(), &rules, &args.out)?;
    let seconds = started.elapsed().as_secs_f64();
    let scores = rows.map(|rows| words::scores(spec, network, &mended, rows));
    emit(&match &mended {
        _ if args.json => serde_json::to_string_pretty(&words::as_json(&mended, scores.as_ref(), seconds))? + "\n",
        Mended::Already(_) => {
            format!("nothing to repair: every rule holds already ({seconds:.2} s); the proof is in {}\n", args.out.display())
        }
        Mended::Repaired(found) => {
            let given = matches!(known, KnownRows::Inputs(_));
            in_words(found, scores.as_ref(), given, seconds, &args.out.display().to_string())
        }
    })?;
    Ok(Exit::Success)
}

/// The rows of `--data` or of the rule file.
fn known(args: &RepairArgs, subject: &Subject) -> anyhow::Result<KnownRows> {
    let spec = &subject.spec;
    if let (Some(settings), Some(loaded)) = (&subject.problem.data, &subject.loaded) {
        return Ok(KnownRows::Labelled(Box::new(fit::rows(spec, loaded, settings, settings.seed)?)));
    }
    let Some(path) = args.data.as_deref().filter(|p| !p.is_dir()) else { return Ok(KnownRows::Nothing) };
    // Targets, too, where they are.
    let options = ReadOptions { columns: Columns::All, ..ReadOptions::for_schema(&spec.schema) };
    let separator = subject.problem.data.as_ref().and_then(CheckedData::delimiter);
    let table = read_table(path, &ReadOptions { separator, ..options }, &mut |_| {})?;
    let targets = spec.schema.task.target_columns();
    let labelled = targets.iter().all(|t| table.column(t).is_some());
    let (known, outside) = KnownRows::within(spec, table)?;
    if known.is_empty() {
        bail!("{}: no row lies in the domain ({outside} lie outside or are incomplete)", path.display());
    }
    if outside > 0 {
        eprintln!("note: {outside} rows of {} lie outside the domain or are incomplete; they do not count", path.display());
    }
    if !labelled {
        eprintln!(
            "note: {} has no column {}, so the change is weighed and nothing is scored",
            path.display(),
            targets.join(", ")
        );
    }
    Ok(known)
}

/// Says why not, and what else there is.
fn refused(error: &RepairError, spec: &NormalSpec, args: &RepairArgs, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    // Where rules contradict each other there is nothing to choose from, either.
    let possible = !matches!(smallest_conflict_until(spec, &|| interrupt.pressed()), Conflicts::Found(_));
    if interrupt.pressed() {
        return stopped(error, args);
    }
    let offer = report::shield_in_words(&args.model, &args.rules, &spec.schema);
    let never = "The rules contradict each other (deepsade explain says where): change them.\n";
    let advice = if possible { offer.as_str() } else { never };
    emit(&if args.json {
        let offer = possible.then_some("shield");
        let out =
            json!({"repaired": false, "certified": false, "why": error.to_string(), "offer": offer, "advice": advice.trim_end()});
        serde_json::to_string_pretty(&out)? + "\n"
    } else {
        format!("can't be repaired through the last layer: {}\n{advice}", shown::message(&error.to_string()))
    })?;
    Ok(Exit::Finding)
}

/// Says that it did not come to an end.
fn stopped(error: &RepairError, args: &RepairArgs) -> anyhow::Result<Exit> {
    emit(&if args.json {
        let out = json!({"repaired": false, "certified": false, "why": error.to_string(), "offer": null, "advice": null});
        serde_json::to_string_pretty(&out)? + "\n"
    } else {
        format!("not repaired: {}\n", shown::message(&error.to_string()))
    })?;
    Ok(Exit::Unknown)
}

fn in_words(found: &Repaired, scores: Option<&(Metrics, Metrics)>, given: bool, seconds: f64, folder: &str) -> String {
    let mut out = format!("repaired in {seconds:.2} s: every rule holds for every input, and the checker accepts the proof\n");
    if !found.skipped.is_empty() {
        out += &format!("  features that now reach the last layer: {}\n", shown::name(&found.skipped.join(", ")));
    }
    let bounds = if found.tightness.bounds == Bounds::Interval { "intervals" } else { "linear bounds" };
    let moved = if found.features_only { "weights of features and the bias" } else { "the last layer" };
    out += &match found.before_shrinking {
        None => format!(
            "  moved: {moved}; all before it is as it was (bounded by {bounds}, at most {} regions a rule)\n",
            found.tightness.regions
        ),
        Some(before) => {
            format!(
                "  moved: {moved}; all before it is as it was (brought back from a change of {before:.4}, proved by branch and bound)\n"
            )
        }
    };
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
        None if given => out += &format!("  outputs change by {:.4} (root mean square, on the rows given)\n", found.change),
        None => out += &format!("  outputs change by {:.4} (root mean square, on inputs drawn from the domain)\n", found.change),
    }
    out + &format!("Model and certificate: {folder}; check with: deepsade check {folder}\n")
}
