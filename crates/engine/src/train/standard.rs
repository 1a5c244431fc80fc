//! Raw targets enter, targets with mean 0 and deviation 1 leave; a last layer trained on these is turned back to raw units.

use deepsade_data::Dataset;
use deepsade_net::Matrix;

use super::plan::Rescaling;
use super::{PreparedRows, Stepper};
use crate::objective::Loss;
use crate::units::Units;

/// Units of the targets: `raw = shift + scale * standard`, one pair a target.
#[derive(Debug, Clone, PartialEq)]
pub struct Standard {
    shift: Vec<f64>,
    scale: Vec<f64>,
}

impl Standard {
    /// For regression, weighted mean and standard deviation over the rows; a constant target has scale 1. If a gate follows the
    /// last layer the shift is 0, since the gate would act on it too. Classes and labels keep their units.
    pub fn new(data: &Dataset, loss: Loss, stepper: &Stepper) -> Self {
        let outputs = stepper.outputs();
        let (mut shift, mut scale) = (vec![0.0; outputs], vec![1.0; outputs]);
        let total: f64 = data.weight.iter().map(|&v| f64::from(v)).sum();
        if loss != Loss::MeanSquares || stepper.units() == Rescaling::Fixed || total <= 0.0 {
            return Self { shift, scale };
        }
        for j in 0..outputs {
            let mean = |f: &dyn Fn(f64) -> f64| {
                let rows = data.weight.iter().zip(data.y.data.iter().skip(j).step_by(data.y.cols));
                rows.map(|(&v, &y)| f64::from(v) * f(f64::from(y))).sum::<f64>() / total
            };
            let centre = mean(&|y| y);
            let deviation = mean(&|y| (y - centre).powi(2)).sqrt();
            if stepper.units() == Rescaling::Affine {
                shift[j] = centre;
            }
            // A spread at the level of float32's own rounding is no spread.
            if deviation > centre.abs() * f64::from(f32::EPSILON) && deviation.is_finite() {
                scale[j] = deviation;
            }
        }
        Self { shift, scale }
    }

    /// Targets as they are.
    pub fn raw(stepper: &Stepper) -> Self {
        Self { shift: vec![0.0; stepper.outputs()], scale: vec![1.0; stepper.outputs()] }
    }

    /// The units as the guard of the rules needs them.
    pub fn units(&self) -> Units {
        Units { shift: self.shift.clone(), scale: self.scale.clone() }
    }

    /// Rows for training, with targets in standard units and their side data, if they have any.
    pub(super) fn prepare(&self, data: &Dataset, side: Option<&Matrix>, stepper: &mut Stepper) -> PreparedRows {
        let prepared = stepper.prepare(&data.x, &self.standardise(&data.y), &data.weight);
        match side {
            Some(side) => prepared.with_side(side.clone()),
            None => prepared,
        }
    }

    /// Raw targets in standard units.
    pub fn standardise(&self, raw: &Matrix) -> Matrix {
        let mut y = raw.clone();
        for row in y.data.chunks_exact_mut(raw.cols.max(1)) {
            for ((y, shift), scale) in row.iter_mut().zip(&self.shift).zip(&self.scale) {
                *y = ((f64::from(*y) - shift) / scale) as f32;
            }
        }
        y
    }

    /// Turns a last layer for standard units into one for raw units.
    pub fn to_raw(&self, stepper: &mut Stepper) {
        self.rescale(stepper, |w, scale| w * scale, |b, scale, shift| b * scale + shift);
    }

    /// Turns a last layer for raw units into one for standard units.
    pub fn to_standard(&self, stepper: &mut Stepper) {
        self.rescale(stepper, |w, scale| w / scale, |b, scale, shift| (b - shift) / scale);
    }

    fn rescale(&self, stepper: &mut Stepper, weight: impl Fn(f64, f64) -> f64, bias: impl Fn(f64, f64, f64) -> f64) {
        if stepper.units() == Rescaling::Fixed {
            return;
        }
        let inputs = stepper.last_layer().inputs;
        let (w, b) = stepper.last_layer_mut();
        for (j, (&shift, &scale)) in self.shift.iter().zip(&self.scale).enumerate() {
            w[j * inputs..(j + 1) * inputs].iter_mut().for_each(|w| *w = weight(f64::from(*w), scale) as f32);
            b[j] = bias(f64::from(b[j]), scale, shift) as f32;
        }
    }
}
