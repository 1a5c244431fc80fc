//! Equalities and faces enter; leave orthonormal equalities, and the faces as they are among the outputs that obey them.
//!
//! With orthonormal `q_i` and `q_i.y = f_i(x)`, the nearest outputs to p that obey the equalities are `p + sum (f_i - q_i.p) q_i`. Among
//! such outputs a face `a.y >= b` is one of its part along them: `t.y >= b - sum (a.q_i) f_i` with `t = a - sum (a.q_i) q_i`. Steps
//! along these t never leave the equalities.

use super::direction::Direction;
use super::writer::Writer;

/// What is left of a direction, as a share, below which it is taken to lie in the span of others.
const DEPENDENT: f64 = 1e-6;

/// Orthonormal equalities that say the same; those that follow from others are left out.
pub(super) fn orthonormal(equalities: &[Direction], give: &[f64]) -> Vec<Direction> {
    let mut found: Vec<Direction> = Vec::new();
    for equality in equalities {
        found.extend(along(equality, &found, give));
    }
    found
}

/// A face among the outputs that obey orthonormal equalities; `None` if they leave nothing of it.
pub(super) fn along(face: &Direction, equalities: &[Direction], give: &[f64]) -> Option<Direction> {
    let mut found = face.normal(give);
    for equality in equalities {
        let c = found.cosine(equality, give);
        let value = &equality.bounds[0];
        found.a.iter_mut().zip(&equality.a).for_each(|(a, q)| *a -= c * q);
        for bound in &mut found.bounds {
            bound.x.iter_mut().zip(&value.x).for_each(|(b, f)| *b -= c * f);
            bound.constant -= c * value.constant;
        }
    }
    let length = found.cosine(&found, give).sqrt();
    if length < DEPENDENT {
        return None;
    }
    found.a.iter_mut().for_each(|a| *a = if (*a / length).abs() < DEPENDENT { 0.0 } else { *a / length });
    found.bounds.iter_mut().for_each(|b| *b = b.divided(length));
    Some(found)
}

/// The nearest outputs that obey orthonormal equalities.
pub(super) fn project(w: &mut Writer, p: &str, equalities: &[Direction]) -> String {
    let f = w.bounds_of(equalities);
    let against: Vec<Vec<f64>> = equalities.iter().map(|q| q.a.iter().map(|a| -a).collect()).collect();
    let missing = w.product(p, &against, Some(&f));
    let along: Vec<Vec<f64>> = equalities.iter().map(|q| q.push(&w.ground.give)).collect();
    w.push(&missing, &along, p)
}
