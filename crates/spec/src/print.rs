//! The normal form as text that reads like a rule.

use std::fmt::Write;

use crate::Rational;
use crate::formula::{Atom, Formula, Threshold};
use crate::lex::{TokenKind, lex};
use crate::linear::{Linear, Var};
use crate::pair::{Kept, Moves, Pair, PairRule};
use crate::schema::{Domain, Schema, Task};
use dashu::integer::{IBig, UBig};

/// The formula in the names of the schema.
pub fn formula(f: &Formula, schema: &Schema) -> String {
    match f {
        Formula::True => "true".into(),
        Formula::False => "false".into(),
        Formula::Atom(a) => atom(a, schema),
        Formula::And(parts) => join(parts, " and ", schema),
        Formula::Or(parts) => join(parts, " or ", schema),
        Formula::Threshold(t) => threshold(t, schema),
    }
}

/// A rule between two inputs in words.
pub fn pair(pair: &Pair, schema: &Schema) -> String {
    let names: Vec<String> = pair.features.iter().map(|f| quote(&schema.features[*f].name)).collect();
    let names = |word: &str| names.join(word);
    let kept = match (&pair.kept, &pair.moves) {
        (Kept::Number { linear: form, .. }, Moves::Up) => {
            let falls = form.terms.values().all(|c| *c < Rational::ZERO);
            let (form, verb) = if falls { (form.scaled(&-Rational::ONE), "rises") } else { (form.clone(), "falls") };
            format!("{} never {verb} when {} rises", linear(&form, schema), names(" or "))
        }
        (Kept::Condition(condition), Moves::Up) => {
            format!("({}) stays so when {} rises", formula(condition, schema), names(" or "))
        }
        (Kept::Number { linear: form, .. }, Moves::Any) => {
            format!("{} is the same whatever {} is", linear(form, schema), names(" and "))
        }
        (Kept::Condition(condition), Moves::Any) => {
            format!("whether {} is the same whatever {} is", formula(condition, schema), names(" and "))
        }
        (Kept::Number { linear: form, by, strict }, Moves::By(distances)) => {
            let each = pair.features.iter().zip(distances);
            let each: Vec<String> =
                each.map(|(f, d)| format!("{} moves by at most {}", quote(&schema.features[*f].name), short(d))).collect();
            let most = if *strict { "less than" } else { "at most" };
            format!("{} changes by {most} {} when {}", linear(form, schema), number(by), each.join(" and "))
        }
        (Kept::Condition(condition), Moves::By(_)) => format!("({}) stays so", formula(condition, schema)),
    };
    match &pair.condition {
        Formula::True => kept,
        condition => format!("where {}: {kept}", formula(condition, schema)),
    }
}

/// All of a rule between two inputs in words.
pub fn pair_rule(rule: &PairRule, schema: &Schema) -> String {
    let classes = schema.task.classes().map_or(0, <[String]>::len);
    let mut said: Vec<String> = Vec::new();
    let mut rest = &rule.parts[..];
    while let Some(part) = rest.first() {
        let alike = |p: &Pair| {
            p.moves == Moves::Any
                && matches!(p.kept, Kept::Condition(_))
                && (&p.features, &p.condition) == (&part.features, &part.condition)
        };
        // A class that stays is one condition a class.
        let whole = classes > 0 && rest.len() >= classes && rest[..classes].iter().all(alike);
        let words = if whole {
            let names: Vec<String> = part.features.iter().map(|f| quote(&schema.features[*f].name)).collect();
            let same = format!("the predicted class is the same whatever {} is", names.join(" and "));
            if part.condition == Formula::True { same } else { format!("where {}: {same}", formula(&part.condition, schema)) }
        } else {
            pair(part, schema)
        };
        if !said.contains(&words) {
            said.push(words);
        }
        rest = &rest[if whole { classes } else { 1 }..];
    }
    said.join("; ")
}

/// A distance for people: a share of a range may have many digits.
fn short(value: &Rational) -> String {
    let exact = number(value);
    let near = value.to_f64().value();
    match near.abs() {
        _ if exact.len() <= 12 => exact,
        1e-3..1e9 => format!("{near:.6}"),
        size if size.is_normal() => format!("{near:.6e}"),
        // Beyond float64: its power of ten.
        _ => {
            let digits = |n: String| n.len() as isize;
            let power = digits(value.numerator().to_string()) - digits(value.denominator().to_string());
            format!("about 1e{power}")
        }
    }
}

fn join(parts: &[Formula], word: &str, schema: &Schema) -> String {
    let shown = parts.iter().map(|p| match p {
        Formula::And(_) | Formula::Or(_) => format!("({})", formula(p, schema)),
        _ => formula(p, schema),
    });
    shown.collect::<Vec<_>>().join(word)
}

fn threshold(t: &Threshold, schema: &Schema) -> String {
    let parts = t.terms.iter().map(|(w, p)| {
        let shown = formula(p, schema);
        if w.is_one() { shown } else { format!("{} * [{shown}]", number(w)) }
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    format!("count({parts}) {} {}", if t.strict { ">" } else { ">=" }, number(&t.bound))
}

/// `-a - b + c x + d >= 0` as `a + b <= c x + d`: negative terms go to the other side, outputs to the left.
fn atom(a: &Atom, schema: &Schema) -> String {
    if let Some(shown) = simple(a, schema) {
        return shown;
    }
    let flip = a.linear.terms.first_key_value().is_some_and(|(_, c)| *c < Rational::ZERO);
    let sign = if flip { -Rational::ONE } else { Rational::ONE };
    let mut left = Linear::default();
    let mut right = Linear::constant(-&sign * &a.linear.constant);
    for (var, c) in &a.linear.terms {
        let c = &sign * c;
        if c > Rational::ZERO && (var.is_output() || !a.linear.mentions_output()) {
            left.terms.insert(*var, c);
        } else {
            right.terms.insert(*var, -c);
        }
    }
    let relation = match (flip, a.strict) {
        (false, false) => ">=",
        (false, true) => ">",
        (true, false) => "<=",
        (true, true) => "<",
    };
    format!("{} {relation} {}", linear(&left, schema), linear(&right, schema))
}

/// Labels, places, levels and thresholds have a shorter form than their inequality.
fn simple(a: &Atom, schema: &Schema) -> Option<String> {
    if let Some((j, present)) = a.label() {
        let shown = match &schema.task {
            Task::Multilabel { .. } => format!("label[{j}]"),
            Task::Ranking { items } => format!("at[{}, {}]", j / items.len(), j % items.len()),
            _ => return None,
        };
        return Some(if present { shown } else { format!("not {shown}") });
    }
    let (var, c) = a.linear.single()?;
    let one = &a.linear.constant;
    match (var, a.strict) {
        (Var::Level(f, l), false) => {
            let Domain::Category { levels } = &schema.features[f].domain else { return None };
            let name = quote(&schema.features[f].name);
            if c.is_one() && *one == -Rational::ONE {
                Some(format!("{name} == {}", quote_level(&levels[l])))
            } else if *c == -Rational::ONE && one.is_zero() {
                Some(format!("{name} != {}", quote_level(&levels[l])))
            } else {
                None
            }
        }
        (Var::Feature(f), strict) if c.is_one() || *c == -Rational::ONE => {
            let relation = match (c.is_one(), strict) {
                (true, false) => ">=",
                (true, true) => ">",
                (false, false) => "<=",
                (false, true) => "<",
            };
            let bound = -c * one;
            // Of an ordered category the bound is the place of a level.
            let place = schema.features[f].domain.levels().and_then(|levels| {
                let k = (0..levels.len()).find(|k| Rational::from(*k) == bound)?;
                Some(quote_level(&levels[k]))
            });
            Some(format!("{} {relation} {}", quote(&schema.features[f].name), place.or_else(|| read_as(&bound))?))
        }
        _ => None,
    }
}

/// The shortest decimal that is read as this float32; `None` for other numbers.
fn read_as(t: &Rational) -> Option<String> {
    let short = t.to_f64().value() as f32;
    if Rational::try_from(short).ok()? != *t {
        return None;
    }
    let plain = short == 0.0 || (1e-5..1e16).contains(&short.abs());
    Some(if plain { format!("{short}") } else { format!("{short:e}") })
}

fn linear(form: &Linear, schema: &Schema) -> String {
    let mut out = String::new();
    for (var, c) in &form.terms {
        let magnitude = if *c < Rational::ZERO { -c } else { c.clone() };
        let sign = match (out.is_empty(), *c < Rational::ZERO) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        out.push_str(sign);
        if !magnitude.is_one() {
            let _ = write!(out, "{} * ", number(&magnitude));
        }
        out.push_str(&variable(*var, schema));
    }
    if out.is_empty() {
        return number(&form.constant);
    }
    if form.constant > Rational::ZERO {
        let _ = write!(out, " + {}", number(&form.constant));
    } else if form.constant < Rational::ZERO {
        let _ = write!(out, " - {}", number(&-&form.constant));
    }
    out
}

/// The variable in the names of the schema.
pub fn variable(var: Var, schema: &Schema) -> String {
    match var {
        Var::Output(j) => match schema.task {
            Task::Regression { .. } => quote(&schema.task.output_name(j)),
            _ => schema.task.output_name(j),
        },
        Var::Feature(f) => quote(&schema.features[f].name),
        Var::Level(f, l) => match &schema.features[f].domain {
            Domain::Category { levels } => format!("[{} == {}]", quote(&schema.features[f].name), quote_level(&levels[l])),
            _ => quote(&schema.features[f].name),
        },
    }
}

/// A name as rules write it; `None` if they have no way to say it.
pub fn name(name: &str) -> Option<String> {
    let plain = lex(name).is_ok_and(|tokens| matches!(&tokens[..], [first, _] if first.kind == TokenKind::Name(name.into())));
    let spelt = if plain { name.into() } else { format!("`{name}`") };
    (plain || !name.contains('`') && !name.is_empty()).then_some(spelt)
}

/// A level or class as rules write it; `None` if they have no way to say it.
pub fn level(level: &str) -> Option<String> {
    match (level.contains('\''), level.contains('"')) {
        (false, _) => Some(format!("'{level}'")),
        (true, false) => Some(format!("\"{level}\"")),
        (true, true) => None,
    }
}

/// The name as a rule would write it, or nearly so.
fn quote(text: &str) -> String {
    name(text).unwrap_or_else(|| format!("`{text}`"))
}

fn quote_level(text: &str) -> String {
    level(text).unwrap_or_else(|| format!("'{text}'"))
}

/// A rational as a decimal where it has a short one, else as a fraction.
pub fn number(value: &Rational) -> String {
    let (mut denominator, mut digits) = (value.denominator().clone(), 0usize);
    let mut scale = UBig::ONE;
    let ten = UBig::from(10u8);
    // A denominator of twos and fives divides some power of ten.
    while !denominator.is_one() && digits < 60 {
        let shared = dashu::base::Gcd::gcd(&denominator, &ten);
        if shared.is_one() {
            return value.to_string();
        }
        denominator /= shared;
        scale *= &ten;
        digits += 1;
    }
    if !denominator.is_one() {
        return value.to_string();
    }
    if digits == 0 {
        return value.numerator().to_string();
    }
    let scaled: IBig = value.numerator() * IBig::from(scale) / IBig::from(value.denominator().clone());
    let negative = scaled < IBig::ZERO;
    let text = if negative { (-scaled).to_string() } else { scaled.to_string() };
    let text = format!("{text:0>width$}", width = digits + 1);
    let (whole, fraction) = text.split_at(text.len() - digits);
    format!("{}{whole}.{}", if negative { "-" } else { "" }, fraction.trim_end_matches('0'))
}
