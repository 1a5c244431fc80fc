//! What a training run tells while it goes on, and how it ends.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::PaperSteps;

/// One pass over the training rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Which pass, from 1.
    pub epoch: usize,
    /// Mean loss of its batches, each before its own step.
    pub train_loss: f64,
    /// Loss of the validation rows after it; `None` if there are none.
    pub validation_loss: Option<f64>,
    /// Whether it is the best so far: by validation loss, or by training loss if there are no validation rows.
    pub best: bool,
    /// How long it took.
    pub seconds: f64,
    /// The smallest distance to breaking a rule at its end, over all rules and the whole domain, in training units; `None` if no
    /// rules are enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Share of its steps after which the last layer was moved to keep the rules; `None` if no rules are enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<f64>,
    /// With the paper's update: how the last layer was found. `validation_loss` is then the least after any of its batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<PaperSteps>,
}

impl EpochRecord {
    /// An epoch with this mean loss of its batches, and nothing else known.
    pub(super) fn new(epoch: usize, train_loss: f64) -> Self {
        Self { epoch, train_loss, validation_loss: None, best: false, seconds: 0.0, margin: None, moved: None, paper: None }
    }

    /// The loss by which epochs are compared.
    pub fn score(&self) -> f64 {
        self.validation_loss.unwrap_or(self.train_loss)
    }
}

/// The best epoch.
pub(super) fn best(records: &[EpochRecord]) -> Option<&EpochRecord> {
    records.iter().rev().find(|record| record.best)
}

/// The number of the best epoch.
pub fn best_epoch(records: &[EpochRecord]) -> Option<usize> {
    best(records).map(|record| record.epoch)
}

/// Whether the loss was still falling when a run ended: its best epoch is among the last, and the last fifth of them brought something.
pub fn still_falling(records: &[EpochRecord]) -> bool {
    let least = |records: &[EpochRecord]| records.iter().map(EpochRecord::score).fold(f64::INFINITY, f64::min);
    let early = &records[..records.len() - records.len() / 5];
    let late = best_epoch(records).is_some_and(|best| 20 * best >= 19 * records.len());
    records.len() >= 10 && late && least(records) < 0.99 * least(early)
}

/// Who watches a run, and may stop it.
pub trait Observer {
    /// One of several trainings begins.
    fn phase(&mut self, _name: &str) {}

    /// An epoch has ended.
    fn epoch(&mut self, _record: &EpochRecord) {}

    /// This many rows of the present epoch are done. Called after each batch: be quick.
    fn progress(&mut self, _done_rows: usize, _total_rows: usize) {}

    /// Whether to stop now. Asked before each batch.
    fn stop(&self) -> bool {
        false
    }

    /// Whether nobody wants what a stopped run has come to: then it is neither certified nor scored.
    fn abandons(&self) -> bool {
        false
    }
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// All epochs were run.
    Finished,
    /// No better loss for as many epochs as `patience` says.
    EarlyStopped,
    /// The observer asked for it.
    Interrupted,
    /// A loss or a parameter was not finite any more.
    Diverged {
        /// In which epoch.
        epoch: usize,
    },
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::Finished => write!(f, "all epochs were run"),
            StopReason::EarlyStopped => write!(f, "stopped early: the loss got no better"),
            StopReason::Interrupted => write!(f, "interrupted"),
            StopReason::Diverged { epoch } => {
                write!(
                    f,
                    "diverged in epoch {epoch}: the loss is not finite; try a smaller learning_rate (of [train], or of [train.paper] where update is paper)"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(losses: impl Iterator<Item = f64>) -> Vec<EpochRecord> {
        let mut least = f64::INFINITY;
        let record = |(k, loss): (usize, f64)| {
            let best = loss < least;
            least = least.min(loss);
            let text = format!(
                r#"{{"epoch": {}, "train_loss": {loss}, "validation_loss": {loss}, "best": {best}, "seconds": 1}}"#,
                k + 1
            );
            serde_json::from_str(&text).unwrap()
        };
        losses.enumerate().map(record).collect()
    }

    #[test]
    fn a_run_that_ends_too_early_is_seen() {
        assert!(still_falling(&records((0..30).map(|k| 1.0 / f64::from(k + 1)))));
        // It has come to rest, or is best in the middle, or has hardly begun.
        assert!(!still_falling(&records((0..30).map(|k| 1.0 + 0.5f64.powi(k)))));
        assert!(!still_falling(&records((0..30).map(|k| (f64::from(k) - 15.0).powi(2) + 1.0))));
        assert!(!still_falling(&records((0..5).map(|k| 1.0 / f64::from(k + 1)))));
    }
}
