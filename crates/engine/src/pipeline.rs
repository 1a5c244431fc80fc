//! A problem enters; a trained model, its proof and their files leave. The one way, whoever asks:
//!
//! [`Checked`] settings -> [`Ready`] with rows and a decision -> [`Chosen`] -> [`Finished`] with the checker's word -> files of a [`Folder`].

mod finished;
mod folder;
mod folds;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use deepsade_data::{self as data, CheckedData, Loaded, Progress, Segment, Split, Table};
use deepsade_output::Output;
use deepsade_output::decode::DecodeError;
use deepsade_spec::{Moves, NormalSpec, Task, shown};
use thiserror::Error;

pub use self::finished::{DealtBy, Evidence, Finished, Provenance, Times};
pub use self::folder::{Folder, Occupied};
pub use self::folds::{FoldsEnd, ScoredFold, ScoredFolds};
use crate::artifact::ArtifactError;
use crate::by_shape::Shape;
use crate::choose::{Chosen, Trainings, choose};
use crate::enforce::step::clip::is_mixed;
use crate::enforce::unread::unread;
use crate::enforce::{Decision, EnforcedBy, candidates};
use crate::evaluate::{self, DataSource};
use crate::explain::{at_stake, audit, binding, conflict_in_words, vacuous_notes};
use crate::few_rows::few_of_a_class;
use crate::fit::{self, Fit, FitError, Rows};
use crate::gate::too_near_zero;
use crate::problem::{Problem, ProblemError};
use crate::squeezed::squeezed;
use crate::train::{ActivationName, Enforce, EpochRecord, Observer, ScalingName, StopReason, TrainSettings, UpdateName};

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
    #[error("{0}")]
    Problem(#[from] ProblemError),
    /// Rows can't be prepared, or no model be trained on them.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// Files can't be written.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
}

/// A problem that can be trained: it has data; that every setting is in its range, [`Problem`] makes sure of.
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
    data: CheckedData,
}

/// One fold of several, to test on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fold {
    /// Which, from 0.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

impl Fold {
    fn split(self, rows: &Rows, seed: u64) -> Result<Split, FitError> {
        Ok(data::folds(rows.all.rows(), self.of, self.index, seed)?)
    }
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
    /// Lets a rule file through that names data, with what a caller put in place of its settings.
    pub fn new(problem: Problem) -> Result<Self, PipelineError> {
        let Some(data) = problem.data.clone() else { return Err(PipelineError::NoData { path: problem.path }) };
        Ok(Self { problem, data })
    }

    /// The same for settings as JSON, for rows that are in memory.
    pub fn in_memory(json: &str, seed: u64) -> Result<Self, PipelineError> {
        let (problem, data) = Problem::in_memory(json)?;
        Ok(Self { problem, data: data.with_seed(seed) })
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
        if let Some(words) = conflict_in_words(&spec) {
            return Ok(Prepared::Contradictory(words));
        }
        let seed = self.data.seed;
        let segments = data::segments(&self.problem.report.segments, loaded, &self.data).map_err(ProblemError::from)?;
        let source = DataSource::of(&loaded.file, loaded.table.rows());
        let rows = fit::rows(&spec, loaded, &self.data, seed)?;
        let split = match fold {
            Some(fold) => fold.split(&rows, seed)?,
            None => rows.split.clone(),
        };
        let ready = match self.with(Arc::new(spec), Arc::new(rows), split, seed) {
            Err(PipelineError::Fit(FitError::Decode(impossible @ DecodeError::Impossible { .. }))) => {
                return Ok(Prepared::Contradictory(impossible.to_string()));
            }
            other => other?,
        };
        let (read_seconds, of_data) = (begun.elapsed().as_secs_f64(), loaded.notes.clone());
        Ok(Prepared::Ready(Box::new(Ready { read_seconds, of_data, segments, source, ..ready })))
    }

    /// Takes rules that don't contradict each other and rows that are encoded, which several trainings may share; `split` deals the
    /// rows out, and `seed` is that of the training. What the rule file leaves open is chosen by the rows that train.
    pub fn with(self, spec: Arc<NormalSpec>, rows: Arc<Rows>, split: Split, seed: u64) -> Result<Ready, PipelineError> {
        let begun = Instant::now();
        let Self { problem, data } = self;
        let shape = Shape { rows: split.train.len(), validation: split.validation.len(), columns: spec.schema.columns().len() };
        let problem = problem.shaped(shape)?;
        let candidates = candidates(&spec, problem.train()).map_err(FitError::from)?;
        if let Task::Regression { whole, .. } = &spec.schema.task
            && !whole.is_empty()
            && candidates.iter().any(|way| matches!(way.means, EnforcedBy::Weights))
        {
            return Err(FitError::WeightsNotWhole { targets: whole.join(", ") }.into());
        }
        two_inputs(&spec, &problem)?;
        let data = data.with_seed(seed);
        let read_seconds = begun.elapsed().as_secs_f64();
        Ok(Ready {
            problem,
            data,
            spec,
            rows,
            split,
            candidates,
            read_seconds,
            of_data: Vec::new(),
            segments: Vec::new(),
            source: None,
        })
    }
}

/// Whether the settings leave a way to keep rules between two inputs: by the weights of a network of relus that we update.
fn two_inputs(spec: &NormalSpec, problem: &Problem) -> Result<(), FitError> {
    let spec = &binding(spec);
    let Some(rule) = spec.pairs.first().filter(|_| problem.train().enforce != Enforce::None) else { return Ok(()) };
    let trends = spec.pairs.iter().flat_map(|r| &r.parts).any(|part| part.moves == Moves::Up);
    let whole = !spec.schema.task.whole_outputs().is_empty();
    let kept_behind = is_mixed(spec) || unread(spec).is_some() && (whole || !spec.rules.is_empty());
    let why = if whole && !kept_behind {
        "an output step, which makes whole numbers, does not keep it: drop `kind = \"integer\"` of the targets"
    } else if problem.train().enforce == Enforce::Decode && !kept_behind {
        "what stands behind a network looks at one input and does not keep it here: use enforce = \"weights\""
    } else if problem.train().update == UpdateName::Paper {
        "update = \"paper\" knows nothing of signs: use update = \"project\""
    } else if problem.network().trunk.is_some() {
        "the weights of a given network have other signs: train one without `trunk`"
    } else if trends && !problem.network().hidden.is_empty() && problem.network().activation != ActivationName::Relu {
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
    /// The data may be read otherwise than they are meant.
    Data(String),
    /// The rows by which the model is chosen and scored say little.
    Parts(String),
}

impl Note {
    /// In words.
    pub fn words(&self) -> &str {
        match self {
            Self::Rules(words) | Self::Choice(words) | Self::Data(words) | Self::Parts(words) => words,
        }
    }
}

/// A problem with its rows, and where its rules are enforced.
#[derive(Debug, Clone)]
pub struct Ready {
    /// The settings.
    pub problem: Problem,
    /// Those of the rows, with the seed of the training.
    pub data: CheckedData,
    /// The rules.
    pub spec: Arc<NormalSpec>,
    /// The rows.
    pub rows: Arc<Rows>,
    /// Which of them train, validate and test.
    pub split: Split,
    /// Where the rules may be enforced, and why there.
    pub candidates: Vec<Decision>,
    /// How long all this took.
    pub read_seconds: f64,
    /// What to know of the data.
    pub of_data: Vec<String>,
    /// Parts of the rows whose scores are told as well.
    pub segments: Vec<Segment>,
    /// Where the rows came from, if from a file.
    pub source: Option<DataSource>,
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
    /// What to know before training.
    pub fn notes(&self) -> Vec<Note> {
        let Self { spec, problem, .. } = self;
        let Decision { means, why } = &self.candidates[0];
        let mut notes: Vec<Note> = self.of_data.iter().cloned().map(Note::Data).collect();
        let close = squeezed(&spec.schema, &self.rows.all, &self.split.train);
        if problem.network().scaling == ScalingName::Range && problem.network().trunk.is_none() && !close.is_empty() {
            let named = |name: &&str| format!("'{}'", shown::name(name));
            let more = if close.len() > 5 { format!(" and {} more", close.len() - 5) } else { String::new() };
            notes.push(Note::Data(format!(
                "nearly all rows lie within a tenth of the domain of {}{more}, and inputs are scaled by their domain: `scaling = \"standard\"` in \
                 [network] often learns better then, or state a narrower range",
                close.iter().take(5).map(named).collect::<Vec<_>>().join(", ")
            )));
        }
        notes.extend(few_of_a_class(&spec.schema.task, &self.rows.all.y, &self.split).map(Note::Parts));
        notes.extend(vacuous_notes(spec).into_iter().map(Note::Rules));
        if matches!(means, EnforcedBy::Weights) {
            let found = audit(spec);
            notes.extend(found.constant_only.then_some(Note::Rules(found.words)));
            if self.candidates.len() == 1 {
                notes.extend(at_stake(spec, &self.rows.all, &self.split.train).into_iter().map(Note::Rules));
            }
        }
        if let Some(rule) =
            spec.pairs.first().filter(|_| problem.train().enforce == Enforce::None && problem.train().penalty.is_some())
        {
            notes.push(Note::Rules(format!(
                "the penalty looks at one input at a time and ignores rules between two inputs, such as '{}': nothing keeps the network \
                 from breaking them",
                shown::name(&rule.name)
            )));
        }
        if let Some(name) = self.gate_out_of_reach() {
            notes.push(Note::Rules(format!(
                "the rules scale with '{0}', but its domain reaches 0 and can't gate the outputs, which costs accuracy: let the range of \
                 '{0}' start at 0.001 or state whole numbers",
                shown::name(name)
            )));
        }
        let labels = matches!(spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. });
        if problem.train().enforce == Enforce::Auto && labels && !spec.rules.is_empty() {
            notes.push(Note::Choice(format!("enforce = \"auto\" chooses {}: {why}", means.name())));
        }
        notes
    }

    /// The feature that would gate the outputs if its range did not reach 0.
    fn gate_out_of_reach(&self) -> Option<&str> {
        let settings = self.problem.train();
        let gated = self.problem.network().gate == "auto" && settings.enforce != Enforce::None && !settings.strictly_paper();
        too_near_zero(&self.spec).filter(|_| gated)
    }

    /// What stays doubtful of the data and their split, whatever the training makes of them.
    fn doubts(&self) -> Vec<String> {
        let few = few_of_a_class(&self.spec.schema.task, &self.rows.all.y, &self.split);
        self.of_data.iter().cloned().chain(few).collect()
    }

    /// The same problem with this fold to test on, just as [`Checked::read`] would have made it.
    pub fn on_fold(&self, fold: Fold) -> Result<Self, PipelineError> {
        let seed = self.data.seed;
        let split = fold.split(&self.rows, seed)?;
        let checked = Checked { problem: self.problem.clone(), data: self.data.clone() };
        let ready = checked.with(Arc::clone(&self.spec), Arc::clone(&self.rows), split, seed)?;
        let Self { read_seconds, of_data, segments, source, .. } = self.clone();
        Ok(Self { read_seconds, of_data, segments, source, ..ready })
    }

    /// Trains, proves, and asks the checker. With a folder the epochs are logged there, and the run can be resumed; the files are
    /// the caller's to write, by [`Folder::finish`].
    pub fn train(&self, mut folder: Option<&mut Folder>, observer: &mut dyn Observer) -> Result<Ended, PipelineError> {
        let started = Instant::now();
        let chosen = self.choose(folder.as_deref_mut(), observer)?;
        let seconds = started.elapsed().as_secs_f64();
        match chosen.fitted.trained.stop {
            StopReason::Interrupted => {
                if let Some(folder) = folder {
                    folder.keep(&chosen.fitted.trained.records)?;
                }
                Ok(Ended::Interrupted)
            }
            stop @ StopReason::Diverged { .. } if chosen.fitted.trained.best_epoch.is_none() => Ok(Ended::Diverged(stop)),
            _ => {
                let finished = self.finish(chosen, seconds)?;
                Ok(Ended::Done(Box::new(self.evaluate(finished, folder.is_some())?)))
            }
        }
    }

    /// Trains the free network and every way to keep the rules, and takes the best on validation of what is proved.
    pub fn choose(&self, folder: Option<&mut Folder>, observer: &mut dyn Observer) -> Result<Chosen, PipelineError> {
        let mut settings = self.problem.train().clone();
        if let Some(folder) = &folder {
            settings.paper.replay = settings.paper.replay.map(|name| folder.path().join(name));
        }
        let checkpoints = folder.as_ref().map(|f| (f.path().to_path_buf(), f.resumes()));
        // A run that was cut in one of its trainings has nothing to go on with in those after it.
        let saved = |name: &str| {
            let (folder, resume) = checkpoints.as_ref()?;
            let path = folder::checkpoint(folder, name);
            let resume = *resume && path.exists();
            Some((path, resume))
        };
        let mut logged = Logged { folder, observer };
        let trainings = Trainings { rows: &self.rows, split: &self.split, saved: &saved };
        let chosen = choose(self.fit(&settings), &self.candidates, trainings, &mut logged);
        Ok(chosen.map_err(|why| match self.gate_out_of_reach().filter(|_| why.is_about_rules()) {
            Some(feature) => FitError::NearZero { feature: feature.into(), why: Box::new(why) },
            None => why,
        })?)
    }

    /// Trains the first way alone, with nothing to compare it with.
    pub fn train_only(&self, observer: &mut dyn Observer) -> Result<Chosen, PipelineError> {
        let fitted = self.fit(self.problem.train()).run_on(&self.rows, &self.split, None, observer)?;
        Ok(Chosen { fitted, cost: None, decays: Vec::new() })
    }

    /// Puts down a model that took so many seconds, and asks the checker about it.
    pub fn finish(&self, chosen: Chosen, seconds: f64) -> Result<Finished, PipelineError> {
        let times = Times { read: self.read_seconds, fit: seconds };
        let problem =
            self.problem.clone().with_settings(|_, train| train.weight_decay = chosen.weight_decay(train.weight_decay))?;
        let finished = Finished::new(chosen, &problem, &self.spec, times, self.data.seed)?;
        let facts = Provenance {
            source: self.source.clone(),
            doubts: self.doubts(),
            parts: [&self.split.train, &self.split.validation, &self.split.test].map(Vec::len),
            breaking: self.rows.any_breaking_shipped,
            report: self.problem.report.clone(),
            cutoff: self.problem.task.cutoff,
            // Folds are drawn at random, whatever the settings say.
            dealt_by: DealtBy::of(&self.data.split).filter(|_| self.split == self.rows.split),
        };
        let split = self.split.to_csv(&self.rows.numbers);
        Ok(Finished { split, weighted_by: self.data.weight.clone(), facts, ..finished })
    }

    /// Adds what the model is judged by; what takes longest only where it is kept.
    fn evaluate(&self, finished: Finished, kept: bool) -> Result<Finished, PipelineError> {
        let (budget, seed) = (self.problem.train().decode_nodes, self.data.seed);
        let output = Output::of(&finished.fitted.model, &self.spec).map_err(FitError::from)?;
        let scores = evaluate::scores(&output, &self.rows, &self.split, &self.segments, budget, seed);
        let shown = if self.split.test.is_empty() { &self.split.train } else { &self.split.test };
        let effects = if kept { evaluate::effects(&output, &self.rows.all.select(shown), budget, seed) } else { None };
        drop(output);
        Ok(Finished { judged: Some(Evidence { scores, effects }), ..finished })
    }

    fn fit<'a>(&'a self, settings: &'a TrainSettings) -> Fit<'a> {
        Fit {
            spec: &self.spec,
            decision: &self.candidates[0],
            breaking_rows: self.data.breaking_rows,
            network: self.problem.network(),
            settings,
            least_decay: settings.weight_decay,
            decays: self.problem.decays(self.split.train.len()),
            cutoff: self.problem.task.cutoff,
            seed: self.data.seed,
            from: None,
            as_it_is: false,
            redeal: self.data.split.is_random(),
            shape: None,
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
