//! What a run says of itself enters; the parts of its page that somebody signs leave: facts, known limits, room for names.

use deepsade_check::Keeper;
use deepsade_spec::Schema;
use serde_json::Value;

use super::html::{Html, escape, number};
use super::proof::ProofStatus;
use super::run::RunFolder;

/// Test rows from which on intervals are narrow enough not to be mentioned, and the same of a segment.
const FEW_ROWS: u64 = 200;
const FEW_OF_SEGMENT: u64 = 30;

/// Title, version and owner, as `[report]` states them.
pub(crate) struct Named<'a> {
    pub(crate) title: &'a str,
    pub(crate) version: Option<&'a str>,
    pub(crate) owner: Option<&'a str>,
}

impl<'a> Named<'a> {
    pub(crate) fn of(run: &'a RunFolder) -> Self {
        let said = |name: &str| {
            let text = run.summary.as_ref().and_then(|s| s["report"][name].as_str());
            text.filter(|text| !text.trim().is_empty())
        };
        Self { title: said("title").unwrap_or(&run.name), version: said("version"), owner: said("owner") }
    }
}

/// A list of what is what.
fn list(html: &mut Html, facts: &[(&str, String)]) {
    html.raw("<dl class=\"facts\">\n");
    for (name, text) in facts.iter().filter(|(_, text)| !text.is_empty()) {
        html.raw(&format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), super::html::marked(text)));
    }
    html.raw("</dl>\n");
}

/// What the model is, on what it was trained, by which program.
pub(crate) fn facts(html: &mut Html, run: &RunFolder) {
    html.section("facts", "The model");
    let none = Value::Null;
    let said = run.summary.as_ref().unwrap_or(&none);
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let named = Named::of(run);
    let task = &run.schema.task;
    let split = &said["split"];
    let part = |name: &str| split[name].as_u64().map(|n| format!("{n} {name}"));
    let parts: Vec<String> = ["train", "validation", "test"].iter().filter_map(|name| part(name)).collect();
    let data = match (said["data"]["file"].as_str(), said["data"]["rows"].as_u64()) {
        (Some(file), Some(rows)) => format!("{}, {rows} rows used", file.replace('`', "'")),
        _ => String::new(),
    };
    let seed = said["seed"].as_u64().map(|s| format!(" (seed {s})")).unwrap_or_default();
    let weights = said["weighted_by"]
        .as_str()
        .map(|column| format!("rows count as '{}' says, in training and in all scores", column.replace('`', "'")));
    let weights = weights.unwrap_or_default();
    let filled =
        run.schema.filled.iter().map(|f| format!("{} as {}", f.feature, f.with)).collect::<Vec<_>>().join(", ").replace('`', "'");
    let filled = if filled.is_empty() {
        filled
    } else {
        format!("read by the model itself, and the rules hold for what is read: {filled}")
    };
    let hash = |v: &str| if v.is_empty() { String::new() } else { format!("`{}`", v.replace('`', "'")) };
    list(
        html,
        &[
            ("Title", named.title.replace('`', "'")),
            ("Version", named.version.unwrap_or_default().replace('`', "'")),
            ("Owner", named.owner.unwrap_or_default().replace('`', "'")),
            ("Date of training", text(&said["date"])),
            ("Task", task.in_words().replace('`', "'")),
            ("Decision", cutoff(run, said)),
            ("Inputs", format!("{} features; the domain is below", run.schema.features.len())),
            ("Data", data),
            ("SHA-256 of the data", hash(said["data"]["sha256"].as_str().unwrap_or_default())),
            (
                "Split",
                if parts.is_empty() {
                    String::new()
                } else {
                    format!("{} rows, {}{seed}", parts.join(", "), dealt(&split["by"]))
                },
            ),
            ("Weights", weights),
            ("Class weights", class_weights(&said["class_weight"])),
            ("Missing values", filled),
            ("SHA-256 of the model", hash(&run.sha256)),
            ("Rules kept by", kept_by(&run.proof).into()),
            ("Cost of the guarantee", cost(&said["cost"])),
            ("Trained by", said["program"].as_str().map(|p| format!("deepsade {p}")).unwrap_or_default()),
        ],
    );
    if run.summary.is_none() {
        html.paragraph(
            "The folder has no summary.json of this model, which says when and on what it was trained; `deepsade train` writes it.",
        );
    }
}

/// How rows were dealt out.
fn dealt(by: &Value) -> String {
    let name = |key: &str| by[key].as_str().map(|name| name.replace('`', "'"));
    let [column, order, file] = ["column", "order", "file"].map(name);
    let column = column.map(|c| format!("as the column '{c}' says"));
    let order = order.map(|c| format!("in the order of '{c}', the last ones to test"));
    column.or(order).or(file.map(|f| format!("as {f} says"))).unwrap_or("drawn at random".into())
}

/// What the classes count in training.
fn class_weights(said: &Value) -> String {
    let each = |(class, weight): (&String, &Value)| format!("{} {weight}", class.replace('`', "'"));
    match (said.as_str(), said.as_object()) {
        (Some(_), _) => "balanced: all classes count alike in training, and rows as they are in all scores".into(),
        (_, Some(stated)) => {
            format!(
                "{} in training, others 1, and rows as they are in all scores",
                stated.iter().map(each).collect::<Vec<_>>().join(", ")
            )
        }
        _ => String::new(),
    }
}

fn cutoff(run: &RunFolder, said: &Value) -> String {
    match (run.schema.task.classes(), said["cutoff"].as_f64()) {
        (Some([_, second]), Some(cutoff)) => {
            format!("{} where its probability is above {cutoff}; the rules are about this decision", second.replace('`', "'"))
        }
        _ => String::new(),
    }
}

/// What keeps the rules, as far as it is proved.
fn kept_by(proof: &ProofStatus) -> &'static str {
    match proof.accepted().map(|a| a.kept_by) {
        Some(Keeper::Weights) => "the weights of the network",
        Some(Keeper::Step) => "an output step in the graph",
        Some(Keeper::Clips) => "the signs of the weights, and bounds to which the graph clips its outputs",
        Some(Keeper::Choice) => "a choice in the graph among what obeys",
        None => "",
    }
}

/// What the guarantee costs, in a line.
fn cost(cost: &Value) -> String {
    let (Some(metric), Some(rows)) = (cost["metric"].as_str(), cost["rows"].as_u64()) else { return String::new() };
    let score = |name: &str| cost[name].as_f64().map_or_else(|| "–".into(), number);
    format!(
        "{metric} {} with it, {} without (test rows whose label obeys); without it {} of {rows} test predictions break a rule",
        score("enforced"),
        score("free"),
        cost["free_breaking"].as_u64().unwrap_or_default()
    )
}

/// What the model must not be taken for.
pub(crate) fn limits(html: &mut Html, run: &RunFolder, proof: &ProofStatus) {
    html.section("limits", "Known limits");
    let none = Value::Null;
    let said = run.summary.as_ref().unwrap_or(&none);
    let mut all: Vec<String> = Vec::new();
    all.push(if proof.accepted().is_some() {
        "The rules are proved for inputs of the domain, and for no others: `deepsade predict` marks rows outside it, and `--strict` refuses \
         them."
            .into()
    } else {
        "No rule is proved: predictions may break any of them.".into()
    });
    if proof.accepted().is_some() {
        all.push(
            "A rule is proved as it is written. Whether it says what was meant, and whether the rules say enough, is for people to judge."
                .into(),
        );
        all.push(
            "The proof is about the file whose hash stands above, run by a program that executes its operators as written, in float32.".into(),
        );
    }
    let test = &said["scores"]["test"];
    if let Some(rows) = test["rows"].as_u64() {
        let few = if rows < FEW_ROWS { " They are few: look at the intervals." } else { "" };
        let others = match said["split"]["by"]["order"].as_str() {
            Some(column) => format!(
                "later by '{}' than the training rows, and from the same source: they say nothing about other populations",
                column.replace('`', "'")
            ),
            None => "from the same source as the training rows: they say nothing about other times or populations".into(),
        };
        all.push(format!("Scores are of {rows} test rows {others}.{few}"));
    }
    if let (Some(breaking), Some(rows)) =
        (said["split"]["rows_breaking_rules"].as_u64().filter(|n| *n > 0), said["data"]["rows"].as_u64())
    {
        all.push(format!(
            "{breaking} of {rows} rows of the data break a rule in their own label: there the model contradicts the data."
        ));
    }
    let small = |s: &Value| {
        let parts = s["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        parts.iter().filter(|p| p["rows"].as_u64().is_some_and(|n| n < FEW_OF_SEGMENT)).count()
    };
    match test["segments"].as_array().map_or(0, |all| all.iter().map(small).sum::<usize>()) {
        0 => {}
        n => all.push(format!("{n} parts of segments have fewer than {FEW_OF_SEGMENT} test rows: their rates are rough.")),
    }
    let texts = |v: &Value| -> Vec<String> {
        let list = v.as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(|t| t.as_str().map(|t| t.replace('`', "'"))).collect()
    };
    all.extend(texts(&said["warnings"]));
    all.extend(texts(&said["report"]["limits"]));
    html.raw("<ul>\n");
    all.iter().for_each(|text| html.raw(&format!("<li>{}</li>\n", super::html::marked(text))));
    html.raw("</ul>\n");
}

/// Room for names.
pub(crate) fn signatures(html: &mut Html, schema: &Schema) {
    html.section("signatures", "Signatures");
    html.paragraph(&format!(
        "For the use of this model to predict {} within the domain and the limits above.",
        schema.task.target_columns().join(", ").replace('`', "'")
    ));
    html.raw(
        "<table class=\"sign\"><thead><tr><th scope=\"col\">role</th><th scope=\"col\">name</th><th scope=\"col\">date</th>\
         <th scope=\"col\">signature</th></tr></thead><tbody>\n",
    );
    for role in ["Developed by", "Validated by", "Approved by"] {
        html.raw(&format!("<tr><th scope=\"row\">{role}</th><td></td><td></td><td></td></tr>\n"));
    }
    html.raw("</tbody></table>\n");
}
