//! A network and the guard that kept its rules enter; the exported model leaves, with its certificate and the checker's word.
//!
//! Weights are rounded to float32 first and checked afterwards. Folding units into the last layer rounds it once more, so the
//! guard looks at the folded network again, and with a wider margin if the checker is not content.

use deepsade_check::step::domain_flag;
use deepsade_net::{Model, Network};
use deepsade_spec::NormalSpec;
use thiserror::Error;

use crate::artifact::{self, ArtifactError};
use crate::guard::{Guard, GuardError};
use crate::proof::{Proof, ProofWatch, WATCH, certificate, prove, prove_watched};
use crate::train::{PlanError, Stepper};
use crate::units::Units;

/// Margins to try, as multiples of the error bound.
const STRICTNESS: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];

/// Why there is no model.
#[derive(Debug, Error)]
pub enum CertifyError {
    /// The network can't be taken apart.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No last layer keeps the rules.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The model can't be written down.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

/// What a model must keep, and what its last layer is made to keep so that it does.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The rules.
    pub spec: &'a NormalSpec,
    /// Those of the last layer: these first, and perhaps more.
    pub guarded: &'a NormalSpec,
}

impl<'a> From<&'a NormalSpec> for Asked<'a> {
    fn from(spec: &'a NormalSpec) -> Self {
        Self { spec, guarded: spec }
    }
}

/// Makes the model, in raw units, and its proof; `gate` is the factor that was folded into the last layer.
pub fn certify(asked: Asked, network: &Network, guard: &Guard, units: &Units, gate: f64) -> Result<(Model, Proof), CertifyError> {
    let safe = raw_layer(&guard.safe(), units, gate);
    // Linear bounds of the checker may be looser than ours; what they leave open, boxes may prove.
    let boxes = guard.with_intervals();
    let attempts = margins(guard).chain([(boxes.clone(), 1.0), (boxes, 16.0)]);
    ladder(asked, Stepper::new(network, 1)?, &safe, attempts, &mut |_, _| {}, WATCH)
}

/// Puts behind a model what says of each row whether it is in the domain; the same trees prove that.
pub(crate) fn flagged(spec: &NormalSpec, model: &mut Model, proof: &Proof) -> Result<Proof, CertifyError> {
    model.behind = Some(domain_flag(&spec.schema));
    let trees = certificate(proof).rules.iter().map(|rule| rule.tree.clone());
    Ok(prove(spec, &model.to_bytes().map_err(ArtifactError::from)?, trees))
}

/// A guard with each margin, from narrow to wide.
pub(crate) fn margins(guard: &Guard) -> impl Iterator<Item = (Guard, f64)> {
    STRICTNESS.into_iter().map(|strictness| (guard.clone(), strictness))
}

/// Takes each guard over to the network, solves for the last layer and asks the checker, until it accepts: the last model that was
/// made. `prepare` has its say before a guard solves; `safe` is the safe last layer in raw units. Where `watch` ends it, that is
/// [`GuardError::Stopped`].
pub(crate) fn ladder(
    Asked { spec, guarded }: Asked,
    mut stepper: Stepper,
    safe: &[f32],
    attempts: impl Iterator<Item = (Guard, f64)>,
    prepare: &mut dyn FnMut(&mut Guard, &mut Stepper),
    watch: ProofWatch,
) -> Result<(Model, Proof), CertifyError> {
    let network = stepper.network();
    let first = stepper.parameters().to_vec();
    let units = Units::raw(spec.schema.task.outputs());
    let mut last = None;
    for (guard, strictness) in attempts {
        let mut guard = guard.transfer(guarded, &network, &units, safe, strictness, watch.stop)?;
        stepper.parameters_mut().copy_from_slice(&first);
        prepare(&mut guard, &mut stepper);
        guard.solve(stepper.parameters_mut());
        let model = artifact::model(spec, stepper.network())?;
        let proof = prove_watched(spec, &model.to_bytes().map_err(ArtifactError::from)?, guard.trees(), watch);
        let done = proof.is_ok();
        // A check that was cut short says nothing of this margin.
        if !done && (watch.stop)() {
            return Err(GuardError::Stopped.into());
        }
        last = Some((model, proof));
        if done {
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
