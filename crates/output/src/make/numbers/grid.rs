//! Rules and ranges enter; leaves for each output that an equality binds the k of the grid of multiples of 2^-k on which it can be met,
//! and k = 0 for one that must be a whole number.

use deepsade_check::step::{Number, Outputs, Over, room};
use deepsade_spec::NormalSpec;

use super::super::{MakeError, NotEqual};
use super::alternative::{Alternative, Group, alternatives};
use super::conditional::by_condition;
use super::direction::Ground;
use super::equality::{Equality, apart, apart_from_fixed, single};
use super::exactly::Exactly;

/// Sums are exact below 2^24 steps; one bit is left over.
const BITS: i32 = 23;
/// No grid need be finer.
const FINEST: i32 = 40;

/// The k of each output that occurs in an equality, as fine as float32 allows, and that of whole numbers; `None` for outputs that may
/// be any number.
///
/// The ends of `ranges` are taken as they are: move them to the grid that is found, inwards.
pub fn grids(spec: &NormalSpec, ranges: &[Number]) -> Result<Vec<Option<i32>>, MakeError> {
    let outputs = spec.schema.task.outputs();
    if ranges.len() != outputs {
        return Err(MakeError::Ranges { found: ranges.len(), outputs });
    }
    let free: Vec<Number> = ranges.iter().map(|n| Number { grid: None, ..*n }).collect();
    let ground = Ground::new(spec, &free);
    let mut equalities: Vec<Equality> = Vec::new();
    for way in keepable(spec, &free)?.iter().flat_map(|group| &group.ways) {
        equalities.extend(needed(way, &ground).into_iter().filter(|e| !equalities.contains(e)).collect::<Vec<_>>());
    }
    let mut grids = vec![None; outputs];
    for equality in &equalities {
        let k = finest(equality, &ground)?;
        equality.members().for_each(|j| grids[j] = Some(grids[j].map_or(k, |known: i32| known.min(k))));
    }
    for j in spec.schema.task.whole_outputs() {
        if grids[j].is_some_and(|k| k < 0) {
            let rule = equalities.iter().find(|e| e.a[j] != 0.0).map_or_else(String::new, |e| ground.rule(&e.atom));
            return Err(MakeError::Equality { rule, why: NotEqual::TooLarge });
        }
        grids[j] = Some(0);
    }
    // Equalities that share an output share its grid.
    loop {
        let before = grids.clone();
        for equality in &equalities {
            let coarsest = equality.members().filter_map(|j| grids[j]).min();
            equality.members().for_each(|j| grids[j] = coarsest);
        }
        if grids == before {
            break;
        }
    }
    for equality in &equalities {
        let k = equality.members().filter_map(|j| grids[j]).min().unwrap_or(0);
        let ranges: Vec<Number> = free.iter().zip(&grids).map(|(n, grid)| Number { grid: grid.map(|_| k), ..*n }).collect();
        equality.grid(&Ground::new(spec, &ranges))?;
    }
    Ok(grids)
}

/// The alternatives of each group; without those whose equalities can't be met, if others are left.
pub(super) fn keepable(spec: &NormalSpec, ranges: &[Number]) -> Result<Vec<Group>, MakeError> {
    let free: Vec<Number> = ranges.iter().map(|n| Number { grid: None, ..*n }).collect();
    let ground = Ground::new(spec, &free);
    let mut groups = alternatives(spec, ranges)?;
    let met = |way: &Alternative| needed(way, &ground).iter().all(|e| finest(e, &ground).is_ok());
    for ways in groups.iter_mut().map(|group| &mut group.ways) {
        if ways.iter().any(met) {
            ways.retain(met);
        }
    }
    let gridded = Ground::new(spec, ranges);
    // Grids may not be known yet.
    let solved = |way: &Alternative| match Exactly::new(&apart_from_fixed(&way.faces, &gridded).equalities, &gridded) {
        Ok(_) | Err(MakeError::Equality { why: NotEqual::NoGrid, .. }) => true,
        Err(_) => false,
    };
    for ways in groups.iter_mut().map(|group| &mut group.ways) {
        let mut told = by_condition(ways, &gridded);
        // What an alternative became is left out as a whole: each part answers other inputs.
        if told.iter().any(|parts| !parts.is_empty() && parts.iter().all(solved)) {
            told.retain(|parts| parts.iter().all(solved));
        }
        *ways = told.concat();
    }
    Ok(groups)
}

/// The equalities of an alternative that need a grid.
fn needed(way: &Alternative, ground: &Ground) -> Vec<Equality> {
    let alone = single(&way.faces, ground).into_iter().filter(|e| !is_exact(e, ground.spec, ground.ranges));
    alone.chain(apart(&way.faces, ground).1).collect()
}

/// Whether the tail sees it hold for every float32 value: an output that equals a feature.
fn is_exact(equality: &Equality, spec: &NormalSpec, ranges: &[Number]) -> bool {
    let over = Over::new(&spec.schema, Some(&Outputs::Numbers(ranges.to_vec())));
    room(&equality.atom, &over).is_ok_and(|room| room == 0.0)
}

fn finest(equality: &Equality, ground: &Ground) -> Result<i32, MakeError> {
    let rule = || ground.rule(&equality.atom);
    if equality.is_real(ground) {
        return Err(MakeError::RealEquality { rule: rule(), tolerance: tolerance(equality, ground)? });
    }
    // A factor of 2 the bit that is left over bears.
    let times = equality.times().max(2.0) / 2.0;
    let size = (times * equality.size(ground)).max(f64::MIN_POSITIVE);
    let k = (BITS - size.log2().ceil() as i32).min(FINEST);
    // What equals whole numbers, or multiples of a step, is on no coarser grid than theirs; the tail knows of none above 1.
    match equality.of_features(ground) {
        Some(own) if k < own.max(0) => Err(MakeError::Equality { rule: rule(), why: NotEqual::TooLarge }),
        _ => Ok(k),
    }
}

/// The smallest difference that can be promised, as a decimal of one digit: twice what each side has to stay away.
fn tolerance(equality: &Equality, ground: &Ground) -> Result<f64, MakeError> {
    let away = ground.away(&equality.atom)?;
    let at_least = 2.0 * away;
    let exponent = at_least.log10().floor();
    let digit = (at_least / 10f64.powf(exponent)).ceil();
    Ok(format!("{digit}e{exponent}").parse().unwrap_or(at_least))
}
