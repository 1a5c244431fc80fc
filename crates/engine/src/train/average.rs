//! The weights after each step enter; at an epoch's end their running mean leaves, where it does better on validation than the last ones.
//!
//! Steps on small batches wander around the weights that they lead to; their mean is nearer (Polyak and Juditsky 1992). With rules the last
//! layer is solved for anew behind the mean of the hidden ones.

use super::checkpoint::RunState;
use super::update::Update;
use super::{EpochRecord, Run, Stepper, UpdateName};

/// Weights that enter the mean in an epoch, at most: neighbours say the same, and a step costs little more than before.
const LOOKS: usize = 50;
/// Of those that have entered so far one part in so many counts, at most: early weights lead elsewhere.
const EARLY: f64 = 4.0;

/// The running mean of the weights.
#[derive(Debug)]
pub struct Average {
    mean: Vec<f32>,
    /// Every so many batches the weights enter.
    every: usize,
    /// How many have entered.
    seen: usize,
    /// How many count.
    horizon: f64,
    /// Share by which the mean's validation loss may be the larger. Without rules what chance moves a loss by, 1 / sqrt(rows); with rules nothing,
    /// as their last layer is no mean but solved for.
    chance: f64,
}

impl Average {
    /// The mean that a run asks for, of epochs of so many batches. Nothing to follow where no rows tell which weights are better, nor in
    /// the paper's algorithm.
    pub fn of(run: &Run, batches: usize, weights: &[f32]) -> Option<Self> {
        let epochs = f64::from(run.settings.average);
        let rows = run.validation.weight.iter().filter(|&&v| v > 0.0).count();
        let every = batches.div_ceil(LOOKS).max(1);
        let looks = batches.div_ceil(every);
        (epochs > 0.0 && rows > 0 && run.settings.update != UpdateName::Paper).then(|| Self {
            mean: weights.to_vec(),
            every,
            seen: 0,
            horizon: (epochs * looks as f64).max(1.0),
            chance: if run.rules.is_some() { 0.0 } else { 1.0 / (rows as f64).sqrt() },
        })
    }

    /// The mean as it was at the end of a state's last epoch of so many batches.
    pub fn resume(&mut self, state: &RunState, batches: usize) {
        self.mean.copy_from_slice(&state.average);
        self.seen = state.epoch * batches.div_ceil(self.every);
    }

    /// The weights after a batch of an epoch.
    pub fn follow(&mut self, batch: usize, weights: &[f32]) {
        if batch.is_multiple_of(self.every) {
            self.seen += 1;
            let share = (1.0 / self.horizon.min(self.seen as f64 / EARLY).max(1.0)) as f32;
            self.mean.iter_mut().zip(weights).for_each(|(mean, w)| *mean += share * (w - *mean));
        }
    }

    /// The mean so far.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// Puts the mean in the place of the weights, and what it came to into the record; returns the weights. Not where no last layer near the
    /// mean keeps the rules, nor where validation finds it worse by more than chance. Were the better of the two taken, one epoch in many would be
    /// lucky on few rows, and the model would be that one.
    pub fn stand_in(&self, stepper: &mut Stepper, update: &mut dyn Update, record: &mut EpochRecord) -> Option<Vec<f32>> {
        let weights = stepper.parameters().to_vec();
        stepper.parameters_mut().copy_from_slice(&self.mean);
        let settled = update.settle(stepper);
        let mut averaged = EpochRecord::new(record.epoch, record.train_loss);
        update.end_epoch(stepper, &mut averaged);
        if settled && averaged.score() <= record.score() * (1.0 + self.chance) {
            *record = averaged;
            return Some(weights);
        }
        stepper.parameters_mut().copy_from_slice(&weights);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn average(every: usize, horizon: f64) -> Average {
        Average { mean: vec![100.0], every, seen: 0, horizon, chance: 0.1 }
    }

    #[test]
    fn early_weights_are_forgotten_and_batches_between_looks_not_seen() {
        let mut sparse = average(3, 10.0);
        for batch in 0..9 {
            sparse.follow(batch, &[if batch % 3 == 0 { 1.0 } else { 1e6 }]);
        }
        // Of the first three looks one counts: the latest.
        assert_eq!((sparse.seen, sparse.mean()[0]), (3, 1.0));
        let mut long = average(1, 10.0);
        (0..400).for_each(|step| long.follow(step, &[if step < 40 { 50.0 } else { 2.0 }]));
        assert!((long.mean()[0] - 2.0).abs() < 1e-6, "{:?}", long.mean());
    }

    #[test]
    fn weights_that_swing_are_met_in_the_middle() {
        let mut long = average(1, 50.0);
        (0..1000).for_each(|step| long.follow(step, &[if step % 2 == 0 { -1.0 } else { 1.0 }]));
        assert!(long.mean()[0].abs() < 0.02, "{:?}", long.mean());
    }
}
