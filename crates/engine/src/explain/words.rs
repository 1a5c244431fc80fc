//! Rules enter, with or without rows; what they mean leaves, as plain data and in words.

use deepsade_solve::budget::Budget;
use deepsade_solve::satisfy::MAX_TERMS;
use deepsade_spec::{Domain, Formula, Kept, Moves, NamedValues, NormalSpec, Pair, PairRule, Rational, SingleBound, Var, print};
use serde::Serialize;
use serde_json::{Value, json};

use super::pairs::{self, PairCount};
use super::{
    Audit, Conflict, Conflicts, PairConflict, Possible, audit, binding, pair_conflict, possible_within, says_nothing,
    smallest_conflict, through_weights, vacuous_pair,
};
use crate::clauses::{CaseInWords, Clauses};
use crate::enforce::step::Usual;
use crate::enforce::{Decision, EnforcedBy, decide_by, step};
use crate::fit;
use crate::train::{Enforce, NetworkSettings, TrainSettings, UpdateName};

/// What `explain` says; the JSON fields are a contract.
#[derive(Debug, Serialize)]
pub struct Explanation {
    task: &'static str,
    rows: Option<usize>,
    rows_breaking: Option<usize>,
    rows_breaking_injected: Option<usize>,
    features: Vec<Value>,
    rules: Vec<RuleExplanation>,
    conflict: Option<ConflictExplanation>,
    /// True if it could not be decided whether the rules contradict each other.
    undecided: bool,
    /// Why no last layer keeps the rules, if none does: then they can't be enforced through the weights.
    weights: Option<String>,
    /// For rules about labels: what a network that keeps them through its weights will always predict.
    #[serde(skip_serializing_if = "Option::is_none")]
    clauses: Option<Vec<CaseInWords>>,
    /// What to look at twice.
    notes: Vec<String>,
    skip: Vec<String>,
    gate: Vec<String>,
    audit: AuditExplanation,
    enforce: EnforceExplanation,
}

#[derive(Debug, Serialize)]
struct RuleExplanation {
    name: String,
    text: String,
    normal: String,
    /// True if every input of the domain has outputs that obey it; null if that could not be decided.
    satisfiable: Option<bool>,
    /// True if the domain alone makes it true, whatever is predicted.
    vacuous: bool,
    rows_breaking: Option<usize>,
    /// For a rule between two inputs: what pairs of rows say of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<PairCount>,
    /// For such a rule: how it will be enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_by: Option<String>,
}

#[derive(Debug, Serialize)]
struct ConflictExplanation {
    rules: Vec<String>,
    witness: NamedValues,
    /// Of a rule between two inputs the other one.
    #[serde(skip_serializing_if = "Option::is_none")]
    second: Option<NamedValues>,
    /// True if real numbers would obey, but none that is an output: a float32 number, or a whole one.
    by_rounding: bool,
}

#[derive(Debug, Serialize)]
struct EnforceExplanation {
    /// `"weights"`, `"decode"`, `"none"`; null where the settings ask for what is not possible.
    means: Option<Enforce>,
    why: String,
    /// Nodes of the decision diagram, if rules are decoded by one.
    nodes: Option<usize>,
    /// Valid label sets, if there are few and the same for every input: then the ONNX graph itself chooses.
    table: Option<usize>,
    /// How candidates for the output step are made.
    made: Option<String>,
}

#[derive(Debug, Serialize)]
struct AuditExplanation {
    components: Option<u64>,
    constant_only: bool,
    words: String,
}

/// Explains rules, and what the labels of the rows say about them.
///
/// ```
/// use deepsade_engine::explain::{explain, words::in_words};
/// use deepsade_engine::train::{NetworkSettings, TrainSettings};
/// use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};
///
/// let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } };
/// let schema = Schema { features: vec![feature("income")], task: Task::regression(vec!["rent".into()]), one_hot: OneHot::Full, filled: vec![] };
/// let rule = |name: &str, text: &str| RuleText { name: name.into(), text: text.into() };
/// let spec = compile(&[rule("little", "rent <= 1"), rule("much", "income > 5 => rent >= 2")], &schema).unwrap();
/// let explanation = explain(&spec, None, &NetworkSettings::default(), &TrainSettings::default());
/// assert!(explanation.contradictory(), "{}", in_words(&explanation, &spec));
/// ```
pub fn explain(spec: &NormalSpec, rows: Option<&fit::Rows>, network: &NetworkSettings, settings: &TrainSettings) -> Explanation {
    let name = |f: &usize| spec.schema.features[*f].name.clone();
    let conflicts = smallest_conflict(spec);
    let budget = Budget::new(3 * MAX_TERMS);
    let alone = |r: &deepsade_spec::NormalRule| match &conflicts {
        // What obeys all obeys each.
        Conflicts::None => Some(true),
        Conflicts::Found(_) if spec.rules.len() == 1 => Some(false),
        Conflicts::Unknown if spec.rules.len() == 1 => None,
        // One rule that is too hard takes its part of what there is for all of them.
        _ => {
            let own = Budget::new(MAX_TERMS.min(budget.left()));
            let before = own.left();
            let found = possible_within(&[r], &spec.schema, &own);
            budget.spend(before - own.left());
            match found {
                Possible::Always => Some(true),
                Possible::Not(_) => Some(false),
                Possible::Unknown => None,
            }
        }
    };
    let rule = |(k, r): (usize, &deepsade_spec::NormalRule)| RuleExplanation {
        name: r.name.clone(),
        text: r.text.clone(),
        normal: print::formula(&r.claim, &spec.schema),
        satisfiable: alone(r),
        vacuous: says_nothing(&r.claim, &spec.schema),
        rows_breaking: rows.and_then(|rows| rows.breaking_shipped[k]),
        pairs: None,
        kept_by: None,
    };
    let counts = rows.map_or_else(|| vec![None; spec.pairs.len()], |rows| pairs::count(spec, &rows.all));
    let pair = |(r, pairs): (&PairRule, Option<PairCount>)| RuleExplanation {
        name: r.name.clone(),
        text: r.text.clone(),
        normal: print::pair_rule(r, &spec.schema),
        // A constant prediction obeys it.
        satisfiable: Some(true),
        vacuous: vacuous_pair(r, spec).is_some(),
        rows_breaking: None,
        pairs,
        kept_by: Some(kept_by(r)).filter(|_| binding(spec).pairs.iter().any(|bound| bound.name == r.name)),
    };
    let found = audit(spec);
    let conflict = match &conflicts {
        Conflicts::Found(found) => Some(conflict(spec, found)),
        Conflicts::None | Conflicts::Unknown => between_two(spec),
    };
    let usual = rows.map_or_else(|| Usual::unknown(spec), |rows| Usual::of(&rows.all.y.select(&rows.split.train)));
    let mut enforce = enforce(spec, settings, &found, &usual);
    let Audit { components, constant_only, words } = found;
    let by_weights = conflict.is_none() && enforce.means == Some(Enforce::Weights);
    let unable = || match step::torn(spec) {
        Some(why) => Some(why.to_string()),
        None => through_weights(spec, network, settings.tightness()).err().map(|e| e.to_string()),
    };
    let weights = by_weights.then(unable).flatten();
    let at_stake =
        rows.filter(|_| by_weights).map(|rows| super::at_stake(spec, &rows.all, &rows.split.train)).unwrap_or_default();
    let of_rows = |rows: &fit::Rows| Clauses::new(spec, &rows.all, &rows.split.train);
    let clauses = rows.filter(|_| conflict.is_none()).and_then(of_rows).map(|clauses| clauses.in_words(spec));
    let chosen = settings.enforce == Enforce::Auto && settings.update != UpdateName::Paper;
    if weights.is_some() && chosen && size(spec) <= MOST_ATOMS {
        enforce.step_alone(spec, &usual);
    }
    let of_data = rows.map(|rows| rows.notes.clone()).unwrap_or_default().into_iter();
    let after = |rows: &fit::Rows| rows.breaking.iter().filter(|b| **b).count();
    Explanation {
        task: spec.schema.task.kind(),
        rows: rows.map(|r| r.breaking.len()),
        rows_breaking: rows.map(|r| r.any_breaking_shipped),
        rows_breaking_injected: rows.filter(|r| after(r) != r.any_breaking_shipped).map(after),
        features: spec.schema.features.iter().map(feature).collect(),
        rules: spec.rules.iter().enumerate().map(rule).chain(spec.pairs.iter().zip(counts).map(pair)).collect(),
        conflict,
        undecided: conflicts == Conflicts::Unknown,
        weights,
        clauses,
        notes: of_data.chain(notes(spec)).chain(at_stake).collect(),
        skip: spec.skip.iter().map(name).collect(),
        gate: spec.gate.iter().map(name).collect(),
        audit: AuditExplanation { components: components.map(|c| u64::try_from(c).unwrap_or(u64::MAX)), constant_only, words },
        enforce,
    }
}

fn enforce(spec: &NormalSpec, settings: &TrainSettings, audit: &Audit, usual: &Usual) -> EnforceExplanation {
    match decide_by(spec, settings, &|| audit.clone()) {
        Ok(Decision { means, why }) => {
            let decoder = if let EnforcedBy::Decode(decoder) = &means { Some(decoder) } else { None };
            let table = decoder.and_then(|d| d.table()).map(|t| t.rows);
            let stepped = matches!(means, EnforcedBy::Decode(_) | EnforcedBy::Nearest | EnforcedBy::Behind);
            let clipped = matches!(means, EnforcedBy::Clips).then(|| match step::clip::clips(spec, None) {
                Ok(_) => step::clip::HOW.to_string(),
                Err(why) => format!("which is not possible: {why}"),
            });
            let made = stepped.then(|| step::in_words(spec, usual)).or(clipped);
            EnforceExplanation { means: Some(means.setting()), why, nodes: decoder.and_then(|d| d.nodes()), table, made }
        }
        Err(error) => EnforceExplanation { means: None, why: error.to_string(), nodes: None, table: None, made: None },
    }
}

/// Rules with more atoms are not tried behind a network just to be explained.
const MOST_ATOMS: usize = 64;

fn size(spec: &NormalSpec) -> usize {
    let mut atoms = 0;
    spec.rules.iter().for_each(|rule| rule.claim.atoms(&mut |_| atoms += 1));
    atoms
}

impl EnforceExplanation {
    /// Where no weights keep the rules: whether the output step does.
    fn step_alone(&mut self, spec: &NormalSpec, usual: &Usual) {
        let made = if binding(spec).pairs.is_empty() {
            step::made(spec, usual).map_err(|why| why.to_string())
        } else {
            step::clip::clips(spec, None).map(|_| step::clip::HOW.into()).map_err(|why| why.to_string())
        };
        match made {
            Ok(made) => {
                (self.means, self.made) = (Some(Enforce::Decode), Some(made));
                self.why = "no weights of a last layer keep the rules".into();
            }
            Err(why) => {
                self.means = None;
                self.why = format!("neither weights nor an output step keep the rules: {why}");
            }
        }
    }
}

/// Its name beside what its domain is.
fn feature(f: &deepsade_spec::Feature) -> Value {
    let mut out = json!(f.domain);
    out["name"] = json!(f.name);
    out
}

/// Thresholds on inputs that float32 does not have: what a person reads there and what the network sees differ.
fn notes(spec: &NormalSpec) -> Vec<String> {
    let mut notes = Vec::new();
    for rule in &spec.rules {
        rule.claim.atoms(&mut |atom| {
            if let Some(SingleBound { var: Var::Feature(f), end, .. }) = atom.single_bound() {
                let near = end.to_f32().value();
                // No whole or stepped input lies there.
                let real = matches!(spec.schema.features[f].domain, Domain::Real { .. });
                if real && Rational::try_from(near).is_ok_and(|v| v != end) {
                    notes.push(format!(
                        "rule '{}': {} is not a float32 value; an input {} = {} enters the network as {near:.10}",
                        rule.name,
                        print::number(&end),
                        spec.schema.features[f].name,
                        print::number(&end)
                    ));
                }
            }
        });
    }
    notes.dedup();
    notes
}

/// The conflict in the names of the problem.
fn conflict(spec: &NormalSpec, conflict: &Conflict) -> ConflictExplanation {
    let witness = NamedValues::of_point(&spec.schema, &conflict.witness);
    let rules = conflict.rules.iter().map(|k| spec.rules[*k].name.clone()).collect();
    ConflictExplanation { rules, witness, second: None, by_rounding: conflict.by_rounding(spec) }
}

/// One of a rule between two inputs, if there is one.
fn between_two(spec: &NormalSpec) -> Option<ConflictExplanation> {
    let PairConflict { pair, rules, witness } = pair_conflict(spec)?;
    let [first, second] = witness.map(|point| NamedValues::of_point(&spec.schema, &point));
    let rules = rules.iter().map(|k| spec.rules[*k].name.clone()).chain([spec.pairs[pair].name.clone()]).collect();
    Some(ConflictExplanation { rules, witness: first, second: Some(second), by_rounding: false })
}

/// One sentence about contradictory rules.
pub fn conflict_in_words(spec: &NormalSpec) -> Option<String> {
    let found = match smallest_conflict(spec) {
        Conflicts::Found(found) => Some(conflict(spec, &found)),
        Conflicts::None | Conflicts::Unknown => between_two(spec),
    };
    found.as_ref().map(words)
}

fn words(found: &ConflictExplanation) -> String {
    let place = found.witness.place();
    let why = if found.by_rounding {
        ": real numbers would obey, but no float32 number, or no whole one where outputs are whole; leave room for rounding, as in \
         `abs(y - 0.1) <= 0.0001`"
    } else {
        ""
    };
    let place =
        found.second.as_ref().map_or(place.clone(), |other| format!("by two inputs, one {place}, the other {}", other.place()));
    match found.rules.as_slice() {
        [one] => format!("rule '{one}' can't be obeyed {place}{why}"),
        several => format!("rules '{}' can't be obeyed together {place}{why}", several.join("', '")),
    }
}

impl Explanation {
    /// Whether the rules contradict each other.
    pub fn contradictory(&self) -> bool {
        self.conflict.is_some()
    }

    /// Whether something could not be decided within the budget.
    pub fn undecided(&self) -> bool {
        self.undecided || self.rules.iter().any(|r| r.satisfiable.is_none())
    }
}

/// An explanation for people.
pub fn in_words(e: &Explanation, spec: &NormalSpec) -> String {
    let mut out = vec![format!("Task: {}, {} outputs", e.task, spec.schema.task.outputs())];
    if let (Some(rows), Some(breaking)) = (e.rows, e.rows_breaking) {
        let injected = e.rows_breaking_injected.map(|n| format!(" ({n} after inject_violations)")).unwrap_or_default();
        out.push(format!("Data: {rows} rows, {breaking} of which break a rule{injected}"));
    }
    out.push(format!("\nDomain, {} features:", spec.schema.features.len()));
    out.extend(domain_lines(spec));
    out.push(format!("\nRules, {}:", e.rules.len()));
    for r in &e.rules {
        out.push(format!("  {}: {}", r.name, r.text));
        out.push(format!("    normal form: {}", shortened(&r.normal)));
        if let Some(how) = &r.kept_by {
            out.push(format!("    {how}{}", r.pairs.as_ref().map(counted).unwrap_or_default()));
            out.extend(
                r.vacuous.then(|| "    it holds on this domain whatever is predicted: no pair of inputs can break it".into()),
            );
            continue;
        }
        let can = match r.satisfiable {
            Some(true) if r.vacuous => "it holds on this domain whatever is predicted: are its numbers in the units of the data?",
            Some(true) => "for every input of the domain some output obeys it",
            Some(false) => "it CAN'T be obeyed for every input of the domain",
            None => "whether it can be obeyed everywhere was not decided within the budget",
        };
        let rows = r.rows_breaking.map(|n| format!("; {n} data rows break it")).unwrap_or_default();
        out.push(format!("    {can}{rows}"));
    }
    if e.rules.is_empty() {
        out.push("  none".into());
    }
    out.push(String::new());
    match &e.conflict {
        Some(found) => out.push(format!("Conflict: {}.", words(found))),
        None if e.undecided => out.push("Conflicts: not decided within the budget.".into()),
        None => out.push("Conflicts: none.".into()),
    }
    if let Some(why) = &e.weights {
        out.push(format!("Through the weights they can't be enforced: {why}."));
    }
    for case in e.clauses.iter().flatten() {
        out.push(format!("{}.", case.sentence()));
    }
    out.extend(e.notes.iter().map(|note| format!("Note: {note}.")));
    let list = |names: &[String]| if names.is_empty() { "none".to_string() } else { names.join(", ") };
    out.push(format!("Features that reach the last layer: {}", list(&e.skip)));
    out.push(format!("Gate candidates (rules scale with them): {}", list(&e.gate)));
    let components = e.audit.components.map_or("not counted".to_string(), |n| n.to_string());
    out.push(format!(
        "Degeneracy audit: components {components}, constant only: {}",
        if e.audit.constant_only { "yes" } else { "no" }
    ));
    out.push(format!("  {}", e.audit.words));
    let how = e.enforce.made.as_ref().map(|made| format!(" ({made}, in the ONNX graph)")).unwrap_or_default();
    out.push(format!("Enforced by: {}{how}, because {}.", e.enforce.means.map_or("nothing", Enforce::name), e.enforce.why));
    out.join("\n") + "\n"
}

/// How a rule between two inputs is enforced.
fn kept_by(rule: &PairRule) -> String {
    let outputs = |part: &Pair| matches!(&part.kept, Kept::Number { linear, .. } if linear.terms.len() > 1);
    let several = rule.parts.iter().any(|part| part.moves == Moves::Up && outputs(part));
    let more = if several {
        "; of each output by itself, which is more than the rule asks: where the outputs move together in the data it may cost much"
    } else {
        ""
    };
    format!("{}{more}", kept_in_general(rule))
}

fn kept_in_general(rule: &PairRule) -> &'static str {
    let bounded = rule.parts.iter().any(|part| matches!(part.moves, Moves::By(_)));
    let conditional = rule.parts.iter().any(|part| part.condition != Formula::True);
    if !conditional && rule.parts.iter().all(|part| part.moves == Moves::Any) {
        return "kept by the signs of the weights, exactly, or, where no other rule asks about its features, by a file that does not read them";
    }
    match (bounded, conditional) {
        (true, _) => "kept by the size of the weights, on the whole domain",
        (_, false) => "kept by the signs of the weights, exactly",
        (_, true) => "kept by the signs of the weights, exactly, and on the whole domain: also where its condition does not hold",
    }
}

/// What pairs of rows say of a rule.
fn counted(count: &PairCount) -> String {
    let mut out = match count.neighbours {
        0 => "; no two data rows are equal but for its features".into(),
        n => format!("; of {n} pairs of data rows that are equal but for its features {} contradict it", count.contradicting),
    };
    if let Some(share) = count.discordant {
        out += &format!("; of pairs of any rows {:.1} % do", 100.0 * share);
    }
    out
}

/// Neighbouring features with the same domain share a line once there are many.
fn domain_lines(spec: &NormalSpec) -> Vec<String> {
    let features = &spec.schema.features;
    let domain = |d: &Domain| match d {
        Domain::Real { lo, hi } => format!("real from {lo} to {hi}"),
        Domain::Integer { lo, hi } => format!("whole from {lo} to {hi}"),
        Domain::Stepped { .. } | Domain::Ordered { .. } => d.in_words(),
        Domain::Category { levels } if levels.len() > 12 => format!("{} levels: {}, ...", levels.len(), levels[..12].join(", ")),
        Domain::Category { levels } => format!("one of {}", levels.join(", ")),
    };
    let mut lines = Vec::new();
    let mut at = 0;
    while at < features.len() {
        let same = features[at..].iter().take_while(|f| f.domain == features[at].domain).count();
        let (name, shown) = (&features[at].name, domain(&features[at].domain));
        if features.len() > 20 && same > 2 {
            lines.push(format!("  {name} ... {} ({same} features): {shown}", features[at + same - 1].name));
            at += same;
        } else {
            lines.push(format!("  {name}: {shown}"));
            at += 1;
        }
    }
    lines
}

fn shortened(text: &str) -> String {
    const MOST: usize = 300;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} ... (all of it: --json)", &text[..end]),
        None => text.into(),
    }
}
