//! Sets of inputs, feature by feature: the domain, its parts in a tree of splits, and what a cell's own conditions leave of them.

use std::collections::BTreeSet;

use deepsade_spec::{Atom, ColumnKind, Domain, Feature, Rational, Schema, Var};

use crate::bounds::Interval;
use crate::certificate::Cut;
use crate::dyadic::Dyadic;

/// A product of one set a feature. Empty as soon as one of them is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Region(Vec<Set>);

/// Numbers are counted: a float32 by its place among all float32 values (0 and -0 share place 0), a whole number by itself. So a
/// bound that the next number satisfies is one step away, and a split at k leaves `..=k` and `k + 1..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Set {
    Number { real: bool, lo: i64, hi: i64 },
    Levels(Vec<bool>),
}

/// Where the features stand among the network's columns.
pub(crate) struct Layout {
    /// First column of each feature.
    first: Vec<usize>,
    /// Feature and kind of each column.
    columns: Vec<(usize, ColumnKind)>,
    /// 1 if the first level of a category has no column.
    dropped: usize,
}

impl Layout {
    pub(crate) fn new(schema: &Schema) -> Self {
        let columns: Vec<_> = schema.columns().iter().map(|c| (c.feature, c.kind)).collect();
        let first = (0..schema.features.len()).map(|f| columns.partition_point(|(feature, _)| *feature < f)).collect();
        Self { first, columns, dropped: usize::from(schema.one_hot == deepsade_spec::OneHot::DropFirst) }
    }

    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// The feature of a column that holds a number.
    pub(crate) fn number(&self, column: usize) -> Option<usize> {
        self.columns.get(column).filter(|(_, kind)| *kind == ColumnKind::Number).map(|(f, _)| *f)
    }

    /// Adds `c * var` to a linear form over columns and a constant. A level without a column is 1 minus the others of its feature.
    pub(crate) fn add(&self, var: Var, c: &Dyadic, columns: &mut [Dyadic], constant: &mut Dyadic) {
        match var {
            Var::Output(_) => {}
            Var::Feature(f) => columns[self.first[f]] += c,
            Var::Level(f, l) if l >= self.dropped => columns[self.first[f] + l - self.dropped] += c,
            Var::Level(f, _) => {
                *constant += c;
                let others = columns.iter_mut().zip(&self.columns).filter(|(_, (feature, _))| *feature == f);
                others.for_each(|(column, _)| *column += &-c);
            }
        }
    }
}

/// The place of a float32 among all of them.
fn place(x: f32) -> i64 {
    let size = i64::from(x.to_bits() & 0x7fff_ffff);
    if x.is_sign_negative() { -size } else { size }
}

/// The number at a place.
fn number(real: bool, k: i64) -> f64 {
    if real { f64::from(f32::from_bits(k.unsigned_abs() as u32)) * k.signum() as f64 } else { k as f64 }
}

impl Region {
    /// The domain D, or why the schema does not describe one.
    pub fn whole(schema: &Schema) -> Result<Self, String> {
        let distinct = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
        let set = |f: &Feature| {
            Ok(match &f.domain {
                Domain::Real { lo, hi } if lo.is_finite() && hi.is_finite() && lo <= hi => {
                    Set::Number { real: true, lo: place(*lo), hi: place(*hi) }
                }
                Domain::Integer { lo, hi } if lo <= hi && *lo >= -(1 << 24) && *hi <= 1 << 24 => {
                    Set::Number { real: false, lo: i64::from(*lo), hi: i64::from(*hi) }
                }
                Domain::Category { levels } if !levels.is_empty() && distinct(levels) => Set::Levels(vec![true; levels.len()]),
                _ => return Err(format!("the domain of feature {:?} is empty, not finite, too wide or repeats a level", f.name)),
            })
        };
        schema.features.iter().map(set).collect::<Result<_, _>>().map(Self)
    }

    /// Whether no input is left.
    pub fn is_empty(&self) -> bool {
        self.0.iter().any(|set| match set {
            Set::Number { lo, hi, .. } => lo > hi,
            Set::Levels(allowed) => !allowed.contains(&true),
        })
    }

    /// Both parts of a split. Every point is in one of them: numbers up to the cut and from the next one on, levels listed and not.
    pub fn split(&self, feature: usize, cut: &Cut) -> Result<[Self; 2], String> {
        let (mut below, mut above) = (self.clone(), self.clone());
        match (below.0.get_mut(feature), above.0.get_mut(feature), cut) {
            (Some(Set::Number { real, hi, .. }), Some(Set::Number { lo, .. }), Cut::At(at)) if at.is_finite() => {
                // A cast to i64 saturates, beyond every integer feature.
                let k = if *real { place(*at) } else { at.floor() as i64 };
                *hi = k.min(*hi);
                *lo = k.saturating_add(1).max(*lo);
            }
            (Some(Set::Levels(listed)), Some(Set::Levels(others)), Cut::Levels(levels)) => {
                if !levels.is_sorted_by(|a, b| a < b) || levels.last().is_some_and(|l| *l >= listed.len()) {
                    return Err(format!("levels {levels:?} of feature {feature} do not exist or are not in ascending order"));
                }
                for (l, (listed, other)) in listed.iter_mut().zip(others).enumerate() {
                    let here = levels.binary_search(&l).is_ok();
                    *listed &= here;
                    *other &= !here;
                }
            }
            (None, ..) => return Err(format!("there is no feature {feature}")),
            _ => return Err(format!("{cut:?} does not split feature {feature}")),
        }
        Ok([below, above])
    }

    /// The points that satisfy an atom, if it has one variable, an input; else all of them.
    ///
    /// `c v + d >= 0` is monotone in v, so bisection over the places finds the first (last) number that satisfies it, exactly.
    pub fn cut(&mut self, atom: &Atom) {
        let mut terms = atom.linear.terms.iter();
        let (Some((var, c)), None) = (terms.next(), terms.next()) else { return };
        let holds = |v: f64| {
            let value = Rational::try_from(v).unwrap_or_default() * c + &atom.linear.constant;
            if atom.strict { value > Rational::ZERO } else { value >= Rational::ZERO }
        };
        match (*var, var.feature().and_then(|f| self.0.get_mut(f))) {
            (Var::Level(_, level), Some(Set::Levels(allowed))) => {
                let [absent, present] = [holds(0.0), holds(1.0)];
                allowed.iter_mut().enumerate().for_each(|(l, a)| *a &= if l == level { present } else { absent });
            }
            (Var::Feature(_), Some(Set::Number { real, lo, hi })) => {
                let rising = *c > Rational::ZERO;
                // The smallest k in [a, b] with test(k), or b: test is false up to a point and true from there on.
                let (mut a, mut b) = if rising { (*lo, *hi + 1) } else { (*lo - 1, *hi) };
                while a < b {
                    let middle = if rising { a + (b - a) / 2 } else { b - (b - a) / 2 };
                    match (holds(number(*real, middle)), rising) {
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
        match self.0.get(feature)? {
            Set::Number { real, lo, hi } => Some((number(*real, *lo), number(*real, *hi))),
            Set::Levels(_) => None,
        }
    }

    /// Which levels of a category are left; `None` for a number.
    pub fn levels(&self, feature: usize) -> Option<&[bool]> {
        match self.0.get(feature)? {
            Set::Number { .. } => None,
            Set::Levels(allowed) => Some(allowed),
        }
    }

    /// Smallest and largest number of a numeric feature, and whether it is a whole number; the region is not empty.
    pub(crate) fn ends(&self, feature: usize) -> Option<([Dyadic; 2], bool)> {
        match self.0.get(feature)? {
            Set::Number { real, lo, hi } => Some(([*lo, *hi].map(|k| Dyadic::float(number(*real, k))), !real)),
            Set::Levels(_) => None,
        }
    }

    /// The interval of every column of the input; the region is not empty.
    pub(crate) fn columns(&self, layout: &Layout) -> Vec<Interval> {
        let column = |&(f, kind): &(usize, ColumnKind)| {
            let [lo, hi] = match (&self.0[f], kind) {
                (Set::Number { real, lo, hi }, _) => [number(*real, *lo), number(*real, *hi)],
                (Set::Levels(allowed), ColumnKind::Level(l)) if !allowed[l] => [0.0, 0.0],
                (Set::Levels(allowed), _) if allowed.iter().filter(|a| **a).count() == 1 => [1.0, 1.0],
                (Set::Levels(_), _) => [0.0, 1.0],
            };
            Interval { lo: Dyadic::float(lo), hi: Dyadic::float(hi) }
        };
        layout.columns.iter().map(column).collect()
    }

    /// The largest value of a linear form over the columns: features vary independently, and a category has exactly one level, so
    /// its columns contribute the largest coefficient of an allowed level (0 for the level without a column).
    pub(crate) fn most(&self, layout: &Layout, coefficients: &[Dyadic]) -> Dyadic {
        let mut sum = Dyadic::default();
        for (set, first) in self.0.iter().zip(&layout.first) {
            match set {
                Set::Number { real, lo, hi } => {
                    let c = &coefficients[*first];
                    let end = if c.is_negative() { *lo } else { *hi };
                    sum.add_product(c, &Dyadic::float(number(*real, end)));
                }
                Set::Levels(allowed) => {
                    let zero = Dyadic::default();
                    let level = |l: usize| l.checked_sub(layout.dropped).map_or(&zero, |l| &coefficients[first + l]);
                    if let Some(largest) = (0..allowed.len()).filter(|l| allowed[*l]).map(level).max() {
                        sum += largest;
                    }
                }
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests;
