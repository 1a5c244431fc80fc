//! Why there is no guard for some rules, and what stands in the way of one.

use deepsade_spec::{CutError, SchemaError};
use thiserror::Error;

/// Why no guard can be set up.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum GuardError {
    /// A rule falls into too many cells.
    #[error(
        "rule '{rule}' falls into more than {most} cells, or into cells of too many conditions in all, to be enforced through the weights; \
         split it into simpler rules"
    )]
    TooManyCells {
        /// The rule.
        rule: String,
        /// The limit.
        most: usize,
    },
    /// No last layer satisfies the rules, or none was found.
    #[error("no last layer {} {} for every input: {why}", if .why.is_firm() { "satisfies" } else { "was found that satisfies" }, names(.rules))]
    Infeasible {
        /// The smallest set of rules for which there is none.
        rules: Vec<String>,
        /// What stands in the way.
        why: Obstacle,
    },
    /// It was told to end.
    #[error("it was stopped before a last layer was found for which the rules hold")]
    Stopped,
    /// The domain can't be used.
    #[error("{0}")]
    Domain(SchemaError),
    /// Nor split.
    #[error("{0}")]
    Cut(CutError),
}

/// Why rules can't be kept by a last layer.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum Obstacle {
    /// Two sides of a rule must be equal.
    #[error(
        "an equality leaves no margin for rounding in float32; the output step keeps it, or says which tolerance it can keep (enforce = \"decode\")"
    )]
    Equality,
    /// In exact arithmetic there is one.
    #[error("rounding in float32 takes a margin of about {needed:.1e} on each side, which the rule does not leave; widen it")]
    NoMargin {
        /// By how much the outputs must stay on the safe side, in the rule's units.
        needed: f64,
    },
    /// With a margin there is none, by linear programming.
    #[error(
        "no affine function of the features that the rule mentions keeps it with a margin, and the hidden units are not bounded tightly \
         enough to help; make the rule wider, or enforce it by decoding (enforce = \"decode\")"
    )]
    NotAffine,
    /// The rule has alternatives, and not all ways to combine them were tried.
    #[error(
        "none of the ways to combine the alternatives and conditions of the rule that were tried leaves an affine function of the \
         features that it mentions, which does not prove that there is none; make the rule wider, or enforce it by decoding \
         (enforce = \"decode\")"
    )]
    NotFound,
}

impl Obstacle {
    /// Whether it is proved that there is none, not only that none was found.
    pub fn is_firm(self) -> bool {
        // Without any margin, at a border of the domain, there may still be one.
        !matches!(self, Self::NotFound | Self::NotAffine)
    }
}

fn names(rules: &[String]) -> String {
    let quoted: Vec<String> = rules.iter().map(|r| format!("'{r}'")).collect();
    quoted.join(" and ")
}
