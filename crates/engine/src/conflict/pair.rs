//! Rules enter; two inputs leave for which no outputs obey a rule between two inputs and the rules about one input, where such are found.
//!
//! Two inputs that share all features but some are one input with a second value of each of these, and twice the outputs: what is asked
//! about rules of one input is asked of that.

use deepsade_solve::budget::Budget;
use deepsade_solve::eliminate::Point;
use deepsade_solve::irreducible::irreducible;
use deepsade_spec::{
    Formula, Kept, Linear, Moves, NormalRule, NormalSpec, OneHot, Pair, PairRule, Rational, Region, Schema, Task, Var,
};

use super::{Possible, possible_within};

/// Terms of atoms that the search may look at, over all rules: a second or so.
const MOST_TERMS: usize = 5_000_000;

/// A rule between two inputs that contradicts others, with two inputs that show it.
#[derive(Debug, Clone, PartialEq)]
pub struct PairConflict {
    /// Which of the rules between two inputs.
    pub pair: usize,
    /// Indices of the rules about one input.
    pub rules: Vec<usize>,
    /// Values of the input variables that the rules mention, of one input and the other.
    pub witness: [Point; 2],
}

/// The first rule between two inputs that rules about one input contradict, if the search gets to it.
pub fn pair_conflict(spec: &NormalSpec) -> Option<PairConflict> {
    let (domain, budget) = (Region::domain(&spec.schema).ok()?, Budget::new(MOST_TERMS));
    let parts = |(k, rule): (usize, &PairRule)| rule.parts.iter().map(|part| (k, part.clone())).collect::<Vec<_>>();
    let all = spec.pairs.iter().enumerate().flat_map(parts);
    all.filter(|(_, part)| !deepsade_check::idle(part, spec, &domain)).find_map(|(pair, part)| {
        let question = Doubled::new(spec, &part);
        let rules = beside(spec, &part);
        let test = |set: &[usize]| match question.possible(set, &budget) {
            Possible::Not(point) => Some(point),
            Possible::Always | Possible::Unknown => None,
        };
        let first = (!rules.is_empty()).then(|| test(&rules))??;
        let (rules, last) = irreducible(rules, test);
        Some(PairConflict { pair, rules, witness: question.both(&last.unwrap_or(first)) })
    })
}

/// The rules that say something of the same outputs as a part, or of outputs that they tie to these.
fn beside(spec: &NormalSpec, part: &Pair) -> Vec<usize> {
    let mut outputs = part.outputs();
    let mut rules: Vec<usize> = Vec::new();
    loop {
        let near = |k: &usize| !rules.contains(k) && spec.rules[*k].claim.outputs().iter().any(|j| outputs.contains(j));
        let Some(next) = (0..spec.rules.len()).find(near) else { break };
        outputs.extend(spec.rules[next].claim.outputs());
        rules.push(next);
    }
    rules.sort_unstable();
    rules
}

/// Two inputs as one.
struct Doubled<'a> {
    spec: &'a NormalSpec,
    part: &'a Pair,
    schema: Schema,
    between: NormalRule,
}

impl<'a> Doubled<'a> {
    fn new(spec: &'a NormalSpec, part: &'a Pair) -> Self {
        let Schema { features, task, .. } = &spec.schema;
        let mut own = features.clone();
        for f in &part.features {
            let mut copy = features[*f].clone();
            copy.name += "'";
            own.push(copy);
        }
        let n = task.outputs();
        let (whole, name) = (task.whole_outputs(), |j: usize| format!("output {j}"));
        let task = Task::Regression {
            targets: (0..2 * n).map(name).collect(),
            whole: whole.iter().copied().chain(whole.iter().map(|j| n + j)).map(name).collect(),
        };
        let schema = Schema { features: own, task, one_hot: OneHot::Full, filled: Vec::new() };
        let mut doubled = Self { spec, part, schema, between: rule(Formula::True) };
        doubled.between = rule(doubled.claim());
        doubled
    }

    /// A variable of the second input.
    fn second(&self, var: Var) -> Var {
        let copy = |f: usize| self.part.features.iter().position(|g| *g == f).map_or(f, |k| self.spec.schema.features.len() + k);
        match var {
            Var::Output(j) => Var::Output(self.spec.schema.task.outputs() + j),
            Var::Feature(f) => Var::Feature(copy(f)),
            Var::Level(f, level) => Var::Level(copy(f), level),
        }
    }

    fn of_second(&self, formula: &Formula) -> Formula {
        formula.renamed(&|var| self.second(var))
    }

    /// `b - a + by >= 0`, or `> 0`.
    fn rise(a: &Linear, b: &Linear, by: &Rational, strict: bool) -> Formula {
        let mut linear = b.clone();
        linear.add_scaled(&-Rational::ONE, a);
        linear.constant += by;
        Formula::compared(linear, strict)
    }

    /// What the part claims.
    fn claim(&self) -> Formula {
        let Pair { condition, features, moves, kept } = self.part;
        let mut apart = vec![condition.clone(), self.of_second(condition)];
        for (k, f) in features.iter().enumerate() {
            let (a, b) = (Linear::var(Var::Feature(*f)), Linear::var(self.second(Var::Feature(*f))));
            match moves {
                Moves::Up => apart.push(Self::rise(&a, &b, &Rational::ZERO, false)),
                Moves::By(by) => apart.extend([Self::rise(&a, &b, &by[k], false), Self::rise(&b, &a, &by[k], false)]),
                Moves::Any => {}
            }
        }
        let keeps = match kept {
            Kept::Number { linear, by, strict } => {
                let terms = linear.terms.iter().map(|(var, c)| (self.second(*var), c.clone())).collect();
                let other = Linear { terms, constant: linear.constant.clone() };
                [Self::rise(linear, &other, by, *strict), Self::rise(&other, linear, by, *strict)]
            }
            Kept::Condition(formula) => {
                let other = self.of_second(formula);
                [Formula::or([formula.negated(), other.clone()]), Formula::or([other.negated(), formula.clone()])]
            }
        };
        // What is said of two inputs in any order is said of them both ways.
        let both = if *moves == Moves::Up { 1 } else { 2 };
        Formula::or(apart.iter().map(Formula::negated).chain([Formula::and(keeps.into_iter().take(both))]))
    }

    /// Whether all two inputs have outputs that obey the part and some rules.
    fn possible(&self, rules: &[usize], budget: &Budget) -> Possible {
        let own = |k: &usize| {
            let claim = &self.spec.rules[*k].claim;
            [rule(claim.clone()), rule(self.of_second(claim))]
        };
        let all: Vec<NormalRule> = rules.iter().flat_map(own).chain([self.between.clone()]).collect();
        possible_within(&all.iter().collect::<Vec<_>>(), &self.schema, budget)
    }

    /// The two inputs of a point: what they share is in both.
    fn both(&self, point: &Point) -> [Point; 2] {
        let given = self.spec.schema.features.len();
        let is_own = |var: &Var| var.feature().is_some_and(|f| f < given);
        let first: Point = point.iter().filter(|(var, _)| is_own(var)).map(|(var, v)| (*var, v.clone())).collect();
        let back = |(var, v): (&Var, &Rational)| {
            let home = |f: usize| self.part.features.get(f.checked_sub(given)?).copied();
            let var = match *var {
                Var::Feature(f) => Var::Feature(home(f)?),
                Var::Level(f, level) => Var::Level(home(f)?, level),
                Var::Output(_) => return None,
            };
            Some((var, v.clone()))
        };
        let shared = first.iter().filter(|(var, _)| var.feature().is_some_and(|f| !self.part.features.contains(&f)));
        let second = shared.map(|(var, v)| (*var, v.clone())).chain(point.iter().filter_map(back)).collect();
        [first, second]
    }
}

fn rule(claim: Formula) -> NormalRule {
    NormalRule { name: String::new(), text: String::new(), claim, reads_scores: true }
}

#[cfg(test)]
mod tests {
    use deepsade_spec::{Domain, Feature, RuleText, compile};

    use super::*;

    /// What contradicts is found with two inputs that show it, what merely confines is not said to.
    #[test]
    fn rules_about_one_input_that_a_rule_between_two_contradicts_are_found() {
        let feature = |name: &str, domain| Feature { name: name.into(), domain };
        let levels = ["a", "b"].map(String::from).to_vec();
        let schema = |task| Schema {
            features: vec![
                feature("x", Domain::Real { lo: 0.0, hi: 10.0 }),
                feature("n", Domain::Integer { lo: 0, hi: 5 }),
                feature("g", Domain::Category { levels: levels.clone() }),
            ],
            task,
            one_hot: OneHot::Full,
            filled: vec![],
        };
        let numbers = || schema(Task::regression(vec!["y".into(), "v".into()]));
        let choice = || schema(Task::Binary { target: "loan".into(), classes: ["N", "Y"].map(String::from).to_vec() });
        let labels = || schema(Task::Multilabel { labels: ["p", "q"].map(String::from).to_vec() });
        for (schema, rules, conflicting) in [
            (numbers(), &["increasing(y, x)", "x < 1 => y >= 5", "x > 2 => y <= 3", "y <= 100"][..], Some(&[0, 1][..])),
            (numbers(), &["decreasing(y, x)", "x < 1 => y >= 5", "x > 2 => y <= 3"], None),
            (numbers(), &["increasing(y, x)", "x < 1 => y >= 5", "x > 2 => y <= 5"], None),
            (numbers(), &["increasing(y, x)", "x < 1 and n == 0 => y >= 5", "x > 2 and n == 1 => y <= 3"], None),
            (numbers(), &["increasing(y, {x, n})", "x < 1 and n == 0 => y >= 5", "x > 2 and n == 1 => y <= 3"], Some(&[0, 1])),
            (numbers(), &["increasing(y, x)", "x < 1 => v >= 5", "v <= y - 1", "x > 2 => y <= 3"], Some(&[0, 1, 2])),
            (numbers(), &["unaffected(y, g)", "g == 'a' => y >= 1", "g == 'b' => y <= 0.5"], Some(&[0, 1])),
            (numbers(), &["unaffected(y, g)", "g == 'a' => y >= 1", "g == 'b' => y <= 1"], None),
            (numbers(), &["x > 5 => unaffected(y, g)", "g == 'a' and x < 4 => y >= 1", "g == 'b' => y <= 0.5"], None),
            (numbers(), &["change(y, {n}, by = 1) <= 2", "n == 2 => y >= 5", "n == 3 => y <= 2"], Some(&[0, 1])),
            (numbers(), &["change(y, {n}, by = 1) <= 2", "n == 2 => y >= 5", "n == 4 => y <= 2"], None),
            (choice(), &["increasing(loan == 'Y', x)", "x < 1 => loan == 'Y'", "x > 9 => loan == 'N'"], Some(&[0, 1])),
            (choice(), &["decreasing(loan == 'Y', x)", "x < 1 => loan == 'Y'", "x > 9 => loan == 'N'"], None),
            (labels(), &["increasing(p, x)", "x < 1 => p", "q => not p", "x > 9 => q"], Some(&[0, 1, 2])),
        ] {
            let text = |(k, text): (usize, &&str)| RuleText { name: format!("r{k}"), text: (*text).into() };
            let spec = compile(&rules.iter().enumerate().map(text).collect::<Vec<_>>(), &schema).unwrap();
            let found = pair_conflict(&spec);
            assert_eq!(found.as_ref().map(|f| &f.rules[..]), conflicting, "{rules:?}");
            let Some(PairConflict { witness: [a, b], .. }) = found else { continue };
            let of = |point: &Point| {
                let point = point.clone();
                move |var: Var| point.get(&var).cloned().unwrap_or_default()
            };
            assert!(spec.pairs[0].parts.iter().any(|part| part.allows(&spec.schema, &of(&a), &of(&b))), "{rules:?}: {a:?} {b:?}");
        }
    }
}
