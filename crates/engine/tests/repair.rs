//! Adversity against brute force, and repairs: rules hold afterwards, the trunk is as it was, and what can't be done is said.

use std::time::{Duration, Instant};

use deepsade_check::{Verdict, check};
use deepsade_engine::adversity::{Near, adversity};
use deepsade_engine::repair::{KnownRows, Mended, RepairError, RepairSettings, mend, repair};
use deepsade_engine::verify::{Outcome, VerifySettings, verify};
use deepsade_net::{Activation, Matrix, Model, Network, Node, Op};
use deepsade_output::Judge;
use deepsade_spec::{Claim, Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn spec(texts: &[&str]) -> NormalSpec {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let schema = Schema {
        features: vec![
            feature("x", Domain::Real { lo: -2.0, hi: 2.0 }),
            feature("n", Domain::Integer { lo: 0, hi: 10 }),
            feature("k", Domain::Category { levels: ["p", "q"].map(String::from).to_vec() }),
        ],
        task: Task::Binary { target: "t".into(), classes: vec!["no".into(), "yes".into()] },
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let rules: Vec<RuleText> = texts.iter().map(|t| RuleText { name: (*t).into(), text: (*t).into() }).collect();
    compile(&rules, &schema).unwrap()
}

fn network(seed: u64, widths: &[usize]) -> Network {
    let rng = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut nodes = Vec::new();
    for (k, pair) in widths.windows(2).enumerate() {
        let mut numbers = |n: usize| (0..n).map(|_| rng.random::<f32>() * 2.0 - 1.0).collect::<Vec<f32>>();
        let w = Matrix { rows: pair[1], cols: pair[0], data: numbers(pair[0] * pair[1]) };
        nodes.push(Node { op: Op::Dense { w, b: numbers(pair[1]) }, from: vec![nodes.len()] });
        if k + 2 < widths.len() {
            nodes.push(Node { op: Op::Act(Activation::Relu), from: vec![nodes.len()] });
        }
    }
    Network { inputs: widths[0], nodes }
}

#[test]
fn adversity_agrees_with_dense_grids_around_every_row() {
    let spec = spec(&["x > 0.5 and k == 'p' => t == 'no'"]);
    let judge = Judge::new(&spec);
    let (mut safe, mut broken) = (0, 0);
    for seed in 0..10 {
        let network = network(seed, &[4, 6, 5, 2]);
        let rng = &mut ChaCha8Rng::seed_from_u64(50 + seed);
        let rows: Vec<Vec<f32>> = (0..30)
            .map(|_| {
                let p = f32::from(u8::from(rng.random::<bool>()));
                vec![rng.random::<f32>() * 4.0 - 2.0, (rng.random::<f32>() * 10.0).round(), p, 1.0 - p]
            })
            .collect();
        let x = Matrix { rows: rows.len(), cols: 4, data: rows.concat() };
        let settings = VerifySettings { timeout: Some(Duration::from_secs(30)), ..VerifySettings::default() };
        let found = adversity(&spec, &Model::new(network.clone()), &x, 0.1, &settings, &|_| {}, &|| false).unwrap();
        for (row, near) in rows.iter().zip(&found) {
            // x within 0.4, n within 1, the level as it is.
            let (lo, hi) = ((row[0] - 0.4).max(-2.0), (row[0] + 0.4).min(2.0));
            let grid = (0..=400).flat_map(|i| (-1..=1).map(move |d| (lo + (hi - lo) * i as f32 / 400.0, d as f32)));
            let any = grid.filter(|(_, d)| (0.0..=10.0).contains(&(row[1] + d))).any(|(v, d)| {
                let point = vec![v, row[1] + d, row[2], row[3]];
                let y = network.forward(&Matrix { rows: 1, cols: 4, data: point.clone() });
                judge.breaks(0, &point, &y.data)
            });
            match near {
                Near::Broken(example) => {
                    assert!(judge.breaks(0, &example.x, &example.y));
                    assert!((example.x[0] - row[0]).abs() <= 0.4001 && (example.x[1] - row[1]).abs() <= 1.0);
                    assert_eq!(example.x[2..], row[2..]);
                    broken += 1;
                }
                Near::Safe => {
                    assert!(!any, "seed {seed}, row {row:?}");
                    safe += 1;
                }
                Near::Undecided(why) => panic!("{why}"),
            }
        }
    }
    assert!(safe > 20 && broken > 10, "{safe} {broken}");
}

#[test]
fn a_repaired_network_is_certified_and_its_trunk_is_untouched() {
    let spec = spec(&["x > 0.5 and k == 'p' => t == 'no'", "k == 'q' and n > 8 => t == 'yes'"]);
    let mut repaired = 0;
    for seed in 0..5 {
        let network = network(seed, &[4, 8, 6, 2]);
        let settings = VerifySettings { timeout: Some(Duration::from_secs(20)), ..VerifySettings::default() };
        let (outcome, _) = verify(&spec, &network, &settings, &|| false).unwrap();
        assert!(matches!(outcome, Outcome::Refuted(_)), "seed {seed}: a random network breaks the rules");
        let found = repair(&spec, &network, None).unwrap();
        // What the file says, not what we hold in memory.
        let text = found.certified.certificate().to_json();
        assert!(matches!(check(found.certified.model(), &Claim::from(&spec), &text), Verdict::Accepted(_)));
        let file = Model::from_own_bytes(found.certified.model()).unwrap().network;
        for k in 0..network.nodes.len() - 1 {
            let bits = |node: &Node| match &node.op {
                Op::Dense { w, b } => w.data.iter().chain(b).map(|v| v.to_bits()).collect::<Vec<u32>>(),
                _ => vec![],
            };
            assert_eq!(bits(&file.nodes[k]), bits(&network.nodes[k]), "node {k}");
            assert_eq!(file.nodes[k].from, network.nodes[k].from);
        }
        assert_eq!(found.skipped, ["x", "n", "k"]);
        repaired += 1;
    }
    assert_eq!(repaired, 5);
}

#[test]
fn a_network_without_hidden_layers_is_repaired() {
    let spec = spec(&["x > 0.5 and k == 'p' => t == 'no'"]);
    let found = repair(&spec, &network(3, &[4, 2]), None).unwrap();
    assert!(matches!(
        check(found.certified.model(), &Claim::from(&spec), &found.certified.certificate().to_json()),
        Verdict::Accepted(_)
    ));
}

#[test]
fn rules_that_no_last_layer_meets_are_a_finding() {
    let never = spec(&["t == 'no'", "x > 0 => t == 'yes'"]);
    assert!(matches!(repair(&never, &network(1, &[4, 8, 2]), None), Err(RepairError::Infeasible(_))));
    let relu_at_the_end = {
        let mut network = network(1, &[4, 8, 2]);
        network.nodes.push(Node { op: Op::Act(Activation::Relu), from: vec![3] });
        network
    };
    let spec = spec(&["x > 0.5 => t == 'no'"]);
    assert!(matches!(repair(&spec, &relu_at_the_end, None), Err(RepairError::NoLastLayer)));
}

/// One output of one feature, y = 2 x, and rules about them.
fn doubled(texts: impl Iterator<Item = String>) -> (NormalSpec, Network) {
    let schema = Schema {
        features: vec![Feature { name: "x".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } }],
        task: Task::regression(vec!["y".into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let rules: Vec<RuleText> = texts.enumerate().map(|(k, text)| RuleText { name: format!("r{k}"), text }).collect();
    let w = Matrix { rows: 1, cols: 1, data: vec![2.0] };
    let network = Network { inputs: 1, nodes: vec![Node { op: Op::Dense { w, b: vec![0.0] }, from: vec![0] }] };
    (compile(&rules, &schema).unwrap(), network)
}

#[test]
fn a_repair_ends_when_told_to_however_long_and_many_the_rules_are() {
    let one = std::iter::once((0..6_000).map(|k| format!("y <= {}", -k)).collect::<Vec<_>>().join(" or "));
    let many = (0..3_000).map(|k| format!("x <= {} => y <= {}", f64::from(k) / 3000.0, k - 1));
    let settings = RepairSettings { look: Duration::from_millis(100), back: Duration::from_millis(100) };
    for (k, (spec, network)) in [doubled(one), doubled(many)].into_iter().enumerate() {
        let started = Instant::now();
        let told = Duration::from_millis(400);
        let ended = mend(&spec, &network, &KnownRows::Nothing, &settings, &|| started.elapsed() > told);
        let seconds = started.elapsed().as_secs_f64();
        assert!(seconds < 6.0, "case {k}: {seconds}");
        // What is proved by then is kept.
        assert!(matches!(ended, Err(RepairError::Stopped) | Ok(Mended::Repaired(_))), "case {k}: {ended:?}");
    }
}

#[test]
fn once_a_last_layer_is_safe_the_time_ends_the_search_for_better_ones() {
    let (spec, network) = doubled((0..1_500).map(|k| format!("x <= {} => y <= {}", f64::from(k) / 1500.0, k - 1)));
    let settings = RepairSettings { look: Duration::from_millis(1), back: Duration::from_millis(1) };
    let started = Instant::now();
    let Mended::Repaired(done) = mend(&spec, &network, &KnownRows::Nothing, &settings, &|| false).unwrap() else {
        panic!("x = 0 gives 0")
    };
    assert_eq!((done.tightness.regions, done.features_only), (1, true), "the first that is safe");
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}
