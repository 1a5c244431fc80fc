//! Atoms enter; leave sums of columns that are computed and compared with 0, each of which implies its atom.
//!
//! One column against a constant is one subtraction: rounding to nearest keeps the sign of what it rounds. So is one sum or difference of
//! two columns that are 0 or at least 2^-100 in size: both are multiples of 2^-123, and nothing is flushed. A sum whose terms are all
//! multiples of some 2^-q and stay below 2^(24-q) together is exact: every partial sum is a float32 number, in any order. For all of
//! these `s > 0` is computed exactly, and so is `s >= 0`, which is not `-s > 0`.
//! Any other sum `s` is computed as `s'` with `|s' - s| <= e`, e from the columns' sizes: with e taken off its constant beforehand,
//! `s' > 0` implies `s > 0`.
//!
//! A real feature may be smaller than 2^-100, and a runtime may take it for 0: where a constant is as small, the comparison is
//! moved away by 2^-100, so that it implies its atom in either reading.

use std::collections::HashMap;

use dashu::base::Abs;
use deepsade_spec::float32::at_most;
use deepsade_spec::{Atom, Linear, Rational, common_denominator};

use super::over::{CALM, ColumnRange, Over, exact, power};
use crate::bounds::dot_error;
use crate::certificate::Arithmetic;
use crate::dyadic::Dyadic;
use crate::rejected::StepFault;

/// What the tail computes of its columns, each once.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) all: Vec<ColumnSum>,
    /// Where each stands: columns and factors, and the constant, by their bits.
    places: HashMap<(Vec<(usize, u32)>, u32), usize>,
}

/// `sum of factor * column + constant > 0`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnSum {
    pub(super) terms: Vec<(usize, f32)>,
    pub(super) constant: f32,
}

/// What is computed for an atom.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    /// The columns' ranges decide it.
    Decided(bool),
    /// The atom holds if whether this sum is above 0 is computed to be `truth`; if not, `otherwise` holds.
    Computed { sum: usize, truth: bool, otherwise: Atom },
}

impl Sums {
    /// What is computed for an atom.
    pub(super) fn literal(&mut self, atom: &Atom, over: &Over) -> Result<Literal, StepFault> {
        let (mut form, mut constant) = (Vec::new(), atom.linear.constant.clone());
        atom.linear.terms.iter().for_each(|(var, c)| over.add(*var, c, &mut form, &mut constant));
        form.retain(|(_, c)| !c.is_zero());
        form.sort_by_key(|(column, _)| *column);
        let ends = |upper: bool| {
            let end = |(column, c): &(usize, Rational)| {
                let ColumnRange { lo, hi, .. } = &over.columns[*column];
                c * if (*c > Rational::ZERO) == upper { hi } else { lo }
            };
            form.iter().map(end).fold(constant.clone(), |sum, v| sum + v)
        };
        if let Some(truth) = atom.decided(&ends(false), &ends(true)) {
            return Ok(Literal::Decided(truth));
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
        let mut at = at_most(&t, truth != atom.strict);
        let mut otherwise = atom.opposite();
        let near = 2f32.powi(CALM);
        if over.columns[column].binary() {
            // The ranges did not decide it: the atom tells 0 from 1.
            at = 0.5;
        } else if at.abs() < near && over.columns[column].calm {
            // No calm number lies between: 0 and up, or above 0.
            at = if at < 0.0 { -near / 2.0 } else { 0.0 };
        } else if at.abs() < near {
            at = if truth { near } else { -near };
            // Not computed so: v is at most 2^-100, or at least -2^-100.
            otherwise.linear.constant += c.clone().abs() * power(CALM) + d.clone().abs();
            otherwise.strict = false;
        }
        Literal::Computed { sum: self.above(column, at), truth, otherwise }
    }

    /// The comparison of a column with a constant: whether it is above.
    pub(super) fn above(&mut self, column: usize, at: f32) -> usize {
        self.put(ColumnSum { terms: vec![(column, 1.0)], constant: 0.0 - at })
    }

    fn sum(&mut self, atom: &Atom, form: &[(usize, Rational)], constant: &Rational, over: &Over) -> Result<Literal, StepFault> {
        if let Some(factor) = grid(form, constant, over).or_else(|| pair(form, constant, over)) {
            // s >= 0 is not -s > 0: so an atom and its opposite are one sum.
            let factor = if atom.strict { factor } else { -factor };
            let terms = form.iter().map(|(column, c)| Some((*column, itself(&(c * &factor))?))).collect::<Option<_>>();
            if let (Some(terms), Some(constant)) = (terms, itself(&(constant * &factor))) {
                let sum = self.put(ColumnSum { terms, constant });
                return Ok(Literal::Computed { sum, truth: atom.strict, otherwise: atom.opposite() });
            }
        }
        let largest = form.iter().map(|(_, c)| c.clone().abs()).max().unwrap_or(Rational::ONE);
        let factor = Rational::ONE / largest;
        let (sum, slack) = rounded(form, constant, &factor, over)?;
        let mut otherwise = Atom { linear: atom.linear.scaled(&-Rational::ONE), strict: false };
        otherwise.linear.add_scaled(&Rational::ONE, &Linear::constant(slack / factor));
        Ok(Literal::Computed { sum: self.put(sum), truth: true, otherwise })
    }

    /// The sum, once.
    pub(super) fn put(&mut self, sum: ColumnSum) -> usize {
        let bits = sum.terms.iter().map(|(column, factor)| (*column, factor.to_bits())).collect();
        let place = *self.places.entry((bits, sum.constant.to_bits())).or_insert(self.all.len());
        if place == self.all.len() {
            self.all.push(sum);
        }
        place
    }
}

/// How far inside an atom outputs must be for the tail to see it: where `linear >= room` (`> 0` if strict), the atom is computed to hold.
/// For whoever makes candidates.
pub fn room(atom: &Atom, over: &Over) -> Result<f64, StepFault> {
    Ok(match Sums::default().literal(atom, over)? {
        Literal::Decided(_) => 0.0,
        // What is known where it is not computed: `slack - linear >= 0`.
        Literal::Computed { otherwise, .. } => {
            (otherwise.linear.constant + &atom.linear.constant).to_f64().value().max(0.0) * (1.0 + f64::EPSILON)
        }
    })
}

/// The factor that makes a sum one of whole multiples of 2^-q with every partial sum below 2^(24-q).
fn grid(form: &[(usize, Rational)], constant: &Rational, over: &Over) -> Option<Rational> {
    let factor = Rational::from(common_denominator(form.iter().map(|(_, c)| c).chain([constant])));
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
    // A step is a normal number.
    (small && q <= 100 && size <= power(24 - q)).then_some(factor)
}

/// The factor that makes a sum `+-u +- v` of two calm columns.
fn pair(form: &[(usize, Rational)], constant: &Rational, over: &Over) -> Option<Rational> {
    let [(i, a), (j, b)] = form else { return None };
    let alike = constant.is_zero() && a.clone().abs() == b.clone().abs();
    (alike && over.columns[*i].calm && over.columns[*j].calm).then(|| Rational::ONE / a.clone().abs())
}

/// A sum with factors rounded to float32, and so much taken off its constant, that it is above 0 only where the exact one is; and what the
/// exact one, times the factor, is at most where it is not.
fn rounded(
    form: &[(usize, Rational)],
    constant: &Rational,
    factor: &Rational,
    over: &Over,
) -> Result<(ColumnSum, Rational), StepFault> {
    let (mut terms, mut sizes, mut coefficients) = (Vec::new(), Vec::new(), Rational::ZERO);
    for (column, c) in form {
        let (c, size) = (c * factor, over.columns[*column].size());
        // At most 1 in size.
        let near = c.to_f32().value();
        coefficients += (c - exact(near)).abs() * &size;
        terms.push((*column, near));
        // An end of a range, a float32 number.
        sizes.push(Dyadic::float(size.to_f64().value()));
    }
    let constant = constant * factor;
    if constant.clone().abs() >= power(125) {
        return Err(StepFault::Constant);
    }
    // What is taken off changes the constant, and so what must be taken off: a little more will do.
    let mut off = power(-120);
    for _ in 0..64 {
        let less = at_most(&(&constant - &off), false);
        if !less.is_finite() {
            return Err(StepFault::Constant);
        }
        let (rounding, magnitude) = dot_error(Arithmetic::Float32, terms.iter().map(|(_, w)| *w).zip(&sizes), less);
        if magnitude >= Dyadic::power(126) {
            return Err(StepFault::Sum);
        }
        let error = rounding.rational() + &coefficients;
        let taken = &constant - exact(less);
        if taken >= error {
            return Ok((ColumnSum { terms, constant: less }, taken + error));
        }
        off = error * Rational::from_parts(257.into(), 256u16.into());
    }
    Err(StepFault::Rounding)
}

/// The number as a float32, if it is one.
fn itself(v: &Rational) -> Option<f32> {
    let near = v.to_f32().value();
    (near.is_finite() && exact(near) == *v).then_some(near)
}
