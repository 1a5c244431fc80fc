//! Rows and the ways in which their rules may be kept enter; the best model on validation among those that are proved leaves, with what
//! the guarantee costs beside the free network.
//!
//! The free network is trained first; what is enforced in the output step starts from it. Where that is trained on, so is the free network, for
//! as many epochs: the better of the two is what a step stands behind, and what training through the step is compared with.

mod costly;
mod decay;
mod members;

use std::ops::ControlFlow;
use std::path::PathBuf;

use deepsade_data::{Metrics, Split, deciding_score};
use deepsade_net::Network;
use deepsade_output::predict::{distinct, in_words};
use deepsade_spec::NormalSpec;
use serde::Serialize;

use crate::enforce::step::{self, StepError};
use crate::enforce::unread::unread;
use crate::enforce::{Decision, EnforcedBy};
use crate::fit::{Fit, FitError, Fitted, Predicted, Rows};
use crate::train::{Enforce, Observer, StopReason, TrainSettings, UpdateName};
use crate::vacuous::binding;
use crate::warnings::{Warning, falls_back};
use costly::{CostRows, TriedWays, costly};
pub use decay::TriedDecay;

/// The model that was chosen.
#[derive(Debug)]
pub struct Chosen {
    /// The model.
    pub fitted: Fitted,
    /// What its guarantee costs; `None` where nothing is enforced, or the run was interrupted.
    pub cost: Option<Cost>,
    /// The weight decays among which validation chose; none where there was no choice.
    pub decays: Vec<TriedDecay>,
}

impl Chosen {
    /// The weight decay that was chosen, given that of the settings.
    pub fn weight_decay(&self, usual: f32) -> f32 {
        let best = TriedDecay::best(&self.decays).map_or(usual, |best| best.weight_decay);
        if matches!(self.fitted.means, EnforcedBy::Weights) { best.max(usual) } else { best }
    }
}

/// What the guarantee costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// The score by which models are compared.
    pub metric: &'static str,
    /// That of the free network on the test rows whose label obeys the rules: with as many epochs at hand as the model.
    pub free: Option<f64>,
    /// That of the model.
    pub enforced: Option<f64>,
    /// The free network's on the validation rows.
    pub free_validation: Option<f64>,
    /// The model's.
    pub enforced_validation: Option<f64>,
    /// Epochs that the free network had at hand, and as many the model, from its beginning in the free network's.
    pub epochs: usize,
    /// Test predictions of the free network that break a rule.
    pub free_breaking: usize,
    /// Test rows whose prediction the output step changed; `None` without one.
    pub moved: Option<usize>,
    /// Test rows.
    pub rows: usize,
    /// How many different predictions the test rows get.
    pub distinct: usize,
    /// Share of the test rows for which the fallback of the output step answered.
    pub fallbacks: f64,
    /// What was tried, in order.
    pub tried: Vec<TriedWay>,
}

/// A way that was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TriedWay {
    /// Where the rules are enforced.
    pub enforced_by: Enforce,
    /// How, in a few words.
    pub how: &'static str,
    /// The score on validation; `None` if there is no model.
    pub score: Option<f64>,
    /// The score on the test rows, which nothing is chosen by.
    pub test: Option<f64>,
    /// Whether it is proved as deployed.
    pub certified: bool,
    /// Why there is no model.
    pub why_not: Option<String>,
}

/// Where a training may be saved, by its name, and whether to go on from there.
pub type Saved<'a> = &'a dyn Fn(&str) -> Option<(PathBuf, bool)>;

/// What every training of a choice learns from, and where it may be saved.
#[derive(Clone, Copy)]
pub struct Trainings<'a> {
    /// The rows.
    pub rows: &'a Rows,
    /// Which of them train, validate and test.
    pub split: &'a Split,
    /// Where each is saved.
    pub saved: Saved<'a>,
}

impl Trainings<'_> {
    fn run(&self, fit: Fit, name: &str, observer: &mut dyn Observer) -> Result<Fitted, FitError> {
        let at = (self.saved)(name);
        fit.run_on(self.rows, self.split, at.as_ref().map(|(path, resume)| (path.as_path(), *resume)), observer)
    }
}

/// Trains the free network and every candidate, and chooses; where the settings ask for several members, the model is their mean.
/// `fit` says all but where the rules are enforced.
pub fn choose(fit: Fit, candidates: &[Decision], on: Trainings, observer: &mut dyn Observer) -> Result<Chosen, FitError> {
    let decays = match decay::tried(fit, candidates, on, observer)? {
        ControlFlow::Break(fitted) => return Ok(Chosen { fitted: *fitted, cost: None, decays: Vec::new() }),
        ControlFlow::Continue(decays) => decays,
    };
    let mut settings = fit.settings.clone();
    if let Some(best) = TriedDecay::best(&decays) {
        settings.weight_decay = best.weight_decay;
    }
    let fit = Fit { settings: &settings, least_decay: fit.settings.weight_decay, ..fit };
    let best = match compare(fit, candidates, on, observer)? {
        ComparedWays::Interrupted(fitted) => return Ok(Chosen { fitted: *fitted, cost: None, decays }),
        ComparedWays::Best(best) => best,
    };
    let best = match members::mean(fit, *best, on, observer)? {
        ComparedWays::Interrupted(fitted) => return Ok(Chosen { fitted: *fitted, cost: None, decays }),
        ComparedWays::Best(best) => best,
    };
    let Best { mut fitted, free, times, tried, .. } = *best;
    let Some(free) = free else { return Ok(Chosen { fitted, cost: None, decays }) };
    let cost = Cost { epochs: times * fit.settings.epochs, ..cost(fit.spec, &free, &fitted, tried) };
    fitted.warnings.extend(falls_back(cost.fallbacks, "the test rows"));
    let warning = worth_saying(fit, on, &free, &fitted, &cost.tried)?;
    fitted.warnings.extend(warning);
    Ok(Chosen { fitted, cost: Some(cost), decays })
}

/// What comes of trying every way.
enum ComparedWays {
    /// Nothing yet: what the run that was cut had come to.
    Interrupted(Box<Fitted>),
    Best(Box<Best>),
}

impl ComparedWays {
    fn interrupted(fitted: Fitted) -> Self {
        Self::Interrupted(Box::new(fitted))
    }
}

/// The best way, and what it is compared with.
struct Best {
    fitted: Fitted,
    /// The free network with as many epochs; `None` where nothing is enforced.
    free: Option<Fitted>,
    /// How often the epochs of the settings were at hand.
    times: usize,
    /// What the free network is shaped for.
    free_shape: EnforcedBy,
    tried: Vec<TriedWay>,
}

/// Trains the free network and every candidate, and takes the best.
fn compare(fit: Fit, candidates: &[Decision], on: Trainings, observer: &mut dyn Observer) -> Result<ComparedWays, FitError> {
    let [first, ..] = candidates else { return Err(FitError::NothingToTry) };
    if matches!(first.means, EnforcedBy::Nowhere) {
        let fitted = on.run(Fit { decision: first, ..fit }, "", observer)?;
        if fitted.trained.stop == StopReason::Interrupted {
            return Ok(ComparedWays::interrupted(fitted));
        }
        let free = Best { fitted, free: None, times: 1, free_shape: EnforcedBy::Nowhere, tried: Vec::new() };
        return Ok(ComparedWays::Best(Box::new(free)));
    }
    let (nowhere, shape) = (Decision::nowhere(), fit.shape.unwrap_or(&first.means));
    observer.phase("without rules");
    let free = on.run(Fit { decision: &nowhere, shape: Some(shape), ..fit }, "free", observer)?;
    if free.trained.stop == StopReason::Interrupted {
        return Ok(ComparedWays::interrupted(free));
    }
    let ended = free.trained.best_epoch.is_some() || fit.network.freeze;
    let goes_on = ended && !fit.network.freeze && candidates.iter().any(|c| is_trained_through(&c.means));
    let longer = if goes_on {
        observer.phase("without rules, as long again");
        let from = Some(&free.trained.network);
        let further = on.run(Fit { decision: &nowhere, from, shape: Some(shape), ..fit }, "free-on", observer)?;
        if further.trained.stop == StopReason::Interrupted {
            return Ok(ComparedWays::interrupted(further));
        }
        Some(further).filter(|further| better(fit.spec, further, &free))
    } else {
        None
    };
    let longest = longer.as_ref().unwrap_or(&free);
    let (mut best, mut tried): (Option<Fitted>, Vec<TriedWay>) = (None, Vec::new());
    let mut failed: Vec<(&str, FitError)> = Vec::new();
    // Small weights are bounded tightly, whatever the free network learns best with.
    let heavy = TrainSettings { weight_decay: fit.settings.weight_decay.max(fit.least_decay), ..fit.settings.clone() };
    // What the free network reads some must not: they start from one like themselves.
    let hidden = unread(fit.spec).is_some();
    let mut base: Option<Network> = None;
    for decision in candidates {
        let how = words(&decision.means, hidden);
        let before = if matches!(decision.means, EnforcedBy::Behind) { longest } else { &free };
        let through = matches!(decision.means, EnforcedBy::Weights | EnforcedBy::Clips);
        if hidden && is_trained_through(&decision.means) && base.is_none() {
            let behind = Decision { means: EnforcedBy::Behind, why: String::new() };
            observer.phase(words(&behind.means, hidden));
            base = match on.run(Fit { decision: &behind, shape: Some(&behind.means), ..fit }, "unread", observer) {
                Err(stopped) if stopped.ends_all() => return Err(stopped),
                Ok(fitted) if fitted.trained.stop == StopReason::Interrupted => return Ok(ComparedWays::interrupted(fitted)),
                other => other.ok().map(|fitted| fitted.trained.network),
            };
        }
        let from = if hidden {
            base.as_ref().filter(|_| is_trained_through(&decision.means))
        } else {
            Some(&before.trained.network).filter(|_| ended && !through)
        };
        observer.phase(how);
        let torn = if matches!(decision.means, EnforcedBy::Weights) { step::torn(fit.spec) } else { None };
        let settings = if matches!(decision.means, EnforcedBy::Weights) { &heavy } else { fit.settings };
        let way = Fit { decision, from, settings, shape: Some(&decision.means), ..fit };
        let fitted = torn.map_or_else(|| on.run(way, decision.means.key(), observer), |why| Err(StepError::from(why).into()));
        let mut entry =
            TriedWay { enforced_by: decision.means.setting(), how, score: None, test: None, certified: false, why_not: None };
        match fitted {
            Err(stopped) if stopped.ends_all() => return Err(stopped),
            Err(why) => {
                entry.why_not = Some(why.to_string());
                failed.push((how, why));
            }
            Ok(fitted) if fitted.trained.stop == StopReason::Interrupted => return Ok(ComparedWays::interrupted(fitted)),
            Ok(mut fitted) => {
                if matches!(decision.means, EnforcedBy::Behind) && !hidden && ended {
                    // What is behind the free network was trained when that was.
                    fitted.trained.story_of(&longest.trained);
                }
                if hidden && matches!(decision.means, EnforcedBy::Behind) {
                    base = Some(fitted.trained.network.clone());
                }
                entry.score = score(fit.spec, &fitted);
                entry.test = deciding_score(&fit.spec.schema.task).among(&fitted.test.metrics);
                entry.certified = fitted.proved();
                if best.as_ref().is_none_or(|best| better_way(fit.spec, &fitted, best)) {
                    best = Some(fitted);
                }
            }
        }
        tried.push(entry);
    }
    let Some(fitted) = best else { return Err(FitError::no_way(failed)) };
    // Weights that keep the rules are trained from the start.
    let again = goes_on && fitted.means.setting() != Enforce::Weights;
    let (times, free) = if again { (2, longer.unwrap_or(free)) } else { (1, free) };
    Ok(ComparedWays::Best(Box::new(Best { fitted, free: Some(free), times, free_shape: shape.clone(), tried })))
}

/// What there is to say of the cost: on the test rows, or on others where there are none.
fn worth_saying(
    fit: Fit,
    on: Trainings,
    free: &Fitted,
    fitted: &Fitted,
    tried: &[TriedWay],
) -> Result<Option<Warning>, FitError> {
    let breaking = &fitted.test.breaking;
    if !breaking.is_empty() && breaking.iter().all(|b| *b) {
        return Ok(Some(Warning::NoneObeys { rows: breaking.len() }));
    }
    let free_to_choose = fit.settings.update != UpdateName::Paper && binding(fit.spec).pairs.is_empty();
    let ways = |rows| TriedWays { taken: fitted.means.setting(), tried, rows, free_to_choose };
    if !breaking.is_empty() {
        return Ok(costly(fit.spec, &free.test.scored(), &fitted.test.scored(), &ways(CostRows::Test)));
    }
    let (rows, indices) = match &on.split.validation {
        none if none.is_empty() => (CostRows::Training, &on.split.train),
        validation => (CostRows::Validation, validation),
    };
    let predicted = |of: &Fitted| on.rows.predicted(fit.spec, &of.model, indices);
    let (free, kept) = (predicted(free)?, predicted(fitted)?);
    Ok(costly(fit.spec, &free.scored(), &kept.scored(), &ways(rows)))
}

/// Proved before not proved; then by the score on validation; of equals the one before.
fn better(spec: &NormalSpec, a: &Fitted, b: &Fitted) -> bool {
    if a.proved() != b.proved() {
        return a.proved();
    }
    deciding_score(&spec.schema.task).better(score(spec, a), score(spec, b))
}

/// The same for two ways; of equals the better on the training rows: a few rows that validate may tell a constant from nothing.
fn better_way(spec: &NormalSpec, a: &Fitted, b: &Fitted) -> bool {
    let equal = a.proved() == b.proved() && score(spec, a) == score(spec, b);
    let deciding = deciding_score(&spec.schema.task);
    if equal { deciding.better(deciding.among(&a.train), deciding.among(&b.train)) } else { better(spec, a, b) }
}

/// The score on validation, or on the training rows where there are no others.
fn score(spec: &NormalSpec, fitted: &Fitted) -> Option<f64> {
    let deciding = deciding_score(&spec.schema.task);
    deciding.among(&fitted.validation).or_else(|| deciding.among(&fitted.train))
}

/// Whether training knows of the output step.
fn is_trained_through(means: &EnforcedBy) -> bool {
    matches!(means, EnforcedBy::Decode(_) | EnforcedBy::Nearest)
}

fn words(means: &EnforcedBy, hidden: bool) -> &'static str {
    match means {
        EnforcedBy::Behind if hidden => "output step behind a network that does not read what may differ",
        EnforcedBy::Nowhere => "without rules",
        EnforcedBy::Weights => "through the weights",
        EnforcedBy::Behind => "output step behind the free network",
        EnforcedBy::Decode(_) | EnforcedBy::Nearest => "output step, trained through",
        EnforcedBy::Clips => "outputs clipped to bounds, trained through",
    }
}

fn cost(spec: &NormalSpec, free: &Fitted, fitted: &Fitted, tried: Vec<TriedWay>) -> Cost {
    let deciding = deciding_score(&spec.schema.task);
    let of = |m: &Metrics| deciding.among(m);
    let Predicted { rows, outputs: y, flags, .. } = &fitted.test;
    let task = &spec.schema.task;
    let moved = fitted.model.has_step().then(|| {
        let own = fitted.model.network.forward(&rows.x);
        let same = |r: &usize| in_words(task, own.row(*r)) == in_words(task, y.row(*r));
        (0..y.rows).filter(|r| !same(r)).count()
    });
    let fallbacks = flags.as_ref().map_or(0, |flags| flags.iter().filter(|f| !f.ok).count());
    Cost {
        metric: deciding.name,
        free: of(&free.test.metrics),
        enforced: of(&fitted.test.metrics),
        free_validation: of(&free.validation),
        enforced_validation: of(&fitted.validation),
        epochs: 0,
        free_breaking: free.test.metrics["rows_breaking_all"] as usize,
        moved,
        rows: y.rows,
        distinct: distinct(task, y),
        fallbacks: fallbacks as f64 / y.rows.max(1) as f64,
        tried,
    }
}
