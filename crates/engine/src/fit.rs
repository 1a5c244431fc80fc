//! A problem with its data enters; a trained model with its scores leaves.

mod error;
mod rows;

use std::path::Path;
use std::time::Instant;

use deepsade_data::{BreakingRows, Dataset, Metrics, Split};
use deepsade_net::{Matrix, Model, Network};
use deepsade_output::Judge;
use deepsade_output::nearest::{Allowed, AllowedError};
use deepsade_output::reader::{CUTOFF_KEY, shift};
use deepsade_spec::{NormalSpec, Task};

use crate::artifact;
use crate::class_names::{self, OtherNames, UnreadLabels};
use crate::enforce::decode::AtCutoff;
use crate::enforce::penalty::Penalty;
use crate::enforce::step::{self, Usual, clip};
use crate::enforce::unread::{of_all_outputs, unread};
use crate::enforce::weights::{Asked, certify, flagged};
use crate::enforce::{self, Clipped, Decision, EnforcedBy};
use crate::gate;
use crate::given;
use crate::guard::{Favoured, Guard};
use crate::objective::{Loss, RuleLoss, StepData};
use crate::proof::{Proof, renewed};
use crate::signs::{Signs, beside_gate};
use crate::train::{
    self, ActivationName, CheckpointSettings, ClassWeight, Gate, NetworkSettings, Observer, Run, Start, StopReason,
    TrainSettings, Trained,
};
use crate::units::Units;
use crate::vacuous::binding;
use crate::warnings::{Warning, warnings};
pub use error::FitError;
pub use rows::{Predicted, Rows, rows, rows_of};

/// Where the units of the last hidden layer end, if the weights keep rules about labels.
const CLIP: u32 = 8;

/// What the network is trained knowing about the rules, where they are not kept by its weights.
enum Knowing<'a> {
    Decoder(AtCutoff<'a>),
    Nearest(Allowed<'a>),
    Clips(Clipped),
    Penalty(Penalty),
}

impl Knowing<'_> {
    fn step(&self) -> &dyn RuleLoss {
        match self {
            Self::Decoder(decoder) => decoder,
            Self::Nearest(allowed) => allowed,
            Self::Clips(clipped) => clipped,
            Self::Penalty(penalty) => penalty,
        }
    }

    /// What it has to know about the inputs of rows; for a decoder the conditions that they meet.
    fn side_of(&self, spec: &NormalSpec, x: &Matrix) -> Result<Matrix, AllowedError> {
        match self {
            Self::Decoder(AtCutoff { decoder, .. }) => {
                let judge = Judge::new(spec);
                let met = (0..x.rows).flat_map(|r| decoder.met(&judge, x.row(r))).map(|met| f32::from(u8::from(met)));
                Ok(Matrix { rows: x.rows, cols: decoder.conditions(), data: met.collect() })
            }
            Self::Nearest(allowed) => allowed.side_of(x),
            Self::Clips(clipped) => Ok(clipped.side_of(spec, x)),
            Self::Penalty(penalty) => Ok(penalty.side_of(spec, x)),
        }
    }
}

/// A trained model with its scores.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The network, with schema and rules in its metadata.
    pub model: Model,
    /// What there is of a proof: `None` if no rules were enforced.
    pub proof: Option<Proof>,
    /// Where the rules were enforced.
    pub means: EnforcedBy,
    /// Why there.
    pub why: String,
    /// How candidates for the output step are made, if there is one.
    pub made: Option<String>,
    /// Training rows that were left out because no valid label set is theirs; only decoding leaves them out.
    pub left_out: usize,
    /// The feature that gates the outputs.
    pub gate: Option<String>,
    /// How training went.
    pub trained: Trained,
    /// How long the certificate took.
    pub certify_seconds: f64,
    /// Scores on the training rows.
    pub train: Metrics,
    /// Scores on the validation rows.
    pub validation: Metrics,
    /// The test rows, with what the model gives for them.
    pub test: Predicted,
    /// What to look at before the model is used.
    pub warnings: Vec<Warning>,
    /// How many trainings it is the mean of.
    pub members: usize,
}

impl Fitted {
    /// Whether it is proved as deployed.
    pub fn proved(&self) -> bool {
        matches!(self.proof, Some(Ok(_)))
    }
}

/// Settings of one training.
#[derive(Debug, Clone, Copy)]
pub struct Fit<'a> {
    /// The rules.
    pub spec: &'a NormalSpec,
    /// Where to enforce them.
    pub decision: &'a Decision,
    /// What to do with rows that break them.
    pub breaking_rows: BreakingRows,
    /// The shape of the network.
    pub network: &'a NetworkSettings,
    /// How to train it.
    pub settings: &'a TrainSettings,
    /// The least weight decay where the weights keep the rules.
    pub least_decay: f32,
    /// Among which weight decays validation chooses, in order; none to take that of the settings.
    pub decays: &'a [f32],
    /// The probability of the second of two classes from which on it is predicted, if not one half.
    pub cutoff: Option<f64>,
    /// Decides the initial weights and the order of the rows.
    pub seed: u64,
    /// A trained network to start from, in place of random weights.
    pub from: Option<&'a Network>,
    /// Whether that network stays as it is, but for what the rules ask of its last layer.
    pub as_it_is: bool,
    /// Whether other rows may validate instead: they were drawn at random.
    pub redeal: bool,
    /// What the network is shaped for, if not for where the rules are enforced.
    pub shape: Option<&'a EnforcedBy>,
}

impl Fit<'_> {
    /// Whether it aims at the score by which models are compared: weights of classes and cut-offs ask for another.
    fn is_for_score(&self) -> bool {
        self.settings.class_weight.is_none() && self.cutoff.is_none()
    }

    /// Trains on the rows as they are dealt out; `checkpoint` is a file and whether to go on from it.
    pub fn run_on(
        self,
        rows: &Rows,
        split: &Split,
        checkpoint: Option<(&Path, bool)>,
        observer: &mut dyn Observer,
    ) -> Result<Fitted, FitError> {
        let schema = &self.spec.schema;
        let Decision { means, why } = self.decision;
        // Behind clips the weights keep the rules between two inputs alone.
        let binding = binding(self.spec);
        let between = clip::before_clips(&binding);
        // Before an output step they read nothing of what may differ.
        let blind = unread(self.spec).map(|features| of_all_outputs(self.spec, &features));
        let rules = match means {
            EnforcedBy::Weights => Some(&binding),
            EnforcedBy::Clips => Some(&between),
            EnforcedBy::Decode(_) | EnforcedBy::Nearest | EnforcedBy::Behind => blind.as_ref(),
            EnforcedBy::Nowhere => None,
        };
        let (train_policy, validation_policy) = self.policies();
        let (mut train_rows, mut validation_rows) =
            (rows.weighted(&split.train, train_policy), rows.weighted(&split.validation, validation_policy));
        if let Some(weight) = &self.settings.class_weight {
            let weights = weight.of(&schema.task, &train_rows).map_err(|unknown| FitError::ClassWeight { unknown })?;
            ClassWeight::apply(&weights, &mut train_rows);
            ClassWeight::apply(&weights, &mut validation_rows);
        }
        let knowing = self.knowing(&train_rows)?;
        let side = |rows: &Dataset| knowing.as_ref().map(|knowing| knowing.side_of(self.spec, &rows.x)).transpose();
        let (train_side, validation_side) = (side(&train_rows)?.unwrap_or_default(), side(&validation_rows)?.unwrap_or_default());
        let left_out = if matches!(means, EnforcedBy::Decode(_)) { split.train.len() - train_rows.x.rows } else { 0 };
        let trunk = self.network.trunk.as_deref().map(|path| self.trunk(path, rules.is_some())).transpose()?;
        let gate = self.gate(self.shape.unwrap_or(means), &train_rows)?.filter(|_| trunk.is_none());
        // What a gate multiplies may have rules of its own to keep.
        let behind = gate.zip(rules).and_then(|(g, rules)| beside_gate(rules, schema.columns()[g.column].feature));
        let rules = rules.map(|spec| behind.as_ref().unwrap_or(spec));
        let given = self.from.cloned().or(trunk);
        let start = if given.is_some() { Start::Warm } else { Start::Fresh };
        let mut run = Run {
            network: given.unwrap_or_else(|| self.first_network(gate, rules, &train_rows)),
            start,
            loss: self.loss(),
            train: &train_rows,
            validation: &validation_rows,
            settings: self.settings.clone(),
            seed: self.seed,
            rules,
            favoured: self.favoured(rules, &train_rows),
            step: knowing.as_ref().map(|knowing| StepData {
                step: knowing.step(),
                train: &train_side,
                validation: &validation_side,
            }),
            checkpoint: None,
        };
        run.checkpoint =
            checkpoint.map(|(path, resume)| CheckpointSettings { resume, ..CheckpointSettings::new(path, run.fingerprint()) });
        let stays = self.as_it_is || self.network.freeze || matches!(means, EnforcedBy::Behind) && start == Start::Warm;
        if stays {
            run.settings.epochs = 0;
        }
        // Without rules there is nothing to solve for, either.
        let trained = if stays && rules.is_none() { untrained(run.network.clone()) } else { train::train(&run, observer)? };
        if trained.stop == StopReason::Interrupted && observer.abandons() {
            return Err(FitError::Abandoned);
        }
        let network = given::as_dense(train::fold_gate(trained.network.clone()));
        let started = Instant::now();
        let attached = self.attach(&network, &trained, knowing.as_ref(), gate, rules, &train_rows)?;
        let (model, proof) = self.with_cutoff(attached)?;
        let certify_seconds = started.elapsed().as_secs_f64();
        let predicted = |indices: &[usize]| rows.predicted(self.spec, &model, indices);
        let (train, validation, test) = (predicted(&split.train)?, predicted(&split.validation)?, predicted(&split.test)?);
        let gate = gate.map(|g| schema.features[schema.columns()[g.column].feature].name.clone());
        let made = model.metadata.get(step::MADE_KEY).cloned();
        Ok(Fitted {
            warnings: warnings(self.spec, trained.stop, train.scored(), validation.scored(), self.is_for_score()),
            model,
            proof,
            means: means.clone(),
            why: why.clone(),
            made,
            left_out,
            gate,
            trained,
            certify_seconds,
            train: train.metrics,
            validation: validation.metrics,
            test,
            members: 1,
        })
    }

    /// What the network is trained knowing.
    fn knowing(&self, rows: &Dataset) -> Result<Option<Knowing<'_>>, FitError> {
        Ok(match (&self.decision.means, &self.settings.penalty) {
            (EnforcedBy::Decode(decoder), _) => {
                Some(Knowing::Decoder(AtCutoff { decoder, shift: self.cutoff.map_or(0.0, shift) }))
            }
            (EnforcedBy::Nearest, _) => Some(Knowing::Nearest(Allowed::new(self.spec).with_spread(Usual::of(&rows.y).spread))),
            (EnforcedBy::Clips, _) => {
                let clips = clip::clips(self.spec, Some(rows))?;
                Some(Knowing::Clips(Clipped { clips, loss: self.loss() }))
            }
            (EnforcedBy::Nowhere, Some(settings)) if !self.spec.rules.is_empty() => {
                Some(Knowing::Penalty(Penalty::new(self.spec, settings, self.loss(), self.settings.decode_nodes)?))
            }
            (EnforcedBy::Nowhere | EnforcedBy::Weights | EnforcedBy::Behind, _) => None,
        })
    }

    /// What to do with rows that break rules, in training and in validation.
    fn policies(self) -> (BreakingRows, BreakingRows) {
        match self.decision.means {
            // Behind a decoder a set that is not valid has no likelihood.
            EnforcedBy::Decode(_) => (BreakingRows::Drop, BreakingRows::Drop),
            // A network that obeys the rules can't agree with labels that don't: they would choose the wrong epoch.
            EnforcedBy::Weights | EnforcedBy::Nearest | EnforcedBy::Behind | EnforcedBy::Clips => {
                (self.breaking_rows, BreakingRows::Drop)
            }
            EnforcedBy::Nowhere => (self.breaking_rows, self.breaking_rows),
        }
    }

    /// The model with its certificate.
    fn attach(
        self,
        network: &Network,
        trained: &Trained,
        knowing: Option<&Knowing>,
        gate: Option<Gate>,
        rules: Option<&NormalSpec>,
        rows: &Dataset,
    ) -> Result<(Model, Option<Proof>), FitError> {
        if let Some(Knowing::Clips(Clipped { clips, .. })) = knowing {
            let (model, proof) = clip::attach(self.spec, network, clips)?;
            return Ok((model, Some(proof)));
        }
        if let (Some((guard, units, _)), EnforcedBy::Weights) = (&trained.guard, &self.decision.means) {
            let asked = Asked { spec: self.spec, guarded: rules.unwrap_or(self.spec) };
            let (mut model, mut proof) = certify(asked, network, guard, units, gate.map_or(1.0, |g| f64::from(g.scale)))?;
            if self.network.domain_flag {
                proof = flagged(self.spec, &mut model, &proof)?;
            }
            return Ok((model, Some(proof)));
        }
        Ok(match &self.decision.means {
            EnforcedBy::Decode(_) | EnforcedBy::Nearest | EnforcedBy::Behind => {
                let (model, proof) = step::attach(self.spec, network, &Usual::of(&rows.y))?;
                (model, Some(proof))
            }
            EnforcedBy::Nowhere | EnforcedBy::Weights | EnforcedBy::Clips => (artifact::model(self.spec, network.clone())?, None),
        })
    }

    /// What training makes small.
    fn loss(&self) -> Loss {
        match self.cutoff {
            Some(cutoff) => Loss::SoftmaxAtCutoff { shift: shift(cutoff) },
            None => loss(&self.spec.schema.task),
        }
    }

    /// The model saying at which probability it decides. That changes its file, so the checker is asked again.
    fn with_cutoff(&self, (mut model, proof): (Model, Option<Proof>)) -> Result<(Model, Option<Proof>), FitError> {
        let Some(cutoff) = self.cutoff else { return Ok((model, proof)) };
        model.metadata.insert(CUTOFF_KEY.into(), cutoff.to_string());
        let bytes = model.to_bytes().map_err(artifact::ArtifactError::from)?;
        let proof = proof.map(|proof| renewed(self.spec, &bytes, &proof));
        Ok((model, proof))
    }

    /// What a last layer that keeps the rules had best favour; the paper's update to the letter knows nothing of it.
    fn favoured(self, rules: Option<&NormalSpec>, rows: &Dataset) -> Option<Favoured> {
        rules.filter(|_| !self.settings.strictly_paper()).and_then(|rules| enforce::favoured(rules, rows))
    }

    /// The network to start from, up to its scores. Where the weights keep the rules, its layers before the last are given.
    fn trunk(self, path: &Path, by_weights: bool) -> Result<Network, FitError> {
        let wrong = |why: String| FitError::Trunk { path: path.into(), why };
        if by_weights && self.network.freeze {
            return Err(wrong("freeze = true trains nothing, and rules in the weights need a last layer that keeps them: leave it out, or use enforce = \"decode\"".into()));
        }
        let bytes = artifact::read_bytes(path).map_err(|e| wrong(e.to_string()))?;
        let model = Model::from_bytes(&bytes).map_err(|e| wrong(e.to_string()))?;
        // A last layer that is trained anew has the rules' order.
        if by_weights {
            class_names::columns(&model.metadata, &self.spec.schema).map_err(|e| wrong(e.to_string()))?;
        } else {
            class_names::of_model(&model, &self.spec.schema, None).map_err(|e| match e {
                OtherNames::Labels(UnreadLabels { label }) => wrong(format!(
                    "its output '{label}' holds labels or numbers of its own, and how these come from the scores is not read: export it up \
                     to its scores"
                )),
                e => wrong(e.to_string()),
            })?;
        }
        let mut network = model.network;
        if let Some(scores) = network.scores() {
            network.nodes.truncate(scores);
        }
        let (found, expected) =
            ((network.inputs, network.outputs()), (self.spec.schema.columns().len(), self.spec.schema.task.outputs()));
        if found != expected {
            let shape = |(inputs, outputs)| format!("{inputs} inputs and {outputs} outputs");
            return Err(wrong(format!("it has {}, and the data ask for {}", shape(found), shape(expected))));
        }
        if by_weights {
            return given::before_last(self.spec, &network)
                .ok_or_else(|| wrong("it does not end in a dense layer, so there is no last layer to train".into()));
        }
        Ok(network)
    }

    /// Random weights, with the signs that rules between two inputs ask for.
    fn first_network(self, gate: Option<Gate>, rules: Option<&NormalSpec>, rows: &Dataset) -> Network {
        let labels = matches!(self.spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. });
        let clips =
            labels && rules.is_some_and(|rules| rules.pairs.is_empty()) && self.network.activation == ActivationName::Relu;
        let clip = self.network.clip.or(clips.then_some(CLIP));
        let shape = NetworkSettings { clip, ..self.network.clone() };
        let mut network = gate::network_for(self.spec, &shape, gate, self.seed, &rows.x);
        if let Some(signs) = rules.and_then(|rules| Signs::new(rules, &network)) {
            signs.start(&mut network, &rows.x);
        }
        network
    }

    /// The gate that the settings ask for; with "auto" the first candidate of the rules for which a last layer exists.
    fn gate(self, means: &EnforcedBy, rows: &Dataset) -> Result<Option<Gate>, FitError> {
        let schema = &self.spec.schema;
        let gated = |column: usize| {
            let n = rows.x.rows.max(1) as f64;
            let mean = (0..rows.x.rows).map(|r| f64::from(rows.x.row(r)[column])).sum::<f64>() / n;
            Gate { column, scale: (-mean.max(1e-6).log2().round()).exp2() as f32 }
        };
        let refuse = |why| Err(FitError::Gate { name: self.network.gate.clone(), why });
        match self.network.gate.as_str() {
            "none" => Ok(None),
            "auto" if self.settings.strictly_paper() => Ok(None),
            _ if self.settings.strictly_paper() => refuse("train.paper.strict = true has no gate"),
            "auto" => {
                let works = |g: &Gate| match means {
                    EnforcedBy::Weights => {
                        let units = Units::raw(schema.task.outputs());
                        let guarded = beside_gate(&binding(self.spec), schema.columns()[g.column].feature);
                        let network = gate::network_for(self.spec, self.network, Some(*g), self.seed, &rows.x);
                        guarded.is_some_and(|spec| Guard::new(&spec, &network, &units, self.settings.tightness()).is_ok())
                    }
                    EnforcedBy::Nearest | EnforcedBy::Behind if matches!(schema.task, Task::Regression { .. }) => {
                        Allowed::new(self.spec).scales_with(schema.columns()[g.column].feature)
                    }
                    _ => false,
                };
                Ok(gate::candidates(self.spec).map(gated).find(works))
            }
            name => match schema.feature(name) {
                None => refuse("no feature has this name"),
                Some(f) => match (schema.features[f].domain.range(), gate::column(schema, f)) {
                    (Some((lo, _)), Some(column)) if lo >= 0.0 && gate::clear(&schema.features[f].domain) => {
                        Ok(Some(gated(column)))
                    }
                    (Some((lo, _)), _) if lo >= 0.0 => refuse(
                        "a real gate must stay above 1e-20 on its domain: start at 0.001 or state whole numbers (kind = \"integer\")",
                    ),
                    _ => refuse("a gate must be a numeric feature that is never negative on its domain"),
                },
            },
        }
    }
}

/// A given network as the result of no training at all.
fn untrained(network: Network) -> Trained {
    Trained { network, records: Vec::new(), best_epoch: None, stop: StopReason::Finished, guard: None }
}

/// What training makes small for a task.
pub fn loss(task: &Task) -> Loss {
    match task {
        Task::Regression { .. } => Loss::MeanSquares,
        Task::Binary { .. } | Task::Multiclass { .. } => Loss::SoftmaxCrossEntropy,
        Task::Multilabel { .. } | Task::Ranking { .. } => Loss::SigmoidCrossEntropy,
    }
}
