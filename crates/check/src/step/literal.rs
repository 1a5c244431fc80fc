//! Atoms enter; leave comparisons of computed numbers with constants, each of which implies its atom.
//!
//! One column against a constant is a comparison of two float32 numbers: exact. So is a sum whose terms are all multiples of some 2^-q
//! and stay below 2^(24-q) together: every partial sum is a float32 number, in any order. So is one sum or difference of two columns
//! that are 0 or at least 2^-100 in size: both are multiples of 2^-123, and rounding to nearest keeps the sign of what it rounds.
//! Any other sum `s` is computed as `s'` with `|s' - s| <= e`, e from the columns' sizes: `s' > e` implies `s > 0`.
//!
//! A real feature may be smaller than 2^-100, and a runtime may take it for 0: where a constant is as small, the comparison is
//! moved away by 2^-100, so that it implies its atom in either reading.

use dashu::base::Abs;
use deepsade_spec::{Atom, Linear, Rational};

use super::over::{CALM, Column, Over, exact, power};
use crate::bounds::dot_error;
use crate::certificate::Arithmetic;
use crate::dyadic::Dyadic;

/// What the tail computes of its columns: single columns above a constant, and sums above one.
#[derive(Debug, Default)]
pub(super) struct Bases {
    /// Column, and the number that it must exceed.
    pub(super) thresholds: Vec<(usize, f32)>,
    pub(super) sums: Vec<Sum>,
}

/// `sum of factor * column + constant > above`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sum {
    pub(super) terms: Vec<(usize, f32)>,
    pub(super) constant: f32,
    pub(super) above: f32,
}

/// One of the [`Bases`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Base {
    Threshold(usize),
    Sum(usize),
}

/// What is computed for an atom.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    /// The columns' ranges decide it.
    Decided(bool),
    /// The atom holds if this is computed to be `truth`; if not, `otherwise` holds.
    Computed { base: Base, truth: bool, otherwise: Atom },
}

impl Bases {
    /// What is computed for an atom.
    pub(super) fn literal(&mut self, atom: &Atom, over: &Over) -> Result<Literal, String> {
        let (mut form, mut constant) = (Vec::new(), atom.linear.constant.clone());
        atom.linear.terms.iter().for_each(|(var, c)| over.add(*var, c, &mut form, &mut constant));
        form.retain(|(_, c)| !c.is_zero());
        form.sort_by_key(|(column, _)| *column);
        let holds = |v: &Rational| if atom.strict { *v > Rational::ZERO } else { *v >= Rational::ZERO };
        let ends = |upper: bool| {
            let end = |(column, c): &(usize, Rational)| {
                let Column { lo, hi, .. } = &over.columns[*column];
                c * if (*c > Rational::ZERO) == upper { hi } else { lo }
            };
            form.iter().map(end).fold(constant.clone(), |sum, v| sum + v)
        };
        if holds(&ends(false)) {
            return Ok(Literal::Decided(true));
        }
        if !holds(&ends(true)) {
            return Ok(Literal::Decided(false));
        }
        Ok(match &form[..] {
            [(column, c)] => self.single(atom, *column, c, &constant, over),
            _ => self.sum(atom, &form, &constant, over)?,
        })
    }

    /// `c v + d >= 0` or `> 0`, the same as `v > t'` (or its opposite) on float32 numbers.
    fn single(&mut self, atom: &Atom, column: usize, c: &Rational, d: &Rational, over: &Over) -> Literal {
        let (truth, t) = (*c > Rational::ZERO, -d / c);
        // v >= t iff v > the next number below t; v > t iff v > the number at or below t; `<` and `<=` are their opposites.
        let mut at = if truth == atom.strict { at_most(&t) } else { below(&t) };
        let mut otherwise = atom.opposite();
        let near = 2f32.powi(CALM);
        if at.abs() < near && over.columns[column].calm {
            // No calm number lies between: 0 and up, or above 0.
            at = if at < 0.0 { -near / 2.0 } else { 0.0 };
        } else if at.abs() < near {
            at = if truth { near } else { -near };
            // Not computed so: v is at most 2^-100, or at least -2^-100.
            otherwise.linear.constant += c.clone().abs() * power(CALM) + d.clone().abs();
            otherwise.strict = false;
        }
        Literal::Computed { base: self.threshold(column, at), truth, otherwise }
    }

    /// The comparison of a column with a constant, once.
    pub(super) fn threshold(&mut self, column: usize, at: f32) -> Base {
        let known = self.thresholds.iter().position(|t| *t == (column, at));
        Base::Threshold(known.unwrap_or_else(|| {
            self.thresholds.push((column, at));
            self.thresholds.len() - 1
        }))
    }

    fn sum(&mut self, atom: &Atom, form: &[(usize, Rational)], constant: &Rational, over: &Over) -> Result<Literal, String> {
        if let Some((factor, half_step)) = grid(form, constant, over).or_else(|| pair(form, constant, over)) {
            // An atom and its opposite are one sum: the one whose first factor is positive.
            let flipped = form.first().is_some_and(|(_, c)| *c < Rational::ZERO);
            let factor = if flipped { -factor } else { factor };
            // s >= 0 iff s > -half a step; not (s > 0) iff s <= 0.
            let above = if atom.strict == flipped { -half_step } else { 0.0 };
            let terms = form.iter().map(|(column, c)| Some((*column, itself(&(c * &factor))?))).collect::<Option<_>>();
            if let (Some(terms), Some(constant)) = (terms, itself(&(constant * &factor))) {
                let sum = Sum { terms, constant, above };
                return Ok(Literal::Computed { base: self.put(sum), truth: !flipped, otherwise: atom.opposite() });
            }
        }
        let largest = form.iter().map(|(_, c)| c.clone().abs()).max().unwrap_or(Rational::ONE);
        let factor = Rational::ONE / largest;
        let (sum, slack) = rounded(form, constant, &factor, over)?;
        let mut otherwise = Atom { linear: atom.linear.scaled(&-Rational::ONE), strict: false };
        otherwise.linear.add_scaled(&Rational::ONE, &Linear::constant(slack / factor));
        Ok(Literal::Computed { base: self.put(sum), truth: true, otherwise })
    }

    /// The comparison of a sum, once.
    pub(super) fn put(&mut self, sum: Sum) -> Base {
        let known = self.sums.iter().position(|s| *s == sum);
        Base::Sum(known.unwrap_or_else(|| {
            self.sums.push(sum);
            self.sums.len() - 1
        }))
    }
}

/// How far inside an atom outputs must be for the tail to see it: where `linear >= room` (`> 0` if strict), the atom is computed to hold.
/// For whoever makes candidates.
pub fn room(atom: &Atom, over: &Over) -> Result<f64, String> {
    Ok(match Bases::default().literal(atom, over)? {
        Literal::Decided(_) => 0.0,
        // What is known where it is not computed: `slack - linear >= 0`.
        Literal::Computed { otherwise, .. } => {
            (otherwise.linear.constant + &atom.linear.constant).to_f64().value().max(0.0) * (1.0 + f64::EPSILON)
        }
    })
}

/// The factor that makes a sum one of whole multiples of 2^-q with every partial sum below 2^(24-q), and half a step.
fn grid(form: &[(usize, Rational)], constant: &Rational, over: &Over) -> Option<(Rational, f32)> {
    let mut factor = Rational::from(constant.denominator().clone());
    for (_, c) in form {
        let denominator = (c * &factor).denominator().clone();
        factor *= Rational::from(denominator);
    }
    let mut q = 0;
    let mut size = constant.clone().abs() * &factor;
    let limit = power(24);
    let mut small = size <= limit;
    for (column, c) in form {
        let column = &over.columns[*column];
        q = q.max(column.step?);
        let c = c.clone().abs() * &factor;
        small &= c <= limit;
        size += c * column.size();
    }
    // A step is a normal number, and so is half of it.
    (small && q <= 100 && size <= power(24 - q)).then(|| (factor, 2f32.powi(-q - 1)))
}

/// The factor that makes a sum `+-u +- v` of two calm columns.
fn pair(form: &[(usize, Rational)], constant: &Rational, over: &Over) -> Option<(Rational, f32)> {
    let [(i, a), (j, b)] = form else { return None };
    let alike = constant.is_zero() && a.clone().abs() == b.clone().abs();
    (alike && over.columns[*i].calm && over.columns[*j].calm).then(|| (Rational::ONE / a.clone().abs(), 2f32.powi(-124)))
}

/// A sum with factors rounded to float32 that exceeds its constant only where the exact one is positive; and what the exact one, times
/// the factor, is at most where it does not.
fn rounded(form: &[(usize, Rational)], constant: &Rational, factor: &Rational, over: &Over) -> Result<(Sum, Rational), String> {
    let float = |v: &Rational| {
        let near = v.to_f32().value();
        if near.abs() < f32::MAX { Ok(near) } else { Err("a constant of a sum is beyond float32".to_string()) }
    };
    let mut sum = Sum { terms: Vec::new(), constant: float(&(constant * factor))?, above: 0.0 };
    let mut error = (constant * factor - exact(sum.constant)).abs();
    let mut sizes = Vec::new();
    for (column, c) in form {
        let (c, size) = (c * factor, over.columns[*column].size());
        let near = float(&c)?;
        error += (c - exact(near)).abs() * &size;
        sum.terms.push((*column, near));
        // An end of a range, a float32 number.
        sizes.push(Dyadic::float(size.to_f64().value()));
    }
    let (rounding, magnitude) = dot_error(Arithmetic::Float32, sum.terms.iter().map(|(_, w)| *w).zip(&sizes), sum.constant);
    if magnitude >= Dyadic::power(126) {
        return Err("a sum may leave the range of float32".into());
    }
    error += rounding.rational();
    sum.above = at_least(&error).max(2f32.powi(-120));
    let slack = exact(sum.above) + error;
    Ok((sum, slack))
}

/// The number as a float32, if it is one.
fn itself(v: &Rational) -> Option<f32> {
    let near = v.to_f32().value();
    (near.is_finite() && exact(near) == *v).then_some(near)
}

/// The largest float32 number at most v, which is within their range.
pub(super) fn at_most(v: &Rational) -> f32 {
    let mut at = v.to_f32().value().clamp(f32::MIN, f32::MAX);
    while exact(at) > *v {
        at = at.next_down();
    }
    while at < f32::MAX && exact(at.next_up()) <= *v {
        at = at.next_up();
    }
    at
}

/// The largest float32 number below v.
pub(super) fn below(v: &Rational) -> f32 {
    let at = at_most(v);
    if exact(at) == *v { at.next_down() } else { at }
}

/// The smallest float32 number at least v.
fn at_least(v: &Rational) -> f32 {
    -at_most(&-v)
}
