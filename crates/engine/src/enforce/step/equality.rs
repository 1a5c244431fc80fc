//! Atoms with equalities among them enter; leave the same atoms without: an output for each equality is computed from the others.
//!
//! The others are constants on their grids, so that what is computed from them and from features that are whole, or multiples of a step,
//! is exact.

use dashu::base::PowerOfTwo;
use deepsade_check::step::Outputs;
use deepsade_spec::{Atom, Linear, Rational, Schema, Var};

use super::affine::{Affine, affine};
use super::usual::Usual;

/// Atoms about the outputs that are left, and what the others are.
#[derive(Debug)]
pub struct Reduced {
    atoms: Vec<Atom>,
    /// Output, and the linear form that it is.
    dependent: Vec<(usize, Linear)>,
    grids: Vec<Option<i32>>,
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
pub fn reduced(atoms: &[Atom], outputs: &Outputs, which: Which) -> Option<Reduced> {
    let Outputs::Numbers(numbers) = outputs else { return None };
    let mut rest: Vec<Atom> = atoms.to_vec();
    let mut dependent: Vec<(usize, Linear)> = Vec::new();
    while let Some(k) = rest.iter().position(|a| !a.strict && rest.iter().any(|b| opposite(a, b))) {
        let equal = rest[k].linear.clone();
        let (output, form) = solved(&equal, which)?;
        rest = replaced(&rest, output, &form)?;
        dependent.iter_mut().for_each(|(_, other)| put_in(other, output, &form));
        dependent.push((output, form));
    }
    (!dependent.is_empty()).then(|| Reduced { atoms: rest, dependent, grids: numbers.iter().map(|n| n.grid).collect() })
}

fn opposite(a: &Atom, b: &Atom) -> bool {
    !b.strict && a.linear.scaled(&-Rational::ONE) == b.linear
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
        let holds = if atom.strict { linear.constant > Rational::ZERO } else { linear.constant >= Rational::ZERO };
        match linear.is_constant() {
            true if holds => {}
            true => return None,
            false => left.push(Atom { linear, strict: atom.strict }),
        }
    }
    Some(left)
}

impl Reduced {
    /// What the outputs that are computed take of the input's columns.
    pub fn weights(&self, schema: &Schema) -> Vec<(usize, usize, f32)> {
        let over = deepsade_check::step::Over::new(schema, None);
        let mut weights = Vec::new();
        for (output, form) in &self.dependent {
            let (mut columns, mut rest) = (Vec::new(), Rational::ZERO);
            form.terms.iter().filter(|(var, _)| !var.is_output()).for_each(|(var, c)| over.add(*var, c, &mut columns, &mut rest));
            weights.extend(columns.iter().filter(|(_, c)| !c.is_zero()).map(|(x, c)| (*output, *x, c.to_f32().value())));
        }
        weights
    }

    /// The map, and how far inside it stays.
    pub fn solve(&self, given: &[Atom], schema: &Schema, usual: &Usual) -> Option<(Affine, f64)> {
        let (map, inside) = affine(&self.atoms, given, schema, usual, false)?;
        self.computed(map, schema).map(|map| (map, inside))
    }

    /// Constants on their grids, with what is computed from them.
    fn computed(&self, mut map: Affine, schema: &Schema) -> Option<Affine> {
        for (b, grid) in map.bias.iter_mut().zip(&self.grids) {
            if let Some(k) = grid {
                let step = 2f64.powi(-k);
                *b = ((f64::from(*b) / step).round() * step) as f32;
            }
        }
        let over = deepsade_check::step::Over::new(schema, None);
        for (output, form) in &self.dependent {
            let (mut columns, mut bias) = (Vec::new(), form.constant.clone());
            for (var, c) in &form.terms {
                match var {
                    Var::Output(j) => bias += c * Rational::try_from(map.bias[*j]).ok()?,
                    var => over.add(*var, c, &mut columns, &mut bias),
                }
            }
            map.bias[*output] = bias.to_f32().value();
            map.weights.extend(columns.iter().filter(|(_, c)| !c.is_zero()).map(|(x, c)| (*output, *x, c.to_f32().value())));
        }
        Some(map)
    }
}
