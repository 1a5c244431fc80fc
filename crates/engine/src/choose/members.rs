//! The best model enters; the mean of several like it leaves: from other random weights and, where rows were dealt out at random, with
//! other rows to validate, so that together they learn from all of them.
//!
//! A mean of networks is a network ([`mean_of`]), so the rules are kept and proved for it as for any. By convexity its loss is at
//! most the mean of theirs; where keeping the rules takes that away again, the one model that was there stays.

use deepsade_data::{Split, deciding_score};
use deepsade_net::Network;

use super::{Best, ComparedWays, Trainings, compare};
use crate::enforce::unread::unread;
use crate::enforce::{Decision, EnforcedBy};
use crate::fit::{Fit, FitError, Fitted};
use crate::mean::mean_of;
use crate::train::{Enforce, EpochRecord, Observer};
use crate::warnings::Warning;

/// How much worse than the mean of its members' a training score may be, of it, beyond what it is without rules.
const WORSE: f64 = 0.01;
/// The same beside the first member alone, beyond what it is for their free networks.
const SPOILT: f64 = 0.25;

/// The mean of the members that the settings ask for; `first` is one of them, and what is left where there is no mean.
pub(super) fn mean(fit: Fit, first: Best, on: Trainings, observer: &mut dyn Observer) -> Result<ComparedWays, FitError> {
    let count = fit.network.members;
    // A network that diverged or was given is not one of several.
    if count < 2 || fit.network.trunk.is_some() || first.fitted.trained.best_epoch.is_none() {
        return Ok(ComparedWays::Best(Box::new(first)));
    }
    let decision = Decision { means: first.fitted.means.clone(), why: first.fitted.why.clone() };
    let (mut others, mut failed) = (Vec::new(), None);
    for k in 1..count {
        let named = |name: &str| (on.saved)(&if name.is_empty() { k.to_string() } else { format!("{k}-{name}") });
        let (seed, split) = dealt(&fit, on.split, k);
        // Only networks of one shape have a mean.
        let fit = Fit { seed, shape: Some(&first.free_shape), ..fit };
        let mut told = MemberObserver { observer: &mut *observer, member: k + 1, of: count };
        told.phase("");
        match compare(fit, std::slice::from_ref(&decision), Trainings { split: &split, saved: &named, ..on }, &mut told) {
            Ok(ComparedWays::Best(best)) => others.push(*best),
            Ok(cut @ ComparedWays::Interrupted(_)) => return Ok(cut),
            Err(stopped) if stopped.ends_all() => return Err(stopped),
            // One that does not come out is one fewer.
            Err(why) => failed = Some(why),
        }
    }
    let all: Vec<&Best> = std::iter::once(&first).chain(&others).collect();
    let trained = all.len();
    let MeanOfAll { fitted, free, why_not } = match with_mean(fit, &decision, &all, on, observer) {
        Err(stopped) if stopped.ends_all() => return Err(stopped),
        Err(why) => MeanOfAll { why_not: Some(why.to_string()), ..MeanOfAll::default() },
        Ok(found) => found,
    };
    // What is not proved is not handed over, but it is what the guarantee costs.
    let free = free.or(first.free);
    let mut best = Best { fitted: fitted.unwrap_or(first.fitted), free, ..first };
    best.fitted.warnings.extend(why_not.map(|why| Warning::NoMean { members: trained, why }));
    let fewer = |why: FitError| Warning::FewerMembers { asked: count, trained, why: why.to_string() };
    best.fitted.warnings.extend(failed.map(fewer));
    Ok(ComparedWays::Best(Box::new(best)))
}

/// The seed and the rows of member k, from 1 on.
pub(super) fn dealt(fit: &Fit, split: &Split, k: usize) -> (u64, Split) {
    let rows = if fit.redeal { split.with_other_validation(k, fit.seed) } else { split.clone() };
    (fit.seed.wrapping_add((k as u64) << 32), rows)
}

/// What comes of the mean of all members.
#[derive(Default)]
struct MeanOfAll {
    /// The mean of the models; `None` where it has no proof and they have, or has lost what they learnt.
    fitted: Option<Fitted>,
    /// That of the free networks beside them.
    free: Option<Fitted>,
    /// Why there is none of the models.
    why_not: Option<String>,
}

fn with_mean(
    fit: Fit,
    decision: &Decision,
    all: &[&Best],
    on: Trainings,
    observer: &mut dyn Observer,
) -> Result<MeanOfAll, FitError> {
    let mut of = |decision: &Decision, shape: &EnforcedBy, members: &[&Fitted]| {
        let networks: Vec<&Network> = members.iter().map(|f| &f.trained.network).collect();
        let Some(mean) = mean_of(&networks) else { return Ok(None) };
        let fit = Fit { decision, from: Some(&mean), as_it_is: true, shape: Some(shape), ..fit };
        let mut fitted = fit.run_on(on.rows, on.split, None, observer)?;
        fitted.trained.story_of(&members[0].trained);
        // The rows that validate were seen by all members but the first.
        fitted.validation = members[0].validation.clone();
        fitted.members = members.len();
        Ok::<_, FitError>(Some(fitted))
    };
    let free_members: Option<Vec<&Fitted>> = all.iter().map(|best| best.free.as_ref()).collect();
    let free = match &free_members {
        Some(free) => of(&Decision::nowhere(), &all[0].free_shape, free)?,
        None => None,
    };
    let without = |free, why: &str| Ok(MeanOfAll { fitted: None, free, why_not: Some(why.into()) });
    let members: Vec<&Fitted> = all.iter().map(|best| &best.fitted).collect();
    let fitted = match of(decision, &decision.means, &members) {
        Ok(Some(fitted)) => fitted,
        Ok(None) => return without(free, "their networks are not alike"),
        Err(stopped) if stopped.ends_all() => return Err(stopped),
        Err(why) => return without(free, &why.to_string()),
    };
    if members[0].proved() && !fitted.proved() {
        return without(free, "it is not proved to keep the rules");
    }
    let with_rules = lost(fit, &fitted, &members, on)?;
    let without_rules = match (&free, &free_members) {
        (Some(free), Some(members)) => lost(fit, free, members, on)?,
        _ => 0.0,
    };
    // Members that came out badly spoil the mean: not by less than chance does where all are alike.
    let than_first = match (&free, &free_members) {
        (Some(free), Some(members_free)) => lost(fit, &fitted, &members[..1], on)? - lost(fit, free, &members_free[..1], on)?,
        _ => 0.0,
    };
    if with_rules <= without_rules + WORSE && than_first <= SPOILT {
        return Ok(MeanOfAll { fitted: Some(fitted), free, why_not: None });
    }
    // What members say before a step that they were trained through may be far from what comes out, and so may be its mean; not so
    // behind the free ones.
    let steps = decision.means.setting() == Enforce::Decode
        && !matches!(decision.means, EnforcedBy::Behind)
        && unread(fit.spec).is_none();
    if let (Some(free_members), true) = (&free_members, steps) {
        let behind = Decision { means: EnforcedBy::Behind, why: decision.why.clone() };
        match of(&behind, &all[0].free_shape, free_members) {
            Err(stopped) if stopped.ends_all() => return Err(stopped),
            Ok(Some(fitted)) if fitted.proved() && lost(fit, &fitted, &members, on)? <= without_rules + WORSE => {
                let fitted = Fitted { validation: members[0].validation.clone(), ..fitted };
                return Ok(MeanOfAll { fitted: Some(fitted), free, why_not: None });
            }
            _ => {}
        }
    }
    without(free, "keeping the rules makes it worse than they are")
}

/// How much worse a mean scores on the training rows than its members do on average on the same rows, of that. Members that know these rows
/// by heart score better there than their mean, with rules or without; of an error that is far below the one on other rows, of that one.
fn lost(fit: Fit, mean: &Fitted, members: &[&Fitted], on: Trainings) -> Result<f64, FitError> {
    let deciding = deciding_score(&fit.spec.schema.task);
    let mut all = Vec::new();
    for member in members {
        all.extend(deciding.among(&on.rows.predicted(fit.spec, &member.model, &on.split.train)?.metrics));
    }
    let usual = deepsade_data::mean(&all).filter(|m| m.n == members.len()).map(|m| m.mean);
    let (Some(usual), Some(own)) = (usual, deciding.among(&mean.train)) else { return Ok(0.0) };
    let worse = if deciding.more { usual - own } else { own - usual };
    let elsewhere = deciding.among(&members[0].validation).filter(|_| !deciding.more);
    Ok(if worse > 0.0 { worse / elsewhere.map_or(usual, |error| usual.max(error)) } else { 0.0 })
}

/// Who watches, told which member is trained.
struct MemberObserver<'a> {
    observer: &'a mut dyn Observer,
    member: usize,
    of: usize,
}

impl Observer for MemberObserver<'_> {
    fn phase(&mut self, name: &str) {
        let colon = if name.is_empty() { "" } else { ": " };
        self.observer.phase(&format!("member {} of {}{colon}{name}", self.member, self.of));
    }

    fn epoch(&mut self, record: &EpochRecord) {
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
