//! Conditions on outputs and a point enter; float32 outputs that satisfy them exactly leave, near the point where that is possible.
//!
//! One output after the other: the others are eliminated exactly, what is left is an interval, and the float32 number in it that is
//! nearest to the point is taken. Where numbers of float64 miss what is allowed, be it tiny, a corner or an equality, this does not.

use deepsade_solve::budget::Budget;
use deepsade_solve::eliminate::project;
use deepsade_spec::{Atom, Formula, Rational, Var, float32};

/// Outputs that satisfy all of the atoms, which mention no input; `None` if none is found this way.
pub(super) fn outputs(atoms: &[Atom], near: &[f64], backwards: bool, budget: &Budget) -> Option<Vec<f32>> {
    let mut atoms = atoms.to_vec();
    let mut y = vec![0.0f32; near.len()];
    let order: Vec<usize> = if backwards { (0..near.len()).rev().collect() } else { (0..near.len()).collect() };
    for j in order {
        let var = Var::Output(j);
        let left = project(&atoms, |other| other != var, budget)?;
        y[j] = nearest_in(&left, var, near[j])?;
        let value = Rational::try_from(y[j]).ok()?;
        let given = atoms.iter().map(|atom| atom.with(var, &value));
        atoms = given
            .filter_map(|formula| match formula {
                Formula::True => None,
                Formula::Atom(atom) => Some(Ok(atom)),
                _ => Some(Err(())),
            })
            .collect::<Result<_, _>>()
            .ok()?;
    }
    Some(y)
}

/// The float32 number nearest to `near` that satisfies atoms about one variable.
fn nearest_in(atoms: &[Atom], var: Var, near: f64) -> Option<f32> {
    let (mut lo, mut hi) = (f32::MIN, f32::MAX);
    for atom in atoms {
        let Some(c) = atom.linear.terms.get(&var) else {
            atom.met_by(&atom.linear.constant).then_some(())?;
            continue;
        };
        let end = -&atom.linear.constant / c;
        if *c > Rational::ZERO {
            lo = lo.max(float32::at_least(&end, atom.strict));
        } else {
            hi = hi.min(float32::at_most(&end, atom.strict));
        }
    }
    // Plus 0: a zero has no sign to print.
    (lo <= hi).then(|| (near as f32).clamp(lo, hi) + 0.0)
}
