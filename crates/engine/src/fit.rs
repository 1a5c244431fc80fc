//! A problem with its data enters; a trained model with its scores leaves.

use std::path::{Path, PathBuf};
use std::time::Instant;

use deepsade_data::{
    self as data, BreakingRows, DataError, DataSettings, Dataset, InjectError, Labelled, Loaded, Metrics, Split, Table, inject,
    metrics,
};
use deepsade_net::{Matrix, Model, Network};
use deepsade_output::decode::{DecodeError, Decoder};
use deepsade_output::nearest::{Allowed, AllowedError};
use deepsade_output::reader::Flags;
use deepsade_output::{Judge, Output};
use deepsade_spec::{NormalSpec, Task};
use thiserror::Error;

use crate::artifact;
use crate::enforce::penalty::{Penalty, PenaltyError};
use crate::enforce::step::{self, StepError, Usual};
use crate::enforce::weights::{Asked, CertifyError, certify, flagged};
use crate::enforce::{self, Decision, EnforcedBy};
use crate::gate;
use crate::guard::{Guard, GuardError};
use crate::objective::{Loss, RuleLoss, StepData};
use crate::proof::Proof;
use crate::signs::{Signs, beside_gate};
use crate::train::{
    self, CheckpointSettings, Gate, NetworkSettings, Observer, Run, Start, StopReason, TrainError, TrainSettings, Trained,
};
use crate::units::Units;
use crate::warnings::{Scored, Warning, warnings};

/// Encoded rows, dealt out, with what their labels say about the rules.
#[derive(Debug, Clone)]
pub struct Rows {
    /// All rows; labels after injection.
    pub all: Dataset,
    /// For each rule how many labels break it in the data as shipped; `None` for rules about scores.
    pub breaking_shipped: Vec<Option<usize>>,
    /// How many labels break some rule in the data as shipped.
    pub any_breaking_shipped: usize,
    /// For each row whether its label breaks some rule, after injection.
    pub breaking: Vec<bool>,
    /// Which rows train, validate and test.
    pub split: Split,
}

/// Why rows can't be prepared or a model can't be trained.
#[derive(Debug, Error)]
pub enum FitError {
    /// The data don't fit.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Rows can't be relabelled.
    #[error(transparent)]
    Inject(#[from] InjectError),
    /// Training can't start or can't be saved.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The rules can't be built into the output step.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The same, for a regression.
    #[error(transparent)]
    Allowed(#[from] AllowedError),
    /// The output step can't be put behind the network.
    #[error(transparent)]
    Step(Box<StepError>),
    /// Weights that should make whole numbers.
    #[error(
        "{targets} must be whole numbers, which the weights of a network can't make sure of: use enforce = \"auto\" or \"decode\" (the \
         output step, with another update than \"paper\"), or drop `kind = \"integer\"` of the target"
    )]
    WeightsNotWhole {
        /// The targets.
        targets: String,
    },
    /// The settings leave no way to keep a rule between two inputs.
    #[error("rule '{rule}' compares two inputs, and {why}")]
    TwoInputs {
        /// The rule.
        rule: String,
        /// What stands in the way.
        why: &'static str,
    },
    /// The rules can't be made a penalty.
    #[error(transparent)]
    Penalty(#[from] PenaltyError),
    /// A network to start from that does not fit.
    #[error("network.trunk = \"{}\": {why}", path.display())]
    Trunk {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A gate that can't be one.
    #[error("network.gate = \"{name}\": {why}")]
    Gate {
        /// What was asked for.
        name: String,
        /// Why not.
        why: &'static str,
    },
    /// The model can't be written down.
    #[error(transparent)]
    Artifact(#[from] artifact::ArtifactError),
    /// Every way to keep the rules failed.
    #[error("the rules can't be kept:{}", ways.iter().map(|(how, why)| format!("\n  {how}: {why}")).collect::<String>())]
    NoWay {
        /// What was tried, and why it failed.
        ways: Vec<(&'static str, FitError)>,
    },
    /// No way to keep the rules was given.
    #[error("there is no way to keep the rules that could be tried")]
    NothingToTry,
    /// The observer stopped the run and wants nothing of it.
    #[error("interrupted; nothing was kept")]
    Abandoned,
}

impl FitError {
    /// Why nothing came of some ways: each reason once.
    pub(crate) fn no_way(mut failed: Vec<(&'static str, Self)>) -> Self {
        let mut said = Vec::new();
        failed.retain(|(_, why)| {
            let words = why.to_string();
            let new = !said.contains(&words);
            said.push(words);
            new
        });
        match failed.len() {
            0 => Self::NothingToTry,
            1 => failed.remove(0).1,
            _ => Self::NoWay { ways: failed },
        }
    }

    /// Whether it says of the rules that they can't be kept this way: a finding, and no mistake in what was asked.
    pub fn is_about_rules(&self) -> bool {
        match self {
            Self::Train(TrainError::Guard(GuardError::Infeasible { .. })) => true,
            Self::Step(why) => match &**why {
                StepError::Make(why) => why.is_about_rules(),
                why => matches!(why, StepError::Fallback(_)),
            },
            Self::NoWay { ways } => ways.iter().any(|(_, why)| why.is_about_rules()),
            _ => false,
        }
    }
}

impl From<StepError> for FitError {
    fn from(error: StepError) -> Self {
        Self::Step(Box::new(error))
    }
}

impl From<CertifyError> for FitError {
    fn from(error: CertifyError) -> Self {
        match error {
            CertifyError::Plan(error) => TrainError::from(error).into(),
            CertifyError::Guard(error) => TrainError::from(error).into(),
            CertifyError::Artifact(error) => error.into(),
        }
    }
}

/// Encodes the rows, judges their labels, injects violations and deals the rows out.
pub fn rows(spec: &NormalSpec, loaded: &Loaded, settings: &DataSettings, seed: u64) -> Result<Rows, FitError> {
    rows_of(spec, &loaded.table, settings, seed)
}

/// The same for a table whose rows lie in the domain.
pub fn rows_of(spec: &NormalSpec, table: &Table, settings: &DataSettings, seed: u64) -> Result<Rows, FitError> {
    let mut all = data::encode(table, &spec.schema)?;
    let judge = Judge::new(spec);
    let labelled = Labelled::new(spec, table, &all);
    let n = all.rows();
    let breaking_shipped =
        (0..spec.rules.len()).map(|rule| (0..n).map(|row| labelled.breaks(&judge, rule, row).map(usize::from)).sum()).collect();
    let mut breaking: Vec<bool> = (0..n).map(|row| labelled.breaks_any(&judge, row)).collect();
    let any_breaking_shipped = breaking.iter().filter(|b| **b).count();
    inject(spec, &mut all, &mut breaking, settings.inject_violations, seed)?;
    let split = data::split(n, &settings.split, seed)?;
    Ok(Rows { all, breaking_shipped, any_breaking_shipped, breaking, split })
}

impl Rows {
    /// Rows to learn from, with `breaking_rows` applied.
    fn weighted(&self, indices: &[usize], policy: BreakingRows) -> Dataset {
        let kept: Vec<usize> = match policy {
            BreakingRows::Drop => indices.iter().copied().filter(|r| !self.breaking[*r]).collect(),
            BreakingRows::Keep | BreakingRows::Weight(_) => indices.to_vec(),
        };
        let mut rows = self.all.select(&kept);
        if let BreakingRows::Weight(weight) = policy {
            for (v, row) in rows.weight.iter_mut().zip(&kept) {
                if self.breaking[*row] {
                    *v = weight as f32;
                }
            }
        }
        rows
    }

    fn predicted(&self, spec: &NormalSpec, model: &Model, indices: &[usize]) -> Result<Predicted, DecodeError> {
        let rows = self.all.select(indices);
        let breaking: Vec<bool> = indices.iter().map(|r| self.breaking[*r]).collect();
        let (outputs, flags) = Output::of(model, spec)?.outputs_and_flags(&rows.x);
        Ok(Predicted { metrics: metrics(spec, &rows, &outputs, &breaking), rows, outputs, flags, breaking })
    }
}

/// Some rows with a model's outputs and their scores.
#[derive(Debug, Clone)]
pub struct Predicted {
    /// The rows.
    pub rows: Dataset,
    /// What the model gives for them.
    pub outputs: Matrix,
    /// What its output step says of each, if it has one.
    pub flags: Option<Vec<Flags>>,
    /// Which labels break a rule.
    pub breaking: Vec<bool>,
    /// Scores.
    pub metrics: Metrics,
}

impl Predicted {
    /// The rows to be judged by.
    pub(crate) fn scored(&self) -> Scored<'_> {
        Scored { rows: &self.rows, outputs: &self.outputs, breaking: &self.breaking }
    }
}

/// What the network is trained knowing about the rules, where they are not kept by its weights.
enum Knowing<'a> {
    Decoder(&'a Decoder),
    Nearest(Allowed<'a>),
    Penalty(Penalty),
}

impl Knowing<'_> {
    fn step(&self) -> &dyn RuleLoss {
        match self {
            Self::Decoder(decoder) => *decoder,
            Self::Nearest(allowed) => allowed,
            Self::Penalty(penalty) => penalty,
        }
    }

    /// What it has to know about the inputs of rows; for a decoder the conditions that they meet.
    fn side_of(&self, spec: &NormalSpec, x: &Matrix) -> Result<Matrix, AllowedError> {
        match self {
            Self::Decoder(decoder) => {
                let judge = Judge::new(spec);
                let met = (0..x.rows).flat_map(|r| decoder.met(&judge, x.row(r))).map(|met| f32::from(u8::from(met)));
                Ok(Matrix { rows: x.rows, cols: decoder.conditions(), data: met.collect() })
            }
            Self::Nearest(allowed) => allowed.side_of(x),
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
    /// Decides the initial weights and the order of the rows.
    pub seed: u64,
    /// A trained network to start from, in place of random weights.
    pub from: Option<&'a Network>,
    /// What the network is shaped for, if not for where the rules are enforced.
    pub shape: Option<&'a EnforcedBy>,
}

impl Fit<'_> {
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
        let rules = matches!(means, EnforcedBy::Weights).then_some(self.spec);
        let (train_policy, validation_policy) = self.policies();
        let (train_rows, validation_rows) =
            (rows.weighted(&split.train, train_policy), rows.weighted(&split.validation, validation_policy));
        let knowing = self.knowing(&train_rows)?;
        let side = |rows: &Dataset| knowing.as_ref().map(|knowing| knowing.side_of(self.spec, &rows.x)).transpose();
        let (train_side, validation_side) = (side(&train_rows)?.unwrap_or_default(), side(&validation_rows)?.unwrap_or_default());
        let left_out = if matches!(means, EnforcedBy::Decode(_)) { split.train.len() - train_rows.x.rows } else { 0 };
        let trunk = self.network.trunk.as_deref().map(|path| self.trunk(path, rules.is_some())).transpose()?;
        let gate = self.gate(self.shape.unwrap_or(means), &train_rows)?.filter(|_| trunk.is_none());
        // What a gate multiplies may have rules of its own to keep.
        let behind = gate.and_then(|g| beside_gate(self.spec, schema.columns()[g.column].feature));
        let rules = rules.map(|spec| behind.as_ref().unwrap_or(spec));
        let given = self.from.cloned().or(trunk);
        let start = if given.is_some() { Start::Warm } else { Start::Fresh };
        let mut run = Run {
            network: given.unwrap_or_else(|| self.first_network(gate, rules, &train_rows)),
            start,
            loss: loss(&schema.task),
            train: &train_rows,
            validation: &validation_rows,
            settings: self.settings.clone(),
            seed: self.seed,
            rules,
            usual: self.usual(rules, &train_rows),
            step: knowing.as_ref().map(|knowing| StepData {
                step: knowing.step(),
                train: &train_side,
                validation: &validation_side,
            }),
            checkpoint: None,
        };
        run.checkpoint =
            checkpoint.map(|(path, resume)| CheckpointSettings { resume, ..CheckpointSettings::new(path, run.fingerprint()) });
        let as_it_is = self.network.freeze || matches!(means, EnforcedBy::Behind) && start == Start::Warm;
        let trained = if as_it_is { untrained(run.network.clone()) } else { train::train(&run, observer)? };
        if trained.stop == StopReason::Interrupted && observer.abandons() {
            return Err(FitError::Abandoned);
        }
        let network = train::fold_gate(trained.network.clone());
        let started = Instant::now();
        let (model, proof) = self.attach(&network, &trained, gate, rules, &train_rows)?;
        let certify_seconds = started.elapsed().as_secs_f64();
        let predicted = |indices: &[usize]| rows.predicted(self.spec, &model, indices);
        let (train, validation, test) = (predicted(&split.train)?, predicted(&split.validation)?, predicted(&split.test)?);
        let gate = gate.map(|g| schema.features[schema.columns()[g.column].feature].name.clone());
        let made = model.metadata.get(step::MADE_KEY).cloned();
        Ok(Fitted {
            warnings: warnings(self.spec, trained.stop, train.scored(), validation.scored()),
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
        })
    }

    /// What the network is trained knowing.
    fn knowing(&self, rows: &Dataset) -> Result<Option<Knowing<'_>>, PenaltyError> {
        Ok(match (&self.decision.means, &self.settings.penalty) {
            (EnforcedBy::Decode(decoder), _) => Some(Knowing::Decoder(decoder)),
            (EnforcedBy::Nearest, _) => Some(Knowing::Nearest(Allowed::new(self.spec).with_spread(Usual::of(&rows.y).spread))),
            (EnforcedBy::Nowhere, Some(settings)) if !self.spec.rules.is_empty() => {
                let loss = loss(&self.spec.schema.task);
                Some(Knowing::Penalty(Penalty::new(self.spec, settings, loss, self.settings.decode_nodes)?))
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
            EnforcedBy::Weights | EnforcedBy::Nearest | EnforcedBy::Behind => (self.breaking_rows, BreakingRows::Drop),
            EnforcedBy::Nowhere => (self.breaking_rows, self.breaking_rows),
        }
    }

    /// The model with its certificate.
    fn attach(
        self,
        network: &Network,
        trained: &Trained,
        gate: Option<Gate>,
        rules: Option<&NormalSpec>,
        rows: &Dataset,
    ) -> Result<(Model, Option<Proof>), FitError> {
        if let Some((guard, units, _)) = &trained.guard {
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
            EnforcedBy::Nowhere | EnforcedBy::Weights => (artifact::model(self.spec, network.clone())?, None),
        })
    }

    /// What a last layer that keeps the rules had best favour; the paper's update knows nothing of it.
    fn usual(self, rules: Option<&NormalSpec>, rows: &Dataset) -> Option<Vec<f64>> {
        rules.filter(|_| self.settings.update == train::UpdateName::Project).and_then(|rules| enforce::usual_outputs(rules, rows))
    }

    /// The network to start from, up to its scores.
    fn trunk(self, path: &Path, by_weights: bool) -> Result<Network, FitError> {
        let wrong = |why: String| FitError::Trunk { path: path.into(), why };
        if by_weights {
            return Err(wrong("a given network can't be trained with the rules in its weights; use enforce = \"decode\"".into()));
        }
        let bytes = std::fs::read(path).map_err(|e| wrong(format!("can't read it: {e}")))?;
        let mut network = Model::from_bytes(&bytes).map_err(|e| wrong(e.to_string()))?.network;
        if let Some(scores) = network.scores() {
            network.nodes.truncate(scores);
        }
        let (found, expected) =
            ((network.inputs, network.outputs()), (self.spec.schema.columns().len(), self.spec.schema.task.outputs()));
        if found != expected {
            let shape = |(inputs, outputs)| format!("{inputs} inputs and {outputs} outputs");
            return Err(wrong(format!("it has {}, and the data ask for {}", shape(found), shape(expected))));
        }
        Ok(network)
    }

    /// Random weights, with the signs that rules between two inputs ask for.
    fn first_network(self, gate: Option<Gate>, rules: Option<&NormalSpec>, rows: &Dataset) -> Network {
        let mut network = gate::network(self.spec, self.network, gate, self.seed);
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
            "auto" => {
                let works = |g: &Gate| match means {
                    EnforcedBy::Weights => {
                        let units = Units::raw(schema.task.outputs());
                        let guarded = beside_gate(self.spec, schema.columns()[g.column].feature);
                        let network = gate::network(self.spec, self.network, Some(*g), self.seed);
                        guarded.is_some_and(|spec| Guard::new(&spec, &network, &units, self.settings.how()).is_ok())
                    }
                    EnforcedBy::Nearest | EnforcedBy::Behind if matches!(schema.task, Task::Regression { .. }) => {
                        Allowed::new(self.spec).scales_with(schema.columns()[g.column].feature)
                    }
                    EnforcedBy::Nowhere | EnforcedBy::Decode(_) | EnforcedBy::Nearest | EnforcedBy::Behind => false,
                };
                Ok(gate::candidates(self.spec).map(gated).find(works))
            }
            name => match schema.feature(name) {
                None => refuse("no feature has this name"),
                Some(f) => match (schema.features[f].domain.range(), gate::column(schema, f)) {
                    (Some((lo, _)), Some(column)) if lo >= 0.0 && gate::clear(&schema.features[f].domain) => {
                        Ok(Some(gated(column)))
                    }
                    (Some((lo, _)), _) if lo >= 0.0 => {
                        refuse("a real gate must stay above 1e-20 on its domain; state a range for it, or kind = \"integer\"")
                    }
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
