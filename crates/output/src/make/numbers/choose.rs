//! Outputs and alternatives enter; calls leave that make candidates of each alternative and take the nearest that obeys its own faces.

use deepsade_spec::Formula;

use super::super::MakeError;
use super::Anchor;
use super::alternative::Alternative;
use super::direction::{Bound, Direction, Ground};
use super::equality::{Equality, apart};
use super::plan::Plan;
use super::writer::{FAR, Row, Writer};

/// An alternative made ready.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// Conditions on the input without which it is none.
    pub(super) demands: Vec<Formula>,
    /// Its faces but for equalities, which candidates obey by their making.
    pub(super) faces: Vec<Direction>,
    /// Both faces of each equality.
    pub(super) equal: Vec<Direction>,
    pub(super) plan: Plan,
    /// Outputs that obey it, if any are known.
    pub(super) anchor: Option<Anchor>,
}

impl Way {
    /// `close`: in closed form where there is one.
    pub(super) fn new(way: &Alternative, ground: &Ground, close: bool) -> Result<Self, MakeError> {
        let (faces, equalities) = apart(&way.faces, ground);
        let faces = ground.directions(&faces)?;
        let plan = Plan::new(faces.clone(), &equalities, ground, close)?;
        let equal = equalities.iter().flat_map(Equality::faces).collect();
        Ok(Self { demands: way.demands.clone(), faces, equal, plan, anchor: None })
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

/// The squared distance in the measure of what gives way, far where the candidate does not obey.
fn cost(w: &mut Writer, p: &str, y: &str, way: &Way) -> String {
    let moved = w.draft.call("Sub", &[y, p]);
    let square = w.draft.call("Mul", &[&moved, &moved]);
    let weights = w.ground.give.iter().map(|give| 1.0 / give).collect();
    let mut cost = w.product(&square, &[weights], None);
    let single = |d: &Direction| {
        let one = |b: &Bound| Direction { a: d.a.clone(), bounds: vec![b.loosened()] };
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
        cost = w.product(&broken, &[vec![f64::from(FAR); faces.len()]], Some(&Row::Tensor(cost)));
    }
    if !way.demands.is_empty() {
        let failed = w.failed(&way.demands.iter().collect::<Vec<_>>());
        cost = w.product(&failed, &[vec![f64::from(FAR); way.demands.len()]], Some(&Row::Tensor(cost)));
    }
    cost
}
