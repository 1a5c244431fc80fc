//! `deepsade shield`: a model of any tool and rules enter; the same model with an output step behind it leaves, proved.

use std::path::Path;

use anyhow::{Context, bail};
use deepsade_check::Verdict;
use deepsade_engine::artifact::{read_at_most, write_whole};
use deepsade_engine::enforce::step::Usual;
use deepsade_engine::fit;
use deepsade_engine::problem::Problem;
use deepsade_engine::proof;
use deepsade_engine::recheck;
use deepsade_engine::shield::{Reading, shield};
use deepsade_engine::verdict::{accepted, as_json, claim_in_words, in_words};
use deepsade_spec::Task;
use serde_json::json;

use super::verify::writable;
use crate::args::ShieldArgs;
use crate::outcome::{Exit, emit};
use crate::progress::ReadBar;

/// A model of more bytes is not carried over.
const MOST_BYTES: u64 = 2 << 30;

/// Runs the command.
pub fn run(args: &ShieldArgs) -> anyhow::Result<Exit> {
    let read = read_at_most(&args.model, MOST_BYTES).with_context(|| format!("can't read {}", args.model.display()))?;
    let Ok(bytes) = read else { bail!("{}: more than {MOST_BYTES} bytes", args.model.display()) };
    let problem = Problem::read(&args.rules)?.with_data(args.data.as_deref())?;
    let mut bar = ReadBar::new(args.quiet);
    // A rule file that states everything needs no data, and may have been moved away from them.
    let absent = problem.absent_data().filter(|_| problem.stated_schema().is_ok());
    let (spec, loaded) = match absent {
        Some(note) => {
            eprintln!("note: {note}");
            (problem.compile(&problem.stated_schema()?)?, None)
        }
        None => problem.load(&mut |p| bar.update(p))?,
    };
    if spec.rules.is_empty() && spec.schema.task.whole_outputs().is_empty() {
        bail!("{} has no rule: there is nothing to keep", args.rules.display());
    }
    if let Some(words) = deepsade_engine::explain::conflict_in_words(&spec) {
        bail!("the rules contradict each other: {words}");
    }
    let usual = if let (Some(loaded), Some(data)) = (&loaded, &problem.data) {
        Usual::of(&fit::rows(&spec, loaded, data, data.seed)?.all.y)
    } else {
        if !args.quiet {
            eprintln!("note: there are no data, so the size of the outputs is guessed from the rules; --data says it");
        }
        Usual::unknown(&spec)
    };
    if args.threshold.is_none() && matches!(spec.schema.task, Task::Multilabel { .. }) && !args.quiet {
        eprintln!("note: a label is read as present where the model's number is above 0; for probabilities say --threshold 0.5");
    }
    let reading = Reading { output: args.output.clone(), threshold: args.threshold };
    let shielded =
        shield(&bytes, &spec, &reading, &usual).map_err(|e| anyhow::anyhow!("can't shield {}: {e}", args.model.display()))?;
    let _hold = writable(&args.out, &args.model)?;
    let rules = problem.stated(&spec.schema);
    let certificate = proof::certificate(&shielded.proof).to_json();
    // Read again: what counts is what the files say.
    let verdict = recheck::held(&shielded.bytes, &Problem::parse(&rules, Path::new("rules.toml"))?, &certificate)?;
    write_whole(&args.out.join("model.onnx"), &shielded.bytes)?;
    write_whole(&args.out.join("certificate.json"), certificate.as_bytes())?;
    write_whole(&args.out.join("rules.toml"), rules.as_bytes())?;
    if args.json {
        let mut said = as_json(&verdict);
        said["made"] = json!(shielded.made);
        said["output"] = json!(shielded.output);
        said["model"] = json!(args.out.join("model.onnx"));
        emit(&(serde_json::to_string_pretty(&said)? + "\n"))?;
    } else {
        let claim = accepted(&verdict).map(claim_in_words).unwrap_or_default();
        emit(&format!(
            "Output step behind '{}': {}.\n{}\n{claim}Model: {}\n",
            shielded.output,
            shielded.made,
            in_words(&verdict),
            args.out.join("model.onnx").display()
        ))?;
    }
    Ok(if matches!(verdict, Verdict::Accepted(_)) { Exit::Success } else { Exit::Finding })
}
