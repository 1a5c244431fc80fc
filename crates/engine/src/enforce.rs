//! Rules and settings enter; where the rules are enforced leaves, and why.
//!
//! Once a network is trained, [`weights`], [`decode`] or [`nearest`] writes it down with its certificate; [`penalty`] only dissuades it
//! from breaking rules.

pub mod decode;
pub mod nearest;
pub mod penalty;
mod usual;
pub mod weights;

use std::sync::Arc;

use deepsade_output::decode::{DecodeError, Decoder};
use deepsade_spec::{NormalSpec, Task};

use crate::audit::audit;
use crate::train::{Enforce, TrainSettings, UpdateName};
pub use usual::usual_outputs;

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
}

/// Where, and why there.
#[derive(Debug, Clone)]
pub struct Decision {
    /// Where.
    pub means: EnforcedBy,
    /// Why, in a sentence.
    pub why: String,
}

impl EnforcedBy {
    /// The word of the settings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Nowhere => "none",
            Self::Weights => "weights",
            Self::Decode(_) | Self::Nearest => "decode",
        }
    }
}

/// Decides where the rules of a problem are enforced; with `"auto"` labels and rankings are decoded where they can be.
pub fn decide(spec: &NormalSpec, settings: &TrainSettings) -> Result<Decision, DecodeError> {
    let say = |means: EnforcedBy, why: &str| Ok(Decision { means, why: why.into() });
    let labels = matches!(spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. });
    match settings.enforce {
        _ if spec.rules.is_empty() => say(EnforcedBy::Nowhere, "there are no rules"),
        Enforce::None => say(EnforcedBy::Nowhere, "the settings say so"),
        Enforce::Weights => say(EnforcedBy::Weights, "the settings say so"),
        Enforce::Decode if matches!(spec.schema.task, Task::Regression { .. }) => say(EnforcedBy::Nearest, "the settings say so"),
        Enforce::Decode => say(decoded(Decoder::new(spec, settings.decode_nodes)?), "the settings say so"),
        Enforce::Auto if settings.update == UpdateName::Paper => {
            say(EnforcedBy::Weights, "update = \"paper\" solves for the weights")
        }
        Enforce::Auto if labels => match Decoder::new(spec, settings.decode_nodes) {
            Ok(decoder) => {
                let found = audit(spec);
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
            Err(error) => say(EnforcedBy::Weights, &format!("decoding is not possible: {error}")),
        },
        Enforce::Auto => say(EnforcedBy::Weights, "for numbers and classes the result is a plain network, at little cost"),
    }
}

fn decoded(decoder: Decoder) -> EnforcedBy {
    EnforcedBy::Decode(Arc::new(decoder))
}
