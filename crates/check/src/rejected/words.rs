//! A rejection enters, its words leave: for people, and read by nothing here.

use std::fmt::{Display, Formatter, Result};

use super::{Step, Why};

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Input(part) => f.write_str(part),
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
            Self::Stopped => f.write_str("it was stopped"),
            Self::Words(words) => f.write_str(words),
        }
    }
}
