//! Algorithm 1 as a whole: the kept network satisfies the rules, what happened is counted, and a resumed run ends with the same bytes.

mod common;
#[path = "common/low.rs"]
mod low;

use std::time::Duration;

use deepsade_data::Dataset;
use deepsade_engine::gate::skip_columns;
use deepsade_engine::objective::Loss;
use deepsade_engine::train::{
    CheckpointSettings, NetworkSettings, PaperSettings, PaperSteps, Run, Silent, Start, StopReason, TrainSettings, Trained,
    UpdateName, initial_network, train,
};
use deepsade_net::{Matrix, Network};
use deepsade_spec::NormalSpec;

use common::StopAfter;
use low::{data, spec};

fn run<'a>(spec: &'a NormalSpec, train: &'a Dataset, validation: &'a Dataset) -> Run<'a> {
    let shape = NetworkSettings { hidden: vec![6], ..NetworkSettings::default() };
    let paper = PaperSettings { learning_rate: 0.05, limit: 60.0, ..PaperSettings::default() };
    Run {
        network: initial_network(&[(0.0, 1.0); 2], &skip_columns(spec), None, 1, &shape, 3),
        start: Start::Fresh,
        loss: Loss::MeanSquares,
        train,
        validation,
        settings: TrainSettings { update: UpdateName::Paper, batch: 5, epochs: 6, paper, ..TrainSettings::default() },
        seed: 5,
        rules: Some(spec),
        favoured: None,
        step: None,
        checkpoint: None,
    }
}

fn largest_excess(network: &Network) -> f32 {
    let grid: Vec<[f32; 2]> = (0..50).flat_map(|a| (0..=100).map(move |b| [a as f32 / 100.0, b as f32 / 100.0])).collect();
    let y = network.forward(&Matrix { rows: grid.len(), cols: 2, data: grid.concat() });
    grid.iter().zip(&y.data).map(|([a, _], y)| y - a - 0.5).fold(f32::MIN, f32::max)
}

fn steps(trained: &Trained) -> PaperSteps {
    trained.records.iter().filter_map(|r| r.paper).reduce(PaperSteps::and).unwrap()
}

#[test]
fn the_kept_network_obeys_though_hidden_layers_move_after_it() {
    let (spec, rows, held_out) = (spec(), data(100), data(30));
    let trained = train(&run(&spec, &rows, &held_out), &mut Silent).unwrap();
    assert!(trained.best_epoch.is_some());
    assert!(largest_excess(&trained.network) <= 0.0, "{}", largest_excess(&trained.network));
    let steps = steps(&trained);
    let all = steps.line_search + steps.optimal + steps.feasible + steps.infeasible + steps.unknown;
    assert_eq!(all, 6 * 20);
    assert!(steps.line_search > 0 && steps.optimal > 0, "{steps:?}");
    // Without rules the same data are learnt, and they break the rule.
    let free = Run { rules: None, ..run(&spec, &rows, &held_out) };
    assert!(
        largest_excess(
            &train(&Run { settings: TrainSettings { epochs: 200, ..free.settings.clone() }, ..free }, &mut Silent)
                .unwrap()
                .network
        ) > 0.1
    );
}

#[test]
fn without_validation_rows_the_training_rows_choose() {
    let (spec, rows) = (spec(), data(40));
    let trained = train(&run(&spec, &rows, &Dataset::default()), &mut Silent).unwrap();
    assert!(trained.best_epoch.is_some() && largest_excess(&trained.network) <= 0.0);
}

#[test]
fn a_resumed_run_ends_with_the_same_bytes() {
    let (spec, rows, held_out) = (spec(), data(100), data(30));
    let whole = train(&run(&spec, &rows, &held_out), &mut Silent).unwrap();
    for batches in [7, 20, 53] {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = run(&spec, &rows, &held_out);
        let settings = CheckpointSettings::new(folder.path().join("run.ckpt"), parts.fingerprint());
        parts.checkpoint = Some(CheckpointSettings { every: Duration::ZERO, ..settings.clone() });
        assert_eq!(train(&parts, &mut StopAfter::batches(batches)).unwrap().stop, StopReason::Interrupted);
        parts.checkpoint = Some(CheckpointSettings { resume: true, ..settings });
        let resumed = train(&parts, &mut Silent).unwrap();
        assert_eq!(resumed.network, whole.network, "{batches}");
        assert_eq!(steps(&resumed), steps(&whole), "{batches}");
    }
}
