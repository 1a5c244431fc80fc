//! What was decided about a network enters; it leaves in words and as JSON.

use std::path::Path;

use deepsade_check::Arithmetic;
use deepsade_spec::{NamedValues, NormalSpec};
use serde_json::{Value, json};

use super::{CounterExample, Outcome, Work};
use crate::verdict::{all_hold, pair_effort, proved_rules_as_json, rules_in_words};

/// A counter-example: the rule, and the input and output that break it.
pub fn example_as_json(spec: &NormalSpec, example: &CounterExample) -> Value {
    json!({
        "rule": spec.rules[example.rule].name, "input": NamedValues::of_row(&spec.schema, &example.x),
        "output": NamedValues::of_outputs(&spec.schema.task, &example.y),
    })
}

/// The answer as JSON.
pub fn as_json(decided: &Outcome, spec: &NormalSpec, seconds: f64, work: Work, inexact: &[String]) -> Value {
    let columns: Vec<String> = spec.schema.columns().into_iter().map(|c| c.name).collect();
    let mut out = json!({"seconds": seconds, "regions": work.regions, "search_seconds": (seconds - work.check_seconds).max(0.0), "check_seconds": work.check_seconds, "columns": columns, "inexact": inexact, "task": spec.schema.task, "domain": spec.schema.features, "rule": null, "input": null, "output": null});
    match decided {
        Outcome::Proved(proof) => {
            out["verdict"] = json!("proved");
            out["arithmetic"] = json!(proof.accepted().arithmetic.name());
            out["rules"] = proved_rules_as_json(proof.accepted());
            out["leaves"] = json!(proof.accepted().rules.iter().map(|rule| rule.regions).sum::<usize>());
            out["proof_bytes"] = json!(proof.certificate().to_json().len());
        }
        Outcome::Refuted(example) => {
            out["verdict"] = json!("refuted");
            out["rule"] = json!(spec.name(example.rule));
            if let Some((x, y)) = &example.other {
                out["other_input"] = json!(NamedValues::of_row(&spec.schema, x));
                out["other_row"] = json!(x);
                out["other_output"] = json!(NamedValues::of_outputs(&spec.schema.task, y));
            }
            out["input"] = json!(NamedValues::of_row(&spec.schema, &example.x));
            out["row"] = json!(example.x);
            out["output"] = json!(NamedValues::of_outputs(&spec.schema.task, &example.y));
            out["in_every_runtime"] = json!(example.in_every_runtime);
            out["arithmetic"] = json!(if example.exact { Arithmetic::Real } else { Arithmetic::Float32 }.name());
        }
        Outcome::Unknown { rule, why } => {
            out["verdict"] = json!("unknown");
            out["rule"] = json!(spec.name(*rule));
            out["why"] = json!(why.to_string());
        }
    }
    out
}

/// A counter-example in a few lines.
pub fn example_in_words(spec: &NormalSpec, example: &CounterExample) -> String {
    let (name, text) = spec.texts().nth(example.rule).unwrap_or_default();
    let everywhere = if example.exact && !example.in_every_runtime {
        "in exact numbers; float32 may round to the other side"
    } else if example.in_every_runtime {
        "in every float32 runtime"
    } else {
        "as this program adds; another order may round to the other side"
    };
    let shown = |x: &[f32], y: &[f32]| (NamedValues::of_row(&spec.schema, x), NamedValues::of_outputs(&spec.schema.task, y));
    let other = example.other.as_ref().map(|(x, y)| shown(x, y));
    let other = other.map_or_else(String::new, |(x, y)| format!("  and the input: {x}\n  whose output is: {y}\n"));
    let (x, y) = shown(&example.x, &example.y);
    format!("  rule '{name}': {text}\n  input: {x}\n  output: {y}\n{other}  ({everywhere})\n")
}

/// The answer for people; `folder` is where the certificate was written.
pub fn in_words(decided: &Outcome, spec: &NormalSpec, seconds: f64, regions: usize, folder: Option<&Path>) -> String {
    match decided {
        Outcome::Proved(proof) => {
            let arithmetic = proof.accepted().arithmetic.name();
            let mut out = format!(
                "proved: {} for every input of the domain in {arithmetic} ({seconds:.2} s, {regions} regions); the checker accepts it\n",
                all_hold(proof.accepted())
            );
            out += &rules_in_words(
                proof.accepted(),
                spec,
                &|done, _| format!("  {}: {} regions, margin {:e}\n", done.name, done.regions, done.margin),
                &|done, _| format!("  {}: {}\n", done.name, pair_effort(done)),
            );
            if let Some(folder) = folder {
                out +=
                    &format!("Certificate and the model it is about: {0}; check it with: deepsade check {0}\n", folder.display());
            }
            out
        }
        Outcome::Refuted(example) => {
            format!(
                "refuted ({seconds:.2} s, {regions} regions): {}, run {}, breaks a rule\n{}",
                if example.other.is_some() { "this pair of inputs" } else { "this input" },
                if example.exact { "in exact arithmetic" } else { "in float32" },
                example_in_words(spec, example)
            )
        }
        Outcome::Unknown { rule, why } => {
            format!("unknown ({seconds:.2} s, {regions} regions): rule '{}': {why}\n", spec.name(*rule))
        }
    }
}
