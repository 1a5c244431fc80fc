//! The checker's verdict enters; what it says leaves, in words and as JSON.

use deepsade_check::{Accepted, Arithmetic, Verdict};
use deepsade_spec::sets::Place;
use deepsade_spec::shown;
use serde_json::json;

/// A proof for exact real arithmetic says nothing about float32 as deployed: it is rejected.
pub fn as_deployed(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Accepted(a) if a.arithmetic() != Arithmetic::Float32 => Verdict::Rejected {
            step: "arithmetic".into(),
            reason: "it proves the rules for exact real arithmetic, not for float32 as deployed; --real accepts that".into(),
        },
        verdict => verdict,
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
        // Both may quote what a hostile file says: on this line, and no further.
        Verdict::Rejected { step, reason } => {
            let reason = shown::abridged(reason, 600);
            format!("certificate REJECTED at {}: {}", shown::name(&shown::abridged(step, 200)), shown::name(&reason))
        }
    }
}

/// The verdict as JSON.
pub fn as_json(verdict: &Verdict) -> serde_json::Value {
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
