//! Typed rules enter, their normal form leaves: no negation, no piecewise terms, atoms decided by the domain folded away.

use std::collections::{BTreeSet, HashSet};

use crate::Rational;
use crate::ast::Relation;
use crate::error::RuleErrorKind;
use crate::formula::{Atom, Formula, SingleBound};
use crate::linear::{Linear, Var};
use crate::pair::{Kept, Moves, Pair, PairRule};
use crate::schema::{Domain, Schema};
use crate::typed::{Bool, Compared, MAX_PARTS, Num, Piecewise, TypedPair, TypedPairRule, TypedRule, TypedSpec};

/// The rules of a problem in normal form.
///
/// [`crate::compile`] makes one.
///
/// ```
/// use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile, print};
///
/// let schema = Schema {
///     features: vec![Feature { name: "history".into(), domain: Domain::Integer { lo: 0, hi: 1 } }],
///     task: Task::Binary { target: "loan".into(), classes: vec!["no".into(), "yes".into()] },
///     one_hot: OneHot::Full,
///     filled: vec![],
/// };
/// let rule = RuleText { name: "none without".into(), text: "history == 0 => loan == 'no'".into() };
/// let spec = compile(&[rule], &schema).unwrap();
/// assert_eq!(spec.skip, [0], "the rule reads the history, so it reaches the last layer");
/// assert_eq!(print::formula(&spec.rules[0].claim, &schema), "history > 0 or score('no') >= score('yes')");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct NormalSpec {
    /// The vocabulary and the domain.
    pub schema: Schema,
    /// The rules, in the order of the file.
    pub rules: Vec<NormalRule>,
    /// The rules between two inputs, in the order of the file.
    pub pairs: Vec<PairRule>,
    /// Features that some rule mentions, in order: they reach the last layer by skip connections.
    pub skip: Vec<usize>,
    /// Non-negative features with which some rule scales, such as income in `sum(y) <= income`: candidates for the gate.
    pub gate: Vec<usize>,
}

/// One rule in normal form.
#[derive(Debug, Clone, PartialEq)]
pub struct NormalRule {
    /// Its name.
    pub name: String,
    /// Its text as written.
    pub text: String,
    /// What must hold for every input of the domain.
    pub claim: Formula,
    /// True if the rule reads raw scores of a classifier, which labelled data does not have.
    pub reads_scores: bool,
}

impl NormalSpec {
    /// The first rule about raw scores, if there is one: where outputs are chosen it means nothing, for a choice leaves the scores as they are.
    pub fn about_scores(&self) -> Option<&NormalRule> {
        self.rules.iter().find(|rule| rule.reads_scores)
    }

    /// Whether nothing is claimed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.pairs.is_empty()
    }

    /// How many rules there are of either kind.
    pub fn count(&self) -> usize {
        self.rules.len() + self.pairs.len()
    }

    /// The name of a rule: of one input, then of two.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn name(&self, rule: usize) -> &str {
        self.texts().nth(rule).map(|(name, _)| name).expect("a rule's index")
    }

    /// Names and texts of all rules: of one input, then of two.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let one = self.rules.iter().map(|r| (r.name.as_str(), r.text.as_str()));
        one.chain(self.pairs.iter().map(|r| (r.name.as_str(), r.text.as_str())))
    }

    /// The different conditions on the input that occur in the rules, in order of appearance; one and its opposite are the same.
    pub fn conditions(&self) -> Vec<Atom> {
        let (mut conditions, mut seen): (Vec<Atom>, HashSet<Atom>) = Default::default();
        for rule in &self.rules {
            rule.claim.atoms(&mut |atom| {
                if atom.is_condition() && !seen.contains(atom) {
                    seen.extend([atom.clone(), atom.opposite()]);
                    conditions.push(atom.clone());
                }
            });
        }
        conditions
    }
}

/// Brings every rule to normal form, or names one that grows too large.
pub fn normalize(typed: &TypedSpec) -> Result<NormalSpec, (String, RuleErrorKind)> {
    let schema = &typed.schema;
    let too_large = |name: &String| (name.clone(), RuleErrorKind::TooLarge(MAX_PARTS));
    let mut rules = Vec::new();
    for TypedRule { name, text, claim, reads_scores } in &typed.rules {
        let claim = Normalizer { schema, parts: 0 }.condition(claim, true).map_err(|TooLarge| too_large(name))?;
        rules.push(NormalRule { name: name.clone(), text: text.clone(), claim, reads_scores: *reads_scores });
    }
    let mut pairs = Vec::new();
    for TypedPairRule { name, text, parts, reads_scores } in &typed.pairs {
        let mut normalizer = Normalizer { schema, parts: 0 };
        let parts =
            parts.iter().map(|part| normalizer.pair(part)).collect::<Result<_, _>>().map_err(|TooLarge| too_large(name))?;
        pairs.push(PairRule { name: name.clone(), text: text.clone(), parts, reads_scores: *reads_scores });
    }
    let mentioned: BTreeSet<usize> = rules.iter().flat_map(|r| r.claim.variables()).filter_map(Var::feature).collect();
    let gate = mentioned.iter().copied().filter(|f| is_gate(*f, schema, &rules)).collect();
    let rising = pairs.iter().flat_map(|r| &r.parts).filter(|p| p.moves == Moves::Up).flat_map(|p| p.features.iter().copied());
    let skip = mentioned.iter().copied().chain(rising).collect::<BTreeSet<usize>>().into_iter().collect();
    Ok(NormalSpec { schema: schema.clone(), rules, pairs, skip, gate })
}

/// A feature r >= 0 can gate if some atom is `a.y + c r >= 0`: with y = r u it becomes r (a.u + c) >= 0.
fn is_gate(f: usize, schema: &Schema, rules: &[NormalRule]) -> bool {
    let mut scales = false;
    for rule in rules {
        rule.claim.atoms(&mut |atom| {
            let inputs: Vec<_> = atom.linear.terms.keys().filter(|v| !v.is_output()).collect();
            scales |= atom.linear.mentions_output() && inputs == [&Var::Feature(f)] && atom.linear.constant.is_zero();
        });
    }
    scales && schema.features[f].domain.range().is_some_and(|(lo, _)| lo >= 0.0)
}

struct TooLarge;

struct Normalizer<'a> {
    schema: &'a Schema,
    parts: usize,
}

impl Normalizer<'_> {
    fn count(&mut self, parts: usize) -> Result<(), TooLarge> {
        self.parts += parts;
        if self.parts > MAX_PARTS { Err(TooLarge) } else { Ok(()) }
    }

    fn pair(&mut self, pair: &TypedPair) -> Result<Pair, TooLarge> {
        let kept = match &pair.compared {
            Compared::Number { linear, by, strict } => Kept::Number { linear: linear.clone(), by: by.clone(), strict: *strict },
            Compared::Condition(condition) => Kept::Condition(self.condition(condition, true)?),
        };
        let condition = self.condition(&pair.condition, true)?;
        Ok(Pair { condition, features: pair.features.clone(), moves: pair.moves.clone(), kept })
    }

    /// The condition if `truth`, else its opposite.
    fn condition(&mut self, condition: &Bool, truth: bool) -> Result<Formula, TooLarge> {
        self.count(1)?;
        Ok(match condition {
            Bool::Const(value) => (*value == truth).into(),
            Bool::Compare(num, relation) => self.compare(num, if truth { *relation } else { relation.negated() })?,
            Bool::LevelIn(f, levels) => {
                self.count(2 * levels.len())?;
                let has = |l: &usize, yes: bool| {
                    let mut linear = Linear::var(Var::Level(*f, *l));
                    linear.constant = -Rational::ONE;
                    let atom = Formula::Atom(Atom { linear, strict: false });
                    if yes { atom } else { level_absent(*f, *l) }
                };
                if truth {
                    Formula::or(levels.iter().map(|l| has(l, true)))
                } else {
                    Formula::and(levels.iter().map(|l| has(l, false)))
                }
            }
            Bool::ClassIn(classes, of) => {
                let (inside, outside): (Vec<_>, Vec<_>) = (0..*of).partition(|c| classes.contains(c) == truth);
                // An atom of two terms each.
                self.count(3 * inside.len() * outside.len())?;
                // The winner is inside iff every outsider is beaten by some insider.
                Formula::and(outside.iter().map(|d| Formula::or(inside.iter().map(|c| beats(*c, *d)))))
            }
            Bool::Label(j) => {
                let positive = Formula::Atom(Atom { linear: Linear::var(Var::Output(*j)), strict: true });
                if truth { positive } else { positive.negated() }
            }
            Bool::Not(a) => self.condition(a, !truth)?,
            Bool::And(parts) | Bool::Or(parts) => {
                let parts = parts.iter().map(|p| self.condition(p, truth)).collect::<Result<Vec<_>, _>>()?;
                if matches!(condition, Bool::And(_)) == truth { Formula::and(parts) } else { Formula::or(parts) }
            }
            // As two implications: negated, they give a cell each, and none that contradicts itself.
            Bool::Iff(a, b) => {
                let there = Formula::or([self.condition(a, false)?, self.condition(b, truth)?]);
                let back = Formula::or([self.condition(a, true)?, self.condition(b, !truth)?]);
                Formula::and([there, back])
            }
        })
    }

    fn compare(&mut self, num: &Num, relation: Relation) -> Result<Formula, TooLarge> {
        let minus = || num.clone().scaled(&-Rational::ONE);
        Ok(match relation {
            Relation::GreaterEqual => self.positive(num, false)?,
            Relation::Greater => self.positive(num, true)?,
            Relation::LessEqual => self.positive(&minus(), false)?,
            Relation::Less => self.positive(&minus(), true)?,
            Relation::Equal => Formula::and([self.positive(num, false)?, self.positive(&minus(), false)?]),
            Relation::NotEqual => Formula::or([self.positive(num, true)?, self.positive(&minus(), true)?]),
        })
    }

    /// `num >= 0`, or `num > 0` if strict.
    ///
    /// c * max(a, b) + r >= 0 holds iff it holds for one of a, b where c > 0, and for both where c < 0; min the other way
    /// round. So neither needs a case distinction; `if` does.
    fn positive(&mut self, num: &Num, strict: bool) -> Result<Formula, TooLarge> {
        self.count(1 + num.linear.terms.len())?;
        let Some(((factor, piece), rest)) = num.pieces.split_first() else {
            return Ok(self.atom(Atom { linear: num.linear.clone(), strict }));
        };
        if num.linear.is_constant() && num.pieces.iter().all(|(_, p)| matches!(p, Piecewise::Indicator(_))) {
            return self.weighted_count(num, strict);
        }
        // The pieces that are still to come are copied for each of this one's cases, and a piece has several parts.
        self.count(8 * num.pieces.len())?;
        let rest = Num { linear: num.linear.clone(), pieces: rest.to_vec() };
        let with = |this: &mut Self, value: &Num| {
            let mut sum = rest.clone();
            sum.add_scaled(factor, value.clone());
            this.positive(&sum, strict)
        };
        match piece {
            Piecewise::Max(args) | Piecewise::Min(args) => {
                let parts = args.iter().map(|a| with(self, a)).collect::<Result<Vec<_>, _>>()?;
                let one_will_do = matches!(piece, Piecewise::Max(_)) == (*factor > Rational::ZERO);
                Ok(if one_will_do { Formula::or(parts) } else { Formula::and(parts) })
            }
            // If the condition holds, so does the first; if not, the second.
            Piecewise::If(condition, yes, no) => {
                let first = Formula::or([self.condition(condition, false)?, with(self, yes)?]);
                let second = Formula::or([self.condition(condition, true)?, with(self, no)?]);
                Ok(Formula::and([first, second]))
            }
            Piecewise::Indicator(condition) => {
                let first = Formula::or([self.condition(condition, false)?, with(self, &Num::constant(Rational::ONE))?]);
                let second = Formula::or([self.condition(condition, true)?, with(self, &Num::default())?]);
                Ok(Formula::and([first, second]))
            }
        }
    }

    /// `constant + sum factor [condition] >= 0`; a negative factor counts the opposite: -2 [f] = -2 + 2 [not f].
    fn weighted_count(&mut self, num: &Num, strict: bool) -> Result<Formula, TooLarge> {
        let mut bound = -num.linear.constant.clone();
        let mut terms = Vec::new();
        for (factor, piece) in &num.pieces {
            let Piecewise::Indicator(condition) = piece else { unreachable!("only indicators are counted") };
            let positive = *factor > Rational::ZERO;
            if positive {
                terms.push((factor.clone(), self.condition(condition, true)?));
            } else {
                bound -= factor;
                terms.push((-factor.clone(), self.condition(condition, false)?));
            }
        }
        Ok(Formula::threshold(terms, bound, strict))
    }

    /// The atom, or a constant where the domain decides it.
    fn atom(&self, atom: Atom) -> Formula {
        if atom.linear.mentions_output() {
            return Formula::Atom(atom);
        }
        let atom = as_read(atom, self.schema);
        let (lo, hi) = range(&atom.linear, self.schema);
        atom.decided(&lo, &hi).map_or(Formula::Atom(atom), Formula::from)
    }
}

/// The comparison of one real feature with a constant, as `x >= t` or `-x >= -t` with t as a feature of that value would be read:
/// a float64 rounded to float32. So `x <= 0.1` and `x == 0.1` hold for the float32 that a data file's 0.1 becomes. Other conditions
/// stay as they are: several features have no one value to compare with, and whole numbers and multiples of a step are exact.
fn as_read(atom: Atom, schema: &Schema) -> Atom {
    let Some(bound @ SingleBound { var: Var::Feature(f), .. }) = atom.single_bound() else { return atom };
    let read = Rational::try_from(bound.end.to_f64().value() as f32);
    let (Domain::Real { .. }, Ok(end)) = (&schema.features[f].domain, read) else { return atom };
    SingleBound { end, ..bound }.atom()
}

/// Class c is preferred to class d: a larger score, or an equal one and listed first.
pub fn beats(c: usize, d: usize) -> Formula {
    let mut linear = Linear::var(Var::Output(c));
    linear.add_scaled(&-Rational::ONE, &Linear::var(Var::Output(d)));
    Formula::Atom(Atom { linear, strict: c > d })
}

fn level_absent(f: usize, l: usize) -> Formula {
    Formula::Atom(Atom { linear: Linear::var(Var::Level(f, l)).scaled(&-Rational::ONE), strict: false })
}

/// Smallest and largest value of an input-only linear form, each variable on its own.
pub fn range(linear: &Linear, schema: &Schema) -> (Rational, Rational) {
    let (mut lo, mut hi) = (linear.constant.clone(), linear.constant.clone());
    for (var, c) in &linear.terms {
        let (a, b) = var_range(*var, schema);
        let (a, b) = (c * a, c * b);
        if a <= b {
            lo += a;
            hi += b;
        } else {
            lo += b;
            hi += a;
        }
    }
    (lo, hi)
}

/// The exact range of an input variable.
///
/// # Panics
/// If `var` is an output, or the schema has a bound that is not finite.
pub fn var_range(var: Var, schema: &Schema) -> (Rational, Rational) {
    let exact = |v: f32| Rational::try_from(v).expect("domain bounds are finite");
    match var {
        Var::Output(_) => unreachable!("outputs have no range"),
        Var::Level(..) => (Rational::ZERO, Rational::ONE),
        Var::Feature(f) => match &schema.features[f].domain {
            Domain::Real { lo, hi } | Domain::Stepped { lo, hi, .. } => (exact(*lo), exact(*hi)),
            Domain::Integer { lo, hi } => (Rational::from(*lo), Rational::from(*hi)),
            Domain::Ordered { levels } => (Rational::ZERO, Rational::from(levels.len().saturating_sub(1))),
            Domain::Category { .. } => unreachable!("a category has levels, not a value"),
        },
    }
}
