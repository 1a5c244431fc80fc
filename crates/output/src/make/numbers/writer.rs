//! Bounds and matrices enter; calls leave that compute them for each row of the input.
//!
//! All that is computed stands: a line an output, a bound or a face, a column a row of the input.

use std::ops::Range;

use deepsade_check::step::certain;
use deepsade_spec::Formula;

use super::super::draft::Draft;
use super::super::{MakeError, Source};
use super::direction::{Direction, Ground, GuardedBound};
use super::select::{ReadyQuota, left};

/// A bound that is not demanded.
pub(super) const FAR: f32 = 1e30;
/// More columns than this are not multiplied if few of them are read.
const MANY_COLUMNS: usize = 48;

/// Writes calls.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    pub(super) draft: Draft,
    pub(super) ground: &'a Ground<'a>,
    x: &'a str,
    /// Conditions, and the tensor with 1 for those that hold, else 0.
    conditions: Vec<Formula>,
    held: String,
    /// The tensor with 1 for each option of a choice that is left, else 0, and how many options there are.
    left: (String, usize),
    /// The options of each choice that takes one of them.
    ones: Vec<Range<usize>>,
    /// The outputs within their ranges, once there are any.
    pub(super) p: String,
}

/// A number a line: the same for every row of the input, or not.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PerLine {
    Constant(Vec<f32>),
    Tensor(String),
}

impl PerLine {
    /// The number that it has in every line.
    pub(super) fn uniform(&self) -> Option<f32> {
        let Self::Constant(data) = self else { return None };
        data.first().copied().filter(|first| data.iter().all(|v| v == first))
    }
}

/// Which of several bounds counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The largest.
    Lower,
    /// The smallest, of bounds whose sign is turned.
    Upper,
}

impl<'a> Writer<'a> {
    /// Begins with the conditions.
    pub(super) fn new(ground: &'a Ground, source: &Source<'a>, mut conditions: Vec<Formula>) -> Result<Self, MakeError> {
        let mut draft = Draft::default();
        let mut held = String::new();
        conditions.retain(|c| *c != Formula::False);
        if !conditions.is_empty() {
            let prefix = draft.prefix("when");
            held = certain(&ground.spec.schema, &conditions, source.x, &prefix, draft.piece())
                .map_err(|why| MakeError::Float32 { why })?;
            held = draft.cast_float(&held);
        }
        Ok(Self {
            draft,
            ground,
            x: source.x,
            conditions,
            held,
            left: (String::new(), 0),
            ones: Vec::new(),
            p: source.scores.into(),
        })
    }

    /// Chooses for each row, from outputs within their ranges.
    pub(super) fn choose(&mut self, choices: &[ReadyQuota]) {
        if !choices.is_empty() {
            self.left = (left(self, choices), choices.iter().map(ReadyQuota::count).sum());
            self.ones = choices.iter().filter_map(ReadyQuota::takes_one).collect();
        }
    }

    /// A row for an operator that takes numbers one by one.
    pub(super) fn name(&mut self, row: &PerLine) -> String {
        match row {
            PerLine::Constant(data) => match row.uniform() {
                Some(one) => self.draft.number(one),
                None => self.draft.each(data.clone()),
            },
            PerLine::Tensor(name) => name.clone(),
        }
    }

    /// `rows . of + plus`: a line for each row of factors.
    pub(super) fn product(&mut self, of: &str, rows: &[Vec<f64>], plus: Option<&PerLine>) -> String {
        self.product_with(of, rows, plus, &[])
    }

    fn product_with(&mut self, of: &str, rows: &[Vec<f64>], plus: Option<&PerLine>, turned: &[(&str, i64)]) -> String {
        let (lines, width) = (rows.len(), rows.first().map_or(0, Vec::len));
        let matrix = self.draft.floats(&[lines, width], rows.iter().flatten().map(|v| *v as f32).collect());
        let plus = plus.map(|plus| match plus {
            PerLine::Constant(data) => self.draft.each(data.clone()),
            PerLine::Tensor(plus) => plus.clone(),
        });
        let reads: Vec<&str> = [matrix.as_str(), of].into_iter().chain(plus.as_deref()).collect();
        self.draft.call_with("Gemm", &reads, turned)
    }

    /// Outputs moved along directions, by as much as is given for each.
    pub(super) fn push(&mut self, by: &str, along: &[Vec<f64>], from: &str) -> String {
        let rows: Vec<Vec<f64>> = (0..self.ground.outputs()).map(|j| along.iter().map(|d| d[j]).collect()).collect();
        self.product(by, &rows, Some(&PerLine::Tensor(from.into())))
    }

    /// Affine forms of the input's columns.
    pub(super) fn of_input(&mut self, rows: &[Vec<f64>], constants: Vec<f32>) -> PerLine {
        let used: Vec<usize> = (0..self.ground.columns().len()).filter(|j| rows.iter().any(|r| r[*j] != 0.0)).collect();
        if used.is_empty() {
            return PerLine::Constant(constants);
        }
        let (plus, lies) = (Some(&PerLine::Constant(constants)), [("transB", 1)]);
        if self.ground.columns().len() <= MANY_COLUMNS || used.len() * 2 > self.ground.columns().len() {
            return PerLine::Tensor(self.product_with(self.x, rows, plus, &lies));
        }
        let taken = self.draft.columns(self.x, &used);
        let rows: Vec<Vec<f64>> = rows.iter().map(|r| used.iter().map(|j| r[*j]).collect()).collect();
        PerLine::Tensor(self.product_with(&taken, &rows, plus, &lies))
    }

    /// The bounds of each line that count, none weaker than what is given.
    pub(super) fn bounds(&mut self, of: &[&[GuardedBound]], weakest: Vec<f32>, side: Side) -> PerLine {
        let sign = if side == Side::Lower { 1.0 } else { -1.0 };
        let stronger = |a: f32, b: f32| if side == Side::Lower { a.max(b) } else { a.min(b) };
        let mut start = weakest;
        for (bounds, start) in of.iter().zip(&mut start) {
            for bound in bounds.iter().filter(|b| b.is_constant()) {
                *start = stronger(*start, (sign * bound.constant) as f32);
            }
        }
        let ones = self.ones.clone();
        let mut found = PerLine::Constant(start.clone());
        for options in &ones {
            if let Some(value) = self.of_one(of, &start, options, side) {
                found = self.stronger_of(&found, &value, side);
            }
        }
        let open = |b: &&GuardedBound| !b.is_constant() && !ones.iter().any(|options| b.is_one_of(options));
        let open: Vec<Vec<&GuardedBound>> = of.iter().map(|bounds| bounds.iter().filter(open).collect()).collect();
        for round in 0..open.iter().map(Vec::len).max().unwrap_or(0) {
            let own: Vec<Option<&GuardedBound>> = open.iter().map(|bounds| bounds.get(round).copied()).collect();
            let columns = self.ground.columns().len();
            let row = |b: Option<&GuardedBound>| b.map_or(vec![0.0; columns], |b| b.x.iter().map(|v| sign * v).collect());
            let rows: Vec<Vec<f64>> = own.iter().copied().map(row).collect();
            let constant = |(b, start): (Option<&GuardedBound>, &f32)| b.map_or(*start, |b| (sign * b.constant) as f32);
            let mut value = self.of_input(&rows, own.iter().copied().zip(&start).map(constant).collect());
            let unless: Vec<&Formula> = own.iter().map(|b| b.map_or(&Formula::False, |b| &b.unless)).collect();
            if unless.iter().any(|f| **f != Formula::False) {
                value = PerLine::Tensor(self.held(&unless, -sign * f64::from(FAR), &value));
            }
            let options: Vec<Option<usize>> = own.iter().map(|b| b.and_then(|b| b.option)).collect();
            if options.iter().any(Option::is_some) {
                let entry = |option: &Option<usize>, k: usize| if *option == Some(k) { -sign * f64::from(FAR) } else { 0.0 };
                let (left, count) = self.left.clone();
                let rows: Vec<Vec<f64>> = options.iter().map(|o| (0..count).map(|k| entry(o, k)).collect()).collect();
                value = PerLine::Tensor(self.product(&left, &rows, Some(&value)));
            }
            // Where nothing was known before there is nothing to compare with.
            let first = matches!(found, PerLine::Constant(_));
            let blank = first && own.iter().zip(&start).all(|(b, start)| b.is_none() || start.abs() >= FAR);
            found = if blank { value } else { self.stronger_of(&found, &value, side) };
        }
        found
    }

    /// The bounds by the options of a choice that takes one of them: a product, however many there are. They have one condition.
    fn of_one(&mut self, of: &[&[GuardedBound]], start: &[f32], options: &Range<usize>, side: Side) -> Option<PerLine> {
        let own: Vec<Vec<&GuardedBound>> =
            of.iter().map(|bounds| bounds.iter().filter(|b| b.is_one_of(options)).collect()).collect();
        if own.iter().all(Vec::is_empty) {
            return None;
        }
        let sign = if side == Side::Lower { 1.0 } else { -1.0 };
        let row = |(bounds, start): (&Vec<&GuardedBound>, &f32)| {
            let mut row = vec![0.0; self.left.1];
            row[options.clone()].fill(f64::from(*start));
            for bound in bounds {
                let at = &mut row[bound.option.unwrap_or_default()];
                let value = f64::from((sign * bound.constant) as f32);
                *at = if side == Side::Lower { at.max(value) } else { at.min(value) };
            }
            row
        };
        let rows: Vec<Vec<f64>> = own.iter().zip(start).map(row).collect();
        let (left, one) = (self.left.0.clone(), self.draft.number(1.0));
        let taken = self.draft.call("Sub", &[&one, &left]);
        let value = PerLine::Tensor(self.product(&taken, &rows, None));
        let unless: Vec<&Formula> = own.iter().map(|bounds| bounds.first().map_or(&Formula::False, |b| &b.unless)).collect();
        Some(if unless.iter().all(|f| **f == Formula::False) {
            value
        } else {
            PerLine::Tensor(self.held(&unless, -sign * f64::from(FAR), &value))
        })
    }

    fn stronger_of(&mut self, a: &PerLine, b: &PerLine, side: Side) -> PerLine {
        let (a, b) = (self.name(a), self.name(b));
        PerLine::Tensor(self.draft.call(if side == Side::Lower { "Max" } else { "Min" }, &[&a, &b]))
    }

    /// The bounds of directions.
    pub(super) fn bounds_of(&mut self, directions: &[Direction]) -> PerLine {
        let of: Vec<&[GuardedBound]> = directions.iter().map(|d| &d.bounds[..]).collect();
        self.bounds(&of, vec![-FAR; directions.len()], Side::Lower)
    }

    /// A row plus so much wherever these conditions hold, a line each.
    pub(super) fn held(&mut self, conditions: &[&Formula], times: f64, plus: &PerLine) -> String {
        let entry = |f: &Formula, c: &Formula| if f == c { times } else { 0.0 };
        let rows: Vec<Vec<f64>> = conditions.iter().map(|f| self.conditions.iter().map(|c| entry(f, c)).collect()).collect();
        let held = self.held.clone();
        self.product(&held, &rows, Some(plus))
    }

    /// 1 for these conditions where they do not hold, a line each.
    pub(super) fn failed(&mut self, conditions: &[&Formula]) -> String {
        self.held(conditions, -1.0, &PerLine::Constant(vec![1.0; conditions.len()]))
    }

    /// A row moved by so much, times a sign.
    pub(super) fn inward(&mut self, row: &PerLine, by: &[f64], sign: f64) -> PerLine {
        if by.iter().all(|v| *v == 0.0) {
            return row.clone();
        }
        let by: Vec<f32> = by.iter().map(|v| (sign * v) as f32).collect();
        match row {
            PerLine::Constant(data) => PerLine::Constant(data.iter().zip(by).map(|(v, by)| v + by).collect()),
            PerLine::Tensor(name) => {
                let by = self.draft.each(by);
                PerLine::Tensor(self.draft.call("Add", &[name, &by]))
            }
        }
    }

    /// Within bounds from both sides.
    pub(super) fn clip(&mut self, y: &str, lower: &PerLine, upper: &PerLine) -> String {
        if let (Some(lower), Some(upper)) = (lower.uniform(), upper.uniform()) {
            return self.draft.clip(y, lower, upper);
        }
        let (lower, upper) = (self.name(lower), self.name(upper));
        let y = self.draft.call("Max", &[y, &lower]);
        self.draft.call("Min", &[&y, &upper])
    }
}
