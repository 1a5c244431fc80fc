//! Syntax trees and a schema enter, typed rules leave: names are resolved, indices expanded, non-linear terms refused.

mod call;
mod compare;
mod names;
mod pair;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::Rational;
use crate::ast::{Expr, ExprKind, Generator, Operator, Quantifier};
use crate::error::{Fault, RuleErrorKind, Span};
use crate::schema::Schema;
use crate::typed::{Bool, MAX_PARTS, Num, Piecewise, TypedPair};

/// What an expression can be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    Num(Num),
    Bool(Bool),
    /// A categorical feature.
    Category(usize),
    /// A category whose levels have an order.
    Ordered(usize),
    /// The target of a classification.
    Class,
    /// A level in quotes.
    Text(String),
}

/// One rule being typed.
pub(crate) struct Elaborator<'a> {
    schema: &'a Schema,
    /// Index variables in scope, innermost last.
    indices: Vec<(String, Rational)>,
    parts: usize,
    reads_scores: bool,
    /// The features by name, and the numbered columns of each list, once a rule asks for them.
    features: OnceCell<BTreeMap<&'a str, usize>>,
    lists: BTreeMap<String, Rc<names::ListColumns<'a>>>,
}

/// What a rule claims.
pub(crate) enum Claimed {
    /// Of every input.
    One(Bool),
    /// Of every two inputs.
    Two(Vec<TypedPair>),
}

/// Types one rule; the flag says whether it reads raw scores of a classifier.
pub(crate) fn elaborate(expr: &Expr, schema: &Schema) -> Result<(Claimed, bool), Fault> {
    let mut elaborator = Elaborator::new(schema);
    if pair::compares_inputs(expr) {
        let mut pairs = Vec::new();
        elaborator.pairs(expr, &Bool::Const(true), &mut pairs)?;
        if pairs.is_empty() {
            return Err((RuleErrorKind::NoOutput, expr.span.clone(), None));
        }
        return Ok((Claimed::Two(pairs), elaborator.reads_scores));
    }
    let claim = elaborator.condition(expr)?;
    if !claim.mentions_output() {
        let hint = format!("mention what is predicted: {}", schema.task.target_columns().join(", "));
        return Err((RuleErrorKind::NoOutput, expr.span.clone(), Some(hint)));
    }
    Ok((Claimed::One(claim), elaborator.reads_scores))
}

impl<'a> Elaborator<'a> {
    fn new(schema: &'a Schema) -> Self {
        let (features, lists) = (OnceCell::new(), BTreeMap::new());
        Self { schema, indices: Vec::new(), parts: 0, reads_scores: false, features, lists }
    }
}

impl Elaborator<'_> {
    fn grow(&mut self, parts: usize, span: &Span) -> Result<(), Fault> {
        self.parts += parts;
        let hint = "use smaller ranges in `for` and `forall`, and don't put `abs` or comparisons inside each other many times";
        if self.parts > MAX_PARTS { Err((RuleErrorKind::TooLarge(MAX_PARTS), span.clone(), Some(hint.into()))) } else { Ok(()) }
    }

    /// A copy: what is written once and stands twice can double at each level.
    fn copy(&mut self, value: &Meaning, span: &Span) -> Result<Meaning, Fault> {
        let parts = match value {
            Meaning::Num(num) => num.parts(),
            Meaning::Bool(condition) => condition.parts(),
            Meaning::Category(_) | Meaning::Ordered(_) | Meaning::Class | Meaning::Text(_) => 1,
        };
        self.grow(parts, span)?;
        Ok(value.clone())
    }

    fn value(&mut self, expr: &Expr) -> Result<Meaning, Fault> {
        self.grow(1, &expr.span)?;
        match &expr.kind {
            ExprKind::Number(value) => Ok(Meaning::Num(Num::constant(value.clone()))),
            ExprKind::Text(text) => Ok(Meaning::Text(text.clone())),
            ExprKind::Truth(truth) => Ok(Meaning::Bool(Bool::Const(*truth))),
            ExprKind::Name(name) => self.name(name, &expr.span),
            ExprKind::Index(name, indices) => self.index(name, indices, &expr.span),
            ExprKind::Call { function, args, generators, by: None } => self.call(function, args, generators, &expr.span),
            ExprKind::Call { function: (name, _), .. } => {
                let hint = format!("`by = ...` belongs to change(...), not to {name}(...)");
                Err((RuleErrorKind::WrongArguments { function: "a function", takes: "no `by`" }, expr.span.clone(), Some(hint)))
            }
            ExprKind::Set(_) => {
                let kind = RuleErrorKind::Type { expected: "a number or a condition", found: "a set".into() };
                Err((kind, expr.span.clone(), Some("a set stands after `in`, or lists features: increasing(y, {a, b})".into())))
            }
            ExprKind::Negate(a) => Ok(Meaning::Num(self.number(a)?.scaled(&-Rational::ONE))),
            ExprKind::Not(a) => Ok(Meaning::Bool(not(self.condition(a)?))),
            ExprKind::All(parts) => Ok(Meaning::Bool(and(self.conditions(parts)?))),
            ExprKind::Any(parts) => Ok(Meaning::Bool(or(self.conditions(parts)?))),
            ExprKind::Binary(operator, a, b) => self.binary(*operator, a, b),
            ExprKind::Chain(operands, relations) => self.chain(operands, relations),
            ExprKind::In { item, set, negated } => {
                let member = self.membership(item, set)?;
                Ok(Meaning::Bool(if *negated { not(member) } else { member }))
            }
            ExprKind::If(condition, yes, no) => self.choice(condition, yes, no),
            ExprKind::Quantified(quantifier, generators, body) => {
                let mut parts = Vec::new();
                self.repeat(generators, &mut |this| {
                    parts.push(this.condition(body)?);
                    Ok(())
                })?;
                Ok(Meaning::Bool(match quantifier {
                    Quantifier::ForAll => and(parts),
                    Quantifier::Exists => or(parts),
                }))
            }
        }
    }

    /// An expression that must be a condition.
    fn condition(&mut self, expr: &Expr) -> Result<Bool, Fault> {
        match self.value(expr)? {
            Meaning::Bool(condition) => Ok(condition),
            other => {
                let hint = match (&expr.kind, &other) {
                    (ExprKind::Name(name), Meaning::Num(_)) => Some(format!("compare it, as in `{name} > 0`")),
                    (ExprKind::Name(name), Meaning::Category(_) | Meaning::Ordered(_) | Meaning::Class) => {
                        Some(format!("compare it, as in `{name} == '...'`"))
                    }
                    _ => None,
                };
                let expected = "a condition that is true or false";
                Err((RuleErrorKind::Type { expected, found: self.describe(&other) }, expr.span.clone(), hint))
            }
        }
    }

    fn conditions(&mut self, parts: &[Expr]) -> Result<Vec<Bool>, Fault> {
        parts.iter().map(|part| self.condition(part)).collect()
    }

    /// An expression that must be a number; a condition counts as 1 or 0.
    fn number(&mut self, expr: &Expr) -> Result<Num, Fault> {
        let value = self.value(expr)?;
        self.to_number(value, &expr.span)
    }

    fn to_number(&self, value: Meaning, span: &Span) -> Result<Num, Fault> {
        match value {
            Meaning::Num(num) => Ok(num),
            Meaning::Bool(Bool::Const(truth)) => Ok(Num::constant(Rational::from(u8::from(truth)))),
            Meaning::Bool(condition) => Ok(Num::piece(Piecewise::Indicator(Box::new(condition)))),
            other => Err((RuleErrorKind::Type { expected: "a number", found: self.describe(&other) }, span.clone(), None)),
        }
    }

    fn describe(&self, value: &Meaning) -> String {
        match value {
            Meaning::Num(_) => "a number".into(),
            Meaning::Bool(_) => "a condition".into(),
            Meaning::Category(f) | Meaning::Ordered(f) => format!("the category '{}'", self.schema.features[*f].name),
            Meaning::Class => format!("the class '{}'", self.schema.task.target_columns()[0]),
            Meaning::Text(text) => format!("the text '{text}'"),
        }
    }

    /// A chain such as `a + b - c` nests to the left: it is taken apart in a loop, not by a call for each link.
    fn binary(&mut self, operator: Operator, a: &Expr, b: &Expr) -> Result<Meaning, Fault> {
        let (mut first, mut rest) = (a, vec![(operator, b)]);
        while let ExprKind::Binary(inner, a, b) = &first.kind
            && inner.chains_with(operator)
        {
            rest.push((*inner, b));
            first = a;
        }
        match operator {
            Operator::Implies => Ok(Meaning::Bool(or(vec![not(self.condition(a)?), self.condition(b)?]))),
            Operator::Iff => {
                let mut left = self.condition(first)?;
                for (_, right) in rest.into_iter().rev() {
                    left = iff(left, self.condition(right)?);
                }
                Ok(Meaning::Bool(left))
            }
            Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide => {
                let mut left = self.number(first)?;
                for (operator, term) in rest.into_iter().rev() {
                    left = self.operate(operator, left, first.span.start, term)?;
                }
                Ok(Meaning::Num(left))
            }
        }
    }

    fn operate(&mut self, operator: Operator, mut left: Num, start: usize, b: &Expr) -> Result<Num, Fault> {
        let right = self.number(b)?;
        match operator {
            Operator::Subtract => left.add_scaled(&-Rational::ONE, right),
            Operator::Multiply => {
                if let Some(factor) = left.as_constant() {
                    return Ok(right.scaled(factor));
                }
                let Some(factor) = right.as_constant() else {
                    let hint = "one side of `*` must be a constant; conditions such as `x == 'a' => ...` can stand for a switch";
                    return Err((RuleErrorKind::NotLinear("both factors vary"), start..b.span.end, Some(hint.into())));
                };
                left = left.scaled(factor);
            }
            Operator::Divide => {
                let Some(divisor) = right.as_constant() else {
                    let hint = "multiply out: write `y <= 2 * x` for `y / x <= 2` where x is positive";
                    return Err((RuleErrorKind::NotLinear("the divisor varies"), b.span.clone(), Some(hint.into())));
                };
                if divisor.is_zero() {
                    let hint = "divide by a number that is not 0; `y / 0 <= 1` says nothing of y";
                    return Err((RuleErrorKind::DivisionByZero, b.span.clone(), Some(hint.into())));
                }
                left = left.scaled(&(Rational::ONE / divisor));
            }
            _ => left.add_scaled(&Rational::ONE, right),
        }
        Ok(left)
    }

    fn choice(&mut self, condition: &Expr, yes: &Expr, no: &Expr) -> Result<Meaning, Fault> {
        let span = &condition.span;
        let condition = self.condition(condition)?;
        let (a, b) = (self.value(yes)?, self.value(no)?);
        if let (Meaning::Bool(a), Meaning::Bool(b)) = (&a, &b) {
            self.grow(condition.parts(), span)?;
            let first = or(vec![not(condition.clone()), a.clone()]);
            return Ok(Meaning::Bool(and(vec![first, or(vec![condition, b.clone()])])));
        }
        let (a, b) = (self.to_number(a, &yes.span)?, self.to_number(b, &no.span)?);
        Ok(Meaning::Num(match condition {
            Bool::Const(true) => a,
            Bool::Const(false) => b,
            condition => Num::piece(Piecewise::If(Box::new(condition), Box::new(a), Box::new(b))),
        }))
    }

    /// Runs `body` once for each combination of the generators' values, the first generator outermost.
    fn repeat(&mut self, generators: &[Generator], body: &mut dyn FnMut(&mut Self) -> Result<(), Fault>) -> Result<(), Fault> {
        let Some((first, rest)) = generators.split_first() else { return body(self) };
        let (low, high) = (self.whole(&first.low)?, self.whole(&first.high)?);
        for i in low..high {
            self.parts += 1;
            self.indices.push((first.name.clone(), Rational::from(i)));
            let result = self.repeat(rest, body);
            self.indices.pop();
            result?;
        }
        Ok(())
    }

    /// A constant whole number.
    fn whole(&mut self, expr: &Expr) -> Result<i64, Fault> {
        let num = self.number(expr)?;
        let whole = num.as_constant().filter(|q| q.denominator().is_one()).and_then(|q| i64::try_from(q.numerator()).ok());
        whole.ok_or_else(|| {
            let found = if num.as_constant().is_some() { "a fraction or too large" } else { "a value that varies" };
            let kind = RuleErrorKind::Type { expected: "a constant whole number", found: found.into() };
            (kind, expr.span.clone(), None)
        })
    }
}

/// Conjunction, flat and without constants.
pub(crate) fn and(parts: Vec<Bool>) -> Bool {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Bool::Const(true) => {}
            Bool::Const(false) => return Bool::Const(false),
            Bool::And(inner) => all.extend(inner),
            other => all.push(other),
        }
    }
    if !together(&mut all, none_of, not) {
        return Bool::Const(false);
    }
    match all.len() {
        0 => Bool::Const(true),
        1 => all.remove(0),
        _ => Bool::And(all),
    }
}

/// Disjunction, flat and without constants.
pub(crate) fn or(parts: Vec<Bool>) -> Bool {
    let mut any = Vec::new();
    for part in parts {
        match part {
            Bool::Const(false) => {}
            Bool::Const(true) => return Bool::Const(true),
            Bool::Or(inner) => any.extend(inner),
            other => any.push(other),
        }
    }
    if !together(&mut any, one_of, |classes| classes) {
        return Bool::Const(true);
    }
    match any.len() {
        0 => Bool::Const(false),
        1 => any.remove(0),
        _ => Bool::Or(any),
    }
}

/// The classes that are said to be predicted, one of them.
fn one_of(part: &Bool) -> Option<(&[usize], usize)> {
    if let Bool::ClassIn(classes, of) = part { Some((classes, *of)) } else { None }
}

/// The classes none of which is said to be predicted.
fn none_of(part: &Bool) -> Option<(&[usize], usize)> {
    if let Bool::Not(inner) = part { one_of(inner) } else { None }
}

/// Puts those parts together that say something of one set of classes each: `k == 'a' or k == 'b'` is `k in {'a', 'b'}`, and is kept and
/// proved as that. False if all classes come together.
fn together(parts: &mut Vec<Bool>, set: impl Fn(&Bool) -> Option<(&[usize], usize)>, made: impl Fn(Bool) -> Bool) -> bool {
    let sets: Vec<(usize, Vec<usize>, usize)> =
        parts.iter().enumerate().filter_map(|(k, part)| set(part).map(|(classes, of)| (k, classes.to_vec(), of))).collect();
    let [(first, _, of), _, ..] = sets[..] else { return true };
    let mut all: Vec<usize> = sets.iter().flat_map(|(_, classes, _)| classes.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    if all.len() == of {
        return false;
    }
    parts[first] = made(Bool::ClassIn(all, of));
    for (k, ..) in sets[1..].iter().rev() {
        parts.remove(*k);
    }
    true
}

/// Negation, never doubled.
pub(crate) fn not(a: Bool) -> Bool {
    match a {
        Bool::Const(truth) => Bool::Const(!truth),
        Bool::Not(inner) => *inner,
        other => Bool::Not(Box::new(other)),
    }
}

fn iff(a: Bool, b: Bool) -> Bool {
    match (a, b) {
        (Bool::Const(true), other) | (other, Bool::Const(true)) => other,
        (Bool::Const(false), other) | (other, Bool::Const(false)) => not(other),
        (a, b) => Bool::Iff(Box::new(a), Box::new(b)),
    }
}
