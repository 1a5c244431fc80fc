//! Where a schema's features stand among the network's columns, and what a region says about the columns.

use deepsade_spec::{ColumnKind, ColumnMap, Region, Schema, Trend, Var};

use crate::dyadic::{Dyadic, Interval};

/// Where the features stand among the network's columns.
pub(crate) struct Layout {
    map: ColumnMap,
    /// Feature and kind of each column.
    columns: Vec<(usize, ColumnKind)>,
}

impl Layout {
    pub(crate) fn new(schema: &Schema) -> Self {
        let columns: Vec<_> = schema.columns().iter().map(|c| (c.feature, c.kind)).collect();
        Self { map: schema.column_map(), columns }
    }

    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// The feature of a column that holds a number.
    pub(crate) fn number(&self, column: usize) -> Option<usize> {
        self.columns.get(column).filter(|(_, kind)| *kind == ColumnKind::Number).map(|(f, _)| *f)
    }

    /// Adds `c * var` to a linear form over columns and a constant.
    pub(crate) fn add(&self, var: Var, c: &Dyadic, columns: &mut [Dyadic], constant: &mut Dyadic) {
        *constant += &self.map.of(var).times(c, |column, c| columns[column] += &c);
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
        let of =
            |&(f, kind): &(usize, ColumnKind)| region.column_range(f, kind).expect("the region is one of this layout's schema");
        self.columns.iter().map(of).collect()
    }

    /// The largest value of a linear form over the columns: features vary independently, and a category has exactly one level, so
    /// its columns contribute the largest coefficient of an allowed level (0 for the level without a column).
    pub(crate) fn most(&self, region: &Region, coefficients: &[Dyadic]) -> Dyadic {
        let mut sum = Dyadic::default();
        for (f, own) in self.map.features().enumerate() {
            if let Some((lo, hi)) = region.range(f) {
                let c = &coefficients[own.start];
                sum.add_product(c, &Dyadic::float(if c.is_negative() { lo } else { hi }));
            } else if let Some(allowed) = region.levels(f) {
                let zero = Dyadic::default();
                let level = |l: usize| self.map.level(f, l).map_or(&zero, |column| &coefficients[column]);
                if let Some(largest) = (0..allowed.len()).filter(|l| allowed[*l]).map(level).max() {
                    sum += largest;
                }
            }
        }
        sum
    }

    /// What a region says of the columns, for forms in float64.
    pub(crate) fn input_ends(&self, region: &Region) -> RegionEnds {
        let mut ends = RegionEnds::default();
        for (f, own) in self.map.features().enumerate() {
            if let Some((lo, hi)) = region.range(f) {
                ends.numbers.push((own.start, lo, hi));
            } else if let Some(allowed) = region.levels(f) {
                ends.levels.push((0..allowed.len()).filter(|l| allowed[*l]).map(|l| self.map.level(f, l)).collect());
            }
        }
        ends
    }
}

/// Of each number its column and range; of each category the columns of its allowed levels, `None` for the one without.
#[derive(Default)]
pub(crate) struct RegionEnds {
    numbers: Vec<(usize, f64, f64)>,
    levels: Vec<Vec<Option<usize>>>,
}

impl RegionEnds {
    /// The terms of `Layout::most` in float64, one a feature; what is not a number stays so.
    pub(crate) fn most_terms(&self, coefficient: impl Fn(usize) -> f64, mut term: impl FnMut(f64)) {
        for (column, lo, hi) in &self.numbers {
            let c = coefficient(*column);
            term(c * if c < 0.0 { *lo } else { *hi });
        }
        for levels in &self.levels {
            let levels = levels.iter().map(|column| column.map_or(0.0, &coefficient));
            term(levels.fold(f64::NEG_INFINITY, |most, c| if c > most || c.is_nan() { c } else { most }));
        }
    }
}

#[cfg(test)]
mod tests;
