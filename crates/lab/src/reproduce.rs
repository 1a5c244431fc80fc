//! The paper's experiments: a list of use cases and methods enters, results.jsonl, tables and figures leave.
//!
//! [`experiment`] lists the runs, [`stock`] reads the data, [`runner`] deals the runs out to threads, [`measure`] trains and scores one,
//! [`tune`] chooses weights of penalties, [`ledger`] keeps what is finished, [`table`], [`mod@print`] and [`figures`] show it.

pub mod case;
pub mod experiment;
pub mod figures;
pub mod ledger;
pub mod measure;
pub mod method;
pub mod print;
pub mod runner;
mod significance;
pub mod stock;
pub mod table;
pub mod tune;

use std::io;
use std::path::PathBuf;

use deepsade_data::DataError;
use deepsade_engine::artifact::ArtifactError;
use deepsade_engine::fit::FitError;
use deepsade_engine::pipeline::PipelineError;
use deepsade_engine::problem::ProblemError;
use deepsade_engine::verify::VerifyError;
use thiserror::Error;

use crate::results::ResultsError;

/// Why an experiment can't run or can't be shown.
#[derive(Debug, Error)]
pub enum ReproduceError {
    /// No such use case.
    #[error("no use case is called '{name}'; there are {known}, and 'all'")]
    UnknownCase {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// No such method.
    #[error("no method is called '{name}'; there are {known}")]
    UnknownMethod {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A method that no use case has.
    #[error("method '{name}' does not apply to {cases}; docs/reproduce.md says which methods each use case has")]
    NotApplicable {
        /// The method.
        name: String,
        /// The use cases.
        cases: String,
    },
    /// Nothing to repeat.
    #[error("--repeats {repeats} --folds {folds}: at least 1 repeat and 2 folds")]
    Counts {
        /// As given.
        repeats: u64,
        /// As given.
        folds: usize,
    },
    /// Something is there.
    #[error("{} is not empty: {}", out.display(), if *resumable { "add --resume to go on with what is there, or name another folder with --out" } else { "name another folder with --out" })]
    NotEmpty {
        /// The folder.
        out: PathBuf,
        /// Whether it is an experiment's.
        resumable: bool,
    },
    /// Somebody else writes there.
    #[error("another `deepsade reproduce` is writing to {}; wait for it, or name another folder with --out", out.display())]
    Busy {
        /// The folder.
        out: PathBuf,
    },
    /// Results of something else.
    #[error("can't go on with {}: {what}. Its results would not belong together; name another folder with --out", out.display())]
    Differs {
        /// The folder.
        out: PathBuf,
        /// What differs.
        what: String,
    },
    /// The data are not those of the paper.
    #[error("{case}: {} has {found} {what}, expected {expected}; it is not the file that docs/data.md describes", file.display())]
    Unexpected {
        /// The use case.
        case: String,
        /// The file.
        file: PathBuf,
        /// What was counted.
        what: &'static str,
        /// As the paper has it.
        expected: usize,
        /// As it is.
        found: usize,
    },
    /// A folder that can't be used.
    #[error("can't use the folder {}: {source}", dir.display())]
    Folder {
        /// The folder.
        dir: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that can't be read or written.
    #[error("can't read or write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What the results are of can't be read.
    #[error("{}: {source}; is this the folder of an experiment?", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A run that failed.
    #[error("{place}: {source}")]
    Run {
        /// Which.
        place: String,
        /// Why.
        source: Box<ReproduceError>,
    },
    /// A rule file.
    #[error("{0}")]
    Problem(#[from] ProblemError),
    /// Data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Training.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The Adversity Index.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// Files of a model.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// A model that can't be finished.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// Earlier results.
    #[error(transparent)]
    Results(#[from] ResultsError),
}
