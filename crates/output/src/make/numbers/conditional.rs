//! Alternatives enter; leave alternatives in which equalities that share outputs with something else hold under no condition: one in
//! which the equality always holds, and one for inputs where the condition frees outputs from it.
//!
//! Which of several equalities a row must obey is then a choice among alternatives, and each alternative moves outputs along its own.

use deepsade_solve::eliminate::Point;
use deepsade_solve::satisfy::{Satisfiable, satisfy};
use deepsade_spec::Formula;

use super::alternative::{Alternative, GuardedFace, MOST, possible};
use super::direction::Ground;
use super::equality::{Equality, apart, single};

/// What each alternative becomes; the same alternatives where it would be too many.
pub(super) fn by_condition(ways: &[Alternative], ground: &Ground) -> Vec<Vec<Alternative>> {
    let (mut all, mut left) = (Vec::new(), MOST);
    for way in ways {
        let (conditions, mut told) = (shared_under(way, ground), Vec::new());
        if conditions.is_empty() {
            told.push(way.clone());
        } else if !tell_apart(way.clone(), &conditions, &mut way.demands.clone(), ground, left, &mut told) {
            return ways.iter().map(|way| vec![way.clone()]).collect();
        }
        left = left.saturating_sub(told.len());
        all.push(told);
    }
    all
}

/// The conditions of equalities that share outputs with another face of several.
fn shared_under(way: &Alternative, ground: &Ground) -> Vec<Formula> {
    let (rest, equalities) = apart(&way.faces, ground);
    let several = |face: &&GuardedFace| face.face.linear.terms.keys().filter(|var| var.is_output()).count() > 1;
    let sums: Vec<Equality> = rest.iter().filter(several).filter_map(|face| Equality::new(face, ground)).collect();
    let tied = |equality: &Equality| {
        let other = |one: &Equality| one != equality && one.shares_outputs(equality);
        equalities.iter().any(other) || sums.iter().any(other)
    };
    let mut found: Vec<Formula> = Vec::new();
    for equality in equalities.iter().chain(&single(&way.faces, ground)).filter(|e| !e.always() && tied(e)) {
        if !found.contains(&equality.unless) {
            found.push(equality.unless.clone());
        }
    }
    found
}

/// Takes each condition to hold, or not to; leaves out what no input of the domain does. `false` once there are more than `most`.
fn tell_apart(
    way: Alternative,
    conditions: &[Formula],
    known: &mut Vec<Formula>,
    ground: &Ground,
    most: usize,
    all: &mut Vec<Alternative>,
) -> bool {
    let schema = &ground.spec.schema;
    let Some((unless, rest)) = conditions.split_first() else {
        if possible(&way, schema, ground.ranges) {
            all.push(way);
        }
        return all.len() <= most;
    };
    for holds in [false, true] {
        known.push(if holds { unless.clone() } else { unless.negated() });
        if satisfy(&known.iter().collect::<Vec<_>>(), schema, &Point::new()) != Satisfiable::No {
            let mut way = way.clone();
            if holds {
                way.demands.push(unless.clone());
                way.faces.retain(|face| face.unless != *unless);
            } else {
                way.faces.iter_mut().filter(|face| face.unless == *unless).for_each(|face| face.unless = Formula::False);
            }
            if !tell_apart(way, rest, known, ground, most, all) {
                return false;
            }
        }
        known.pop();
    }
    true
}
