//! Verdicts on tiny networks against brute force: a proof is never broken by a grid, a broken rule is always refuted.

use std::time::Duration;

use deepsade_check::Arithmetic;
use deepsade_engine::verify::{Outcome, Undecided, VerifySettings, verify};
use deepsade_net::{Activation, Matrix, Network, Node, Op};
use deepsade_output::Judge;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn schema(domains: Vec<Domain>, outputs: usize, one_hot: OneHot) -> Schema {
    let features = domains.into_iter().enumerate().map(|(k, domain)| Feature { name: format!("x{k}"), domain }).collect();
    Schema { features, task: Task::regression((0..outputs).map(|j| format!("y{j}")).collect()), one_hot, filled: vec![] }
}

/// Dense layers of these widths with an activation between them.
fn network(widths: &[usize], f: Activation, rng: &mut ChaCha8Rng) -> Network {
    let mut nodes = Vec::new();
    for (k, pair) in widths.windows(2).enumerate() {
        let mut number = |n: usize| (0..n).map(|_| rng.random::<f32>() * 2.0 - 1.0).collect::<Vec<f32>>();
        let w = Matrix { rows: pair[1], cols: pair[0], data: number(pair[0] * pair[1]) };
        nodes.push(Node { op: Op::Dense { w, b: number(pair[1]) }, from: vec![nodes.len()] });
        if k + 2 < widths.len() {
            nodes.push(Node { op: Op::Act(f), from: vec![nodes.len()] });
        }
    }
    Network { inputs: widths[0], nodes }
}

fn rules(texts: &[&str], schema: &Schema) -> NormalSpec {
    let rules: Vec<RuleText> = texts.iter().map(|t| RuleText { name: (*t).into(), text: (*t).into() }).collect();
    compile(&rules, schema).expect("rules compile")
}

/// Every row of a grid: n values of a real feature, all whole numbers, all levels.
fn grid(schema: &Schema, n: usize) -> Matrix {
    let mut rows: Vec<Vec<f32>> = vec![vec![]];
    for feature in &schema.features {
        let options: Vec<Vec<f32>> = match &feature.domain {
            Domain::Real { lo, hi } => (0..=n).map(|i| vec![lo + (hi - lo) * i as f32 / n as f32]).collect(),
            Domain::Integer { lo, hi } => (*lo..=*hi).map(|v| vec![v as f32]).collect(),
            Domain::Ordered { levels } => (0..levels.len()).map(|k| vec![k as f32]).collect(),
            Domain::Stepped { lo, hi, step } => {
                ((lo / step) as i32..=(hi / step) as i32).map(|k| vec![k as f32 * step]).collect()
            }
            Domain::Category { levels } => {
                let first = usize::from(schema.one_hot == OneHot::DropFirst);
                let one = |l: usize| (first..levels.len()).map(|k| f32::from(u8::from(k == l))).collect();
                (0..levels.len()).map(one).collect()
            }
        };
        rows = rows.iter().flat_map(|row| options.iter().map(move |o| [row.as_slice(), o].concat())).collect();
    }
    Matrix { rows: rows.len(), cols: schema.columns().len(), data: rows.concat() }
}

fn settings(seconds: u64) -> VerifySettings {
    VerifySettings { timeout: Some(Duration::from_secs(seconds)), ..VerifySettings::default() }
}

/// The verdict, checked: a counter-example breaks its rule, a proof was accepted.
fn decide(spec: &NormalSpec, network: &Network, settings: &VerifySettings) -> Outcome {
    let (outcome, _) = verify(spec, network, settings, &|| false).expect("the network fits");
    if let Outcome::Refuted(example) = &outcome {
        let x = Matrix { rows: 1, cols: example.x.len(), data: example.x.clone() };
        assert_eq!(network.forward(&x).data, example.y);
        assert!(Judge::new(spec).breaks(example.rule, &example.x, &example.y));
    }
    outcome
}

#[test]
fn conditions_that_contradict_each_other_are_seen_at_once() {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let schema = schema(
        vec![Domain::Real { lo: -1.0, hi: 1.0 }, Domain::Real { lo: -1.0, hi: 1.0 }, Domain::Real { lo: 0.0, hi: 1.0 }],
        1,
        OneHot::Full,
    );
    let network = network(&[3, 6, 6, 1], Activation::Relu, rng);
    for text in [
        "x0 > x1 and x1 > x0 => y0 >= 100",
        "x0 - x1 > 1.9 and x0 < 0.5 => y0 >= 100",
        "x0 + x2 > 0.5 and x0 > x1 and x1 > x2 and x2 > x0 => y0 >= 100",
        "x0 - 3*x1 > 0 and 3*x1 - x2 > 0 and x2 - x0 >= 0 => y0 >= 100",
    ] {
        let allowed = VerifySettings { most_regions: 100, ..settings(60) };
        let decided = decide(&rules(&[text], &schema), &network, &allowed);
        assert!(matches!(decided, Outcome::Proved(_)), "{text}: {decided:?}");
    }
}

/// Between two multiples the network may be anything: what is decided is what brute force says of the multiples.
#[test]
fn only_multiples_of_a_step_count() {
    let rng = &mut ChaCha8Rng::seed_from_u64(9);
    for round in 0..20 {
        let step = [0.25, 0.5, 4.0][round % 3];
        let stepped = Domain::Stepped { lo: -8.0 * step, hi: 12.0 * step, step };
        let schema = schema(vec![stepped.clone(), stepped], 1, OneHot::Full);
        let network = network(&[2, 6, 6, 1], Activation::Relu, rng);
        let y = network.forward(&grid(&schema, 0));
        let most = y.data.iter().copied().fold(f32::MIN, f32::max);
        for (above, holds) in [(1e-3, true), (-1e-3, false)] {
            let above = above * most.abs().max(1.0);
            let spec = rules(&[&format!("y0 <= ({:.6})", most + above)], &schema);
            let found = decide(&spec, &network, &settings(60));
            let inside = |x: &[f32]| x.iter().all(|v| (v / step).fract() == 0.0);
            match &found {
                Outcome::Proved(_) => assert!(holds),
                Outcome::Refuted(example) => assert!(!holds && inside(&example.x), "{:?}", example.x),
                other @ Outcome::Unknown { .. } => panic!("{other:?}"),
            }
        }
        // No multiple is there.
        let spec = rules(&[&format!("x0 > {} and x0 < {} => y0 >= 100000", 0.2 * step, 0.8 * step)], &schema);
        assert!(matches!(decide(&spec, &network, &settings(60)), Outcome::Proved(_)));
    }
}

#[test]
fn a_name_is_not_read() {
    let rng = &mut ChaCha8Rng::seed_from_u64(8);
    let schema = schema(vec![Domain::Real { lo: 0.0, hi: 1.0 }, Domain::Real { lo: 0.0, hi: 1.0 }], 2, OneHot::Full);
    let network = network(&[2, 8, 8, 2], Activation::Relu, rng);
    let y = network.forward(&grid(&schema, 200));
    let most = (0..y.rows).map(|r| y.row(r)[0] - y.row(r)[1]).fold(f32::MIN, f32::max);
    let mut work = Vec::new();
    for name in ["plain", "cap in region north", "rule \"cap\", region root/above, cell 3", "", "range"] {
        // A rule that is rejected at the root first must not stand in its way, whatever the names.
        let rules = ["other", name].map(|name| RuleText { name: name.into(), text: format!("y0 - y1 <= ({:.6})", most + 0.01) });
        let spec = compile(&rules, &schema).expect("rules compile");
        let (outcome, done) =
            verify(&spec, &network, &VerifySettings { threads: 1, ..settings(60) }, &|| false).expect("it fits");
        assert!(matches!(outcome, Outcome::Proved(_)), "{name}: {outcome:?}");
        work.push(done.regions);
    }
    assert!(work.iter().all(|w| *w == work[0]), "{work:?}");
}

#[test]
fn both_verdicts_agree_with_dense_grids() {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let mut seen = [0, 0];
    for case in 0..60 {
        let schema = schema(
            vec![
                Domain::Real { lo: -1.0, hi: 1.0 },
                Domain::Category { levels: ["p", "q", "r"].map(String::from).to_vec() },
                Domain::Integer { lo: -2, hi: 3 },
            ],
            2,
            [OneHot::Full, OneHot::DropFirst][case % 2],
        );
        let f = [Activation::Relu, Activation::Relu, Activation::Tanh, Activation::Sigmoid][case % 4];
        let network = network(&[schema.columns().len(), 5, 4, 2], f, rng);
        let rows = grid(&schema, 400);
        let y = network.forward(&rows);
        // The largest a - b, or the largest min(a, b), which needs both multipliers; with and without a condition.
        let score = |y: &[f32], x: &[f32]| match case % 3 {
            0 => y[0] - y[1],
            1 => y[0].min(y[1]),
            _ if x[0] > 0.25 => y[0] + 0.5 * x[0],
            _ => f32::MIN,
        };
        let most = (0..rows.rows).map(|r| score(y.row(r), rows.row(r))).fold(f32::MIN, f32::max);
        let text = |c: f32| match case % 3 {
            0 => format!("y0 - y1 < ({c:.6})"),
            1 => format!("y0 < ({c:.6}) or y1 < ({c:.6})"),
            _ => format!("x0 > 0.25 => y0 + x0 / 2 < ({c:.6})"),
        };
        let above = decide(&rules(&[&text(most + 0.02)], &schema), &network, &settings(60));
        assert!(matches!(above, Outcome::Proved(_)), "case {case}: {} should be proved: {above:?}", text(most + 0.02));
        let below = decide(&rules(&[&text(most - 1e-3)], &schema), &network, &settings(60));
        let Outcome::Refuted(example) = &below else { panic!("case {case}: {} should be refuted: {below:?}", text(most - 1e-3)) };
        assert!(example.in_every_runtime, "a violation by a thousandth is beyond rounding");
        seen[0] += 1;
        seen[1] += 1;
    }
    assert_eq!(seen, [60, 60]);
}

#[test]
fn many_features_are_decided_by_signs_of_units() {
    let rng = &mut ChaCha8Rng::seed_from_u64(2);
    let mut by_units = 0;
    for case in 0..12 {
        let schema = schema(vec![Domain::Integer { lo: 0, hi: 1 }; 10], 1, OneHot::Full);
        let network = network(&[10, 8, 6, 1], Activation::Relu, rng);
        let rows = grid(&schema, 1);
        assert_eq!(rows.rows, 1024);
        let most = network.forward(&rows).data.into_iter().fold(f32::MIN, f32::max);
        let above = decide(&rules(&[&format!("y0 <= ({:.6})", most + 1e-3)], &schema), &network, &settings(60));
        let Outcome::Proved(proof) = above else { panic!("case {case}: {above:?}") };
        by_units += usize::from(proof.certificate().to_json().contains("\"node\":"));
        let below = decide(&rules(&[&format!("y0 <= ({:.6})", most - 1e-3)], &schema), &network, &settings(60));
        assert!(matches!(below, Outcome::Refuted(_)), "case {case}: {below:?}");
    }
    assert!(by_units > 4, "{by_units}");
}

#[test]
fn what_rounding_decides_is_unknown_in_float32_and_proved_in_exact_numbers() {
    // y = x * 0.1 computed in float32 may exceed the exact product by half a unit in the last place.
    let schema = schema(vec![Domain::Real { lo: 1.0, hi: 1.0 }], 1, OneHot::Full);
    let w = Matrix { rows: 1, cols: 1, data: vec![0.1] };
    let network = Network { inputs: 1, nodes: vec![Node { op: Op::Dense { w, b: vec![0.0] }, from: vec![0] }] };
    // float32's 0.1 is 0.100000001490116...
    let spec = rules(&["y0 <= 0.1000000025"], &schema);
    let float32 = decide(&spec, &network, &settings(10));
    assert!(matches!(float32, Outcome::Unknown { rule: 0, why: Undecided::Margin }), "{float32:?}");
    let real = VerifySettings { arithmetic: Arithmetic::Real, ..settings(10) };
    assert!(matches!(decide(&spec, &network, &real), Outcome::Proved(_)));
}

fn dense(rows: usize, w: &[f32], b: &[f32], from: usize) -> Node {
    Node { op: Op::Dense { w: Matrix { rows, cols: w.len() / rows, data: w.to_vec() }, b: b.to_vec() }, from: vec![from] }
}

#[test]
fn exact_questions_are_judged_in_exact_numbers() {
    // 2^24 + 1 is rounded to 2^24 in float32; exactly, the difference is 1.
    let big = 16_777_216.0;
    let network = Network { inputs: 1, nodes: vec![dense(1, &[1.0], &[big], 0), dense(1, &[1.0], &[-big], 1)] };
    let schema = schema(vec![Domain::Real { lo: 1.0, hi: 1.0 }], 1, OneHot::Full);
    let real = VerifySettings { arithmetic: Arithmetic::Real, ..settings(10) };
    let ask = |text: &str, settings: &VerifySettings| verify(&rules(&[text], &schema), &network, settings, &|| false).unwrap().0;
    assert!(matches!(ask("y0 >= 1", &settings(10)), Outcome::Refuted(example) if example.y == [0.0] && !example.exact));
    assert!(matches!(ask("y0 >= 1", &real), Outcome::Proved(_)));
    assert!(matches!(ask("y0 > 0.999", &real), Outcome::Proved(_)));
    assert!(matches!(ask("y0 < 1", &real), Outcome::Refuted(example) if example.y == [1.0] && example.exact));
    assert!(matches!(ask("y0 <= 0.5", &real), Outcome::Refuted(example) if !example.in_every_runtime));
}

#[test]
fn arithmetic_beyond_float32_is_named() {
    // 1e30 * 1e30 * x is infinite in float32, though not in the search's float64.
    let network = Network { inputs: 1, nodes: vec![dense(1, &[1e30], &[0.0], 0), dense(1, &[1e30], &[0.0], 1)] };
    let schema = |lo| schema(vec![Domain::Real { lo, hi: 2.0 }], 1, OneHot::Full);
    let outcome = decide(&rules(&["y0 >= -1"], &schema(1.0)), &network, &settings(10));
    let Outcome::Unknown { why: why @ Undecided::Overflow(_), .. } = &outcome else { panic!("{outcome:?}") };
    assert!(why.to_string().contains("can exceed float32's range on this domain"), "{why}");
    // An output that is infinite obeys nothing: where the attack comes by, that is a counter-example.
    assert!(
        matches!(decide(&rules(&["y0 <= 5"], &schema(1.0)), &network, &settings(10)), Outcome::Refuted(e) if e.y[0].is_infinite())
    );
    let narrow = Network { inputs: 1, nodes: vec![dense(1, &[1e30], &[0.0], 0), dense(1, &[1e-30], &[0.0], 1)] };
    assert!(matches!(decide(&rules(&["y0 >= -1"], &schema(1.0)), &narrow, &settings(10)), Outcome::Proved(_)));
}

#[test]
fn rules_that_hold_with_nothing_to_spare_are_proved() {
    let rng = &mut ChaCha8Rng::seed_from_u64(8);
    let schema = schema(vec![Domain::Real { lo: -1.0, hi: 1.0 }; 2], 1, OneHot::Full);
    let mut relu = network(&[2, 6, 1], Activation::Relu, rng);
    relu.nodes.push(Node { op: Op::Act(Activation::Relu), from: vec![relu.nodes.len()] });
    let constant = Network { inputs: 2, nodes: vec![dense(1, &[0.0, 0.0], &[0.5], 0)] };
    for (network, text) in
        [(&relu, "y0 >= 0"), (&relu, "x0 > 0.25 => y0 >= 0"), (&constant, "y0 <= 0.5"), (&constant, "y0 >= 0.5")]
    {
        let outcome = decide(&rules(&[text], &schema), network, &settings(10));
        assert!(matches!(outcome, Outcome::Proved(_)), "{text}: {outcome:?}");
    }
    let broken = decide(&rules(&["y0 < 0.5"], &schema), &constant, &settings(10));
    assert!(matches!(broken, Outcome::Refuted(_)), "{broken:?}");
}

#[test]
fn conditions_with_alternatives_are_looked_at_one_by_one() {
    let rng = &mut ChaCha8Rng::seed_from_u64(11);
    for case in 0..12 {
        let schema = schema(vec![Domain::Real { lo: -1.0, hi: 1.0 }, Domain::Integer { lo: -3, hi: 3 }], 1, OneHot::Full);
        let network = network(&[2, 6, 5, 1], [Activation::Tanh, Activation::Sigmoid, Activation::Relu][case % 3], rng);
        let rows = grid(&schema, 2000);
        let y = network.forward(&rows);
        let (condition, meets): (_, fn(&[f32]) -> bool) = if case % 2 == 0 {
            ("x1 != 0", |x| x[1] != 0.0)
        } else {
            ("x0 <= -0.2 or x0 >= 0.3", |x| x[0] <= -0.2 || x[0] >= 0.3)
        };
        let most = (0..rows.rows).filter(|r| meets(rows.row(*r))).map(|r| y.row(r)[0]).fold(f32::MIN, f32::max);
        let spec = rules(&[&format!("{condition} => y0 <= ({:.6})", most + 0.05)], &schema);
        let outcome = decide(&spec, &network, &settings(20));
        assert!(matches!(outcome, Outcome::Proved(_)), "case {case}: {outcome:?}");
    }
}

#[test]
fn small_relu_networks_are_decided_near_their_maximum() {
    let rng = &mut ChaCha8Rng::seed_from_u64(12);
    for case in 0..6 {
        let schema = schema(vec![Domain::Real { lo: -1.0, hi: 1.0 }; 3], 1, OneHot::Full);
        let network = network(&[3, 8, 8, 1], Activation::Relu, rng);
        let most = network.forward(&grid(&schema, 60)).data.into_iter().fold(f32::MIN, f32::max);
        let spec = rules(&[&format!("y0 <= ({:.6})", most + 0.004)], &schema);
        let (outcome, work) = verify(&spec, &network, &settings(20), &|| false).unwrap();
        assert!(matches!(outcome, Outcome::Proved(_) | Outcome::Refuted(_)), "case {case}: {outcome:?}");
        assert!(work.regions < 3000, "case {case}: {} regions", work.regions);
    }
}

#[test]
fn hundreds_of_conditions_in_one_rule_are_decided() {
    let schema = schema(vec![Domain::Real { lo: 0.0, hi: 1.0 }], 1, OneHot::Full);
    let network = Network { inputs: 1, nodes: vec![dense(1, &[1.0], &[0.0], 0)] };
    let text = (2..3000).map(|k| format!("y0 <= {k}")).collect::<Vec<_>>().join(" and ");
    assert!(matches!(decide(&rules(&[&text], &schema), &network, &settings(30)), Outcome::Proved(_)));
    let never = (2..3000).map(|k| format!("y0 >= {k}")).collect::<Vec<_>>().join(" or ");
    let outcome = decide(&rules(&[&never], &schema), &network, &settings(30));
    assert!(matches!(outcome, Outcome::Refuted(_)), "{outcome:?}");
}

#[test]
fn a_rule_with_too_many_cells_is_attacked_before_it_is_unknown() {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let schema = schema(vec![Domain::Real { lo: -1.0, hi: 1.0 }, Domain::Integer { lo: -2, hi: 2 }], 3, OneHot::Full);
    let network = network(&[2, 8, 6, 3], Activation::Relu, rng);
    let rows = grid(&schema, 400);
    let y = network.forward(&rows);
    // The largest of the smallest output where x0 > 0.25 and x1 is 2, or of the outputs alone.
    let rows = (0..rows.rows).filter(|r| rows.row(*r)[0] > 0.25 && rows.row(*r)[1] == 2.0);
    let most = rows.map(|r| y.row(r).iter().copied().fold(f32::MAX, f32::min)).fold(f32::MIN, f32::max);
    // Each of 11 parts can fail in four ways, so 4^11 cells, of which at most the last of all can be reached.
    let many = |c: f32| {
        let parts = ["(y0 <= 900 and y1 <= 900 and y2 <= 900 and y0 + y1 <= 900)"; 8].join(" or ");
        let last =
            ["y0", "y1", "y2"].map(|y| format!("(y0 <= 900 and y1 <= 900 and y2 <= 900 and {y} <= ({c:.6}))")).join(" or ");
        format!("x0 > 0.25 and x1 == 2 => {last} or ({parts})")
    };
    let broken_parts = |c: f32| many(c).replace("y0 + y1 <= 900", "y0 + y1 <= -900");
    let long = |c: f32| {
        let parts = (0..2000).map(|k| format!("y{} <= ({:.6})", k % 3, c - k as f32 * 1e-5)).collect::<Vec<_>>();
        format!("x0 > 0.25 and x1 == 2 => {}", parts.join(" or "))
    };
    for text in [broken_parts(most - 1e-3), long(most - 1e-3)] {
        let outcome = decide(&rules(&["y0 <= 1000", &text], &schema), &network, &settings(30));
        let Outcome::Refuted(example) = &outcome else { panic!("{outcome:?}") };
        assert_eq!((example.rule, example.x[1], example.in_every_runtime), (1, 2.0, true));
    }
    for text in [many(most + 1e-2), long(most + 1e-2)] {
        let outcome = decide(&rules(&[&text], &schema), &network, &settings(30));
        assert!(matches!(outcome, Outcome::Unknown { why: Undecided::TooManyCells, .. }), "{outcome:?}");
    }
    // It does not keep the rules after it from being refuted.
    let both = rules(&[&many(most + 1e-2), &format!("y0 <= ({:.6})", most - 1.0)], &schema);
    assert!(matches!(decide(&both, &network, &settings(30)), Outcome::Refuted(example) if example.rule == 1));
}

/// A network beside itself, the outputs of both subtracted: zero but for rounding, which bounds of one layer after the other see only
/// once they know the sign of every unit of both.
fn less_itself(one: &Network) -> Network {
    let depth = one.nodes.len();
    let nodes = one.nodes.iter().enumerate().map(|(k, node)| {
        let Op::Dense { w, b } = &node.op else { return node.clone() };
        let (first, last) = (k == 0, k + 1 == depth);
        let (rows, cols) = (if last { w.rows } else { 2 * w.rows }, if first { w.cols } else { 2 * w.cols });
        let mut double = Matrix { rows, cols, data: vec![0.0; rows * cols] };
        for r in 0..w.rows {
            for c in 0..w.cols {
                double.data[r * cols + c] = w.data[r * w.cols + c];
                let (r, c) = (if last { r } else { r + w.rows }, if first { c } else { c + w.cols });
                double.data[r * cols + c] = if last { -1.0 } else { 1.0 } * w.data[(r % w.rows) * w.cols + c % w.cols];
            }
        }
        let b = if last { vec![0.0; rows] } else { [b.as_slice(), b].concat() };
        Node { op: Op::Dense { w: double, b }, from: node.from.clone() }
    });
    Network { inputs: one.inputs, nodes: nodes.collect() }
}

#[test]
fn time_that_one_rule_leaves_is_for_the_others() {
    // The first rule holds, and takes a region for every one of the network's many linear pieces: no machine is through in time, and
    // none finds an input that breaks it. The others are easy, and what they leave is for the first.
    let rng = &mut ChaCha8Rng::seed_from_u64(4);
    let schema = schema(vec![Domain::Real { lo: -1.0, hi: 1.0 }; 12], 1, OneHot::Full);
    let network = less_itself(&network(&[12, 60, 60, 60, 1], Activation::Relu, rng));
    let x = Matrix { rows: 1, cols: 12, data: (0..12).map(|_| rng.random::<f32>()).collect() };
    assert!(network.forward(&x).data[0].abs() < 1e-2, "it is the same network twice");
    let spec = rules(&["y0 <= 1", "y0 <= 1000000000", "y0 >= -1000000000"], &schema);
    let started = std::time::Instant::now();
    let patient = VerifySettings { most_open: usize::MAX, ..settings(2) };
    let (outcome, _) = verify(&spec, &network, &patient, &|| false).unwrap();
    assert!(matches!(outcome, Outcome::Unknown { rule: 0, why: Undecided::Timeout }), "{outcome:?}");
    // Three quarters of it: the rest would be the checker's.
    assert!(started.elapsed() >= Duration::from_millis(1500), "{:?}", started.elapsed());
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    let schema = schema(vec![Domain::Real { lo: -1.0, hi: 1.0 }; 3], 1, OneHot::Full);
    let network = network(&[3, 8, 8, 1], Activation::Relu, rng);
    let most = network.forward(&grid(&schema, 30)).data.into_iter().fold(f32::MIN, f32::max);
    let spec = rules(&[&format!("y0 <= ({:.6})", most + 0.1)], &schema);
    let text = |threads| match decide(&spec, &network, &VerifySettings { threads, ..settings(60) }) {
        Outcome::Proved(proof) => proof.certificate().to_json(),
        other => panic!("{other:?}"),
    };
    let alone = text(1);
    assert_eq!(alone, text(3));
    assert!(alone.contains("\"node\":") || alone.contains("\"feature\":"), "the region had to be split");
}

#[test]
fn a_stop_is_an_answer() {
    let rng = &mut ChaCha8Rng::seed_from_u64(4);
    let schema = schema(vec![Domain::Real { lo: -1.0, hi: 1.0 }; 6], 1, OneHot::Full);
    let network = network(&[6, 40, 40, 40, 1], Activation::Relu, rng);
    let most = network.forward(&grid(&schema, 5)).data.into_iter().fold(f32::MIN, f32::max);
    let spec = rules(&[&format!("y0 <= ({:.6})", most * 1.5)], &schema);
    let (outcome, _) = verify(&spec, &network, &settings(60), &|| true).unwrap();
    assert!(matches!(outcome, Outcome::Unknown { why: Undecided::Interrupted, .. }), "{outcome:?}");
    let soon = VerifySettings { timeout: Some(Duration::ZERO), ..VerifySettings::default() };
    let (outcome, _) = verify(&spec, &network, &soon, &|| false).unwrap();
    assert!(matches!(outcome, Outcome::Unknown { why: Undecided::Timeout, .. }), "{outcome:?}");
}
