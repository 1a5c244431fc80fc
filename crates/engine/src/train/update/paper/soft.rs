//! Line 17 of Algorithm 1: what the last layer reads for a batch enters; what it should predict leaves, as constraints on its weights.
//!
//! For each row and output, regression asks for `|y_hat - y| <= e` for each error e, and classification for `y_hat > tau` where the
//! truth is 1 and `y_hat < -tau` where it is 0, for each margin tau. What the last layer reads is constant here, so they are linear.

use deepsade_solve::maxsmt::problem::{LayerRow, Soft};

use super::{ErrorsIn, PaperSettings};
use crate::objective::Loss;
use crate::train::Latent;
use crate::units::Units;

/// By how much `>` exceeds: a solver of closed constraints needs a number.
const STRICTLY: f64 = 1e-6;

/// The soft constraints of the batch that is loaded; each counts as much as its row.
pub fn soft_constraints(batch: &Latent, loss: Loss, units: &Units, settings: &PaperSettings) -> Vec<Soft> {
    let (inputs, outputs) = (batch.inputs, batch.outputs);
    let truth = |r: usize, j: usize| f64::from(batch.truth[r * outputs + j]);
    let mut soft = Vec::new();
    for (r, weight) in batch.weight.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        let gate = batch.gate.map_or(1.0, |gate| f64::from(gate[r]));
        for j in 0..outputs {
            // sign * y_hat + c >= 0.
            let row = |sign: f64, c: f64| {
                let z = &batch.z[r * inputs..(r + 1) * inputs];
                let weights = z.iter().enumerate().map(|(k, z)| (j * inputs + k, sign * gate * f64::from(*z)));
                let a = weights.chain([(outputs * inputs + j, sign * gate)]).filter(|(_, a)| *a != 0.0).collect();
                LayerRow { a, c }
            };
            let mut add = |rows: Vec<LayerRow>| soft.push(Soft { rows, weight: f64::from(*weight) });
            if loss == Loss::MeanSquares {
                let y = truth(r, j);
                for e in errors(batch, j, units, settings) {
                    add(vec![row(1.0, e - y), row(-1.0, e + y)]);
                }
            } else {
                let sign = if truth(r, j) > 0.5 { 1.0 } else { -1.0 };
                for tau in &settings.margins {
                    add(vec![row(sign, -tau - STRICTLY)]);
                }
            }
        }
    }
    soft
}

/// The errors of an output in the units of training.
fn errors(batch: &Latent, j: usize, units: &Units, settings: &PaperSettings) -> Vec<f64> {
    let raw = |y: &f32| (units.shift[j] + units.scale[j] * f64::from(*y)).abs();
    let largest = batch.truth.iter().skip(j).step_by(batch.outputs).map(raw).fold(0.0, f64::max);
    let factor = match settings.errors_in {
        ErrorsIn::Batch => largest,
        ErrorsIn::Raw => 1.0,
    };
    settings.errors.iter().map(|e| e * factor / units.scale[j]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(soft: &Soft, w: &[f64]) -> bool {
        soft.rows.iter().all(|row| row.value(w) >= 0.0)
    }

    /// Two rows, z = (2) and (-1), one output y = w z + b; truth 1 and 0; margins 0 and 1.
    #[test]
    fn classes_ask_for_a_sign_and_a_margin() {
        let batch = Latent { z: &[2.0, -1.0], truth: &[1.0, 0.0], weight: &[1.0, 0.5], gate: None, inputs: 1, outputs: 1 };
        let settings = PaperSettings { margins: vec![0.0, 1.0], ..PaperSettings::default() };
        let soft = soft_constraints(&batch, Loss::SigmoidCrossEntropy, &Units::raw(1), &settings);
        assert_eq!(soft.iter().map(|s| s.weight).collect::<Vec<_>>(), [1.0, 1.0, 0.5, 0.5]);
        // w = 0.4, b = 0: y = 0.8 and -0.4: the first of each.
        assert_eq!(soft.iter().map(|s| holds(s, &[0.4, 0.0])).collect::<Vec<_>>(), [true, false, true, false]);
        // y = 0 is not above 0.
        assert!(!holds(&soft[0], &[0.0, 0.0]));
    }

    /// Targets 3 and -5 with shift 1 and scale 2 are 7 and -9 in raw units: an error of 0.1 of the batch is 0.9, 0.45 in training.
    #[test]
    fn errors_are_relative_to_the_largest_target_of_the_batch_or_in_raw_units() {
        let batch = Latent { z: &[1.0, 1.0], truth: &[3.0, -5.0], weight: &[1.0, 1.0], gate: None, inputs: 1, outputs: 1 };
        let units = Units { shift: vec![1.0], scale: vec![2.0] };
        let settings = PaperSettings { errors: vec![0.1], ..PaperSettings::default() };
        let soft = soft_constraints(&batch, Loss::MeanSquares, &units, &settings);
        assert!(holds(&soft[0], &[0.0, 3.44]) && holds(&soft[0], &[0.0, 2.56]));
        assert!(!holds(&soft[0], &[0.0, 3.46]) && !holds(&soft[0], &[0.0, 2.54]));
        let raw = PaperSettings { errors: vec![1.0], errors_in: ErrorsIn::Raw, ..settings };
        let soft = soft_constraints(&batch, Loss::MeanSquares, &units, &raw);
        assert!(holds(&soft[0], &[0.0, 3.49]) && !holds(&soft[0], &[0.0, 3.51]));
    }

    /// Gated by 3: y = 3 (w z + b).
    #[test]
    fn a_gate_multiplies_the_prediction() {
        let batch = Latent { z: &[1.0], truth: &[6.0], weight: &[1.0], gate: Some(&[3.0]), inputs: 1, outputs: 1 };
        let settings = PaperSettings { errors: vec![0.1], ..PaperSettings::default() };
        let soft = soft_constraints(&batch, Loss::MeanSquares, &Units::raw(1), &settings);
        assert!(holds(&soft[0], &[1.0, 1.0]) && !holds(&soft[0], &[1.0, 1.3]));
    }
}
