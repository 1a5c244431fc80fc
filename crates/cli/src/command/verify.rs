//! `deepsade verify`: a network and rules, or a VNN-LIB property, enter; proved, refuted or unknown leaves.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use deepsade_check::Arithmetic;
use deepsade_engine::artifact::{read_any, write_whole};
use deepsade_engine::verify::vnnlib::{self, Property};
use deepsade_engine::verify::{CounterExample, Outcome as Decided, Proof, Settings, Why, Work, fits, verify};
use deepsade_net::Model;
use deepsade_spec::{ColumnKind, Domain, NormalSpec, Schema, Task};
use serde_json::{Map, Value, json};

use super::subject::{self, Files, columns_in_words};
use crate::args::{ArithmeticArg, VerifyArgs};
use crate::interrupt::Interrupt;
use crate::outcome::{Outcome, emit};

/// Runs the command.
pub fn run(args: &VerifyArgs) -> anyhow::Result<Outcome> {
    if !(args.timeout > 0.0 && args.timeout.is_finite()) {
        bail!("--timeout {} must be a positive number of seconds", args.timeout);
    }
    let (model, spec, rules_toml, named) = question(args)?;
    let mut settings = Settings {
        timeout: Some(Duration::from_secs_f64(args.timeout)),
        arithmetic: match args.arithmetic {
            ArithmeticArg::Float32 => Arithmetic::Float32,
            ArithmeticArg::Real => Arithmetic::Real,
        },
        ..Settings::default()
    };
    settings.threads = args.threads.unwrap_or(settings.threads).max(1);
    let interrupt = Interrupt::listen();
    let started = Instant::now();
    let (decided, work) = verify(&spec, &model.network, &settings, &|| interrupt.pressed())?;
    let seconds = started.elapsed().as_secs_f64();
    if let (Decided::Proved(proof), Some(folder)) = (&decided, &args.certificate) {
        write_proof(proof, &rules_toml, folder)?;
        if let Some(property) = &args.vnnlib {
            write_whole(&folder.join("property.vnnlib"), &std::fs::read(property)?)?;
        }
    }
    if args.vnncomp {
        emit(&vnncomp(&decided))?;
    } else if args.json {
        let report = as_json(&decided, &spec, seconds, work, &model.inexact);
        emit(&(serde_json::to_string_pretty(&report)? + "\n"))?;
    } else {
        if !named {
            eprintln!("the model does not name its columns; read as {}", columns_in_words(&spec.schema));
        }
        for place in &model.inexact {
            eprintln!("note: {place}: the file may round differently there from the network that was looked at");
        }
        emit(&in_words(&decided, &spec, seconds, work.regions, args.certificate.as_deref()))?;
    }
    Ok(match decided {
        Decided::Proved(_) => Outcome::Success,
        Decided::Refuted(_) => Outcome::Finding,
        Decided::Unknown { .. } => Outcome::Unknown,
    })
}

/// The network, the rules, the text of their file, and whether the model names its columns.
fn question(args: &VerifyArgs) -> anyhow::Result<(Model, NormalSpec, String, bool)> {
    if let Some(path) = &args.vnnlib {
        let property = read_property(path)?;
        let model = read_any(&args.model, args.output.as_deref())?;
        fits(&property.spec, &model.network).with_context(|| format!("{} and {}", args.model.display(), path.display()))?;
        let text = as_rule_file(&property);
        return Ok((model, property.spec, text, true));
    }
    let rules = args.rules.as_deref().context("--rules or --vnnlib is needed")?;
    let output = args.output.as_deref();
    let subject = subject::read(&Files { model: &args.model, rules, data: args.data.as_deref(), output, rows: false })?;
    Ok((subject.model, subject.spec, std::fs::read_to_string(rules)?, subject.named))
}

/// Reads a property; errors name the file and the place.
pub fn read_property(path: &Path) -> anyhow::Result<Property> {
    let text = std::fs::read_to_string(path).with_context(|| format!("can't read {}", path.display()))?;
    vnnlib::read(&text).map_err(|e| anyhow::anyhow!("{}, {e}", path.display()))
}

/// Writes what `deepsade check DIR` reads.
pub fn write_proof(proof: &Proof, rules: &str, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("can't make the folder {}", folder.display()))?;
    write_whole(&folder.join("model.onnx"), &proof.model)?;
    write_whole(&folder.join("rules.toml"), rules.as_bytes())?;
    write_whole(&folder.join("certificate.json"), proof.certificate.to_json().as_bytes())?;
    Ok(())
}

/// A property as a rule file.
fn as_rule_file(property: &Property) -> String {
    let mut out = String::new();
    for feature in &property.schema.features {
        if let Domain::Real { lo, hi } = feature.domain {
            out +=
                &format!("[features.{}]\nkind = \"real\"\nrange = [{:?}, {:?}]\n\n", feature.name, f64::from(lo), f64::from(hi));
        }
    }
    let targets = property.schema.task.target_columns();
    out += &format!("[task]\nkind = \"regression\"\ntargets = {targets:?}\n");
    for rule in &property.rules {
        out += &format!("\n[[rule]]\nname = {:?}\ntext = {:?}\n", rule.name, rule.text);
    }
    out
}

/// Features by name, levels in words.
pub fn input_as_json(schema: &Schema, x: &[f32]) -> Value {
    let mut out = Map::new();
    let columns = schema.columns();
    for (f, feature) in schema.features.iter().enumerate() {
        let first = columns.partition_point(|c| c.feature < f);
        let value = match &feature.domain {
            Domain::Category { levels } => {
                let taken = columns.iter().enumerate().find(|(k, c)| c.feature == f && x[*k] > 0.5);
                let level = taken.map_or(0, |(_, c)| if let ColumnKind::Level(l) = c.kind { l } else { 0 });
                json!(levels[level])
            }
            Domain::Integer { .. } => json!(x[first] as i64),
            Domain::Real { .. } => json!(x[first]),
        };
        out.insert(feature.name.clone(), value);
    }
    Value::Object(out)
}

/// Outputs by name.
pub fn output_as_json(task: &Task, y: &[f32]) -> Value {
    Value::Object(y.iter().enumerate().map(|(j, v)| (task.output_name(j), json!(v))).collect())
}

fn as_json(decided: &Decided, spec: &NormalSpec, seconds: f64, work: Work, inexact: &[String]) -> Value {
    let columns: Vec<String> = spec.schema.columns().into_iter().map(|c| c.name).collect();
    let mut out = json!({"seconds": seconds, "regions": work.regions, "check_seconds": work.check_seconds, "columns": columns, "inexact": inexact, "rule": null, "input": null, "output": null});
    match decided {
        Decided::Proved(proof) => {
            out["verdict"] = json!("proved");
            out["arithmetic"] = json!(proof.accepted.arithmetic().name());
            out["rules"] = proof
                .accepted
                .rules()
                .iter()
                .map(|r| json!({"name": r.name, "regions": r.regions, "margin": r.margin}))
                .collect();
        }
        Decided::Refuted(example) => {
            out["verdict"] = json!("refuted");
            out["rule"] = json!(spec.rules[example.rule].name);
            out["input"] = input_as_json(&spec.schema, &example.x);
            out["row"] = json!(example.x);
            out["output"] = output_as_json(&spec.schema.task, &example.y);
            out["in_every_runtime"] = json!(example.in_every_runtime);
        }
        Decided::Unknown { rule, why } => {
            out["verdict"] = json!("unknown");
            out["rule"] = json!(spec.rules[*rule].name);
            out["why"] = json!(why.to_string());
        }
    }
    out
}

/// A counter-example in a few lines.
pub fn example_in_words(spec: &NormalSpec, example: &CounterExample) -> String {
    let list = |value: Value| match value {
        Value::Object(fields) => fields.iter().map(|(k, v)| format!("{k} = {v}")).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    let rule = &spec.rules[example.rule];
    let everywhere = if example.in_every_runtime {
        "in every float32 runtime"
    } else {
        "as this program adds; another order may round to the other side"
    };
    format!(
        "  rule '{}': {}\n  input: {}\n  output: {}\n  ({everywhere})\n",
        rule.name,
        rule.text,
        list(input_as_json(&spec.schema, &example.x)),
        list(output_as_json(&spec.schema.task, &example.y)),
    )
}

fn in_words(decided: &Decided, spec: &NormalSpec, seconds: f64, regions: usize, folder: Option<&Path>) -> String {
    match decided {
        Decided::Proved(proof) => {
            let arithmetic = proof.accepted.arithmetic().name();
            let mut out = format!(
                "proved: {} rules hold for every input of the domain in {arithmetic} ({seconds:.2} s, {regions} regions); the checker accepts it\n",
                spec.rules.len()
            );
            for rule in proof.accepted.rules() {
                out += &format!("  {}: {} regions, margin {:e}\n", rule.name, rule.regions, rule.margin);
            }
            if let Some(folder) = folder {
                out +=
                    &format!("Certificate and the model it is about: {0}; check it with: deepsade check {0}\n", folder.display());
            }
            out
        }
        Decided::Refuted(example) => {
            format!(
                "refuted ({seconds:.2} s, {regions} regions): this input, run in float32, breaks a rule\n{}",
                example_in_words(spec, example)
            )
        }
        Decided::Unknown { rule, why } => {
            format!("unknown ({seconds:.2} s, {regions} regions): rule '{}': {why}\n", spec.rules[*rule].name)
        }
    }
}

/// The answer as the competition reads it.
fn vnncomp(decided: &Decided) -> String {
    match decided {
        Decided::Proved(_) => "unsat\n".into(),
        Decided::Refuted(example) => {
            let inputs = example.x.iter().enumerate().map(|(k, v)| format!("(X_{k} {v:?})"));
            let outputs = example.y.iter().enumerate().map(|(k, v)| format!("(Y_{k} {v:?})"));
            format!("sat\n({})\n", inputs.chain(outputs).collect::<Vec<_>>().join("\n "))
        }
        Decided::Unknown { why: Why::Timeout, .. } => "timeout\n".into(),
        Decided::Unknown { .. } => "unknown\n".into(),
    }
}
