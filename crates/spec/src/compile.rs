//! Rule texts and a schema enter, the normal form leaves, or every rule's error.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::elaborate::{Claimed, elaborate};
use crate::error::{Fault, RuleError};
use crate::normalize::{NormalSpec, normalize};
use crate::parse::parse;
use crate::schema::Schema;
use crate::typed::{TypedPairRule, TypedRule, TypedSpec};

/// One `[[rule]]` of a rule file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleText {
    /// What messages, reports and certificates call it.
    pub name: String,
    /// The rule itself.
    pub text: String,
}

/// Metadata key of the rules in a model's file: a JSON list of name, text and normal form.
pub const RULES_KEY: &str = "deepsade.rules";

/// The rules that a model's file carries under [`RULES_KEY`].
pub fn carried(text: &str, schema: &Schema) -> Result<NormalSpec, String> {
    #[derive(Deserialize)]
    struct Entry {
        name: String,
        text: String,
    }
    let entries: Vec<Entry> = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let rules: Vec<RuleText> = entries.into_iter().map(|Entry { name, text }| RuleText { name, text }).collect();
    compile(&rules, schema).map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// Types every rule against the schema.
pub fn check_types(rules: &[RuleText], schema: &Schema) -> Result<TypedSpec, Vec<RuleError>> {
    let mut typed = TypedSpec { schema: schema.clone(), rules: Vec::new(), pairs: Vec::new() };
    let mut errors = Vec::new();
    for rule in rules {
        let (name, text) = (rule.name.clone(), rule.text.clone());
        match parse(&rule.text).and_then(|expr| elaborate(&expr, schema)) {
            Ok((Claimed::One(claim), reads_scores)) => typed.rules.push(TypedRule { name, text, claim, reads_scores }),
            Ok((Claimed::Two(parts), reads_scores)) => typed.pairs.push(TypedPairRule { name, text, parts, reads_scores }),
            Err(fault) => errors.push(error(rule, fault)),
        }
    }
    if errors.is_empty() { Ok(typed) } else { Err(errors) }
}

/// All the way from rule texts to the normal form.
///
/// ```
/// use deepsade_spec::{compile, Domain, Feature, OneHot, RuleText, Schema, Task, print};
///
/// let schema = Schema {
///     features: vec![Feature { name: "income".into(), domain: Domain::Real { lo: 0.0, hi: 100.0 } }],
///     task: Task::regression(vec!["food".into(), "rent".into()]),
///     one_hot: OneHot::Full,
///     filled: vec![],
/// };
/// let rule = RuleText { name: "budget".into(), text: "food + rent <= income".into() };
/// let spec = compile(&[rule], &schema).unwrap();
/// assert_eq!(print::formula(&spec.rules[0].claim, &schema), "food + rent <= income");
/// assert_eq!(spec.gate, [0]);
/// ```
pub fn compile(rules: &[RuleText], schema: &Schema) -> Result<NormalSpec, Vec<RuleError>> {
    let typed = check_types(rules, schema)?;
    normalize(&typed).map_err(|(name, kind)| {
        let hint = "min, max, abs, if and counts multiply when added together; compare them one by one".to_string();
        let of = |rule: &RuleText| error(rule, (kind.clone(), 0..rule.text.len(), Some(hint.clone())));
        rules.iter().filter(|rule| rule.name == name).map(of).collect()
    })
}

/// The first name that two rules share.
pub fn duplicate_name(rules: &[RuleText]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    rules.iter().map(|r| r.name.as_str()).find(|name| !seen.insert(*name))
}

fn error(rule: &RuleText, (kind, span, hint): Fault) -> RuleError {
    RuleError { rule: rule.name.clone(), text: rule.text.clone(), span, kind, hint }
}
