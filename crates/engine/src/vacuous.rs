//! A rule enters; leaves whether it says anything: whether some input of the domain lies under its condition, and some output there
//! would break it. For a rule between two inputs: whether two of them lie to each other as it says, and some outputs would break it.

mod pair;

use std::fmt;
use std::ops::ControlFlow;

use deepsade_spec::cells::cells;
use deepsade_spec::{
    Domain, Formula, LARGEST_INTEGER, NormalRule, NormalSpec, PairRule, Region, RuleText, Schema, compile, shown,
};
pub use pair::{binding, kept_in_vain, vacuous_pair};

use deepsade_solve::budget::Budget;
use deepsade_solve::eliminate::Point;
use deepsade_solve::finite::with_finite_outputs;
use deepsade_solve::satisfy::{Satisfiable, satisfy_within};

/// Cells to look at, and atoms in them; a rule with more is taken to say something.
const MAX_CELLS: usize = 10_000;
const MAX_ATOMS: usize = 2_000_000;

/// Terms of atoms that the exact search may look at: a fraction of a second.
const MAX_TERMS: usize = 1_000_000;

/// Why a rule says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vacuous {
    /// Its condition holds for no input.
    NoInput,
    /// Where its condition holds, no output would break it.
    EveryOutput,
    /// No two different inputs lie to each other as it says.
    NoPair,
    /// The other rules leave no two outputs that would break it.
    NoRoom,
}

impl fmt::Display for Vacuous {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoInput => "vacuous: no input of the domain meets its condition",
            Self::EveryOutput => "vacuous: it holds whatever is predicted",
            Self::NoPair => "vacuous: no two different inputs of the domain lie to each other as it says",
            Self::NoRoom => "vacuous: the other rules leave no two outputs that would break it",
        })
    }
}

/// Whether no input of the domain, float32 values all of them, could break the claim whatever is predicted there.
pub fn says_nothing(claim: &Formula, schema: &Schema) -> bool {
    impossible(&with_finite_outputs(claim, schema).negated(), schema)
}

/// Why a rule says nothing, if it does not.
pub fn vacuous(rule: &NormalRule, schema: &Schema) -> Option<Vacuous> {
    if !says_nothing(&rule.claim, schema) {
        return None;
    }
    let claim = on_all_inputs(rule, schema).unwrap_or_else(|| rule.claim.clone());
    if claim == Formula::True {
        return Some(Vacuous::EveryOutput);
    }
    // A negation in which every demand on outputs can be met is one about inputs alone.
    let broken = claim.negated();
    let condition = broken.replaced(&mut |atom| if atom.is_condition() { Formula::Atom(atom.clone()) } else { Formula::True });
    Some(if impossible(&condition, schema) { Vacuous::NoInput } else { Vacuous::EveryOutput })
}

/// The claim with its conditions, also those that the domain decides: in the normal form they are folded away, and a rule whose condition
/// nothing meets looks like one that holds by itself. `None` for what was not written in the rule language.
fn on_all_inputs(rule: &NormalRule, schema: &Schema) -> Option<Formula> {
    let mut wide = schema.clone();
    for feature in &mut wide.features {
        match &mut feature.domain {
            Domain::Real { lo, hi } => (*lo, *hi) = (f32::MIN, f32::MAX),
            Domain::Integer { lo, hi } => (*lo, *hi) = (-LARGEST_INTEGER, LARGEST_INTEGER),
            Domain::Stepped { lo, hi, step } => {
                let far = LARGEST_INTEGER as f32 * *step;
                (*lo, *hi) = (-far, far);
            }
            Domain::Category { .. } | Domain::Ordered { .. } => {}
        }
    }
    let text = RuleText { name: rule.name.clone(), text: rule.text.clone() };
    compile(&[text], &wide).ok()?.rules.pop().map(|r| r.claim)
}

/// A note for each rule that says nothing.
pub fn vacuous_notes(spec: &NormalSpec) -> Vec<String> {
    let note = |r: &NormalRule| vacuous(r, &spec.schema).map(|why| format!("rule '{}' is {why}", shown::name(&r.name)));
    let pair = |r: &PairRule| {
        let more = kept_in_vain(r, spec).map(|more| format!("; {more}")).unwrap_or_default();
        vacuous_pair(r, spec).map(|why| format!("rule '{}' is {why}{more}", shown::name(&r.name)))
    };
    spec.rules.iter().filter_map(note).chain(spec.pairs.iter().filter_map(pair)).collect()
}

/// Whether it is certain that no float32 input of the domain, with any outputs, satisfies the formula.
fn impossible(formula: &Formula, schema: &Schema) -> bool {
    outside_regions(formula, schema)
        || satisfy_within(&[formula], schema, &Point::default(), &Budget::new(MAX_TERMS)) == Satisfiable::No
}

/// By the bounds on single features alone, which know float32 values.
fn outside_regions(formula: &Formula, schema: &Schema) -> bool {
    let Ok(whole) = Region::domain(schema) else { return false };
    let (mut seen, mut in_all) = (0, 0);
    let some = cells(formula, &mut |atoms| {
        let region = whole.cut_by(atoms);
        seen += 1;
        in_all += atoms.len();
        if region.is_empty() && seen < MAX_CELLS && in_all < MAX_ATOMS {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    some.is_continue()
}

#[cfg(test)]
mod tests {
    use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};

    use super::Vacuous::{EveryOutput, NoInput};
    use super::vacuous;

    #[test]
    fn a_condition_that_no_float32_input_meets_says_nothing() {
        let schema = Schema {
            features: vec![
                Feature { name: "r".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } },
                Feature { name: "n".into(), domain: Domain::Integer { lo: 0, hi: 5 } },
            ],
            task: Task::regression(vec!["u".into()]),
            one_hot: OneHot::Full,
            filled: vec![],
        };
        for (text, expected) in [
            ("r == 0.1 => u >= 0", None),
            ("3 * r == 0.3 => u >= 0", None),
            ("r > 0.1 and r < 0.1 => u >= 0", Some(NoInput)),
            ("r == 0.5 => u >= 0", None),
            ("n > 2 and n < 3 => u >= 0", Some(NoInput)),
            ("n > 2 and n < 4 => u >= 0", None),
            ("r > 2 => u >= 0", Some(NoInput)),
            ("u >= 0", None),
            ("r - n > 0.9 and r < 0.5 => u >= 0", Some(NoInput)),
            ("r > n and n > r => u >= 0", Some(NoInput)),
            ("r - n > 0.9 and r < 0.95 => u >= 0", None),
            ("u >= 0 or u <= 1", Some(EveryOutput)),
            ("r > 0.5 => u + r >= 0 or u <= 1", Some(EveryOutput)),
            ("r > 0.5 => u + r >= 1.5 or u < 0", None),
            ("r > 2 => u >= 0 or u <= 1", Some(NoInput)),
            ("u <= 1e39", Some(EveryOutput)),
            ("1e-50 * u + r >= 0 - 1", Some(EveryOutput)),
            ("u <= 3.4e38", None),
            ("u > 1 and u < 0 => r > 0.5", Some(EveryOutput)),
        ] {
            let rule = RuleText { name: "rule".into(), text: text.into() };
            let spec = compile(&[rule], &schema).unwrap();
            assert_eq!(vacuous(&spec.rules[0], &schema), expected, "{text}");
        }
    }

    #[test]
    fn a_rule_without_condition_that_always_holds_is_no_rule_for_no_input() {
        let schema = Schema {
            features: vec![Feature { name: "r".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } }],
            task: Task::Multilabel { labels: ["d0", "d1", "d2"].map(String::from).to_vec() },
            one_hot: OneHot::Full,
            filled: vec![],
        };
        for (text, expected) in [
            ("at_most(3, d0, d1, d2)", Some(EveryOutput)),
            ("count(d0, d1, d2) >= 0", Some(EveryOutput)),
            ("sum(i * label[i] for i in 0..3) >= -1", Some(EveryOutput)),
            ("r > 0.5 => at_most(3, d0, d1, d2)", Some(EveryOutput)),
            ("r > 2 => at_most(2, d0, d1, d2)", Some(NoInput)),
            ("r > 0.5 => at_most(2, d0, d1, d2)", None),
        ] {
            let rule = RuleText { name: "rule".into(), text: text.into() };
            let spec = compile(&[rule], &schema).unwrap();
            assert_eq!(vacuous(&spec.rules[0], &schema), expected, "{text}");
        }
    }
}
