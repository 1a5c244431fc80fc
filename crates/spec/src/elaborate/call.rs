//! The functions of the rule language.

use super::compare::compare_with_zero;
use super::{Elaborator, Meaning, pair};
use crate::Rational;
use crate::ast::{Expr, Generator, Relation};
use crate::error::{Fault, RuleErrorKind, Span, nearest};
use crate::typed::{Num, Piecewise};

const FUNCTIONS: &[&str] = &[
    "sum",
    "min",
    "max",
    "abs",
    "count",
    "exactly",
    "at_least",
    "at_most",
    "score",
    "increasing",
    "decreasing",
    "unaffected",
    "change",
];

/// Words that others have for these functions.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("nondecreasing", "increasing"),
    ("monotoneincreasing", "increasing"),
    ("increases", "increasing"),
    ("nonincreasing", "decreasing"),
    ("monotonedecreasing", "decreasing"),
    ("decreases", "decreasing"),
    ("invariant", "unaffected"),
    ("independent", "unaffected"),
    ("lipschitz", "change"),
];

impl Elaborator<'_> {
    pub(super) fn call(
        &mut self,
        (name, name_span): &(String, Span),
        args: &[Expr],
        generators: &[Generator],
        span: &Span,
    ) -> Result<Meaning, Fault> {
        let wrong = |function, takes| (RuleErrorKind::WrongArguments { function, takes }, span.clone(), None);
        match name.as_str() {
            "sum" => {
                let mut sum = Num::default();
                self.each(args, generators, |_, num| sum.add_scaled(&Rational::ONE, num))?;
                Ok(Meaning::Num(sum))
            }
            "min" | "max" => {
                let mut list = Vec::new();
                self.each(args, generators, |_, num| list.push(num))?;
                if list.is_empty() {
                    return Err(wrong(
                        if name == "min" { "min" } else { "max" },
                        "one number or more, as in (a, b) or (h[i] for i in 0..24)",
                    ));
                }
                if list.len() == 1 {
                    return Ok(Meaning::Num(list.remove(0)));
                }
                Ok(Meaning::Num(Num::piece(if name == "min" { Piecewise::Min(list) } else { Piecewise::Max(list) })))
            }
            "abs" => {
                let [arg] = args else { return Err(wrong("abs", "one number, as in abs(a - b)")) };
                let a = self.number(arg)?;
                self.grow(a.parts(), &arg.span)?;
                let negative = a.clone().scaled(&-Rational::ONE);
                Ok(Meaning::Num(Num::piece(Piecewise::Max(vec![a, negative]))))
            }
            "count" => Ok(Meaning::Num(self.count(args, generators)?)),
            "exactly" => self.compare_count(args, generators, Relation::Equal, wrong("exactly", TAKES_COUNT)),
            "at_least" => self.compare_count(args, generators, Relation::GreaterEqual, wrong("at_least", TAKES_COUNT)),
            "at_most" => self.compare_count(args, generators, Relation::LessEqual, wrong("at_most", TAKES_COUNT)),
            "score" => self.score(args, span),
            function if pair::FUNCTIONS.contains(&function) => {
                let hint = "other rules stand on their own: one [[rule]] each";
                Err((RuleErrorKind::TwoInputs(name.clone()), name_span.clone(), Some(hint.into())))
            }
            _ => {
                // Other words for a direction: the nearest spelling may be the opposite.
                let same = |word: &str| OTHER_WORDS.iter().find(|(other, _)| *other == word).map(|(_, ours)| *ours);
                let plain = name.to_lowercase().replace(['_', '-'], "");
                let hint = same(&plain).or_else(|| nearest(name, FUNCTIONS.iter().copied())).map_or_else(
                    || format!("the functions are {}", FUNCTIONS.join(", ")),
                    |near| format!("did you mean `{near}`?"),
                );
                Err((RuleErrorKind::UnknownFunction(name.clone()), name_span.clone(), Some(hint)))
            }
        }
    }

    /// Calls `take` with every argument, the last of them once for each combination of the generators' values.
    fn each(&mut self, args: &[Expr], generators: &[Generator], mut take: impl FnMut(&Expr, Num)) -> Result<(), Fault> {
        let Some((last, before)) = args.split_last() else { return Ok(()) };
        for arg in before {
            take(arg, self.number(arg)?);
        }
        self.repeat(generators, &mut |this| {
            take(last, this.number(last)?);
            Ok(())
        })
    }

    /// How many of the conditions hold.
    fn count(&mut self, args: &[Expr], generators: &[Generator]) -> Result<Num, Fault> {
        let mut sum = Num::default();
        let Some((last, before)) = args.split_last() else { return Ok(sum) };
        let mut add = |this: &mut Self, arg: &Expr| {
            let condition = this.condition(arg)?;
            sum.add_scaled(&Rational::ONE, this.to_number(Meaning::Bool(condition), &arg.span)?);
            Ok(())
        };
        for arg in before {
            add(self, arg)?;
        }
        self.repeat(generators, &mut |this| add(this, last))?;
        Ok(sum)
    }

    fn compare_count(
        &mut self,
        args: &[Expr],
        generators: &[Generator],
        relation: Relation,
        wrong: Fault,
    ) -> Result<Meaning, Fault> {
        let Some((k, conditions)) = args.split_first().filter(|(_, rest)| !rest.is_empty()) else { return Err(wrong) };
        let k = self.whole(k)?;
        let mut sum = self.count(conditions, generators)?;
        sum.add_scaled(&Rational::ONE, Num::constant(-Rational::from(k)));
        Ok(Meaning::Bool(compare_with_zero(sum, relation)))
    }
}

const TAKES_COUNT: &str = "a number and conditions, as in (1, label[i] for i in 0..4)";
