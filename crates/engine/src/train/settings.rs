//! `[network]` and `[train]` of a settings file enter; values known to be in range leave.

use std::path::PathBuf;

use deepsade_net::Activation;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{ClassWeight, PaperSettings};
use crate::guard::Tightness;

/// The most weights that two neighbouring hidden layers may have between them.
const MOST_WEIGHTS: usize = 1 << 28;

/// The shape of the network, `[network]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkSettings {
    /// Units of each hidden layer, from the input on. Default `[50, 30, 10]`, or by the shape of the data; each 1 to 65536; `[]` is a linear model.
    pub hidden: Vec<usize>,
    /// How many networks are trained, each from other random weights, of which the model is the mean: one network with their layers side by
    /// side, so `hidden` is the size of one. Where rows are dealt out at random, each has other rows to validate. Default 1, or by the
    /// shape of the data; 1 to 64, and 1 with `trunk` and with `update = "paper"`.
    pub members: usize,
    /// What follows each hidden layer: `"relu"` (default), `"sigmoid"` or `"tanh"`.
    pub activation: ActivationName,
    /// A feature that multiplies the outputs, for rules that scale with it: `"auto"` (default: where rules are enforced and scale
    /// with a feature), `"none"`, or the name of a numeric feature that is never negative.
    pub gate: String,
    /// What brings the numbers to about 1 before the first hidden layer: `"range"` (default: the domain to [0, 1]), `"quantile"` (from
    /// the 1 % to the 99 % quantile of the training rows to [0, 1], clipped beyond) or `"standard"` (mean 0 and deviation 1 over the
    /// training rows).
    pub scaling: ScalingName,
    /// The last hidden layer's units end at this value, and 0 is none: with units that are bounded tightly, little rounding has to be
    /// allowed for. Default: 8 where the weights keep rules about labels, else none; only after `"relu"`.
    pub clip: Option<u32>,
    /// Whether the last layer also reads the last hidden layer times how far an input is outside of a rule's condition on one feature, up to
    /// 1: where the rule applies these units are 0 and it asks nothing of their weights. For conditions on single features, the first 4;
    /// only after `"relu"`, and nothing beside rules between two inputs. It serves rules that the weights keep. Default false.
    pub copies: bool,
    /// An ONNX file to start from instead of random weights, with the columns of the data as its input; relative to the rule file.
    /// `hidden`, `activation` and `gate` are then not read. Not with rules that are enforced by weights.
    pub trunk: Option<PathBuf>,
    /// With `trunk`: nothing is trained, the file's scores are taken as they are. Default false.
    pub freeze: bool,
    /// Whether a model that keeps its rules by weights also has the output `in_domain`, as one with an output step always has. Default
    /// false: a plain graph, which other verifiers read.
    pub domain_flag: bool,
}

/// How an activation is written in settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActivationName {
    /// max(0, x)
    #[default]
    Relu,
    /// 1 / (1 + exp(-x))
    Sigmoid,
    /// tanh(x)
    Tanh,
}

/// How scaling is written in settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalingName {
    /// The domain becomes [0, 1].
    #[default]
    Range,
    /// What lies between two quantiles of the training rows becomes [0, 1]; beyond them, 0 or 1.
    Quantile,
    /// The training rows get mean 0 and deviation 1.
    Standard,
}

/// How the network is trained, `[train]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainSettings {
    /// `"adam"` (default) or `"sgd"`.
    pub optimiser: OptimiserName,
    /// Step size. Default 0.001, or by the shape of the data; above 0, finite.
    pub learning_rate: f32,
    /// Momentum of `"sgd"`; Adam does not read it. Default 0; from 0 to below 1.
    pub momentum: f32,
    /// L2 penalty: this times the weight is added to its gradient. Default 0, or by the shape of the data; 0 or above, finite.
    pub weight_decay: f32,
    /// Rows a step. Default 32, or by the shape of the data; 1 or above.
    pub batch: usize,
    /// Passes over the training rows. Default 100, or by the shape of the data; 1 or above.
    pub epochs: usize,
    /// Stop after this many epochs without a better validation loss; 0 is never. Default: never, or by the shape of the data.
    pub patience: Option<usize>,
    /// Epochs over which the weights are averaged: the model is the running mean of the weights at the end of an epoch that the
    /// validation rows choose. 0: no mean. Default 1, or by the shape of the data; 0 to 10000; `update = "paper"` does not read it.
    pub average: f32,
    /// How the last layer moves when rules are enforced by weights: `"project"` (default) or `"paper"`.
    pub update: UpdateName,
    /// How the hidden units are bounded when rules are enforced by weights: `"interval"` (default), each on its own, or
    /// `"relational"`, tied to the input by linear bounds.
    pub bounds: BoundsName,
    /// Regions that the domain of each rule is cut into, so that the hidden units are bounded more tightly. Default 1; 1 to 256.
    pub regions: usize,
    /// Where the rules are enforced: `"auto"` (default), `"weights"`, `"decode"` or `"none"`.
    pub enforce: Enforce,
    /// Nodes that the decision diagram of the rules may take when they are enforced by decoding. Default 200000; 1 or above.
    pub decode_nodes: usize,
    /// The paper's update, `[train.paper]`.
    pub paper: PaperSettings,
    /// A loss for breaking rules that are not enforced, `[train.penalty]`. Default: none; only with `enforce = "none"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub penalty: Option<PenaltySettings>,
    /// What the rows of each class count in the losses of training and validation: `"balanced"` (all classes alike) or a number a class,
    /// 1 for those that are not named. Scores do not read it. Default: none; only for classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_weight: Option<ClassWeight>,
}

/// A loss for breaking rules, `[train.penalty]`: `(1 - sum of weights) * loss + weights * penalty`. It guarantees nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PenaltySettings {
    /// `"semantic"`, `"fuzzy"` or `"hinge"`.
    pub kind: PenaltyName,
    /// One weight for all rules; for `"hinge"` one for each rule, or one that each has. Each from 0 on, together at most 1.
    pub weights: Vec<f64>,
}

/// The losses for breaking rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PenaltyName {
    /// Minus the logarithm of the probability that the rules hold (the paper's SL).
    Semantic,
    /// One minus the truth of each rule by the product t-norm (the paper's SBR).
    Fuzzy,
    /// How far the outputs are from obeying each rule (the paper's REG).
    Hinge,
}

/// The optimisers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimiserName {
    /// Gradient descent, with momentum if that is set.
    Sgd,
    /// Adam.
    #[default]
    Adam,
}

/// How a last layer that must satisfy rules moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpdateName {
    /// The gradient step, then the nearest last layer that satisfies the rules.
    #[default]
    Project,
    /// Line search, then `MaxSMT`, as in the paper.
    Paper,
}

/// How hidden units are bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoundsName {
    /// Each by an interval of its own.
    #[default]
    Interval,
    /// By linear bounds in terms of the input.
    Relational,
}

impl From<BoundsName> for deepsade_check::Bounds {
    fn from(name: BoundsName) -> Self {
        match name {
            BoundsName::Interval => Self::Interval,
            BoundsName::Relational => Self::Relational,
        }
    }
}

/// Where the rules are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Enforce {
    /// Nowhere: plain training.
    None,
    /// In the weights of the last layer.
    Weights,
    /// In the output step.
    Decode,
    /// Labels and rankings in the output step, everything else in the weights.
    #[default]
    Auto,
}

impl Enforce {
    /// Its word in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Weights => "weights",
            Self::Decode => "decode",
            Self::Auto => "auto",
        }
    }
}

/// A setting outside its range.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SettingsError {
    /// A number outside its range.
    #[error("{field} = {value}: must be {range}")]
    OutOfRange {
        /// The setting, with its table: `train.batch`.
        field: String,
        /// What was given.
        value: String,
        /// What is allowed, in words.
        range: &'static str,
    },
}

impl Default for NetworkSettings {
    fn default() -> Self {
        Self {
            hidden: vec![50, 30, 10],
            members: 1,
            activation: ActivationName::Relu,
            gate: "auto".into(),
            scaling: ScalingName::Range,
            clip: None,
            copies: false,
            trunk: None,
            freeze: false,
            domain_flag: false,
        }
    }
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self {
            optimiser: OptimiserName::Adam,
            learning_rate: 0.001,
            momentum: 0.0,
            weight_decay: 0.0,
            batch: 32,
            epochs: 100,
            patience: None,
            average: 1.0,
            update: UpdateName::Project,
            bounds: BoundsName::Interval,
            regions: 1,
            enforce: Enforce::Auto,
            decode_nodes: 200_000,
            paper: PaperSettings::default(),
            penalty: None,
            class_weight: None,
        }
    }
}

impl From<ActivationName> for Activation {
    fn from(name: ActivationName) -> Self {
        match name {
            ActivationName::Relu => Self::Relu,
            ActivationName::Sigmoid => Self::Sigmoid,
            ActivationName::Tanh => Self::Tanh,
        }
    }
}

impl NetworkSettings {
    /// Refuses the first setting outside its range.
    pub fn check(&self) -> Result<(), SettingsError> {
        for (layer, &units) in self.hidden.iter().enumerate() {
            within((1..=65536).contains(&units), || format!("network.hidden[{layer}]"), units, "from 1 to 65536")?;
        }
        let relu = self.activation == ActivationName::Relu || self.clip.is_none_or(|clip| clip == 0);
        within(relu, || "network.clip".into(), self.clip.unwrap_or(0), "left out unless network.activation is \"relu\"")?;
        let relu = self.activation == ActivationName::Relu || !self.copies;
        within(relu, || "network.copies".into(), true, "false unless network.activation is \"relu\"")?;
        within(
            self.clip.is_none_or(|clip| clip <= 1 << 20),
            || "network.clip".into(),
            self.clip.unwrap_or(0),
            "at most 1048576",
        )?;
        within(!self.freeze || self.trunk.is_some(), || "network.freeze".into(), true, "false without network.trunk")?;
        within((1..=64).contains(&self.members), || "network.members".into(), self.members, "from 1 to 64")?;
        let one = self.members == 1 || self.trunk.is_none();
        within(one, || "network.members".into(), self.members, "1 with network.trunk, a network that is given")?;
        let side_by_side = |units: usize| units * self.members;
        let weights = self.hidden.windows(2).map(|pair| side_by_side(pair[0]) * side_by_side(pair[1])).max().unwrap_or(0);
        within(
            weights <= MOST_WEIGHTS,
            || "network.hidden".into(),
            format!("{:?}", self.hidden),
            "small enough that two neighbours have at most 2^28 weights between them",
        )
    }

    /// Refuses what does not go with the training.
    pub fn check_with(&self, train: &TrainSettings) -> Result<(), SettingsError> {
        let one = self.members == 1 || train.update != UpdateName::Paper;
        within(one, || "network.members".into(), self.members, "1 where train.update is \"paper\", which trains one network")
    }
}

impl TrainSettings {
    /// How the rules are kept.
    pub fn tightness(&self) -> Tightness {
        Tightness { bounds: self.bounds.into(), regions: self.regions }
    }

    /// Whether Algorithm 1 is followed to the letter.
    pub fn strictly_paper(&self) -> bool {
        self.update == UpdateName::Paper && self.paper.strict
    }

    /// Refuses the first setting outside its range.
    ///
    /// ```
    /// # use deepsade_engine::train::TrainSettings;
    /// let settings = TrainSettings { batch: 0, ..TrainSettings::default() };
    /// assert_eq!(settings.check().unwrap_err().to_string(), "train.batch = 0: must be 1 or above");
    /// ```
    pub fn check(&self) -> Result<(), SettingsError> {
        let rate = self.learning_rate;
        within(rate > 0.0 && rate.is_finite(), || "train.learning_rate".into(), rate, "above 0 and finite")?;
        within((0.0..1.0).contains(&self.momentum), || "train.momentum".into(), self.momentum, "from 0 to below 1")?;
        let decay = self.weight_decay;
        within(decay >= 0.0 && decay.is_finite(), || "train.weight_decay".into(), decay, "0 or above and finite")?;
        within(self.batch >= 1, || "train.batch".into(), self.batch, "1 or above")?;
        within(self.epochs >= 1, || "train.epochs".into(), self.epochs, "1 or above")?;
        within((0.0..=10_000.0).contains(&self.average), || "train.average".into(), self.average, "from 0 to 10000")?;
        let boxes = self.update != UpdateName::Paper || self.bounds == BoundsName::Interval;
        within(boxes, || "train.bounds".into(), "relational", "interval where train.update is paper, whose K' is over boxes")?;
        let weights = self.update != UpdateName::Paper || matches!(self.enforce, Enforce::Auto | Enforce::Weights);
        let which = if self.enforce == Enforce::None { "none" } else { "decode" };
        within(weights, || "train.enforce".into(), which, "weights where train.update is paper, which solves for the weights")?;
        self.paper.check()?;
        within((1..=256).contains(&self.regions), || "train.regions".into(), self.regions, "from 1 to 256")?;
        within(self.decode_nodes >= 1, || "train.decode_nodes".into(), self.decode_nodes, "1 or above")?;
        if let Some(PenaltySettings { weights, .. }) = &self.penalty {
            let ok = !weights.is_empty() && weights.iter().all(|w| *w >= 0.0) && weights.iter().sum::<f64>() <= 1.0 + 1e-9;
            within(ok, || "train.penalty.weights".into(), format!("{weights:?}"), "0 or above each, and at most 1 together")?;
            let free = self.enforce == Enforce::None;
            within(free, || "train.penalty".into(), "given", "left out unless train.enforce is \"none\"")?;
        }
        if let Some(ClassWeight::Given(weights)) = &self.class_weight {
            let bad = weights.iter().find(|(_, w)| !(w.is_finite() && **w >= 0.0));
            let shown = bad.map(|(class, w)| format!("{class} = {w}")).unwrap_or_default();
            within(bad.is_none(), || "train.class_weight".into(), shown, "0 or above and finite for every class")?;
        }
        Ok(())
    }
}

pub(super) fn within(
    ok: bool,
    field: impl FnOnce() -> String,
    value: impl std::fmt::Display,
    range: &'static str,
) -> Result<(), SettingsError> {
    if ok { Ok(()) } else { Err(SettingsError::OutOfRange { field: field(), value: value.to_string(), range }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_gives_the_documented_defaults() {
        let train: TrainSettings = toml::from_str("").unwrap();
        assert_eq!(train, TrainSettings::default());
        let network: NetworkSettings = toml::from_str("").unwrap();
        assert_eq!((network.hidden, network.activation), (vec![50, 30, 10], ActivationName::Relu));
    }

    #[test]
    fn names_are_read_and_unknown_ones_refused() {
        let text = "optimiser = 'sgd'\nupdate = 'paper'\nenforce = 'weights'\npatience = 3";
        let train: TrainSettings = toml::from_str(text).unwrap();
        assert_eq!((train.optimiser, train.update, train.enforce), (OptimiserName::Sgd, UpdateName::Paper, Enforce::Weights));
        assert!(toml::from_str::<TrainSettings>("optimizer = 'sgd'").is_err());
        assert!(toml::from_str::<NetworkSettings>("activation = 'gelu'").is_err());
    }

    #[test]
    fn each_refusal_names_field_value_and_range() {
        let ok = TrainSettings::default;
        for (settings, message) in [
            (TrainSettings { learning_rate: 0.0, ..ok() }, "train.learning_rate = 0: must be above 0 and finite"),
            (TrainSettings { learning_rate: f32::NAN, ..ok() }, "train.learning_rate = NaN: must be above 0 and finite"),
            (TrainSettings { momentum: 1.0, ..ok() }, "train.momentum = 1: must be from 0 to below 1"),
            (TrainSettings { weight_decay: -1.0, ..ok() }, "train.weight_decay = -1: must be 0 or above and finite"),
            (TrainSettings { average: -1.0, ..ok() }, "train.average = -1: must be from 0 to 10000"),
            (TrainSettings { epochs: 0, ..ok() }, "train.epochs = 0: must be 1 or above"),
        ] {
            assert_eq!(settings.check().unwrap_err().to_string(), message);
        }
        assert_eq!(ok().check(), Ok(()));
        let wide = NetworkSettings { hidden: vec![3, 0], ..NetworkSettings::default() };
        assert_eq!(wide.check().unwrap_err().to_string(), "network.hidden[1] = 0: must be from 1 to 65536");
        assert!(NetworkSettings { hidden: vec![65536, 65536], ..NetworkSettings::default() }.check().is_err());
        assert_eq!(NetworkSettings { hidden: vec![], ..NetworkSettings::default() }.check(), Ok(()));
    }
}
