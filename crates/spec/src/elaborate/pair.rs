//! `increasing`, `decreasing`, `unaffected` and `change`: rules that compare the predictions of two inputs.

use super::{Elaborator, Meaning, and, not};
use crate::Rational;
use crate::ast::{By, Expr, ExprKind, Operator, Quantifier, Relation};
use crate::error::{Fault, RuleErrorKind, Span};
use crate::linear::{Linear, Var};
use crate::normalize::var_range;
use crate::pair::Moves;
use crate::schema::{Domain, indicator_of};
use crate::typed::{Bool, Compared, Num, TypedPair};

/// The functions of two inputs.
pub(super) const FUNCTIONS: &[&str] = &["increasing", "decreasing", "unaffected", "change"];

/// Whether an expression compares two inputs somewhere.
pub(crate) fn compares_inputs(expr: &Expr) -> bool {
    let any = |list: &[Expr]| list.iter().any(compares_inputs);
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Text(_) | ExprKind::Truth(_) | ExprKind::Name(_) => false,
        ExprKind::Call { function: (name, _), args, .. } => FUNCTIONS.contains(&name.as_str()) || any(args),
        ExprKind::Index(_, list) | ExprKind::Set(list) | ExprKind::All(list) | ExprKind::Any(list) | ExprKind::Chain(list, _) => {
            any(list)
        }
        ExprKind::Negate(a) | ExprKind::Not(a) | ExprKind::Quantified(_, _, a) => compares_inputs(a),
        // Chains nest to the left: taken apart in a loop.
        ExprKind::Binary(_, a, b) => {
            let (mut left, mut right) = (a, b);
            loop {
                if compares_inputs(right) {
                    return true;
                }
                match &left.kind {
                    ExprKind::Binary(_, a, b) => (left, right) = (a, b),
                    _ => return compares_inputs(left),
                }
            }
        }
        ExprKind::In { item, set, .. } => compares_inputs(item) || any(set),
        ExprKind::If(a, b, c) => [a, b, c].into_iter().any(|e| compares_inputs(e)),
    }
}

impl Elaborator<'_> {
    /// A rule between two inputs: functions of two inputs, alone, beside each other, or under conditions on the input.
    pub(super) fn pairs(&mut self, expr: &Expr, under: &Bool, out: &mut Vec<TypedPair>) -> Result<(), Fault> {
        self.grow(1 + under.parts(), &expr.span)?;
        match &expr.kind {
            ExprKind::All(parts) => parts.iter().try_for_each(|part| self.pairs(part, under, out)),
            ExprKind::Quantified(Quantifier::ForAll, generators, body) => {
                self.repeat(generators, &mut |this| this.pairs(body, under, out))
            }
            ExprKind::Binary(Operator::Implies, condition, body) if !compares_inputs(condition) => {
                let condition_value = self.condition(condition)?;
                if condition_value.mentions_output() {
                    let found = "a condition on the prediction".into();
                    let kind = RuleErrorKind::Type { expected: "a condition on the input", found };
                    return Err((
                        kind,
                        condition.span.clone(),
                        Some("both inputs satisfy the condition, whatever is predicted".into()),
                    ));
                }
                let under = and(vec![under.clone(), condition_value]);
                self.pairs(body, &under, out)
            }
            ExprKind::Call { function: (name, _), args, generators, by }
                if name != "change" && FUNCTIONS.contains(&name.as_str()) =>
            {
                if !generators.is_empty() || by.is_some() {
                    return Err(wrong(name, &expr.span));
                }
                self.trend(name, args, under, &expr.span, out)
            }
            ExprKind::Call { function: (name, _), .. } if name == "change" => Err(wrong(name, &expr.span)),
            ExprKind::Chain(operands, relations) => match (&operands[..], &relations[..]) {
                ([change, bound], [Relation::LessEqual | Relation::Less]) if is_change(change) => {
                    self.change(change, bound, relations[0] == Relation::Less, under, out)
                }
                ([bound, change], [Relation::GreaterEqual | Relation::Greater]) if is_change(change) => {
                    self.change(change, bound, relations[0] == Relation::Greater, under, out)
                }
                _ => Err(alone(expr)),
            },
            _ => Err(alone(expr)),
        }
    }

    /// `increasing(y, x)`, `decreasing(y, x)`, `unaffected(y, x)`.
    fn trend(&mut self, name: &str, args: &[Expr], under: &Bool, span: &Span, out: &mut Vec<TypedPair>) -> Result<(), Fault> {
        let [of, moved] = args else { return Err(wrong(name, span)) };
        let moves = if name == "unaffected" { Moves::Any } else { Moves::Up };
        let features = self.features(name, moved, moves == Moves::Any)?;
        let falls = name == "decreasing";
        let mut push = |compared: Compared| {
            out.push(TypedPair { condition: under.clone(), features: features.clone(), moves: moves.clone(), compared });
        };
        match self.value(of)? {
            Meaning::Class if moves == Moves::Any => {
                let classes = self.schema.task.classes().map_or(0, <[String]>::len);
                (0..classes).for_each(|c| push(Compared::Condition(Bool::ClassIn(vec![c], classes))));
            }
            Meaning::Bool(condition) => {
                self.of_outputs(name, &condition, &of.span)?;
                // The same for all inputs either way round: its opposite need not be said, too.
                push(Compared::Condition(if falls { not(condition) } else { condition }));
            }
            Meaning::Num(num) => {
                let linear = self.linear(name, num, &of.span)?;
                let linear = if falls { linear.scaled(&-Rational::ONE) } else { linear };
                push(Compared::Number { linear, by: Rational::ZERO, strict: false });
            }
            other => {
                let hint = matches!(other, Meaning::Class).then(|| {
                    let (target, classes) =
                        (self.schema.task.target_columns()[0], self.schema.task.classes().unwrap_or_default());
                    let class = classes.last().map_or("...", String::as_str);
                    format!("say which class: {name}({target} == '{class}', ...)")
                });
                let kind = RuleErrorKind::Type { expected: "a number or a condition", found: self.describe(&other) };
                return Err((kind, of.span.clone(), hint));
            }
        }
        Ok(())
    }

    /// `change(y, {x1, x2}, by = 0.1) <= 5`.
    fn change(&mut self, call: &Expr, bound: &Expr, strict: bool, under: &Bool, out: &mut Vec<TypedPair>) -> Result<(), Fault> {
        let ExprKind::Call { function: (name, _), args, generators, by } = &call.kind else { return Err(alone(call)) };
        if compares_inputs(bound) {
            return Err(alone(bound));
        }
        let (Some(by), true, [of, rest @ ..]) = (by, generators.is_empty(), &args[..]) else {
            return Err(wrong(name, &call.span));
        };
        let features = match rest {
            [] => {
                let number = |f: &usize| self.schema.features[*f].domain.range().is_some();
                (0..self.schema.features.len()).filter(number).collect()
            }
            [list] => self.features(name, list, false)?,
            _ => return Err(wrong(name, &call.span)),
        };
        if features.is_empty() {
            let kind =
                RuleErrorKind::Type { expected: "a number among the features", found: "an input of categories alone".into() };
            return Err((kind, call.span.clone(), Some("categories have no distance: say `unaffected`".into())));
        }
        let (features, by) = self.distances(by, &features)?;
        let most = self.number(bound)?;
        let Some(most) =
            most.as_constant().filter(|m| if strict { **m > Rational::ZERO } else { **m >= Rational::ZERO }).cloned()
        else {
            let found =
                if most.as_constant().is_some() { "too small: two equal inputs change nothing" } else { "a value that varies" };
            let kind = RuleErrorKind::Type { expected: "a constant of at least 0", found: found.into() };
            return Err((kind, bound.span.clone(), None));
        };
        let num = match self.value(of)? {
            Meaning::Num(num) => num,
            other => {
                let hint =
                    "`change` is about numbers; for classes and labels say `unaffected`, or compare their scores".to_string();
                let kind = RuleErrorKind::Type { expected: "a number", found: self.describe(&other) };
                return Err((kind, of.span.clone(), Some(hint)));
            }
        };
        let linear = self.linear(name, num, &of.span)?;
        let compared = Compared::Number { linear, by: most, strict };
        out.push(TypedPair { condition: under.clone(), features, moves: Moves::By(by), compared });
        Ok(())
    }

    /// Which of the features move, and how far: those that lie on steps by whole steps. Where a distance lets none of them move, all stay.
    fn distances(&mut self, by: &By, features: &[usize]) -> Result<(Vec<usize>, Vec<Rational>), Fault> {
        let distance = self.number(&by.distance)?;
        let Some(distance) = distance.as_constant().filter(|d| **d > Rational::ZERO) else {
            let found = if distance.as_constant().is_some() { "none" } else { "a value that varies" };
            let kind = RuleErrorKind::Type { expected: "a constant above 0", found: found.into() };
            return Err((kind, by.distance.span.clone(), Some("as in `by = 0.1`, or `by = 5%` of each feature's range".into())));
        };
        // No two inputs lie farther apart than a feature's range is wide, so a longer distance says the same as its width.
        let of = |f: &usize| {
            let (lo, hi) = var_range(Var::Feature(*f), self.schema);
            let width = hi - lo;
            let far = if by.percent { distance / Rational::from(100) * &width } else { distance.clone() }.min(width);
            let step = self.schema.features[*f].domain.grid().map(|k| Rational::from(2).pow(-k as isize));
            (*f, step.map_or(far.clone(), |step| Rational::from((far / &step).floor()) * step))
        };
        let all: Vec<(usize, Rational)> = features.iter().map(of).collect();
        let moving: Vec<(usize, Rational)> = all.iter().filter(|(_, far)| *far > Rational::ZERO).cloned().collect();
        Ok(if moving.is_empty() { all } else { moving }.into_iter().unzip())
    }

    /// The features that move: one, or a set of them.
    fn features(&mut self, function: &str, expr: &Expr, any: bool) -> Result<Vec<usize>, Fault> {
        let list = if let ExprKind::Set(list) = &expr.kind { &list[..] } else { std::slice::from_ref(expr) };
        let mut features = Vec::new();
        for item in list {
            let ExprKind::Name(name) = &item.kind else {
                let kind = RuleErrorKind::Type { expected: "a feature, or features as {a, b}", found: "something else".into() };
                return Err((kind, item.span.clone(), None));
            };
            let Some(f) = self.feature(name) else {
                // A name that nothing has is told as everywhere else; an output is no feature.
                let found = self.describe(&self.name(name, &item.span)?);
                let kind = RuleErrorKind::Type { expected: "a feature of the input", found };
                return Err((
                    kind,
                    item.span.clone(),
                    Some(format!("what is predicted comes first: {function}(prediction, feature)")),
                ));
            };
            if !any && matches!(self.schema.features[f].domain, Domain::Category { .. }) {
                let why = "its levels have no order";
                let hint =
                    format!("state the order of its levels in the rule file, [features.{name}] order = [\"low\", ..., \"high\"]");
                let kind = RuleErrorKind::NotMoved { function: function.into(), name: name.clone(), why };
                return Err((kind, item.span.clone(), Some(hint)));
            }
            if features.contains(&f) {
                let kind = RuleErrorKind::NotMoved { function: function.into(), name: name.clone(), why: "it is listed twice" };
                return Err((kind, item.span.clone(), None));
            }
            features.push(f);
        }
        // What does not depend on a value does not depend on whether there is one, either.
        if any {
            let named = features.iter().map(|f| &self.schema.features[*f].name);
            let filled = named.filter(|name| self.schema.filled.iter().any(|f| f.indicator && f.feature == **name));
            let indicators: Vec<usize> = filled.filter_map(|name| self.feature(&indicator_of(name))).collect();
            let beside: Vec<usize> = indicators.into_iter().filter(|f| !features.contains(f)).collect();
            features.extend(beside);
        }
        features.sort_unstable();
        Ok(features)
    }

    /// A linear form of outputs alone; its constant makes no difference.
    fn linear(&self, function: &str, num: Num, span: &Span) -> Result<Linear, Fault> {
        if !num.pieces.is_empty() {
            let hint = "compare its parts one by one, beside each other with `and`";
            return Err((RuleErrorKind::NotLinear("min, max, abs, if or a count"), span.clone(), Some(hint.into())));
        }
        let Linear { terms, .. } = num.linear;
        match terms.keys().find_map(|v| v.feature()) {
            Some(f) => Err(self.not_outputs(function, f, span)),
            None if terms.is_empty() => Err((RuleErrorKind::NoOutput, span.clone(), None)),
            None => Ok(Linear { terms, constant: Rational::ZERO }),
        }
    }

    fn of_outputs(&self, function: &str, condition: &Bool, span: &Span) -> Result<(), Fault> {
        match condition.a_feature() {
            Some(f) => Err(self.not_outputs(function, f, span)),
            None if condition.mentions_output() => Ok(()),
            None => Err((RuleErrorKind::NoOutput, span.clone(), None)),
        }
    }

    fn not_outputs(&self, function: &str, f: usize, span: &Span) -> Fault {
        let found = format!("'{}' is a feature of the input", self.schema.features[f].name);
        let hint = format!("a condition on the input stands before `=>`: condition => {function}(...)");
        (RuleErrorKind::NotOutputs { function: function.into(), found }, span.clone(), Some(hint))
    }
}

fn is_change(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { function: (name, _), .. } if name == "change")
}

fn wrong(name: &str, span: &Span) -> Fault {
    let (function, takes) = match name {
        "increasing" => ("increasing", "what is predicted and the features, as in increasing(risk, {age, claims})"),
        "decreasing" => ("decreasing", "what is predicted and the features, as in decreasing(price, age)"),
        "unaffected" => ("unaffected", "what is predicted and the features, as in unaffected(loan, {gender, area})"),
        _ => ("change", "what is predicted, features and a distance, and is compared, as in change(price, {age}, by = 0.1) <= 5"),
    };
    (RuleErrorKind::WrongArguments { function, takes }, span.clone(), None)
}

/// Something that only stands alone, inside something else.
pub(super) fn alone(expr: &Expr) -> Fault {
    let called = |expr: &Expr| match &expr.kind {
        ExprKind::Call { function: (found, _), .. } => FUNCTIONS.iter().find(|f| *f == found),
        _ => None,
    };
    let name = match &expr.kind {
        ExprKind::Chain(operands, _) => operands.iter().find_map(called),
        _ => called(expr),
    };
    let parts = |expr: &Expr| matches!(&expr.kind, ExprKind::Binary(_, a, b) if is_change(a) || is_change(b)) || is_change(expr);
    let changes = matches!(&expr.kind, ExprKind::Chain(operands, _) if operands.iter().any(parts));
    let name = *name.unwrap_or(if changes { &"change" } else { &"increasing" });
    let hint = if changes {
        "one change is at most, or below, a constant, as in `change(y, {x}, by = 0.1) <= 5`; other rules stand on their own: one [[rule]] each"
    } else {
        "other rules stand on their own: one [[rule]] each"
    };
    (RuleErrorKind::TwoInputs(name.into()), expr.span.clone(), Some(hint.into()))
}
