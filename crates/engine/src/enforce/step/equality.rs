//! Atoms with equalities among them enter; leave the same atoms without: an output for each equality is computed from the others.
//!
//! The others are on their grids, so that what is computed from them and from features that are whole, or multiples of a step, is
//! exact.

use std::collections::BTreeMap;

use dashu::base::PowerOfTwo;
use deepsade_check::step::Over;
use deepsade_spec::{Atom, Formula, Linear, Rational, Schema, Var};

use super::affine::{Affine, Found, Query};

/// Atoms about the outputs that are left, and what the others are.
#[derive(Debug)]
pub struct Reduced {
    atoms: Vec<Atom>,
    /// Output, and the linear form that it is.
    dependent: Vec<(usize, Linear)>,
}

/// Which output of an equality is computed from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The first that can be.
    First,
    /// The last.
    Last,
}

/// The atoms without their equalities; `None` if there are none, or one can't be solved for an output.
pub fn reduced(atoms: &[Atom], which: Which) -> Option<Reduced> {
    let mut rest: Vec<Atom> = atoms.to_vec();
    let mut dependent: Vec<(usize, Linear)> = Vec::new();
    while let Some(k) = rest.iter().position(|a| rest.iter().any(|b| a.equates(b))) {
        let equal = rest[k].linear.clone();
        let (output, form) = solved(&equal, which)?;
        rest = replaced(&rest, output, &form)?;
        dependent.iter_mut().for_each(|(_, other)| put_in(other, output, &form));
        dependent.push((output, form));
    }
    (!dependent.is_empty()).then(|| Reduced { atoms: rest, dependent })
}

/// An output of an equality of which the other outputs' coefficients are whole multiples, and what else is in it a multiple of some 2^-k
/// of its own.
fn solved(equal: &Linear, which: Which) -> Option<(usize, Linear)> {
    let dyadic = |c: &Rational| c.denominator().is_power_of_two();
    let fits = |var: &Var, ratio: Rational| if var.is_output() { ratio.denominator().is_one() } else { dyadic(&ratio) };
    let whole = |c: &Rational| equal.terms.iter().all(|(var, other)| fits(var, other / c)) && dyadic(&(&equal.constant / c));
    let mut able = equal.terms.iter().filter_map(|(var, c)| match var {
        Var::Output(j) if whole(c) => Some((*j, c.clone())),
        _ => None,
    });
    let found = if which == Which::First { able.next() } else { able.next_back() };
    found.map(|(j, c)| {
        let mut form = equal.scaled(&(-Rational::ONE / c));
        form.terms.remove(&Var::Output(j));
        (j, form)
    })
}

fn put_in(linear: &mut Linear, output: usize, form: &Linear) {
    if let Some(c) = linear.terms.remove(&Var::Output(output)) {
        linear.add_scaled(&c, form);
    }
}

/// The atoms with an output replaced, without those that then always hold; `None` if one never does.
fn replaced(atoms: &[Atom], output: usize, form: &Linear) -> Option<Vec<Atom>> {
    let mut left = Vec::new();
    for atom in atoms {
        let mut linear = atom.linear.clone();
        put_in(&mut linear, output, form);
        match Formula::compared(linear, atom.strict) {
            Formula::True => {}
            Formula::Atom(atom) => left.push(atom),
            _ => return None,
        }
    }
    Some(left)
}

impl Reduced {
    /// The map of the outputs that are left, as a query asks for it, with what is computed from them.
    pub fn solve(&self, query: &Query) -> Option<Found> {
        let mut grids = query.grids.to_vec();
        self.dependent.iter().for_each(|(output, _)| grids[*output] = None);
        let Found { map, inside } = Query { atoms: &self.atoms, grids: &grids, ..*query }.solve()?;
        self.computed(map, query.schema).map(|map| Found { map, inside })
    }

    fn computed(&self, mut map: Affine, schema: &Schema) -> Option<Affine> {
        let over = Over::new(schema, None);
        map.weights.retain(|(o, ..)| self.dependent.iter().all(|(output, _)| o != output));
        let free = map.clone();
        for (output, form) in &self.dependent {
            let (mut columns, mut bias) = (Vec::new(), form.constant.clone());
            for (var, c) in &form.terms {
                let Var::Output(j) = var else {
                    over.add(*var, c, &mut columns, &mut bias);
                    continue;
                };
                bias += c * Rational::try_from(free.bias[*j]).ok()?;
                for (_, x, w) in free.weights.iter().filter(|(o, ..)| o == j) {
                    columns.push((*x, c * Rational::try_from(*w).ok()?));
                }
            }
            let mut weights: BTreeMap<usize, Rational> = BTreeMap::new();
            columns.into_iter().for_each(|(x, c)| *weights.entry(x).or_default() += c);
            map.bias[*output] = bias.to_f32().value();
            let shown = weights.iter().filter(|(_, c)| !c.is_zero()).map(|(x, c)| (*output, *x, c.to_f32().value()));
            map.weights.extend(shown);
        }
        Some(map)
    }
}
