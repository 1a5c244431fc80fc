//! `deepsade check`: a model, rules and a certificate enter, the checker's verdict leaves.

use std::path::{Path, PathBuf};

use anyhow::Context;
use deepsade_check::{Accepted, Arithmetic, Verdict, check};
use deepsade_engine::problem::Problem;
use deepsade_spec::{Domain, Schema};
use serde_json::json;

use crate::args::CheckArgs;
use crate::outcome::{Outcome, emit};

/// Runs the command.
pub fn run(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let file =
        |given: &Option<PathBuf>, name: &str| given.clone().unwrap_or_else(|| args.dir.clone().unwrap_or_default().join(name));
    let (model, rules) = (file(&args.model, "model.onnx"), file(&args.rules, "rules.toml"));
    let certificate = file(&args.certificate, "certificate.json");
    let judged = match &args.vnnlib {
        Some(property) => of_property(&model, property, &certificate)?,
        None => files(&model, &rules, &certificate)?,
    };
    let verdict = match judged {
        Verdict::Accepted(a) if a.arithmetic() != Arithmetic::Float32 && !args.real => Verdict::Rejected {
            step: "arithmetic".into(),
            reason: "it proves the rules for exact real arithmetic, not for float32 as deployed; --real accepts that".into(),
        },
        verdict => verdict,
    };
    if args.json {
        emit(&(serde_json::to_string_pretty(&as_json(&verdict))? + "\n"))?;
    } else {
        let mut out = in_words(&verdict) + "\n";
        if let Some(a) = accepted(&verdict) {
            out += &format!("  the domain is the model's own, {} features; --json lists it\n", a.spec().schema.features.len());
        }
        for rule in accepted(&verdict).iter().flat_map(|a| a.rules()) {
            out += &format!("  {}: {} regions, {} cells, margin {:e}\n", rule.name, rule.regions, rule.cells, rule.margin);
        }
        emit(&out)?;
    }
    Ok(if accepted(&verdict).is_some() { Outcome::Success } else { Outcome::Finding })
}

/// Checks files as they stand on the disk.
pub fn files(model: &Path, rules: &Path, certificate: &Path) -> anyhow::Result<Verdict> {
    let bytes = std::fs::read(model).with_context(|| format!("can't read {}", model.display()))?;
    let text = std::fs::read_to_string(certificate).with_context(|| format!("can't read {}", certificate.display()))?;
    let problem = Problem::read(rules)?;
    let verdict = check(&bytes, &problem.rules, &text);
    match accepted(&verdict).and_then(|a| outside_model(&problem, &a.spec().schema)) {
        Some(reason) => Ok(Verdict::Rejected { step: "domain".into(), reason }),
        None => Ok(verdict),
    }
}

/// Checks a certificate for a VNN-LIB property: the rules are read from the property again, and the domain must be its own.
fn of_property(model: &Path, property: &Path, certificate: &Path) -> anyhow::Result<Verdict> {
    let bytes = std::fs::read(model).with_context(|| format!("can't read {}", model.display()))?;
    let text = std::fs::read_to_string(certificate).with_context(|| format!("can't read {}", certificate.display()))?;
    let property = super::verify::read_property(property)?;
    let verdict = check(&bytes, &property.rules, &text);
    match accepted(&verdict) {
        Some(a) if a.spec().schema != property.schema => Ok(Verdict::Rejected {
            step: "domain".into(),
            reason: "the model's inputs and outputs are not those of the property".into(),
        }),
        _ => Ok(verdict),
    }
}

/// What the rule file states about the domain and the model's own domain, for which the proof holds, does not cover.
fn outside_model(problem: &Problem, schema: &Schema) -> Option<String> {
    for (name, stated) in &problem.features {
        let Some(stated) = stated.stated_domain() else { continue };
        let Some(f) = schema.feature(name) else { return Some(format!("the model has no feature '{name}'")) };
        let covered = match (&stated, &schema.features[f].domain) {
            (Domain::Category { levels }, Domain::Category { levels: known }) => levels.iter().all(|l| known.contains(l)),
            (Domain::Real { lo, hi }, Domain::Real { lo: a, hi: b }) => a <= lo && hi <= b,
            (Domain::Integer { lo, hi }, Domain::Integer { lo: a, hi: b }) => a <= lo && hi <= b,
            (Domain::Integer { lo, hi }, Domain::Real { lo: a, hi: b }) => *a <= *lo as f32 && *hi as f32 <= *b,
            _ => false,
        };
        if !covered {
            return Some(format!(
                "the rule file states {stated:?} for '{name}', the model covers {:?}",
                schema.features[f].domain
            ));
        }
    }
    None
}

/// What was proved, if it was.
pub fn accepted(verdict: &Verdict) -> Option<&Accepted> {
    match verdict {
        Verdict::Accepted(accepted) => Some(accepted),
        Verdict::Rejected { .. } => None,
    }
}

/// The verdict in a line.
pub fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted(a) => format!(
            "certificate accepted: {} rules hold for every input of the domain in {} (model {}...)",
            a.rules().len(),
            a.arithmetic().name(),
            &a.model_sha256()[..12]
        ),
        Verdict::Rejected { step, reason } => format!("certificate REJECTED at {step}: {reason}"),
    }
}

fn as_json(verdict: &Verdict) -> serde_json::Value {
    match verdict {
        Verdict::Accepted(a) => json!({
            "verdict": "accepted",
            "model_sha256": a.model_sha256(),
            "rules_sha256": a.rules_sha256(),
            "arithmetic": a.arithmetic().name(),
            "domain": a.spec().schema.features,
            "rules": a.rules().iter().map(|r| json!({
                "name": r.name, "regions": r.regions, "cells": r.cells, "margin": r.margin,
            })).collect::<Vec<_>>(),
        }),
        Verdict::Rejected { step, reason } => json!({"verdict": "rejected", "step": step, "reason": reason}),
    }
}
