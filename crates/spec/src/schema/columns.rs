//! Where features stand among the network's columns, and what a rule's variables are in terms of these.

use std::ops::{Add, Neg, Range, Sub};

use super::{Domain, Feature, Schema};
use crate::linear::Var;

/// Where features stand among the network's columns.
///
/// ```
/// use deepsade_spec::{Domain, Feature, OneHot, Schema, Task, Var};
///
/// let levels = ["Rural", "Town", "Urban"].map(String::from).to_vec();
/// let features = vec![Feature { name: "area".into(), domain: Domain::Category { levels } }];
/// let schema = Schema { features, task: Task::regression(vec!["rent".into()]), one_hot: OneHot::DropFirst, filled: vec![] };
/// let map = schema.column_map();
/// // Rural has no column: it is 1 minus the other two.
/// assert_eq!((map.level(0, 0), map.level(0, 1)), (None, Some(0)));
/// assert_eq!(map.of(Var::Level(0, 0)).value(&[0.0, 1.0], f64::from), 0.0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMap {
    /// First column of each feature, and the one behind the last.
    first: Vec<usize>,
    /// 1 if the first level of a category has no column.
    dropped: usize,
}

/// An input variable in terms of columns: the one that holds it, or 1 minus several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VarColumns {
    columns: Range<usize>,
    /// It is 1 minus the sum of its columns: a level without a column is what the others of its category leave.
    rest: bool,
}

impl Schema {
    /// Where features stand among the network's columns.
    pub fn column_map(&self) -> ColumnMap {
        let dropped = self.one_hot.dropped();
        let width = |f: &Feature| match &f.domain {
            Domain::Real { .. } | Domain::Integer { .. } | Domain::Stepped { .. } | Domain::Ordered { .. } => 1,
            Domain::Category { levels } => levels.len().saturating_sub(dropped),
        };
        let after = |at: &mut usize, width: usize| {
            *at += width;
            Some(*at)
        };
        let first = std::iter::once(0).chain(self.features.iter().map(width).scan(0, after)).collect();
        ColumnMap { first, dropped }
    }

    /// Smallest and largest value of each of the network's columns on the domain.
    pub fn column_ranges(&self) -> Vec<(f32, f32)> {
        let map = self.column_map();
        let range = |f: &Feature| f.domain.range().unwrap_or((0.0, 1.0));
        map.features().zip(&self.features).flat_map(|(columns, f)| columns.map(move |_| range(f))).collect()
    }

    /// For each feature the first of its columns.
    pub fn first_columns(&self) -> Vec<usize> {
        let mut first = self.column_map().first;
        first.pop();
        first
    }
}

impl ColumnMap {
    /// A feature's first column; of a number the only one.
    pub fn first(&self, feature: usize) -> usize {
        self.first[feature]
    }

    /// A feature's columns.
    pub fn columns(&self, feature: usize) -> Range<usize> {
        self.first[feature]..self.first[feature + 1]
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.first[self.first.len() - 1]
    }

    /// The columns of each feature.
    pub fn features(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        self.first.windows(2).map(|ends| ends[0]..ends[1])
    }

    /// The column of a category's level, if it has one.
    pub fn level(&self, feature: usize, level: usize) -> Option<usize> {
        level.checked_sub(self.dropped).map(|k| self.first[feature] + k)
    }

    /// Gives a row a level of a category: its column is 1, the others of the feature are 0.
    pub fn put_level<N: From<u8>>(&self, feature: usize, level: usize, row: &mut [N]) {
        let chosen = self.level(feature, level);
        self.columns(feature).for_each(|column| row[column] = N::from(u8::from(Some(column) == chosen)));
    }

    /// The level of a category that a row has.
    pub fn level_in(&self, feature: usize, row: &[f32]) -> usize {
        self.columns(feature).position(|column| row[column] > 0.5).map_or(0, |k| k + self.dropped)
    }

    /// Gives a row a value of a feature; of a category that is the place of its level.
    pub fn put(&self, feature: usize, domain: &Domain, value: f32, row: &mut [f32]) {
        match domain {
            Domain::Category { .. } => self.put_level(feature, value as usize, row),
            _ => row[self.first[feature]] = value,
        }
    }

    /// A variable in terms of columns; an output has none, and is 0 here.
    pub fn of(&self, var: Var) -> VarColumns {
        let one = |column: usize| VarColumns { columns: column..column + 1, rest: false };
        match var {
            Var::Output(_) => VarColumns { columns: 0..0, rest: false },
            Var::Feature(f) => one(self.first[f]),
            Var::Level(f, l) => self.level(f, l).map_or_else(|| VarColumns { columns: self.columns(f), rest: true }, one),
        }
    }
}

impl VarColumns {
    /// `c * variable` as a linear form: calls `put` with the columns and their coefficients, and gives back the constant.
    pub fn times<C: Clone + Default>(&self, c: &C, mut put: impl FnMut(usize, C)) -> C
    where
        for<'a> &'a C: Neg<Output = C>,
    {
        self.columns.clone().for_each(|column| put(column, if self.rest { -c } else { c.clone() }));
        if self.rest { c.clone() } else { C::default() }
    }

    /// The value of the variable in a row of columns.
    pub fn value<N: Default + From<u8> + Add<Output = N> + Sub<Output = N>>(&self, row: &[f32], read: impl Fn(f32) -> N) -> N {
        let sum = row[self.columns.clone()].iter().fold(N::default(), |sum, v| sum + read(*v));
        if self.rest { N::from(1) - sum } else { sum }
    }
}
