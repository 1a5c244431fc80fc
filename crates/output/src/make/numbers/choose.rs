//! Outputs and alternatives enter; calls leave that make candidates of each alternative and take, of each group of outputs, the nearest
//! that obeys its own faces.

use std::collections::BTreeSet;

use deepsade_spec::Formula;

use super::super::MakeError;
use super::Anchor;
use super::alternative::Group;
use super::direction::{Direction, Ground, GuardedBound};
use super::equality::{Apart, Equality, apart_from_fixed};
use super::plan::NearestPlan;
use super::select::{Quota, ReadyQuota};
use super::writer::{FAR, PerLine, Writer};

/// An alternative of each group that has so many, made ready: groups do not mind each other, and are moved all at once.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// Of each output the group that it is in; none if no rule binds it, or its group has no further alternative.
    pub(super) group: Vec<Option<usize>>,
    /// Conditions on the input without which a group has no such alternative.
    pub(super) demands: Vec<(usize, Formula)>,
    /// Its faces but for equalities, which candidates obey by their making.
    pub(super) faces: Vec<Direction>,
    /// Both faces of each equality.
    pub(super) equal: Vec<Direction>,
    pub(super) plan: NearestPlan,
    /// What each row chooses for itself.
    pub(super) choices: Vec<ReadyQuota>,
    /// Outputs that obey it, if any are known.
    pub(super) anchor: Option<Anchor>,
}

impl Way {
    /// The k-th alternative of each group; `close`: in closed form where there is one.
    pub(super) fn new(groups: &[Group], k: usize, ground: &Ground, close: bool) -> Result<Self, MakeError> {
        let (mut group, mut demands, mut faces) = (vec![None; ground.outputs()], Vec::new(), Vec::new());
        for (g, Group { outputs, ways, .. }) in groups.iter().enumerate() {
            let Some(way) = ways.get(k) else { continue };
            outputs.iter().for_each(|j| group[*j] = Some(g));
            demands.extend(way.demands.iter().map(|d| (g, d.clone())));
            faces.extend(way.faces.iter().cloned());
        }
        let Apart { rest, equalities, fixed } = apart_from_fixed(&faces, ground);
        let mut faces = ground.directions(&rest)?;
        faces.extend(fixed.iter().flat_map(Equality::faces));
        let plan = NearestPlan::new(faces.clone(), &equalities, ground, close)?;
        let equal = equalities.iter().flat_map(Equality::faces).collect();
        let ready = |choice: &Quota| choice.ready(ground);
        let choices = groups.iter().flat_map(|group| &group.choices).map(ready).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { group, demands, faces, equal, plan, choices, anchor: None })
    }

    /// The group that a face is about.
    pub(super) fn group_of(&self, face: &Direction) -> Option<usize> {
        self.group.iter().zip(&face.a).find(|(_, a)| **a != 0.0).and_then(|(g, _)| *g)
    }

    /// The groups.
    pub(super) fn groups(&self) -> BTreeSet<usize> {
        self.group.iter().copied().flatten().collect()
    }
}

/// The nearest candidate, from outputs within their ranges.
pub(super) fn choose(w: &mut Writer, ways: &[Way], steps: usize) -> String {
    let p = &w.p.clone();
    let mut best: Option<(String, String)> = None;
    for way in ways {
        let y = way.plan.solve(w, false, way.anchor.as_ref(), steps);
        let cost = cost(w, p, &y, way);
        best = Some(match best {
            None => (y, cost),
            Some((before, least)) => {
                let nearer = w.draft.call("Less", &[&cost, &least]);
                let least = w.draft.call("Min", &[&cost, &least]);
                (w.draft.call("Where", &[&nearer, &y, &before]), least)
            }
        });
    }
    best.map_or(p.into(), |(y, _)| y)
}

/// Of each output the squared distance of its group in the measure of what gives way, far where the candidate does not obey.
fn cost(w: &mut Writer, p: &str, y: &str, way: &Way) -> String {
    let moved = w.draft.call("Sub", &[y, p]);
    let square = w.draft.call("Mul", &[&moved, &moved]);
    let give = &w.ground.give;
    let outputs = || way.group.iter();
    // What is in no group here is never nearer.
    let none = PerLine::Constant(outputs().map(|g| if g.is_some() { 0.0 } else { FAR }).collect());
    let weight = |g: &Option<usize>, j: usize| if g.is_some() && way.group[j] == *g { 1.0 / give[j] } else { 0.0 };
    let weights: Vec<Vec<f64>> = outputs().map(|g| (0..give.len()).map(|j| weight(g, j)).collect()).collect();
    let mut cost = w.product(&square, &weights, Some(&none));
    let far = |groups: &[Option<usize>]| -> Vec<Vec<f64>> {
        let entry = |g: &Option<usize>, of: &Option<usize>| if g.is_some() && g == of { f64::from(FAR) } else { 0.0 };
        outputs().map(|g| groups.iter().map(|of| entry(g, of)).collect()).collect()
    };
    let single = |d: &Direction| {
        let one = |b: &GuardedBound| Direction { a: d.a.clone(), bounds: vec![b.loosened()] };
        d.bounds.iter().map(one).collect::<Vec<_>>()
    };
    let faces: Vec<Direction> = way.faces.iter().flat_map(single).collect();
    let zero = w.draft.number(0.0);
    if !faces.is_empty() {
        let b = w.bounds_of(&faces);
        let against: Vec<Vec<f64>> = faces.iter().map(|d| d.a.iter().map(|a| -a).collect()).collect();
        let v = w.product(y, &against, Some(&b));
        let broken = w.draft.call("Greater", &[&v, &zero]);
        let broken = w.draft.cast_float(&broken);
        let groups: Vec<_> = faces.iter().map(|d| way.group_of(d)).collect();
        cost = w.product(&broken, &far(&groups), Some(&PerLine::Tensor(cost)));
    }
    if !way.demands.is_empty() {
        let failed = w.failed(&way.demands.iter().map(|(_, d)| d).collect::<Vec<_>>());
        let groups: Vec<_> = way.demands.iter().map(|(g, _)| Some(*g)).collect();
        cost = w.product(&failed, &far(&groups), Some(&PerLine::Tensor(cost)));
    }
    cost
}
