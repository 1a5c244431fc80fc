//! A trained network and its rules enter; leaves the model that ends in an output step, with its certificate and the checker's word.
//!
//! What makes candidates is untrusted and made as well as it can be ([`deepsade_output::make`]); the tail is written by the checker's
//! own code; the fallback is found and proved here.

mod affine;
pub mod clip;
mod equality;
mod fallback;
mod usual;

use deepsade_check::StepFault;
use deepsade_check::step::{Case, InputPorts, Number, OutputStep, Outputs, Tail, output_names};
use deepsade_net::onnx::TRUNK_OUTPUT;
use deepsade_net::{Behind, Model, Network, Piece, Port};
use deepsade_output::make::{self, CANDIDATE, Made, MakeError, Source, Tried};
use deepsade_spec::{LARGEST_INTEGER, NormalSpec, Task, nearest_multiple};
use thiserror::Error;

pub use self::fallback::{NoFallback, torn};
use self::fallback::{fallback, only_classes};
pub use self::usual::Usual;
use crate::artifact::{self, ArtifactError, STEP_KEY};
use crate::enforce::unread::{front, unread};
use crate::proof::{Proof, prove_step};

/// The key under which a model's metadata say how its candidates are made.
pub const MADE_KEY: &str = "deepsade.made";

/// Steps of a grid that a range may reach from 0: all its multiples are float32 numbers.
const MOST_STEPS: f64 = LARGEST_INTEGER as f64;

/// Why rules can't be put behind a model.
#[derive(Debug, Error)]
pub enum StepError {
    /// Nothing makes candidates.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// Nothing to fall back on.
    #[error(transparent)]
    Fallback(#[from] NoFallback),
    /// The tail can't be written.
    #[error("the output step can't be written: {0}")]
    Tail(StepFault),
    /// The model can't be written down.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

/// What is put behind a model, before it is known what that model is.
#[derive(Debug, Clone)]
pub struct StepPlan {
    /// How candidates are made, in words.
    pub how: String,
    /// Whether they are the best there are.
    pub best: bool,
    /// How far candidates are moved beside the nearest outputs that obey, for numbers drawn at random: squared distances.
    pub ratio: f64,
    /// The share of inputs for which rounding may take all the room that the rules leave.
    pub nowhere: f64,
    /// What it does with random inputs and outputs, where it was tried: behind a model that can't be run here.
    pub tried: Option<Tried>,
    made: Made,
    step: OutputStep,
}

impl StepPlan {
    /// Finds all that does not depend on the network's weights; `usual` says where outputs usually are.
    pub fn new(spec: &NormalSpec, inputs: &InputPorts, scores: &str, usual: &Usual) -> Result<Self, StepError> {
        Self::found(spec, inputs, scores, None, usual)
    }

    /// The same behind a model of any tool, whose scores of classes may be probabilities: what can't be run here is tried with random ones.
    pub fn behind_any(
        spec: &NormalSpec,
        inputs: &InputPorts,
        scores: &str,
        probabilities: bool,
        usual: &Usual,
    ) -> Result<Self, StepError> {
        Self::found(spec, inputs, scores, Some(probabilities), usual)
    }

    /// `foreign` says of a model that can't be run here whether its scores may be probabilities. Where outputs as they usually are can't
    /// obey, others are tried.
    fn found(
        spec: &NormalSpec,
        inputs: &InputPorts,
        scores: &str,
        foreign: Option<bool>,
        usual: &Usual,
    ) -> Result<Self, StepError> {
        match Self::near(spec, inputs, scores, foreign, usual) {
            Err(StepError::Make(MakeError::NothingAllowed { .. })) => {
                Self::near(spec, inputs, scores, foreign, &usual.with_room_for(spec))
            }
            other => other,
        }
    }

    fn near(
        spec: &NormalSpec,
        inputs: &InputPorts,
        scores: &str,
        foreign: Option<bool>,
        usual: &Usual,
    ) -> Result<Self, StepError> {
        let mut before = Piece::default();
        let x = inputs.columns(&spec.schema, make::PREFIX, &mut before);
        let source = Source { scores, x: &x, probabilities: foreign == Some(true) };
        // Scores of classes are of one kind: they count alike.
        let regression = matches!(spec.schema.task, Task::Regression { .. });
        let spread = if regression { usual.spread.clone() } else { vec![1.0; spec.schema.task.outputs()] };
        let mut made = match &spec.schema.task {
            Task::Multilabel { .. } | Task::Ranking { .. } => make::labels::make(spec, &source)?,
            Task::Binary { .. } | Task::Multiclass { .. } if only_classes(spec) => make::classes::make(spec, &source)?,
            _ => make::numbers::make(spec, &source, &ranges(spec, usual)?, &spread, None)?,
        };
        let fallback = fallback(spec, &made.outputs, usual)?;
        if matches!(made.outputs, Outputs::Numbers(_)) && !only_classes(spec) {
            let numbers = ranges(spec, usual)?;
            // Candidates may go wherever the fallback goes; and it is where the way to them begins.
            let numbers = widened(&numbers, &fallback, spec);
            let anchor = if let [Case { weights, bias, .. }] = &fallback[..] {
                Some(make::numbers::Anchor { weights: weights.clone(), bias: bias.clone() })
            } else {
                None
            };
            made = make::numbers::make(spec, &source, &alike(numbers), &spread, anchor.as_ref())?;
        }
        let step = OutputStep { candidate: CANDIDATE.into(), outputs: made.outputs.clone(), fallback };
        let tried = foreign.and_then(|_| make::tried(spec, &made, &step, &source, usual.ends()));
        before.append(std::mem::take(&mut made.piece));
        made.piece = before;
        Ok(Self { how: made.how.clone(), best: made.best, ratio: made.ratio, nowhere: made.nowhere, tried, made, step })
    }

    /// The step.
    pub fn step(&self) -> &OutputStep {
        &self.step
    }

    /// What a file with the step says of it.
    pub fn metadata(&self) -> [(String, String); 2] {
        [(MADE_KEY.into(), self.how.clone()), (STEP_KEY.into(), self.step.to_json())]
    }

    /// What becomes of candidates.
    pub fn outputs(&self) -> &Outputs {
        &self.step.outputs
    }

    /// What stands behind a graph with these inputs, in which some names are taken.
    pub fn behind(&self, spec: &NormalSpec, inputs: &InputPorts, taken: impl Fn(&str) -> bool) -> Result<Behind, StepError> {
        let tail = Tail::new(spec, &self.step, inputs, output_names(taken)).map_err(StepError::Tail)?;
        let mut piece = self.made.piece.clone();
        piece.append(tail.piece);
        let mut outputs = tail.outputs;
        if let Outputs::Labels(n) = self.step.outputs {
            outputs.push(Port::rows(TRUNK_OUTPUT, "float", Some(n)));
        }
        Ok(Behind { piece, outputs })
    }
}

/// Puts the step behind a network of ours.
pub fn attach(spec: &NormalSpec, network: &Network, usual: &Usual) -> Result<(Model, Proof), StepError> {
    let mut model = artifact::model(spec, network.clone())?;
    let inputs = InputPorts::Rows(Port::rows("x", "float", Some(network.inputs)));
    let plan = StepPlan::new(spec, &inputs, TRUNK_OUTPUT, usual)?;
    model.metadata.extend(plan.metadata());
    model.behind = Some(plan.behind(spec, &inputs, |_| false)?);
    model.blind = unread(spec).and_then(|features| front(&spec.schema, &features, None));
    let proof = prove_step(spec, &model.to_bytes().map_err(ArtifactError::from)?, plan.step);
    Ok((model, proof))
}

/// How candidates would be made, in words.
pub fn made(spec: &NormalSpec, usual: &Usual) -> Result<String, StepError> {
    let inputs = InputPorts::Rows(Port::rows("x", "float", Some(spec.schema.columns().len())));
    let plan = StepPlan::new(spec, &inputs, TRUNK_OUTPUT, usual)?;
    Ok(if plan.best { plan.how } else { format!("{}, which may not be the best that obeys", plan.how) })
}

/// The same, or why they can't be.
pub fn in_words(spec: &NormalSpec, usual: &Usual) -> String {
    made(spec, usual).unwrap_or_else(|why| format!("which is not possible: {why}"))
}

/// Ranges for candidates, on grids where equalities ask for them.
fn ranges(spec: &NormalSpec, usual: &Usual) -> Result<Vec<Number>, MakeError> {
    let mut numbers = usual.ranges();
    for (number, grid) in numbers.iter_mut().zip(make::numbers::grids(spec, &usual.ranges())?) {
        if let Some(k) = grid {
            let to_grid = |v: f64| (v.clamp(-MOST_STEPS, MOST_STEPS) * 2f64.powi(-k)) as f32;
            let steps = |v: f32| f64::from(v) * 2f64.powi(k);
            *number = Number { lo: to_grid(steps(number.lo).floor()), hi: to_grid(steps(number.hi).ceil()), grid };
        }
    }
    Ok(numbers)
}

/// Ranges of about one size as one range: what may be rounded off grows with it, and the graph is quicker.
fn alike(numbers: Vec<Number>) -> Vec<Number> {
    const UNLIKE: f32 = 64.0;
    let (lo, hi) = numbers.iter().fold((f32::MAX, f32::MIN), |(lo, hi), n| (lo.min(n.lo), hi.max(n.hi)));
    let size = |n: &Number| n.lo.abs().max(n.hi.abs());
    if numbers.iter().any(|n| n.grid.is_some() || UNLIKE * size(n) < lo.abs().max(hi.abs())) {
        return numbers;
    }
    vec![Number { lo, hi, grid: None }; numbers.len()]
}

/// The smallest and the largest value of a constant and weights times what lies between two ends each.
fn ends_over(constant: f64, terms: impl Iterator<Item = (f32, (f32, f32))>) -> (f64, f64) {
    terms.fold((constant, constant), |(least, most), (w, (lo, hi))| {
        let (a, b) = (f64::from(w) * f64::from(lo), f64::from(w) * f64::from(hi));
        (least + a.min(b), most + a.max(b))
    })
}

/// Ranges that reach as far as the fallback does, on its grids.
fn widened(numbers: &[Number], fallback: &[Case], spec: &NormalSpec) -> Vec<Number> {
    let ranges = spec.schema.column_ranges();
    let mut numbers = numbers.to_vec();
    for (o, number) in numbers.iter_mut().enumerate() {
        let (mut lo, mut hi) = (f64::from(number.lo), f64::from(number.hi));
        for case in fallback {
            let own = case.weights.iter().filter(|(output, ..)| *output == o);
            let ends = ends_over(f64::from(case.bias[o]), own.map(|(_, column, w)| (*w, ranges[*column])));
            (lo, hi) = (lo.min(ends.0 - 0.25 * ends.0.abs()), hi.max(ends.1 + 0.25 * ends.1.abs()));
        }
        let step = number.grid.map(|k| 2f64.powi(-k));
        let most = step.map_or(f64::MAX, |step| MOST_STEPS * step);
        let to_grid = |v: f64| nearest_multiple(v, step).clamp(-most, most);
        (number.lo, number.hi) = (to_grid(lo) as f32, to_grid(hi) as f32);
    }
    numbers
}
