//! A network, data and settings enter; the trained network leaves. Algorithm 1 of the paper, top to bottom.

use std::time::Instant;

use deepsade_data::Dataset;
use deepsade_net::{Matrix, Network};
use deepsade_spec::NormalSpec;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::checkpoint::{Keeper, Limits, State};
use super::error::{TrainError, check_data};
use super::paper::{Batch, Paper};
use super::standard::Standard;
use super::{
    CheckpointSettings, EpochRecord, LastLayer, Observer, Optimiser, Prepared, Stepper, StopReason, TrainSettings, Update,
};
use crate::guard::{Guard, Metric, Solved};
use crate::objective::Sum;
use crate::objective::{Loss, Objective, OutputStep};
use crate::units::Units;

/// Rows evaluated at a time, at least.
const EVALUATION_ROWS: usize = 256;

/// Rows that tell what a change of the last layer costs.
const METRIC_ROWS: usize = 256;

/// Training rows that stand in for validation rows where there are none, with the paper's update.
const EVALUATED_WITHOUT_VALIDATION: usize = 1000;

/// How much of a fresh last layer stays when it is brought near the safe one: random weights on hidden units with wide boxes would
/// have to be paid for by a large offset.
const FRESH_SHARE: f64 = 0.25;

/// All that decides a training run.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// Where to start.
    pub network: Network,
    /// How the last layer of `network` is meant.
    pub start: Start,
    /// What to make small.
    pub loss: Loss,
    /// The rows to learn from.
    pub train: &'a Dataset,
    /// The rows that choose the best epoch; may be empty, then the training loss does.
    pub validation: &'a Dataset,
    /// How.
    pub settings: TrainSettings,
    /// Decides the order of the rows.
    pub seed: u64,
    /// The rules that the last layer must satisfy after every step; `None` for plain training.
    pub rules: Option<&'a NormalSpec>,
    /// Outputs that a last layer which keeps the rules had best favour for all inputs, where the rules leave a choice.
    pub usual: Option<Vec<f64>>,
    /// What follows the network and keeps the rules; its loss takes the place of `loss`. `None` for the plain outputs.
    pub step: Option<&'a dyn OutputStep>,
    /// Whether and where to save the run.
    pub checkpoint: Option<CheckpointSettings>,
}

/// How the last layer of the first network is meant. Only regression tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Freshly initialised: taken to predict standardised targets, as random weights of size 1 do.
    Fresh,
    /// Already trained: it predicts raw units.
    Warm,
}

/// The end of a run.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The network of the best epoch, in raw units; the one that was given if no epoch ended.
    pub network: Network,
    /// Every epoch that ended.
    pub records: Vec<EpochRecord>,
    /// Which epoch the network is of.
    pub best_epoch: Option<usize>,
    /// Why the run ended.
    pub stop: StopReason,
    /// What kept the rules, the units it worked in, and how often it had to act.
    pub guard: Option<(Guard, Units, Enforced)>,
}

/// How often the last layer had to be moved so that the rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Enforced {
    /// Steps after which the rules were looked at.
    pub steps: usize,
    /// Steps after which the last layer was moved.
    pub moved: usize,
    /// Steps after which it was pulled back towards the safe last layer.
    pub pulled_back: usize,
}

impl Enforced {
    fn add(&mut self, solved: Solved) {
        self.steps += 1;
        self.moved += usize::from(solved.moves > 0);
        self.pulled_back += usize::from(solved.pulled_back);
    }

    /// Share of the steps since `before` after which the last layer was moved.
    fn moved_since(self, before: Self) -> f64 {
        (self.moved - before.moved) as f64 / (self.steps - before.steps).max(1) as f64
    }
}

impl Run<'_> {
    /// Identifies everything that decides the result: for [`CheckpointSettings::fingerprint`].
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        // The derived text is complete, and floats print with all the digits that tell them apart.
        hash.update(format!("{:?}", (&self.network, self.start, self.loss, &self.settings, self.seed)));
        hash.update(self.step.map(OutputStep::identity).unwrap_or_default());
        hash.update(self.rules.map(deepsade_spec::canonical::canonical).unwrap_or_default());
        for data in [self.train, self.validation] {
            for Matrix { rows, cols, data } in [&data.x, &data.y] {
                hash.update(format!("{rows} {cols}"));
                hash_floats(&mut hash, data);
            }
            hash_floats(&mut hash, &data.weight);
        }
        hash.finalize().into()
    }
}

fn hash_floats(hash: &mut Sha256, values: &[f32]) {
    for x in values {
        hash.update(x.to_le_bytes());
    }
}

/// Trains until the epochs are done, patience ends, the observer stops it, or the loss is not finite any more.
///
/// ```
/// use deepsade_data::Dataset;
/// use deepsade_engine::train::{self, NetworkSettings, Run, Silent, Start, StopReason, TrainSettings};
/// use deepsade_engine::objective::Loss;
/// use deepsade_net::Matrix;
///
/// let x = Matrix { rows: 4, cols: 1, data: vec![0.0, 1.0, 2.0, 3.0] };
/// let y = Matrix { rows: 4, cols: 1, data: vec![1.0, 3.0, 5.0, 7.0] };
/// let data = Dataset { x, y, weight: vec![1.0; 4] };
/// let linear = NetworkSettings { hidden: vec![], ..NetworkSettings::default() };
/// let run = Run {
///     network: train::initial_network(&[(0.0, 3.0)], &[], None, 1, &linear, 1),
///     start: Start::Fresh,
///     loss: Loss::MeanSquares,
///     train: &data,
///     validation: &Dataset::default(),
///     settings: TrainSettings { learning_rate: 0.05, batch: 4, epochs: 1000, ..TrainSettings::default() },
///     seed: 1,
///     rules: None,
///     usual: None,
///     step: None,
///     checkpoint: None,
/// };
/// let trained = train::train(&run, &mut Silent)?;
/// assert_eq!(trained.stop, StopReason::Finished);
/// assert!(trained.records[999].train_loss < 1e-6);
/// # Ok::<(), train::TrainError>(())
/// ```
#[allow(clippy::too_many_lines, reason = "Algorithm 1 from top to bottom, with both updates")]
pub fn train(run: &Run, observer: &mut dyn Observer) -> Result<Trained, TrainError> {
    let Run { settings, loss, .. } = run;
    settings.check()?;
    let rows = run.train.weight.len();
    let batch = settings.batch.min(rows).max(1);
    // f_W: the model as initialised (line 1), for standardised targets.
    let mut stepper = Stepper::new(&run.network, batch.max(EVALUATION_ROWS))?;
    check_data(run, &stepper)?;
    let standard = Standard::new(run.train, *loss, &stepper);
    if run.start == Start::Warm {
        standard.to_standard(&mut stepper);
    }
    let prepared = stepper.prepare(&run.train.x, &standard.standardise(&run.train.y), &run.train.weight);
    // Rows without weight say nothing: all of them together are no validation set.
    let validation = run
        .validation
        .weight
        .iter()
        .any(|&v| v > 0.0)
        .then(|| stepper.prepare(&run.validation.x, &standard.standardise(&run.validation.y), &run.validation.weight));
    // K' from K and the layers before the last (lines 2 and 3): a last layer that satisfies it, or the rules that can't be met.
    let mut guard = match run.rules {
        Some(rules) => Some(Guard::around(rules, &run.network, &standard.units(), settings.how(), run.usual.as_deref())?),
        None => None,
    };
    let mut objective: Box<dyn Objective> =
        run.step.map_or_else(|| Box::new(*loss) as _, |step| step.objective(&standard.units()));
    let mut enforced = Enforced::default();
    if let Some(guard) = &mut guard {
        weigh(guard, &mut stepper, &prepared, 0..rows.min(METRIC_ROWS));
        if run.start == Start::Fresh && settings.update == Update::Project {
            guard.approach_safe(stepper.parameters_mut(), FRESH_SHARE);
        }
        enforced.add(guard.solve(stepper.parameters_mut()));
    }
    let mut paper = match settings.update {
        Update::Paper if guard.is_some() => Some(Paper::new(&settings.paper, standard.units(), run.seed)?),
        _ => None,
    };
    // V of the paper; without validation rows, some of the training rows.
    let eval = paper.as_ref().map(|_| {
        validation.clone().unwrap_or_else(|| {
            let some = run.train.select(&(0..rows.min(EVALUATED_WITHOUT_VALIDATION)).collect::<Vec<_>>());
            stepper.prepare(&some.x, &standard.standardise(&some.y), &some.weight)
        })
    });
    let mut optimiser = Optimiser::new(&settings.descent(guard.is_some()), stepper.parameters().len());
    let mut keeper = Keeper::new(run.checkpoint.as_ref());
    let limits = Limits { epochs: settings.epochs, batches: rows.div_ceil(batch) };
    let mut state = keeper.resume(initial_state(&stepper, &optimiser, enforced), limits)?;
    restore(&state, &mut stepper, &mut optimiser);
    enforced = state.enforced;
    if let Some(paper) = &mut paper {
        paper.least = best(&state.records).map_or(f64::INFINITY, EpochRecord::score);
        paper.steps.restart = state.records.last().and_then(|record| record.paper).is_some_and(|steps| steps.restart);
    }
    let mut order = vec![0; rows];

    let stop = 'training: loop {
        if stale(&state.records, settings.patience) {
            break StopReason::EarlyStopped;
        }
        if state.epoch >= settings.epochs {
            break StopReason::Finished;
        }
        let epoch = state.epoch + 1;
        let started = Instant::now();
        shuffle(&mut order, run.seed, epoch);
        if let Some(guard) = &mut guard {
            weigh(guard, &mut stepper, &prepared, order[..rows.min(METRIC_ROWS)].iter().copied());
        }
        if let Some(paper) = &mut paper {
            paper.begin_epoch();
        }
        let least_before = paper.as_ref().map(|paper| paper.least);
        let mut train_sum = Sum::default();
        let mut done = 0;
        let before = enforced;
        for (index, batch) in order.chunks(batch).enumerate() {
            if observer.stop() {
                break 'training StopReason::Interrupted;
            }
            let sum = if let (Some(paper), Some(guard), Some(validation)) = (&mut paper, &mut guard, &eval) {
                // Lines 7 to 32 to the letter.
                enforced.steps += 1;
                let searched = paper.steps.line_search;
                let (stepper, optimiser, data, out) = (&mut stepper, &mut optimiser, &prepared, &mut state.best[..]);
                let sum = paper.batch(Batch {
                    stepper,
                    optimiser,
                    guard,
                    data,
                    rows: batch,
                    validation,
                    loss: *loss,
                    out,
                    place: (epoch, index),
                })?;
                enforced.moved += usize::from(paper.steps.line_search == searched);
                sum
            } else {
                // G = gradient of L at W (line 7).
                stepper.load(&prepared, batch.iter().copied());
                let sum = stepper.gradient_of(&mut *objective);
                // The last layer moves first (lines 8 to 23), then the layers before it (lines 27 to 29).
                if sum.loss.is_finite() {
                    optimiser.begin();
                    stepper.apply(&mut optimiser, stepper.last_range());
                    stepper.apply(&mut optimiser, stepper.hidden_range());
                    // K' for the layers as they are now, and the nearest last layer that satisfies it.
                    if let Some(guard) = &mut guard {
                        enforced.add(guard.solve(stepper.parameters_mut()));
                    }
                }
                sum
            };
            if !sum.loss.is_finite() {
                break 'training StopReason::Diverged { epoch };
            }
            train_sum += sum;
            done += batch.len();
            observer.progress(done, rows);
        }
        // Remember the best solution found (lines 24 to 26), once an epoch.
        let validation_loss = match &paper {
            // The paper's update has done so after each batch.
            Some(paper) => paper.least_of_epoch,
            None => validation.as_ref().map(|data| stepper.evaluate_of(&mut *objective, data).mean()),
        };
        let margin = guard.as_mut().map(|guard| guard.margin(stepper.parameters_mut()));
        let moved = margin.map(|_| enforced.moved_since(before));
        let steps = paper.as_ref().map(|paper| paper.steps);
        let train_loss = train_sum.mean();
        let mut record =
            EpochRecord { epoch, train_loss, validation_loss, best: false, seconds: 0.0, margin, moved, paper: steps };
        if !record.score().is_finite() || stepper.parameters().iter().any(|w| !w.is_finite()) {
            break StopReason::Diverged { epoch };
        }
        record.best = match (&paper, least_before) {
            (Some(paper), Some(before)) => paper.least < before,
            _ => best(&state.records).is_none_or(|best| record.score() < best.score()),
        };
        record.seconds = started.elapsed().as_secs_f64();
        save(&mut state, record, &stepper, &optimiser, enforced);
        observer.epoch(&record);
        keeper.epoch_ended(&state)?;
    };
    if stop == StopReason::Interrupted {
        keeper.save(&state)?;
    }
    let best_epoch = best(&state.records).map(|record| record.epoch);
    let network = if best_epoch.is_none() && run.start == Start::Warm {
        run.network.clone()
    } else {
        stepper.parameters_mut().copy_from_slice(&state.best);
        standard.to_raw(&mut stepper);
        stepper.network()
    };
    let guard = guard.map(|guard| (guard, standard.units(), enforced));
    Ok(Trained { network, records: state.records, best_epoch, stop, guard })
}

/// Tells the guard what a change of the last layer costs, from some of the rows.
fn weigh(guard: &mut Guard, stepper: &mut Stepper, data: &Prepared, rows: impl ExactSizeIterator<Item = usize>) {
    stepper.load(data, rows);
    stepper.forward();
    let LastLayer { z, inputs, .. } = stepper.last_layer();
    guard.begin_epoch(Some(Metric::new(z, inputs, &guard.straight_columns())));
}

fn initial_state(stepper: &Stepper, optimiser: &Optimiser, enforced: Enforced) -> State {
    State {
        epoch: 0,
        steps: 0,
        parameters: stepper.parameters().to_vec(),
        first: optimiser.first.clone(),
        second: optimiser.second.clone(),
        best: stepper.parameters().to_vec(),
        enforced,
        records: Vec::new(),
    }
}

fn restore(state: &State, stepper: &mut Stepper, optimiser: &mut Optimiser) {
    stepper.parameters_mut().copy_from_slice(&state.parameters);
    optimiser.first.copy_from_slice(&state.first);
    optimiser.second.copy_from_slice(&state.second);
    optimiser.steps = state.steps;
}

fn save(state: &mut State, record: EpochRecord, stepper: &Stepper, optimiser: &Optimiser, enforced: Enforced) {
    state.epoch = record.epoch;
    state.enforced = enforced;
    state.steps = optimiser.steps;
    state.parameters.copy_from_slice(stepper.parameters());
    state.first.copy_from_slice(&optimiser.first);
    state.second.copy_from_slice(&optimiser.second);
    // The paper's update has kept its own, before the hidden layers moved.
    if record.best && record.paper.is_none() {
        state.best.copy_from_slice(stepper.parameters());
    }
    state.records.push(record);
}

/// The order of the rows in an epoch: a function of seed and epoch alone, so that a resumed run needs no generator's state.
fn shuffle(order: &mut [usize], seed: u64, epoch: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(epoch as u64);
    order.iter_mut().enumerate().for_each(|(i, row)| *row = i);
    order.shuffle(&mut rng);
}

fn best(records: &[EpochRecord]) -> Option<&EpochRecord> {
    records.iter().rev().find(|record| record.best)
}

/// Whether the last `patience` epochs brought nothing better.
fn stale(records: &[EpochRecord], patience: Option<usize>) -> bool {
    patience.is_some_and(|patience| records.iter().rev().take_while(|record| !record.best).count() >= patience)
}
