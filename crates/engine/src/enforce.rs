//! Rules and settings enter; where the rules are enforced leaves, and why.
//!
//! Once a network is trained, [`weights`] or [`step`] writes it down with its certificate; `decode` and `nearest` let training know of
//! the step, [`penalty`] only dissuades it from breaking rules.

mod clipped;
pub mod decode;
mod favoured;
mod nearest;
pub mod penalty;
pub mod step;
pub mod unread;
pub mod weights;

use std::sync::Arc;

use deepsade_output::decode::{DecodeError, Decoder};
use deepsade_spec::{NormalSpec, Task};

use crate::audit::{Audit, audit};
use crate::train::{Enforce, TrainSettings, UpdateName};
use crate::vacuous::binding;
pub use clipped::Clipped;
pub use favoured::favoured;

/// Where rules are enforced.
#[derive(Debug, Clone)]
pub enum EnforcedBy {
    /// Nowhere.
    Nowhere,
    /// In the weights of the last layer.
    Weights,
    /// In the output step, by choosing among valid label sets.
    Decode(Arc<Decoder>),
    /// In the output step, by moving to the nearest outputs that obey the rules.
    Nearest,
    /// In the output step, behind a network that was trained without knowing of it.
    Behind,
    /// In the signs of the weights, as far as two inputs are compared, and in bounds to which the outputs are clipped.
    Clips,
}

/// Where, and why there.
#[derive(Debug, Clone)]
pub struct Decision {
    /// Where.
    pub means: EnforcedBy,
    /// Why, in a sentence.
    pub why: String,
}

impl Decision {
    /// To train what others are compared with.
    pub(crate) fn nowhere() -> Self {
        Self { means: EnforcedBy::Nowhere, why: "to compare with".into() }
    }
}

impl EnforcedBy {
    /// What settings say that ask for it.
    pub fn setting(&self) -> Enforce {
        match self {
            Self::Nowhere => Enforce::None,
            Self::Weights => Enforce::Weights,
            Self::Decode(_) | Self::Nearest | Self::Behind | Self::Clips => Enforce::Decode,
        }
    }

    /// The word of the settings.
    pub fn name(&self) -> &'static str {
        self.setting().name()
    }

    /// A word for each.
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Self::Behind => "behind",
            Self::Clips => "clips",
            other => other.name(),
        }
    }
}

/// The ways in which the rules of a problem may be kept, to be tried one after the other; the first is what [`decide`] says.
pub fn candidates(spec: &NormalSpec, settings: &TrainSettings) -> Result<Vec<Decision>, DecodeError> {
    let spec = &to_keep(spec);
    let first = decide(spec, settings)?;
    let why = |words: &str| format!("it is the best on validation of what is proved{words}");
    let mut all = Vec::new();
    match (&first.means, settings.enforce) {
        (EnforcedBy::Nowhere, _) | (EnforcedBy::Weights, Enforce::Weights) => return Ok(vec![first]),
        (EnforcedBy::Weights, _) if settings.update == UpdateName::Paper => return Ok(vec![first]),
        (EnforcedBy::Weights | EnforcedBy::Clips, _) if !spec.pairs.is_empty() => {
            // Where outputs can't be clipped, trying it says why.
            let clipped = matches!(first.means, EnforcedBy::Clips) || spec.rules.is_empty();
            let clips = (!clipped).then_some(EnforcedBy::Clips);
            let step = || [EnforcedBy::Behind].into_iter().chain(through(spec, settings).ok());
            let behind = unread::unread(spec).filter(|_| is_more_than_pairs(spec)).map(|_| step());
            let others = clips.into_iter().chain(behind.into_iter().flatten());
            return Ok([first].into_iter().chain(others.map(|means| Decision { means, why: why("") })).collect());
        }
        (EnforcedBy::Clips, _) => return Ok(vec![first]),
        (EnforcedBy::Weights, _) => {
            all.push(Decision { means: EnforcedBy::Weights, why: why("") });
            all.extend(through(spec, settings).ok().map(|means| Decision { means, why: why("") }));
        }
        _ => all.push(first),
    }
    if !matches!(all.last(), Some(Decision { means: EnforcedBy::Behind, .. })) {
        let why = all.last().map_or_else(|| why(""), |d| d.why.clone());
        all.push(Decision { means: EnforcedBy::Behind, why });
    }
    Ok(all)
}

/// The rules without those that nothing breaks; all of them where that leaves none, for then there is still something to certify.
fn to_keep(spec: &NormalSpec) -> NormalSpec {
    let bound = binding(spec);
    if bound.is_empty() { spec.clone() } else { bound }
}

/// Whether there is anything else for an output step to keep.
fn is_more_than_pairs(spec: &NormalSpec) -> bool {
    !spec.rules.is_empty() || !spec.schema.task.whole_outputs().is_empty()
}

/// The output step that training can know of.
fn through(spec: &NormalSpec, settings: &TrainSettings) -> Result<EnforcedBy, DecodeError> {
    match spec.schema.task {
        Task::Regression { .. } => Ok(EnforcedBy::Nearest),
        _ => Decoder::new(spec, settings.decode_nodes).map(decoded),
    }
}

/// Decides where the rules of a problem are enforced; with `"auto"` labels and rankings are decoded where they can be.
pub fn decide(spec: &NormalSpec, settings: &TrainSettings) -> Result<Decision, DecodeError> {
    decide_by(spec, settings, &|| audit(spec))
}

/// The same; the audit is asked for where the decision needs it, which may take long.
pub(crate) fn decide_by(spec: &NormalSpec, settings: &TrainSettings, audit: &dyn Fn() -> Audit) -> Result<Decision, DecodeError> {
    let say = |means: EnforcedBy, why: &str| Ok(Decision { means, why: why.into() });
    let spec = &to_keep(spec);
    let labels = matches!(spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. });
    let whole = !spec.schema.task.whole_outputs().is_empty();
    match settings.enforce {
        _ if spec.is_empty() && !whole => say(EnforcedBy::Nowhere, "there are no rules"),
        Enforce::None => say(EnforcedBy::Nowhere, "the settings say so"),
        Enforce::Weights => say(EnforcedBy::Weights, "the settings say so"),
        Enforce::Decode if !spec.pairs.is_empty() => say(EnforcedBy::Clips, "the settings say so"),
        _ if !spec.pairs.is_empty() && whole => say(EnforcedBy::Clips, "only an output step makes whole numbers"),
        _ if !spec.pairs.is_empty() => say(
            EnforcedBy::Weights,
            "rules between two inputs are kept by the signs of the weights; other rules by the weights, too, by clipping outputs to \
             bounds, where these leave the signs' work alone, or by an output step, where nothing need read what differs",
        ),
        Enforce::Decode => match through(spec, settings) {
            Ok(means) => say(means, "the settings say so"),
            Err(impossible @ DecodeError::Impossible { .. }) => Err(impossible),
            // What training can't know of can still stand behind it.
            Err(_) => say(EnforcedBy::Behind, "the settings say so"),
        },
        Enforce::Auto if settings.update == UpdateName::Paper => {
            say(EnforcedBy::Weights, "update = \"paper\" solves for the weights")
        }
        Enforce::Auto if labels => match Decoder::new(spec, settings.decode_nodes) {
            Ok(decoder) => {
                let found = audit();
                let why = match found.components {
                    _ if found.constant_only => {
                        "through the weights only a constant label set is possible, and the most likely valid set is not bound by that"
                    }
                    Some(n) if n > 1 => {
                        "through the weights predictions are confined to one of several kinds of label sets, and the most likely \
                         valid set is not bound by that"
                    }
                    _ => {
                        "through the weights a rule about several labels holds all their scores back at once, and the most likely \
                         valid set leaves the scores free"
                    }
                };
                say(decoded(decoder), why)
            }
            Err(impossible @ DecodeError::Impossible { .. }) => Err(impossible),
            Err(error) => say(EnforcedBy::Behind, &format!("training can't know of the valid sets: {error}")),
        },
        Enforce::Auto if whole => say(through(spec, settings)?, "only an output step makes whole numbers"),
        Enforce::Auto => say(
            EnforcedBy::Weights,
            "a plain network is preferred, unless the output step is better on validation (of equals, on the training rows) or the weights can't \
             keep them",
        ),
    }
}

fn decoded(decoder: Decoder) -> EnforcedBy {
    EnforcedBy::Decode(Arc::new(decoder))
}
