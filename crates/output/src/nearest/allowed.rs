//! Rules of a regression and an input enter; the half-spaces whose union of intersections holds the outputs that obey them leaves.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use deepsade_net::Matrix;
use deepsade_solve::active_set::{HalfSpace, Infeasible, Nearest, nearest, take_out};
use deepsade_solve::budget::Budget;
use deepsade_solve::finite::decided;
use deepsade_spec::cells::cells;
use deepsade_spec::float32::round_down;
use deepsade_spec::{Atom, Formula, NormalSpec, Rational, Schema, Var};
use thiserror::Error;

use super::one_by_one;
use crate::judge::Judge;

/// Pieces that the outputs of one input may have, and atoms that are looked at for them.
const MAX_PIECES: usize = 4096;
const MAX_ATOMS: usize = 1_000_000;

/// Why rules can't be built into the output step.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AllowedError {
    /// Too many alternatives.
    #[error(
        "the rules leave more than {MAX_PIECES} alternatives for the outputs of one input; state them with fewer `or`s, or use \
         enforce = \"weights\""
    )]
    TooManyPieces,
}

/// What the rules allow, as a function of the input.
#[derive(Debug)]
pub struct Allowed<'a> {
    judge: Judge<'a>,
    spec: &'a NormalSpec,
    faces: Vec<Face>,
    /// The units in which outputs are near: of each its spread.
    spread: Vec<f64>,
    /// In these units, the faces' normals and what their offsets are divided by.
    normals: Vec<(Vec<f64>, f64)>,
    /// Atoms about the input alone.
    conditions: Vec<Atom>,
    /// What was needed so far: the truth of the conditions, and the pieces then.
    known: Mutex<Vec<(Vec<bool>, Arc<Pieces>)>>,
}

/// Each piece is an intersection of half-spaces, by index.
type Pieces = Vec<Vec<usize>>;

/// An atom that mentions outputs, `a.y + x-terms + constant >= 0` with `|a| = 1`.
#[derive(Debug, Clone, PartialEq)]
pub struct Face {
    /// The atom.
    pub atom: Atom,
    /// Coefficients of the outputs.
    pub a: Vec<f64>,
    /// Coefficients of the input variables.
    pub x: Vec<(Var, f64)>,
    /// The constant.
    pub constant: f64,
}

/// What is allowed at one input.
#[derive(Debug, Clone, Default)]
pub struct AllowedAt {
    /// The offset of each face there.
    pub offsets: Vec<f64>,
    /// Which of the pieces seen so far it has.
    pub case: usize,
    pieces: Arc<Pieces>,
}

impl<'a> Allowed<'a> {
    /// Prepares the rules.
    pub fn new(spec: &'a NormalSpec) -> Self {
        let outputs = spec.schema.task.outputs();
        let (mut faces, mut conditions) = (Vec::<Face>::new(), Vec::new());
        for rule in &spec.rules {
            rule.claim.atoms(&mut |atom| {
                if !atom.linear.mentions_output() {
                    if !conditions.contains(atom) {
                        conditions.push(atom.clone());
                    }
                } else if decided(atom, &spec.schema).is_none() && !faces.iter().any(|f| f.atom == *atom) {
                    faces.push(Face::new(atom, outputs));
                }
            });
        }
        let allowed =
            Self { judge: Judge::new(spec), spec, faces, spread: vec![], normals: vec![], conditions, known: Mutex::default() };
        allowed.with_spread(vec![1.0; outputs])
    }

    /// The same with another measure of what is near: the sum of `((y_j - p_j) / spread_j)^2`.
    #[must_use]
    pub fn with_spread(mut self, spread: Vec<f64>) -> Self {
        let normal = |face: &Face| {
            let a: Vec<f64> = face.a.iter().zip(&spread).map(|(a, s)| a * s).collect();
            let length = a.iter().map(|v| v * v).sum::<f64>().sqrt();
            (a.iter().map(|v| v / length).collect(), length)
        };
        self.normals = self.faces.iter().map(normal).collect();
        self.spread = spread;
        self
    }

    /// The half-spaces.
    pub fn faces(&self) -> &[Face] {
        &self.faces
    }

    /// Whether the rules are one intersection of half-spaces, the same for every input but for the offsets.
    #[cfg(test)]
    fn is_one_piece(&self) -> bool {
        self.conditions.is_empty() && self.spec.rules.iter().all(|r| is_conjunction(&r.claim))
    }

    /// Whether every face is `a.y + c r >= 0` for this feature r: then the rules are those of the outputs divided by it.
    pub fn scales_with(&self, feature: usize) -> bool {
        self.faces.iter().all(|f| f.constant == 0.0 && f.x.iter().all(|(var, _)| *var == Var::Feature(feature)))
    }

    /// What is allowed at an encoded input.
    pub fn at(&self, x: &[f32]) -> Result<AllowedAt, AllowedError> {
        let truth: Vec<bool> = self.conditions.iter().map(|c| self.judge.meets(c, x)).collect();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let case = if let Some(case) = known.iter().position(|(t, _)| *t == truth) {
            case
        } else {
            let pieces = Arc::new(self.pieces(&truth)?);
            known.push((truth, pieces));
            known.len() - 1
        };
        let offset = |f: &Face| f.x.iter().map(|(var, c)| c * self.judge.input(x, *var)).sum::<f64>() + f.constant;
        Ok(AllowedAt { offsets: self.faces.iter().map(offset).collect(), case, pieces: known[case].1.clone() })
    }

    /// How many numbers [`Self::side_of`] has for a row.
    pub fn side_width(&self) -> usize {
        self.faces.len() + 1
    }

    /// What the inputs of rows say, for training, as numbers that [`Self::place_of`] reads: the offset of each face, and the case.
    pub fn side_of(&self, x: &Matrix) -> Result<Matrix, AllowedError> {
        let cols = self.side_width();
        let mut side = Matrix { rows: x.rows, cols, data: Vec::with_capacity(x.rows * cols) };
        for r in 0..x.rows {
            let place = self.at(x.row(r))?;
            side.data.extend(place.offsets.iter().map(|c| (*c as f32).clamp(f32::MIN, f32::MAX)));
            side.data.push(place.case as f32);
        }
        Ok(side)
    }

    /// The place of a row of [`Self::side_of`].
    ///
    /// # Panics
    /// If [`Allowed::at`] has not met the case.
    pub fn place_of(&self, side: &[f32]) -> AllowedAt {
        let (offsets, case) = side.split_at(self.faces.len());
        let (offsets, case) = (offsets.iter().map(|c| f64::from(*c)).collect(), case[0] as usize);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        AllowedAt { offsets, case, pieces: known[case].1.clone() }
    }

    fn pieces(&self, truth: &[bool]) -> Result<Pieces, AllowedError> {
        let claim = Formula::and(self.spec.rules.iter().map(|r| self.given(&r.claim, truth)));
        let faces: HashMap<&Atom, usize> = self.faces.iter().enumerate().map(|(k, f)| (&f.atom, k)).collect();
        let (mut pieces, mut known) = (Pieces::new(), HashSet::new());
        let mut atoms_seen = 0;
        let ended = cells(&claim, &mut |atoms| {
            let mut piece: Vec<usize> = atoms.iter().map(|atom| faces[atom]).collect();
            piece.sort_unstable();
            piece.dedup();
            if known.insert(piece.clone()) {
                pieces.push(piece);
            }
            atoms_seen += atoms.len();
            if pieces.len() > MAX_PIECES || atoms_seen > MAX_ATOMS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if ended.is_break() { Err(AllowedError::TooManyPieces) } else { Ok(pieces) }
    }

    /// The claim with its conditions on the input replaced by their truth.
    fn given(&self, claim: &Formula, truth: &[bool]) -> Formula {
        claim.replaced(&mut |atom| {
            let known = self.conditions.iter().position(|c| c == atom).map(|k| truth[k]);
            known.or_else(|| decided(atom, &self.spec.schema)).map_or_else(|| Formula::Atom(atom.clone()), Formula::from)
        })
    }

    /// The nearest outputs to `p` that keep a distance of `margin` from every face.
    pub fn nearest(&self, place: &AllowedAt, p: &[f64], margin: f64) -> Result<Nearest, Infeasible> {
        let best = self.of_each_piece(place, p, margin).reduce(|best, other| if other.0 < best.0 { other } else { best });
        best.map(|(_, found)| found).ok_or(Infeasible)
    }

    /// The nearest outputs of each piece, with their squared distance.
    fn of_each_piece(&self, place: &AllowedAt, p: &[f64], margin: f64) -> impl Iterator<Item = (f64, Nearest)> {
        let p: Vec<f64> = p.iter().zip(&self.spread).map(|(p, s)| p / s).collect();
        place.pieces.iter().filter_map(move |piece| {
            let face = |k: &usize| {
                let (a, length) = &self.normals[*k];
                HalfSpace { a, c: (place.offsets[*k] - margin) / length }
            };
            let mut found = nearest(&p, &piece.iter().map(face).collect::<Vec<_>>()).ok()?;
            found.active.iter_mut().for_each(|k| *k = piece[*k]);
            let distance = found.y.iter().zip(&p).map(|(y, p)| (y - p).powi(2)).sum::<f64>();
            found.y.iter_mut().zip(&self.spread).for_each(|(y, s)| *y *= s);
            Some((distance, found))
        })
    }

    /// Turns a gradient with respect to the nearest outputs into one with respect to the point they are near to.
    pub fn backward(&self, active: &[usize], g: &mut [f64]) {
        // With y = S z and z the orthogonal projection of S^-1 p: the transpose of S P S^-1, P symmetric.
        g.iter_mut().zip(&self.spread).for_each(|(g, s)| *g *= s);
        take_out(&active.iter().map(|k| self.normals[*k].0.as_slice()).collect::<Vec<_>>(), g);
        g.iter_mut().zip(&self.spread).for_each(|(g, s)| *g /= s);
    }

    /// Float32 outputs that obey the rules exactly, next to the given ones; these themselves if they do.
    pub fn decode(&self, x: &[f32], y: &[f32]) -> Result<Vec<f32>, NearestError> {
        let breaks = |y: &[f32]| self.judge.breaks_any(x, y);
        if !breaks(y) {
            return Ok(y.to_vec());
        }
        if y.iter().any(|v| !v.is_finite()) {
            return Err(NearestError::NotFinite);
        }
        let place = self.at(x)?;
        let p: Vec<f64> = y.iter().map(|v| f64::from(*v)).collect();
        let size = p.iter().chain(&place.offsets).fold(0.0f64, |m, v| m.max(v.abs())).max(f64::from(f32::MIN_POSITIVE));
        // Rounding to float32 may cross a face by half a unit in the last place of each output: keep so far away.
        for margin in std::iter::once(0.0).chain((0..24).map(|k| size * 2f64.powi(k - 24))) {
            let Ok(found) = self.nearest(&place, &p, margin) else { break };
            let rounded: Vec<f32> = found.y.iter().map(|v| *v as f32).collect();
            if !breaks(&rounded) {
                return Ok(rounded);
            }
            // An equality has no inside to retreat to, but one of the float32 points around it may obey it.
            if margin == 0.0
                && let Some(near) = neighbours(&found.y).find(|y| !breaks(y))
            {
                return Ok(near);
            }
        }
        // Where what is allowed is a corner or an edge, as 0 <= u, 0 <= v, u + v <= 0 is, float64 misses it by its own rounding. The
        // corner is on a grid which is coarser than that.
        // Near 0 float32 is finest: where an equality has no float32 solution near y, it may have one there.
        let mut tries = MOST_TRIES;
        for from in [p.clone(), vec![0.0; p.len()]] {
            let size = from.iter().chain(&place.offsets).fold(f64::from(f32::MIN_POSITIVE), |m, v| m.max(v.abs()));
            // In units of the size, exactly: what is tiny beside 1 is not beside what is there.
            let unit = size.log2().ceil().exp2();
            let offsets = place.offsets.iter().map(|c| c / unit).collect();
            let place = AllowedAt { offsets, ..place.clone() };
            let from: Vec<f64> = from.iter().map(|v| v / unit).collect();
            let mut pieces: Vec<(f64, Nearest)> = self.of_each_piece(&place, &from, 0.0).collect();
            pieces.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (_, found) in pieces {
                let y: Vec<f64> = found.y.iter().map(|v| v * unit).collect();
                let grids = GRIDS.map(|k| unit * f64::from(k).exp2());
                for near in grids.flat_map(|grid| grid_points(&y, grid)).take(tries) {
                    if !breaks(&near) {
                        return Ok(near);
                    }
                    tries -= 1;
                }
            }
        }
        self.one_by_one(x, &place, &p).filter(|y| !breaks(y)).ok_or(NearestError::Infeasible(Infeasible))
    }

    /// Outputs of some piece, found exactly one after the other; near to `p` in the first output that is chosen.
    fn one_by_one(&self, x: &[f32], place: &AllowedAt, p: &[f64]) -> Option<Vec<f32>> {
        let budget = Budget::new(ONE_BY_ONE_TERMS);
        let exact = |var: Var| Rational::try_from(self.judge.input(x, var)).unwrap_or_default();
        place.pieces.iter().find_map(|piece| {
            let here = |k: &usize| {
                let mut atom = self.faces[*k].atom.clone();
                let inputs: Vec<Var> = atom.linear.terms.keys().copied().filter(|v| !v.is_output()).collect();
                for var in inputs {
                    let c = atom.linear.terms.remove(&var).unwrap_or_default();
                    atom.linear.constant += c * exact(var);
                }
                atom
            };
            let atoms: Vec<Atom> = piece.iter().map(here).collect();
            // Where the sum of two outputs is given, the second need not be a float32 number unless the first is 0.
            let tries = [(p, false), (p, true), (&vec![0.0; p.len()][..], false), (&vec![0.0; p.len()][..], true)];
            tries.iter().find_map(|(near, backwards)| one_by_one::outputs(&atoms, near, *backwards, &budget))
        })
    }
}

/// Grids to look on, as powers of two times the size of all numbers: from float64's rounding to a few steps of float32.
const GRIDS: std::ops::RangeInclusive<i32> = -46..=-20;
/// Terms of atoms that the last resort may look at for one row.
const ONE_BY_ONE_TERMS: usize = 200_000;
/// Points of grids that are tried for one row.
const MOST_TRIES: usize = 4096;
/// Coordinates of which both neighbours are tried.
const BOTH: usize = 10;

/// The float32 points around a point, of up to 10 of its coordinates.
fn neighbours(y: &[f64]) -> impl Iterator<Item = Vec<f32>> + '_ {
    let around = |below: f32| [below, below.next_up()];
    choices(y.iter().map(|v| around(round_down(*v))).collect())
}

/// The nearest point of a grid, then those around, of up to 10 coordinates that are not on it.
fn grid_points(y: &[f64], grid: f64) -> impl Iterator<Item = Vec<f32>> {
    // Plus 0: a zero has no sign to print.
    let to_grid = |v: f64| (v * grid) as f32 + 0.0;
    let nearest: Vec<f32> = y.iter().map(|v| to_grid((v / grid).round())).collect();
    let around = y.iter().map(|v| [to_grid((v / grid).floor()), to_grid((v / grid).ceil())]);
    std::iter::once(nearest).chain(choices(around.collect()))
}

/// Every choice of one of two numbers for up to 10 coordinates at which they differ; the first one for the others.
fn choices(around: Vec<[f32; 2]>) -> impl Iterator<Item = Vec<f32>> {
    let open: Vec<usize> = (0..around.len()).filter(|j| around[*j][0] != around[*j][1]).take(BOTH).collect();
    (0..1usize << open.len()).map(move |bits| {
        let mut point: Vec<f32> = around.iter().map(|[low, _]| *low).collect();
        open.iter().enumerate().for_each(|(k, j)| point[*j] = around[*j][bits >> k & 1]);
        point
    })
}

/// Why a row has no valid outputs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NearestError {
    /// The network gave no number.
    #[error("the network's outputs are not finite")]
    NotFinite,
    /// Too many alternatives.
    #[error(transparent)]
    Allowed(#[from] AllowedError),
    /// Nothing is allowed.
    #[error(transparent)]
    Infeasible(#[from] Infeasible),
}

impl Face {
    /// The x-terms over all columns of the input, and what is constant.
    pub(crate) fn over_columns(&self, schema: &Schema) -> (Vec<f64>, f64) {
        let map = schema.column_map();
        let (mut row, mut constant) = (vec![0.0; schema.columns().len()], self.constant);
        for (var, c) in &self.x {
            constant += map.of(*var).times(c, |column, c| row[column] += c);
        }
        (row, constant)
    }

    pub(crate) fn new(atom: &Atom, outputs: usize) -> Self {
        let (mut a, mut x) = (vec![0.0; outputs], Vec::new());
        // Exactly first: coefficients may be beyond float64's range.
        let largest = output_coefficients(atom).max().unwrap_or(Rational::ONE);
        let linear = atom.linear.scaled(&(Rational::ONE / largest));
        for (var, c) in &linear.terms {
            match var {
                Var::Output(j) => a[*j] = c.to_f64().value(),
                input => x.push((*input, c.to_f64().value())),
            }
        }
        let length = a.iter().map(|a| a * a).sum::<f64>().sqrt();
        a.iter_mut().for_each(|a| *a /= length);
        x.iter_mut().for_each(|(_, c)| *c /= length);
        Self { atom: atom.clone(), a, x, constant: linear.constant.to_f64().value() / length }
    }
}

fn output_coefficients(atom: &Atom) -> impl Iterator<Item = Rational> + '_ {
    atom.linear.terms.iter().filter(|(v, _)| v.is_output()).map(|(_, c)| if *c < Rational::ZERO { -c } else { c.clone() })
}

#[cfg(test)]
fn is_conjunction(claim: &Formula) -> bool {
    match claim {
        Formula::True | Formula::Atom(_) => true,
        Formula::And(parts) => parts.iter().all(is_conjunction),
        _ => false,
    }
}

#[cfg(test)]
pub(in crate::nearest) mod tests;
