//! The normal form: conditions without negation over linear atoms.

use std::collections::BTreeSet;

use crate::Rational;
use crate::linear::{Linear, Var};

/// A condition in negation normal form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Formula {
    /// Always.
    True,
    /// Never.
    False,
    /// A linear atom.
    Atom(Atom),
    /// All of them; at least two, none of them a conjunction or a constant.
    And(Vec<Formula>),
    /// One of them at least; at least two, none of them a disjunction or a constant.
    Or(Vec<Formula>),
    /// A weighted count.
    Threshold(Threshold),
}

/// `linear >= 0`, or `linear > 0` if strict; at least one variable occurs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Atom {
    /// The linear form.
    pub linear: Linear,
    /// True for `>`.
    pub strict: bool,
}

/// `sum of weight * [part holds] >= bound`, or `> bound` if strict. Weights are positive; the count is neither always nor
/// never reached, and neither all nor just one of the parts would do (those are [`Formula::And`] and [`Formula::Or`]).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Threshold {
    /// Weights and parts.
    pub terms: Vec<(Rational, Formula)>,
    /// What must be reached.
    pub bound: Rational,
    /// True for `>`.
    pub strict: bool,
}

/// An atom about a single variable, solved for it: the variable is at least, or at most, a number.
///
/// ```
/// use deepsade_spec::{Atom, Linear, Rational, SingleBound, Var};
///
/// // -2 x + 6 > 0 is x < 3.
/// let mut linear = Linear::var(Var::Feature(0)).scaled(&Rational::from(-2));
/// linear.constant = Rational::from(6);
/// let bound = Atom { linear, strict: true }.single_bound().unwrap();
/// assert_eq!(bound, SingleBound { var: Var::Feature(0), above: true, end: Rational::from(3), strict: true });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleBound {
    /// The variable.
    pub var: Var,
    /// Whether it is bounded from above.
    pub above: bool,
    /// Where.
    pub end: Rational,
    /// Whether the end itself is outside.
    pub strict: bool,
}

impl SingleBound {
    /// The bound as an atom: `v - end >= 0` or `-v + end >= 0`.
    pub fn atom(&self) -> Atom {
        let sign = if self.above { -Rational::ONE } else { Rational::ONE };
        let mut linear = Linear::var(self.var).scaled(&sign);
        linear.constant = -sign * &self.end;
        Atom { linear, strict: self.strict }
    }
}

impl Threshold {
    /// True if a count of this size is enough.
    pub fn reached_by(&self, count: &Rational) -> bool {
        if self.strict { *count > self.bound } else { *count >= self.bound }
    }
}

impl Atom {
    /// The atom that holds where this one does not.
    #[must_use]
    pub fn opposite(&self) -> Self {
        Self { linear: self.linear.scaled(&-Rational::ONE), strict: !self.strict }
    }

    /// This atom, or the opposite of it.
    #[must_use]
    pub fn asked(&self, truth: bool) -> Self {
        if truth { self.clone() } else { self.opposite() }
    }

    /// Which of these it is, and whether it is that itself or the opposite of it.
    pub fn place_among(&self, atoms: &[Self]) -> Option<(usize, bool)> {
        let opposite = self.opposite();
        let at = atoms.iter().position(|atom| atom == self || *atom == opposite)?;
        Some((at, atoms[at] == *self))
    }

    /// The label of which it says that it is present (`y > 0`) or absent (`-y >= 0`), if that is all it says.
    pub fn label(&self) -> Option<(usize, bool)> {
        let (Var::Output(j), c) = self.linear.single()? else { return None };
        (self.linear.constant.is_zero() && (*c > Rational::ZERO) == self.strict).then_some((j, self.strict))
    }

    /// The bound that it is, if it speaks of a single variable.
    pub fn single_bound(&self) -> Option<SingleBound> {
        let (var, c) = self.linear.single()?;
        let end = -&self.linear.constant / c;
        Some(SingleBound { var, above: *c < Rational::ZERO, end, strict: self.strict })
    }

    /// Whether both hold only where their two sides are equal: neither is strict, and one is the other turned round.
    pub fn equates(&self, other: &Self) -> bool {
        !self.strict && !other.strict && self.linear.scaled(&-Rational::ONE) == other.linear
    }

    /// True if it speaks of input features alone.
    pub fn is_condition(&self) -> bool {
        !self.linear.mentions_output()
    }

    /// What is left of it where a variable has this value.
    pub fn with(&self, var: Var, value: &Rational) -> Formula {
        let mut linear = self.linear.clone();
        let Some(c) = linear.terms.remove(&var) else { return Formula::Atom(self.clone()) };
        linear.constant += c * value;
        Formula::compared(linear, self.strict)
    }

    /// Whether it holds where its linear form has this value.
    pub fn met_by(&self, value: &Rational) -> bool {
        if self.strict { *value > Rational::ZERO } else { *value >= Rational::ZERO }
    }

    /// Its truth where its linear form has values from `lo` to `hi` only; `None` if these leave it open.
    pub fn decided(&self, lo: &Rational, hi: &Rational) -> Option<bool> {
        let always = self.met_by(lo);
        (always || !self.met_by(hi)).then_some(always)
    }
}

impl From<bool> for Formula {
    fn from(truth: bool) -> Self {
        if truth { Formula::True } else { Formula::False }
    }
}

impl Formula {
    /// `linear >= 0`, or `linear > 0` if strict: an atom, or a constant if the form is one.
    pub fn compared(linear: Linear, strict: bool) -> Self {
        let atom = Atom { linear, strict };
        if atom.linear.is_constant() { atom.met_by(&atom.linear.constant).into() } else { Formula::Atom(atom) }
    }

    /// Conjunction, flat and without constants.
    pub fn and(parts: impl IntoIterator<Item = Formula>) -> Self {
        let mut all = Vec::new();
        for part in parts {
            match part {
                Formula::True => {}
                Formula::False => return Formula::False,
                Formula::And(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        match all.len() {
            0 => Formula::True,
            1 => all.remove(0),
            _ => Formula::And(all),
        }
    }

    /// Disjunction, flat and without constants.
    pub fn or(parts: impl IntoIterator<Item = Formula>) -> Self {
        let mut any = Vec::new();
        for part in parts {
            match part {
                Formula::False => {}
                Formula::True => return Formula::True,
                Formula::Or(inner) => any.extend(inner),
                other => any.push(other),
            }
        }
        match any.len() {
            0 => Formula::False,
            1 => any.remove(0),
            _ => Formula::Or(any),
        }
    }

    /// A weighted count in its simplest form; weights must not be negative.
    pub fn threshold(terms: Vec<(Rational, Formula)>, bound: Rational, strict: bool) -> Self {
        let mut kept = Threshold { terms: Vec::new(), bound, strict };
        for (weight, part) in terms {
            match part {
                _ if weight.is_zero() => {}
                Formula::False => {}
                Formula::True => kept.bound -= weight,
                part => kept.terms.push((weight, part)),
            }
        }
        let total = kept.terms.iter().fold(Rational::ZERO, |sum, (w, _)| sum + w);
        if kept.reached_by(&Rational::ZERO) {
            return Formula::True;
        }
        if !kept.reached_by(&total) {
            return Formula::False;
        }
        let least = kept.terms.iter().map(|(w, _)| w).min().expect("a count that can grow has terms");
        if kept.reached_by(least) {
            return Formula::or(kept.terms.into_iter().map(|(_, part)| part));
        }
        if !kept.reached_by(&(&total - least)) {
            return Formula::and(kept.terms.into_iter().map(|(_, part)| part));
        }
        Formula::Threshold(kept)
    }

    /// The exact opposite, again without negation.
    #[must_use]
    pub fn negated(&self) -> Self {
        match self {
            Formula::True => Formula::False,
            Formula::False => Formula::True,
            Formula::Atom(atom) => Formula::Atom(atom.opposite()),
            Formula::And(parts) => Formula::or(parts.iter().map(Formula::negated)),
            Formula::Or(parts) => Formula::and(parts.iter().map(Formula::negated)),
            // sum w [f] < bound  <=>  sum w [not f] > total - bound
            Formula::Threshold(Threshold { terms, bound, strict }) => {
                let total = terms.iter().fold(Rational::ZERO, |sum, (w, _)| sum + w);
                let terms = terms.iter().map(|(w, f)| (w.clone(), f.negated())).collect();
                Formula::threshold(terms, total - bound, !strict)
            }
        }
    }

    /// That a label is present, or that it is not.
    pub fn label(j: usize, present: bool) -> Self {
        let positive = Atom { linear: Linear::var(Var::Output(j)), strict: true };
        Formula::Atom(if present { positive } else { positive.opposite() })
    }

    /// The formula with every atom replaced.
    #[must_use]
    pub fn replaced(&self, by: &mut impl FnMut(&Atom) -> Formula) -> Self {
        match self {
            Formula::True | Formula::False => self.clone(),
            Formula::Atom(a) => by(a),
            Formula::And(parts) => Formula::and(parts.iter().map(|p| p.replaced(by)).collect::<Vec<_>>()),
            Formula::Or(parts) => Formula::or(parts.iter().map(|p| p.replaced(by)).collect::<Vec<_>>()),
            Formula::Threshold(t) => {
                let terms = t.terms.iter().map(|(w, p)| (w.clone(), p.replaced(by))).collect();
                Formula::threshold(terms, t.bound.clone(), t.strict)
            }
        }
    }

    /// The formula with every variable called otherwise.
    #[must_use]
    pub fn renamed(&self, name: &impl Fn(Var) -> Var) -> Self {
        self.replaced(&mut |Atom { linear, strict }| {
            let terms = linear.terms.iter().map(|(var, c)| (name(*var), c.clone())).collect();
            Formula::Atom(Atom { linear: Linear { terms, constant: linear.constant.clone() }, strict: *strict })
        })
    }

    /// What is left of it where a variable has this value.
    #[must_use]
    pub fn with(&self, var: Var, value: &Rational) -> Self {
        self.replaced(&mut |atom| atom.with(var, value))
    }

    /// What is left of it where a condition holds or does not. Other conditions stay as they are, whatever follows for them.
    #[must_use]
    pub fn given(&self, condition: &Atom, truth: bool) -> Self {
        let opposite = condition.opposite();
        self.replaced(&mut |atom| match atom {
            a if a == condition => truth.into(),
            a if *a == opposite => (!truth).into(),
            a => Formula::Atom(a.clone()),
        })
    }

    /// Its conjuncts.
    pub fn conjuncts(&self) -> &[Formula] {
        if let Formula::And(parts) = self { parts } else { std::slice::from_ref(self) }
    }

    /// The truth at a point, exactly.
    pub fn at(&self, value: &impl Fn(Var) -> Rational) -> bool {
        self.holds(&mut |atom| atom.met_by(&atom.linear.at(value)))
    }

    /// The truth, given the truth of each atom.
    pub fn holds(&self, atom: &mut impl FnMut(&Atom) -> bool) -> bool {
        match self {
            Formula::True => true,
            Formula::False => false,
            Formula::Atom(a) => atom(a),
            Formula::And(parts) => parts.iter().all(|p| p.holds(atom)),
            Formula::Or(parts) => parts.iter().any(|p| p.holds(atom)),
            Formula::Threshold(t) => {
                let mut count = Rational::ZERO;
                for (weight, part) in &t.terms {
                    if part.holds(atom) {
                        count += weight;
                    }
                }
                t.reached_by(&count)
            }
        }
    }

    /// Calls `visit` with every atom.
    pub fn atoms(&self, visit: &mut impl FnMut(&Atom)) {
        match self {
            Formula::True | Formula::False => {}
            Formula::Atom(a) => visit(a),
            Formula::And(parts) | Formula::Or(parts) => parts.iter().for_each(|p| p.atoms(visit)),
            Formula::Threshold(t) => t.terms.iter().for_each(|(_, p)| p.atoms(visit)),
        }
    }

    /// Atoms in its longest cell.
    pub fn longest_cell(&self) -> usize {
        match self {
            Formula::True | Formula::False => 0,
            Formula::Atom(_) => 1,
            Formula::And(parts) => parts.iter().map(Formula::longest_cell).sum(),
            Formula::Or(parts) => parts.iter().map(Formula::longest_cell).max().unwrap_or(0),
            Formula::Threshold(t) => t.terms.iter().map(|(_, part)| part.longest_cell()).sum(),
        }
    }

    /// The variables that occur.
    pub fn variables(&self) -> BTreeSet<Var> {
        let mut variables = BTreeSet::new();
        self.atoms(&mut |a| variables.extend(a.linear.terms.keys().copied()));
        variables
    }

    /// The outputs it mentions.
    pub fn outputs(&self) -> BTreeSet<usize> {
        self.variables().into_iter().filter_map(|v| if let Var::Output(j) = v { Some(j) } else { None }).collect()
    }
}
