//! A point and half-spaces enter; the nearest point in all of them leaves, with the half-spaces that hold it there.
//!
//! `min |y - p|^2  s.t.  a_k.y + c_k >= 0`, by the dual active-set method (Goldfarb and Idnani 1983) for the identity as
//! Hessian: start at p, take up the most violated half-space, and let go of those whose multiplier would turn negative on the
//! way. Each round ends with a larger distance from p, so no set of active half-spaces comes back and it ends.

use thiserror::Error;

use crate::cholesky::{Cholesky, dot};

/// `a.y + c >= 0`, with `|a| = 1`.
#[derive(Debug, Clone, Copy)]
pub struct HalfSpace<'a> {
    /// The direction inwards, of length 1.
    pub a: &'a [f64],
    /// The offset.
    pub c: f64,
}

/// The nearest point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nearest {
    /// The point.
    pub y: Vec<f64>,
    /// Indices of the half-spaces that hold it; their normals are linearly independent.
    pub active: Vec<usize>,
    /// How hard each of them pushes: `y = p + sum l_k a_k`.
    pub multipliers: Vec<f64>,
}

/// No point is in all half-spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no outputs obey the rules here")]
pub struct Infeasible;

/// What is left of a direction, as a share, below which it is taken to lie in the span of others.
const DEPENDENT: f64 = 1e-9;

/// The nearest point to `p`, up to rounding.
///
/// ```
/// use deepsade_solve::active_set::{HalfSpace, nearest};
///
/// // The nearest point to (1, 1) with x <= 0.
/// let found = nearest(&[1.0, 1.0], &[HalfSpace { a: &[-1.0, 0.0], c: 0.0 }]).unwrap();
/// assert_eq!((found.y, found.active), (vec![0.0, 1.0], vec![0]));
/// ```
pub fn nearest(p: &[f64], half_spaces: &[HalfSpace]) -> Result<Nearest, Infeasible> {
    let size = p.iter().fold(1.0f64, |m, v| m.max(v.abs()));
    let mut at = Nearest { y: p.to_vec(), active: Vec::new(), multipliers: Vec::new() };
    // Rounding could make the method go round in circles; so many rounds are never needed otherwise.
    for _ in 0..50 * (half_spaces.len() + 1) {
        let slack = |k: usize| dot(half_spaces[k].a, &at.y) + half_spaces[k].c;
        let tolerance = |k: usize| 1e-13 * (size + half_spaces[k].c.abs());
        let violated = (0..half_spaces.len()).filter(|k| !at.active.contains(k)).map(|k| (slack(k) + tolerance(k), k));
        let Some((_, k)) = violated.filter(|(s, _)| *s < 0.0).min_by(|a, b| a.0.total_cmp(&b.0)) else { return Ok(at) };
        at.take_up(k, half_spaces)?;
    }
    Ok(at)
}

impl Nearest {
    /// Moves until half-space k holds with equality, letting go of others on the way.
    fn take_up(&mut self, k: usize, half_spaces: &[HalfSpace]) -> Result<(), Infeasible> {
        let a = half_spaces[k].a;
        let mut push = 0.0;
        loop {
            // a = N r + z, with z orthogonal to the active normals N.
            let normals: Vec<&[f64]> = self.active.iter().map(|j| half_spaces[*j].a).collect();
            let r = least_squares(&normals, a);
            let z = rest(&normals, &r, a);
            let blocking = first_to_leave(self.multipliers.iter().copied(), &r);
            let length = dot(&z, a);
            let full = if length > DEPENDENT { -(dot(a, &self.y) + half_spaces[k].c).min(0.0) / length } else { f64::INFINITY };
            let step = blocking.map_or(full, |(t, _)| t.min(full));
            if step == f64::INFINITY {
                return Err(Infeasible);
            }
            if length > DEPENDENT {
                self.y.iter_mut().zip(&z).for_each(|(y, z)| *y += step * z);
            }
            self.multipliers.iter_mut().zip(&r).for_each(|(l, r)| *l -= step * r);
            push += step;
            match blocking {
                Some((t, j)) if t < full => {
                    self.active.remove(j);
                    self.multipliers.remove(j);
                }
                _ => {
                    self.active.push(k);
                    self.multipliers.push(push);
                    return Ok(());
                }
            }
        }
    }
}

/// Which multiplier reaches 0 first while each falls by its share of the direction, and after what step; `None` if none falls.
#[inline]
pub fn first_to_leave(multipliers: impl Iterator<Item = f64>, direction: &[f64]) -> Option<(f64, usize)> {
    let falling = multipliers.zip(direction).enumerate().filter(|(_, (_, d))| **d > 0.0);
    falling.map(|(i, (l, d))| (l / d, i)).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Takes the components along the normals, which are linearly independent, out of `g`: the derivative of the nearest point.
pub fn take_out(normals: &[&[f64]], g: &mut [f64]) {
    let r = least_squares(normals, g);
    let z = rest(normals, &r, g);
    g.copy_from_slice(&z);
}

/// r that makes `|a - sum r_j n_j|` smallest: the normal equations by Cholesky's method.
fn least_squares(normals: &[&[f64]], a: &[f64]) -> Vec<f64> {
    let mut factor = Cholesky::default();
    factor.reserve(normals.len());
    for n in normals {
        factor.push(|j| dot(n, normals[j]), dot(n, n), 1e-300);
    }
    let mut r: Vec<f64> = normals.iter().map(|m| dot(m, a)).collect();
    factor.solve(&mut r);
    r
}

fn rest(normals: &[&[f64]], r: &[f64], a: &[f64]) -> Vec<f64> {
    let mut z = a.to_vec();
    for (n, r) in normals.iter().zip(r) {
        z.iter_mut().zip(*n).for_each(|(z, n)| *z -= r * n);
    }
    z
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::{HalfSpace, Infeasible, dot, nearest, take_out};

    type Faces = Vec<(Vec<f64>, f64)>;

    fn unit(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
        let a: Vec<f64> = (0..n).map(|_| rng.random::<f64>() * 2.0 - 1.0).collect();
        let length = dot(&a, &a).sqrt();
        a.into_iter().map(|v| v / length).collect()
    }

    fn views(faces: &Faces) -> Vec<HalfSpace<'_>> {
        faces.iter().map(|(a, c)| HalfSpace { a, c: *c }).collect()
    }

    /// The reference: the nearest point is the projection on the intersection of some of the faces, so try every set of them.
    fn brute(p: &[f64], faces: &Faces) -> Option<f64> {
        let mut best: Option<f64> = None;
        for set in 0..1usize << faces.len() {
            let active: Vec<&(Vec<f64>, f64)> = (0..faces.len()).filter(|k| set >> k & 1 == 1).map(|k| &faces[k]).collect();
            // Alternating projections on hyperplanes meet their intersection at the nearest point to p.
            let mut y = p.to_vec();
            for _ in 0..2000 {
                for (a, c) in &active {
                    let s = dot(a, &y) + c;
                    y.iter_mut().zip(a).for_each(|(y, a)| *y -= s * a);
                }
            }
            if faces.iter().all(|(a, c)| dot(a, &y) + c > -1e-7) {
                let distance = y.iter().zip(p).map(|(y, p)| (y - p).powi(2)).sum::<f64>();
                best = Some(best.map_or(distance, |b| b.min(distance)));
            }
        }
        best
    }

    #[test]
    fn it_is_the_nearest_of_all_points_and_satisfies_the_conditions_of_kuhn_and_tucker() {
        let rng = &mut ChaCha8Rng::seed_from_u64(3);
        for case in 0..400 {
            let n = 1 + case % 4;
            let m = 1 + case % 5;
            // A point that obeys all: the set is not empty.
            let inside: Vec<f64> = (0..n).map(|_| rng.random::<f64>() * 4.0 - 2.0).collect();
            let faces: Faces = (0..m)
                .map(|_| {
                    let a = unit(rng, n);
                    let c = -dot(&a, &inside) + rng.random::<f64>() * 0.5;
                    (a, c)
                })
                .collect();
            let p: Vec<f64> = (0..n).map(|_| rng.random::<f64>() * 20.0 - 10.0).collect();
            let found = nearest(&p, &views(&faces)).unwrap();
            assert!(faces.iter().all(|(a, c)| dot(a, &found.y) + c > -1e-10), "{faces:?} {p:?}");
            let mut pushed = p.clone();
            for (k, l) in found.active.iter().zip(&found.multipliers) {
                assert!(*l >= 0.0 && (dot(&faces[*k].0, &found.y) + faces[*k].1).abs() < 1e-9);
                pushed.iter_mut().zip(&faces[*k].0).for_each(|(y, a)| *y += l * a);
            }
            assert!(pushed.iter().zip(&found.y).all(|(a, b)| (a - b).abs() < 1e-9), "y = p + sum l a");
            let distance = found.y.iter().zip(&p).map(|(y, p)| (y - p).powi(2)).sum::<f64>();
            if let Some(reference) = brute(&p, &faces) {
                assert!((distance - reference).abs() < 1e-4 * (1.0 + reference), "{distance} {reference}");
            }
        }
    }

    #[test]
    fn the_derivative_is_a_projection_on_the_active_faces() {
        let faces: Faces = vec![(vec![0.6, 0.8, 0.0], -1.0), (vec![0.0, 0.0, 1.0], -2.0)];
        let p = [0.1, 0.2, 0.3];
        let base = nearest(&p, &views(&faces)).unwrap();
        assert_eq!(base.active.len(), 2);
        for i in 0..3 {
            let mut moved = p;
            moved[i] += 1e-6;
            let after = nearest(&moved, &views(&faces)).unwrap();
            let mut g = [0.0; 3];
            g[i] = 1.0;
            take_out(&base.active.iter().map(|k| faces[*k].0.as_slice()).collect::<Vec<_>>(), &mut g);
            assert!(g.iter().enumerate().all(|(j, g)| ((after.y[j] - base.y[j]) / 1e-6 - g).abs() < 1e-6));
        }
    }

    #[test]
    fn an_empty_set_is_said_to_be_empty() {
        let faces: Faces = vec![(vec![1.0], -2.0), (vec![-1.0], 1.0)];
        assert_eq!(nearest(&[0.0], &views(&faces)), Err(Infeasible));
        let triangle: Faces = vec![(vec![0.0, 1.0], -1.0), (vec![0.8, -0.6], 0.0), (vec![-0.8, -0.6], 0.0)];
        assert_eq!(nearest(&[3.0, 0.5], &views(&triangle)), Err(Infeasible));
    }
}
