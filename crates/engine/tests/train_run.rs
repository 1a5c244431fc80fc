//! Whole training runs: planted problems are learnt, runs repeat and resume byte by byte, and every end is the one announced.

mod common;

use std::time::Duration;

use deepsade_data::Dataset;
use deepsade_engine::objective::{Loss, LossSum, Objective, RuleLoss, ScoredRows, StepData};
use deepsade_engine::train::{
    ActivationName, CheckpointSettings, EpochRecord, NetworkSettings, OptimiserName, Run, Silent, Start, Stepper, StopReason,
    TrainError, TrainSettings, Trained, initial_network, train,
};
use deepsade_engine::units::Units;
use deepsade_net::{Matrix, Network, Node, Op};

use common::StopAfter;

fn dataset(rows: &[(&[f32], &[f32])]) -> Dataset {
    let matrix = |cells: Vec<&[f32]>| Matrix { rows: cells.len(), cols: cells[0].len(), data: cells.concat() };
    Dataset {
        x: matrix(rows.iter().map(|row| row.0).collect()),
        y: matrix(rows.iter().map(|row| row.1).collect()),
        weight: vec![1.0; rows.len()],
    }
}

/// y = 1000 + 200 a - 50 b and a constant 7, for a in [0, 10], b in [-1, 1].
fn planted(rows: usize, salt: usize) -> Dataset {
    let cells: Vec<([f32; 2], [f32; 2])> = (0..rows)
        .map(|r| {
            let a = ((r * 37 + salt) % 101) as f32 / 10.1;
            let b = ((r * 53 + salt) % 97) as f32 / 48.5 - 1.0;
            ([a, b], [1000.0 + 200.0 * a - 50.0 * b, 7.0])
        })
        .collect();
    dataset(&cells.iter().map(|(x, y)| (&x[..], &y[..])).collect::<Vec<_>>())
}

fn planted_run<'a>(train: &'a Dataset, validation: &'a Dataset, hidden: &[usize], settings: TrainSettings) -> Run<'a> {
    let shape = NetworkSettings { hidden: hidden.to_vec(), activation: ActivationName::Relu, ..NetworkSettings::default() };
    let network = initial_network(&[(0.0, 10.0), (-1.0, 1.0)], &[0], None, 2, &shape, 3);
    Run {
        network,
        start: Start::Fresh,
        loss: Loss::MeanSquares,
        train,
        validation,
        settings,
        seed: 5,
        rules: None,
        favoured: None,
        step: None,
        checkpoint: None,
    }
}

fn predict(network: &Network, data: &Dataset) -> Matrix {
    let mut stepper = Stepper::new(network, data.x.rows).unwrap();
    let prepared = stepper.prepare(&data.x, &data.y, &data.weight);
    stepper.load(&prepared, 0..data.x.rows);
    Matrix { data: stepper.forward().to_vec(), ..data.y.clone() }
}

fn bytes(network: &Network) -> Vec<u32> {
    let dense = network.nodes.iter().filter_map(|node| match &node.op {
        Op::Dense { w, b } => Some(w.data.iter().chain(b).map(|x| x.to_bits())),
        _ => None,
    });
    dense.flatten().collect()
}

fn without_time(records: &[EpochRecord]) -> Vec<EpochRecord> {
    records.iter().map(|record| EpochRecord { seconds: 0.0, ..*record }).collect()
}

#[test]
fn a_linear_model_finds_the_planted_plane_in_raw_units() {
    let (data, empty) = (planted(60, 1), Dataset::default());
    let settings = TrainSettings { learning_rate: 0.02, epochs: 400, ..TrainSettings::default() };
    let trained = train(&planted_run(&data, &empty, &[], settings), &mut Silent).unwrap();
    let fresh = planted(30, 11);
    for (found, expected) in predict(&trained.network, &fresh).data.iter().zip(&fresh.y.data) {
        assert!((found - expected).abs() < 1.0, "{found} {expected}");
    }
    assert_eq!(trained.stop, StopReason::Finished);
    assert!(trained.records.iter().all(|record| record.validation_loss.is_none()));
}

#[test]
fn a_gated_last_layer_is_rescaled_without_an_offset() {
    // y = r (300 a + 200), gated by r: an offset of y could not be folded in.
    let cells: Vec<([f32; 2], [f32; 1])> =
        (0..50).map(|i| ((i % 7) as f32, (i % 11) as f32 / 10.0)).map(|(r, a)| ([r, a], [r * (300.0 * a + 200.0)])).collect();
    let data = dataset(&cells.iter().map(|(x, y)| (&x[..], &y[..])).collect::<Vec<_>>());
    let dense = Op::Dense { w: Matrix { rows: 1, cols: 1, data: vec![0.1] }, b: vec![0.0] };
    let nodes = vec![(Op::Select(vec![1]), vec![0]), (dense, vec![1]), (Op::Select(vec![0]), vec![0]), (Op::Gate, vec![2, 3])];
    let network = Network { inputs: 2, nodes: nodes.into_iter().map(|(op, from)| Node { op, from }).collect() };
    let settings = TrainSettings { learning_rate: 0.02, epochs: 400, ..TrainSettings::default() };
    let run = Run { network, ..planted_run(&data, &data, &[], settings) };
    let trained = train(&run, &mut Silent).unwrap();
    let Op::Dense { w, b } = &trained.network.nodes[1].op else { panic!("node 1 is dense") };
    assert!((w.data[0] - 300.0).abs() < 1.0 && (b[0] - 200.0).abs() < 1.0, "{w:?} {b:?}");
}

/// The planted plane with noise, so that steps on few rows wander.
fn noisy(rows: usize, salt: usize) -> Dataset {
    let mut data = planted(rows, salt);
    data.y
        .data
        .iter_mut()
        .step_by(2)
        .enumerate()
        .for_each(|(r, y)| *y += 400.0 * (((r * 7919 + salt) % 103) as f32 / 51.0 - 1.0));
    data
}

#[test]
fn the_mean_of_the_weights_is_nearer_than_the_last_ones() {
    let (data, validation, fresh) = (noisy(600, 1), noisy(60, 5), planted(90, 11));
    let settings =
        TrainSettings { optimiser: OptimiserName::Sgd, learning_rate: 0.6, batch: 4, epochs: 20, ..TrainSettings::default() };
    let error = |average: f32| -> f64 {
        let run = |seed| Run { seed, ..planted_run(&data, &validation, &[], TrainSettings { average, ..settings.clone() }) };
        let said = (0..5).map(|seed| predict(&train(&run(seed), &mut Silent).unwrap().network, &fresh));
        let squares = said.flat_map(|said| said.data).zip(fresh.y.data.iter().cycle()).map(|(a, b)| f64::from(a - b).powi(2));
        squares.sum::<f64>() / 450.0
    };
    let (last, mean) = (error(0.0), error(10.0));
    assert!(mean < 0.6 * last, "{mean} {last}");
}

#[test]
fn without_validation_rows_and_in_the_first_looks_the_weights_are_the_last_ones() {
    let (data, empty) = (planted(60, 1), Dataset::default());
    let run = |average, batch, epochs, validation| {
        let settings = TrainSettings { average, batch, epochs, ..TrainSettings::default() };
        bytes(&train(&planted_run(&data, validation, &[8], settings), &mut Silent).unwrap().network)
    };
    assert_eq!(run(0.0, 7, 5, &empty), run(3.0, 7, 5, &empty));
    assert_eq!(run(0.0, 60, 1, &data), run(3.0, 60, 1, &data));
    assert_ne!(run(0.0, 7, 5, &data), run(3.0, 7, 5, &data));
}

#[test]
fn xor_is_learnt_with_every_loss() {
    for loss in [Loss::MeanSquares, Loss::SoftmaxCrossEntropy, Loss::SigmoidCrossEntropy] {
        let (no, yes) = (&[1.0, 0.0][..], &[0.0, 1.0][..]);
        let data = dataset(&[(&[0.0, 0.0], no), (&[0.0, 1.0], yes), (&[1.0, 0.0], yes), (&[1.0, 1.0], no)]);
        let shape = NetworkSettings { hidden: vec![16], activation: ActivationName::Tanh, ..NetworkSettings::default() };
        let settings = TrainSettings { learning_rate: 0.02, batch: 4, epochs: 500, ..TrainSettings::default() };
        let network = initial_network(&[(0.0, 1.0); 2], &[], None, 2, &shape, 2);
        let run = Run { network, loss, ..planted_run(&data, &data, &[], settings) };
        let trained = train(&run, &mut Silent).unwrap();
        let scores = predict(&trained.network, &data);
        for r in 0..4 {
            assert_eq!(scores.row(r)[0] > scores.row(r)[1], data.y.row(r)[0] > data.y.row(r)[1], "{loss:?}, row {r}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let (data, validation) = (planted(60, 1), planted(20, 5));
    let settings = TrainSettings { batch: 7, epochs: 5, ..TrainSettings::default() };
    let run = planted_run(&data, &validation, &[8, 4], settings);
    let (first, second) = (train(&run, &mut Silent).unwrap(), train(&run, &mut Silent).unwrap());
    assert_eq!(bytes(&first.network), bytes(&second.network));
    assert_eq!(without_time(&first.records), without_time(&second.records));
    let other = Run { seed: 6, ..run.clone() };
    assert_ne!(bytes(&first.network), bytes(&train(&other, &mut Silent).unwrap().network));
    assert_ne!(run.fingerprint(), other.fingerprint());
}

#[test]
fn a_resumed_run_ends_with_the_bytes_of_an_uninterrupted_one() {
    let (data, validation) = (planted(60, 1), planted(20, 5));
    let directory = tempfile::tempdir().unwrap();
    for (optimiser, momentum) in [(OptimiserName::Adam, 0.0), (OptimiserName::Sgd, 0.9)] {
        let settings = TrainSettings { optimiser, momentum, batch: 7, epochs: 6, patience: Some(6), ..TrainSettings::default() };
        let run = planted_run(&data, &validation, &[8], settings);
        let whole = train(&run, &mut Silent).unwrap();
        assert_eq!(whole.records.len(), 6);
        // An epoch has 9 batches: before the first step, in the first epoch, at an epoch's end, in a later epoch, at the last step.
        for stop in [0, 4, 9, 31, 53] {
            let path = directory.path().join(format!("{optimiser:?}-{stop}.ckpt"));
            let mut saved = CheckpointSettings::new(&path, run.fingerprint());
            let halted = train(&Run { checkpoint: Some(saved.clone()), ..run.clone() }, &mut StopAfter::batches(stop)).unwrap();
            assert_eq!((halted.stop, halted.records.len()), (StopReason::Interrupted, stop / 9));
            saved.resume = true;
            let resumed = train(&Run { checkpoint: Some(saved), ..run.clone() }, &mut Silent).unwrap();
            assert_eq!(bytes(&resumed.network), bytes(&whole.network), "{optimiser:?}, stopped at {stop}");
            assert_eq!(without_time(&resumed.records), without_time(&whole.records));
            assert_eq!((resumed.stop, resumed.best_epoch), (whole.stop, whole.best_epoch));
        }
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let (data, empty) = (planted(20, 1), Dataset::default());
    let directory = tempfile::tempdir().unwrap();
    let settings = TrainSettings { epochs: 1, ..TrainSettings::default() };
    let mut run = planted_run(&data, &empty, &[3], settings);
    let mut saved = CheckpointSettings::new(directory.path().join("run.ckpt"), run.fingerprint());
    saved.every = Duration::ZERO;
    run.checkpoint = Some(saved.clone());
    train(&run, &mut Silent).unwrap();
    run.settings.learning_rate = 0.5;
    run.checkpoint = Some(CheckpointSettings { resume: true, fingerprint: run.fingerprint(), ..saved });
    let message = train(&run, &mut Silent).unwrap_err().to_string();
    assert!(message.contains("other settings, data or network: start anew with --force"), "{message}");
}

#[test]
fn patience_ends_a_run_that_gets_no_better() {
    // The validation truth goes down where the training truth goes up, so that sooner or later every step makes it worse.
    let data = planted(40, 1);
    let mut validation = data.clone();
    validation.y.data.iter_mut().for_each(|y| *y = 4000.0 - *y);
    let settings = TrainSettings { patience: Some(4), learning_rate: 0.05, ..TrainSettings::default() };
    let trained = train(&planted_run(&data, &validation, &[], settings), &mut Silent).unwrap();
    let best = trained.best_epoch.unwrap();
    assert_eq!((trained.stop, trained.records.len()), (StopReason::EarlyStopped, best + 4));
    let score = |record: &EpochRecord| record.validation_loss.unwrap();
    assert!(trained.records.iter().all(|record| score(record) >= score(&trained.records[best - 1])));
}

#[test]
fn divergence_is_an_outcome_and_keeps_the_best_so_far() {
    let (data, empty) = (planted(40, 1), Dataset::default());
    let settings =
        TrainSettings { optimiser: OptimiserName::Sgd, learning_rate: 1e4, batch: 40, epochs: 500, ..TrainSettings::default() };
    let trained = train(&planted_run(&data, &empty, &[], settings), &mut Silent).unwrap();
    let StopReason::Diverged { epoch } = trained.stop else { panic!("{:?}", trained.stop) };
    assert_eq!(trained.records.len(), epoch - 1);
    assert!(trained.stop.to_string().contains("smaller learning_rate"));
    assert!(bytes(&trained.network).iter().all(|&w| f32::from_bits(w).is_finite()));
}

#[test]
fn a_row_without_weight_changes_nothing() {
    let data = planted(32, 1);
    let mut padded = data.clone();
    padded.x.data.extend([3.0, 0.5]);
    padded.y.data.extend([1e6, -1e6]);
    padded.weight.push(0.0);
    (padded.x.rows, padded.y.rows) = (33, 33);
    // One batch holds all, so that the order makes no difference but for rounding.
    let settings = TrainSettings { batch: 64, epochs: 20, learning_rate: 0.01, ..TrainSettings::default() };
    let empty = Dataset::default();
    let end = |data: &Dataset| -> Trained { train(&planted_run(data, &empty, &[4], settings.clone()), &mut Silent).unwrap() };
    let (with, without) = (end(&padded), end(&data));
    for (a, b) in predict(&with.network, &data).data.iter().zip(&predict(&without.network, &data).data) {
        assert!((a - b).abs() < 1e-3 * b.abs().max(1.0), "{a} {b}");
    }
}

#[test]
fn a_warm_start_goes_on_from_raw_units() {
    let (data, empty) = (planted(60, 1), Dataset::default());
    let settings = TrainSettings { learning_rate: 0.02, epochs: 400, ..TrainSettings::default() };
    let first = train(&planted_run(&data, &empty, &[], settings), &mut Silent).unwrap();
    let again = TrainSettings { learning_rate: 1e-6, epochs: 1, ..TrainSettings::default() };
    let run = Run { network: first.network, start: Start::Warm, ..planted_run(&data, &empty, &[], again) };
    assert!(train(&run, &mut Silent).unwrap().records[0].train_loss < 1e-4);
}

#[test]
fn what_cannot_be_trained_is_refused_with_its_place() {
    let (data, empty) = (planted(4, 1), Dataset::default());
    let settings = TrainSettings::default();
    let refusal = |data: &Dataset, settings: &TrainSettings| -> TrainError {
        train(&planted_run(data, &empty, &[], settings.clone()), &mut Silent).unwrap_err()
    };
    assert_eq!(refusal(&empty, &settings).to_string(), "the training data have input columns: 0, expected 2");
    let mut broken = data.clone();
    broken.x.data[5] = f32::NAN;
    let message = "the training data have NaN as input of row 2, column 1; counted from 0";
    assert_eq!(refusal(&broken, &settings).to_string(), message);
    let mut weightless = data.clone();
    weightless.weight.fill(0.0);
    assert!(matches!(refusal(&weightless, &settings), TrainError::NoRows));
    weightless.weight[1] = -1.0;
    assert!(matches!(refusal(&weightless, &settings), TrainError::Weight { row: 1, .. }));
}

/// The plain loss, for rows with side data (y0, -y1).
#[derive(Debug)]
struct Mirrored;

impl RuleLoss for Mirrored {
    fn objective(&self, _: &Units) -> Box<dyn Objective + '_> {
        Box::new(Mirrored)
    }

    fn side(&self) -> usize {
        2
    }

    fn identity(&self) -> String {
        "mirrored".into()
    }
}

impl Objective for Mirrored {
    fn gradient(&mut self, rows: ScoredRows, delta: &mut [f32]) -> LossSum {
        let ScoredRows { scores, truth, side, weight, width } = rows;
        assert_eq!((scores.len(), truth.len(), side.len()), (weight.len() * 2, weight.len() * 2, weight.len() * 2));
        assert_eq!(side, truth.chunks_exact(2).flat_map(|y| [y[0], -y[1]]).collect::<Vec<_>>());
        Loss::SigmoidCrossEntropy.gradient(scores, truth, weight, width, delta)
    }
}

fn mirrored_run<'a>(data: &'a Dataset, held_out: &'a Dataset, train: &'a Matrix, validation: &'a Matrix) -> Run<'a> {
    let settings = TrainSettings { batch: 7, epochs: 2, ..TrainSettings::default() };
    Run {
        loss: Loss::SigmoidCrossEntropy,
        step: Some(StepData { step: &Mirrored, train, validation }),
        ..planted_run(data, held_out, &[4], settings)
    }
}

#[test]
fn side_data_stay_with_their_rows_and_are_part_of_what_a_run_is() {
    // Labels keep their units, and each row has its own.
    let rows = |n: usize| {
        let mut data = planted(n, 1);
        data.y.data.iter_mut().enumerate().for_each(|(k, y)| *y = k as f32 / 1000.0);
        data
    };
    let side = |data: &Dataset| Matrix {
        data: data.y.data.chunks_exact(2).flat_map(|y| [y[0], -y[1]]).collect(),
        rows: data.y.rows,
        cols: 2,
    };
    let (data, held_out) = (rows(300), rows(270));
    let (train_side, validation_side) = (side(&data), side(&held_out));
    let with = train(&mirrored_run(&data, &held_out, &train_side, &validation_side), &mut Silent).unwrap();
    let without =
        train(&Run { step: None, ..mirrored_run(&data, &held_out, &train_side, &validation_side) }, &mut Silent).unwrap();
    assert_eq!(with.network, without.network);

    let known = mirrored_run(&data, &held_out, &train_side, &validation_side).fingerprint();
    for k in [0, 539] {
        let mut other = validation_side.clone();
        other.data[k] += 1.0;
        assert_ne!(mirrored_run(&data, &held_out, &train_side, &other).fingerprint(), known);
        let mut other = train_side.clone();
        other.data[k] += 1.0;
        assert_ne!(mirrored_run(&data, &held_out, &other, &validation_side).fingerprint(), known);
    }

    let refusal =
        |side: &Matrix| train(&mirrored_run(&data, &held_out, side, &validation_side), &mut Silent).unwrap_err().to_string();
    assert_eq!(refusal(&Matrix::zeros(300, 1)), "the training data have side columns: 1, expected 2");
    assert_eq!(refusal(&Matrix::zeros(299, 2)), "the training data have rows of side data: 299, expected 300");
    let mut broken = train_side.clone();
    broken.data[5] = f32::INFINITY;
    assert_eq!(refusal(&broken), "the training data have inf as side value of row 2, column 1; counted from 0");
}
