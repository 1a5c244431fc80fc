//! The file of a model and a tree for each of its rules enter; a certificate leaves that the checker accepted, or refused.
//!
//! Whatever says "proved" holds a [`Certified`], and only the checker's word makes one.

use deepsade_check::step::{Clips, OutputStep};
use deepsade_check::{
    Accepted, Arithmetic, Bounds, Certificate, PairArgument, PairProof, Rejected, RuleProof, Tree, Verdict, check_until,
    sha256_hex,
};
use deepsade_net::Model;
use deepsade_output::reader::CUTOFF_KEY;
use deepsade_spec::canonical::canonical;
use deepsade_spec::{Claim, Moves, NormalSpec, PairRule};
use thiserror::Error;

use crate::vacuous::binding;

/// A model's file and a certificate that the checker accepted for it.
#[derive(Debug, Clone)]
pub struct Certified {
    model: Vec<u8>,
    certificate: Certificate,
    accepted: Accepted,
}

impl Certified {
    /// The ONNX file that the certificate is about.
    pub fn model(&self) -> &[u8] {
        &self.model
    }

    /// The certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// What was proved.
    pub fn accepted(&self) -> &Accepted {
        &self.accepted
    }

    /// The same saying at which probability it decides, as the model that it was made of does: the checker is asked again, about this
    /// file.
    #[must_use]
    pub fn at_cutoff_of(self, spec: &NormalSpec, before: &Model) -> Self {
        let Some(cutoff) = before.metadata.get(CUTOFF_KEY) else { return self };
        let carried = Model::from_bytes(&self.model).ok().and_then(|mut model| {
            model.metadata.insert(CUTOFF_KEY.into(), cutoff.clone());
            model.to_bytes().ok()
        });
        carried.and_then(|bytes| renewed(spec, &bytes, &Ok(self.clone())).ok()).unwrap_or(self)
    }
}

/// A certificate that the checker did not accept.
#[derive(Debug, Clone, Error)]
#[error("{}: {}", rejected.at, rejected.why)]
pub struct Refused {
    /// The certificate.
    pub certificate: Certificate,
    /// Where it stopped, and why.
    pub rejected: Rejected,
}

/// What became of a certificate.
pub type Proof = Result<Certified, Box<Refused>>;

/// The certificate, whatever became of it.
pub fn certificate(proof: &Proof) -> &Certificate {
    proof.as_ref().map_or_else(|refused| &refused.certificate, Certified::certificate)
}

/// On how many threads the checker works, and what it asks whether to end early.
#[derive(Clone, Copy)]
pub struct ProofWatch<'w> {
    /// Threads.
    pub threads: usize,
    /// Whether to end.
    pub stop: &'w (dyn Fn() -> bool + Sync),
}

/// One thread, to the end: such trees have few leaves.
pub const WATCH: ProofWatch<'static> = ProofWatch { threads: 1, stop: &|| false };

/// Writes the certificate of a model in float32, and asks the checker.
pub fn prove(spec: &NormalSpec, model: &[u8], trees: impl IntoIterator<Item = Tree>) -> Proof {
    prove_watched(spec, model, trees, WATCH)
}

/// The same; `watch` is asked now and then whether to end.
pub fn prove_watched(spec: &NormalSpec, model: &[u8], trees: impl IntoIterator<Item = Tree>, watch: ProofWatch) -> Proof {
    prove_until(spec, model, Arithmetic::Float32, trees, arguments(spec), watch)
}

/// Why rules between two inputs hold for a network that was made so: by the signs of its weights, or by its slopes on the whole domain.
fn arguments(spec: &NormalSpec) -> Vec<PairArgument> {
    let by_slopes = |rule: &PairRule| rule.parts.iter().any(|part| matches!(part.moves, Moves::By(_)));
    let whole = || Tree::Leaf { bounds: Bounds::Interval, cells: Vec::new(), lines: Vec::new() };
    let argument = |rule: &PairRule| if by_slopes(rule) { PairArgument::Slopes(whole()) } else { PairArgument::Signs };
    spec.pairs.iter().map(argument).collect()
}

/// Writes the certificate of a file that ends in an output step, and asks the checker.
pub fn prove_step(spec: &NormalSpec, model: &[u8], step: OutputStep) -> Proof {
    // Of a rule that nothing breaks no argument is asked.
    let bound = binding(spec);
    let binds = |rule: &PairRule| bound.pairs.iter().any(|other| other.name == rule.name);
    let argument = |rule: &PairRule| if binds(rule) { PairArgument::Unread } else { PairArgument::Signs };
    let arguments = spec.pairs.iter().map(argument).collect();
    prove_behind(spec, model, StepOrClips { step: Some(step), ..StepOrClips::default() }, arguments)
}

/// The same for a file that clips its network's outputs.
pub fn prove_clips(spec: &NormalSpec, model: &[u8], clips: Clips) -> Proof {
    prove_behind(spec, model, StepOrClips { clips: Some(clips), ..StepOrClips::default() }, arguments(spec))
}

fn prove_behind(spec: &NormalSpec, model: &[u8], behind: StepOrClips, pairs: Vec<PairArgument>) -> Proof {
    let trees = spec.rules.iter().map(|_| Tree::Step);
    judged(spec, model, Arithmetic::Float32, trees, pairs, behind, WATCH)
}

/// The same in the arithmetic that is asked for, with the arguments that are given.
pub fn prove_until(
    spec: &NormalSpec,
    model: &[u8],
    arithmetic: Arithmetic,
    trees: impl IntoIterator<Item = Tree>,
    pairs: impl IntoIterator<Item = PairArgument>,
    watch: ProofWatch,
) -> Proof {
    judged(spec, model, arithmetic, trees, pairs, StepOrClips::default(), watch)
}

/// The certificate of the same graph in a file that says more of itself: the checker is asked again, about this file.
pub fn renewed(spec: &NormalSpec, model: &[u8], proof: &Proof) -> Proof {
    asked(spec, model, Certificate { model_sha256: sha256_hex(model), ..certificate(proof).clone() }, WATCH)
}

/// What keeps the rules behind a network.
#[derive(Default)]
struct StepOrClips {
    step: Option<OutputStep>,
    clips: Option<Clips>,
}

fn judged(
    spec: &NormalSpec,
    model: &[u8],
    arithmetic: Arithmetic,
    trees: impl IntoIterator<Item = Tree>,
    pairs: impl IntoIterator<Item = PairArgument>,
    StepOrClips { step, clips }: StepOrClips,
    watch: ProofWatch,
) -> Proof {
    let certificate = Certificate {
        model_sha256: sha256_hex(model),
        rules_sha256: sha256_hex(canonical(spec).as_bytes()),
        arithmetic,
        rules: spec.rules.iter().zip(trees).map(|(r, tree)| RuleProof { name: r.name.clone(), tree }).collect(),
        pairs: spec.pairs.iter().zip(pairs).map(|(r, argument)| PairProof { name: r.name.clone(), argument }).collect(),
        step,
        clips,
    };
    asked(spec, model, certificate, watch)
}

fn asked(spec: &NormalSpec, model: &[u8], certificate: Certificate, ProofWatch { threads, stop }: ProofWatch) -> Proof {
    match check_until(model, &Claim::from(spec), &certificate.to_json(), threads, stop) {
        Verdict::Accepted(accepted) => Ok(Certified { model: model.to_vec(), certificate, accepted }),
        Verdict::Rejected(rejected) => Err(Box::new(Refused { certificate, rejected })),
    }
}
