//! A region that is not closed enters; the feature or the relu by which it is split leaves.

use std::collections::BTreeMap;
use std::sync::Arc;

use deepsade_net::Activation;
use deepsade_spec::{Cut, Region};

use super::super::bound::{CellForms, KnownRegion};
use super::super::pass::{Pass, Reach};
use super::super::plan::{BoundedNode, InputBox, SearchBoxes};
use super::state::Open;
use super::{DEEPEST, KnownBoxes, RegionSearch};

/// Up to so many free features regions are split on features at first: with few of them that shrinks a region fastest.
const FEW_FEATURES: usize = 8;
/// With so few relus left whose sign is open, and which count, their signs are split: that ends, whatever the function's shape;
const FEW_UNITS: usize = 8;
/// so it does in a network with so few of them;
const SMALL: usize = 64;
/// and where so many splits for each feature were not enough.
const MOST_SPLITS: usize = 10;
/// Signs known at once before features are split again.
const MAX_SIGNS: usize = 60;

/// Where a region is split, and the boxes of both sides.
type SplitWithBoxes = (SplitAt, [Arc<KnownBoxes>; 2]);

impl RegionSearch<'_> {
    /// The split in the middle of a feature whose halves are nearest to closed: the sum of what their bounds exceed zero by is least.
    /// The boxes of the halves are kept for them. `None` where so many features are free that a choice by the lines is better.
    pub(super) fn try_features(
        &self,
        region: &Region,
        cell: &CellForms,
        known: &KnownBoxes,
        lambda: &[f64],
        pass: &mut Pass,
    ) -> Option<SplitWithBoxes> {
        let part = cell.part(region);
        let free: Vec<usize> = (0..self.target.plan.map.features().len()).filter(|f| width(&part, *f) > 0.0).collect();
        if free.len() > FEW_FEATURES || free.len() < 2 {
            return None;
        }
        let mut best: Option<(f64, SplitWithBoxes)> = None;
        for f in free {
            let Some(cut) = part.middle(f) else { continue };
            let Ok(sides) = region.split(f, &cut) else { continue };
            let mut score = 0.0;
            let boxes = sides.map(|side| {
                let part = cell.part(&side);
                let mut own = KnownBoxes { region: side, parts: BTreeMap::new() };
                if !part.is_empty() {
                    let here = self.boxes_of(&mut own, Some(known), cell, &part, pass);
                    let ground =
                        KnownRegion { plan: self.target.plan, kind: Reach::Lines, boxes: &here.1, inputs: &here.0, signs: &[] };
                    score += cell.quick(ground, lambda, pass).max(0.0);
                }
                Arc::new(own)
            });
            if best.as_ref().is_none_or(|(least, _)| score < *least) {
                best = Some((score, (SplitAt::Feature(f, cut), boxes)));
            }
            if score == 0.0 {
                break;
            }
        }
        best.map(|(_, split)| split)
    }

    /// A cut along the border of a part, where cells leave different parts of a region: each then has its own regions.
    pub(super) fn apart(&self, region: &Region, parts: &[(&CellForms, Region)]) -> Option<SplitAt> {
        let first = &parts[0].1;
        if parts.iter().all(|(_, part)| part == first) {
            return None;
        }
        let cut = |part: &Region, f: usize| {
            let cut = match (region.range(f), part.range(f)) {
                (Some((_, hi)), Some((_, end))) if end < hi => Cut::At(end as f32),
                (Some((lo, _)), Some((end, _))) if end > lo => {
                    Cut::At(region.step(f).map_or((end as f32).next_down(), |step| (end - step) as f32))
                }
                _ => match (region.levels(f), part.levels(f)) {
                    (Some(all), Some(own)) if all != own => Cut::Levels((0..own.len()).filter(|l| own[*l]).collect()),
                    _ => return None,
                },
            };
            region.split(f, &cut).is_ok_and(|sides| !sides.iter().any(Region::is_empty)).then_some(SplitAt::Feature(f, cut))
        };
        let features = 0..self.target.plan.map.features().len();
        features.into_iter().find_map(|f| parts.iter().find_map(|(_, part)| cut(part, f)))
    }

    pub(super) fn choose(
        &self,
        open: &Open,
        part: &Region,
        boxes: &SearchBoxes,
        inputs: &InputBox,
        pass: &Pass,
    ) -> Option<SplitAt> {
        if open.depth >= DEEPEST {
            return None;
        }
        let free = (0..self.target.plan.map.features().len()).filter(|f| width(part, *f) > 0.0).count();
        let by_feature = || self.feature(part, boxes, inputs, pass).map(|(f, cut)| SplitAt::Feature(f, cut));
        if open.signs.len() >= MAX_SIGNS || !self.target.plan.piecewise_linear() {
            return by_feature();
        }
        let (unit, count) = self.unit(boxes, pass);
        let by_unit = unit.map(|(k, i)| SplitAt::Unit(k, i));
        // Signs say nothing about which whole numbers, multiples and levels there are.
        let stepwise = (0..self.target.plan.map.features().len())
            .any(|f| width(part, f) > 0.0 && (part.range(f).is_none() || part.step(f).is_some()));
        let splits = open.depth - open.signs.len();
        let small = self.target.plan.relus() <= SMALL || count <= FEW_UNITS || splits > MOST_SPLITS * free;
        let first = free <= FEW_FEATURES && open.signs.is_empty() && (stepwise || !small);
        if first { by_feature().or(by_unit) } else { by_unit.or_else(by_feature) }
    }

    /// The relu whose line lies farthest from it where the bound is taken, and how many have a line at all.
    fn unit(&self, boxes: &SearchBoxes, pass: &Pass) -> (Option<(usize, usize)>, usize) {
        let mut count = 0;
        let mut best: Option<(f64, (usize, usize))> = None;
        for (k, step) in self.target.plan.steps.iter().enumerate() {
            let BoundedNode::Act(Activation::Relu, from) = step else { continue };
            for (i, a) in pass.a[k + 1].iter().enumerate() {
                let (l, u) = (boxes.lo[*from][i], boxes.hi[*from][i]);
                // Written so that ends which are not numbers, of values beyond float64, are left out.
                let open = l < 0.0 && u > 0.0;
                if !open || *a == 0.0 {
                    continue;
                }
                count += 1;
                let v = pass.values[*from][i].clamp(l, u);
                let (s, t) = pass.lines[k][i];
                let here = a.abs() * (s * v + t - v.max(0.0)).abs();
                let room = if *a > 0.0 { -l * u / (u - l) } else { (-l * s).max(u * (1.0 - s)) };
                let score = here + 0.1 * a.abs() * room;
                if best.is_none_or(|(b, _)| score > b) {
                    best = Some((score, (k, i)));
                }
            }
        }
        (best.map(|(_, place)| place), count)
    }

    /// The feature on which the bound depends most, and the middle of its range.
    fn feature(&self, part: &Region, boxes: &SearchBoxes, inputs: &InputBox, pass: &Pass) -> Option<(usize, Cut)> {
        let smooth = !self.target.plan.piecewise_linear();
        let weights =
            if smooth { self.target.plan.sensitivity(&pass.a[self.target.plan.output()], boxes) } else { pass.a[0].clone() };
        let mut reach = vec![0.0f64; self.target.plan.map.features().len()];
        for (f, reach) in reach.iter_mut().enumerate() {
            let first = self.target.plan.map.first(f);
            if part.range(f).is_some() {
                *reach = weights[first].abs() * (inputs.hi[first] - inputs.lo[first]);
            } else if let Some(allowed) = part.levels(f) {
                let weight = |l: usize| self.target.plan.map.level(f, l).map_or(0.0, |column| weights[column]);
                let left = (0..allowed.len()).filter(|l| allowed[*l]).map(weight);
                let (lo, hi) = left.fold((f64::MAX, f64::MIN), |(a, b), w| (a.min(w), b.max(w)));
                *reach = if smooth { hi.max(-lo) * f64::from(u8::from(width(part, f) > 0.0)) } else { hi - lo };
            }
        }
        let total = reach.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let whole = Region::domain(&self.target.spec.schema).ok()?;
        // A feature that the last lines do not mention may still widen the boxes: its share of the domain counts as much.
        let score = |f: usize| reach[f] / total + width(part, f) / width(&whole, f).max(f64::MIN_POSITIVE);
        let free = (0..reach.len()).filter(|f| width(part, *f) > 0.0);
        let best = free.max_by(|a, b| score(*a).total_cmp(&score(*b)).then(b.cmp(a)))?;
        Some((best, part.middle(best)?))
    }
}

/// Where a region is split.
pub(super) enum SplitAt {
    Feature(usize, Cut),
    Unit(usize, usize),
}

/// The range of a number, or how many levels too many a category has.
pub(super) fn width(region: &Region, feature: usize) -> f64 {
    match region.range(feature) {
        Some((lo, hi)) => hi - lo,
        None => region.levels(feature).map_or(0.0, |l| l.iter().filter(|a| **a).count() as f64 - 1.0),
    }
}
