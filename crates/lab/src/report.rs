//! A folder of a training run or of an experiment enters, one HTML page that needs nothing else leaves.
//!
//! "Proved" stands on the page only where the checker, run on the files of the folder, says so.

mod dossier;
mod experiment;
mod explorer;
mod html;
mod judged;
mod pairs;
mod payload;
mod proof;
mod rules;
mod run;
mod sections;

use std::path::{Path, PathBuf};

use deepsade_data::DataError;
use deepsade_engine::artifact::ArtifactError;
use deepsade_engine::files::MODEL;
use thiserror::Error;

pub use proof::ProofStatus;
pub use run::RunFolder;

use crate::results::{self, ResultsError};

/// Why there is no page.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The folder holds nothing to report on.
    #[error(
        "{}: neither {} (a training run) nor {} (an experiment) is there; give the folder that --out named",
        dir.display(), MODEL, results::FILE
    )]
    Nothing {
        /// The folder.
        dir: PathBuf,
    },
    /// The model can't be read.
    #[error(transparent)]
    Model(#[from] ArtifactError),
    /// Rows to explore can't be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The runs of an experiment can't be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// Rows that belong to no model.
    #[error("--data gives rows to a model; {} is an experiment's folder, without one", dir.display())]
    RowsWithoutModel {
        /// The folder.
        dir: PathBuf,
    },
}

/// A page, and what it says about the proof.
#[derive(Debug, Clone)]
pub struct Page {
    /// The page.
    pub html: String,
    /// What the checker said; `None` for an experiment.
    pub proof: Option<ProofStatus>,
    /// The same in a line; empty for an experiment.
    pub said: String,
}

/// Makes the page for a folder; `rows` is a data file whose rows can be explored.
pub fn report(dir: &Path, rows: Option<&Path>) -> Result<Page, ReportError> {
    if dir.join(MODEL).exists() {
        return Ok(RunFolder::read(dir, rows)?.page());
    }
    if !dir.join(results::FILE).exists() {
        return Err(ReportError::Nothing { dir: dir.into() });
    }
    if rows.is_some() {
        return Err(ReportError::RowsWithoutModel { dir: dir.into() });
    }
    let html = experiment::page(dir, &results::read(&dir.join(results::FILE))?);
    Ok(Page { html, proof: None, said: String::new() })
}

impl RunFolder {
    /// Makes its page.
    pub fn page(self) -> Page {
        let html = run::page(&self);
        let said = self.proof.in_words(self.spec.as_ref().map_or(0, deepsade_spec::NormalSpec::count));
        Page { html, proof: Some(self.proof), said }
    }
}

#[cfg(test)]
mod tests;
