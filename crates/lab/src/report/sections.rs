//! The parts of a run's page that are text and tables: rules, scores, domain, network, files.

use deepsade_check::Keeper;
use deepsade_engine::enforce::step::MADE_KEY;
use deepsade_engine::explain::{Possible, audit, possible, says_nothing};
use deepsade_engine::files::MODEL;
use deepsade_net::Model;
use deepsade_spec::{Domain, NormalSpec, Schema, print};
use serde_json::Value;

use super::html::{Html, escape, number};
use super::proof::ProofStatus;
use crate::figure::{bounds_per_layer, network_shape};
use crate::layers;

/// Formulas longer than this are shown cut.
const MOST_LETTERS: usize = 1500;
/// Features of a larger domain are not all listed.
const MOST_ROWS: usize = 60;

/// What the rules say.
pub(crate) fn rules(html: &mut Html, spec: Option<&NormalSpec>, proof: &ProofStatus) {
    html.section("rules", "What the rules say");
    let Some(spec) = spec.filter(|s| !s.rules.is_empty()) else {
        html.paragraph("The model carries no rules.");
        return;
    };
    for rule in &spec.rules {
        let mut normal = print::formula(&rule.claim, &spec.schema);
        if let Some((end, _)) = normal.char_indices().nth(MOST_LETTERS) {
            normal.truncate(end);
            normal.push_str(" …");
        }
        let can = match possible(&[&rule.claim], &spec.schema) {
            _ if says_nothing(&rule.claim, &spec.schema) => {
                "On this domain it holds whatever is predicted. Are its numbers in the units of the data?"
            }
            Possible::Always => "For every input of the domain there is an output that obeys it.",
            Possible::Not(_) => "It can't be obeyed for every input of the domain.",
            Possible::Unknown => "Whether it can be obeyed everywhere was not decided.",
        };
        let status = match proof.accepted() {
            Some(a) if a.rules.iter().all(|r| r.name != rule.name) => "Not proved.",
            Some(_) if proof.proved() => "Proved for every input of the domain.",
            Some(_) => "Proved for every input of the domain in exact real arithmetic, not in float32.",
            None => "Not proved.",
        };
        html.raw(&format!(
            "<div class=\"statement\"><h3>{}</h3><pre>{}</pre><p><small>In normal form, for every input:</small> <code>{}</code></p><p>{} {}</p></div>\n",
            escape(&rule.name),
            escape(&rule.text),
            escape(&normal),
            status,
            escape(can)
        ));
    }
    let audit = audit(spec);
    // What is chosen among valid sets is not bound by it.
    if audit.constant_only && proof.accepted().is_none_or(|a| a.kept_by == Keeper::Weights) {
        html.paragraph(&audit.words);
    }
}

/// What was proved, with the hashes of what it was proved of.
pub(crate) fn proof(html: &mut Html, proof: &ProofStatus, sha256: &str) {
    html.section("proof-details", "Proof");
    let Some(accepted) = proof.accepted() else {
        html.paragraph("Nothing is proved about this model.");
        html.table(&["what", "SHA-256"], &[vec![MODEL.into(), sha256.into()]]);
        return;
    };
    if accepted.kept_by == Keeper::Choice {
        html.table(&["rule", "cases"], &proof.rows());
        html.paragraph(
            "Cases are the outputs that can be chosen, with the conditions on the input; each was shown to obey the rule.",
        );
    } else {
        html.table(&["rule", "regions", "cells", "margin"], &proof.rows());
        if accepted.kept_by == Keeper::Step {
            html.paragraph(
                "The graph itself checks every candidate against the rules and answers by its fallback where one does not pass; what \
                 is counted here is the proof that the fallback obeys.",
            );
        }
        html.paragraph(
            "Cells are the ways in which a rule could be broken; each was shown to be empty on each region. The margin is the \
             smallest distance to a violation, in the units of the rule.",
        );
    }
    let hashes = [
        vec![MODEL.into(), accepted.model_sha256.clone()],
        vec!["rules with the domain, in canonical form".into(), accepted.rules_sha256.clone()],
    ];
    html.table(&["what", "SHA-256"], &hashes);
}

/// Scores as the run left them.
pub(crate) fn scores(html: &mut Html, summary: Option<&Value>) {
    html.section("scores", "Scores");
    let Some(summary) = summary else {
        html.paragraph("The folder has no summary.json with the scores of the run; `deepsade train` writes it.");
        return;
    };
    let parts = ["train", "validation", "test"].map(|name| (name, summary[name].as_object()));
    let mut names: Vec<&str> = parts
        .iter()
        .filter_map(|(_, m)| *m)
        .flat_map(|m| m.keys().map(String::as_str))
        .filter(|n| !n.starts_with("rows"))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|n| !n.ends_with("_all"));
    let mut head = vec!["rows", "all", "label obeys the rules", "predictions that break a rule"];
    head.extend(&names);
    let value = |v: &Value| v.as_u64().map(|n| n.to_string()).or_else(|| v.as_f64().map(number)).unwrap_or_else(|| "–".into());
    let rows: Vec<Vec<String>> = parts
        .iter()
        .filter_map(|(name, metrics)| {
            let metrics = (*metrics)?;
            let get = |n: &str| metrics.get(n).map_or_else(|| "–".into(), value);
            let mut row = vec![(*name).to_string(), get("rows_all"), get("rows"), get("rows_breaking_all")];
            row.extend(names.iter().map(|n| get(n)));
            Some(row)
        })
        .collect();
    html.table(&head, &rows);
    html.paragraph("Scores are over the rows whose label obeys the rules; shares are percentages.");
    let fact = |name: &str, key: &str| {
        summary.get(key).filter(|v| !v.is_null()).map(|v| {
            let text = v.as_str().map_or_else(|| value(v), String::from);
            format!("{name} {text}")
        })
    };
    let facts: Vec<String> = [
        fact("Epochs:", "epochs"),
        fact("kept:", "best_epoch"),
        fact("seconds:", "seconds"),
        fact("seed:", "seed"),
        fact("end:", "stopped"),
        fact("gate:", "gate"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !facts.is_empty() {
        html.paragraph(&(facts.join("; ") + "."));
    }
}

/// The set of inputs for which the proof holds.
pub(crate) fn domain(html: &mut Html, schema: &Schema) {
    html.section("domain", "Domain");
    html.paragraph("\"Every input\" is every float32 input with these values.");
    let row = |f: &deepsade_spec::Feature| {
        let (kind, values) = match &f.domain {
            Domain::Real { lo, hi } => ("real", format!("{lo} to {hi}")),
            Domain::Integer { lo, hi } => ("whole", format!("{lo} to {hi}")),
            Domain::Stepped { lo, hi, step } => ("stepped", format!("{lo} to {hi}, multiples of {step}")),
            Domain::Ordered { levels } => ("ordered", levels.join(" < ")),
            Domain::Category { levels } => ("category", levels.join(", ")),
        };
        vec![f.name.clone(), kind.into(), values]
    };
    html.table(&["feature", "kind", "values"], &schema.features.iter().take(MOST_ROWS).map(row).collect::<Vec<_>>());
    if schema.features.len() > MOST_ROWS {
        html.paragraph(&format!("and {} more features.", schema.features.len() - MOST_ROWS));
    }
}

/// Shape, sizes and bounds.
pub(crate) fn network(html: &mut Html, model: &Model, schema: &Schema) {
    html.section("network", "Network");
    let network = layers::before_choice(&model.network);
    let shape = layers::shape(&network);
    html.figure(
        &network_shape(&shape.layers, shape.skipped, shape.gated),
        &format!(
            "{} weights and biases{}. Categories enter as one column a level.",
            shape.parameters,
            if shape.gated { "; a feature multiplies the outputs" } else { "" }
        ),
    );
    let has_step = model.has_step();
    if has_step {
        let made = model.metadata.get(MADE_KEY).map(|how| format!(" ({how})")).unwrap_or_default();
        html.paragraph(&format!(
            "An output step stands behind the network: it makes a candidate from the network's outputs{made}, checks it against the \
             rules, and falls back where it does not pass. Predictions on this page are those of the whole file.",
        ));
    }
    if let Some(widths) = layers::widths(&network, schema) {
        let proved = if has_step {
            "the output step keeps the rules, whatever these leave possible"
        } else {
            "the rules are proved for all that these leave possible"
        };
        html.figure(
            &bounds_per_layer(&widths),
            &format!(
                "How far the units of each layer can move over the whole domain, by interval bounds: {proved}. Boxes hold the middle \
                 half of the units, the line is the median, whiskers reach the extremes; units that never move stand at the lower edge."
            ),
        );
    }
}
