//! The checker's verdict enters; what it says leaves, in words and as JSON.

use deepsade_check::{
    Accepted, Arithmetic, InputPart, Keeper, PairProvedBy, ProvedPair, ProvedRule, Rejected, Step, Verdict, Why,
};
use deepsade_spec::{NormalRule, NormalSpec, PairRule, Schema, Task, print, shown};
use serde_json::{Value, json};

use crate::vacuous::{Vacuous, says_nothing, vacuous, vacuous_pair};

/// Where outputs are made to obey, if that is behind the network.
pub const IN_GRAPH: &str = "in-graph";

/// A proof for exact real arithmetic says nothing about float32: as deployed it is rejected, unless `real` numbers are enough.
pub fn as_deployed(verdict: Verdict, real: bool) -> Verdict {
    match verdict {
        Verdict::Accepted(a) if a.arithmetic != Arithmetic::Float32 && !real => {
            Verdict::Rejected(Rejected { at: Step::Input(InputPart::Arithmetic), why: Why::OnlyReal })
        }
        verdict => verdict,
    }
}

/// What was proved, if it was.
pub fn accepted(verdict: &Verdict) -> Option<&Accepted> {
    match verdict {
        Verdict::Accepted(accepted) => Some(accepted),
        Verdict::Rejected(_) => None,
    }
}

/// So many rules hold.
pub fn rules_hold(n: usize) -> String {
    if n == 1 { "1 rule holds".into() } else { format!("{n} rules hold") }
}

/// How many rules hold, and how many of them only up to rounding.
pub fn all_hold(a: &Accepted) -> String {
    let hold = rules_hold(a.rules.len() + a.pairs.len());
    match a.pairs.iter().filter(|pair| pair.tolerance > 0.0).count() {
        0 => hold,
        n => format!("{hold} ({n} of them up to the tolerance that is stated with it)"),
    }
}

/// The verdict in a line.
pub fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted(a) => {
            let (hold, model) = (all_hold(a), &a.model_sha256[..12]);
            let choice = "and rules that mention no feature for every other input, too";
            match a.kept_by {
                Keeper::Weights => format!(
                    "certificate accepted: {hold} for every input of the domain in {} (model {model}...)",
                    a.arithmetic.name()
                ),
                Keeper::Step => format!(
                    "certificate accepted: {hold}{} for every input of the domain in {}: the output step in the graph gives \
                     no other outputs (model {model}...)",
                    whole_in_words(&a.spec.schema.shown().task),
                    a.arithmetic.name()
                ),
                Keeper::Clips => format!(
                    "certificate accepted: {hold} for every input of the domain in {}: the graph clips its outputs to bounds that \
                     keep them (model {model}...)",
                    a.arithmetic.name()
                ),
                Keeper::Choice => format!(
                    "certificate accepted: {hold} for every input of the domain, {choice}: the graph chooses among outputs that obey \
                     (model {model}...)"
                ),
            }
        }
        // Both may quote what a hostile file says: on this line, and no further.
        Verdict::Rejected(Rejected { at, why }) => {
            let (step, reason) = (at.to_string(), why.to_string());
            let (step, reason) = (shown::abridged(&step, 200), shown::abridged(&reason, 600));
            format!("certificate REJECTED at {}: {}", shown::name(&step), shown::name(&reason))
        }
    }
}

/// The targets that are whole numbers, behind the rules that hold.
fn whole_in_words(task: &Task) -> String {
    match task {
        Task::Regression { whole, .. } if !whole.is_empty() => {
            format!(", and predictions of {} are whole numbers,", shown::abridged(&whole.join(", "), 200))
        }
        _ => String::new(),
    }
}

/// The verdict as JSON.
pub fn as_json(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Accepted(a) => json!({
            "verdict": "accepted",
            "model_sha256": a.model_sha256,
            "rules_sha256": a.rules_sha256,
            "arithmetic": a.arithmetic.name(),
            "decode": (a.kept_by != Keeper::Weights).then_some(IN_GRAPH),
            "task": a.spec.schema.task,
            "domain": a.spec.schema.features,
            "missing": a.spec.schema.filled,
            "rules": proved_rules_as_json(a),
        }),
        Verdict::Rejected(Rejected { at, why }) => {
            json!({"verdict": "rejected", "step": at.to_string(), "reason": why.to_string()})
        }
    }
}

/// What was proved of each rule.
pub fn proved_rules_as_json(a: &Accepted) -> Value {
    let spec = &a.spec;
    let one = |(done, rule): (&ProvedRule, &NormalRule)| {
        let mut out = rule_as_json(rule, &spec.schema);
        out["regions"] = json!(done.regions);
        out["cells"] = json!(done.cells);
        out["margin"] = json!(done.margin);
        out
    };
    let two = |(done, rule): (&ProvedPair, &PairRule)| pair_as_json(done, rule, spec);
    a.rules.iter().zip(&spec.rules).map(one).chain(a.pairs.iter().zip(&spec.pairs).map(two)).collect()
}

/// What a rule says.
fn rule_as_json(rule: &NormalRule, schema: &Schema) -> Value {
    json!({
        "name": rule.name, "text": rule.text, "normal": print::formula(&rule.claim, schema), "vacuous": says_nothing(&rule.claim, schema),
    })
}

/// A rule between two inputs that was proved.
fn pair_as_json(done: &ProvedPair, rule: &PairRule, spec: &NormalSpec) -> Value {
    json!({
        "name": rule.name, "text": rule.text, "normal": print::pair_rule(rule, &spec.schema), "vacuous": vacuous_pair(rule, spec).is_some(),
        "proved_by": done.by.name(), "regions": done.regions, "tolerance": done.tolerance,
    })
}

/// How a rule between two inputs was proved, for people.
pub fn pair_effort(done: &ProvedPair) -> String {
    match done.by {
        PairProvedBy::Slopes if done.tolerance > 0.0 => format!(
            "by bounds of the slopes on {} regions, for exact numbers; in float32 up to {:e}, which rounding may cost",
            done.regions, done.tolerance
        ),
        PairProvedBy::Slopes => format!("by bounds of the slopes on {} regions, rounding included", done.regions),
        PairProvedBy::Unread => {
            "nothing in the file reads what may differ: a request in which it is changed gives the same outputs, bit for bit"
                .into()
        }
        PairProvedBy::Idle => "no two inputs can break it: by its condition, by what may move, or by the other rules".into(),
        PairProvedBy::Signs => {
            "by the signs of the weights, exactly, where both inputs are computed in the same order, as in one batch".into()
        }
    }
}

/// What exactly holds, for people: the task, the domain, and each rule as it was understood.
pub fn claim_in_words(a: &Accepted) -> String {
    let spec = &a.spec.shown();
    let of_rule = |done: &ProvedRule, rule: &NormalRule| {
        format!("rule '{}': {}\n  {}\n", rule.name, print::formula(&rule.claim, &spec.schema), effort(a, done))
    };
    let of_pair = |done: &ProvedPair, rule: &PairRule| {
        format!("rule '{}': {}\n  {}\n", rule.name, print::pair_rule(rule, &spec.schema), pair_effort(done))
    };
    let rules = rules_in_words(a, spec, &of_rule, &of_pair);
    format!("task: {}\n{}{rules}", spec.schema.task.in_words(), domain_in_words(spec))
}

/// The words for each proved rule, and below them if it says nothing.
pub(crate) fn rules_in_words(
    a: &Accepted,
    spec: &NormalSpec,
    of_rule: &dyn Fn(&ProvedRule, &NormalRule) -> String,
    of_pair: &dyn Fn(&ProvedPair, &PairRule) -> String,
) -> String {
    let below = |why: Option<Vacuous>| why.map(|why| format!("  {why}\n")).unwrap_or_default();
    let rules = a.rules.iter().zip(&spec.rules).map(|(done, rule)| of_rule(done, rule) + &below(vacuous(rule, &spec.schema)));
    let pairs = a.pairs.iter().zip(&spec.pairs).map(|(done, rule)| of_pair(done, rule) + &below(vacuous_pair(rule, spec)));
    rules.chain(pairs).collect()
}

fn effort(a: &Accepted, rule: &ProvedRule) -> String {
    match a.kept_by {
        Keeper::Choice => format!("{} cases of what can be chosen", rule.cells),
        Keeper::Step if rule.cells == 0 => "checked in the graph; the fallback obeys it by its constants".into(),
        Keeper::Step => format!(
            "checked in the graph; the fallback obeys it: {} regions, {} cells, margin {:e}",
            rule.regions, rule.cells, rule.margin
        ),
        Keeper::Clips => format!(
            "clipped in the graph; all between the bounds obey it: {} regions, {} cells, margin {:e}",
            rule.regions, rule.cells, rule.margin
        ),
        Keeper::Weights => format!("{} regions, {} cells, margin {:e}", rule.regions, rule.cells, rule.margin),
    }
}

/// Every feature's domain; of very many features only of those that a rule mentions.
fn domain_in_words(spec: &NormalSpec) -> String {
    const SHOWN: usize = 40;
    let features = &spec.schema.features;
    let mut out = format!("domain: {} features\n", features.len());
    let shown = |f: &usize| features.len() <= SHOWN || spec.skip.contains(f);
    let listed: Vec<usize> = (0..features.len()).filter(shown).take(SHOWN).collect();
    for f in &listed {
        out += &format!("  {}: {}\n", features[*f].name, features[*f].domain.in_words());
    }
    match features.len() - listed.len() {
        0 => {}
        more => out += &format!("  and {more} more; --json lists all\n"),
    }
    if let Some(words) = spec.schema.filling_in_words() {
        out += &format!("missing values (NaN) are read, in the graph too, and the rules hold for what is read: {words}\n");
    }
    out
}
