//! `deepsade check`: a model, rules and a certificate enter, the checker's verdict leaves.

use std::path::{Path, PathBuf};

use anyhow::Context;
use deepsade_check::{Verdict, check};
use deepsade_engine::recheck::{self, RecheckError};
use deepsade_engine::verdict::{accepted, as_deployed, as_json, in_words};

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
    let verdict = if args.real { judged } else { as_deployed(judged) };
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
