//! `deepsade check`: a model, rules and a certificate enter, the checker's verdict leaves.

use std::path::{Path, PathBuf};

use anyhow::Context;
use deepsade_check::{Accepted, Arithmetic, Verdict, check};
use deepsade_engine::recheck::{self, RecheckError};
use deepsade_spec::sets::Place;
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
        for (a, rule) in accepted(&verdict).iter().flat_map(|a| a.rules().iter().map(move |r| (a, r))) {
            out += &match a.decoded() {
                Some(_) => format!("  {}: {} cases of what can be chosen\n", rule.name, rule.cells),
                None => format!("  {}: {} regions, {} cells, margin {:e}\n", rule.name, rule.regions, rule.cells, rule.margin),
            };
        }
        emit(&out)?;
    }
    Ok(if accepted(&verdict).is_some() { Outcome::Success } else { Outcome::Finding })
}

/// Checks files as they stand on the disk.
pub fn files(model: &Path, rules: &Path, certificate: &Path) -> anyhow::Result<Verdict> {
    recheck::files(model, rules, certificate).map_err(|e| match e {
        RecheckError::Rules(e) => e.into(),
        RecheckError::File(e) => e.into(),
    })
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
        Verdict::Accepted(a) => {
            let (rules, model) = (a.rules().len(), &a.model_sha256()[..12]);
            let choice = "and rules that mention no feature for every other input, too";
            match a.decoded() {
                None => format!(
                    "certificate accepted: {rules} rules hold for every input of the domain in {} (model {model}...)",
                    a.arithmetic().name()
                ),
                Some(Place::InGraph) => format!(
                    "certificate accepted: the graph chooses among outputs that obey {rules} rules for every input of the domain, \
                     {choice} (model {model}...)"
                ),
                Some(Place::Library) => format!(
                    "certificate accepted: as decoded by `deepsade predict` or the library, not by the graph alone, outputs obey \
                     {rules} rules for every input of the domain, {choice} (model {model}...)"
                ),
            }
        }
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
            "decode": a.decoded().map(Place::name),
            "domain": a.spec().schema.features,
            "rules": a.rules().iter().map(|r| json!({
                "name": r.name, "regions": r.regions, "cells": r.cells, "margin": r.margin,
            })).collect::<Vec<_>>(),
        }),
        Verdict::Rejected { step, reason } => json!({"verdict": "rejected", "step": step, "reason": reason}),
    }
}
