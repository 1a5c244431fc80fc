//! The parts of a run's page that are text and tables: scores, domain, network, proof.

use deepsade_check::{Keeper, ProvedPair};
use deepsade_engine::artifact::CLIPS_KEY;
use deepsade_engine::enforce::step::MADE_KEY;
use deepsade_engine::files::MODEL;
use deepsade_engine::verdict::pair_effort;
use deepsade_net::Model;
use deepsade_spec::{Domain, Schema};
use serde_json::Value;

use super::html::{Html, number};
use super::proof::ProofStatus;
use crate::figure::{bounds_per_layer, network_shape};
use crate::layers;

/// With more rules the table of their proofs is folded.
const MOST_RULES: usize = 12;
/// Features of a larger domain are not all listed.
const MOST_ROWS: usize = 60;

/// What was proved, with the hashes of what it was proved of.
pub(crate) fn proof(html: &mut Html, proof: &ProofStatus, sha256: &str) {
    html.section("proof-details", "Proof");
    let Some(accepted) = proof.accepted() else {
        html.paragraph("Nothing is proved about this model.");
        html.paragraph(&format!("SHA-256 of {MODEL}: `{sha256}`"));
        return;
    };
    if accepted.kept_by == Keeper::Choice {
        let rows = proof.rows();
        let table = |html: &mut Html| html.table(&["rule", "cases"], &rows);
        if rows.len() > MOST_RULES {
            html.folded(&format!("{} rules", rows.len()), table);
        } else {
            table(html);
        }
        html.paragraph(
            "Cases are the outputs that can be chosen, with the conditions on the input; each was shown to obey the rule.",
        );
    } else {
        if !accepted.rules.is_empty() {
            let rows = proof.rows();
            let table = |html: &mut Html| html.table(&["rule", "regions", "cells", "margin"], &rows);
            if rows.len() > MOST_RULES { html.folded(&format!("{} rules", rows.len()), table) } else { table(html) }
        }
        if !accepted.pairs.is_empty() {
            let row = |p: &ProvedPair| vec![p.name.clone(), pair_effort(p)];
            html.table(&["rule between two inputs", "proved"], &accepted.pairs.iter().map(row).collect::<Vec<_>>());
        }
        if accepted.kept_by == Keeper::Clips {
            html.paragraph(
                "The graph itself clips the network's outputs to bounds that follow from the input; what is counted here is the proof \
                 that all outputs between the bounds obey.",
            );
        }
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
    html.paragraph(&format!("SHA-256 of {MODEL}: `{}`", accepted.model_sha256));
    html.paragraph(&format!("SHA-256 of the rules with the domain, in canonical form: `{}`", accepted.rules_sha256));
}

/// Scores as the run left them.
pub(crate) fn scores(html: &mut Html, summary: Option<&Value>, pairs: bool) {
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
        .filter(|n| !deepsade_data::counts_rows(n))
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
    if pairs {
        html.paragraph(
            "A prediction that breaks a rule breaks one about a single input: rules between two inputs are not counted here.",
        );
    }
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
            "{} weights and biases{}. Categories enter as one column a level, ordered ones as the place of the level.",
            shape.parameters,
            if shape.gated { "; a feature multiplies the outputs" } else { "" }
        ),
    );
    let has_step = model.has_step();
    if has_step {
        let made = model.metadata.get(MADE_KEY).map(|how| format!(" ({how})")).unwrap_or_default();
        let clipped = model.metadata.contains_key(CLIPS_KEY);
        html.paragraph(&if clipped {
            "Behind the network the graph clips its outputs to bounds that follow from the input. Predictions on this page are those of the whole file."
                .to_owned()
        } else {
            format!(
            "An output step stands behind the network: it makes a candidate from the network's outputs{made}, checks it against the \
             rules, and falls back where it does not pass. Predictions on this page are those of the whole file.",
            )
        });
    }
    if let Some(widths) = layers::widths(&network, schema) {
        let proved = if has_step {
            "the output step keeps the rules, whatever these leave possible"
        } else {
            "the rules are proved for all that these leave possible"
        };
        let caption = format!(
            "How far the units of each layer can move over the whole domain, by interval bounds: {proved}. Boxes hold the middle \
                 half of the units, the line is the median, whiskers reach the extremes; units that never move stand at the lower edge."
        );
        html.folded("Bounds of each layer", |html| html.figure(&bounds_per_layer(&widths), &caption));
    }
}
