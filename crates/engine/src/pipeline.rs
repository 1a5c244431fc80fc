//! A problem enters; a trained model, its proof and their files leave. The one way, whoever asks:
//!
//! [`Checked`] settings -> [`Ready`] with rows and a decision -> [`Fit`] -> [`Finished`] with the checker's word -> files of a [`Folder`].

mod finished;
mod folder;

use std::path::PathBuf;
use std::time::Instant;

use deepsade_data::{self as data, DataSettings, Loaded, Progress, Table, VALIDATION};
use deepsade_output::decode::DecodeError;
use deepsade_spec::{Moves, NormalSpec, Task};
use thiserror::Error;

pub use self::finished::{Finished, Times};
pub use self::folder::{Folder, MODEL};
use crate::artifact::ArtifactError;
use crate::choose::{Chosen, choose};
use crate::enforce::{Decision, EnforcedBy, candidates};
use crate::explain::{audit, conflict_in_words, vacuous_notes};
use crate::fit::{self, Fit, FitError, Rows};
use crate::problem::{Problem, ProblemError};
use crate::train::{ActivationName, Enforce, EpochRecord, Observer, StopReason, UpdateName};

/// Why there is no model.
#[derive(Debug, Error)]
pub enum PipelineError {
    /// There is nothing to learn from.
    #[error("{} names no data to train on: add `file` to [data]", path.display())]
    NoData {
        /// The rule file.
        path: PathBuf,
    },
    /// A setting, the data or the rules can't be read.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Rows can't be prepared, or no model be trained on them.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// Files can't be written.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

/// A problem that has passed the gate: it has data, and every setting is in its range.
///
/// From a rule file and its data to a model with a proof:
///
/// ```
/// use deepsade_engine::pipeline::{Checked, Ended, Prepared};
/// use deepsade_engine::problem::Problem;
/// use deepsade_engine::train::Silent;
///
/// let folder = tempfile::tempdir()?;
/// let rows: String = (0..40).map(|k| format!("{},{}\n", 10 + k, 4 + k % 7)).collect();
/// std::fs::write(folder.path().join("homes.csv"), format!("income,rent\n{rows}"))?;
/// let text = r#"
///     [data]
///     file = "homes.csv"
///     targets = ["rent"]
///     [task]
///     kind = "regression"
///     [network]
///     hidden = [4]
///     [train]
///     epochs = 2
///     [[rule]]
///     name = "afford"
///     text = "0 <= rent <= income"
/// "#;
/// let problem = Problem::parse(text, &folder.path().join("homes.toml"))?;
/// let Prepared::Ready(ready) = Checked::new(problem)?.read(None, &mut |_| {})? else { panic!("rent can be 0") };
/// let Ended::Done(finished) = ready.train(None, &mut Silent)? else { panic!("two epochs end") };
/// assert!(finished.accepted().is_some(), "proved for every income from 10 to 49");
/// let model = finished.write(folder.path())?;
/// assert!(model.ends_with("model.onnx"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Checked {
    problem: Problem,
    data: DataSettings,
}

/// One fold of several, to test on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    /// Which, from 0.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

/// What becomes of a problem before anything is trained.
#[derive(Debug)]
pub enum Prepared {
    /// It can be trained.
    Ready(Box<Ready>),
    /// No output obeys all rules for some input: which rules, and where.
    Contradictory(String),
}

impl Checked {
    /// Lets the settings of a rule file through, with what a caller put in place of them.
    pub fn new(problem: Problem) -> Result<Self, PipelineError> {
        let Some(data) = problem.data.clone() else { return Err(PipelineError::NoData { path: problem.path }) };
        problem.train.check().map_err(ProblemError::from)?;
        Ok(Self { problem, data })
    }

    /// The same for settings as JSON, for rows that are in memory.
    pub fn in_memory(json: &str, seed: u64) -> Result<Self, PipelineError> {
        let (problem, data) = Problem::in_memory(json)?;
        Ok(Self { problem, data: DataSettings { seed, ..data } })
    }

    /// The settings of training.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Reads the data, and deals them out as the settings say or by folds.
    pub fn read(self, fold: Option<Fold>, progress: &mut dyn FnMut(Progress)) -> Result<Prepared, PipelineError> {
        let begun = Instant::now();
        let (spec, loaded) = self.problem.load(progress)?;
        self.prepare(spec, &loaded.expect("a problem with data has rows"), fold, begun)
    }

    /// Takes the rows of a table.
    pub fn take(self, table: Table) -> Result<Prepared, PipelineError> {
        let begun = Instant::now();
        let (spec, loaded) = self.problem.load_table(table, &self.data)?;
        self.prepare(spec, &loaded, None, begun)
    }

    fn prepare(self, spec: NormalSpec, loaded: &Loaded, fold: Option<Fold>, begun: Instant) -> Result<Prepared, PipelineError> {
        let Self { problem, data } = self;
        if let Some(words) = conflict_in_words(&spec) {
            return Ok(Prepared::Contradictory(words));
        }
        let mut rows = fit::rows(&spec, loaded, &data, data.seed)?;
        if let Some(Fold { index, of }) = fold {
            rows.split = data::folds(rows.all.rows(), of, index, VALIDATION, data.seed).map_err(FitError::from)?;
        }
        let candidates = match candidates(&spec, &problem.train) {
            Err(impossible @ DecodeError::Impossible { .. }) => return Ok(Prepared::Contradictory(impossible.to_string())),
            other => other.map_err(FitError::from)?,
        };
        if let Task::Regression { whole, .. } = &spec.schema.task
            && !whole.is_empty()
            && candidates.iter().any(|way| matches!(way.means, EnforcedBy::Weights))
        {
            return Err(FitError::WeightsNotWhole { targets: whole.join(", ") }.into());
        }
        two_inputs(&spec, &problem)?;
        let notes = notes(&spec, &problem, &candidates[0]);
        let read_seconds = begun.elapsed().as_secs_f64();
        Ok(Prepared::Ready(Box::new(Ready { problem, data, spec, rows, candidates, notes, read_seconds })))
    }
}

/// Whether the settings leave a way to keep rules between two inputs: by the weights of a network of relus that we update.
fn two_inputs(spec: &NormalSpec, problem: &Problem) -> Result<(), FitError> {
    let Some(rule) = spec.pairs.first().filter(|_| problem.train.enforce != Enforce::None) else { return Ok(()) };
    let trends = spec.pairs.iter().flat_map(|r| &r.parts).any(|part| part.moves == Moves::Up);
    let why = if problem.train.enforce == Enforce::Decode || !spec.schema.task.whole_outputs().is_empty() {
        "an output step, which looks at one input, does not keep it: use enforce = \"weights\" or \"auto\", and no whole-number targets"
    } else if problem.train.update == UpdateName::Paper {
        "update = \"paper\" knows nothing of signs: use update = \"project\""
    } else if problem.network.trunk.is_some() {
        "the weights of a given network have other signs: train one without `trunk`"
    } else if trends && !problem.network.hidden.is_empty() && problem.network.activation != ActivationName::Relu {
        "a runtime's sigmoid or tanh need not be monotone: use activation = \"relu\""
    } else {
        return Ok(());
    };
    Err(FitError::TwoInputs { rule: rule.name.clone(), why })
}

/// What to know before training.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A rule says nothing, or leaves no more than one prediction: look at it twice.
    Rules(String),
    /// What "auto" chooses, and why.
    Choice(String),
}

impl Note {
    /// In words.
    pub fn words(&self) -> &str {
        match self {
            Self::Rules(words) | Self::Choice(words) => words,
        }
    }
}

fn notes(spec: &NormalSpec, problem: &Problem, Decision { means, why }: &Decision) -> Vec<Note> {
    let mut notes: Vec<Note> = vacuous_notes(spec).into_iter().map(Note::Rules).collect();
    if matches!(means, EnforcedBy::Weights) {
        let found = audit(spec);
        notes.extend(found.constant_only.then_some(Note::Rules(found.words)));
    }
    let labels = matches!(spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. });
    if problem.train.enforce == Enforce::Auto && labels && !spec.rules.is_empty() {
        notes.push(Note::Choice(format!("enforce = \"auto\" chooses {}: {why}", means.name())));
    }
    notes
}

/// A problem with its rows, and where its rules are enforced.
#[derive(Debug, Clone)]
pub struct Ready {
    /// The settings.
    pub problem: Problem,
    /// Those of the rows.
    pub data: DataSettings,
    /// The rules.
    pub spec: NormalSpec,
    /// The rows, dealt out.
    pub rows: Rows,
    /// Where the rules may be enforced, and why there.
    pub candidates: Vec<Decision>,
    /// What to know before training.
    pub notes: Vec<Note>,
    /// How long all this took.
    pub read_seconds: f64,
}

/// How a training ended.
#[derive(Debug)]
pub enum Ended {
    /// With a model.
    Done(Box<Finished>),
    /// The observer stopped it; with a folder it can be resumed.
    Interrupted,
    /// Before there was a model.
    Diverged(StopReason),
}

impl Ready {
    /// Trains, proves, and asks the checker. With a folder the epochs are logged there, and the run can be resumed; the files are
    /// the caller's to write, by [`Folder::finish`].
    pub fn train(&self, mut folder: Option<&mut Folder>, observer: &mut dyn Observer) -> Result<Ended, PipelineError> {
        let Self { problem, data, spec, .. } = self;
        let mut settings = problem.train.clone();
        if let Some(folder) = &folder {
            settings.paper.replay = settings.paper.replay.map(|name| folder.path().join(name));
        }
        let fit = Fit {
            spec,
            decision: &self.candidates[0],
            breaking_rows: data.breaking_rows,
            network: &problem.network,
            settings: &settings,
            seed: data.seed,
            from: None,
            shape: None,
        };
        let checkpoints = folder.as_ref().map(|f| (f.path().to_path_buf(), f.resumes()));
        // A run that was cut in one of its trainings has nothing to go on with in those after it.
        let saved = |name: &str| {
            let (folder, resume) = checkpoints.as_ref()?;
            let path = folder::checkpoint(folder, name);
            let resume = *resume && path.exists();
            Some((path, resume))
        };
        let started = Instant::now();
        let mut logged = Logged { folder: folder.as_deref_mut(), observer };
        let Chosen { fitted, cost } = choose(fit, &self.candidates, &self.rows, &self.rows.split, &saved, &mut logged)?;
        let times = Times { read: self.read_seconds, fit: started.elapsed().as_secs_f64() };
        match fitted.trained.stop {
            StopReason::Interrupted => {
                if let Some(folder) = folder {
                    folder.keep(&fitted.trained.records)?;
                }
                Ok(Ended::Interrupted)
            }
            stop @ StopReason::Diverged { .. } if fitted.trained.best_epoch.is_none() => Ok(Ended::Diverged(stop)),
            _ => Ok(Ended::Done(Box::new(Finished::new(fitted, cost, problem, spec, times, data.seed)?))),
        }
    }
}

/// Writes down each epoch before it is told on.
struct Logged<'a> {
    folder: Option<&'a mut Folder>,
    observer: &'a mut dyn Observer,
}

impl Observer for Logged<'_> {
    fn phase(&mut self, name: &str) {
        if let Some(folder) = &mut self.folder {
            folder.begin();
        }
        self.observer.phase(name);
    }

    fn epoch(&mut self, record: &EpochRecord) {
        if let Some(folder) = &mut self.folder {
            // The complete list is written at the end, and an error is reported there.
            let _ = folder.append(record);
        }
        self.observer.epoch(record);
    }

    fn progress(&mut self, done_rows: usize, total_rows: usize) {
        self.observer.progress(done_rows, total_rows);
    }

    fn stop(&self) -> bool {
        self.observer.stop()
    }

    fn abandons(&self) -> bool {
        self.observer.abandons()
    }
}
