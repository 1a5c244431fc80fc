//! Sets of inputs, feature by feature: the domain, its parts in a tree of splits, and what a cell's own conditions leave of them.

use thiserror::Error;

use crate::normalize::var_range;
use crate::{Atom, ColumnKind, Domain, Feature, Formula, Linear, Rational, Schema, SchemaError, Var, nearest_multiple};

/// A product of one set a feature. Empty as soon as one of them is.
///
/// ```
/// use deepsade_spec::{Cut, Domain, Feature, OneHot, Region, Schema, Task};
///
/// let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } };
/// let schema = Schema { features: vec![feature("income")], task: Task::regression(vec!["rent".into()]), one_hot: OneHot::Full, filled: vec![] };
/// let whole = Region::domain(&schema).unwrap();
/// let [below, above] = whole.split(0, &Cut::At(4.0)).unwrap();
/// assert_eq!(below.range(0), Some((0.0, 4.0)));
/// // The two have no float32 number in common, and leave none out.
/// assert_eq!(above.range(0), Some((f64::from(4f32.next_up()), 10.0)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Region(Vec<Set>);

/// Numbers are counted: a float32 by its place among all float32 values (0 and -0 share place 0), a whole number by itself, a multiple of
/// a step by how often it is that. So a bound that the next number satisfies is one step away, and a split at k leaves `..=k` and `k + 1..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Set {
    /// With a grid k, multiples of 2^-k; else any float32 values.
    Number {
        grid: Option<i32>,
        lo: i64,
        hi: i64,
    },
    Levels(Vec<bool>),
}

/// Where a region is split.
#[derive(Debug, Clone, PartialEq)]
pub enum Cut {
    /// Below: values at most this one. Above: the others.
    At(f32),
    /// Below: these levels of a category, in ascending order. Above: the others.
    Levels(Vec<usize>),
}

/// Why a region can't be split there.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CutError {
    /// Levels that are not there, or not in order.
    #[error("levels {levels:?} of feature {feature} do not exist or are not in ascending order")]
    Levels {
        /// The feature.
        feature: usize,
        /// The levels.
        levels: Vec<usize>,
    },
    /// A feature that is not there.
    #[error("there is no feature {0}")]
    NoFeature(usize),
    /// A cut of another kind than the feature, or at no number.
    #[error("{cut:?} does not split feature {feature}")]
    Kind {
        /// The feature.
        feature: usize,
        /// The cut.
        cut: Cut,
    },
}

/// The place of a float32 among all of them.
fn place(x: f32) -> i64 {
    let size = i64::from(x.to_bits() & 0x7fff_ffff);
    if x.is_sign_negative() { -size } else { size }
}

/// The number at a place.
fn number(grid: Option<i32>, k: i64) -> f64 {
    match grid {
        None => f64::from(f32::from_bits(k.unsigned_abs() as u32)) * k.signum() as f64,
        Some(grid) => k as f64 * 2f64.powi(-grid),
    }
}

/// How many steps of a grid a number is from 0, rounded down. A cast to i64 saturates, beyond every feature.
fn steps(grid: i32, x: f32) -> i64 {
    (f64::from(x) * 2f64.powi(grid)).floor() as i64
}

impl Region {
    /// The domain D, or why the schema does not describe one.
    pub fn domain(schema: &Schema) -> Result<Self, SchemaError> {
        let set = |f: &Feature| {
            f.sound()?;
            Ok(match &f.domain {
                Domain::Real { lo, hi } => Set::Number { grid: None, lo: place(*lo), hi: place(*hi) },
                Domain::Integer { lo, hi } => Set::Number { grid: Some(0), lo: i64::from(*lo), hi: i64::from(*hi) },
                Domain::Stepped { lo, hi, .. } => {
                    let grid = f.domain.grid().unwrap_or_default();
                    Set::Number { grid: Some(grid), lo: steps(grid, *lo), hi: steps(grid, *hi) }
                }
                Domain::Ordered { levels } => Set::Number { grid: Some(0), lo: 0, hi: levels.len() as i64 - 1 },
                Domain::Category { levels } => Set::Levels(vec![true; levels.len()]),
            })
        };
        schema.features.iter().map(set).collect::<Result<_, _>>().map(Self)
    }

    /// The same with each number up to the next one of the whole: what is cut apart then meets again, with nothing in between.
    #[must_use]
    pub fn touching(&self, whole: &Self) -> Self {
        let meet = |(set, all): (&Set, &Set)| match (set, all) {
            (Set::Number { grid, lo, hi }, Set::Number { hi: last, .. }) if lo <= hi => {
                Set::Number { grid: *grid, lo: *lo, hi: (*hi + 1).min(*last) }
            }
            (set, _) => set.clone(),
        };
        Self(self.0.iter().zip(&whole.0).map(meet).collect())
    }

    /// The largest value of a linear form of features on a region that is not empty, each variable on its own.
    pub fn most(&self, linear: &Linear, schema: &Schema) -> Rational {
        let mut sum = linear.constant.clone();
        for (var, c) in &linear.terms {
            let here = match *var {
                Var::Output(_) => None,
                Var::Feature(f) => self.range(f),
                Var::Level(f, l) => self.column_range(f, ColumnKind::Level(l)),
            };
            let exact = |v: f64| Rational::try_from(v).unwrap_or_default();
            let (lo, hi) = here.map_or_else(|| var_range(*var, schema), |(lo, hi)| (exact(lo), exact(hi)));
            sum += if *c > Rational::ZERO { c * hi } else { c * lo };
        }
        sum
    }

    /// Whether no input of a region that is not empty meets a condition, looked at one atom at a time, and only of a conjunction: a set
    /// without gaps.
    pub fn excludes(&self, condition: &Formula, schema: &Schema) -> bool {
        if *condition == Formula::False {
            return true;
        }
        let atoms = condition.conjuncts();
        atoms.iter().all(|part| matches!(part, Formula::Atom(_)))
            && atoms.iter().any(|part| {
                let Formula::Atom(atom) = part else { return false };
                !atom.met_by(&self.most(&atom.linear, schema))
            })
    }

    /// Whether no input is left.
    pub fn is_empty(&self) -> bool {
        self.0.iter().any(|set| match set {
            Set::Number { lo, hi, .. } => lo > hi,
            Set::Levels(allowed) => !allowed.contains(&true),
        })
    }

    /// Both parts of a split. Every point is in one of them: numbers up to the cut and from the next one on, levels listed and not.
    pub fn split(&self, feature: usize, cut: &Cut) -> Result<[Self; 2], CutError> {
        let (mut below, mut above) = (self.clone(), self.clone());
        match (below.0.get_mut(feature), above.0.get_mut(feature), cut) {
            (Some(Set::Number { grid, hi, .. }), Some(Set::Number { lo, .. }), Cut::At(at)) if at.is_finite() => {
                let k = grid.map_or_else(|| place(*at), |grid| steps(grid, *at));
                *hi = k.min(*hi);
                *lo = k.saturating_add(1).max(*lo);
            }
            (Some(Set::Levels(listed)), Some(Set::Levels(others)), Cut::Levels(levels)) => {
                if !levels.is_sorted_by(|a, b| a < b) || levels.last().is_some_and(|l| *l >= listed.len()) {
                    return Err(CutError::Levels { feature, levels: levels.clone() });
                }
                for (l, (listed, other)) in listed.iter_mut().zip(others).enumerate() {
                    let here = levels.binary_search(&l).is_ok();
                    *listed &= here;
                    *other &= !here;
                }
            }
            (None, ..) => return Err(CutError::NoFeature(feature)),
            _ => return Err(CutError::Kind { feature, cut: cut.clone() }),
        }
        Ok([below, above])
    }

    /// The cut of a feature in its middle, with something on both sides; `None` where one value is left.
    pub fn middle(&self, feature: usize) -> Option<Cut> {
        if let Some((lo, hi)) = self.range(feature) {
            let at = f64::midpoint(lo, hi) as f32;
            let at = if f64::from(at) >= hi { at.next_down() } else { at };
            let at = self.step(feature).map_or(at, |step| ((f64::midpoint(lo, hi) / step).floor() * step) as f32);
            return (f64::from(at) >= lo && f64::from(at) < hi).then_some(Cut::At(at));
        }
        let left: Vec<usize> = self.levels(feature)?.iter().enumerate().filter(|(_, left)| **left).map(|(l, _)| l).collect();
        (left.len() > 1).then(|| Cut::Levels(left[..left.len() / 2].to_vec()))
    }

    /// The points that satisfy those of some atoms that have one variable, an input.
    #[must_use]
    pub fn cut_by(&self, atoms: &[Atom]) -> Self {
        let mut part = self.clone();
        atoms.iter().for_each(|atom| part.cut(atom));
        part
    }

    /// The points that satisfy an atom, if it has one variable, an input; else all of them.
    ///
    /// `c v + d >= 0` is monotone in v, so bisection over the places finds the first (last) number that satisfies it, exactly.
    pub fn cut(&mut self, atom: &Atom) {
        let Some((var, c)) = atom.linear.single() else { return };
        let holds = |v: f64| atom.met_by(&(Rational::try_from(v).unwrap_or_default() * c + &atom.linear.constant));
        match (var, var.feature().and_then(|f| self.0.get_mut(f))) {
            (Var::Level(_, level), Some(Set::Levels(allowed))) => {
                let [absent, present] = [holds(0.0), holds(1.0)];
                allowed.iter_mut().enumerate().for_each(|(l, a)| *a &= if l == level { present } else { absent });
            }
            (Var::Feature(_), Some(Set::Number { grid, lo, hi })) => {
                let rising = *c > Rational::ZERO;
                // What holds at the worst end holds everywhere, as most of a long rule's atoms do.
                if *lo > *hi || holds(number(*grid, if rising { *lo } else { *hi })) {
                    return;
                }
                // The smallest k in [a, b] with test(k), or b: test is false up to a point and true from there on.
                let (mut a, mut b) = if rising { (*lo, *hi + 1) } else { (*lo - 1, *hi) };
                while a < b {
                    let middle = if rising { a + (b - a) / 2 } else { b - (b - a) / 2 };
                    match (holds(number(*grid, middle)), rising) {
                        (true, true) => b = middle,
                        (false, true) => a = middle + 1,
                        (true, false) => a = middle,
                        (false, false) => b = middle - 1,
                    }
                }
                if rising { *lo = a } else { *hi = a }
            }
            _ => {}
        }
    }

    /// Smallest and largest number of a numeric feature; `None` for a category.
    pub fn range(&self, feature: usize) -> Option<(f64, f64)> {
        self.column_range(feature, ColumnKind::Number)
    }

    /// Smallest and largest value of a feature's column of this kind, on a region that is not empty: a level that is not left is 0, the
    /// only one that is left 1. `None` if the feature has no such column.
    pub fn column_range(&self, feature: usize, kind: ColumnKind) -> Option<(f64, f64)> {
        match (self.0.get(feature)?, kind) {
            (Set::Number { grid, lo, hi }, ColumnKind::Number) => Some((number(*grid, *lo), number(*grid, *hi))),
            (Set::Levels(allowed), ColumnKind::Level(level)) => {
                let left = *allowed.get(level)?;
                let only = left && !allowed.iter().enumerate().any(|(l, other)| *other && l != level);
                Some((f64::from(u8::from(only)), f64::from(u8::from(left))))
            }
            _ => None,
        }
    }

    /// The number of a feature that is nearest to v: a float32 one, on the feature's grid, within its range, which is not empty; `None`
    /// for a category.
    pub fn nearest(&self, feature: usize, v: f64) -> Option<f32> {
        let (lo, hi) = self.range(feature)?;
        let v = nearest_multiple(v, self.step(feature));
        Some((v as f32).clamp(lo as f32, hi as f32))
    }

    /// Which levels of a category are left; `None` for a number.
    pub fn levels(&self, feature: usize) -> Option<&[bool]> {
        match self.0.get(feature)? {
            Set::Number { .. } => None,
            Set::Levels(allowed) => Some(allowed),
        }
    }

    /// What the numbers of a feature are multiples of, 1 for whole ones; `None` if they may be any, and for a category.
    pub fn step(&self, feature: usize) -> Option<f64> {
        match self.0.get(feature)? {
            Set::Number { grid, .. } => grid.map(|k| 2f64.powi(-k)),
            Set::Levels(_) => None,
        }
    }

    /// Whether a point is in it: a number or the index of a level a feature.
    pub fn contains(&self, point: &[f32]) -> bool {
        self.0.len() == point.len()
            && self.0.iter().zip(point).all(|(set, &x)| match set {
                Set::Number { grid, lo, hi } => {
                    let on_grid = grid.is_none_or(|k| number(*grid, steps(k, x)) == f64::from(x));
                    (number(*grid, *lo)..=number(*grid, *hi)).contains(&f64::from(x)) && on_grid
                }
                Set::Levels(allowed) => x >= 0.0 && x.fract() == 0.0 && allowed.get(x as usize) == Some(&true),
            })
    }
}

#[cfg(test)]
mod tests;
