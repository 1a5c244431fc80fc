//! The methods that are compared: a name enters, the settings of its training leave.

use std::fmt;

use deepsade_engine::problem::{Problem, ProblemError};
use deepsade_engine::train::{Enforce, NetworkSettings, PenaltyName, PenaltySettings, TrainSettings, UpdateName};
use serde::{Deserialize, Serialize};

/// A way to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Rules in the weights of the last layer, gated where they scale with a feature.
    Deepsade,
    /// The same without a gate.
    DeepsadePlain,
    /// The paper's Algorithm 1: line search, then `MaxSMT` by branch and bound.
    DeepsadePaper,
    /// Rules in the output step: trained through it or put behind the free network, the better on validation.
    DeepsadeDecode,
    /// What `train` hands over by default: weights or output step, the better on validation.
    DeepsadeAuto,
    /// No rules.
    Ffn,
    /// The paper's REG: distances to obeying, a weight for each rule.
    Reg,
    /// The paper's SL: semantic loss.
    Sl,
    /// The paper's SBR: fuzzy truth.
    Sbr,
}

impl Method {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 9] = [
        Self::Deepsade,
        Self::DeepsadePlain,
        Self::DeepsadePaper,
        Self::DeepsadeDecode,
        Self::DeepsadeAuto,
        Self::Ffn,
        Self::Reg,
        Self::Sl,
        Self::Sbr,
    ];

    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deepsade => "deepsade",
            Self::DeepsadePlain => "deepsade-plain",
            Self::DeepsadePaper => "deepsade-paper",
            Self::DeepsadeDecode => "deepsade-decode",
            Self::DeepsadeAuto => "deepsade-auto",
            Self::Ffn => "ffn",
            Self::Reg => "reg",
            Self::Sl => "sl",
            Self::Sbr => "sbr",
        }
    }

    /// The method of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// Whether it proves its rules.
    pub fn guarantees(self) -> bool {
        matches!(self, Self::Deepsade | Self::DeepsadePlain | Self::DeepsadePaper) || self.chooses()
    }

    /// Whether it trains the free network first, then what may be enforced, and takes the best on validation.
    pub fn chooses(self) -> bool {
        matches!(self, Self::DeepsadeDecode | Self::DeepsadeAuto)
    }

    /// The row of the paper's tables that it is set beside.
    pub fn in_paper(self) -> &'static str {
        if self.guarantees() { "deepsade" } else { self.name() }
    }

    /// The penalty that its weights are chosen for.
    pub fn penalty(self) -> Option<PenaltyName> {
        match self {
            Self::Reg => Some(PenaltyName::Hinge),
            Self::Sl => Some(PenaltyName::Semantic),
            Self::Sbr => Some(PenaltyName::Fuzzy),
            _ => None,
        }
    }

    /// Whether each rule has a weight of its own.
    pub fn weighs_each_rule(self) -> bool {
        self == Self::Reg
    }

    /// A rule file set to this method, and to so many epochs; `weights` are those of the penalty.
    pub fn apply(self, problem: Problem, epochs: Option<usize>, weights: &[f64]) -> Result<Problem, ProblemError> {
        problem.with_settings(|network, settings| self.settings(network, settings, epochs, weights))
    }

    fn settings(self, network: &mut NetworkSettings, settings: &mut TrainSettings, epochs: Option<usize>, weights: &[f64]) {
        settings.epochs = epochs.unwrap_or(settings.epochs);
        settings.enforce = match self {
            Self::Deepsade | Self::DeepsadePlain | Self::DeepsadePaper => Enforce::Weights,
            Self::DeepsadeDecode => Enforce::Decode,
            Self::DeepsadeAuto => Enforce::Auto,
            Self::Ffn | Self::Reg | Self::Sl | Self::Sbr => Enforce::None,
        };
        settings.update = if self == Self::DeepsadePaper { UpdateName::Paper } else { UpdateName::Project };
        settings.penalty = self.penalty().map(|kind| PenaltySettings { kind, weights: weights.to_vec() });
        if self == Self::DeepsadePlain {
            network.gate = "none".into();
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for method in Method::ALL {
            assert_eq!(Method::named(method.name()), Some(method));
            assert_eq!(serde_json::to_value(method).unwrap(), method.name());
        }
        assert_eq!(Method::named("DeepSaDe"), None);
    }
}
