//! An alternative enters; leave outputs that obey it with room to spare: those that are given, or some that are the same for every input.

use deepsade_check::step::Number;
use deepsade_solve::active_set::{HalfSpace, nearest};

use super::Anchor;
use super::choose::Way;
use super::direction::{Direction, Ground, GuardedBound};

/// Room in hand, as shares of the outputs' ranges: the largest that there is.
const ROOM: [f64; 9] = [0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7];

/// For each group of an alternative what is given, if it obeys, else constants. `None` if a group that needs them has none.
pub(super) fn anchor(way: &Way, ground: &Ground, given: impl Fn(usize) -> Option<Anchor>) -> Option<Anchor> {
    let middle = |n: &Number| f32::midpoint(n.lo, n.hi);
    let mut all = Anchor { weights: Vec::new(), bias: ground.cut.iter().map(middle).collect() };
    for group in way.groups() {
        let found = given(group).or_else(|| constant(way, group, ground));
        let needed = way.faces.iter().chain(&way.equal).any(|d| d.single().is_none() && way.group_of(d) == Some(group));
        let Some(found) = found else {
            if needed {
                return None;
            }
            continue;
        };
        let own = |output: usize| way.group[output] == Some(group);
        all.weights.extend(found.weights.iter().filter(|(o, ..)| own(*o)));
        (0..ground.outputs()).filter(|o| own(*o)).for_each(|o| all.bias[o] = found.bias[o]);
    }
    Some(all)
}

/// The nearest to the middle of the ranges, in the measure of what gives way.
fn constant(way: &Way, group: usize, ground: &Ground) -> Option<Anchor> {
    let own = |d: &&Direction| way.group_of(d) == Some(group);
    // Equalities are met by making, for which a way to an anchor is of no use unless it obeys them: those follow the input.
    if way.equal.iter().any(|d| own(&d)) {
        return None;
    }
    let schema = &ground.spec.schema;
    let ends: Vec<(f64, f64)> = schema.column_ranges().into_iter().map(|(lo, hi)| (lo.into(), hi.into())).collect();
    // Whatever the input, and as if every bound were demanded.
    let most = |b: &GuardedBound| b.x.iter().zip(&ends).map(|(c, (lo, hi))| (c * lo).max(c * hi)).sum::<f64>() + b.constant;
    let ranges = (0..ground.outputs()).filter(|j| way.group[*j] == Some(group)).flat_map(|j| ground.range(j));
    let faces: Vec<_> = way.faces.iter().filter(own).cloned().chain(ranges).collect();
    let units: Vec<f64> = ground.give.iter().map(|give| give.sqrt()).collect();
    let middle: Vec<f64> =
        ground.cut.iter().zip(&units).map(|(n, unit)| (0.5 * f64::from(n.lo) + 0.5 * f64::from(n.hi)) / unit).collect();
    ROOM.iter().find_map(|room| {
        let spaces: Vec<(Vec<f64>, f64)> = faces
            .iter()
            .map(|d| {
                let width: f64 = d.a.iter().zip(ground.cut).map(|(a, n)| a.abs() * f64::from(n.hi - n.lo)).sum();
                let bound = d.bounds.iter().map(most).fold(f64::MIN, f64::max) + room * width;
                let a: Vec<f64> = d.a.iter().zip(&units).map(|(a, unit)| a * unit).collect();
                let length = a.iter().map(|v| v * v).sum::<f64>().sqrt();
                (a.iter().map(|v| v / length).collect(), -bound / length)
            })
            .collect();
        let found = nearest(&middle, &spaces.iter().map(|(a, c)| HalfSpace { a, c: *c }).collect::<Vec<_>>()).ok()?;
        Some(Anchor { weights: Vec::new(), bias: found.y.iter().zip(&units).map(|(y, unit)| (y * unit) as f32).collect() })
    })
}
