//! Weight decays enter; what the free network's loss is with each leaves: on rows that validate, dealt out anew as often as there are members.
//!
//! Where rows are few the best one differs from data to data, and one deal of a few dozen rows doesn't tell which it is.

use std::ops::ControlFlow;

use deepsade_data::Split;
use serde_json::{Value, json};

use super::{Trainings, members};
use crate::enforce::Decision;
use crate::fit::{Fit, FitError, Fitted};
use crate::train::{Observer, StopReason, TrainSettings};

/// A weight decay, and the mean loss of the rows that validate, over several deals; `None` where a training diverged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TriedDecay {
    /// The decay.
    pub weight_decay: f32,
    /// The mean loss.
    pub loss: Option<f64>,
}

impl TriedDecay {
    /// In the digits that the decay was written in.
    pub fn as_json(&self) -> Value {
        json!({"weight_decay": self.weight_decay.to_string().parse::<f64>().ok(), "loss": self.loss})
    }

    /// The one of the smallest loss.
    pub fn best(tried: &[Self]) -> Option<&Self> {
        tried.iter().filter(|t| t.loss.is_some()).min_by(|a, b| a.loss.partial_cmp(&b.loss).unwrap_or(std::cmp::Ordering::Equal))
    }
}

/// What was tried: the decay of the settings, then larger ones as long as the loss falls, or else smaller ones; or the training that was
/// interrupted. The rows that validate the first member are not among those that validate here.
pub(super) fn tried(
    fit: Fit,
    candidates: &[Decision],
    on: Trainings,
    observer: &mut dyn Observer,
) -> Result<ControlFlow<Box<Fitted>, Vec<TriedDecay>>, FitError> {
    let Split { train, validation, .. } = on.split;
    let dealt_out = fit.redeal && !validation.is_empty() && train.len() >= 2 * validation.len();
    let start = fit.decays.iter().position(|decay| *decay == fit.settings.weight_decay).filter(|_| dealt_out);
    let (Some(start), [first, ..]) = (start, candidates) else { return Ok(ControlFlow::Continue(Vec::new())) };
    let shape = Some(fit.shape.unwrap_or(&first.means));
    let (smaller, larger) = (fit.decays[..start].iter().rev().copied().collect(), fit.decays[start + 1..].to_vec());
    let mut tried: Vec<TriedDecay> = Vec::new();
    for way in [vec![fit.settings.weight_decay], larger, smaller] {
        for weight_decay in way {
            observer.phase(&format!("with a weight decay of {weight_decay}"));
            let settings = TrainSettings { weight_decay, ..fit.settings.clone() };
            let loss = match mean_loss(Fit { settings: &settings, shape, ..fit }, on, observer)? {
                ControlFlow::Break(cut) => return Ok(ControlFlow::Break(cut)),
                ControlFlow::Continue(loss) => loss,
            };
            let before = TriedDecay::best(&tried).and_then(|best| best.loss);
            tried.push(TriedDecay { weight_decay, loss });
            if loss.is_none_or(|loss| before.is_some_and(|before| loss >= before)) {
                break;
            }
        }
        // Where larger ones were better, smaller ones are not.
        if TriedDecay::best(&tried) != tried.first() {
            break;
        }
    }
    Ok(ControlFlow::Continue(tried))
}

/// The mean loss of the rows that validate the free networks of all members but the first.
fn mean_loss(fit: Fit, on: Trainings, observer: &mut dyn Observer) -> Result<ControlFlow<Box<Fitted>, Option<f64>>, FitError> {
    let nowhere = Decision::nowhere();
    let mut losses = Vec::new();
    for k in 1..fit.network.members {
        let (seed, split) = members::dealt(&fit, on.split, k);
        let fit = Fit { decision: &nowhere, seed, ..fit };
        match (Trainings { split: &split, ..on }).run(fit, &format!("{k}-decay-{}", fit.settings.weight_decay), observer) {
            Ok(fitted) if fitted.trained.stop == StopReason::Interrupted => return Ok(ControlFlow::Break(Box::new(fitted))),
            Ok(Fitted { trained, .. }) => {
                let best = trained.records.iter().find(|record| Some(record.epoch) == trained.best_epoch);
                losses.push(best.and_then(|record| record.validation_loss));
            }
            Err(stopped) if stopped.ends_all() => return Err(stopped),
            Err(_) => losses.push(None),
        }
    }
    let all: Option<Vec<f64>> = losses.into_iter().collect();
    Ok(ControlFlow::Continue(all.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() / all.len() as f64)))
}
