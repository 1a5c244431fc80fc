//! `deepsade train`: a rule file enters, model.onnx, its certificate, run.jsonl and summary.json leave.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use deepsade_check::Verdict;
use deepsade_data as data;
use deepsade_engine::artifact::write_whole;
use deepsade_engine::decode::DecodeError;
use deepsade_engine::enforce::{Decision, Means, decide};
use deepsade_engine::explain::{audit, conflict_in_words, vacuous_notes};
use deepsade_engine::fit::{self, Fit, FitError, Fitted};
use deepsade_engine::guard::GuardError;
use deepsade_engine::hold::Hold;
use deepsade_engine::maxsmt::SolverName;
use deepsade_engine::maxsmt::smtlib::Quantifiers;
use deepsade_engine::problem::Problem;
use deepsade_engine::recheck::Files;
use deepsade_engine::summary::{Timings, paper_steps, scores, summary};
use deepsade_engine::train::{Enforce, EpochRecord, MaxSmtName, Observer, StopReason, TrainError, TrainSettings, Update};
use deepsade_engine::verdict;
use deepsade_spec::sets::Place;
use deepsade_spec::{NormalSpec, Task, shown};
use serde_json::json;

use super::check;
use crate::args::{EnforceArg, MaxSmtArg, QuantifiersArg, SolverArg, TrainArgs, UpdateArg};
use crate::interrupt::Interrupt;
use crate::outcome::{Outcome, emit};
use crate::progress::{EpochBar, ReadBar};
use crate::render::While;

/// Runs the command.
pub fn run(args: &TrainArgs) -> anyhow::Result<Outcome> {
    let problem = Problem::read(&args.file)?;
    let out =
        args.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(args.file.file_stem().unwrap_or(args.file.as_os_str())));
    let ended = match train(&problem, &out, args) {
        // That the rules can't be met is what was found out, not a mistake in the input.
        Err(error) if matches!(error.downcast_ref(), Some(FitError::Train(TrainError::Guard(GuardError::Infeasible { .. })))) => {
            return unmet("infeasible", &error.to_string(), args.json);
        }
        other => other?,
    };
    let done = match ended {
        Ended::Done(done) => *done,
        Ended::Interrupted => return Ok(Outcome::Unknown),
        Ended::Contradictory(words) => {
            let words = format!("{words}; `deepsade explain {}` says more", args.file.display());
            return unmet("contradictory", &words, args.json);
        }
    };
    if args.json {
        emit(&(serde_json::to_string_pretty(&done.json())? + "\n"))?;
    } else {
        emit(&done.in_words())?;
    }
    Ok(done.outcome())
}

/// Says that no network can obey the rules, and why.
fn unmet(verdict: &str, words: &str, json: bool) -> anyhow::Result<Outcome> {
    if json {
        emit(&(serde_json::to_string_pretty(&json!({"certified": false, "verdict": verdict, "error": words}))? + "\n"))?;
    }
    eprintln!("error: {words}");
    Ok(Outcome::Finding)
}

/// A finished training.
pub struct Done {
    pub spec: NormalSpec,
    /// The checker's word on the files as written; `None` if no rules were enforced.
    pub verdict: Option<Verdict>,
    pub fitted: Fitted,
    pub model: PathBuf,
    pub timings: Timings,
    pub seed: u64,
    /// Whether a proof about what the library chooses is enough.
    pub allow_library: bool,
}

/// How a training ended.
pub enum Ended {
    /// With a model.
    Done(Box<Done>),
    /// By Ctrl-C.
    Interrupted,
    /// Before it began: what the rules contradict each other in.
    Contradictory(String),
}

/// Trains and writes the files.
pub fn train(problem: &Problem, out: &Path, args: &TrainArgs) -> anyhow::Result<Ended> {
    let Some(settings) = &problem.data else {
        bail!("{} names no data to train on: add `file` to [data]", problem.path.display());
    };
    let mut settings = settings.clone();
    if let Some(seed) = args.seed {
        settings.seed = seed;
    }
    let seed = settings.seed;
    let begun = Instant::now();
    std::fs::create_dir_all(out).while_doing(|| format!("can't make the folder {}", out.display()))?;
    // Two runs into one folder would leave files that don't belong together.
    let _hold = Hold::of(out).while_doing(|| format!("can't train into {}", out.display()))?;
    let mut bar = ReadBar::new(args.quiet);
    let mut problem = problem.clone();
    problem.data = Some(settings.clone());
    if let Some(enforce) = args.enforce {
        problem.train.enforce = match enforce {
            EnforceArg::Auto => Enforce::Auto,
            EnforceArg::Weights => Enforce::Weights,
            EnforceArg::Decode => Enforce::Decode,
            EnforceArg::None => Enforce::None,
        };
    }
    overrule(&mut problem.train, args);
    problem.train.check()?;
    without_effect(&problem.train, args)?;
    let mut train = problem.train.clone();
    train.paper.replay = train.paper.replay.map(|name| out.join(name));
    let (spec, loaded) = problem.load(args.data.as_deref(), &mut |p| bar.update(p))?;
    if let Some(words) = conflict_in_words(&spec) {
        return Ok(Ended::Contradictory(words));
    }
    let loaded = loaded.expect("a problem with data has rows");
    let mut rows = fit::rows(&spec, &loaded, &settings, seed)?;
    if let Some((fold, of)) = args.fold {
        rows.split = data::folds(rows.all.rows(), of, fold, data::VALIDATION, seed)?;
    }
    drop(loaded);

    for note in vacuous_notes(&spec).iter().filter(|_| !args.quiet) {
        eprintln!("note: {note}");
    }
    let Decision { means, why } = match decide(&spec, &train) {
        Err(impossible @ DecodeError::Impossible { .. }) => return Ok(Ended::Contradictory(impossible.to_string())),
        other => other?,
    };
    let audit = audit(&spec);
    if audit.constant_only && matches!(means, Means::Weights) && !args.quiet {
        eprintln!("note: {}", audit.words);
    }
    let labels = matches!(spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. });
    if problem.train.enforce == Enforce::Auto && labels && !spec.rules.is_empty() && !args.quiet {
        eprintln!("note: enforce = \"auto\" chooses {}: {why}", means.name());
    }
    let interrupt = Interrupt::listen();
    let checkpoint = out.join("checkpoint.bin");
    let resume = args.resume && checkpoint.exists();
    if args.resume && !resume && !args.quiet {
        eprintln!("no unfinished run in {}: starting from the beginning", out.display());
    }
    let log = Log::open(out, resume)?;
    let mut watch = Watch { log, bar: EpochBar::new(args.quiet, problem.train.epochs), interrupt };
    let fit = Fit { spec: &spec, breaking_rows: settings.breaking_rows, network: &problem.network, settings: &train, seed };
    let started = Instant::now();
    let fitted = fit.run(&rows, Some((&checkpoint, resume)), &mut watch)?;
    let (read, trained) = ((started - begun).as_secs_f64(), started.elapsed().as_secs_f64());
    watch.bar.finish();
    if fitted.trained.stop == StopReason::Interrupted {
        watch.log.keep(&fitted.trained.records)?;
        eprintln!("interrupted; go on with: {}", again(&problem.path, out));
        return Ok(Ended::Interrupted);
    }
    if let (StopReason::Diverged { .. }, None) = (fitted.trained.stop, fitted.trained.best_epoch) {
        bail!("{}; no model was written", fitted.trained.stop);
    }
    let (model, bytes) = (out.join(MODEL), fitted.model.to_bytes()?);
    write_whole(&model, &bytes)?;
    watch.log.finish(&fitted.trained.records)?;
    let certificate = out.join("certificate.json");
    write_whole(&out.join("rules.toml"), problem.stated(&spec.schema).as_bytes())?;
    let started = Instant::now();
    let verdict = if let Some(proof) = &fitted.proof {
        write_whole(&certificate, proof.certificate.to_json().as_bytes())?;
        Some(check::files(&Files::of(out))?)
    } else {
        // What an earlier run proved is not true of this model.
        let _ = std::fs::remove_file(&certificate);
        None
    };
    let check = started.elapsed().as_secs_f64();
    let timings = Timings { read, train: trained - fitted.certify_seconds, certify: fitted.certify_seconds, check };
    // The model is there: what is left to resume is nothing.
    let _ = std::fs::remove_file(&checkpoint);
    let done = Done { spec, verdict, fitted, model, timings, seed, allow_library: args.allow_library };
    // For `deepsade report`.
    write_whole(&out.join("summary.json"), (serde_json::to_string_pretty(&done.json())? + "\n").as_bytes())?;
    Ok(Ended::Done(Box::new(done)))
}

/// The command that goes on with this run: as it was given, with the folder and `--resume`.
fn again(file: &Path, out: &Path) -> String {
    let quoted = |text: &str| {
        let plain = text.chars().all(|c| c.is_alphanumeric() || "-_./=,:+".contains(c));
        if plain && !text.is_empty() { text.into() } else { format!("'{}'", text.replace('\'', "'\\''")) }
    };
    let mut words: Vec<String> = std::env::args_os().skip(1).map(|a| quoted(&a.to_string_lossy())).collect();
    if words.first().is_none_or(|command| command != "train") {
        // The demo.
        words = vec!["train".into(), quoted(&file.to_string_lossy())];
    }
    let has = |words: &[String], flag: &str| words.iter().any(|w| w == flag || w.starts_with(&format!("{flag}=")));
    if !has(&words, "--out") {
        words.extend(["--out".into(), quoted(&out.to_string_lossy())]);
    }
    if !has(&words, "--resume") {
        words.push("--resume".into());
    }
    format!("deepsade {}", words.join(" "))
}

/// Refuses options that would have no effect.
fn without_effect(settings: &TrainSettings, args: &TrainArgs) -> anyhow::Result<()> {
    let paper = settings.update == Update::Paper;
    let solver = paper && settings.paper.maxsmt == MaxSmtName::FuMalik;
    let refused = [
        (args.maxsmt.is_some() && !paper, "--maxsmt", "--update paper"),
        (args.solver.is_some() && !solver, "--solver", "--update paper --maxsmt fu-malik"),
        (args.quantifiers.is_some() && !solver, "--quantifiers", "--update paper --maxsmt fu-malik"),
    ];
    match refused.iter().find(|(refused, ..)| *refused) {
        Some((_, option, needed)) => bail!("{option} has no effect without {needed}"),
        None => Ok(()),
    }
}

/// Puts what the command line says in place of what the file says.
fn overrule(settings: &mut TrainSettings, args: &TrainArgs) {
    let paper = &mut settings.paper;
    if let Some(update) = args.update {
        settings.update = match update {
            UpdateArg::Project => Update::Project,
            UpdateArg::Paper => Update::Paper,
        };
    }
    if let Some(maxsmt) = args.maxsmt {
        paper.maxsmt = match maxsmt {
            MaxSmtArg::BranchAndBound => MaxSmtName::BranchAndBound,
            MaxSmtArg::FuMalik => MaxSmtName::FuMalik,
            MaxSmtArg::LocalSearch => MaxSmtName::LocalSearch,
        };
    }
    if let Some(solver) = args.solver {
        paper.solver = match solver {
            SolverArg::Z3 => SolverName::Z3,
            SolverArg::Cvc5 => SolverName::Cvc5,
        };
    }
    if let Some(quantifiers) = args.quantifiers {
        paper.quantifiers = quantifiers.into();
    }
    if let Some(epochs) = args.epochs {
        settings.epochs = epochs;
    }
}

impl From<QuantifiersArg> for Quantifiers {
    fn from(name: QuantifiersArg) -> Self {
        match name {
            QuantifiersArg::Keep => Self::Keep,
            QuantifiersArg::Eliminate => Self::Eliminate,
        }
    }
}

impl Done {
    /// What the exit code says: rules that were to be enforced must be certified.
    pub fn outcome(&self) -> Outcome {
        let rejected = matches!(self.verdict, Some(Verdict::Rejected { .. }));
        let diverged = matches!(self.fitted.trained.stop, StopReason::Diverged { .. });
        let in_library = (self.by_library() || self.fitted.in_library.is_some()) && !self.allow_library;
        if rejected || diverged || in_library { Outcome::Finding } else { Outcome::Success }
    }

    /// Whether the proof is about what the library chooses.
    fn by_library(&self) -> bool {
        self.verdict.as_ref().and_then(verdict::accepted).is_some_and(|a| a.decoded == Some(Place::Library))
    }

    fn json(&self) -> serde_json::Value {
        let mut out = summary(&self.fitted, self.verdict.as_ref(), self.timings, self.seed);
        out["model"] = json!(self.model);
        out
    }

    /// A few lines for people.
    pub fn in_words(&self) -> String {
        let Fitted { trained, test, train, validation, .. } = &self.fitted;
        let best = trained.best_epoch.map(|e| format!("; the model is of epoch {e}, the best on validation")).unwrap_or_default();
        let mut out = vec![if trained.records.is_empty() {
            "Nothing was trained: the given network is taken as it is.".into()
        } else {
            format!(
                "Trained {} epochs in {:.1} s{best} ({}).",
                trained.records.len(),
                self.timings.train + self.timings.certify,
                trained.stop
            )
        }];
        out.push(format!("{:<12} {:>8} {:>8}  scores on the rows whose label obeys the rules", "", "rows", "obeying"));
        for (name, metrics) in [("train", train), ("validation", validation), ("test", test)] {
            let shown = if metrics["rows"] > 0.0 { scores(metrics) } else { "no row to score".into() };
            out.push(format!("{name:<12} {:>8} {:>8}  {shown}", metrics["rows_all"], metrics["rows"]));
        }
        let breaking = format!("{} of {} test predictions break a rule", test["rows_breaking_all"], test["rows_all"]);
        match &self.verdict {
            Some(verdict) => {
                if let Some(gate) = &self.fitted.gate {
                    out.push(format!("The outputs are gated by {}: they scale with it.", shown::name(gate)));
                }
                match &self.fitted.means {
                    Means::Decode(decoder) => {
                        if decoder.nodes().is_none() {
                            out.push(
                                "The loss was a surrogate: the exact likelihood of the valid sets needs a diagram that is too large."
                                    .into(),
                            );
                        }
                        let left_out = match self.fitted.left_out {
                            0 => String::new(),
                            n => format!("; {n} training rows whose label breaks a rule were left out"),
                        };
                        out.push(format!(
                            "Rules enforced in the output step, by the most likely valid label set: {breaking}{left_out}."
                        ));
                    }
                    Means::Nearest => out.push(format!(
                        "Rules enforced in the output step, by the nearest outputs that obey them, in the ONNX graph: {breaking}."
                    )),
                    _ => out.push(format!("Rules enforced in training: {breaking}.")),
                }
                if let Some(steps) = paper_steps(&trained.records) {
                    out.push(format!(
                        "Last layer found by line search in {} batches, by MaxSMT in {} ({} to the optimum); {} restarts ({} without a \
                         solution in the box, {} unknown).",
                        steps.line_search,
                        steps.optimal + steps.feasible,
                        steps.optimal,
                        steps.restarts(),
                        steps.infeasible,
                        steps.unknown
                    ));
                    if steps.unknown > 0 && steps.optimal + steps.feasible + steps.infeasible == 0 {
                        out.push("No MaxSMT problem was answered: does the solver run, and is its limit long enough?".into());
                    }
                }
                out.push(verdict::in_words(verdict));
                if self.by_library() {
                    let code = if self.allow_library { "" } else { " (exit code 1; --allow-library accepts that)" };
                    out.push(format!(
                        "WARNING: run elsewhere, the ONNX file gives raw scores, about which nothing is proved{code}."
                    ));
                }
            }
            None if let Some(why) = self.fitted.in_library => {
                out.push(format!(
                    "Rules enforced by `deepsade predict` and the library, which move outputs to the nearest that obey them and check \
                     each exactly: {breaking}. There is no closed form to put into the ONNX graph ({why}), so other runtimes give plain \
                     outputs, and there is no certificate{}.",
                    if self.allow_library { "" } else { " (exit code 1; --allow-library accepts that)" }
                ));
            }
            None if !self.spec.rules.is_empty() => out.push(format!("Rules were NOT enforced (enforce = \"none\"): {breaking}.")),
            None => {}
        }
        out.extend(self.fitted.warnings.iter().map(|warning| format!("WARNING: {}.", shown::name(&warning.to_string()))));
        out.push(format!("Model: {}", shown::name(&self.model.display().to_string())));
        out.join("\n") + "\n"
    }
}

const MODEL: &str = "model.onnx";
const LOG: &str = "run.jsonl";
/// The log of a run that may still fail, beside the model and the log of an earlier one.
const UNFINISHED_LOG: &str = "run.jsonl.part";

/// run.jsonl: one line an epoch, written as they come.
struct Log {
    /// Where it belongs.
    path: PathBuf,
    /// Where it is written until there is a model that goes with it.
    live: PathBuf,
    file: Option<File>,
    resume: bool,
}

impl Log {
    fn open(out: &Path, resume: bool) -> anyhow::Result<Self> {
        let path = out.join(LOG);
        // The log of a model stays with it until there is another model.
        let live = if out.join(MODEL).exists() { out.join(UNFINISHED_LOG) } else { path.clone() };
        // That it can be written is known before.
        File::options().append(true).create(true).open(&path).while_doing(|| format!("can't write {}", path.display()))?;
        Ok(Self { path, live, file: None, resume })
    }

    fn line(record: &EpochRecord) -> String {
        serde_json::to_string(record).expect("plain data becomes JSON") + "\n"
    }

    /// Appends a record. After a resume, lines of epochs that are run again go first.
    fn append(&mut self, record: &EpochRecord) -> std::io::Result<()> {
        if self.file.is_none() {
            let before = if self.resume { std::fs::read_to_string(&self.live).unwrap_or_default() } else { String::new() };
            let earlier = |line: &&str| serde_json::from_str::<EpochRecord>(line).is_ok_and(|r| r.epoch < record.epoch);
            let kept: String = before.lines().filter(earlier).map(|l| format!("{l}\n")).collect();
            let mut file = File::create(&self.live)?;
            file.write_all(kept.as_bytes())?;
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(Self::line(record).as_bytes()),
            None => Ok(()),
        }
    }

    /// Replaces the file by the complete list: of a run that goes on another time.
    fn keep(&self, records: &[EpochRecord]) -> anyhow::Result<()> {
        let text: String = records.iter().map(Self::line).collect();
        Ok(write_whole(&self.live, text.as_bytes())?)
    }

    /// The same, of a run that has its model.
    fn finish(self, records: &[EpochRecord]) -> anyhow::Result<()> {
        let done = Self { live: self.path.clone(), ..self };
        done.keep(records)?;
        let _ = std::fs::remove_file(done.path.with_file_name(UNFINISHED_LOG));
        Ok(())
    }
}

struct Watch {
    log: Log,
    bar: EpochBar,
    interrupt: Interrupt,
}

impl Observer for Watch {
    fn epoch(&mut self, record: &EpochRecord) {
        // The complete list is written at the end, and an error is reported there.
        let _ = self.log.append(record);
        self.bar.epoch(record);
    }

    fn stop(&self) -> bool {
        self.interrupt.pressed()
    }
}
