//! `deepsade shield`: a model of any tool and rules enter; the same model with an output step behind it leaves, proved.

use deepsade_check::Verdict;
use deepsade_check::step::Outputs;
use deepsade_engine::artifact::read_bytes;
use deepsade_engine::files::write_proof;
use deepsade_engine::shield::{Reading, Shielded, shield};
use deepsade_engine::verdict::{accepted, claim_in_words, in_words};
use deepsade_spec::Task;
use serde_json::json;

use super::verify::writable;
use crate::args::ShieldArgs;
use crate::outcome::{Exit, emit};
use crate::progress::ReadBar;
use crate::render::While;

/// Runs the command.
pub fn run(args: &ShieldArgs) -> anyhow::Result<Exit> {
    super::not_over_inputs(&args.out, std::slice::from_ref(&args.rules))?;
    let bytes = read_bytes(&args.model)?;
    let problem = super::problem(&args.rules, args.data.as_deref())?;
    let mut bar = ReadBar::new(args.quiet);
    let (spec, loaded, note) = problem.load_or_stated(&mut |p| bar.update(p))?;
    note.iter().for_each(|note| eprintln!("note: {note}"));
    if args.threshold.is_none() && matches!(spec.schema.task, Task::Multilabel { .. }) && !args.quiet {
        eprintln!("note: a label is read as present where the model's number is above 0; for probabilities say --threshold 0.5");
    }
    let reading = Reading { output: args.output.clone(), threshold: args.threshold, probabilities: None };
    let shielded = shield(&bytes, &problem, &spec, loaded.as_ref(), &reading)
        .while_doing(|| format!("can't shield {}", args.model.display()))?;
    if let Some(numbered) = &shielded.numbered {
        eprintln!("note: {numbered}");
    }
    if let Some(label) = &shielded.own_label {
        eprintln!(
            "note: the file's own label '{}' comes from a classifier that may have a threshold of its own; the step gives the class with the \
             largest score: compare them on a few rows",
            deepsade_spec::shown::name(label)
        );
    }
    if let (None, Outputs::Numbers(numbers), false) = (&loaded, &shielded.outputs, args.quiet) {
        let ranges =
            spec.schema.task.target_columns().into_iter().zip(numbers).map(|(name, n)| format!("{name} {} to {}", n.lo, n.hi));
        let ranges = ranges.collect::<Vec<_>>().join(", ");
        eprintln!(
            "note: there are no data, so the size of the outputs is guessed; what is beyond is cut: {ranges}; --data says it"
        );
    }
    if let Some(warning) = &shielded.warning {
        eprintln!("warning: {warning}");
    }
    let _hold = writable(&args.out, &args.model, args.force)?;
    let Shielded { bytes, certificate, rules, verdict, .. } = &shielded;
    let model = write_proof(&args.out, bytes, rules, Some(certificate))?;
    if args.json {
        let mut said = shielded.as_json();
        said["model"] = json!(model);
        emit(&(serde_json::to_string_pretty(&said)? + "\n"))?;
    } else {
        let claim = accepted(verdict).map(claim_in_words).unwrap_or_default();
        emit(&format!(
            "Output step behind '{}': {}{}.\n{}\n{claim}Model: {}\n",
            shielded.output,
            shielded.made,
            shielded.step_us.map(|us| format!("; {us:.2} us a row (1000 rows at once, in this program)")).unwrap_or_default(),
            in_words(verdict),
            model.display()
        ))?;
    }
    Ok(if matches!(verdict, Verdict::Accepted(_)) { Exit::Success } else { Exit::Finding })
}
