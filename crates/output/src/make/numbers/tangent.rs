//! Equalities and faces enter; leave orthonormal equalities, and the faces as they are among the outputs that obey them.
//!
//! With orthonormal `q_i` and `q_i.y = f_i(x)`, the nearest outputs to p that obey the equalities are `p + sum (f_i - q_i.p) q_i`. Among
//! such outputs a face `a.y >= b` is one of its part along them: `t.y >= b - sum (a.q_i) f_i` with `t = a - sum (a.q_i) q_i`. Steps
//! along these t never leave the equalities.

use super::direction::{Bound, Direction};
use super::writer::{Row, Writer};

/// What is left of a direction, as a share, below which it is taken to lie in the span of others.
const DEPENDENT: f64 = 1e-6;

/// Orthonormal equalities that say the same; those that follow from others are left out.
pub(super) fn orthonormal(equalities: &[Direction]) -> Vec<Direction> {
    let mut found: Vec<Direction> = Vec::new();
    for equality in equalities {
        found.extend(along(equality, &found));
    }
    found
}

/// A face among the outputs that obey orthonormal equalities; `None` if they leave nothing of it.
pub(super) fn along(face: &Direction, equalities: &[Direction]) -> Option<Direction> {
    let mut found = face.clone();
    for equality in equalities {
        let c = found.cosine(equality);
        let value = &equality.bounds[0];
        found.a.iter_mut().zip(&equality.a).for_each(|(a, q)| *a -= c * q);
        for bound in &mut found.bounds {
            bound.x.iter_mut().zip(&value.x).for_each(|(b, f)| *b -= c * f);
            bound.constant -= c * value.constant;
        }
    }
    let length = found.cosine(&found).sqrt();
    if length < DEPENDENT {
        return None;
    }
    found.a.iter_mut().for_each(|a| *a = if (*a / length).abs() < DEPENDENT { 0.0 } else { *a / length });
    for bound in &mut found.bounds {
        *bound = Bound {
            x: bound.x.iter().map(|v| v / length).collect(),
            constant: bound.constant / length,
            own: bound.own / length,
            exact: bound.exact,
            slack: bound.slack / length,
            unless: bound.unless.clone(),
        };
    }
    Some(found)
}

/// The nearest outputs that obey orthonormal equalities.
pub(super) fn project(w: &mut Writer, p: &str, equalities: &[Direction]) -> String {
    let f = w.bounds_of(equalities);
    let against: Vec<Vec<f64>> = equalities.iter().map(|q| q.a.iter().map(|a| -a).collect()).collect();
    let missing = w.product(p, &against, Some(&f));
    let back: Vec<Vec<f64>> = (0..w.ground.outputs()).map(|j| equalities.iter().map(|q| q.a[j]).collect()).collect();
    w.product(&missing, &back, Some(&Row::Tensor(p.into())))
}
