//! An atom or a formula enters; leaves what of it is decided by outputs being finite float32 numbers: `y <= 1e39` always holds.

use deepsade_spec::normalize::range;
use deepsade_spec::{Atom, Formula, Linear, Rational, Schema};

/// Whether the atom holds for every input of the domain and all finite float32 outputs, or for none; `None` where that depends.
pub fn decided(atom: &Atom, schema: &Schema) -> Option<bool> {
    let largest = Rational::try_from(f32::MAX).unwrap_or_default();
    let mut inputs = Linear::constant(atom.linear.constant.clone());
    let mut reach = Rational::ZERO;
    for (var, c) in &atom.linear.terms {
        if var.is_output() {
            reach += if *c < Rational::ZERO { -c } else { c.clone() } * &largest;
        } else {
            inputs.terms.insert(*var, c.clone());
        }
    }
    let (lo, hi) = range(&inputs, schema);
    let holds = |v: &Rational| if atom.strict { *v > Rational::ZERO } else { *v >= Rational::ZERO };
    match (holds(&(lo - &reach)), holds(&(hi + &reach))) {
        (true, _) => Some(true),
        (_, false) => Some(false),
        _ => None,
    }
}

/// The formula without atoms that finite outputs decide.
pub fn with_finite_outputs(formula: &Formula, schema: &Schema) -> Formula {
    formula.replaced(&mut |atom| match decided(atom, schema) {
        Some(true) => Formula::True,
        Some(false) => Formula::False,
        None => Formula::Atom(atom.clone()),
    })
}
