//! Rules about numbers and the range of each output enter; leaves a piece of a graph that moves a network's outputs to outputs near them
//! that obey the rules.
//!
//! ```text
//! scores -> within ranges -> each alternative: closed form, or steps and a ray from the anchor -> on grids, a search among whole
//! numbers -> the nearest one
//! ```

mod alternative;
mod anchor;
mod choose;
mod closed;
mod conditional;
mod direction;
mod dual;
mod equality;
mod exactly;
mod grid;
mod line;
mod measure;
mod plan;
mod ray;
mod round;
mod search;
mod select;
mod solve;
mod tangent;
mod writer;

#[cfg(test)]
mod tests;

use deepsade_check::step::{Number, Outputs};
use deepsade_net::Piece;
use deepsade_spec::{Formula, NormalSpec};

use self::alternative::Group;
use self::anchor::anchor;
use self::choose::{Way, choose};
use self::direction::Ground;
pub use self::grid::grids;
use self::grid::keepable;
use self::measure::{MeasuredRows, Quality};
use self::writer::{PerLine, Writer};
use super::{Made, MakeError, NotEqual, Source};

/// Numbers of steps that are tried.
const STEPS: [usize; 10] = [2, 3, 4, 5, 6, 8, 10, 13, 18, 24];
/// So many more where nothing makes sure of what they come to.
const SPARE: usize = 2;
/// The share of rows that a closed form may lose to ranges.
const RARE: f64 = 1e-3;
/// The share of inputs for which an anchor obeys an alternative, from which on it is that one's anchor.
const OFTEN: f64 = 0.9;
/// What the rounding of all steps may take, and what of it is kept back, one after the other, where more leaves no room;
const KEPT_BACK: [f64; 3] = [1.0, 0.3, 0.1];
/// with so many faces at most.
const MOST_TRIED: usize = 200;
/// What candidates cost that need no other.
const FINE: f64 = 1.05;
/// How far faces that no ray makes sure of are moved in, as a share of the outputs' ranges.
const INWARD: [f64; 4] = [0.0, 1e-5, 1e-4, 1e-3];

/// An affine map of the input's columns that obeys all rules, with room to spare where there is some.
#[derive(Debug, Clone, PartialEq)]
pub struct Anchor {
    /// Weights: output, column, number.
    pub weights: Vec<(usize, usize, f32)>,
    /// One number an output.
    pub bias: Vec<f32>,
}

/// Makes candidates near the network's outputs: where the sum of `((y_j - p_j) / spread_j)^2` is smallest.
pub fn make(
    spec: &NormalSpec,
    source: &Source<'_>,
    ranges: &[Number],
    spread: &[f64],
    anchor: Option<&Anchor>,
) -> Result<Made, MakeError> {
    let (outputs, columns) = (spec.schema.task.outputs(), spec.schema.columns().len());
    if ranges.len() != outputs {
        return Err(MakeError::Ranges { found: ranges.len(), outputs });
    }
    if spread.len() != outputs || !spread.iter().all(|s| *s > 0.0 && s.is_finite()) {
        return Err(MakeError::Spread { outputs });
    }
    let fits = |a: &Anchor| a.bias.len() == outputs && a.weights.iter().all(|(o, c, _)| *o < outputs && *c < columns);
    if !anchor.is_none_or(fits) {
        return Err(MakeError::Anchor { outputs, columns });
    }
    let wider: Vec<Number> = ranges.iter().map(wider).collect();
    match within(spec, source, &wider, ranges, spread, anchor) {
        // Sums on a grid that have no bit to spare.
        Err(MakeError::Equality { why: NotEqual::TooLarge, .. }) => within(spec, source, ranges, ranges, spread, anchor),
        made => made,
    }
}

/// Makes candidates within ranges, from outputs that are cut to a part of them. Where faces leave less room than the rounding of all steps may
/// take, less of it is kept back: what comes of that is measured, and the best is taken.
fn within(
    spec: &NormalSpec,
    source: &Source<'_>,
    ranges: &[Number],
    cut: &[Number],
    spread: &[f64],
    given: Option<&Anchor>,
) -> Result<Made, MakeError> {
    let found = keepable(spec, ranges)?;
    let faces: usize = found.iter().flat_map(|group| &group.ways).map(|way| way.faces.len()).sum();
    let mut best: Option<(f64, Made)> = None;
    for share in if faces <= MOST_TRIED { &KEPT_BACK[..] } else { &KEPT_BACK[..1] } {
        let mut ground = Ground::new(spec, ranges).with_spread(spread, found.iter().map(|group| &group.outputs));
        (ground.cut, ground.kept_back) = (cut, *share);
        match (keeping_back(ground, source, &found, given), &best) {
            (Ok((made, quality)), _) if quality.cost() <= FINE => return Ok(made),
            (Ok((made, quality)), known) => {
                if known.as_ref().is_none_or(|(cost, _)| quality.cost() < *cost) {
                    best = Some((quality.cost(), made));
                }
            }
            (Err(error), None) => return Err(error),
            (Err(_), Some(_)) => {}
        }
    }
    let (_, made) = best.expect("the first share is tried");
    Ok(made)
}

/// Makes candidates on some ground, and says how good they are.
fn keeping_back(
    mut ground: Ground,
    source: &Source<'_>,
    found: &[Group],
    given: Option<&Anchor>,
) -> Result<(Made, Quality), MakeError> {
    let ranges = ground.ranges;
    found.iter().flat_map(|group| &group.ways).for_each(|way| ground.spread(&equality::apart(&way.faces, &ground).1));
    // All groups at once: as many ways as the one with most alternatives has.
    let rounds = found.iter().map(|group| group.ways.len()).max().unwrap_or(1);
    let ready = |close: bool| (0..rounds).map(|k| Way::new(found, k, &ground, close)).collect::<Result<Vec<_>, _>>();
    let mut ways = ready(true)?;
    let outputs = Outputs::Numbers(ranges.to_vec());
    let rows = MeasuredRows::new(&ground, &ways, given);
    if !ways.iter().any(|way| way.plan.has_steps()) {
        let piece = write(&ground, source, &ways, 0)?;
        // A closed form knows nothing of ranges: it will do where they are not in its way.
        if let Some(quality) = rows.measure(&piece, source, &ground).filter(|quality| quality.refused_near <= RARE) {
            let how = format!("the nearest outputs{}, in closed form", words(found, "of"));
            let best = ranges.iter().all(|n| n.grid.is_none()) && found.iter().all(|group| group.choices.is_empty());
            return Ok((
                Made { piece, outputs, best, ratio: quality.ratio, nowhere: quality.nowhere, how },
                Quality { refused: 0.0, ratio: 1.0, ..quality },
            ));
        }
        ways = ready(false)?;
    }
    // A group with one alternative has the given anchor in it; of several it may be in some, and the others have one of their own.
    let given = |way: &Way, group: usize| {
        let one = found[group].ways.len() == 1;
        given.filter(|a| one || rows.obeys(a, way, group, &ground) > OFTEN).cloned()
    };
    let first = ways.iter().map(|way| anchor(way, &ground, |group| given(way, group))).collect();
    let own = ways.iter().map(|way| anchor(way, &ground, |_| None)).collect();
    let (piece, steps, quality) = tuned(&ground, source, &mut ways, [first, own], &rows)?;
    let how = format!("{steps} steps towards the nearest outputs{}", words(found, "of each of"));
    Ok((Made { piece, outputs, best: false, ratio: quality.ratio, nowhere: quality.nowhere, how }, quality))
}

/// How many alternatives there are.
fn words(groups: &[Group], of: &str) -> String {
    let choices = groups.iter().map(|group| group.choices.len()).sum::<usize>();
    if choices > 0 {
        return format!(", after {choices} choices among options, each by itself");
    }
    match &groups.iter().map(|group| group.ways.len()).filter(|n| *n > 1).collect::<Vec<_>>()[..] {
        [] => String::new(),
        [n] => format!(" {of} {n} alternatives"),
        all => format!(" {of} {} alternatives, in {} groups of outputs", all.iter().sum::<usize>(), all.len()),
    }
}

/// The piece with as few steps as are good enough, their number, and how good they are.
fn tuned(
    ground: &Ground,
    source: &Source<'_>,
    ways: &mut [Way],
    anchors: [Vec<Option<Anchor>>; 2],
    rows: &MeasuredRows,
) -> Result<(Piece, usize, Quality), MakeError> {
    let mut best: Option<(Quality, Piece, usize)> = None;
    // With anchors first, those of the alternatives' own if the given one is not good; else without, moved in more and more.
    let none = vec![None; ways.len()];
    let mut tries: Vec<_> = anchors.into_iter().filter(|of| *of != none).map(|of| (of, 0.0)).collect();
    tries.dedup();
    tries.extend(INWARD.map(|share| (none.clone(), share)));
    for (anchors, inward) in tries {
        for (way, anchor) in ways.iter_mut().zip(anchors) {
            way.anchor = anchor;
            way.plan.move_in(inward, ground);
        }
        let spare = if ways.iter().all(|way| way.anchor.is_some()) { 0 } else { SPARE };
        for steps in STEPS {
            let piece = write(ground, source, ways, steps)?;
            let quality = rows.measure(&piece, source, ground).unwrap_or(Quality::WORST);
            if quality.is_good() {
                return Ok((write(ground, source, ways, steps + spare)?, steps + spare, quality));
            }
            if best.as_ref().is_none_or(|(known, ..)| quality.cost() < known.cost()) {
                best = Some((quality, piece, steps));
            }
        }
    }
    let (quality, piece, steps) = best.expect("some number of steps is tried");
    Ok((piece, steps, quality))
}

/// How far candidates may go: scores are cut to a range, and what is nearest to them that obeys may lie beyond it.
fn wider(range: &Number) -> Number {
    let width = range.hi - range.lo;
    // A grid leaves one bit: the size of a number may be doubled.
    let by = range.grid.map_or(width, |k| (0.5 * width * 2f32.powi(k)).floor() * 2f32.powi(-k));
    Number { lo: range.lo - by, hi: range.hi + by, grid: range.grid }
}

/// Writes the whole piece.
fn write(ground: &Ground, source: &Source<'_>, ways: &[Way], steps: usize) -> Result<Piece, MakeError> {
    let mut conditions: Vec<Formula> = Vec::new();
    for way in ways {
        let bounds = way.faces.iter().flat_map(|d| d.bounds.iter().map(|b| &b.unless));
        let equal = way.plan.exactly.remainders.iter().map(|e| &e.unless);
        for unless in bounds.chain(equal).chain(way.demands.iter().map(|(_, d)| d)) {
            if !conditions.contains(unless) {
                conditions.push(unless.clone());
            }
        }
    }
    let mut w = Writer::new(ground, source, conditions)?;
    let scores = w.draft.turned(source.scores);
    match ways {
        [way] => {
            let (lower, upper) = way.plan.fixed_ends(&w);
            w.p = clean(&mut w, &scores, &lower, &upper);
            w.choose(&way.choices);
            way.plan.solve(&mut w, true, way.anchor.as_ref(), steps);
        }
        ways => {
            let free = vec![None; ground.outputs()];
            w.p = clean(&mut w, &scores, &free, &free);
            w.choose(&ways[0].choices);
            choose(&mut w, ways, steps);
        }
    }
    Ok(w.draft.finish())
}

/// Numbers within the ends of all ranges, and within those that are given; what is not a number may stay none: the fallback answers.
fn clean(w: &mut Writer, scores: &str, lower: &[Option<f32>], upper: &[Option<f32>]) -> String {
    let ranges = w.ground.cut;
    let (lo, hi) = ranges.iter().fold((f32::MAX, f32::MIN), |(lo, hi), n| (lo.min(n.lo), hi.max(n.hi)));
    // One number for all outputs, if those that are given are the same and nothing is given for the others.
    let all = |ends: &[Option<f32>], all: f32| PerLine::Constant(ends.iter().map(|end| end.unwrap_or(all)).collect());
    w.clip(scores, &all(lower, lo), &all(upper, hi))
}
