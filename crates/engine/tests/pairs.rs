//! Rules between two inputs: trained networks keep them together with other rules, and `verify` finds planted violations.

use deepsade_check::{Arithmetic, Bounds, PairProvedBy};
use deepsade_engine::guard::{Guard, Tightness};
use deepsade_engine::units::Units;
use deepsade_engine::verdict::all_hold;
use deepsade_engine::verify::{Outcome, VerifySettings, verify};
use deepsade_net::{Activation, Matrix, Network, Node, Op};
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn schema() -> Schema {
    let features = vec![
        Feature { name: "x".into(), domain: Domain::Real { lo: -1.0, hi: 1.0 } },
        Feature { name: "z".into(), domain: Domain::Real { lo: -1.0, hi: 1.0 } },
        Feature { name: "g".into(), domain: Domain::Ordered { levels: ["low", "mid", "high"].map(String::from).to_vec() } },
    ];
    Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::Full, filled: vec![] }
}

fn spec(text: &str) -> NormalSpec {
    compile(&[RuleText { name: "r".into(), text: text.into() }], &schema()).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

fn dense(rows: usize, w: Vec<f32>, b: Vec<f32>, from: usize) -> Node {
    Node { op: Op::Dense { w: Matrix { rows, cols: w.len() / rows, data: w }, b }, from: vec![from] }
}

fn relu(from: usize) -> Node {
    Node { op: Op::Act(Activation::Relu), from: vec![from] }
}

fn decide(text: &str, network: &Network) -> Outcome {
    verify(&spec(text), network, &VerifySettings::default(), &|| false).unwrap().0
}

/// y = 2 relu(x) - relu(-x) + z + g, with a second way from x whose weight may have the wrong sign.
fn network(second: f32) -> Network {
    let w = vec![1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0];
    let nodes = vec![dense(4, w, vec![0.0, 0.0, 5.0, -0.9], 0), relu(1), dense(1, vec![2.0, -1.0, 1.0, second], vec![0.0], 2)];
    Network { inputs: 3, nodes }
}

#[test]
fn a_monotone_network_is_proved_by_its_signs_and_a_wrong_sign_is_refuted_by_two_inputs() {
    let Outcome::Proved(proof) = decide("increasing(y, {x, z, g})", &network(0.5)) else { panic!("it rises") };
    assert_eq!((proof.accepted().pairs[0].by, proof.accepted().pairs[0].tolerance), (PairProvedBy::Signs, 0.0));
    // Where x is above 0.9 the slope is 2 - 3.
    let Outcome::Refuted(example) = decide("increasing(y, x)", &network(-3.0)) else { panic!("it falls at the end") };
    let (other, y) = example.other.expect("two inputs");
    assert!(example.x[0] < other[0] && example.x[1..] == other[1..] && y[0] < example.y[0], "{:?} {other:?}", example.x);
    assert!(matches!(decide("increasing(y, g)", &network(-3.0)), Outcome::Proved(_)), "the other features are as they were");
}

/// A condition that no input meets claims nothing, whatever the weights are; one that some inputs meet does.
#[test]
fn under_a_condition_that_no_input_meets_nothing_is_claimed() {
    let Outcome::Proved(proof) = decide("x > 2 => decreasing(y, x)", &network(0.5)) else { panic!("x is at most 1") };
    assert_eq!((proof.accepted().pairs[0].by, proof.accepted().pairs[0].tolerance), (PairProvedBy::Idle, 0.0));
    assert!(matches!(decide("x > 0.99 => decreasing(y, x)", &network(0.5)), Outcome::Refuted(_)));
    assert!(matches!(decide("x > 2 or z > 0 => decreasing(y, x)", &network(0.5)), Outcome::Refuted(_)));
}

/// The slope is 2 - 1.5 where both ways are open: no sign says so, the slopes do, for exact numbers. In float32 an ulp may be lost there.
#[test]
fn slopes_prove_what_signs_do_not() {
    let exact = VerifySettings { arithmetic: Arithmetic::Real, ..VerifySettings::default() };
    let Outcome::Proved(proof) = verify(&spec("increasing(y, x)"), &network(-1.5), &exact, &|| false).unwrap().0 else {
        panic!("it rises")
    };
    let done = &proof.accepted().pairs[0];
    assert!(done.by == PairProvedBy::Slopes && done.regions > 1 && done.tolerance == 0.0, "{done:?}");
    match decide("increasing(y, x)", &network(-1.5)) {
        Outcome::Refuted(example) => assert!(!example.in_every_runtime),
        Outcome::Proved(proof) => assert!(proof.accepted().pairs[0].tolerance > 0.0),
        other @ Outcome::Unknown { .. } => panic!("{other:?}"),
    }
    assert!(matches!(decide("change(y, {x}, by = 0.1) <= 0.31", &network(-1.5)), Outcome::Proved(_)));
    assert!(matches!(decide("change(y, {x}, by = 0.1) <= 0.19", &network(-1.5)), Outcome::Refuted(_)));
    assert!(matches!(decide("g == 'high' => change(y, {z}, by = 0.5) <= 0.51", &network(-1.5)), Outcome::Proved(_)));
    assert!(matches!(decide("unaffected(y, z)", &network(-1.5)), Outcome::Refuted(_)));
}

/// Exactly monotone for real numbers, and yet not in float32: the sum is rounded in other places.
#[test]
fn a_violation_of_one_ulp_is_found() {
    // y = (x + 1) - x / 3 - x / 3: slope 1/3 for real numbers, but rounded three times.
    let third = 1.0f32 / 3.0;
    let nodes = vec![
        dense(3, vec![1.0, 0.0, 0.0, third, 0.0, 0.0, third, 0.0, 0.0], vec![1.0, 0.0, 0.0], 0),
        dense(1, vec![1.0, -1.0, -1.0], vec![1000.0], 1),
    ];
    let network = Network { inputs: 3, nodes };
    match decide("increasing(y, x)", &network) {
        Outcome::Refuted(example) => {
            let (other, y) = example.other.expect("two inputs");
            assert!(example.x[0] < other[0] && y[0] < example.y[0] && !example.in_every_runtime);
        }
        Outcome::Proved(proof) => assert!(proof.accepted().pairs[0].tolerance > 0.0),
        other @ Outcome::Unknown { .. } => panic!("{other:?}"),
    }
}

/// What holds up to rounding is not called exact: the line says so, and so does the entry of the rule.
#[test]
fn a_tolerance_is_told_in_the_verdict() {
    // A sigmoid has no sign as computed; its slopes hold up to rounding.
    let nodes = vec![
        dense(1, vec![0.5, 0.0, 0.0], vec![0.0], 0),
        Node { op: Op::Act(Activation::Sigmoid), from: vec![1] },
        dense(1, vec![1.0], vec![0.0], 2),
    ];
    let spec = spec("increasing(y, x)");
    match verify(&spec, &Network { inputs: 3, nodes }, &VerifySettings::default(), &|| false).unwrap().0 {
        Outcome::Proved(proof) => {
            assert!(proof.accepted().pairs[0].tolerance > 0.0);
            assert!(all_hold(proof.accepted()).contains("1 of them up to the tolerance"));
        }
        // Our own sigmoid may lose an ulp somewhere, too.
        Outcome::Refuted(example) => assert!(!example.in_every_runtime),
        other @ Outcome::Unknown { .. } => panic!("{other:?}"),
    }
}

/// A last layer of zeros changes nothing, so there is always one to start from, however far the numbers of a rule lie beyond float64.
#[test]
fn distances_and_bounds_of_any_size_are_guarded() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut size = || [-400, -320, -40, -1, 0, 1, 38, 300, 309, 400][rng.random_range(0..10)];
    for _ in 0..200 {
        let (of, by, most, percent) = (size(), size(), size(), size() > 0);
        let text = format!("change(1e{of} * y, {{x, z}}, by = 1e{by}{}) <= 1e{most}", if percent { "%" } else { "" });
        let tightness = Tightness { bounds: Bounds::Interval, regions: 1 };
        let guard = Guard::new(&spec(&text), &network(0.5), &Units::raw(1), tightness);
        assert!(guard.is_ok(), "{text}: {:?}", guard.err());
    }
}
