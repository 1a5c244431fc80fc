//! Rules with more alternatives than a graph may try enter; leaves for each of their choices which options each row takes: those that
//! the network's outputs break least. Outputs are then moved once, to the options that were taken.
//!
//! An option is nearest by itself, not together with others: what comes out is good, and may not be the nearest.

use std::collections::BTreeSet;

use deepsade_spec::{Atom, Formula, Rational, Threshold};

use super::alternative::{Alternative, GuardedFace, copied, of_inputs};
use super::direction::{Direction, Ground};
use super::equality::opposite;
use super::measure::holds;
use super::writer::{FAR, Writer};
use crate::judge::Judge;

/// Options that may be taken, or left, one after the other.
const MOST_TURNS: usize = 16;

/// So many of some options must be taken; options are counted from `first`, over all choices.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quota {
    first: usize,
    need: usize,
    /// The faces of each.
    options: Vec<Vec<GuardedFace>>,
}

/// The same with directions.
#[derive(Debug, Clone)]
pub(super) struct ReadyQuota {
    first: usize,
    need: usize,
    options: Vec<Vec<Direction>>,
}

/// One alternative that stands for all: its choices, and all their faces. `None` for rules of another shape than a conjunction of
/// faces, of alternatives that are conjunctions of faces, and of counts of such. `first` is the number of options before.
pub(super) fn choices(claims: &[Formula], mut first: usize) -> Option<(Alternative, Vec<Quota>)> {
    let (mut way, mut found) = (Alternative::default(), Vec::new());
    for claim in &claims.iter().flat_map(each).collect::<Vec<_>>() {
        let (conditions, rest) = match claim {
            Formula::Or(parts) => parts.iter().cloned().partition(of_inputs),
            other => (Vec::new(), vec![other.clone()]),
        };
        let unless = Formula::or(conditions);
        copied(&unless, rest.len()).ok()?;
        let guarded = |atom: &Atom, option: Option<usize>| GuardedFace { unless: unless.clone(), option, face: atom.clone() };
        let (need, options) = match &rest[..] {
            [one] if of_inputs(one) => {
                way.demands.push(one.clone());
                continue;
            }
            [Formula::Threshold(threshold)] => (least(threshold)?, threshold.terms.iter().map(|(_, part)| part).collect()),
            [one] => {
                way.faces.extend(atoms(one)?.into_iter().map(|atom| guarded(atom, None)));
                continue;
            }
            rest => (1, rest.iter().collect::<Vec<_>>()),
        };
        let taken = |(k, option): (usize, &&Formula)| {
            Some(atoms(option)?.into_iter().map(|atom| guarded(atom, Some(first + k))).collect::<Vec<_>>())
        };
        let options = options.iter().enumerate().map(taken).collect::<Option<Vec<_>>>()?;
        let several = |face: &GuardedFace| face.face.linear.terms.keys().filter(|v| v.is_output()).count() > 1;
        let equal = |faces: &Vec<GuardedFace>| faces.iter().any(|a| several(a) && faces.iter().any(|b| opposite(a, b)));
        if options.iter().any(equal) || need.min(options.len() - need) > MOST_TURNS {
            return None;
        }
        way.faces.extend(options.iter().flatten().cloned());
        first += options.len();
        found.push(Quota { first: first - options.len(), need, options });
    }
    Some((way, found))
}

/// `condition or (a and b)` as `condition or a` and `condition or b`.
fn each(claim: &Formula) -> Vec<Formula> {
    let Formula::Or(parts) = claim else { return vec![claim.clone()] };
    let (conditions, rest): (Vec<_>, Vec<_>) = parts.iter().cloned().partition(of_inputs);
    match &rest[..] {
        [Formula::And(parts)] => parts.iter().map(|part| Formula::or(conditions.iter().chain([part]).cloned())).collect(),
        _ => vec![claim.clone()],
    }
}

/// How many parts of a count must hold, if all count alike.
fn least(Threshold { terms, bound, strict }: &Threshold) -> Option<usize> {
    let (weight, _) = terms.first()?;
    if terms.iter().any(|(w, _)| w != weight) {
        return None;
    }
    let parts = bound / weight;
    let parts = if *strict { Rational::from(parts.floor()) + Rational::ONE } else { Rational::from(parts.ceil()) };
    usize::try_from(i64::try_from(parts).ok()?).ok().filter(|need| (1..=terms.len()).contains(need))
}

/// The atoms of a conjunction, all of which are about outputs.
fn atoms(formula: &Formula) -> Option<Vec<&Atom>> {
    fn about_outputs(part: &Formula) -> Option<&Atom> {
        if let Formula::Atom(atom) = part { Some(atom).filter(|atom| !atom.is_condition()) } else { None }
    }
    formula.conjuncts().iter().map(about_outputs).collect::<Option<Vec<_>>>().filter(|all| !all.is_empty())
}

impl Quota {
    pub(super) fn options(&self) -> usize {
        self.options.len()
    }

    /// With directions in which violations are distances.
    pub(super) fn ready(&self, ground: &Ground) -> Result<ReadyQuota, super::super::MakeError> {
        let free = |face: &GuardedFace| GuardedFace { option: None, ..face.clone() };
        let directions = |faces: &Vec<GuardedFace>| {
            let faces = ground.directions(&faces.iter().map(free).collect::<Vec<_>>())?;
            Ok(faces.iter().flat_map(|d| d.normal(&ground.give).each()).collect())
        };
        let options = self.options.iter().map(directions).collect::<Result<Vec<_>, _>>()?;
        Ok(ReadyQuota { first: self.first, need: self.need, options })
    }
}

impl ReadyQuota {
    pub(super) fn count(&self) -> usize {
        self.options.len()
    }

    /// Its options, if one of them is taken.
    pub(super) fn takes_one(&self) -> Option<std::ops::Range<usize>> {
        (self.need == 1).then(|| self.first..self.first + self.options.len())
    }

    /// The k-th face of each option, or its last.
    fn faces(&self, k: usize) -> Vec<Direction> {
        self.options.iter().map(|faces| faces[k.min(faces.len() - 1)].clone()).collect()
    }

    fn most_faces(&self) -> usize {
        self.options.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Writes 1 for each option that a row leaves, else 0.
    fn left(&self, w: &mut Writer) -> String {
        let (count, p) = (self.options.len(), w.p.clone());
        let mut broken: Option<String> = None;
        for k in 0..self.most_faces() {
            let faces = self.faces(k);
            let b = w.bounds_of(&faces);
            let against: Vec<Vec<f64>> = faces.iter().map(|d| d.a.iter().map(|a| -a).collect()).collect();
            let v = w.product(&p, &against, Some(&b));
            broken = Some(match broken {
                None => v,
                Some(before) => w.draft.call("Max", &[&before, &v]),
            });
        }
        let broken = broken.unwrap_or_default();
        let (spare, taken) = (count - self.need, self.need < count - self.need);
        // The most broken ones are left, one after the other, or the least broken ones taken.
        let mut rank = if taken { w.draft.call("Neg", &[&broken]) } else { broken };
        let places = w.draft.ints(&[count, 1], (0..count as i64).collect());
        let far = w.draft.number(FAR);
        let mut all: Option<String> = None;
        for _ in 0..spare.min(self.need) {
            let next = w.draft.call_with("ArgMax", &[&rank], &[("axis", 0), ("keepdims", 1)]);
            let next = w.draft.call("Equal", &[&next, &places]);
            let next = w.draft.cast_float(&next);
            let off = w.draft.call("Mul", &[&next, &far]);
            rank = w.draft.call("Sub", &[&rank, &off]);
            all = Some(match all {
                None => next,
                Some(before) => w.draft.call("Add", &[&before, &next]),
            });
        }
        match all {
            // All of them are needed.
            None => w.product(&p, &vec![vec![0.0; w.ground.outputs()]; count], None),
            Some(all) if taken => {
                let one = w.draft.number(1.0);
                w.draft.call("Sub", &[&one, &all])
            }
            Some(all) => all,
        }
    }
}

/// Writes which options each row leaves, of all choices: 1, else 0.
pub(super) fn left(w: &mut Writer, choices: &[ReadyQuota]) -> String {
    let parts: Vec<String> = choices.iter().map(|choice| choice.left(w)).collect();
    w.draft.below(&parts)
}

/// The options that a row leaves.
pub(super) fn left_at(choices: &[ReadyQuota], p: &[f32], x: &[f32], judge: &Judge) -> BTreeSet<usize> {
    let broken = |d: &Direction| {
        let bound = &d.bounds[0];
        let value = bound.x.iter().zip(x).map(|(c, x)| c * f64::from(*x)).sum::<f64>() + bound.constant;
        let value = if holds(&bound.unless, x, judge) { -f64::from(FAR) } else { value };
        value - d.a.iter().zip(p).map(|(a, p)| a * f64::from(*p)).sum::<f64>()
    };
    let mut left = BTreeSet::new();
    for ReadyQuota { first, need, options } in choices {
        let cost: Vec<f64> = options.iter().map(|faces| faces.iter().map(broken).fold(f64::MIN, f64::max)).collect();
        let mut order: Vec<usize> = (0..options.len()).collect();
        order.sort_by(|a, b| cost[*a].total_cmp(&cost[*b]));
        left.extend(order[*need..].iter().map(|k| first + k));
    }
    left
}
