//! A rule file enters, its settings leave, checked; with its data, everything that training and `explain` work on.

mod plain;
mod report;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use deepsade_data::{
    self as data, CheckedData, DataError, DataSettings, FeatureKind, FeatureOverride, Loaded, Overrides, Progress, Request,
    Table, TaskSettings,
};
use deepsade_output::reader::{BadCutoff, cutoff_of};
use deepsade_spec::{Claim, NormalSpec, OneHot, RuleError, RuleText, Schema, compile, duplicate_name, shown};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::report::ReportSettings;
use crate::artifact::read_at_most;
use crate::by_shape::{self, Shape, StatedSettings};
use crate::rule_files::{self, LabelNames, RuleFileError, RuleTable};
use crate::train::{NetworkSettings, SettingsError, TrainSettings};

/// A rule file, read and checked; its data not yet.
///
/// [`crate::pipeline::Checked`] shows the way from here to a model with a proof.
///
/// ```
/// use std::path::Path;
///
/// use deepsade_engine::problem::Problem;
///
/// let text = r#"
///     [task]
///     kind = "regression"
///     targets = ["rent"]
///     [features]
///     income = { range = [0, 10] }
///     [train]
///     epochs = 3
///     [[rule]]
///     name = "afford"
///     text = "rent <= income"
/// "#;
/// let problem = Problem::parse(text, Path::new("homes.toml"))?;
/// assert_eq!(problem.train().epochs, 3);
/// let (spec, rows) = problem.load(&mut |_| {})?;
/// assert_eq!((spec.rules.len(), rows.is_none()), (1, true));
/// // Settings pass the gate, whoever changes them.
/// assert!(problem.with_settings(|_, train| train.batch = 0).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Where it was read from.
    pub path: PathBuf,
    /// `[data]`, if the file names any data.
    pub data: Option<CheckedData>,
    /// `[features.NAME]`.
    pub features: Overrides,
    /// `[task]`.
    pub task: TaskSettings,
    /// `[[rule]]`.
    pub rules: Vec<RuleText>,
    /// `[report]`.
    pub report: ReportSettings,
    network: NetworkSettings,
    train: TrainSettings,
    stated: StatedSettings,
    one_hot: OneHot,
    /// A further folder to look for data in.
    folder: Option<PathBuf>,
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
    /// A setting in memory is not what it must be.
    #[error("{name}: {message}")]
    Setting {
        /// Table and name.
        name: String,
        /// What is wrong.
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
    /// A rule without a name that can be shown.
    #[error("a rule is called {0:?}; a name is one line of at most {LONGEST_NAME} visible characters")]
    RuleName(String),
    /// Rules of other files.
    #[error(transparent)]
    RuleFile(#[from] RuleFileError),
    /// A setting outside its range.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Data that can't be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// What a model is compared with is left to data that don't tell.
    #[error(
        "{} leaves features, domains or classes to its data, and these don't tell them: {source}. Name the data, or use the rules.toml that \
         training writes beside the model: it states everything",
        path.display()
    )]
    Unstated {
        /// The file.
        path: PathBuf,
        /// What is wrong with the data.
        source: DataError,
    },
    /// Another decision than the model's.
    #[error(
        "{}: `cutoff = {stated}`, but the model decides at a probability of {model}, and rules about the class would be about another \
         decision: state the model's, or train with this one",
        path.display()
    )]
    Cutoff {
        /// The file.
        path: PathBuf,
        /// What it states.
        stated: f64,
        /// The model's.
        model: f64,
    },
    /// A model that does not say where it decides.
    #[error(transparent)]
    NoCutoff(#[from] BadCutoff),
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
/// Characters of a rule's name.
const LONGEST_NAME: usize = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatedProblem {
    data: Option<DataSettings>,
    #[serde(default)]
    features: Overrides,
    #[serde(default)]
    targets: Overrides,
    task: TaskSettings,
    #[serde(default)]
    network: NetworkSettings,
    #[serde(default)]
    train: TrainSettings,
    #[serde(default)]
    report: ReportSettings,
    #[serde(default)]
    rule: Vec<RuleTable>,
}

/// A rule file that states everything, as it is written.
#[derive(Serialize)]
struct StatedTables<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<DataSettings>,
    task: TaskSettings,
    network: &'a NetworkSettings,
    train: &'a TrainSettings,
    #[serde(skip_serializing_if = "ReportSettings::is_empty")]
    report: &'a ReportSettings,
    #[serde(skip_serializing_if = "Overrides::is_empty")]
    targets: Overrides,
    features: Overrides,
    rule: Vec<StatedRule<'a>>,
}

#[derive(Serialize)]
struct StatedRule<'a> {
    name: &'a str,
    text: &'a str,
}

/// The settings that a file states, whatever they are.
#[derive(Deserialize, Default)]
#[serde(default)]
#[expect(clippy::zero_sized_map_values, reason = "serde reads tables into maps, and only the names matter")]
struct Keys {
    network: BTreeMap<String, IgnoredAny>,
    train: BTreeMap<String, IgnoredAny>,
}

impl Problem {
    /// Reads and checks a rule file.
    pub fn read(path: &Path) -> Result<Self, ProblemError> {
        let unreadable = |source| ProblemError::Unreadable { path: path.into(), source };
        let bytes = read_at_most(path, MAX_BYTES).map_err(unreadable)?;
        let bytes = bytes.map_err(|bytes| ProblemError::TooLarge { path: path.into(), bytes })?;
        let text = String::from_utf8(bytes).map_err(|e| unreadable(std::io::Error::new(std::io::ErrorKind::InvalidData, e)))?;
        Self::parse(&text, path)
    }

    /// Checks the text of a rule file; `path` is where data files are looked for first.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ProblemError> {
        let wrong = |e: toml::de::Error| ProblemError::Toml { path: path.into(), message: plain::of_toml(&e) };
        let file: StatedProblem = toml::from_str(text).map_err(wrong)?;
        let keys: Keys = toml::from_str(text).map_err(wrong)?;
        let data = file.data.clone().map(DataSettings::checked).transpose()?;
        Self::checked(file, &keys, data, path)
    }

    /// Checks the tables of a rule file that are in memory, as JSON, for rows that are too: `[data]` names no file and is handed back.
    pub fn in_memory(json: &str) -> Result<(Self, CheckedData), ProblemError> {
        let path = Path::new("settings");
        // A place in text that nobody wrote or sees would only confuse.
        let placeless = |e: &serde_json::Error| {
            let (text, place) = (e.to_string(), format!(" at line {} column {}", e.line(), e.column()));
            text.strip_suffix(&place).unwrap_or(&text).to_owned()
        };
        let mut reader = serde_json::Deserializer::from_str(json);
        let file: StatedProblem = serde_path_to_error::deserialize(&mut reader)
            .map_err(|e| ProblemError::Setting { name: e.path().to_string(), message: plain::words(&placeless(e.inner())) })?;
        reader.end().map_err(|e| ProblemError::Setting { name: "settings".into(), message: placeless(&e) })?;
        let keys: Keys =
            serde_json::from_str(json).map_err(|e| ProblemError::Setting { name: "settings".into(), message: placeless(&e) })?;
        let data = file.data.clone().unwrap_or_default().checked_without_file()?;
        Ok((Self::checked(file, &keys, Some(data.clone()), path)?, data))
    }

    /// The problem of rules over a schema that is known, for its rule file ([`Self::stated`]).
    pub fn about(schema: &Schema, rules: Vec<RuleText>) -> Result<Self, ProblemError> {
        let task =
            TaskSettings { kind: (&schema.task).into(), targets: None, classes: None, cutoff: None, stated: Overrides::new() };
        let file = StatedProblem {
            data: None,
            features: Overrides::new(),
            targets: Overrides::new(),
            task,
            network: NetworkSettings::default(),
            train: TrainSettings::default(),
            report: ReportSettings::default(),
            rule: rules.into_iter().map(RuleTable::from).collect(),
        };
        Self::checked(file, &Keys::default(), None, Path::new("rules"))
    }

    fn checked(file: StatedProblem, keys: &Keys, data: Option<CheckedData>, path: &Path) -> Result<Self, ProblemError> {
        let StatedProblem { data: _, features, targets, mut task, mut network, train, report, rule } = file;
        task.stated = targets;
        let folder = path.parent().unwrap_or(Path::new(""));
        network.trunk = network.trunk.map(|trunk| folder.join(trunk));
        let of_data = data.as_ref().map_or(&[][..], |d| &d.targets);
        let labels = LabelNames { task: task.kind, names: task.targets.as_deref().unwrap_or(of_data) };
        let rule = rule_files::expand(rule, folder, &labels)?;
        let longer = |name: &str| name.chars().count() > LONGEST_NAME;
        let unfit = |r: &&RuleText| r.name.trim().is_empty() || longer(&r.name) || shown::name(&r.name) != r.name;
        if let Some(rule) = rule.iter().find(unfit) {
            return Err(ProblemError::RuleName(rule.name.clone()));
        }
        if let Some(name) = duplicate_name(&rule) {
            return Err(ProblemError::DuplicateRule(name.into()));
        }
        let one_hot = data.as_ref().map(|d| d.one_hot).unwrap_or_default();
        let data = data.filter(|d| d.file.is_some() || d.recipe.is_some());
        let stated = StatedSettings::of(keys.network.keys(), keys.train.keys());
        Self { path: path.into(), data, features, task, network, train, rules: rule, report, stated, one_hot, folder: None }
            .with_settings(|_, _| {})
    }

    /// The same with settings changed. The one gate: no `[network]` or `[train]` is in a problem that is not in its range.
    pub fn with_settings(mut self, change: impl FnOnce(&mut NetworkSettings, &mut TrainSettings)) -> Result<Self, ProblemError> {
        change(&mut self.network, &mut self.train);
        self.network.check()?;
        self.train.check()?;
        self.network.check_with(&self.train)?;
        Ok(self)
    }

    /// The same with a setting, such as `train.epochs`, that counts as stated whatever its value is.
    #[must_use]
    pub fn stating(mut self, name: &str) -> Self {
        self.stated.state(name);
        self
    }

    /// The same with what is not stated of `[network]` and `[train]` chosen by the shape of the rows.
    pub fn shaped(self, shape: Shape) -> Result<Self, ProblemError> {
        let stated = self.stated.clone();
        self.with_settings(|network, train| by_shape::choose(&stated, shape, network, train))
    }

    /// The weight decays among which validation chooses, in order, for so many training rows; none where there is one anyway.
    pub(crate) fn decays(&self, rows: usize) -> &'static [f32] {
        by_shape::decays(&self.stated, rows, &self.network, &self.train)
    }

    /// `[network]`.
    pub fn network(&self) -> &NetworkSettings {
        &self.network
    }

    /// `[train]`.
    pub fn train(&self) -> &TrainSettings {
        &self.train
    }

    /// Reads the data, if there are any, and compiles the rules.
    pub fn load(&self, progress: &mut dyn FnMut(Progress)) -> Result<(NormalSpec, Option<Loaded>), ProblemError> {
        let loaded = self.rows(progress)?;
        let schema = match &loaded {
            Some(loaded) => loaded.schema.clone(),
            None => self.stated_schema()?,
        };
        Ok((self.compile(&schema)?, loaded))
    }

    /// The same where a file that states everything may have been moved away from its data: then what it states counts, and a note
    /// says so.
    pub fn load_or_stated(
        &self,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(NormalSpec, Option<Loaded>, Option<String>), ProblemError> {
        if let (Some(note), Ok(schema)) = (self.absent_data(), self.stated_schema()) {
            return Ok((self.compile(&schema)?, None, Some(note)));
        }
        let (spec, loaded) = self.load(progress)?;
        Ok((spec, loaded, None))
    }

    /// Reads the data, if there are any.
    pub fn rows(&self, progress: &mut dyn FnMut(Progress)) -> Result<Option<Loaded>, DataError> {
        self.request().map(|request| data::load(request, progress)).transpose()
    }

    fn request(&self) -> Option<Request<'_>> {
        let rule_file_dir = self.path.parent().unwrap_or(Path::new("."));
        let data = self.data.as_ref()?;
        Some(Request { data, task: &self.task, overrides: &self.features, rule_file_dir, data_dir: self.folder.as_deref() })
    }

    /// The files that a training reads: none of them may be replaced by what it writes.
    pub fn inputs(&self) -> Vec<PathBuf> {
        let near = |file: &str| data::locate(file, self.path.parent().unwrap_or(Path::new("")), self.folder.as_deref()).ok();
        let named = self.data.iter().flat_map(|data| [data.file.as_deref(), data.split.file.as_deref()]).flatten();
        [self.path.clone()].into_iter().chain(named.filter_map(near)).chain(self.network().trunk.clone()).collect()
    }

    /// That the file which `[data]` names is nowhere, if so: then columns can only be read as they are stated.
    pub fn absent_data(&self) -> Option<String> {
        let request = self.request()?;
        let named = request.data.file.as_deref().filter(|_| request.data.recipe.is_none())?;
        let absent = data::feature_names(request).is_ok_and(|names| names.is_none());
        absent.then(|| {
            format!("{named} was not found, so columns are read in the order in which {} states them", self.path.display())
        })
    }

    /// What the file claims of a model. Nothing is taken from the model: where the file does not state everything, its data do.
    /// `loaded` are the rows, if they were read already; they are left there if they had to be.
    pub fn claim(&self, model: Option<&Schema>, loaded: &mut Option<Loaded>) -> Result<Claim, ProblemError> {
        let of = |schema: Schema| Claim { schema, rules: self.rules.clone() };
        let stated = match self.stated_schema() {
            // No data make it right.
            Err(wrong) if wrong.is_misstated() => return Err(wrong.into()),
            stated => stated.map(of),
        };
        if self.data.is_none() {
            return Ok(stated?);
        }
        // Beside data the file may state a few features only, and these in any order: then the data say the rest. Where there are
        // data, their columns are what the rules are about, whatever the order in which the file states them.
        let fits = |claim: &Claim| model.is_none_or(|m| claim.same_columns(m).is_ok());
        let names = match loaded {
            Some(loaded) => Some(loaded.schema.given().iter().map(|f| f.name.clone()).collect()),
            None => self.request().map(data::feature_names).transpose()?.flatten(),
        };
        let of_data = |claim: &Claim| names.as_ref().is_none_or(|n| n.iter().eq(claim.schema.given().iter().map(|f| &f.name)));
        if let Some(claim) = stated.as_ref().ok().filter(|claim| fits(claim) && of_data(claim)) {
            return Ok(claim.clone());
        }
        if loaded.is_none() {
            match (self.rows(&mut |_| {}), stated) {
                (Ok(rows), _) => *loaded = rows,
                // Without data there is but what is stated.
                (Err(_), Ok(claim)) if names.is_none() => return Ok(claim),
                (Err(source), _) => return Err(ProblemError::Unstated { path: self.path.clone(), source }),
            }
        }
        Ok(of(loaded.as_ref().expect("a problem with data has rows").schema.clone()))
    }

    /// Whether a model decides at the probability that the file states: its rules are about that decision.
    pub fn same_cutoff(&self, metadata: &BTreeMap<String, String>) -> Result<(), ProblemError> {
        let model = cutoff_of(metadata)?.unwrap_or(0.5);
        match self.task.cutoff {
            Some(stated) if stated != model => Err(ProblemError::Cutoff { path: self.path.clone(), stated, model }),
            _ => Ok(()),
        }
    }

    /// The schema, if the file states all of it.
    pub fn stated_schema(&self) -> Result<Schema, DataError> {
        data::stated_schema(&self.features, &self.task, self.data.as_deref(), self.one_hot)
    }

    /// The same problem with another data file than the one in the rule file, or a further folder to look for it in.
    pub fn with_data(mut self, given: Option<&Path>) -> Result<Self, ProblemError> {
        if let Some(path) = given.filter(|p| !p.exists()) {
            return Err(DataError::NoFolder { path: path.into() }.into());
        }
        match (given, &mut self.data) {
            (Some(path), _) if path.is_dir() => self.folder = Some(path.into()),
            (Some(path), Some(settings)) => {
                let path = path.canonicalize().unwrap_or_else(|_| path.into());
                *settings = settings.clone().with_file(path.to_string_lossy().into_owned());
            }
            _ => {}
        }
        Ok(self)
    }

    /// The same for rows that are in memory.
    pub fn load_table(&self, table: Table, data: &CheckedData) -> Result<(NormalSpec, Loaded), ProblemError> {
        let loaded = data::load_table(table, data, &self.task, &self.features)?;
        Ok((self.compile(&loaded.schema)?, loaded))
    }

    /// A rule file that states what the data said: every domain, the targets and the classes, so that no data are needed to know
    /// what is claimed.
    pub fn stated(&self, schema: &Schema) -> String {
        toml::to_string(&self.tables(schema)).expect("settings become TOML")
    }

    /// The same as JSON.
    pub fn stated_as_json(&self, schema: &Schema) -> String {
        serde_json::to_string(&self.tables(schema)).expect("settings become JSON")
    }

    fn tables(&self, schema: &Schema) -> StatedTables<'_> {
        let task = TaskSettings {
            kind: self.task.kind,
            targets: Some(schema.task.target_columns().into_iter().map(String::from).collect()),
            classes: schema.task.classes().map(<[String]>::to_vec),
            cutoff: self.task.cutoff,
            stated: Overrides::new(),
        };
        let whole =
            |j: usize| (schema.task.output_name(j), FeatureOverride { kind: Some(FeatureKind::Integer), ..Default::default() });
        let encoding = DataSettings { one_hot: schema.one_hot, ..DataSettings::default() };
        StatedTables {
            data: self.data.as_deref().cloned().or_else(|| (encoding != DataSettings::default()).then_some(encoding)),
            task,
            network: &self.network,
            train: &self.train,
            report: &self.report,
            targets: schema.task.whole_outputs().into_iter().map(whole).collect(),
            features: schema.given().iter().map(|f| (f.name.clone(), FeatureOverride::of_feature(f, schema))).collect(),
            rule: self.rules.iter().map(|r| StatedRule { name: &r.name, text: &r.text }).collect(),
        }
    }

    /// The rules over a schema.
    pub fn compile(&self, schema: &Schema) -> Result<NormalSpec, ProblemError> {
        compile(&self.rules, schema).map_err(|errors| ProblemError::Rules { path: self.path.clone(), errors })
    }
}
