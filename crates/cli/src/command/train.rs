//! `deepsade train`: a rule file enters, model.onnx, its certificate, run.jsonl and summary.json leave.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use deepsade_check::Verdict;
use deepsade_data::score_shown;
use deepsade_engine::choose::{Cost, TriedDecay, TriedWay};
use deepsade_engine::enforce::EnforcedBy;
use deepsade_engine::fit::{FitError, Fitted};
use deepsade_engine::folder_lock::Hold;
use deepsade_engine::left_out::pairs_in_words;
use deepsade_engine::pace::ROWS;
use deepsade_engine::pipeline::{self, Checked, Finished, Fold, Folder, PipelineError, Prepared};
use deepsade_engine::problem::Problem;
use deepsade_engine::summary::{judged, paper_steps, scores};
use deepsade_engine::train::{Enforce, EpochRecord, MaxSmtName, Observer, StopReason, TrainSettings, UpdateName, still_falling};
use deepsade_engine::verdict;
use deepsade_solve::maxsmt::SolverName;
use deepsade_solve::maxsmt::smtlib::Quantifiers;
use deepsade_spec::{NormalSpec, shown};
use serde_json::json;

use crate::args::{EnforceArg, MaxSmtArg, QuantifiersArg, SolverArg, TrainArgs, UpdateArg};
use crate::interrupt::Interrupt;
use crate::outcome::{Exit, emit};
use crate::progress::{EpochBar, ReadBar};
use crate::render::While;

/// Runs the command.
pub fn run(args: &TrainArgs) -> anyhow::Result<Exit> {
    let out = args.out.clone().unwrap_or_else(|| usual_folder(args));
    let problem = super::problem(&args.file, args.data.as_deref())?;
    super::not_over_inputs(&out, &problem.inputs())?;
    let ended = match train(&problem, &out, args) {
        // That the rules can't be met is what was found out, not a mistake in the input.
        Err(error) if error.downcast_ref().is_some_and(FitError::is_about_rules) => {
            return unmet("infeasible", &error.to_string(), args.json);
        }
        other => other?,
    };
    let done = match ended {
        TrainingEnd::Done(done) => *done,
        TrainingEnd::Interrupted => return Ok(Exit::Unknown),
        TrainingEnd::Folds(exit) => return Ok(exit),
        TrainingEnd::Contradictory(words) => {
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

/// Where a run goes that is not told where; folds keep no model, and so stay beside the folder that has one.
fn usual_folder(args: &TrainArgs) -> PathBuf {
    let mut name = args.file.file_stem().unwrap_or(args.file.as_os_str()).to_os_string();
    if args.folds.is_some() {
        name.push("-folds");
    }
    PathBuf::from("runs").join(name)
}

/// Says that no network can obey the rules, and why.
fn unmet(verdict: &str, words: &str, json: bool) -> anyhow::Result<Exit> {
    if json {
        emit(&(serde_json::to_string_pretty(&json!({"certified": false, "verdict": verdict, "error": words}))? + "\n"))?;
    }
    eprintln!("error: {words}");
    Ok(Exit::Finding)
}

/// A finished training.
pub struct Done {
    pub spec: Arc<NormalSpec>,
    pub finished: Finished,
    pub model: PathBuf,
    /// The rule file.
    pub file: PathBuf,
}

/// How a training ended.
pub enum TrainingEnd {
    /// With a model.
    Done(Box<Done>),
    /// By Ctrl-C.
    Interrupted,
    /// Of all folds, with no model.
    Folds(Exit),
    /// Before it began: what the rules contradict each other in.
    Contradictory(String),
}

/// Trains and writes the files.
pub fn train(problem: &Problem, out: &Path, args: &TrainArgs) -> anyhow::Result<TrainingEnd> {
    let mut problem = problem.clone();
    if let (Some(data), Some(seed)) = (&mut problem.data, args.seed) {
        *data = data.clone().with_seed(seed);
    }
    let mut problem = problem.with_settings(|_, settings| overrule(settings, args))?;
    if args.epochs.is_some() {
        problem = problem.stating("train.epochs");
    }
    let checked = Checked::new(problem).map_err(plain)?;
    without_effect(checked.problem().train(), args)?;
    let new = !out.exists();
    std::fs::create_dir_all(out).while_doing(|| format!("can't make the folder {}", out.display()))?;
    // Two runs into one folder would leave files that don't belong together. Nor does one remove the folder of another.
    let _hold = Hold::of(out).while_doing(|| format!("can't train into {}", out.display()))?;
    let ended = into(checked, out, args);
    if new && !matches!(ended, Ok(TrainingEnd::Done(_) | TrainingEnd::Interrupted)) {
        // Only where nothing is in it.
        let _ = std::fs::remove_dir(out);
    }
    ended
}

/// Trains into a folder that is there and held.
fn into(checked: Checked, out: &Path, args: &TrainArgs) -> anyhow::Result<TrainingEnd> {
    match args.folds {
        None => super::not_over_another(out, args.resume, args.force)?,
        Some(_) => super::folds::not_over_another(out, args.force)?,
    }
    let mut bar = ReadBar::new(args.quiet);
    let first = args.folds.map(|of| (0, of));
    let fold = first.or(args.fold).map(|(index, of)| Fold { index, of });
    let ready = match checked.read(fold, &mut |p| bar.update(p)).map_err(plain)? {
        Prepared::Ready(ready) => *ready,
        Prepared::Contradictory(words) => return Ok(TrainingEnd::Contradictory(words)),
    };
    for note in ready.notes().iter().filter(|_| !args.quiet) {
        eprintln!("note: {}", note.words());
    }
    if let Some(of) = args.folds {
        return super::folds::run(&ready, out, args, of).map(TrainingEnd::Folds);
    }
    let interrupt = Interrupt::listen();
    let mut folder = Folder::open(out, args.resume)?;
    if args.resume && !folder.resumes() && !args.quiet {
        eprintln!("no unfinished run in {}: starting from the beginning", out.display());
    }
    let mut watch = Watch { bar: EpochBar::new(args.quiet, ready.problem.train().epochs), interrupt };
    let ended = ready.train(Some(&mut folder), &mut watch);
    watch.bar.finish();
    match ended {
        Ok(pipeline::Ended::Done(finished)) => {
            let model = folder.finish(&finished)?;
            let file = ready.problem.path.clone();
            Ok(TrainingEnd::Done(Box::new(Done { spec: ready.spec, finished: *finished, model, file })))
        }
        Ok(pipeline::Ended::Interrupted) => {
            eprintln!("interrupted; go on with: {}", again(&ready.problem.path, out));
            Ok(TrainingEnd::Interrupted)
        }
        Ok(pipeline::Ended::Diverged(stop)) => {
            folder.abandon();
            bail!("{stop}; no model was written")
        }
        Err(error) => {
            folder.abandon();
            Err(plain(error))
        }
    }
}

/// The error that is shown in a way of its own, if it is one of those.
pub(super) fn plain(error: PipelineError) -> anyhow::Error {
    match error {
        PipelineError::Problem(error) => error.into(),
        PipelineError::Fit(error) => error.into(),
        error => error.into(),
    }
}

/// The command that trains the model of a rule file.
pub(super) fn again_with(file: &Path) -> String {
    format!("deepsade train {}", shown::name(&file.display().to_string()))
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
    let paper = settings.update == UpdateName::Paper;
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
    if let Some(enforce) = args.enforce {
        settings.enforce = match enforce {
            EnforceArg::Auto => Enforce::Auto,
            EnforceArg::Weights => Enforce::Weights,
            EnforceArg::Decode => Enforce::Decode,
            EnforceArg::None => Enforce::None,
        };
    }
    if let Some(update) = args.update {
        settings.update = match update {
            UpdateArg::Project => UpdateName::Project,
            UpdateArg::Paper => UpdateName::Paper,
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
    pub fn outcome(&self) -> Exit {
        let Finished { verdict, fitted, .. } = &self.finished;
        let rejected = matches!(verdict, Some(Verdict::Rejected { .. }));
        let diverged = matches!(fitted.trained.stop, StopReason::Diverged { .. });
        // Nothing that was enforced may be broken, whoever enforces it.
        let enforced = !matches!(fitted.means, EnforcedBy::Nowhere);
        let broken = enforced && fitted.test.metrics["rows_breaking_all"] > 0.0;
        if rejected || diverged || broken { Exit::Finding } else { Exit::Success }
    }

    fn json(&self) -> serde_json::Value {
        self.finished.summary(Some(&self.model))
    }

    /// A few lines for people.
    pub fn in_words(&self) -> String {
        let Finished { fitted, timings, .. } = &self.finished;
        let Fitted { trained, train, validation, .. } = fitted;
        let test = &fitted.test.metrics;
        let best = trained.best_epoch.map(|e| format!("; the model is of epoch {e}, the best on validation")).unwrap_or_default();
        let mut out = vec![if trained.records.is_empty() {
            "Nothing was trained: the given network is taken as it is.".into()
        } else {
            format!(
                "Trained {} epochs in {:.1} s{best} ({}).",
                trained.records.len(),
                timings.train + timings.certify,
                trained.stop
            )
        }];
        if trained.stop == StopReason::Finished && still_falling(&trained.records) {
            out.push("The loss was still falling: more epochs may bring more (`epochs` under [train], or --epochs).".into());
        }
        out.extend([of_several(fitted.members), of_decays(&self.finished.decays)].into_iter().flatten());
        let weighted =
            self.finished.weighted_by.as_ref().map(|by| format!(", weighted by {}", shown::name(by))).unwrap_or_default();
        out.push(format!("{:<12} {:>8} {:>8}  scores on the rows whose label obeys the rules{weighted}", "", "rows", "obeying"));
        for (name, metrics) in [("train", train), ("validation", validation), ("test", test)] {
            let shown = if metrics["rows"] > 0.0 { scores(metrics) } else { "no row to score".into() };
            out.push(format!("{name:<12} {:>8} {:>8}  {shown}", metrics["rows_all"], metrics["rows"]));
        }
        out.extend(self.finished.judged.as_ref().and_then(|found| judged(&found.scores)));
        let breaking = format!("{} of {} test predictions break a rule", test["rows_breaking_all"], test["rows_all"]);
        match &self.finished.verdict {
            Some(verdict) => {
                if let Some(gate) = &fitted.gate {
                    out.push(format!("The outputs are gated by {}: they scale with it.", shown::name(gate)));
                }
                match &fitted.means {
                    EnforcedBy::Decode(decoder) => {
                        if decoder.nodes().is_none() {
                            out.push(
                                "The loss was a surrogate: the exact likelihood of the valid sets needs a diagram that is too large."
                                    .into(),
                            );
                        }
                        let left_out = match fitted.left_out {
                            0 => String::new(),
                            n => format!("; {n} training rows whose label breaks a rule were left out"),
                        };
                        let made = fitted.made.as_deref().unwrap_or("candidates");
                        out.push(format!("Rules enforced in the output step of the ONNX graph ({made}): {breaking}{left_out}."));
                    }
                    EnforcedBy::Clips => out.push(format!(
                        "Rules between two inputs kept by the signs of the weights, the others by bounds to which the ONNX graph clips the \
                         outputs: {breaking}."
                    )),
                    EnforcedBy::Nearest | EnforcedBy::Behind => {
                        let made = fitted.made.as_deref().unwrap_or("candidates");
                        out.push(format!("Rules enforced in the output step of the ONNX graph ({made}): {breaking}."));
                    }
                    _ => out.push(format!("Rules enforced in training: {breaking}.")),
                }
                if let Some(steps) = paper_steps(&trained.records) {
                    out.push(format!(
                        "Last layer found by line search in {} batches, by MaxSMT in {} ({} to the optimum); {} restarts ({} without a \
                         solution in the box, {} unknown{}).",
                        steps.line_search,
                        steps.optimal + steps.feasible,
                        steps.optimal,
                        steps.restarts(),
                        steps.infeasible,
                        steps.unknown,
                        if steps.renewed > 0 { format!("; made anew {} times", steps.renewed) } else { String::new() }
                    ));
                    if steps.unknown > 0 && steps.optimal + steps.feasible + steps.infeasible == 0 {
                        out.push("No MaxSMT problem was answered: does the solver run, and is its limit long enough?".into());
                    }
                }
                out.extend(self.finished.cost.as_ref().map(|cost| cost_in_words(cost, fitted)));
                out.extend(timings.run.map(|run| {
                    format!(
                        "Running it takes {:.2} us a row with the step, {:.2} without ({:.1} times; {ROWS} rows at once, in this program).",
                        run.model_us, run.network_us, run.ratio
                    )
                }));
                out.push(verdict::in_words(verdict));
            }
            None if !self.spec.is_empty() => {
                let about = if self.spec.rules.is_empty() { String::new() } else { format!(": {breaking}") };
                out.push(format!("Rules were NOT enforced (enforce = \"none\"){about}."));
                out.extend(
                    pairs_in_words(&self.spec).map(|pairs| format!("Not counted: {pairs}; `deepsade verify` decides them.")),
                );
            }
            None => out.push(format!(
                "No rule is stated, so nothing was proved: write what must never be broken as [[rule]] into {} (docs/rules.md), or take \
                 the # away from a rule that `deepsade init` suggested there.",
                shown::name(&self.file.display().to_string())
            )),
        }
        out.extend(self.warnings());
        out.push(format!("Model: {}", shown::name(&self.model.display().to_string())));
        out.join("\n") + "\n"
    }

    /// What to look at before the model is used; what is doubtful of the data, too: `--quiet` hides the notes before a training.
    fn warnings(&self) -> Vec<String> {
        let Finished { fitted, facts, .. } = &self.finished;
        let warnings = fitted.warnings.iter().map(ToString::to_string).chain(facts.doubts.iter().cloned());
        warnings.map(|warning| format!("WARNING: {}.", shown::name(&warning))).collect()
    }
}

/// What the guarantee costs, in a line or two.
fn cost_in_words(cost: &Cost, fitted: &Fitted) -> String {
    let score = |v: Option<f64>| v.map_or("-".to_string(), |v| score_shown(v, 3));
    let (free, enforced) = (score(cost.free), score(cost.enforced));
    let mut out = format!(
        "With the guarantee {} {enforced}, without it {free} (up to {} epochs each; test rows whose label obeys; without, {} of {} \
         predictions break a rule); {} different predictions",
        cost.metric, cost.epochs, cost.free_breaking, cost.rows, cost.distinct
    );
    if let Some(moved) = cost.moved {
        out += &format!("; the step changes {moved} of {}, the fallback answers {:.2} %", cost.rows, 100.0 * cost.fallbacks);
    }
    out.push('.');
    if cost.tried.len() > 1 {
        let each = |t: &TriedWay| {
            let told = match (&t.why_not, t.certified) {
                (Some(_), _) => "not possible".into(),
                (None, false) => format!("{}, not proved", score(t.score)),
                (None, true) => score(t.score),
            };
            format!("{} {told}", t.how)
        };
        let all: Vec<String> = cost.tried.iter().map(each).collect();
        out += &format!("\nChosen on validation ({}): {}; taken: {}.", cost.metric, all.join(", "), fitted.means.name());
    }
    for (how, why) in cost.tried.iter().filter_map(|t| Some((t.how, t.why_not.as_deref()?))) {
        out += &format!("\nNot possible {how}: {}.", shown::name(why.trim_end_matches('.')));
    }
    out
}

pub(super) struct Watch {
    pub(super) bar: EpochBar,
    pub(super) interrupt: Interrupt,
}

impl Observer for Watch {
    fn phase(&mut self, name: &str) {
        self.bar.phase(name);
    }

    fn epoch(&mut self, record: &EpochRecord) {
        self.bar.epoch(record);
    }

    fn stop(&self) -> bool {
        self.interrupt.pressed()
    }
}

/// What is told of one network where the model is the mean of several.
fn of_decays(tried: &[TriedDecay]) -> Option<String> {
    let best = TriedDecay::best(tried)?;
    let each = |t: &TriedDecay| match t.loss {
        Some(loss) => format!("{} {}", t.weight_decay, score_shown(loss, 3)),
        None => format!("{} diverged", t.weight_decay),
    };
    let all: Vec<String> = tried.iter().map(each).collect();
    Some(format!(
        "The free network's weight decay is {}, chosen on validation rows dealt out anew (loss: {}).",
        best.weight_decay,
        all.join(", ")
    ))
}

fn of_several(members: usize) -> Option<String> {
    (members > 1).then(|| {
        format!(
            "That is the first of {members} networks; the model is their mean, as one network. Its validation scores are the first one's: the \
             others learnt from some of these rows."
        )
    })
}
