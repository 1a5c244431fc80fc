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

use super::average::Average;
use super::checkpoint::{CheckpointFile, RunLimits, RunState};
use super::error::{TrainError, check_data};
use super::observe::best;
use super::update::{self, Batch, Enforced, Update};
use super::{CheckpointSettings, EpochRecord, Observer, Optimiser, Stepper, StopReason, TrainSettings};
use crate::guard::{Favoured, Guard};
use crate::objective::{Loss, LossSum, StepData};
use crate::signs::Signs;
use crate::units::Units;

/// Rows evaluated at a time, at least.
const EVALUATION_ROWS: usize = 256;

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
    /// What a last layer which keeps the rules had best favour for all inputs, where the rules leave a choice.
    pub favoured: Option<Favoured>,
    /// What follows the network and keeps the rules; its loss takes the place of `loss`. `None` for the plain outputs.
    pub step: Option<StepData<'a>>,
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

impl Trained {
    /// Takes over how another training went: that of what this one stands behind, or is the mean of.
    pub(crate) fn story_of(&mut self, other: &Self) {
        (self.records, self.best_epoch, self.stop) = (other.records.clone(), other.best_epoch, other.stop);
    }
}

impl Run<'_> {
    /// Identifies everything that decides the result: for [`CheckpointSettings::fingerprint`].
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        // The derived text is complete, and floats print with all the digits that tell them apart.
        hash.update(format!("{:?}", (&self.network, self.start, self.loss, &self.settings, self.seed)));
        hash.update(self.step.map(|data| data.step.identity()).unwrap_or_default());
        hash.update(self.rules.map(deepsade_spec::canonical::canonical).unwrap_or_default());
        for data in [self.train, self.validation] {
            for Matrix { rows, cols, data } in [&data.x, &data.y] {
                hash.update(format!("{rows} {cols}"));
                hash_floats(&mut hash, data);
            }
            hash_floats(&mut hash, &data.weight);
        }
        for Matrix { rows, cols, data } in self.step.iter().flat_map(|data| [data.train, data.validation]) {
            hash.update(format!("{rows} {cols}"));
            hash_floats(&mut hash, data);
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
///     favoured: None,
///     step: None,
///     checkpoint: None,
/// };
/// let trained = train::train(&run, &mut Silent)?;
/// assert_eq!(trained.stop, StopReason::Finished);
/// assert!(trained.records[999].train_loss < 1e-6);
/// # Ok::<(), train::TrainError>(())
/// ```
pub fn train(run: &Run, observer: &mut dyn Observer) -> Result<Trained, TrainError> {
    let Run { settings, .. } = run;
    let rows = run.train.weight.len();
    let batch = settings.batch.min(rows).max(1);
    // f_W: the model as initialised (line 1), for standardised targets.
    let mut stepper = Stepper::new(&run.network, batch.max(EVALUATION_ROWS))?;
    check_data(run, &stepper)?;
    if let Some(signs) = run.rules.and_then(|rules| Signs::kept_by(rules, &run.network)) {
        stepper.keep_signs(signs);
    }
    let standard = update::standard(run, &stepper);
    if run.start == Start::Warm {
        standard.to_standard(&mut stepper);
    }
    let data = standard.prepare(run.train, run.step.map(|data| data.train), &mut stepper);
    // K' from K and the layers before the last, and a last layer that satisfies it (lines 2 and 3).
    let mut update = update::update(run, &standard, &mut stepper)?;
    update.begin(&mut stepper, &data);
    let mut optimiser = Optimiser::new(&update.descent(settings), stepper.parameters().len());
    let mut keeper = CheckpointFile::new(run.checkpoint.as_ref());
    let limits = RunLimits { epochs: settings.epochs, batches: rows.div_ceil(batch) };
    let mut average = Average::of(run, limits.batches, stepper.parameters());
    let mut state = keeper.resume(initial_state(&stepper, &optimiser, &*update, average.as_ref()), limits)?;
    restore(&state, &mut stepper, &mut optimiser);
    update.resume(&state);
    average.iter_mut().for_each(|average| average.resume(&state, limits.batches));
    let mut order = vec![0; rows];

    // Epochs (line 5).
    let stop = 'training: loop {
        if stale(&state.records, settings.patience) {
            break StopReason::EarlyStopped;
        }
        if state.epoch >= settings.epochs {
            break StopReason::Finished;
        }
        let epoch = state.epoch + 1;
        let started = Instant::now();
        shuffle(&mut order, run.seed, update::partition(run, epoch));
        update.begin_epoch(&mut stepper, &data, &order);
        let mut train_sum = LossSum::default();
        let mut done = 0;
        // Batches (line 6).
        for (index, rows) in order.chunks(batch).enumerate() {
            if observer.stop() {
                break 'training StopReason::Interrupted;
            }
            // The last layer, then the layers before it (lines 7 to 32).
            let (stepper, optimiser, out) = (&mut stepper, &mut optimiser, &mut state.best[..]);
            let sum = update.batch(Batch { stepper, optimiser, data: &data, rows, place: (epoch, index), out })?;
            if !sum.loss.is_finite() {
                break 'training StopReason::Diverged { epoch };
            }
            average.iter_mut().for_each(|average| average.follow(index, stepper.parameters()));
            train_sum += sum;
            done += rows.len();
            observer.progress(done, order.len());
        }
        let mut record = EpochRecord::new(epoch, train_sum.mean());
        update.end_epoch(&mut stepper, &mut record);
        if !record.score().is_finite() || stepper.parameters().iter().any(|w| !w.is_finite()) {
            break StopReason::Diverged { epoch };
        }
        // The mean of the weights so far may do better than the last ones, from which the next epoch goes on.
        let last = average.as_ref().and_then(|average| average.stand_in(&mut stepper, &mut *update, &mut record));
        // Remember the best solution found (lines 24 to 26).
        record.best = update.remember(&stepper, &record, &mut state);
        last.iter().for_each(|last| stepper.parameters_mut().copy_from_slice(last));
        record.seconds = started.elapsed().as_secs_f64();
        save(&mut state, record, &stepper, &optimiser, &*update, average.as_ref());
        observer.epoch(&record);
        keeper.epoch_ended(&state)?;
    };
    if stop == StopReason::Interrupted {
        keeper.save(&state)?;
    }
    // The best solution found, in raw units (line 34).
    let best_epoch = best(&state.records).map(|record| record.epoch);
    let network = if best_epoch.is_none() && run.start == Start::Warm {
        run.network.clone()
    } else {
        stepper.parameters_mut().copy_from_slice(&state.best);
        standard.to_raw(&mut stepper);
        stepper.network()
    };
    let guard = update.into_guarded().map(|guarded| (guarded.guard, standard.units(), guarded.enforced));
    Ok(Trained { network, records: state.records, best_epoch, stop, guard })
}

fn initial_state(stepper: &Stepper, optimiser: &Optimiser, update: &dyn Update, average: Option<&Average>) -> RunState {
    RunState {
        epoch: 0,
        steps: 0,
        parameters: stepper.parameters().to_vec(),
        first: optimiser.first.clone(),
        second: optimiser.second.clone(),
        best: stepper.parameters().to_vec(),
        average: average.map(|average| average.mean().to_vec()).unwrap_or_default(),
        enforced: enforced(update),
        records: Vec::new(),
    }
}

fn restore(state: &RunState, stepper: &mut Stepper, optimiser: &mut Optimiser) {
    stepper.parameters_mut().copy_from_slice(&state.parameters);
    optimiser.first.copy_from_slice(&state.first);
    optimiser.second.copy_from_slice(&state.second);
    optimiser.steps = state.steps;
}

fn save(
    state: &mut RunState,
    record: EpochRecord,
    stepper: &Stepper,
    optimiser: &Optimiser,
    update: &dyn Update,
    average: Option<&Average>,
) {
    state.epoch = record.epoch;
    state.enforced = enforced(update);
    state.steps = optimiser.steps;
    state.parameters.copy_from_slice(stepper.parameters());
    state.first.copy_from_slice(&optimiser.first);
    state.second.copy_from_slice(&optimiser.second);
    average.iter().for_each(|average| state.average.copy_from_slice(average.mean()));
    state.records.push(record);
}

/// The order of the rows in an epoch: a function of seed and epoch alone, so that a resumed run needs no generator's state.
fn shuffle(order: &mut [usize], seed: u64, epoch: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(epoch as u64);
    order.iter_mut().enumerate().for_each(|(i, row)| *row = i);
    order.shuffle(&mut rng);
}

fn enforced(update: &dyn Update) -> Enforced {
    update.guarded().map(|guarded| guarded.enforced).unwrap_or_default()
}

/// Whether the last `patience` epochs brought nothing better.
fn stale(records: &[EpochRecord], patience: Option<usize>) -> bool {
    patience.is_some_and(|patience| patience > 0 && records.iter().rev().take_while(|record| !record.best).count() >= patience)
}
