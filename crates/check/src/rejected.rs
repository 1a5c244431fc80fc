//! Where a check ended and why, as data.

mod words;

use deepsade_spec::Trend;

/// A certificate that proves nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejected {
    /// Where.
    pub at: Step,
    /// Why.
    pub why: Why,
}

/// Where a check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// In a part of the input, before any proof.
    Input(InputPart),
    /// In the proof of a rule between two inputs.
    Pair {
        /// Its index among these.
        rule: usize,
        /// Its name.
        name: String,
    },
    /// In the proof of a rule.
    Rule {
        /// Its index.
        rule: usize,
        /// Its name.
        name: String,
        /// Sides taken from the root of its tree on; true is above.
        path: Vec<bool>,
        /// The cell of its negation, at a leaf.
        cell: Option<usize>,
    },
}

/// What is given to a check, part by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputPart {
    /// The certificate's text.
    Certificate,
    /// The model's file.
    Model,
    /// The hash of that file, which the certificate states.
    ModelHash,
    /// Features, levels and outputs, which the model states.
    Schema,
    /// What fills in missing values.
    Filling,
    /// What is claimed of it.
    Claim,
    /// The rules.
    Rules,
    /// The hash of the rules, which the certificate states.
    RulesHash,
    /// The rules between two inputs.
    Pairs,
    /// The inputs of the graph.
    Inputs,
    /// The table that a network chooses from.
    Decode,
    /// The output step.
    Step,
    /// The bounds that outputs are clipped to.
    Clips,
    /// Outputs that must be whole numbers.
    Whole,
    /// The arithmetic of the proof.
    Arithmetic,
    /// The domain: some value may overflow on it.
    Range,
}

/// Why a check ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// The weighted sum of a cell's atoms can reach so much.
    NotRefuted(f64),
    /// An output does not move with a feature as the rule needs.
    Trend(Box<LostTrend>),
    /// Slopes and rounding allow such a change.
    Changes(f64),
    /// A slope may be as far below 0.
    Falls(f64),
    /// It was asked to stop.
    Stopped,
    /// Something is not as it must be.
    Words(String),
}

/// An output that does not move with a feature as a rule needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostTrend {
    /// The feature.
    pub feature: String,
    /// The output.
    pub output: String,
    /// What it must do as the feature rises.
    pub asked: Trend,
    /// What is known of it.
    pub found: Trend,
    /// Where that begins: units from the output back.
    pub at: String,
}

impl<T: Into<String>> From<T> for Why {
    fn from(words: T) -> Self {
        Self::Words(words.into())
    }
}
