//! A network and a feature enter; how each value moves as the feature rises and all else stays leaves.
//!
//! Rounding to nearest, flushing to zero, a product with a fixed factor, a sum, a fused multiply-add and relu are monotone functions of
//! each operand. So a computation whose every step never falls in a feature never falls in it *as computed*, without any tolerance,
//! as long as both inputs are computed in the same order of operations. A runtime's sigmoid or tanh need not be monotone: nothing is
//! known behind one. A zero weight gives a zero, of either sign, which changes no sum.

use deepsade_net::{Activation, Op, Window};
use deepsade_spec::Trend;

use crate::dyadic::Interval;
use crate::machine::{Known, Machine};

/// The trends of all values of a network in one feature.
pub(crate) struct Trends(Vec<Vec<Trend>>);

impl Machine<'_> {
    /// How every value moves with a feature; `known` holds on the whole domain.
    pub(crate) fn trends(&self, feature: usize, known: &Known) -> Trends {
        let mut values = vec![self.layout.trends(feature)];
        let never_negative = self.never_negative(known);
        for node in &self.network.nodes {
            let x = &values[node.from[0]];
            let value = match &node.op {
                Op::Dense { .. } | Op::Conv(_) => {
                    let of_row = |o: usize| sum(row(&node.op, o).into_iter().map(|(i, w)| x[i].times(w)));
                    (0..known.values[values.len()].len()).map(of_row).collect()
                }
                // A maximum is a monotone function of each operand.
                Op::MaxPool(window) => (0..window.results()).map(|o| sum(columns(window, o).into_iter().map(|c| x[c]))).collect(),
                Op::Affine { scale, .. } => x.iter().zip(scale).map(|(t, s)| t.times(*s)).collect(),
                Op::Act(Activation::Relu) => x.clone(),
                Op::Act(_) => x.iter().map(|t| constant_or_unknown(*t)).collect(),
                Op::Select(columns) => columns.iter().map(|c| x[*c]).collect(),
                Op::Concat => node.from.iter().flat_map(|v| values[*v].iter().copied()).collect(),
                Op::Gate => {
                    let sign = |v: usize, i: usize| FactorSign::of(&known.values[v][i], never_negative[v][i]);
                    let [from, by] = [node.from[0], node.from[1]];
                    let product = |(i, t): (usize, &Trend)| sign(by, 0).times(*t).and(sign(from, i).times(values[by][0]));
                    x.iter().enumerate().map(product).collect()
                }
                Op::Choose(table) => vec![constant_or_unknown(sum(x.iter().copied())); table.cols],
            };
            values.push(value);
        }
        Trends(values)
    }
}

impl Machine<'_> {
    /// Which values are never negative as computed: sums of products of numbers that are not, however they are rounded.
    fn never_negative(&self, known: &Known) -> Vec<Vec<bool>> {
        let sure = |k: usize| known.values[k].iter().map(|v| !v.lo.is_negative());
        let mut values: Vec<Vec<bool>> = vec![sure(0).collect()];
        for (k, node) in self.network.nodes.iter().enumerate() {
            let x = &values[node.from[0]];
            let kept = |w: f32, x: bool| w == 0.0 || w > 0.0 && x;
            let value: Vec<bool> = match &node.op {
                Op::Dense { .. } | Op::Conv(_) => {
                    let of_row = |o: usize| {
                        let mut row = Vec::new();
                        node.op.row(o, &mut row) >= 0.0 && row.iter().all(|(i, w)| kept(*w, x[*i]))
                    };
                    (0..known.values[k + 1].len()).map(of_row).collect()
                }
                Op::MaxPool(window) => (0..window.results()).map(|o| columns(window, o).into_iter().any(|c| x[c])).collect(),
                Op::Affine { scale, shift } => (0..x.len()).map(|i| shift[i] >= 0.0 && kept(scale[i], x[i])).collect(),
                Op::Select(columns) => columns.iter().map(|c| x[*c]).collect(),
                Op::Concat => node.from.iter().flat_map(|v| values[*v].iter().copied()).collect(),
                Op::Gate => x.iter().map(|x| *x && values[node.from[1]][0]).collect(),
                Op::Act(_) | Op::Choose(_) => vec![false; known.values[k + 1].len()],
            };
            values.push(value.into_iter().zip(sure(k + 1)).map(|(a, b)| a || b).collect());
        }
        values
    }
}

/// What is known of the sign of a factor that stays.
enum FactorSign {
    NotNegative,
    NotPositive,
    Either,
}

impl FactorSign {
    fn of(v: &Interval, never_negative: bool) -> Self {
        match (v.lo.is_negative() && !never_negative, v.hi.is_positive()) {
            (false, _) => Self::NotNegative,
            (true, false) => Self::NotPositive,
            (true, true) => Self::Either,
        }
    }

    /// The trend of a value times the factor.
    fn times(&self, trend: Trend) -> Trend {
        match self {
            Self::NotNegative => trend,
            Self::NotPositive => trend.times(-1.0),
            Self::Either => constant_or_unknown(trend),
        }
    }
}

fn constant_or_unknown(trend: Trend) -> Trend {
    if trend == Trend::Constant { trend } else { Trend::Unknown }
}

fn row(op: &Op, o: usize) -> Vec<(usize, f32)> {
    let mut row = Vec::new();
    op.row(o, &mut row);
    row
}

fn columns(window: &Window, o: usize) -> Vec<usize> {
    let mut columns = Vec::new();
    window.columns_of(o, &mut columns);
    columns
}

fn sum(trends: impl Iterator<Item = Trend>) -> Trend {
    trends.fold(Trend::Constant, Trend::and)
}

impl Trends {
    /// The trend of an output.
    pub(crate) fn output(&self, j: usize) -> Option<Trend> {
        self.0.last()?.get(j).copied()
    }

    /// Where an output that should have a trend first loses it, for people: the units from the output back to it, and its weights.
    pub(crate) fn lost(&self, machine: &Machine, output: usize, asked: Trend) -> String {
        let (mut value, mut unit, mut asked) = (self.0.len() - 1, output, asked);
        let mut path = Vec::new();
        while let Some(node) = value.checked_sub(1).map(|k| &machine.network.nodes[k]) {
            path.push(format!("node {} ({}), unit {unit}", value - 1, node.op.name()));
            // The first operand that goes the wrong way, or of which nothing is known.
            let reads: Vec<(usize, usize, f32)> = match &node.op {
                Op::Dense { .. } | Op::Conv(_) => row(&node.op, unit).into_iter().map(|(i, w)| (node.from[0], i, w)).collect(),
                Op::MaxPool(window) => columns(window, unit).into_iter().map(|c| (node.from[0], c, 1.0)).collect(),
                Op::Affine { scale, .. } => vec![(node.from[0], unit, scale[unit])],
                Op::Select(columns) => vec![(node.from[0], columns[unit], 1.0)],
                Op::Concat => {
                    let mut left = unit;
                    let part = node.from.iter().find(|v| {
                        let inside = left < self.0[**v].len();
                        left -= if inside { 0 } else { self.0[**v].len() };
                        inside
                    });
                    vec![(part.copied().unwrap_or(0), left, 1.0)]
                }
                Op::Act(Activation::Relu) => vec![(node.from[0], unit, 1.0)],
                Op::Act(_) | Op::Gate | Op::Choose(_) => break,
            };
            let wrong = reads.into_iter().find(|(v, i, w)| !self.0[*v][*i].times(*w).implies(asked));
            let Some((from, i, w)) = wrong else { break };
            let known = self.0[from][i] != Trend::Unknown;
            if known {
                path.push(format!("column {i} of what it reads with weight {w:?}"));
            }
            if known || from == 0 {
                break;
            }
            // Of what is unknown the opposite, or the same, is asked further back.
            (value, unit, asked) = (from, i, if asked == Trend::Constant { asked } else { asked.times(w) });
        }
        path.join(" <- ")
    }
}
