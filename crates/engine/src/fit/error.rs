//! Why rows can't be prepared or a model can't be trained.

use std::path::PathBuf;

use deepsade_data::{DataError, InjectError};
use deepsade_output::decode::DecodeError;
use deepsade_output::nearest::AllowedError;
use deepsade_spec::shown;
use thiserror::Error;

use crate::artifact;
use crate::enforce::penalty::PenaltyError;
use crate::enforce::step::StepError;
use crate::enforce::step::clip::NoClips;
use crate::enforce::weights::CertifyError;
use crate::guard::GuardError;
use crate::train::TrainError;

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
    /// The rules can't be kept by clipping.
    #[error(transparent)]
    Clips(#[from] NoClips),
    /// Weights of classes that are none.
    #[error("train.class_weight: {}", .unknown.as_ref().map_or("only binary and multiclass tasks have classes".into(), |name| {
        format!("there is no class '{name}'")
    }))]
    ClassWeight {
        /// The class that there is not; `None` for a task without classes.
        unknown: Option<String>,
    },
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
    /// Rules that a gate would keep, whose feature reaches 0.
    #[error("{why}; or let the range of '{}', with which the rules scale, start at 0.001, or state whole numbers: then it can gate the outputs", shown::name(.feature))]
    NearZero {
        /// The feature.
        feature: String,
        /// Why they are not kept without.
        why: Box<FitError>,
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
    /// Whether it ends everything: what was abandoned, or can't be saved or gone on with, is no word on a way or a member.
    pub(crate) fn ends_all(&self) -> bool {
        matches!(self, Self::Abandoned | Self::Train(TrainError::Checkpoint(_)))
    }

    /// Why nothing came of some ways: each reason once.
    pub(crate) fn no_way(failed: Vec<(&'static str, Self)>) -> Self {
        let mut ways: Vec<(&str, Self)> = Vec::new();
        for (how, why) in failed {
            if !ways.iter().any(|(_, said)| said.is_the_same_as(&why)) {
                ways.push((how, why));
            }
        }
        match ways.len() {
            0 => Self::NothingToTry,
            1 => ways.remove(0).1,
            _ => Self::NoWay { ways },
        }
    }

    /// Whether both say the same of the output step, through which there are two ways.
    fn is_the_same_as(&self, other: &Self) -> bool {
        let (Self::Step(a), Self::Step(b)) = (self, other) else { return false };
        match (&**a, &**b) {
            (StepError::Make(a), StepError::Make(b)) => a == b,
            (StepError::Fallback(a), StepError::Fallback(b)) => a == b,
            (StepError::Tail(a), StepError::Tail(b)) => a == b,
            _ => false,
        }
    }

    /// Whether it says of the rules that they can't be kept this way: a finding, and no mistake in what was asked.
    pub fn is_about_rules(&self) -> bool {
        match self {
            Self::Train(TrainError::Guard(GuardError::Infeasible { .. })) | Self::Clips(_) => true,
            Self::Step(why) => match &**why {
                StepError::Make(why) => why.is_about_rules(),
                why => matches!(why, StepError::Fallback(_)),
            },
            Self::NoWay { ways } => ways.iter().any(|(_, why)| why.is_about_rules()),
            Self::NearZero { why, .. } => why.is_about_rules(),
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

#[cfg(test)]
mod tests {
    use deepsade_check::StepFault;

    use super::*;

    #[test]
    fn a_reason_of_two_ways_is_said_once() {
        let tail = |why: StepFault| FitError::from(StepError::Tail(why));
        let (x, y) = (|| tail(StepFault::Sum), || tail(StepFault::Count));
        let FitError::NoWay { ways } = FitError::no_way(vec![("a", x()), ("b", y()), ("c", x())]) else {
            panic!("there are two reasons")
        };
        assert_eq!(ways.iter().map(|(how, _)| *how).collect::<Vec<_>>(), ["a", "b"]);
        assert!(matches!(FitError::no_way(vec![("a", x()), ("b", x())]), FitError::Step(_)));
        // Words may agree where reasons don't.
        let other = FitError::Gate { name: "g".into(), why: "x" };
        assert!(matches!(FitError::no_way(vec![("a", x()), ("b", other)]), FitError::NoWay { ways } if ways.len() == 2));
        assert!(matches!(FitError::no_way(Vec::new()), FitError::NothingToTry));
    }
}
