//! The text of a VNN-LIB 1.0 property enters; the same question leaves as a schema and rules: the unsafe set is never reached.
//!
//! `X_i` become features, `Y_j` targets. Bounds of single inputs are rounded outward to float32, as ranges of rule files are, so
//! that a set which real numbers satisfy is never empty for want of a float32 number; all other assertions go into the rules
//! exactly, strict and non-strict told apart. A disjunction among the assertions becomes one rule a part.

mod outward;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use deepsade_solve::sexpr::{self, ParenthesisFault, Position, Sexpr, WordOrList, decimal};
use deepsade_spec::{
    Domain, Feature, Formula, Linear, NormalSpec, OneHot, Rational, RuleText, Schema, SingleBound, Task, Var, compile, print,
};
use thiserror::Error;

pub use write::{WriteError, write};

/// Parts of a disjunction that become rules of their own; with more, one rule has them all.
const MOST_RULES: usize = 64;

/// A property, ready to be decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// Inputs with their ranges, outputs as targets.
    pub schema: Schema,
    /// What must hold for every input.
    pub rules: Vec<RuleText>,
    /// The rules in normal form.
    pub spec: NormalSpec,
}

/// What is wrong with a property's text, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {}, column {}: {problem}", .place.line, .place.column)]
pub struct VnnlibError {
    /// Where.
    pub place: Position,
    /// What.
    pub problem: PropertyProblem,
}

/// What is wrong with a property's text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PropertyProblem {
    /// Parentheses that don't match.
    #[error(transparent)]
    Parentheses(#[from] ParenthesisFault),
    /// Neither a declaration nor an assertion.
    #[error("expected (declare-const NAME Real) or (assert ...), found `{0}`")]
    Command(String),
    /// Something that the question does not have any more.
    #[error("`{0}` stands behind check-sat or exit: whoever asks does not mean it; move it up, or remove it")]
    After(String),
    /// A declaration of something else than a real input or output.
    #[error("expected (declare-const X_i Real) or (declare-const Y_j Real), with whole numbers i, j")]
    Declaration,
    /// Declared twice.
    #[error("{0} is declared twice")]
    Twice(String),
    /// A gap in the numbers.
    #[error("{0} is not declared; variables are numbered from 0 without gaps")]
    Missing(String),
    /// A name that is not declared.
    #[error("`{0}` is not declared")]
    Unknown(String),
    /// An operator that is not part of linear arithmetic.
    #[error("`{0}` is no operator here; known are {1}")]
    Operator(String, &'static str),
    /// Wrong number of operands.
    #[error("`{0}` needs {1}")]
    Operands(String, &'static str),
    /// A product or quotient that is not linear.
    #[error("`{0}` of two values that vary is not linear")]
    NotLinear(char),
    /// Division by zero.
    #[error("a division by zero")]
    ByZero,
    /// No number.
    #[error("`{0}` is no number such as 0.05 or -1.5e3")]
    Number(String),
    /// An input without a range.
    #[error("{0} has no {1} bound: assert one, such as ({2} {0} 1.0)")]
    Unbounded(String, &'static str, &'static str),
    /// A range beyond float32.
    #[error("the range of {0} is beyond float32")]
    Range(String),
    /// No input satisfies the assertions.
    #[error("the assertions leave no value for {0}: nothing is claimed, whatever the network")]
    Empty(String),
    /// No input at all.
    #[error("no input satisfies the assertions: nothing is claimed, whatever the network")]
    Contradiction,
    /// No assertion about outputs.
    #[error("no assertion mentions an output Y_j")]
    NoOutputs,
    /// The rule language refuses it.
    #[error("the property can't be written as a rule: {0}")]
    Rule(String),
}

fn at<T>(place: Position, problem: PropertyProblem) -> Result<T, VnnlibError> {
    Err(VnnlibError { place, problem })
}

/// Reads a property.
///
/// ```
/// let text = "(declare-const X_0 Real)(declare-const Y_0 Real)
///     (assert (>= X_0 0.0)) (assert (<= X_0 1.0)) ; the input set
///     (assert (> Y_0 3.5)) ; the unsafe outputs";
/// let property = deepsade_engine::verify::vnnlib::read(text).unwrap();
/// assert_eq!(property.rules[0].text, "Y_0 <= 3.5");
/// ```
pub fn read(text: &str) -> Result<Property, VnnlibError> {
    let end = Position { line: text.lines().count().max(1), column: 1 };
    let (mut names, mut parts) = (BTreeSet::new(), Vec::new());
    let mut places = Vec::new();
    let mut asked = false;
    for command in sexpr::parse(text).map_err(|(place, fault)| VnnlibError { place, problem: fault.into() })? {
        let WordOrList::List(items) = &command.expr else {
            return at(command.place, PropertyProblem::Command(command.head().into()));
        };
        let head = items.first().map(Sexpr::head);
        if asked && !matches!(head, Some("get-model" | "get-value" | "get-info" | "exit")) {
            return at(command.place, PropertyProblem::After(command.head().into()));
        }
        asked |= matches!(head, Some("check-sat" | "exit"));
        match (head, items.len()) {
            (Some("declare-const"), 3) | (Some("declare-fun"), 4) => {
                let name = items[1].head();
                let Some(var) = variable(name) else { return at(items[1].place, PropertyProblem::Declaration) };
                if items.last().map(Sexpr::head) != Some("Real") {
                    return at(command.place, PropertyProblem::Declaration);
                }
                if !names.insert(var) {
                    return at(items[1].place, PropertyProblem::Twice(name.into()));
                }
                places.push((var, items[1].place));
            }
            (Some("assert"), 2) => parts.push(formula(&items[1], &names)?),
            (Some("set-logic" | "set-info" | "check-sat" | "get-model" | "get-value" | "get-info" | "exit"), _) => {}
            _ => return at(command.place, PropertyProblem::Command(command.head().into())),
        }
    }
    let count = |inputs: bool| names.iter().filter(|v| v.is_output() != inputs).count();
    let (inputs, outputs) = (count(true), count(false));
    for var in (0..inputs).map(Var::Feature).chain((0..outputs).map(Var::Output)) {
        if !names.contains(&var) {
            return at(end, PropertyProblem::Missing(name(var)));
        }
    }
    if outputs == 0 || !parts.iter().any(|p| p.variables().iter().any(|v| v.is_output())) {
        return at(end, PropertyProblem::NoOutputs);
    }
    let places: BTreeMap<Var, Position> = places.into_iter().collect();
    let whole = Formula::and(parts.clone());
    let hulls = hulls(&whole);
    let mut features = Vec::new();
    for f in 0..inputs {
        let ends = hulls.as_ref().map(|all| all.get(&f).cloned().unwrap_or_default());
        let place = places.get(&Var::Feature(f)).copied().unwrap_or(end);
        let domain = domain(ends, f).map_err(|problem| VnnlibError { place, problem })?;
        features.push(Feature { name: name(Var::Feature(f)), domain });
    }
    let parts = vec![beyond_domain(outward::rounded(&whole), &features)];
    let targets = (0..outputs).map(|j| name(Var::Output(j))).collect();
    let schema = Schema { features, task: Task::regression(targets), one_hot: OneHot::Full, filled: vec![] };
    let sets: Vec<Formula> = unsafe_sets(parts).into_iter().filter(|set| *set != Formula::False).collect();
    if sets.is_empty() {
        return at(end, PropertyProblem::Contradiction);
    }
    let rules: Vec<RuleText> = sets
        .into_iter()
        .enumerate()
        .map(|(k, set)| RuleText { name: format!("property {}", k + 1), text: print::formula(&set.negated(), &schema) })
        .collect();
    match compile(&rules, &schema) {
        Ok(spec) => Ok(Property { schema, rules, spec }),
        Err(errors) => at(end, PropertyProblem::Rule(errors.iter().map(|e| e.kind.to_string()).collect::<Vec<_>>().join("; "))),
    }
}

/// The set without the bounds of single inputs that the domain states already: a picture has thousands, in every rule.
fn beyond_domain(set: Formula, features: &[Feature]) -> Formula {
    let stated = |part: &Formula| matches!(part, Formula::Atom(atom) if outward::holds_on(atom, features));
    match set {
        Formula::And(parts) => Formula::and(parts.into_iter().filter(|part| !stated(part)).collect::<Vec<_>>()),
        set => set,
    }
}

/// One set for each part of the only disjunction that mentions outputs; else the whole.
fn unsafe_sets(parts: Vec<Formula>) -> Vec<Formula> {
    let outputs = |f: &Formula| f.variables().iter().any(|v| v.is_output());
    let several = |f: &Formula| matches!(f, Formula::Or(any) if any.len() <= MOST_RULES) && outputs(f);
    let flat: Vec<Formula> = parts.into_iter().flat_map(|p| if let Formula::And(all) = p { all } else { vec![p] }).collect();
    let found: Vec<usize> = (0..flat.len()).filter(|k| several(&flat[*k])).collect();
    let [k] = found.as_slice() else { return vec![Formula::and(flat)] };
    let Formula::Or(any) = flat[*k].clone() else { return vec![Formula::and(flat)] };
    let rest: Vec<Formula> = flat.iter().enumerate().filter(|(i, _)| i != k).map(|(_, f)| f.clone()).collect();
    let sets = any.into_iter().map(|part| Formula::and(rest.iter().cloned().chain([part])));
    // Every part must say something about outputs to be a rule; otherwise they stay together.
    let sets: Vec<Formula> = sets.collect();
    if sets.iter().all(outputs) { sets } else { vec![Formula::and(flat)] }
}

fn name(var: Var) -> String {
    match var {
        Var::Output(j) => format!("Y_{j}"),
        Var::Feature(f) | Var::Level(f, _) => format!("X_{f}"),
    }
}

fn variable(name: &str) -> Option<Var> {
    let (kind, index) = name.split_once('_')?;
    let index: usize = index.parse().ok().filter(|i: &usize| i.to_string() == index && *i < 1 << 20)?;
    match kind {
        "X" => Some(Var::Feature(index)),
        "Y" => Some(Var::Output(index)),
        _ => None,
    }
}

fn formula(s: &Sexpr, names: &BTreeSet<Var>) -> Result<Formula, VnnlibError> {
    let WordOrList::List(items) = &s.expr else {
        return match s.head() {
            "true" => Ok(Formula::True),
            "false" => Ok(Formula::False),
            other => at(s.place, PropertyProblem::Operator(other.into(), "and, or, not, =>, <=, <, >=, >, =")),
        };
    };
    let operator = items.first().map(Sexpr::head).unwrap_or_default();
    let operands = &items[1.min(items.len())..];
    let formulas = || operands.iter().map(|o| formula(o, names)).collect::<Result<Vec<_>, _>>();
    match (operator, operands.len()) {
        ("and", _) => Ok(Formula::and(formulas()?)),
        ("or", _) => Ok(Formula::or(formulas()?)),
        ("not", 1) => Ok(formula(&operands[0], names)?.negated()),
        ("=>", 2) => {
            let [a, b] = [formula(&operands[0], names)?, formula(&operands[1], names)?];
            Ok(Formula::or([a.negated(), b]))
        }
        ("<=" | "<" | ">=" | ">" | "=", 2..) => {
            let sides = operands.iter().map(|o| linear(o, names)).collect::<Result<Vec<_>, _>>()?;
            Ok(Formula::and(sides.windows(2).map(|pair| compare(operator, &pair[0], &pair[1]))))
        }
        ("not", _) => at(s.place, PropertyProblem::Operands(operator.into(), "one operand")),
        ("=>" | "<=" | "<" | ">=" | ">" | "=", _) => at(s.place, PropertyProblem::Operands(operator.into(), "two operands")),
        _ => at(s.place, PropertyProblem::Operator(operator.into(), "and, or, not, =>, <=, <, >=, >, =")),
    }
}

fn compare(operator: &str, a: &Linear, b: &Linear) -> Formula {
    let least = |from: &Linear, less: &Linear, strict: bool| {
        let mut linear = from.clone();
        linear.add_scaled(&-Rational::ONE, less);
        Formula::compared(linear, strict)
    };
    match operator {
        "<=" => least(b, a, false),
        "<" => least(b, a, true),
        ">=" => least(a, b, false),
        ">" => least(a, b, true),
        _ => Formula::and([least(a, b, false), least(b, a, false)]),
    }
}

fn linear(s: &Sexpr, names: &BTreeSet<Var>) -> Result<Linear, VnnlibError> {
    let WordOrList::List(items) = &s.expr else {
        let word = s.head();
        if let Some(var) = variable(word) {
            return if names.contains(&var) { Ok(Linear::var(var)) } else { at(s.place, PropertyProblem::Unknown(word.into())) };
        }
        return match number(word) {
            Some(value) => Ok(Linear::constant(value)),
            None if word.starts_with(|c: char| c.is_alphabetic()) => at(s.place, PropertyProblem::Unknown(word.into())),
            None => at(s.place, PropertyProblem::Number(word.into())),
        };
    };
    let operator = items.first().map(Sexpr::head).unwrap_or_default();
    let terms = items[1.min(items.len())..].iter().map(|o| linear(o, names)).collect::<Result<Vec<_>, _>>()?;
    let (Some(first), rest) = (terms.first(), terms.get(1..).unwrap_or_default()) else {
        return at(s.place, PropertyProblem::Operands(operator.into(), "an operand"));
    };
    let mut sum = first.clone();
    match operator {
        "+" => rest.iter().for_each(|t| sum.add_scaled(&Rational::ONE, t)),
        "-" if rest.is_empty() => sum = sum.scaled(&-Rational::ONE),
        "-" => rest.iter().for_each(|t| sum.add_scaled(&-Rational::ONE, t)),
        "*" => {
            for t in rest {
                sum = match (sum.is_constant(), t.is_constant()) {
                    (_, true) => sum.scaled(&t.constant),
                    (true, _) => t.scaled(&sum.constant),
                    _ => return at(s.place, PropertyProblem::NotLinear('*')),
                };
            }
        }
        "/" => {
            for t in rest {
                if !t.is_constant() {
                    return at(s.place, PropertyProblem::NotLinear('/'));
                }
                if t.constant.is_zero() {
                    return at(s.place, PropertyProblem::ByZero);
                }
                sum = sum.scaled(&(Rational::ONE / &t.constant));
            }
        }
        _ => return at(s.place, PropertyProblem::Operator(operator.into(), "+, -, *, /")),
    }
    Ok(sum)
}

fn number(word: &str) -> Option<Rational> {
    let (sign, digits) = match word.strip_prefix('-') {
        Some(rest) => (-Rational::ONE, rest),
        None => (Rational::ONE, word.strip_prefix('+').unwrap_or(word)),
    };
    // `5.` and `.5` are written now and then.
    let digits = if digits.starts_with('.') { format!("0{digits}") } else { digits.to_string() };
    let digits = digits.strip_suffix('.').unwrap_or(&digits).replace(".e", "e").replace(".E", "E");
    Some(sign * decimal(&digits)?)
}

/// The float32 values around an input's interval; `None` if no value is left for any.
fn domain(ends: Option<Ends>, f: usize) -> Result<Domain, PropertyProblem> {
    let x = || name(Var::Feature(f));
    let (lo, hi) = ends.ok_or_else(|| PropertyProblem::Empty(x()))?;
    let lo = lo.ok_or_else(|| PropertyProblem::Unbounded(x(), "lower", ">="))?;
    let hi = hi.ok_or_else(|| PropertyProblem::Unbounded(x(), "upper", "<="))?;
    if lo > hi {
        return Err(PropertyProblem::Empty(x()));
    }
    let (lo, hi) = outward::down(&lo).zip(outward::up(&hi)).ok_or_else(|| PropertyProblem::Range(x()))?;
    Ok(Domain::Real { lo, hi })
}

type Ends = (Option<Rational>, Option<Rational>);

/// For each input that is confined, the smallest interval that holds it wherever the formula is true; `None` if it never is.
/// One pass for all inputs.
fn hulls(formula: &Formula) -> Option<BTreeMap<usize, Ends>> {
    match formula {
        Formula::False => None,
        Formula::And(parts) => {
            let mut all = BTreeMap::new();
            for part in parts {
                for (f, (lo, hi)) in hulls(part)? {
                    let ends: &mut Ends = all.entry(f).or_default();
                    ends.0 = ends.0.take().max(lo);
                    ends.1 = match (ends.1.take(), hi) {
                        (Some(a), Some(b)) => Some(a.min(b)),
                        (a, b) => a.or(b),
                    };
                }
            }
            Some(all)
        }
        Formula::Or(parts) => {
            let mut parts = parts.iter().filter_map(hulls);
            let mut all = parts.next()?;
            for mut part in parts {
                // What one part leaves free is free.
                all.retain(|f, (lo, hi)| {
                    let Some((a, b)) = part.remove(f) else { return false };
                    *lo = lo.take().zip(a).map(|(x, y)| x.min(y));
                    *hi = hi.take().zip(b).map(|(x, y)| x.max(y));
                    true
                });
            }
            Some(all)
        }
        Formula::Atom(atom) => {
            let mut all = BTreeMap::new();
            if let Some(SingleBound { var: Var::Feature(f), above, end, .. }) = atom.single_bound() {
                all.insert(f, if above { (None, Some(end)) } else { (Some(end), None) });
            }
            Some(all)
        }
        Formula::True | Formula::Threshold(_) => Some(BTreeMap::new()),
    }
}
