//! Rules and a model's file, as it was read, enter; what is decided about the file leaves, with a proof of the network if there is one.

use std::time::Instant;

use deepsade_check::Arithmetic;
use deepsade_net::Model;
use deepsade_spec::NormalSpec;

use crate::vacuous::binding;

use super::{Outcome, VerifyError, VerifySettings, Work, verify_model};
use crate::proof::Certified;

/// What is known of a model's file.
#[derive(Debug)]
pub struct FileAnswer {
    /// What is decided about the file.
    pub decided: Outcome,
    /// The proof of the network as it was read, and the file of just that: where the file that was read rounds differently, this one is to
    /// be deployed instead.
    pub proof: Option<Box<Certified>>,
    /// Where the file may round differently from the network that was looked at.
    pub differs: Vec<String>,
    /// What was done.
    pub work: Work,
    /// How long it took.
    pub seconds: f64,
}

/// Decides the rules for a file; `interrupted` is asked now and then.
pub fn verify_file(
    spec: &NormalSpec,
    model: &Model,
    settings: &VerifySettings,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<FileAnswer, VerifyError> {
    let started = Instant::now();
    let (found, work) = verify_model(spec, model, settings, interrupted)?;
    let seconds = started.elapsed().as_secs_f64();
    let proof =
        if let Outcome::Proved(proof) = &found { Some(Box::new((**proof).clone().at_cutoff_of(spec, model))) } else { None };
    let differs = model.differs(!binding(spec).pairs.is_empty(), settings.arithmetic == Arithmetic::Real);
    Ok(FileAnswer { decided: found.of_file(&differs), proof, differs, work, seconds })
}
