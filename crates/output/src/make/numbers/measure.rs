//! A piece enters; leaves how many of its candidates the tail refuses on random rows, and how far they are beside the nearest outputs.

use std::collections::BTreeSet;

use deepsade_check::step::{Case, Number, OutputStep, Outputs};
use deepsade_net::{Matrix, Piece};
use deepsade_solve::active_set::{HalfSpace, nearest};
use deepsade_solve::sample::InputSampler;
use deepsade_spec::Formula;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::tried::with_tail;
use super::super::{CANDIDATE, Source};
use super::Anchor;
use super::choose::Way;
use super::direction::{Direction, Ground, GuardedBound};
use super::select::left_at;
use crate::graph::Value;
use crate::judge::Judge;

/// How far from the middle rows are, as a share of the outputs' ranges; the farthest first.
const SCALES: [f32; 3] = [0.5, 0.1, 0.02];
/// The squared distance beside that of the nearest outputs that is good enough.
const GOOD: f64 = 1.002;
/// Rows of each scale.
const ROWS: usize = 100;

/// Rows to measure candidates on.
#[derive(Debug)]
pub(super) struct MeasuredRows {
    p: Matrix,
    x: Matrix,
    /// The outputs of each group that rules tie together.
    groups: Vec<Vec<usize>>,
    /// For each of them the squared distance of the nearest outputs; `None` where there are none.
    exact: Vec<Option<Vec<f64>>>,
}

/// How good candidates are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quality {
    /// The share of rows that are refused though some outputs obey; and of those that are not far from the middle.
    pub(super) refused: f64,
    pub(super) refused_near: f64,
    /// The share of rows for which no outputs obey with what is kept back.
    pub(super) nowhere: f64,
    /// The squared distance beside that of the nearest outputs, of the worst group at the worst scale.
    pub(super) ratio: f64,
}

impl Quality {
    /// Nothing is taken.
    pub(super) const WORST: Self = Self { refused: 1.0, refused_near: 1.0, nowhere: 1.0, ratio: f64::INFINITY };

    pub(super) fn is_good(&self) -> bool {
        self.refused == 0.0 && self.ratio <= GOOD
    }

    /// What candidates cost: one row in a hundred that is refused, or has none, as much as a tenth of the distance of all.
    pub(super) fn cost(&self) -> f64 {
        self.ratio + 10.0 * (self.refused + self.nowhere)
    }
}

impl MeasuredRows {
    pub(super) fn new(ground: &Ground, ways: &[Way], anchor: Option<&Anchor>) -> Self {
        let (sampler, rng) = (InputSampler::new(&ground.spec.schema), &mut ChaCha8Rng::seed_from_u64(0));
        let (outputs, columns) = (ground.outputs(), ground.columns().len());
        let (mut p, mut x) = (Matrix::zeros(0, outputs), Matrix::zeros(0, columns));
        for scale in SCALES {
            for _ in 0..ROWS {
                let row = sampler.row(rng);
                for j in 0..outputs {
                    let n = &ground.cut[j];
                    let middle = anchor.map_or(f32::midpoint(n.lo, n.hi), |a| a.at(j, &row));
                    let away = scale * (n.hi - n.lo) * (rng.random::<f32>() + rng.random::<f32>() - 1.0);
                    p.data.push((middle + away).clamp(n.lo, n.hi));
                }
                x.data.extend(row);
            }
        }
        (p.rows, x.rows) = (SCALES.len() * ROWS, SCALES.len() * ROWS);
        let judge = Judge::new(ground.spec);
        let exact = (0..p.rows).map(|r| distances(p.row(r), x.row(r), ground, ways, &judge)).collect();
        let tied = |group: usize| (0..outputs).filter(|j| ways.iter().any(|way| way.group[*j] == Some(group))).collect();
        let groups = ways.first().map(Way::groups).unwrap_or_default().into_iter().map(tied).collect();
        Self { p, x, groups, exact }
    }

    /// The share of rows in which an anchor obeys what a way asks of a group.
    pub(super) fn obeys(&self, anchor: &Anchor, way: &Way, group: usize, ground: &Ground) -> f64 {
        let judge = Judge::new(ground.spec);
        let obeys = |r: &usize| {
            let x = self.x.row(*r);
            let y: Vec<f64> = (0..ground.outputs()).map(|j| f64::from(anchor.at(j, x))).collect();
            let inside = |(a, c): &(Vec<f64>, f64)| a.iter().zip(&y).map(|(a, y)| a * y).sum::<f64>() + c >= 0.0;
            let faces = way.faces.iter().filter(|d| way.group_of(d) == Some(group));
            let left = left_at(&way.choices, self.p.row(*r), x, &judge);
            meets(way, group, x, &judge) && spaces(x, faces, &left, &judge).iter().all(inside)
        };
        (0..self.x.rows).filter(obeys).count() as f64 / self.x.rows as f64
    }

    /// Runs a piece and the tail behind it.
    pub(super) fn measure(&self, piece: &Piece, source: &Source, ground: &Ground) -> Option<Quality> {
        let outputs = Outputs::Numbers(ground.ranges.to_vec());
        let bias = vec![0.0; ground.outputs()];
        let fallback = vec![Case { when: Vec::new(), weights: Vec::new(), bias, trees: Vec::new() }];
        let step = OutputStep { candidate: CANDIDATE.into(), outputs, fallback };
        let (graph, [_, _, ok]) = with_tail(ground.spec, piece, &step, source)?;
        let mut found = graph.run(vec![self.p.clone().into(), self.x.clone().into()], &[CANDIDATE, &ok]).ok()?;
        let Some(Value::Bool(taken)) = found.pop() else { return None };
        // A line an output.
        let y = Matrix::try_from(found.pop()?).ok()?;

        let refused = |near: bool| {
            let lost = |r: &usize| self.exact[*r].is_some() && !taken.data[*r];
            (if near { ROWS } else { 0 }..self.p.rows).filter(lost).count() as f64 / self.p.rows as f64
        };
        let mut ratio = 1.0f64;
        for (g, group) in self.groups.iter().enumerate() {
            // The nearest outputs are not whole numbers: half a step from them is as good.
            let whole = ROWS as f64 * group.iter().filter(|j| ground.is_whole(**j)).count() as f64 / 4.0;
            for scale in 0..SCALES.len() {
                let (mut own, mut best) = (0.0, whole);
                for r in (scale * ROWS..(scale + 1) * ROWS).filter(|r| taken.data[*r]) {
                    let Some(exact) = &self.exact[r] else { continue };
                    best += exact[g];
                    own +=
                        group.iter().map(|j| f64::from(y.row(*j)[r] - self.p.row(r)[*j]).powi(2) / ground.give[*j]).sum::<f64>();
                }
                if best > 0.0 {
                    ratio = ratio.max(own / best);
                }
            }
        }
        let nowhere = self.exact.iter().filter(|exact| exact.is_none()).count() as f64 / self.p.rows as f64;
        Some(Quality { refused: refused(false), refused_near: refused(true), nowhere, ratio })
    }
}

impl Anchor {
    fn at(&self, output: usize, x: &[f32]) -> f32 {
        self.weights.iter().filter(|(o, _, _)| *o == output).fold(self.bias[output], |sum, (_, c, w)| sum + w * x[*c])
    }
}

pub(super) fn holds(condition: &Formula, x: &[f32], judge: &Judge) -> bool {
    condition.holds(&mut |atom| judge.meets(atom, x))
}

/// Whether a group has the alternative of a way at an input.
fn meets(way: &Way, group: usize, x: &[f32], judge: &Judge) -> bool {
    way.demands.iter().filter(|(g, _)| *g == group).all(|(_, d)| holds(d, x, judge))
}

/// The half-spaces that are demanded at an input.
fn spaces<'a>(
    x: &[f32],
    faces: impl Iterator<Item = &'a Direction>,
    left: &BTreeSet<usize>,
    judge: &Judge,
) -> Vec<(Vec<f64>, f64)> {
    let at = |d: &Direction| {
        let taken = |b: &&GuardedBound| b.option.is_none_or(|option| !left.contains(&option));
        let demanded = d.bounds.iter().filter(taken).filter(|b| !holds(&b.unless, x, judge));
        let value = demanded.map(|b| b.x.iter().zip(x).map(|(c, x)| c * f64::from(*x)).sum::<f64>() + b.constant);
        value.reduce(f64::max).map(|value| (d.a.clone(), -value))
    };
    faces.filter_map(at).collect()
}

/// The squared distances of the nearest outputs: of each group that of its nearest alternative.
fn distances(p: &[f32], x: &[f32], ground: &Ground, ways: &[Way], judge: &Judge) -> Option<Vec<f64>> {
    let groups = ways.first().map(Way::groups).unwrap_or_default();
    let of = |group: usize| {
        let able = ways.iter().filter(|way| way.group.contains(&Some(group)) && meets(way, group, x, judge));
        able.filter_map(|way| distance_of(group, p, x, ground, way, judge)).reduce(f64::min)
    };
    groups.into_iter().map(of).collect()
}

fn distance_of(group: usize, given: &[f32], x: &[f32], ground: &Ground, way: &Way, judge: &Judge) -> Option<f64> {
    let members: Vec<usize> = (0..given.len()).filter(|j| way.group[*j] == Some(group)).collect();
    let units: Vec<f64> = members.iter().map(|j| ground.give[*j].sqrt()).collect();
    let p: Vec<f64> = members.iter().zip(&units).map(|(j, unit)| f64::from(given[*j]) / unit).collect();
    let faces = way.faces.iter().chain(&way.equal).filter(|d| way.group_of(d) == Some(group));
    let mut spaces = spaces(x, faces, &left_at(&way.choices, given, x, judge), judge);
    for (a, _) in &mut spaces {
        *a = members.iter().map(|j| a[*j]).collect();
    }
    if spaces.iter().all(|(a, _)| a.iter().filter(|v| **v != 0.0).count() == 1) {
        return one_by_one(&p, &units, &spaces, members.iter().map(|j| &ground.ranges[*j]));
    }
    for (k, n) in members.iter().map(|j| &ground.ranges[*j]).enumerate() {
        for (sign, end) in [(1.0, -n.lo), (-1.0, n.hi)] {
            let mut a = vec![0.0; p.len()];
            a[k] = sign;
            spaces.push((a, f64::from(end)));
        }
    }
    // In units in which all give way alike.
    for (a, c) in &mut spaces {
        a.iter_mut().zip(&units).for_each(|(a, unit)| *a *= unit);
        let length = a.iter().map(|v| v * v).sum::<f64>().sqrt();
        a.iter_mut().chain([c]).for_each(|v| *v /= length);
    }
    let found = nearest(&p, &spaces.iter().map(|(a, c)| HalfSpace { a, c: *c }).collect::<Vec<_>>()).ok()?;
    Some(found.y.iter().zip(&p).map(|(y, p)| (y - p).powi(2)).sum::<f64>())
}

/// The same where every half-space bounds a single output: however many there are, each is moved by itself.
fn one_by_one<'a>(p: &[f64], units: &[f64], spaces: &[(Vec<f64>, f64)], ranges: impl Iterator<Item = &'a Number>) -> Option<f64> {
    let mut ends: Vec<(f64, f64)> = ranges.map(|n| (n.lo.into(), n.hi.into())).collect();
    for (a, c) in spaces {
        for (a, (lo, hi)) in a.iter().zip(&mut ends).filter(|(a, _)| **a != 0.0) {
            if *a > 0.0 { *lo = lo.max(-c / a) } else { *hi = hi.min(-c / a) }
        }
    }
    let moved = |((p, unit), (lo, hi)): ((&f64, &f64), &(f64, f64))| (p - (p * unit).clamp(*lo, *hi) / unit).powi(2);
    ends.iter().all(|(lo, hi)| lo <= hi).then(|| p.iter().zip(units).zip(&ends).map(moved).sum())
}
