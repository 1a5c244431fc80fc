//! Where no fallback was found enters; leaves why, as far as that can be told: whether there are outputs at all, whether float32 leaves
//! room for them, and whether only the proof is missing.

use deepsade_check::{Arithmetic, StepFault};
use deepsade_spec::{Atom, Domain, Formula, NamedValues, NormalRule, Rational, Var, print};
use thiserror::Error;

use super::{ConditionIs, MapFinder, Path, all, when};
use crate::conflict::{Conflict, Conflicts, smallest_conflict};
use crate::enforce::step::affine::Affine;

/// Why there is no fallback.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum NoFallback {
    /// For some input there are none.
    #[error("no outputs obey {rules} for the input {}", if .input.is_empty() { "whatever it is".into() } else { .input.to_string() })]
    NoOutputs {
        /// The rules, in words.
        rules: String,
        /// The input.
        input: NamedValues,
    },
    /// Where float32 cannot tell a condition from its opposite, both are asked for.
    #[error(transparent)]
    Unclear(Box<Border>),
    /// For some inputs no outputs were found.
    #[error(
        "no outputs were found that obey the rules for every input in one of a few simple ways (constants or affine functions of the \
         features that the rules mention, case by case): {place}{hint}"
    )]
    NotFound {
        /// Where, in words.
        place: String,
        /// What else is known.
        hint: String,
    },
    /// Outputs were found, but not proved.
    #[error("a fallback was found {place}, but not proved at rule '{rule}': {why}")]
    NotProved {
        /// The rule.
        rule: String,
        /// Where, in words.
        place: String,
        /// What is missing.
        why: Unproved,
    },
    /// Too many cases.
    #[error("a fallback needs more than {most} cases {place}: state the rules with fewer conditions")]
    TooMany {
        /// Where, in words.
        place: String,
        /// What there may be.
        most: usize,
    },
    /// The checker can't say what is known in a case.
    #[error(
        "a condition of the fallback can't be computed in float32 {place}: {why}; use smaller numbers in it, or a smaller domain"
    )]
    Float32 {
        /// Where, in words.
        place: String,
        /// What it says.
        why: StepFault,
    },
}

/// The border of a condition, at which rules ask for what no outputs are.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{place}near the border float32 cannot tell `{holds}` from `{fails}` ({cause}): outputs there must obey both readings, and none obey \
     {rules} in both. Give a rule room, so that both leave some output at the border (a condition such as `>= 0.001` in place of `> 0`, a \
     tolerance, or in place of `A <=> B` two implications with a gap between their conditions){otherwise}"
)]
pub struct Border {
    /// Where else, in words.
    place: String,
    /// The condition.
    holds: String,
    /// Its opposite.
    fails: String,
    /// Why it cannot be told.
    cause: &'static str,
    /// The rules, in words.
    rules: String,
    /// What else helps.
    otherwise: String,
}

/// What a proof fails for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unproved {
    /// It holds in exact numbers.
    #[error(
        "it holds in exact numbers, but the rules leave no room there for what float32 rounds, and a runtime may take tiny numbers for 0. \
         Give a rule room (`<= ... + 0.001`), state features that are whole as `kind = \"integer\"`, or keep the range of those that the \
         rule compares with away from 0 (start at 0.001, say)"
    )]
    Rounding,
    /// An input breaks it.
    #[error(
        "the best map that was found breaks it for the input {0}. Where rules leave no room for some input (bounds that touch) there may be \
         none: give them room there, or take that input out of the range"
    )]
    Broken(NamedValues),
    /// Neither was shown.
    #[error("neither a proof nor an input that breaks it was found; fewer conditions, or rules with more room, make it easier")]
    Unknown,
}

/// Why there is no map for some inputs.
#[derive(Debug)]
pub(super) enum NoMap {
    NotFound,
    NotProved { map: Affine, rule: usize },
}

impl MapFinder<'_> {
    /// Why there is no fallback for the inputs of a path, whose conditions are all read.
    pub(super) fn why(&self, path: &Path, failure: NoMap) -> NoFallback {
        let given = self.given(path);
        let mut asked = self.spec.clone();
        for (rule, own) in asked.rules.iter_mut().zip(&self.spec.rules) {
            rule.claim = Formula::or([all(&given).negated(), self.asked(own, path)]);
        }
        if let Conflicts::Found(Conflict { rules, witness }) = smallest_conflict(&asked) {
            let rules = self.named(&rules);
            return match path.iter().rev().find(|(_, answer)| *answer == ConditionIs::Unclear) {
                Some((condition, _)) => self.cannot_tell(*condition, path, rules),
                None => NoFallback::NoOutputs { rules, input: NamedValues::of_point(&self.spec.schema, &witness) },
            };
        }
        match failure {
            NoMap::NotFound => NoFallback::NotFound { place: self.place(path), hint: self.hint(path, &given) },
            NoMap::NotProved { map, rule } => {
                let why = match (self.obeys(&map, &given, Some(Arithmetic::Real)), self.obeys(&map, &given, None)) {
                    (Ok(()), _) => Unproved::Rounding,
                    (_, Err((_, Some(example)))) => Unproved::Broken(NamedValues::of_row(&self.spec.schema, &example.x)),
                    _ => Unproved::Unknown,
                };
                NoFallback::NotProved { rule: self.spec.rules[rule].name.clone(), place: self.place(path), why }
            }
        }
    }

    fn cannot_tell(&self, condition: usize, path: &Path, rules: String) -> NoFallback {
        let [holds, fails] = [true, false].map(|truth| self.shown(condition, truth));
        let terms = &self.conditions[condition].linear.terms;
        let real =
            |var: &&Var| matches!(var, Var::Feature(f) if matches!(self.spec.schema.features[*f].domain, Domain::Real { .. }));
        let names: Vec<String> = terms.keys().filter(real).map(|var| print::variable(*var, &self.spec.schema)).collect();
        // Of one number, or of two numbers' sum or difference, the sign is exact.
        let sizes: Vec<Rational> = terms.values().map(|c| if *c < Rational::ZERO { -c } else { c.clone() }).collect();
        let exact = match &sizes[..] {
            [_] => true,
            [a, b] => a == b && self.conditions[condition].linear.constant.is_zero(),
            _ => false,
        };
        let cause = if exact { "a runtime may take tiny numbers for 0" } else { "the sum is rounded" };
        let known = when(path);
        let place = if known.is_empty() { String::new() } else { format!("{}: ", self.place_of(&known)) };
        let mut otherwise = String::new();
        if !names.is_empty() {
            let away = if exact { ", or a range that stays away from 0" } else { "" };
            otherwise = format!(", or state {} as kind = \"integer\" if only whole numbers occur{away}", names.join(" and "));
        }
        NoFallback::Unclear(Box::new(Border { place, holds, fails, cause, rules, otherwise }))
    }

    fn shown(&self, condition: usize, holds: bool) -> String {
        print::formula(&Formula::Atom(self.atom(condition, holds)), &self.spec.schema)
    }

    pub(super) fn place(&self, path: &Path) -> String {
        let mut place = self.place_of(&when(path));
        for (condition, _) in path.iter().filter(|(_, answer)| *answer == ConditionIs::Unclear) {
            place += &format!(", at the border of {}", self.shown(*condition, true));
        }
        place
    }

    pub(super) fn place_of(&self, when: &[(usize, bool)]) -> String {
        if when.is_empty() {
            return "whatever the input".into();
        }
        format!("where {}", when.iter().map(|(c, holds)| self.shown(*c, *holds)).collect::<Vec<_>>().join(" and "))
    }

    /// For whole numbers, where weights must be whole and on whole features: the rule that leaves none by itself.
    fn hint(&self, path: &Path, given: &[Atom]) -> String {
        if self.spec.schema.task.whole_outputs().is_empty() {
            return String::new();
        }
        let none = |rule: &&NormalRule| self.numbers(&self.asked(rule, path), given).is_empty();
        let who = match self.spec.rules.iter().find(none) {
            Some(rule) => format!("rule '{}'", rule.name),
            None => "the rules together".into(),
        };
        format!(
            "; {who} may leave no whole number there, or none that is a whole multiple of whole features: widen it, or state the target as real"
        )
    }

    fn named(&self, rules: &[usize]) -> String {
        let names: Vec<String> = rules.iter().map(|rule| format!("'{}'", self.spec.rules[*rule].name)).collect();
        format!("rule{} {}", if names.len() == 1 { "" } else { "s" }, names.join(" and "))
    }
}
