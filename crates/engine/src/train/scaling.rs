//! A schema, training rows and how to scale enter; what brings the input columns to about 1 leaves, as nodes of a network.

use deepsade_net::{Activation, Matrix, Network, Op};
use deepsade_spec::{ColumnKind, Schema};

use super::build::push;
use super::{NetworkSettings, ScalingName};

/// The quantiles between which `"quantile"` scales.
const LOW: f64 = 0.01;
const HIGH: f64 = 0.99;

/// What each input column is scaled by: `(lo, hi)` become 0 and 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Scales {
    ranges: Vec<(f32, f32)>,
    /// What the hidden layers read, if that is scaled otherwise.
    hidden: Option<Vec<(f64, f64)>>,
    /// Whether it is clipped to [0, 1].
    clipped: bool,
}

impl Scales {
    /// By the ranges alone.
    pub fn of_ranges(ranges: &[(f32, f32)]) -> Self {
        Self { ranges: ranges.to_vec(), hidden: None, clipped: false }
    }

    /// As the settings say, by the rows of training. The columns of categories stay 0 and 1, and a column that is the same in all rows
    /// is scaled by its range.
    pub fn new(schema: &Schema, settings: &NetworkSettings, rows: &Matrix) -> Self {
        let ranges = schema.column_ranges();
        if settings.scaling == ScalingName::Range || rows.rows == 0 {
            return Self::of_ranges(&ranges);
        }
        let ends = |(c, column): (usize, &deepsade_spec::InputColumn)| {
            let (lo, hi) = ranges[c];
            let by_range = (f64::from(lo), f64::from(hi));
            if column.kind != ColumnKind::Number {
                return by_range;
            }
            let mut values: Vec<f64> = (0..rows.rows).map(|r| f64::from(rows.row(r)[c])).collect();
            let (from, to) = match settings.scaling {
                ScalingName::Quantile => (quantile(&mut values, LOW), quantile(&mut values, HIGH)),
                ScalingName::Standard | ScalingName::Range => {
                    let n = values.len() as f64;
                    let mean = values.iter().sum::<f64>() / n;
                    let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
                    (mean, mean + deviation)
                }
            };
            // A spread at the level of float32's own rounding is no spread.
            if to - from > from.abs().max(to.abs()) * f64::from(f32::EPSILON) { (from, to) } else { by_range }
        };
        let hidden = schema.columns().iter().enumerate().map(ends).collect();
        Self { ranges, hidden: Some(hidden), clipped: settings.scaling == ScalingName::Quantile }
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.ranges.len()
    }

    /// Adds the nodes that scale the input; the value that the first layer reads. A `linear` last layer has to keep rules to the ends of
    /// the domain: nothing is clipped before it.
    pub(super) fn push(&self, network: &mut Network, linear: bool) -> usize {
        let Some(hidden) = &self.hidden else {
            return push(network, scaling(self.ranges.iter().map(|&(lo, hi)| (lo.into(), hi.into()))), vec![0]);
        };
        let mut value = push(network, scaling(hidden.iter().copied()), vec![0]);
        if self.clipped && !linear {
            // min(max(v, 0), 1) = 1 - relu(1 - relu(v)).
            let from_one = || Op::Affine { scale: vec![-1.0; self.width()], shift: vec![1.0; self.width()] };
            for op in [Op::Act(Activation::Relu), from_one(), Op::Act(Activation::Relu), from_one()] {
                value = push(network, op, vec![value]);
            }
        }
        value
    }

    /// The scaling by range that columns beside the hidden layers need, if theirs is another.
    pub(super) fn by_range(&self) -> Option<Op> {
        self.hidden.as_ref().map(|_| scaling(self.ranges.iter().map(|&(lo, hi)| (lo.into(), hi.into()))))
    }
}

/// `(x - lo) / (hi - lo)` as `x * scale + shift`; a range without width is shifted only.
pub(crate) fn scaling(ranges: impl Iterator<Item = (f64, f64)>) -> Op {
    let (scale, shift) = ranges
        .map(|(lo, hi)| {
            let width = hi - lo;
            let factor = (1.0 / width) as f32;
            if width > 0.0 && factor.is_finite() { (factor, (-lo / width) as f32) } else { (1.0, -lo as f32) }
        })
        .unzip();
    Op::Affine { scale, shift }
}

/// The value below which this share of the values lies.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    let at = ((values.len() - 1) as f64 * share).round() as usize;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::build::{Around, scaled_network};
    use deepsade_spec::{Domain, Feature, OneHot, Task};

    /// Numbers 0 to 100 and one of 10,000; and a category.
    fn rows() -> (Schema, Matrix) {
        let number = Feature { name: "n".into(), domain: Domain::Real { lo: 0.0, hi: 10_000.0 } };
        let levels = ["a", "b"].map(String::from).to_vec();
        let features = vec![number, Feature { name: "c".into(), domain: Domain::Category { levels } }];
        let schema = Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::Full, filled: vec![] };
        let values = (0..101).map(|v| v as f32).chain([10_000.0]);
        let data: Vec<f32> = values.flat_map(|v| [v, 1.0, 0.0]).collect();
        (schema, Matrix { rows: 102, cols: 3, data })
    }

    /// What the first hidden layer reads of a number.
    fn read(scaling: ScalingName, v: f32) -> Vec<f32> {
        let (schema, rows) = rows();
        let settings = NetworkSettings { scaling, ..NetworkSettings::default() };
        let scales = Scales::new(&schema, &settings, &rows);
        let mut network = Network { inputs: 3, nodes: vec![] };
        scales.push(&mut network, false);
        network.forward(&Matrix { rows: 1, cols: 3, data: vec![v, 0.0, 1.0] }).data
    }

    #[test]
    fn each_scaling_is_its_formula() {
        assert_eq!(read(ScalingName::Range, 5000.0), [0.5, 0.0, 1.0]);
        // The quantiles are 1 and 100.
        for (v, expected) in [(1.0, 0.0), (0.0, 0.0), (50.5, 0.5), (100.0, 1.0), (10_000.0, 1.0)] {
            let found = read(ScalingName::Quantile, v);
            assert!((found[0] - expected).abs() < 1e-6 && found[1..] == [0.0, 1.0], "{v}: {found:?}");
        }
        let mean = (5050.0 + 10_000.0) / 102.0;
        let squares: f64 = (0..101).map(|v| (f64::from(v) - mean).powi(2)).sum::<f64>() + (10_000.0 - mean).powi(2);
        let deviation = (squares / 102.0).sqrt();
        let found = read(ScalingName::Standard, 10_000.0);
        assert!((f64::from(found[0]) - (10_000.0 - mean) / deviation).abs() < 1e-5, "{found:?}");
        assert_eq!(found[1..], [0.0, 1.0]);
    }

    /// Rules are read on what the last layer reads beside the hidden units: that must not end at a quantile.
    #[test]
    fn skipped_columns_are_not_clipped() {
        let (schema, rows) = rows();
        let settings = NetworkSettings { hidden: vec![4], scaling: ScalingName::Quantile, ..NetworkSettings::default() };
        let mut network = scaled_network(&Scales::new(&schema, &settings, &rows), &[0], Around::default(), 1, &settings, 1);
        network.validate().unwrap();
        network.nodes.pop();
        let at = |v: f32| network.forward(&Matrix { rows: 1, cols: 3, data: vec![v, 1.0, 0.0] }).data;
        let (inside, outside) = (at(100.0), at(10_000.0));
        let near = inside[..4].iter().zip(&outside[..4]).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(near, "hidden units see both at the clip: {inside:?} {outside:?}");
        assert_eq!((inside[4], outside[4]), (0.01, 1.0));
    }

    /// A linear model must follow its rules to the end of the domain.
    #[test]
    fn a_linear_model_is_not_clipped() {
        let (schema, rows) = rows();
        let settings = NetworkSettings { hidden: vec![], scaling: ScalingName::Quantile, ..NetworkSettings::default() };
        let network = scaled_network(&Scales::new(&schema, &settings, &rows), &[0], Around::default(), 1, &settings, 1);
        assert_eq!(network.nodes.len(), 2);
    }
}
