//! An atom or a formula enters; leaves what of it is decided by outputs being finite float32 numbers: `y <= 1e39` always holds, and no
//! output is 0.1.

use deepsade_spec::normalize::range;
use deepsade_spec::{Atom, Formula, Linear, Rational, Schema, SingleBound, Var};

use crate::satisfy::float32_around;

/// Whether the atom holds for every input of the domain and all finite float32 outputs, or for none; `None` where that depends.
pub fn decided(atom: &Atom, schema: &Schema) -> Option<bool> {
    let (lo, hi) = reach(&atom.linear, schema, |_| (-f32::MAX, f32::MAX));
    atom.decided(&lo, &hi)
}

/// The smallest and the largest value of a linear form over the domain, each output between ends of its own.
pub fn reach(linear: &Linear, schema: &Schema, ends: impl Fn(usize) -> (f32, f32)) -> (Rational, Rational) {
    let exact = |v: f32| Rational::try_from(v).unwrap_or_default();
    let mut inputs = Linear::constant(linear.constant.clone());
    let (mut lo, mut hi) = (Rational::ZERO, Rational::ZERO);
    for (var, c) in &linear.terms {
        if let Var::Output(j) = var {
            let (least, most) = ends(*j);
            let (a, b) = (c * exact(least), c * exact(most));
            let (a, b) = if a <= b { (a, b) } else { (b, a) };
            lo += a;
            hi += b;
        } else {
            inputs.terms.insert(*var, c.clone());
        }
    }
    let (a, b) = range(&inputs, schema);
    (lo + a, hi + b)
}

/// The formula without atoms that finite outputs decide, and with bounds on single outputs moved to the next number that one can be: for
/// float32 outputs, whole ones where the schema says so, it is the same.
pub fn with_finite_outputs(formula: &Formula, schema: &Schema) -> Formula {
    let whole = schema.task.whole_outputs();
    formula.replaced(&mut |atom| match decided(atom, schema) {
        Some(truth) => truth.into(),
        None => Formula::Atom(reachable(atom, &whole).unwrap_or_else(|| atom.clone())),
    })
}

/// A bound on one output that no output can be equal to, as one that it can be; `None` for other atoms.
fn reachable(atom: &Atom, whole: &[usize]) -> Option<Atom> {
    let Some(SingleBound { var: var @ Var::Output(j), above, end, strict }) = atom.single_bound() else { return None };
    let (lower, upper): (Rational, Rational) = if !whole.contains(&j) {
        float32_around(&end)
    } else if strict {
        (Rational::from(end.ceil()) - Rational::ONE, Rational::from(end.floor()) + Rational::ONE)
    } else {
        (end.floor().into(), end.ceil().into())
    };
    let end = if above { &lower } else { &upper };
    (lower != upper).then(|| SingleBound { var, above, end: end.clone(), strict: false }.atom())
}
