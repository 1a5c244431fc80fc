//! Use cases enter, their rules and rows leave; read once, kept while a run needs them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use deepsade_data::{self as data, Loaded, Split};
use deepsade_engine::evaluate::DataSource;
use deepsade_engine::fit::{self, Rows};
use deepsade_engine::pipeline::{Checked, PipelineError, Ready};
use deepsade_engine::problem::Problem;
use deepsade_spec::NormalSpec;

use super::ReproduceError;
use super::case::UseCase;

/// A use case with its data read.
pub struct PreparedCase {
    /// Its rule file.
    pub problem: Problem,
    /// Its rules.
    pub spec: Arc<NormalSpec>,
    loaded: Loaded,
}

/// Rows with the labels of one repetition.
pub struct Dealt {
    /// The use case.
    pub prepared: Arc<PreparedCase>,
    /// Encoded, with injected labels.
    pub rows: Arc<Rows>,
}

impl PreparedCase {
    /// Where its rows came from.
    pub fn source(&self) -> Option<DataSource> {
        DataSource::of(&self.loaded.file, self.loaded.table.rows())
    }
}

impl Dealt {
    /// The rows for one training of the use case, with settings of its own.
    pub fn ready(&self, settings: Checked, split: Split, seed: u64) -> Result<Ready, PipelineError> {
        settings.with(self.prepared.spec.clone(), self.rows.clone(), split, seed)
    }
}

/// What is read at present.
pub struct Stock {
    data: PathBuf,
    prepared: Mutex<Vec<(String, Arc<PreparedCase>)>>,
    dealt: Mutex<Vec<(CaseSeed, Arc<Dealt>)>>,
}

/// Use case and seed.
type CaseSeed = (String, u64);

impl Stock {
    /// Nothing read yet.
    pub fn new(data: &Path) -> Self {
        Self { data: data.into(), prepared: Mutex::default(), dealt: Mutex::default() }
    }

    /// The rows of a use case, relabelled by a seed. Rows that nobody uses any more are dropped.
    pub fn rows(&self, case: &UseCase, seed: u64) -> Result<Arc<Dealt>, ReproduceError> {
        // Held while reading, so that two runs do not read the same.
        let mut dealt = self.dealt.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let key: CaseSeed = (case.name.clone(), seed);
        if let Some((_, found)) = dealt.iter().find(|(k, _)| *k == key) {
            return Ok(found.clone());
        }
        dealt.retain(|(_, rows)| Arc::strong_count(rows) > 1);
        let prepared = self.prepared(case)?;
        let settings = prepared.problem.data.as_ref().expect("a use case names its data");
        let rows = fit::rows(&prepared.spec, &prepared.loaded, settings, seed)?;
        let breaking = rows.breaking.iter().filter(|b| **b).count();
        let columns = prepared.spec.schema.columns().len();
        for (what, expected, found) in [
            ("rows", case.rows, rows.all.rows()),
            ("input columns", case.columns, columns),
            ("rows whose label breaks a rule", case.breaking, breaking),
        ] {
            if expected != found {
                let file = prepared.loaded.file.clone();
                return Err(ReproduceError::Unexpected { case: case.name.clone(), file, what, expected, found });
            }
        }
        let found = Arc::new(Dealt { prepared, rows: Arc::new(rows) });
        dealt.push((key, found.clone()));
        Ok(found)
    }

    fn prepared(&self, case: &UseCase) -> Result<Arc<PreparedCase>, ReproduceError> {
        let mut prepared = self.prepared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, found)) = prepared.iter().find(|(name, _)| *name == case.name) {
            return Ok(found.clone());
        }
        prepared.retain(|(_, p)| Arc::strong_count(p) > 1);
        let problem = case.problem(&self.data)?;
        let (spec, loaded) = problem.load(&mut |_| {})?;
        let loaded = loaded.expect("a use case names its data");
        let found = Arc::new(PreparedCase { problem, spec: Arc::new(spec), loaded });
        prepared.push((case.name.clone(), found.clone()));
        Ok(found)
    }

    /// Where the data of a use case are.
    pub fn file(&self, case: &UseCase) -> Result<PathBuf, ReproduceError> {
        let problem = case.problem(&self.data)?;
        let settings = problem.data.as_ref().expect("a use case names its data");
        let name = match settings.recipe {
            Some(recipe) => recipe.file(settings.file.as_deref()),
            None => settings.file.clone().unwrap_or_default(),
        };
        Ok(data::locate(&name, &self.data, Some(&self.data))?)
    }
}
