//! The rules of a run and what was proved of them enter; cards leave where they are few, a table that can be searched where they are many.

use deepsade_check::Keeper;
use deepsade_engine::explain::{Possible, audit, possible, says_nothing};
use deepsade_spec::{Formula, NormalSpec, print};

use super::html::{Html, escape, number};
use super::proof::ProofStatus;

/// Formulas longer than this are shown cut.
const MOST_LETTERS: usize = 1500;
/// With more rules they stand in a table.
const MOST_CARDS: usize = 12;

/// What the rules say.
pub(crate) fn rules(html: &mut Html, spec: Option<&NormalSpec>, proof: &ProofStatus) {
    html.section("rules", "What the rules say");
    let Some(spec) = spec.filter(|s| !s.is_empty()) else {
        html.paragraph("The model carries no rules.");
        return;
    };
    if spec.rules.is_empty() {
        html.paragraph("All rules compare two inputs: they follow below.");
    }
    if spec.rules.len() > MOST_CARDS {
        table(html, spec, proof);
    } else {
        cards(html, spec, proof);
    }
    let audit = audit(spec);
    // What is chosen among valid sets is not bound by it.
    if audit.constant_only && proof.accepted().is_none_or(|a| a.kept_by == Keeper::Weights) {
        html.paragraph(&audit.words);
    }
}

/// What is known of a rule.
fn status(proof: &ProofStatus, name: &str) -> &'static str {
    match proof.accepted() {
        Some(a) if a.rules.iter().all(|r| r.name != name) => "Not proved.",
        Some(_) if proof.proved() => "Proved for every input of the domain.",
        Some(_) => "Proved for every input of the domain in exact real arithmetic, not in float32.",
        None => "Not proved.",
    }
}

/// The smallest distance to a violation; nothing where there is none to tell.
fn margin(proof: &ProofStatus, name: &str) -> Option<String> {
    let accepted = proof.accepted().filter(|a| a.kept_by == Keeper::Weights)?;
    let rule = accepted.rules.iter().find(|r| r.name == name)?;
    rule.margin.is_finite().then(|| number(rule.margin))
}

fn normal(claim: &Formula, spec: &NormalSpec) -> String {
    let mut normal = print::formula(claim, &spec.schema);
    if let Some((end, _)) = normal.char_indices().nth(MOST_LETTERS) {
        normal.truncate(end);
        normal.push_str(" …");
    }
    normal
}

fn cards(html: &mut Html, spec: &NormalSpec, proof: &ProofStatus) {
    for rule in &spec.rules {
        let can = match possible(&[rule], &spec.schema) {
            _ if says_nothing(&rule.claim, &spec.schema) => {
                "On this domain it holds whatever is predicted. Are its numbers in the units of the data?"
            }
            Possible::Always => "For every input of the domain there is an output that obeys it.",
            Possible::Not(_) => "It can't be obeyed for every input of the domain.",
            Possible::Unknown => "Whether it can be obeyed everywhere was not decided.",
        };
        let far = margin(proof, &rule.name).map(|m| format!(" Margin: {m}, in the units of the rule.")).unwrap_or_default();
        html.raw(&format!(
            "<div class=\"statement\"><h3>{}</h3><pre>{}</pre><p><small>In normal form, for every input:</small> <code>{}</code></p><p>{}{far} {}</p></div>\n",
            escape(&rule.name),
            escape(&rule.text),
            escape(&normal(&rule.claim, spec)),
            status(proof, &rule.name),
            escape(can)
        ));
    }
}

fn table(html: &mut Html, spec: &NormalSpec, proof: &ProofStatus) {
    html.raw(&format!(
        "<p class=\"tools\"><label for=\"rule-filter\">Find a rule</label><input type=\"search\" id=\"rule-filter\" autocomplete=\"off\">\
         <span id=\"rule-count\" role=\"status\">{} rules</span></p>\n<div class=\"scroll tall\"><table id=\"rule-table\"><thead><tr>\
         <th scope=\"col\">rule</th><th scope=\"col\">what it says</th><th scope=\"col\">proof</th><th scope=\"col\" class=\"n\">margin</th>\
         </tr></thead><tbody>\n",
        spec.rules.len()
    ));
    for rule in &spec.rules {
        let far = margin(proof, &rule.name).unwrap_or_else(|| "–".into());
        html.raw(&format!(
            "<tr><td>{}</td><td><code>{}</code><details><summary>normal form</summary><code>{}</code></details></td><td>{}</td><td class=\"n\">{far}</td></tr>\n",
            escape(&rule.name),
            escape(&rule.text),
            escape(&normal(&rule.claim, spec)),
            status(proof, &rule.name)
        ));
    }
    html.raw("</tbody></table></div>\n");
}
