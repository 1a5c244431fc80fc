//! Faces enter; leave the equalities among them, as sums of outputs with whole factors, and the grid on which each can be met.

use std::collections::HashMap;

use dashu::base::{Gcd, UnsignedAbs};
use dashu::integer::UBig;
use deepsade_spec::{Atom, Formula, Rational, Var, common_denominator};

use super::super::{MakeError, NotEqual};
use super::alternative::GuardedFace;
use super::direction::{Direction, Ground, GuardedBound, KnownColumn};
use crate::nearest::Face;

/// `sum of a_j y_j = x . columns + constant`, the `a_j` whole numbers without a common factor, unless a condition holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Equality {
    pub(super) a: Vec<f64>,
    pub(super) x: Vec<f64>,
    pub(super) constant: f64,
    pub(super) unless: Formula,
    pub(super) atom: Atom,
}

impl Equality {
    pub(super) fn always(&self) -> bool {
        self.unless == Formula::False
    }

    /// As a direction whose one bound is its value.
    pub(super) fn direction(&self) -> Direction {
        let length = self.a.iter().map(|a| a * a).sum::<f64>().sqrt();
        let x = self.x.iter().map(|v| v / length).collect();
        let slack = 0.5 / length;
        let bound = GuardedBound {
            x,
            constant: self.constant / length,
            own: 0.0,
            exact: true,
            slack,
            unless: self.unless.clone(),
            option: None,
        };
        Direction { a: self.a.iter().map(|a| a / length).collect(), bounds: vec![bound] }
    }

    /// As two opposite faces.
    pub(super) fn faces(&self) -> [Direction; 2] {
        let one = self.direction();
        let bounds = one.bounds.iter().map(GuardedBound::turned).collect();
        let other = Direction { a: one.a.iter().map(|a| -a).collect(), bounds };
        [one, other]
    }

    pub(super) fn shares_outputs(&self, other: &Self) -> bool {
        self.a.iter().zip(&other.a).any(|(a, b)| *a != 0.0 && *b != 0.0)
    }

    /// Takes another one off, as often as leaves none of its first output.
    fn without(&mut self, other: &Self) {
        if let Some(j) = other.members().next() {
            self.subtract(other, self.a[j] / other.a[j]);
        }
    }

    /// Takes another one off so many times.
    pub(super) fn subtract(&mut self, other: &Self, times: f64) {
        let off = |own: &mut [f64], of: &[f64]| own.iter_mut().zip(of).for_each(|(own, v)| *own -= times * v);
        off(&mut self.a, &other.a);
        off(&mut self.x, &other.x);
        self.constant -= times * other.constant;
        self.divide();
    }

    /// By the common factor of its outputs, which are whole numbers.
    fn divide(&mut self) {
        let sizes = self.a.iter().map(|a| a.abs() as u64).filter(|a| *a > 0);
        if let Some(common) = sizes.reduce(Gcd::gcd) {
            let by = common as f64;
            self.a.iter_mut().chain(&mut self.x).for_each(|v| *v /= by);
            self.constant /= by;
        }
    }

    pub(super) fn members(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.a.len()).filter(|j| self.a[*j] != 0.0)
    }

    /// Whether both of its sides are whole numbers, whatever the input; its constant may be another.
    pub(super) fn is_whole(&self, ground: &Ground) -> bool {
        self.members().all(|j| ground.is_whole(j)) && self.on_grid(1.0, ground)
    }

    /// Whether what it takes of the input is a multiple of `unit`, whatever the input.
    fn on_grid(&self, unit: f64, ground: &Ground) -> bool {
        let fits =
            |(c, known): (&f64, &KnownColumn)| *c == 0.0 || known.step(*c).is_some_and(|step| (step / unit).fract() == 0.0);
        self.x.iter().zip(ground.columns()).all(fits)
    }

    /// The least that its sum of whole numbers must come to, besides the input's share, where an atom demands this face: inside by
    /// `room`; and the step from one sum to the next. Both along a direction of length 1.
    pub(super) fn at_least(&self, atom: &Atom, room: f64) -> (f64, f64) {
        let factor = |(var, c): (&Var, &Rational)| match var {
            Var::Output(j) => Some((self.a[*j] / c.to_f64().value()).abs()),
            _ => None,
        };
        let times = atom.linear.terms.iter().find_map(factor).unwrap_or(1.0);
        let least = self.constant + room * times;
        let least = if atom.strict { least.floor() + 1.0 } else { least.ceil() };
        let length = self.a.iter().map(|a| a * a).sum::<f64>().sqrt();
        (least / length, 1.0 / length)
    }

    pub(super) fn new(face: &GuardedFace, ground: &Ground) -> Option<Self> {
        let GuardedFace { unless, face: atom, .. } = face;
        let factors: Vec<&Rational> = atom.linear.terms.iter().filter(|(var, _)| var.is_output()).map(|(_, c)| c).collect();
        // Times the common denominator, divided by the common factor.
        let times = Rational::from(common_denominator(factors.iter().copied()));
        let common = factors.iter().fold(UBig::ZERO, |g, c| g.gcd((*c * &times).numerator().unsigned_abs()));
        if common == UBig::ZERO {
            return None;
        }
        let whole = atom.linear.scaled(&(times / Rational::from(common)));
        let mut a = vec![0.0; ground.outputs()];
        let (mut x, mut constant) = (vec![0.0; ground.columns().len()], -whole.constant.to_f64().value());
        for (var, c) in &whole.terms {
            match var {
                Var::Output(j) => a[*j] = c.to_f64().value(),
                input => {
                    // A single variable over the columns, where a level may be 1 minus others.
                    let one = Face { atom: atom.clone(), a: Vec::new(), x: vec![(*input, c.to_f64().value())], constant: 0.0 };
                    let (row, rest) = one.over_columns(&ground.spec.schema);
                    x.iter_mut().zip(row).for_each(|(x, v)| *x -= v);
                    constant -= rest;
                }
            }
        }
        Some(Self { a, x, constant, unless: unless.clone(), atom: atom.clone() })
    }

    /// The largest size of the sum of all its terms' sizes.
    pub(super) fn size(&self, ground: &Ground) -> f64 {
        let outputs = self.a.iter().zip(ground.ranges).map(|(a, n)| a.abs() * f64::from(n.lo.abs().max(n.hi.abs())));
        let inputs = self.x.iter().zip(ground.columns()).map(|(c, known)| c.abs() * known.size);
        outputs.chain(inputs).sum::<f64>() + self.constant.abs()
    }

    /// What the tail multiplies it by before it adds up, so that all factors are whole.
    pub(super) fn times(&self) -> f64 {
        let whole_by = |t: &f64| self.x.iter().chain([&self.constant]).all(|v| (v * t).fract() == 0.0);
        (0..=20).map(|t| f64::from(t).exp2()).find(whole_by).unwrap_or(1.0)
    }

    /// Whether a feature in it may be any number.
    pub(super) fn is_real(&self, ground: &Ground) -> bool {
        self.x.iter().zip(ground.columns()).any(|(c, known)| *c != 0.0 && known.grid.is_none())
    }

    /// The k of the finest grid that a feature in it is on; `None` if it has none.
    pub(super) fn of_features(&self, ground: &Ground) -> Option<i32> {
        self.x.iter().zip(ground.columns()).filter(|(c, _)| **c != 0.0).filter_map(|(_, known)| known.grid).max()
    }

    /// The k of the finest grid that its outputs are on, if it can be met there whatever the inputs.
    pub(super) fn grid(&self, ground: &Ground) -> Result<i32, MakeError> {
        let no = |why: NotEqual| Err(MakeError::Equality { rule: ground.rule(&self.atom), why });
        let Some(grids) = self.members().map(|j| ground.ranges[j].grid).collect::<Option<Vec<i32>>>() else {
            return no(NotEqual::NoGrid);
        };
        let finest = grids.into_iter().max().unwrap_or(0);
        let unit = f64::from(-finest).exp2();
        if !self.on_grid(unit, ground) || (self.constant / unit).fract() != 0.0 {
            return no(NotEqual::OffGrid);
        }
        if self.times() * self.size(ground) > unit * f64::from(1 << 24) {
            return no(NotEqual::TooLarge);
        }
        if !self.members().any(|j| self.dependent(j, finest, ground)) {
            return no(NotEqual::Factors);
        }
        Ok(finest)
    }

    /// Whether an output is on the grid of 2^-k whenever the others are.
    pub(super) fn dependent(&self, j: usize, k: i32, ground: &Ground) -> bool {
        self.a[j].abs() == 1.0 && ground.ranges[j].grid == Some(k)
    }
}

/// Tells the equalities of several outputs from other faces.
pub(super) fn apart(faces: &[GuardedFace], ground: &Ground) -> (Vec<GuardedFace>, Vec<Equality>) {
    let (mut rest, mut found) = (Vec::new(), Vec::<Equality>::new());
    let places = Places::new(faces);
    for (k, face) in faces.iter().enumerate() {
        let several = face.face.linear.terms.keys().filter(|v| v.is_output()).count() > 1;
        match Some(face).filter(|_| several).and_then(|face| places.opposite(face)) {
            Some(i) if i > k => found.extend(Equality::new(face, ground)),
            Some(_) => {}
            None => rest.push(face.clone()),
        }
    }
    (rest, found)
}

/// Faces of an alternative, told apart.
pub(super) struct Apart {
    /// What is no equality of several outputs.
    pub(super) rest: Vec<GuardedFace>,
    /// Equalities of several outputs that may move.
    pub(super) equalities: Vec<Equality>,
    /// What others leave one output.
    pub(super) fixed: Vec<Equality>,
}

/// Tells equalities of several outputs from other faces, and puts in what outputs that have one value take of them: `c + d == t` for
/// `c + d == e` where `e == t`.
pub(super) fn apart_from_fixed(faces: &[GuardedFace], ground: &Ground) -> Apart {
    let (rest, mut equalities) = apart(faces, ground);
    let mut open = single(faces, ground);
    open.retain(Equality::always);
    let mut fixed = Vec::new();
    while let Some(one) = open.pop() {
        equalities.iter_mut().filter(|equality| equality.shares_outputs(&one)).for_each(|equality| equality.without(&one));
        let alone = |equality: &mut Equality| equality.always() && equality.members().count() <= 1;
        for equality in equalities.extract_if(.., alone).filter(|equality| equality.members().next().is_some()) {
            open.push(equality.clone());
            fixed.push(equality);
        }
    }
    Apart { rest, equalities, fixed }
}

/// Equalities of one output.
pub(super) fn single(faces: &[GuardedFace], ground: &Ground) -> Vec<Equality> {
    let one = |f: &&GuardedFace| f.face.linear.terms.keys().filter(|v| v.is_output()).count() == 1;
    let places = Places::new(faces);
    let first = |f: &&GuardedFace| places.opposite(f).is_some_and(|other| Some(other) > places.of(f));
    faces.iter().filter(one).filter(first).filter_map(|f| Equality::new(f, ground)).collect()
}

/// The first place of each face in a list.
struct Places<'f>(HashMap<&'f GuardedFace, usize>);

impl<'f> Places<'f> {
    fn new(faces: &'f [GuardedFace]) -> Self {
        Self(faces.iter().enumerate().rev().map(|(k, face)| (face, k)).collect())
    }

    fn of(&self, face: &GuardedFace) -> Option<usize> {
        self.0.get(face).copied()
    }

    /// Where the face is with which this one is an equality.
    fn opposite(&self, face: &GuardedFace) -> Option<usize> {
        let turned = Atom { linear: face.face.linear.scaled(&-Rational::ONE), strict: false };
        self.of(&GuardedFace { face: turned, ..face.clone() }).filter(|_| !face.face.strict)
    }
}

/// Whether two faces are an equality.
pub(super) fn opposite(one: &GuardedFace, other: &GuardedFace) -> bool {
    (&one.unless, one.option) == (&other.unless, other.option) && one.face.equates(&other.face)
}

impl Ground<'_> {
    /// The name of the first rule in which an atom occurs.
    pub(super) fn rule(&self, atom: &Atom) -> String {
        let has = |claim: &Formula| {
            let mut found = false;
            claim.atoms(&mut |a| found |= a == atom);
            found
        };
        self.spec.rules.iter().find(|r| has(&r.claim)).map_or_else(String::new, |r| r.name.clone())
    }
}
