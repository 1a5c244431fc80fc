//! A trained network and the guard that kept its rules enter; the exported model and its certificate leave, with the checker's word.
//!
//! Weights are rounded to float32 first and checked afterwards. Folding units into the last layer rounds it once more, so the
//! guard looks at the folded network again, and with a wider margin if the checker is not content.

use deepsade_check::{Verdict, check};
use deepsade_net::{Model, Network};
use deepsade_spec::{Claim, NormalSpec};
use thiserror::Error;

use crate::artifact::{self, ArtifactError};
use crate::guard::Guard;
use crate::proof::Proof;
use crate::train::{Stepper, TrainError};
use crate::units::Units;

/// Margins to try, as multiples of the error bound.
const STRICTNESS: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];

/// Why there is no model.
#[derive(Debug, Error)]
pub enum CertifyError {
    /// The network is not one that training makes.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The model can't be written down.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

/// Makes the model, in raw units, and its proof; `gate` is the factor that was folded into the last layer.
pub fn certify(
    spec: &NormalSpec,
    network: &Network,
    guard: &Guard,
    units: &Units,
    gate: f64,
) -> Result<(Model, Proof), CertifyError> {
    let safe = raw_layer(&guard.safe(), units, gate);
    let claim = Claim::from(spec);
    let mut stepper = Stepper::new(network, 1).map_err(TrainError::from)?;
    let mut last = None;
    // Linear bounds of the checker may be looser than ours; what they leave open, boxes may prove.
    let attempts =
        STRICTNESS.iter().map(|s| (guard.clone(), *s)).chain([(guard.with_intervals(), 1.0), (guard.with_intervals(), 16.0)]);
    for (guard, strictness) in attempts {
        let mut guard =
            guard.transfer(spec, network, &Units::raw(units.scale.len()), &safe, strictness).map_err(TrainError::from)?;
        guard.solve(stepper.parameters_mut());
        let model = artifact::model(spec, stepper.network())?;
        let bytes = model.to_bytes().map_err(ArtifactError::from)?;
        let certificate = guard.certificate(&bytes, spec);
        let verdict = check(&bytes, &claim, &certificate.to_json());
        let accepted = matches!(verdict, Verdict::Accepted(_));
        last = Some((model, Proof { certificate, verdict }));
        if accepted {
            break;
        }
    }
    Ok(last.expect("there is a margin to try"))
}

/// A last layer in training units as one in raw units.
fn raw_layer(layer: &[f32], units: &Units, gate: f64) -> Vec<f32> {
    let outputs = units.scale.len();
    let (w, b) = layer.split_at(layer.len() - outputs);
    let inputs = w.len() / outputs.max(1);
    let weights = w.iter().enumerate().map(|(k, w)| (f64::from(*w) * units.scale[k / inputs.max(1)] * gate) as f32);
    let bias = b.iter().enumerate().map(|(j, b)| (f64::from(*b) * units.scale[j] * gate + units.shift[j]) as f32);
    weights.chain(bias).collect()
}
