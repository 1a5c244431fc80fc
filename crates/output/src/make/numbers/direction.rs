//! Faces of an alternative enter; leave directions with the bounds that each has: `a.y >= bound(x)`, moved in so that what is computed
//! in float32 is seen to obey.

use std::collections::BTreeSet;
use std::ops::Range;

use deepsade_check::step::{CALM, Number, Outputs, Over, room};
use deepsade_net::ball::UNIT;
use deepsade_spec::{Atom, Domain, Formula, NormalSpec, Rational, Var, float32};

use super::super::MakeError;
use super::alternative::GuardedFace;
use super::equality::Equality;
use crate::nearest::Face;

/// Directions closer than this are one.
const SAME: f64 = 1e-12;
/// The share of what a bound was moved in for that outputs may miss it by.
const MISSED: f64 = 0.75;
/// The spread of an output beside that of the widest one, at least.
const NARROWEST: f64 = 1.0 / 1024.0;

/// A direction of length 1, and what its product with the outputs must be at least.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Direction {
    pub(super) a: Vec<f64>,
    pub(super) bounds: Vec<GuardedBound>,
}

/// `x . columns + constant`, demanded unless a condition holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GuardedBound {
    pub(super) x: Vec<f64>,
    pub(super) constant: f64,
    /// What outputs may lose on their way to it.
    pub(super) own: f64,
    /// Whether it is met without any loss by a comparison with it; else it was moved in by what may be lost.
    pub(super) exact: bool,
    /// What outputs may miss it by and are still seen to obey.
    pub(super) slack: f64,
    pub(super) unless: Formula,
    /// It is demanded only where this option is taken.
    pub(super) option: Option<usize>,
}

impl Direction {
    /// The output, if there is only one.
    pub(super) fn single(&self) -> Option<usize> {
        let mut mentioned = (0..self.a.len()).filter(|j| self.a[*j] != 0.0);
        mentioned.next().filter(|_| mentioned.next().is_none())
    }

    /// What a push along a face does to one along another, in the measure of `give`; the cosine of their angle, if both are normal.
    pub(super) fn cosine(&self, other: &Self, give: &[f64]) -> f64 {
        self.a.iter().zip(&other.a).zip(give).map(|((a, b), give)| a * give * b).sum()
    }

    /// The same face, normal in the measure of `give`: a push of 1 against it moves outputs by 1 along it.
    pub(super) fn normal(&self, give: &[f64]) -> Self {
        let length = self.cosine(self, give).sqrt();
        Self { a: self.a.iter().map(|a| a / length).collect(), bounds: self.bounds.iter().map(|b| b.divided(length)).collect() }
    }

    /// A direction for each of its bounds.
    pub(super) fn each(&self) -> Vec<Self> {
        self.bounds.iter().map(|bound| Self { a: self.a.clone(), bounds: vec![bound.clone()] }).collect()
    }

    /// How far a push of 1 moves each output.
    pub(super) fn push(&self, give: &[f64]) -> Vec<f64> {
        self.a.iter().zip(give).map(|(a, give)| a * give).collect()
    }
}

impl GuardedBound {
    /// Moved back by what outputs may miss it by.
    pub(super) fn loosened(&self) -> Self {
        Self { constant: self.constant - self.slack, ..self.clone() }
    }

    /// The bound of a direction that is divided by so much.
    pub(super) fn divided(&self, by: f64) -> Self {
        Self {
            x: self.x.iter().map(|v| v / by).collect(),
            constant: self.constant / by,
            own: self.own / by,
            exact: self.exact,
            slack: self.slack / by,
            unless: self.unless.clone(),
            option: self.option,
        }
    }

    /// Whether it is the same for every input.
    pub(super) fn is_constant(&self) -> bool {
        self.unless == Formula::False && self.option.is_none() && self.is_flat()
    }

    /// Whether it is a number that one of these options demands.
    pub(super) fn is_one_of(&self, options: &Range<usize>) -> bool {
        self.is_flat() && self.option.is_some_and(|k| options.contains(&k))
    }

    /// Whether it is the same for every input for which it is demanded.
    pub(super) fn is_flat(&self) -> bool {
        self.x.iter().all(|v| *v == 0.0)
    }
}

/// What is known of outputs and columns.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    pub(super) spec: &'a NormalSpec,
    pub(super) ranges: &'a [Number],
    /// The part of the ranges that a network's outputs are cut to.
    pub(super) cut: &'a [Number],
    /// How much each output gives way: "nearest" is where the sum of `(y_j - p_j)^2 / give_j` is smallest.
    pub(super) give: Vec<f64>,
    /// What is kept back of what rounding may take.
    pub(super) kept_back: f64,
    over: Over,
    /// How far each output may be moved when it is put on its grid.
    pub(super) rounding: Vec<f64>,
    columns: Vec<KnownColumn>,
}

/// What is known of a column of the input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct KnownColumn {
    /// Its largest size.
    pub(super) size: f64,
    /// The k for which it is always a multiple of 2^-k, 0 if it is whole; `None` if it may be any number.
    pub(super) grid: Option<i32>,
}

impl KnownColumn {
    /// What so many of it is always a multiple of; `None` if it may be any number.
    pub(super) fn step(&self, times: f64) -> Option<f64> {
        self.grid.map(|k| times * f64::from(-k).exp2())
    }
}

impl<'a> Ground<'a> {
    pub(super) fn new(spec: &'a NormalSpec, ranges: &'a [Number]) -> Self {
        let over = Over::new(&spec.schema, Some(&Outputs::Numbers(ranges.to_vec())));
        let column = |domain: &Domain| match domain.range() {
            Some((lo, hi)) => KnownColumn { size: lo.abs().max(hi.abs()).into(), grid: domain.grid() },
            None => KnownColumn { size: 1.0, grid: Some(0) },
        };
        let columns = spec.schema.columns().iter().map(|c| column(&spec.schema.features[c.feature].domain)).collect();
        let give = vec![1.0; ranges.len()];
        let mut ground = Self { spec, ranges, cut: ranges, give, kept_back: 1.0, over, rounding: Vec::new(), columns };
        ground.rounding = (0..ranges.len()).map(|j| ground.unit(j)).collect();
        ground
    }

    /// Outputs give way by the square of their spread, beside that of the widest one that rules tie to them.
    pub(super) fn with_spread<'s>(mut self, spread: &[f64], groups: impl Iterator<Item = &'s BTreeSet<usize>>) -> Self {
        for group in groups {
            let widest = group.iter().map(|j| spread[*j]).fold(0.0, f64::max);
            group.iter().for_each(|j| self.give[*j] = (spread[*j] / widest).max(NARROWEST).powi(2));
        }
        self
    }

    /// Outputs in an equality may be moved by what all of its outputs are rounded by.
    pub(super) fn spread(&mut self, equalities: &[Equality]) {
        for equality in equalities {
            let members: Vec<usize> = equality.members().filter(|j| !self.is_whole(*j)).collect();
            let unit = members.iter().map(|j| self.unit(*j)).fold(0.0, f64::max);
            let all = unit * (members.len() as f64 / 2.0 + 4.0);
            members.iter().for_each(|j| self.rounding[*j] = self.rounding[*j].max(all));
        }
    }

    /// The step of an output's grid; 0 for none.
    pub(super) fn unit(&self, output: usize) -> f64 {
        self.ranges[output].grid.map_or(0.0, |k| f64::from(-k).exp2())
    }

    /// Whether an output is on the grid of whole numbers, in a task that has such targets: too coarse to be rounded and moved a little.
    pub(super) fn is_whole(&self, output: usize) -> bool {
        self.ranges[output].grid == Some(0) && !self.spec.schema.task.whole_outputs().is_empty()
    }

    pub(super) fn outputs(&self) -> usize {
        self.ranges.len()
    }

    /// Both ends of an output's range.
    pub(super) fn range(&self, output: usize) -> [Direction; 2] {
        let n = &self.ranges[output];
        [(1.0, n.lo), (-1.0, -n.hi)].map(|(sign, end)| {
            let mut a = vec![0.0; self.outputs()];
            a[output] = sign;
            let x = vec![0.0; self.columns.len()];
            Direction {
                a,
                bounds: vec![GuardedBound {
                    x,
                    constant: f64::from(end),
                    own: 0.0,
                    exact: true,
                    slack: 0.0,
                    unless: Formula::False,
                    option: None,
                }],
            }
        })
    }

    /// What is known of each column.
    pub(super) fn columns(&self) -> &[KnownColumn] {
        &self.columns
    }

    /// The faces' directions, in order of appearance.
    pub(super) fn directions(&self, faces: &[GuardedFace]) -> Result<Vec<Direction>, MakeError> {
        let mut all: Vec<Direction> = Vec::new();
        for GuardedFace { unless, option, face } in faces {
            let (a, bound) = self.bound(face, unless)?;
            let bound = GuardedBound { option: *option, ..bound };
            let same = |d: &&mut Direction| d.a.iter().zip(&a).all(|(a, b)| (a - b).abs() < SAME);
            match all.iter_mut().find(same) {
                Some(known) => known.bounds.push(bound),
                None => all.push(Direction { a, bounds: vec![bound] }),
            }
        }
        Ok(all)
    }

    /// The direction of a face, and the bound.
    fn bound(&self, atom: &Atom, unless: &Formula) -> Result<(Vec<f64>, GuardedBound), MakeError> {
        let room = self.room(atom)?;
        let face = Face::new(atom, self.outputs());
        let (row, constant) = face.over_columns(&self.spec.schema);
        let mut bound = GuardedBound {
            x: row.iter().map(|v| 0.0 - v).collect(),
            constant: 0.0 - constant,
            own: 0.0,
            exact: false,
            slack: 0.0,
            unless: unless.clone(),
            option: None,
        };
        let single = face.a.iter().filter(|a| **a != 0.0).count() == 1;
        if let Some((least, step)) =
            Equality::new(&GuardedFace { unless: unless.clone(), option: None, face: atom.clone() }, self)
                .filter(|sum| !single && sum.is_whole(self))
                .map(|sum| sum.at_least(atom, room))
        {
            (bound.constant, bound.slack) = (least, step / 2.0);
            return Ok((face.a, bound));
        }
        bound.own = self.own(&face, &bound);
        if single && bound.is_flat() {
            bound.constant = f64::from(inside(atom));
            bound.exact = true;
        } else if single && room == 0.0 && !atom.strict && self.exact(&bound) {
            bound.exact = true;
        } else {
            bound.constant += room * per_unit(atom, &face) + bound.own;
            bound.slack = MISSED * bound.own;
        }
        Ok((face.a, bound))
    }

    /// What outputs of this size may lose on their way to a bound, by rounding and by being put on their grids.
    fn own(&self, face: &Face, bound: &GuardedBound) -> f64 {
        let outputs: f64 = face.a.iter().zip(self.ranges).map(|(a, n)| a.abs() * f64::from(n.lo.abs().max(n.hi.abs()))).sum();
        let terms = face.a.iter().chain(&bound.x).filter(|v| **v != 0.0).count() as f64;
        let own = self.kept_back * (4.0 + terms / 2.0) * UNIT * (outputs + self.size(bound)) + 2f64.powi(CALM);
        let mentioned = || (0..self.outputs()).filter(|j| face.a[*j] != 0.0);
        // Among whole numbers a search follows, which puts right what rounding did.
        let rounded = mentioned().count() > 1 && !mentioned().all(|j| self.is_whole(j));
        own + if rounded { face.a.iter().zip(&self.rounding).map(|(a, r)| a.abs() * r).sum() } else { 0.0 }
    }

    /// How far inside an atom outputs are kept, in its own units.
    pub(super) fn away(&self, atom: &Atom) -> Result<f64, MakeError> {
        let face = Face::new(atom, self.outputs());
        let (x, constant) = face.over_columns(&self.spec.schema);
        let own = self
            .own(&face, &GuardedBound { x, constant, own: 0.0, exact: false, slack: 0.0, unless: Formula::False, option: None });
        Ok(self.room(atom)? + own / per_unit(atom, &face))
    }

    /// How far inside an atom outputs must be for the tail to see it.
    fn room(&self, atom: &Atom) -> Result<f64, MakeError> {
        room(atom, &self.over).map_err(|why| MakeError::Float32 { why })
    }

    fn size(&self, bound: &GuardedBound) -> f64 {
        bound.x.iter().zip(&self.columns).map(|(c, known)| c.abs() * known.size).sum::<f64>() + bound.constant.abs()
    }

    /// Whether a bound is computed without any rounding: a column itself, or a small sum of columns on a grid.
    fn exact(&self, bound: &GuardedBound) -> bool {
        let mut used = bound.x.iter().zip(&self.columns).filter(|(c, _)| **c != 0.0);
        if bound.constant == 0.0 && used.clone().count() == 1 && used.clone().all(|(c, _)| c.abs() == 1.0) {
            return true;
        }
        // Multiples of 2^-8 below 2^16.
        let whole = |v: f64| (v * 256.0).fract() == 0.0;
        whole(bound.constant) && used.all(|(c, known)| known.step(*c).is_some_and(whole)) && self.size(bound) <= 65536.0
    }
}

/// By what a face's factors are the atom's.
fn per_unit(atom: &Atom, face: &Face) -> f64 {
    let ratio = |(var, c): (&Var, &Rational)| match var {
        Var::Output(j) if face.a[*j] != 0.0 => Some((face.a[*j] / c.to_f64().value()).abs()),
        _ => None,
    };
    atom.linear.terms.iter().find_map(ratio).unwrap_or(1.0)
}

/// The smallest float32 number (of the output, or of the output with its sign turned) that obeys a bound by a constant.
fn inside(atom: &Atom) -> f32 {
    let Some(c) = atom.linear.terms.values().next() else { return 0.0 };
    let size = if *c < Rational::ZERO { -c } else { c.clone() };
    let t = -&atom.linear.constant / size;
    // Below it in size an output counts as 0.
    let calm = 2f32.powi(CALM);
    match float32::at_least(&t, atom.strict).min(f32::MAX) {
        v if v.abs() >= calm || v == 0.0 => v,
        v if v > 0.0 => calm,
        // What is so small counts as 0, which obeys too.
        _ => 0.0,
    }
}
