//! A run under rules that was interrupted anywhere ends with the bytes of one that was not.
//!
//! `DEEPSADE_RESUMES` sets how often each run is interrupted.

mod common;

use deepsade_data::Dataset;
use deepsade_engine::fit::loss;
use deepsade_engine::gate;
use deepsade_engine::train::{
    BoundsName, CheckpointSettings, EpochRecord, NetworkSettings, Run, Silent, Start, StopReason, TrainSettings, train,
};
use deepsade_net::Matrix;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use common::StopAfter;

fn names(prefix: &str, n: usize) -> Vec<String> {
    (0..n).map(|k| format!("{prefix}{k}")).collect()
}

fn spec(task: Task, rules: &[&str]) -> NormalSpec {
    let number = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } };
    let mut features: Vec<Feature> = names("x", 5).iter().map(|n| number(n)).collect();
    features.push(Feature { name: "k".into(), domain: Domain::Category { levels: names("l", 3) } });
    let schema = Schema { features, task, one_hot: OneHot::Full, filled: vec![] };
    let rules: Vec<RuleText> = rules.iter().map(|t| RuleText { name: (*t).into(), text: (*t).into() }).collect();
    compile(&rules, &schema).unwrap()
}

/// Rows of which outputs follow a random plane, so that the rules are in the way of some.
fn rows(spec: &NormalSpec, count: usize, seed: u64) -> Dataset {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let outputs = spec.schema.task.outputs();
    let plane: Vec<f32> = (0..outputs * 8).map(|k| ((k * 7919 % 101) as f32) / 50.0 - 1.0).collect();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let level = rng.random_range(0..3);
        let row: Vec<f32> = (0..5).map(|_| rng.random::<f32>()).chain((0..3).map(|l| f32::from(u8::from(l == level)))).collect();
        let score = |j: usize| plane[j * 8..(j + 1) * 8].iter().zip(&row).map(|(w, x)| w * x).sum::<f32>();
        let scores: Vec<f32> = (0..outputs).map(|j| score(j) + 0.3 * rng.random::<f32>()).collect();
        match &spec.schema.task {
            Task::Regression { .. } => y.extend(&scores),
            Task::Multilabel { .. } | Task::Ranking { .. } => y.extend(scores.iter().map(|s| f32::from(u8::from(*s > 0.0)))),
            _ => {
                let best = (0..outputs).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap();
                y.extend((0..outputs).map(|j| f32::from(u8::from(j == best))));
            }
        }
        x.extend(row);
    }
    Dataset {
        x: Matrix { rows: count, cols: 8, data: x },
        y: Matrix { rows: count, cols: outputs, data: y },
        weight: vec![1.0; count],
    }
}

fn without_time(records: &[EpochRecord]) -> Vec<EpochRecord> {
    records.iter().map(|record| EpochRecord { seconds: 0.0, ..*record }).collect()
}

#[test]
fn a_run_under_rules_resumes_to_the_same_bytes() {
    let times: usize = std::env::var("DEEPSADE_RESUMES").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let classes = || Task::Multiclass { target: "c".into(), classes: names("c", 5) };
    let labels = || Task::Multilabel { labels: names("b", 6) };
    let numbers = || Task::regression(names("y", 3));
    let cases: [(NormalSpec, BoundsName); 6] = [
        (spec(classes(), &["x0 >= 0.5 => c in {'c0', 'c1'}", "k == 'l1' => c != 'c0'"]), BoundsName::Interval),
        (
            spec(classes(), &["x0 + x1 >= 1 => c in {'c1', 'c2'}", "x2 <= 0.3 and k == 'l0' => c in {'c2', 'c3', 'c4'}"]),
            BoundsName::Interval,
        ),
        (spec(classes(), &["k == 'l2' => c in {'c3', 'c4'}"]), BoundsName::Relational),
        (spec(labels(), &["at_least(2, label[j] for j in 0..6)", "label[0] => label[1] or label[2]"]), BoundsName::Interval),
        (spec(labels(), &["x0 > 0.6 => label[3] or label[4]", "k == 'l1' => not label[5]"]), BoundsName::Interval),
        (
            spec(numbers(), &["y0 <= x0 or y1 <= x1", "y0 + y1 + y2 <= 2", "k == 'l0' => y2 >= 0 or y0 <= 0.2"]),
            BoundsName::Interval,
        ),
    ];
    let directory = tempfile::tempdir().unwrap();
    let rng = &mut ChaCha8Rng::seed_from_u64(11);
    for (case, (spec, bounds)) in cases.iter().enumerate() {
        let (data, validation) = (rows(spec, 60, 1), rows(spec, 20, 2));
        let shape = NetworkSettings { hidden: vec![8, 5], ..NetworkSettings::default() };
        let settings = TrainSettings { batch: 5, epochs: 8, learning_rate: 0.02, bounds: *bounds, ..TrainSettings::default() };
        let run = Run {
            network: gate::network(spec, &shape, None, 3),
            start: Start::Fresh,
            loss: loss(&spec.schema.task),
            train: &data,
            validation: &validation,
            settings,
            seed: 5,
            rules: Some(spec),
            favoured: None,
            step: None,
            checkpoint: None,
        };
        let whole = train(&run, &mut Silent).unwrap();
        let moved = whole.guard.as_ref().unwrap().2;
        assert!(moved.moved > moved.steps / 10, "case {case}: the rules are in the way: {moved:?}");
        let batches = 8 * 60 / 5;
        for time in 0..times {
            // Once or twice; the second time from what the first has left.
            let path = directory.path().join(format!("{case}-{time}.ckpt"));
            let mut saved = CheckpointSettings::new(&path, run.fingerprint());
            let mut left = batches;
            for _ in 0..=time % 2 {
                let stop = rng.random_range(0..left);
                let halted =
                    train(&Run { checkpoint: Some(saved.clone()), ..run.clone() }, &mut StopAfter::batches(stop)).unwrap();
                assert_eq!(halted.stop, StopReason::Interrupted);
                left = batches - halted.records.len() * 12;
                saved.resume = true;
            }
            let resumed = train(&Run { checkpoint: Some(saved), ..run.clone() }, &mut Silent).unwrap();
            assert_eq!(resumed.network, whole.network, "case {case}, interruption {time}, {left} batches left");
            assert_eq!(without_time(&resumed.records), without_time(&whole.records), "case {case}");
            assert_eq!((resumed.stop, resumed.best_epoch), (whole.stop, whole.best_epoch));
            assert_eq!(resumed.guard.as_ref().unwrap().2, moved, "case {case}: what is told of the run is of all of it");
        }
    }
}
