//! Rules for which a last layer exists are found one, in whatever units they are written, and the checker accepts its certificate.

use deepsade_check::{Bounds, Verdict, check};
use deepsade_engine::enforce::weights::certify;
use deepsade_engine::gate;
use deepsade_engine::guard::{Guard, GuardError, Obstacle, Tightness};
use deepsade_engine::train::{NetworkSettings, Stepper};
use deepsade_engine::units::Units;
use deepsade_net::Matrix;
use deepsade_output::Judge;
use deepsade_spec::{Claim, Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TIGHTNESS: Tightness = Tightness { bounds: Bounds::Interval, regions: 1 };

fn classes(names: &[&str]) -> Task {
    let classes: Vec<String> = names.iter().map(|n| (*n).into()).collect();
    if names.len() == 2 {
        Task::Binary { target: "risk".into(), classes }
    } else {
        Task::Multiclass { target: "risk".into(), classes }
    }
}

fn spec(task: Task, rules: &[String]) -> NormalSpec {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let schema = Schema {
        features: vec![
            feature("tot", Domain::Integer { lo: 0, hi: 40 }),
            feature("n60", Domain::Integer { lo: 0, hi: 40 }),
            feature("a", Domain::Real { lo: 0.0, hi: 81_000.0 }),
            feature("b", Domain::Real { lo: -1.0, hi: 3.0 }),
            feature("k", Domain::Category { levels: ["p", "q", "r"].map(String::from).to_vec() }),
        ],
        task,
        one_hot: OneHot::DropFirst,
        filled: vec![],
    };
    let rules: Vec<RuleText> = rules.iter().map(|t| RuleText { name: t.clone(), text: t.clone() }).collect();
    compile(&rules, &schema).unwrap()
}

/// Sets up the guard, keeps a random network inside, and asks the checker and samples.
fn kept(spec: &NormalSpec) {
    let told: Vec<&str> = spec.rules.iter().map(|r| r.text.as_str()).collect();
    let shape = NetworkSettings { hidden: vec![6], ..NetworkSettings::default() };
    let network = gate::network(spec, &shape, None, 1);
    let units = Units::raw(spec.schema.task.outputs());
    let guard = Guard::new(spec, &network, &units, TIGHTNESS).unwrap_or_else(|e| panic!("{told:?}: {e}"));
    let (model, proof) = certify(spec.into(), &network, &guard, &units, 1.0).unwrap();
    let proof = proof.unwrap_or_else(|refused| panic!("{told:?}: {refused}"));
    let bytes = model.to_bytes().unwrap();
    assert!(matches!(check(&bytes, &Claim::from(spec), &proof.certificate().to_json()), Verdict::Accepted(_)));
    let rng = &mut ChaCha8Rng::seed_from_u64(2);
    let mut x = Vec::new();
    for _ in 0..2000 {
        let level = rng.random_range(0..3);
        x.extend([rng.random_range(0..=40) as f32, rng.random_range(0..=40) as f32]);
        x.extend([rng.random::<f32>() * 81_000.0, rng.random::<f32>() * 4.0 - 1.0]);
        x.extend([f32::from(u8::from(level == 1)), f32::from(u8::from(level == 2))]);
    }
    let x = Matrix { rows: 2000, cols: 6, data: x };
    let (y, judge) = (model.network.forward(&x), Judge::new(spec));
    assert!((0..spec.rules.len()).all(|rule| (0..2000).all(|r| !judge.breaks(rule, x.row(r), y.row(r)))), "{told:?}");
}

fn texts_of(rules: &[&str]) -> Vec<String> {
    rules.iter().map(|r| (*r).into()).collect()
}

#[test]
fn conditions_on_several_inputs_and_the_last_layer_are_solved_for_together() {
    let two = || classes(&["0", "1"]);
    for rules in [
        &["tot >= 4 and n60 >= 0.5 * tot => risk == '1'", "n60 == 0 => risk == '0'"][..],
        &["tot >= 10 and n60 >= 0.25 * tot => risk == '1'", "n60 <= 1 => risk == '0'"],
        &["n60 + tot >= 30 and n60 - tot >= 0 => risk == '1'", "n60 <= 10 => risk == '0'"],
        &["a >= 20000 * b + 30000 and b >= 0 => risk == '1'", "a <= 10000 => risk == '0'"],
        &["tot - n60 >= 5 => risk == '1'", "n60 - tot >= 5 => risk == '0'", "k == 'q' and n60 - tot >= 3 => risk == '0'"],
        &["tot >= 4 and n60 >= 0.5 * tot and k == 'p' => risk == '1'", "n60 == 0 => risk == '0'"],
    ] {
        kept(&spec(two(), &texts_of(rules)));
    }
    let three = || classes(&["low", "mid", "high"]);
    for rules in [
        &["tot >= 4 and n60 >= 0.5 * tot => risk == 'high'", "n60 == 0 => risk in {'low', 'mid'}"][..],
        &["tot >= 4 and n60 >= 0.5 * tot => risk in {'mid', 'high'}", "n60 == 0 => risk == 'low'"],
        &["tot - n60 >= 20 => risk == 'low'", "n60 - tot >= 20 => risk == 'high'", "tot + n60 <= 3 => risk in {'low', 'mid'}"],
    ] {
        kept(&spec(three(), &texts_of(rules)));
    }
    let numbers = || Task::regression(vec!["y".into(), "z".into()]);
    for rules in [
        &["tot >= 4 and n60 >= 0.5 * tot => y >= 1", "n60 == 0 => y <= -1"][..],
        &["tot + n60 >= 60 => y >= 5", "tot + n60 <= 20 => y <= 1", "z <= y or z <= 3"],
    ] {
        kept(&spec(numbers(), &texts_of(rules)));
    }
}

#[test]
fn a_rule_in_other_units_has_the_same_proof() {
    for factor in ["0.000001", "0.001", "1", "3", "1000", "1000000"] {
        for (left, right) in [("1000", "100"), ("10", "1")] {
            let rule = format!("{factor} * {left} * tot > {factor} * {right} * (a + 100 * n60) => risk == '1'");
            kept(&spec(classes(&["0", "1"]), &[rule]));
        }
        let both = [
            format!("{factor} * tot >= {factor} * 4 and {factor} * n60 >= {factor} * 0.5 * tot => risk == '1'"),
            "n60 == 0 => risk == '0'".into(),
        ];
        kept(&spec(classes(&["0", "1"]), &both));
        // An atom about outputs in other units, beside one that is not.
        let numbers = Task::regression(vec!["y".into(), "z".into()]);
        let rules = [format!("{factor} * y <= {factor} * 5 or z <= 0.0001 * a"), format!("{factor} * (y + z) <= {factor} * 7")];
        kept(&spec(numbers, &rules));
    }
}

/// The same in training: a guard that keeps one rule moves the last layer alike, whatever the units of the rule.
#[test]
fn other_units_move_the_last_layer_alike() {
    let layer = |factor: f64| {
        let rules = [
            format!("{factor} * tot >= {factor} * 4 and {factor} * n60 >= {factor} * 0.5 * tot => risk == '1'"),
            format!("{factor} * n60 <= 0 => risk == '0'"),
        ];
        let spec = spec(classes(&["0", "1"]), &rules);
        let network = gate::network(&spec, &NetworkSettings { hidden: vec![6], ..NetworkSettings::default() }, None, 1);
        let mut guard = Guard::new(&spec, &network, &Units::raw(2), TIGHTNESS).unwrap();
        guard.begin_epoch(None);
        let mut stepper = Stepper::new(&network, 1).unwrap();
        guard.solve(stepper.parameters_mut());
        stepper.parameters().to_vec()
    };
    let plain = layer(1.0);
    for factor in [0.001, 0.25, 1024.0, 100_000.0] {
        let largest = layer(factor).iter().zip(&plain).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(largest < 1e-3, "a factor of {factor} moves a weight by {largest}");
    }
}

/// The multiplier of a condition moves together with the layer: one that breaks its rule by 0.9 moves by little more than that, and stays
/// free where the condition does not hold, whether or not conditions alone come nearer to nothing than any mixture with outputs.
#[test]
fn a_condition_on_several_inputs_holds_the_layer_where_it_is_met_alone() {
    let spec = spec(Task::regression(vec!["y".into()]), &texts_of(&["0.1 * n60 > tot => y <= 1"]));
    let network = gate::network(&spec, &NetworkSettings { hidden: vec![], ..NetworkSettings::default() }, None, 1);
    let mut guard = Guard::new(&spec, &network, &Units::raw(1), TIGHTNESS).unwrap();
    // y = 1.9 + 5 (tot - 0.1 n60) / 40 in columns scaled to [0, 1].
    let layer = |start: usize, of: &[f32]| of[start..].to_vec();
    let given = [5.0f32, -0.5, 0.0, 0.0, 0.0, 0.0, 1.9];
    let mut stepper = Stepper::new(&network, 1).unwrap();
    let start = stepper.parameters().len() - given.len();
    for epoch in 0..3 {
        stepper.parameters_mut()[start..].copy_from_slice(&given);
        guard.begin_epoch(None);
        let solved = guard.solve(stepper.parameters_mut());
        let found = layer(start, stepper.parameters());
        let moved = found.iter().zip(&given).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt();
        assert!(!solved.pulled_back && moved <= 1.2, "epoch {epoch}: moved by {moved} to {found:?}");
        let y = |tot: f32, n60: f32| found[0] * tot / 40.0 + found[1] * n60 / 40.0 + found[6] + found[2].abs() + found[3].abs();
        let most = [(0.0, 0.0), (0.0, 40.0), (4.0, 40.0)].map(|(tot, n60)| y(tot, n60)).into_iter().fold(f32::MIN, f32::max);
        assert!(
            most <= 1.0 && y(40.0, 0.0) >= 5.0,
            "epoch {epoch}: {most} where the condition holds, {} far from it",
            y(40.0, 0.0)
        );
    }
}

/// A layer that was trained in units of its outputs stays where it is when it is certified in raw ones: multipliers of conditions are as
/// large as the outputs there.
#[test]
fn a_layer_that_obeys_stays_when_its_units_become_raw() {
    let spec = spec(Task::regression(vec!["y".into()]), &texts_of(&["0.1 * n60 > tot => y <= 100000"]));
    let network = gate::network(&spec, &NetworkSettings { hidden: vec![], ..NetworkSettings::default() }, None, 1);
    let units = Units { scale: vec![1e5], shift: vec![0.0] };
    let guard = Guard::new(&spec, &network, &units, TIGHTNESS).unwrap();
    let safe: Vec<f32> = guard.safe().iter().map(|w| w * 1e5).collect();
    let mut raw = guard.transfer(&spec, &network, &Units::raw(1), &safe, 1.0, &|| false).unwrap();
    // y = 1e5 (0.9 + 5 (tot - 0.1 n60) / 40) in columns scaled to [0, 1].
    let given = [5e5f32, -5e4, 0.0, 0.0, 0.0, 0.0, 9e4];
    let mut stepper = Stepper::new(&network, 1).unwrap();
    let start = stepper.parameters().len() - given.len();
    stepper.parameters_mut()[start..].copy_from_slice(&given);
    raw.solve(stepper.parameters_mut());
    let moved = stepper.parameters()[start..].iter().zip(&given).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(moved < 1e4, "{:?}", &stepper.parameters()[start..]);
}

/// What one target breaks its rule by is no measure for another in other units.
#[test]
fn targets_of_other_units_are_moved_by_their_own() {
    let numbers = Task::regression(vec!["y".into(), "z".into()]);
    let spec = spec(numbers, &texts_of(&["y <= 0.018", "z <= 201800"]));
    let network = gate::network(&spec, &NetworkSettings { hidden: vec![], ..NetworkSettings::default() }, None, 1);
    let units = Units { scale: vec![0.01, 1e5], shift: vec![0.0; 2] };
    let mut guard = Guard::new(&spec, &network, &units, TIGHTNESS).unwrap();
    guard.begin_epoch(None);
    let mut stepper = Stepper::new(&network, 1).unwrap();
    let last = stepper.parameters().len();
    stepper.parameters_mut().fill(0.0);
    // y = 0.019 and z = 211,800.
    stepper.parameters_mut()[last - 2..].copy_from_slice(&[1.9, 2.118]);
    guard.solve(stepper.parameters_mut());
    let found = &stepper.parameters()[last - 2..];
    assert!((1.2..=1.8).contains(&found[0]) && (1.9..=2.018).contains(&found[1]), "{found:?}");
}

/// Nothing affine is above zero at both ends and below in the middle.
#[test]
fn what_is_not_found_is_said_so_and_decoding_is_named() {
    let rules = [
        "tot + n60 >= 70 => risk == '1'",
        "tot + n60 <= 3 => risk == '1'",
        "tot - n60 >= 0 and tot - n60 <= 1 and tot >= 10 and tot <= 20 => risk == '0'",
    ];
    let spec = spec(classes(&["0", "1"]), &texts_of(&rules));
    let network = gate::network(&spec, &NetworkSettings { hidden: vec![6], ..NetworkSettings::default() }, None, 1);
    let error = Guard::new(&spec, &network, &Units::raw(2), TIGHTNESS).unwrap_err();
    assert!(matches!(error, GuardError::Infeasible { why: Obstacle::NotFound, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("no last layer was found that satisfies") && text.contains("enforce = \"decode\""), "{text}");
}

/// What a guard does in an epoch is a function of the epoch: one that has been through others goes the same way as a fresh one.
#[test]
fn a_guard_remembers_nothing_of_earlier_epochs() {
    let rules =
        ["tot >= 20 => risk in {'a', 'b'}", "k == 'q' => risk in {'b', 'c', 'd'}", "tot + n60 >= 60 => risk in {'b', 'c'}"];
    let spec = spec(classes(&["a", "b", "c", "d", "e"]), &texts_of(&rules));
    let network = gate::network(&spec, &NetworkSettings { hidden: vec![8, 5], ..NetworkSettings::default() }, None, 1);
    let fresh = Guard::new(&spec, &network, &Units::raw(5), TIGHTNESS).unwrap();
    // A walk of all weights, pulled back by the guard after each step.
    let walk = |guard: &mut Guard, seed: u64| {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut stepper = Stepper::new(&network, 1).unwrap();
        guard.begin_epoch(None);
        let mut moves = 0;
        for _ in 0..40 {
            stepper.parameters_mut().iter_mut().for_each(|w| *w += 0.2 * (rng.random::<f32>() - 0.5));
            moves += guard.solve(stepper.parameters_mut()).moves;
        }
        (stepper.parameters().to_vec(), moves)
    };
    let mut used = fresh.clone();
    for seed in 0..30 {
        let expected = walk(&mut fresh.clone(), seed);
        assert!(expected.1 > 10, "the rules are in the way: {}", expected.1);
        assert_eq!(walk(&mut used, seed), expected, "epoch {seed}");
    }
}
