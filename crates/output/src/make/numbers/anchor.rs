//! An alternative enters; leave outputs that obey it with room to spare for every input, if some do that are the same for all.

use deepsade_solve::active_set::{HalfSpace, nearest};
use deepsade_spec::ColumnKind;

use super::Anchor;
use super::choose::Way;
use super::direction::{Bound, Ground};

/// Room in hand, as shares of the outputs' ranges: the largest that there is.
const ROOM: [f64; 6] = [0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4];

/// The nearest to the middle of the ranges, in the measure of what gives way.
pub(super) fn constant(way: &Way, ground: &Ground) -> Option<Anchor> {
    // Equalities are met by making, for which a way to an anchor is of no use unless it obeys them: those follow the input.
    if !way.equal.is_empty() {
        return None;
    }
    let schema = &ground.spec.schema;
    let ends: Vec<(f64, f64)> = schema
        .columns()
        .iter()
        .map(|c| match c.kind {
            ColumnKind::Level(_) => (0.0, 1.0),
            ColumnKind::Number => schema.features[c.feature].domain.range().map_or((0.0, 0.0), |(a, b)| (a.into(), b.into())),
        })
        .collect();
    // Whatever the input, and as if every bound were demanded.
    let most = |b: &Bound| b.x.iter().zip(&ends).map(|(c, (lo, hi))| (c * lo).max(c * hi)).sum::<f64>() + b.constant;
    let ranges = (0..ground.outputs()).flat_map(|j| ground.range(j));
    let faces: Vec<_> = way.faces.iter().cloned().chain(ranges).collect();
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
