//! Where a schema's features stand among the network's columns, and what a region says about the columns.

use deepsade_spec::{ColumnKind, Region, Schema, Trend, Var};

use crate::dyadic::{Dyadic, Interval};

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
        Self { first: schema.first_columns(), columns, dropped: schema.one_hot.dropped() }
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

    /// How the columns move as a feature does: a number is its own column, and of a category's nothing is known.
    pub(crate) fn trends(&self, feature: usize) -> Vec<Trend> {
        let trend = |&(f, kind): &(usize, ColumnKind)| match kind {
            _ if f != feature => Trend::Constant,
            ColumnKind::Number => Trend::Up,
            ColumnKind::Level(_) => Trend::Unknown,
        };
        self.columns.iter().map(trend).collect()
    }

    /// The interval of every column of the input; the region is not empty.
    pub(crate) fn intervals(&self, region: &Region) -> Vec<Interval> {
        self.ends(region).into_iter().map(|(lo, hi)| Interval { lo: Dyadic::float(lo), hi: Dyadic::float(hi) }).collect()
    }

    /// The ends of these intervals.
    pub(crate) fn ends(&self, region: &Region) -> Vec<(f64, f64)> {
        let column = |&(f, kind): &(usize, ColumnKind)| match (region.range(f), region.levels(f), kind) {
            (Some(range), ..) => range,
            (_, Some(allowed), ColumnKind::Level(l)) if !allowed[l] => (0.0, 0.0),
            (_, Some(allowed), _) if allowed.iter().filter(|a| **a).count() == 1 => (1.0, 1.0),
            _ => (0.0, 1.0),
        };
        self.columns.iter().map(column).collect()
    }

    /// The largest value of a linear form over the columns: features vary independently, and a category has exactly one level, so
    /// its columns contribute the largest coefficient of an allowed level (0 for the level without a column).
    pub(crate) fn most(&self, region: &Region, coefficients: &[Dyadic]) -> Dyadic {
        let mut sum = Dyadic::default();
        for (f, &first) in self.first.iter().enumerate() {
            if let Some((lo, hi)) = region.range(f) {
                let c = &coefficients[first];
                sum.add_product(c, &Dyadic::float(if c.is_negative() { lo } else { hi }));
            } else if let Some(allowed) = region.levels(f) {
                let zero = Dyadic::default();
                let level = |l: usize| l.checked_sub(self.dropped).map_or(&zero, |l| &coefficients[first + l]);
                if let Some(largest) = (0..allowed.len()).filter(|l| allowed[*l]).map(level).max() {
                    sum += largest;
                }
            }
        }
        sum
    }

    /// The terms of the same in float64, one a feature; what is not a number stays so.
    pub(crate) fn most_terms(&self, region: &Region, coefficient: &dyn Fn(usize) -> f64, term: &mut dyn FnMut(f64)) {
        for (f, &first) in self.first.iter().enumerate() {
            if let Some((lo, hi)) = region.range(f) {
                let c = coefficient(first);
                term(c * if c < 0.0 { lo } else { hi });
            } else if let Some(allowed) = region.levels(f) {
                let level = |l: usize| l.checked_sub(self.dropped).map_or(0.0, |l| coefficient(first + l));
                let levels = (0..allowed.len()).filter(|l| allowed[*l]).map(level);
                term(levels.fold(f64::NEG_INFINITY, |most, c| if c > most || c.is_nan() { c } else { most }));
            }
        }
    }
}

#[cfg(test)]
mod tests;
