//! What the tail computes with: the candidate's outputs beside the columns of the input, and what is known of each.

use deepsade_spec::{ColumnKind, ColumnMap, Domain, Rational, Schema, Task, Var};

use crate::certificate::{Number, Outputs};
use crate::rejected::StepFault;

/// Numbers below 2^-100 in size may be taken for zero by a runtime, or not; none that the tail computes with is.
pub const CALM: i32 = -100;
/// Outputs reach no further than 2^60: with a grid's factor, of at most 2^64, they are float32 numbers still.
pub(super) const FAR: i32 = 60;

/// What is known of a column, for every input of the domain and every candidate that passes the range check.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnRange {
    pub(super) lo: Rational,
    pub(super) hi: Rational,
    /// It is a multiple of 2^-step.
    pub(super) step: Option<i32>,
    /// It is 0 or at least 2^-100 in size.
    pub(super) calm: bool,
}

impl ColumnRange {
    pub(super) fn size(&self) -> Rational {
        let (a, b) = (-&self.lo, self.hi.clone());
        if a > b { a } else { b }
    }

    /// Whether it is 0 or 1.
    pub(super) fn binary(&self) -> bool {
        self.step == Some(0) && self.lo.is_zero() && self.hi.is_one()
    }
}

/// The columns that literals and sums read: outputs, then the input.
#[derive(Debug, Clone)]
pub struct Over {
    pub(super) columns: Vec<ColumnRange>,
    /// How many of them are outputs.
    outputs: usize,
    /// Where features stand behind these.
    map: ColumnMap,
}

/// 2^k
pub(super) fn power(k: i32) -> Rational {
    Rational::from(2).pow(k as isize)
}

pub(super) fn exact(x: f32) -> Rational {
    Rational::try_from(x).unwrap_or_default()
}

impl Outputs {
    /// How many there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Labels(n) => *n,
        }
    }

    /// Whether ranges and grids make sense for this task. An output that must be a whole number is on a grid of these, k <= 0: c' is
    /// rounded down to it and judged then, and the fallback has to be on every grid there is (`on_grid`).
    pub(super) fn sound(&self, task: &Task) -> Result<(), StepFault> {
        if self.count() != task.outputs() {
            return Err(StepFault::Outputs { found: self.count(), task: task.outputs() });
        }
        let labels = matches!(task, Task::Multilabel { .. } | Task::Ranking { .. });
        match self {
            Self::Labels(_) if labels => Ok(()),
            Self::Labels(_) => Err(StepFault::NotLabels),
            Self::Numbers(numbers) => {
                let far = 2f32.powi(FAR);
                let near = 2f32.powi(CALM);
                let calm = |v: f32| v == 0.0 || v.abs() >= near;
                let good = |n: &Number| {
                    calm(n.lo)
                        && calm(n.hi)
                        && -far <= n.lo
                        && n.lo <= n.hi
                        && n.hi <= far
                        && n.grid.is_none_or(|k| (-64..=64).contains(&k) && n.gridded(k))
                };
                if let Some(j) = numbers.iter().position(|n| !good(n)) {
                    return Err(StepFault::Range { output: j, most: FAR });
                }
                let off = |j: &usize| numbers[*j].grid.is_none_or(|k| k > 0);
                match task.whole_outputs().into_iter().find(off) {
                    None => Ok(()),
                    Some(j) => Err(StepFault::NotWhole(j)),
                }
            }
        }
    }
}

impl Number {
    /// Whether all multiples of 2^-k in the range are float32 numbers, and the range ends at such.
    fn gridded(&self, k: i32) -> bool {
        let scale = power(k);
        [self.lo, self.hi].iter().all(|v| {
            let v = exact(*v) * &scale;
            v.denominator().is_one() && v <= power(24) && -v <= power(24)
        })
    }
}

impl Over {
    /// Outputs, if there are any, beside the columns of a schema.
    pub fn new(schema: &Schema, outputs: Option<&Outputs>) -> Self {
        let mut columns: Vec<ColumnRange> = match outputs {
            None => Vec::new(),
            Some(Outputs::Labels(n)) => vec![whole(Rational::ZERO, Rational::ONE); *n],
            Some(Outputs::Numbers(numbers)) => {
                let column = |n: &Number| ColumnRange { lo: exact(n.lo), hi: exact(n.hi), step: n.grid, calm: true };
                numbers.iter().map(column).collect()
            }
        };
        let outputs = columns.len();
        for column in schema.columns() {
            columns.push(match (&schema.features[column.feature].domain, column.kind) {
                (Domain::Real { lo, hi }, ColumnKind::Number) => {
                    let near = 2f32.powi(CALM);
                    let calm = *lo >= near || *hi <= -near || *lo == 0.0 && *hi == 0.0;
                    ColumnRange { lo: exact(*lo), hi: exact(*hi), step: None, calm }
                }
                (Domain::Integer { lo, hi }, ColumnKind::Number) => whole(Rational::from(*lo), Rational::from(*hi)),
                (Domain::Ordered { levels }, ColumnKind::Number) => {
                    whole(Rational::ZERO, Rational::from(levels.len().saturating_sub(1)))
                }
                (domain @ Domain::Stepped { lo, hi, .. }, _) => {
                    ColumnRange { lo: exact(*lo), hi: exact(*hi), step: domain.grid(), calm: true }
                }
                _ => whole(Rational::ZERO, Rational::ONE),
            });
        }
        Self { columns, outputs, map: schema.column_map() }
    }

    /// Whether each column holds whole numbers only.
    pub fn whole_columns(&self) -> impl Iterator<Item = bool> {
        self.columns.iter().map(|column| column.step.is_some_and(|k| k <= 0))
    }

    /// Adds `c * var` to a linear form over the columns.
    pub fn add(&self, var: Var, c: &Rational, form: &mut Vec<(usize, Rational)>, constant: &mut Rational) {
        let mut put = |column: usize, c: Rational| match form.iter_mut().find(|(k, _)| *k == column) {
            Some((_, sum)) => *sum += c,
            None => form.push((column, c)),
        };
        match var {
            Var::Output(j) => put(j, c.clone()),
            input => *constant += self.map.of(input).times(c, |column, c| put(self.outputs + column, c)),
        }
    }
}

fn whole(lo: Rational, hi: Rational) -> ColumnRange {
    ColumnRange { lo, hi, step: Some(0), calm: true }
}
