//! A rejection enters, its words leave: for people, and read by nothing here.

use std::fmt::{Display, Formatter, Result};

use deepsade_spec::Trend;

use super::{InputPart, LostTrend, Step, Why};

impl InputPart {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certificate => "certificate",
            Self::Model => "model",
            Self::ModelHash => "model hash",
            Self::Schema => "schema",
            Self::Filling => "missing values",
            Self::Claim => "claim",
            Self::Rules => "rules",
            Self::RulesHash => "rules hash",
            Self::Pairs => "pairs",
            Self::Inputs => "inputs",
            Self::Decode => "decode",
            Self::Step => "step",
            Self::Clips => "clips",
            Self::Whole => "whole",
            Self::Arithmetic => "arithmetic",
            Self::Range => "range",
        }
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Input(part) => f.write_str(part.name()),
            Self::Pair { name, .. } => write!(f, "rule {name:?}"),
            Self::Rule { name, path, cell, .. } => {
                write!(f, "rule {name:?}, region root")?;
                path.iter().try_for_each(|above| f.write_str(if *above { "/above" } else { "/below" }))?;
                cell.map_or(Ok(()), |cell| write!(f, ", cell {cell}"))
            }
        }
    }
}

impl Display for Why {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NotRefuted(most) => write!(f, "the weighted sum of the atoms can reach {most:.9e}: not refuted"),
            Self::Trend(lost) => {
                let LostTrend { feature, output, asked, found, at } = &**lost;
                let (asked, found) = (in_words(*asked), in_words(*found));
                write!(f, "as {feature:?} rises, {output} {found}, and it must be shown that it {asked}: {at}")
            }
            Self::Changes(change) => write!(f, "slopes and rounding allow a change of {change:.9e}"),
            Self::Falls(slope) => write!(f, "a slope may be as low as -{slope:.9e}"),
            Self::Stopped => f.write_str("it was stopped"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

/// What a trend means.
fn in_words(trend: Trend) -> &'static str {
    match trend {
        Trend::Constant => "stays the same",
        Trend::Up => "never falls",
        Trend::Down => "never rises",
        Trend::Unknown => "may rise and fall",
    }
}
