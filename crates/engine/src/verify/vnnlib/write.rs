//! Rules enter; a VNN-LIB 1.0 property leaves whose unsafe set is reached exactly where some rule is broken.
//!
//! The columns of the network are `X_i`, its outputs `Y_j`. A category is a disjunction over its levels, a whole number one over its
//! values if they are few; else it is written as a real number, which asks for more than the rules do, and a comment says so.
//! Conditions on one feature (`x > 0.3`) are written with the float32 number next to them, which is the same for float32 inputs: as
//! reading rounds such bounds outward, it would ask about one number more.

use std::ops::ControlFlow;

use deepsade_spec::cells::cells;
use deepsade_spec::{Atom, Domain, NormalSpec, Rational, SingleBound, Var, common_denominator, print, shown};
use thiserror::Error;

use super::outward::inward;
use crate::left_out::pairs_in_words;
use crate::limits::MAX_CELLS;

/// The text of the cells that are written down.
const MOST_BYTES: usize = 100_000_000;
/// Values of a whole number that are listed.
const MOST_VALUES: i32 = 32;

/// Why rules can't be written so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WriteError {
    /// Nothing to say.
    #[error("there is no rule to write")]
    NoRules,
    /// No rule is about one input.
    #[error("{0}, and a property speaks of one: there is no other rule to write")]
    OnlyPairs(String),
    /// Too long.
    #[error("the rules can be broken in more than {MAX_CELLS} ways, too many to list; write fewer or simpler rules")]
    TooManyCells,
}

/// The property's text.
pub fn write(spec: &NormalSpec) -> Result<String, WriteError> {
    let pairs = pairs_in_words(spec);
    if spec.rules.is_empty() {
        return Err(pairs.map_or(WriteError::NoRules, WriteError::OnlyPairs));
    }
    let columns = spec.schema.columns();
    let mut out = String::from("; sat: an input breaks a rule; unsat: every rule holds\n");
    for rule in &spec.rules {
        let shown = |text: &str| shown::name(text).into_owned();
        out += &format!("; rule {}: {}\n", shown(&rule.name), shown(&rule.text));
    }
    out += &pairs.map(|pairs| format!("; not said here: {pairs}\n")).unwrap_or_default();
    for (k, column) in columns.iter().enumerate() {
        out += &format!("(declare-const X_{k} Real) ; {}\n", shown::name(&column.name));
    }
    for j in 0..spec.schema.task.outputs() {
        out += &format!("(declare-const Y_{j} Real) ; {}\n", shown::name(&spec.schema.task.output_name(j)));
    }
    let map = spec.schema.column_map();
    for (f, feature) in spec.schema.features.iter().enumerate() {
        let x = map.columns(f).start;
        let range =
            |lo: Rational, hi: Rational| format!("(assert (>= X_{x} {}))\n(assert (<= X_{x} {}))\n", term(&lo), term(&hi));
        let steps = |lo: i32, hi: i32, step: Rational, what: &str| {
            let at = |v: i32| Rational::from(v) * &step;
            let values = (lo..=hi).take(MOST_VALUES as usize).map(|v| format!("(= X_{x} {})", term(&at(v))));
            let said = if hi - lo < MOST_VALUES {
                disjunction(&values.collect::<Vec<_>>())
            } else {
                format!("; X_{x} is a {what}, which is not said here: sat may be about other inputs\n")
            };
            range(at(lo), at(hi)) + &said
        };
        match &feature.domain {
            Domain::Real { lo, hi } => out += &range(exact(*lo), exact(*hi)),
            Domain::Integer { lo, hi } => out += &steps(*lo, *hi, Rational::ONE, "whole number"),
            Domain::Stepped { lo, hi, step } => {
                out += &steps((lo / step) as i32, (hi / step) as i32, exact(*step), &format!("multiple of {step}"));
            }
            Domain::Ordered { levels } => out += &steps(0, levels.len() as i32 - 1, Rational::ONE, "whole number"),
            Domain::Category { levels } => {
                map.columns(f).for_each(|x| out += &format!("(assert (>= X_{x} 0))\n(assert (<= X_{x} 1))\n"));
                let level = |l: usize| {
                    let columns = map.columns(f).map(|x| format!("(= X_{x} {})", u8::from(map.level(f, l) == Some(x))));
                    format!("(and {})", columns.collect::<Vec<_>>().join(" "))
                };
                if !map.columns(f).is_empty() {
                    out += &disjunction(&(0..levels.len()).map(level).collect::<Vec<_>>());
                }
            }
        }
    }
    let column = |var: Var, c: &Rational, terms: &mut Vec<(String, Rational)>, constant: &mut Rational| match var {
        Var::Output(j) => terms.push((format!("Y_{j}"), c.clone())),
        input => *constant += map.of(input).times(c, |column, c| terms.push((format!("X_{column}"), c))),
    };
    let atom = |atom: &Atom| {
        if let Some((f, SingleBound { above, end, strict, .. })) = inward(atom) {
            let relation = [[">=", ">"], ["<=", "<"]][usize::from(above)][usize::from(strict)];
            return format!("({relation} X_{} {})", map.first(f), term(&end));
        }
        let mut terms = Vec::new();
        let mut constant = atom.linear.constant.clone();
        atom.linear.terms.iter().for_each(|(var, c)| column(*var, c, &mut terms, &mut constant));
        // Whole coefficients: decimals can't say a third.
        let factor = Rational::from(common_denominator(terms.iter().map(|t| &t.1).chain([&constant])));
        let products = terms.iter().map(|(name, c)| match c * &factor {
            one if one.is_one() => name.clone(),
            c => format!("(* {} {name})", term(&c)),
        });
        let products: Vec<String> = products.collect();
        let sum = if products.len() == 1 { products[0].clone() } else { format!("(+ {})", products.join(" ")) };
        format!("({} {sum} {})", if atom.strict { ">" } else { ">=" }, term(&(-constant * factor)))
    };
    let mut sets: Vec<String> = Vec::new();
    let mut bytes = 0;
    for rule in &spec.rules {
        let all = cells(&rule.claim.negated(), &mut |atoms| {
            sets.push(format!("(and {})", atoms.iter().map(atom).collect::<Vec<_>>().join(" ")));
            bytes += sets.last().map_or(0, String::len);
            if sets.len() > MAX_CELLS || bytes > MOST_BYTES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if all.is_break() {
            return Err(WriteError::TooManyCells);
        }
    }
    Ok(out + &disjunction(&sets))
}

fn disjunction(parts: &[String]) -> String {
    format!("(assert (or\n  {}))\n", parts.join("\n  "))
}

fn exact(x: f32) -> Rational {
    Rational::try_from(x).unwrap_or_default()
}

/// A number as SMT-LIB writes it: the sign is an operator.
fn term(r: &Rational) -> String {
    let shown = print::number(&if *r < Rational::ZERO { -r } else { r.clone() });
    let shown = shown.split_once('/').map_or(shown.clone(), |(n, d)| format!("(/ {n} {d})"));
    if *r < Rational::ZERO { format!("(- {shown})") } else { shown }
}
