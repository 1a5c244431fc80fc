//! The normal form as a text that is the same for the same claim and differs otherwise: what certificates are tied to.

use std::fmt::Write;

use crate::Rational;
use crate::formula::Formula;
use crate::linear::Var;
use crate::normalize::NormalSpec;
use crate::pair::{Kept, Moves, Pair};

/// Schema and rules, one to one: names as JSON strings, coefficients as exact fractions, variables by index.
pub fn canonical(spec: &NormalSpec) -> String {
    let mut out = format!("deepsade-rules 1\n{}\n", spec.schema.to_json());
    for rule in &spec.rules {
        let name = serde_json::to_string(&rule.name).expect("a string becomes JSON");
        let _ = write!(out, "{name} ");
        formula(&rule.claim, &mut out);
        out.push('\n');
    }
    for rule in &spec.pairs {
        let name = serde_json::to_string(&rule.name).expect("a string becomes JSON");
        let _ = write!(out, "two inputs {name}");
        rule.parts.iter().for_each(|part| pair(part, &mut out));
        out.push('\n');
    }
    out
}

/// Its condition, the features and how they move, what is kept.
fn pair(pair: &Pair, out: &mut String) {
    out.push_str(" (if ");
    formula(&pair.condition, out);
    out.push_str(match pair.moves {
        Moves::Up => " up",
        Moves::Any => " any",
        Moves::By(_) => " by",
    });
    for (k, f) in pair.features.iter().enumerate() {
        let _ = write!(out, " x{f}");
        if let Moves::By(by) = &pair.moves {
            let _ = write!(out, "~{}", by[k]);
        }
    }
    match &pair.kept {
        Kept::Number { linear, by, strict } => {
            let _ = write!(out, " falls{} {by}", if *strict { " below" } else { "" });
            for (var, c) in &linear.terms {
                term(*var, c, out);
            }
        }
        Kept::Condition(condition) => {
            out.push_str(" stays ");
            formula(condition, out);
        }
    }
    out.push(')');
}

fn term(var: Var, c: &Rational, out: &mut String) {
    let _ = match var {
        Var::Output(j) => write!(out, " {c}*y{j}"),
        Var::Feature(k) => write!(out, " {c}*x{k}"),
        Var::Level(k, l) => write!(out, " {c}*x{k}={l}"),
    };
}

/// A formula, likewise.
pub fn text(f: &Formula) -> String {
    let mut out = String::new();
    formula(f, &mut out);
    out
}

fn formula(f: &Formula, out: &mut String) {
    match f {
        Formula::True => out.push_str("true"),
        Formula::False => out.push_str("false"),
        Formula::Atom(atom) => {
            let _ = write!(out, "({} {}", if atom.strict { ">" } else { ">=" }, atom.linear.constant);
            for (var, c) in &atom.linear.terms {
                term(*var, c, out);
            }
            out.push(')');
        }
        Formula::And(parts) => list("and", parts, out),
        Formula::Or(parts) => list("or", parts, out),
        Formula::Threshold(t) => {
            let _ = write!(out, "(count{} {}", if t.strict { ">" } else { ">=" }, t.bound);
            for (weight, part) in &t.terms {
                let _ = write!(out, " {weight}*");
                formula(part, out);
            }
            out.push(')');
        }
    }
}

fn list(word: &str, parts: &[Formula], out: &mut String) {
    let _ = write!(out, "({word}");
    for part in parts {
        out.push(' ');
        formula(part, out);
    }
    out.push(')');
}
