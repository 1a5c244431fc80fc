//! A rule file enters, its settings leave, checked; with its data, everything that training and `explain` work on.

use std::path::{Path, PathBuf};

use deepsade_spec::{NormalSpec, RuleError, RuleText, Schema, compile, duplicate_name};
use serde::Deserialize;
use thiserror::Error;

use crate::data::{self, DataError, DataSettings, Loaded, Overrides, Progress, Request, TaskSettings};
use crate::train::{NetworkSettings, SettingsError, TrainSettings};

/// A rule file, read and checked; its data not yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Where it was read from.
    pub path: PathBuf,
    /// `[data]`, if the file names any data.
    pub data: Option<DataSettings>,
    /// `[features.NAME]`.
    pub features: Overrides,
    /// `[task]`.
    pub task: TaskSettings,
    /// `[network]`.
    pub network: NetworkSettings,
    /// `[train]`.
    pub train: TrainSettings,
    /// `[[rule]]`.
    pub rules: Vec<RuleText>,
    one_hot: deepsade_spec::OneHot,
}

/// What is wrong with a rule file or with what it names.
#[derive(Debug, Error)]
pub enum ProblemError {
    /// The file can't be read.
    #[error("can't read the rule file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is no valid TOML, or has unknown or wrong entries.
    #[error("{}: {message}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// The place and what was expected.
        message: String,
    },
    /// The file is too large to be a rule file.
    #[error("{}: {bytes} bytes is too large for a rule file (at most {MAX_BYTES}); is this a data file?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// Two rules of one name.
    #[error("two rules are called '{0}'; give each its own name")]
    DuplicateRule(String),
    /// A setting outside its range.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Data that can't be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Rules that can't be read.
    #[error("{}: {} of the rules can't be read", path.display(), errors.len())]
    Rules {
        /// The file.
        path: PathBuf,
        /// What is wrong with each.
        errors: Vec<RuleError>,
    },
}

const MAX_BYTES: u64 = 4 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    data: Option<DataSettings>,
    #[serde(default)]
    features: Overrides,
    task: TaskSettings,
    #[serde(default)]
    network: NetworkSettings,
    #[serde(default)]
    train: TrainSettings,
    #[serde(default)]
    rule: Vec<RuleText>,
}

impl Problem {
    /// Reads and checks a rule file.
    pub fn read(path: &Path) -> Result<Self, ProblemError> {
        let unreadable = |source| ProblemError::Unreadable { path: path.into(), source };
        let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
        if bytes > MAX_BYTES {
            return Err(ProblemError::TooLarge { path: path.into(), bytes });
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        Self::parse(&text, path)
    }

    /// Checks the text of a rule file; `path` is where data files are looked for first.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ProblemError> {
        let File { data, features, task, mut network, train, rule } = toml::from_str(text)
            .map_err(|e| ProblemError::Toml { path: path.into(), message: e.to_string().trim_end().to_string() })?;
        network.check()?;
        let folder = path.parent().unwrap_or(Path::new(""));
        network.trunk = network.trunk.map(|trunk| folder.join(trunk));
        train.check()?;
        if let Some(data) = &data {
            data.check()?;
        }
        if let Some(name) = duplicate_name(&rule) {
            return Err(ProblemError::DuplicateRule(name.into()));
        }
        let one_hot = data.as_ref().map(|d| d.one_hot).unwrap_or_default();
        let data = data.filter(|d| d.file.is_some() || d.recipe.is_some());
        Ok(Self { path: path.into(), data, features, task, network, train, rules: rule, one_hot })
    }

    /// Reads the data, if there are any, and compiles the rules.
    pub fn load(
        &self,
        data_dir: Option<&Path>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(NormalSpec, Option<Loaded>), ProblemError> {
        let loaded = match &self.data {
            Some(data) => {
                let rule_file_dir = self.path.parent().unwrap_or(Path::new("."));
                let request = Request { data, task: &self.task, overrides: &self.features, rule_file_dir, data_dir };
                Some(data::load(request, progress)?)
            }
            None => None,
        };
        let schema = match &loaded {
            Some(loaded) => loaded.schema.clone(),
            None => data::schema_without_data(&self.features, &self.task, self.one_hot)?,
        };
        Ok((self.compile(&schema)?, loaded))
    }

    fn compile(&self, schema: &Schema) -> Result<NormalSpec, ProblemError> {
        compile(&self.rules, schema).map_err(|errors| ProblemError::Rules { path: self.path.clone(), errors })
    }
}
