//! Foreign networks of every order of operators, under rules of every kind: no panic, and no verdict that a sample contradicts.
//!
//! `DEEPSADE_CASES` sets how many networks are tried.

use std::time::Duration;

use deepsade_check::Arithmetic;
use deepsade_engine::adversity::{Near, adversity};
use deepsade_engine::repair::{self, KnownRows, Mended, mend};
use deepsade_engine::verify::{Outcome, VerifySettings, verify};
use deepsade_net::{Activation, Matrix, Model, Network, Node, Op};
use deepsade_output::Judge;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, Region, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn cases(usual: u64) -> u64 {
    std::env::var("DEEPSADE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Two numbers, of which one may have a step, a whole number, a category; some of them with one value only.
fn schema(rng: &mut ChaCha8Rng, task: Task) -> Schema {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let step = [0.25, 2.0, 0.0, 0.0, 0.0][rng.random_range(0..5)];
    let point = rng.random_range(0..6) == 0;
    let levels = if rng.random_range(0..4) == 0 { vec!["p"] } else { vec!["p", "q", "r"] };
    let features = vec![
        feature("a", Domain::Real { lo: 0.0, hi: 1.0 }),
        feature(
            "b",
            match step {
                _ if point => Domain::Real { lo: 0.5, hi: 0.5 },
                0.0 => Domain::Real { lo: -1.0, hi: 2.0 },
                step => Domain::Stepped { lo: -4.0 * step, hi: 6.0 * step, step },
            },
        ),
        feature("n", if point { Domain::Integer { lo: 3, hi: 3 } } else { Domain::Integer { lo: 0, hi: 4 } }),
        feature("c", Domain::Category { levels: levels.into_iter().map(String::from).collect() }),
    ];
    Schema { features, task, one_hot: if rng.random::<bool>() { OneHot::Full } else { OneHot::DropFirst }, filled: vec![] }
}

fn regression() -> Task {
    Task::regression(vec!["u".into(), "v".into()])
}

/// Operators in any order, each reading any values before it; what nobody reads is left out.
fn network(rng: &mut ChaCha8Rng, inputs: usize, outputs: usize) -> Network {
    let mut nodes: Vec<Node> = Vec::new();
    let mut widths = vec![inputs];
    let extreme = rng.random_range(0..12) == 0;
    let number = |rng: &mut ChaCha8Rng| match rng.random_range(0..12) {
        0 => 0.0,
        1 if extreme => 3e38,
        _ => rng.random::<f32>() * 4.0 - 2.0,
    };
    let count = rng.random_range(0..8);
    for k in 0..=count {
        let from = if rng.random::<bool>() { widths.len() - 1 } else { rng.random_range(0..widths.len()) };
        let width = widths[from];
        let dense = |rows: usize, rng: &mut ChaCha8Rng| Op::Dense {
            w: Matrix { rows, cols: width, data: (0..rows * width).map(|_| number(rng)).collect() },
            b: (0..rows).map(|_| number(rng)).collect(),
        };
        let single: Vec<usize> = (0..widths.len()).filter(|v| widths[*v] == 1).collect();
        let (op, from) = if k == count && rng.random_range(0..4) > 0 {
            (dense(outputs, rng), vec![from])
        } else {
            match rng.random_range(0..9) {
                0 | 1 => (dense(rng.random_range(1..4), rng), vec![from]),
                2 => {
                    let list = |rng: &mut ChaCha8Rng| (0..width).map(|_| number(rng)).collect();
                    (Op::Affine { scale: list(rng), shift: list(rng) }, vec![from])
                }
                3 | 4 => (Op::Act(Activation::Relu), vec![from]),
                5 => (Op::Act([Activation::Sigmoid, Activation::Tanh][rng.random_range(0..2)]), vec![from]),
                6 => (Op::Select((0..rng.random_range(1..4)).map(|_| rng.random_range(0..width)).collect()), vec![from]),
                7 => (Op::Concat, (0..rng.random_range(1..4)).map(|_| rng.random_range(0..widths.len())).collect()),
                _ if single.is_empty() => (Op::Select(vec![rng.random_range(0..width)]), vec![from]),
                _ => (Op::Gate, vec![from, single[rng.random_range(0..single.len())]]),
            }
        };
        widths.push(match &op {
            Op::Dense { w, .. } => w.rows,
            Op::Select(columns) => columns.len(),
            Op::Concat => from.iter().map(|v| widths[*v]).sum(),
            _ => widths[from[0]],
        });
        nodes.push(Node { op, from });
    }
    let last = widths.len() - 1;
    if widths[last] != outputs {
        let width = widths[last];
        nodes.push(Node { op: Op::Select((0..outputs).map(|j| j % width).collect()), from: vec![last] });
    }
    pruned(Network { inputs, nodes })
}

fn pruned(mut network: Network) -> Network {
    while let Some(k) = (0..network.nodes.len() - 1).rev().find(|k| !network.nodes.iter().any(|n| n.from.contains(&(k + 1)))) {
        network.nodes.remove(k);
        network.nodes.iter_mut().flat_map(|n| &mut n.from).filter(|v| **v > k).for_each(|v| *v -= 1);
    }
    network
}

/// About outputs, inputs, both or neither; true, false or open on the domain.
fn rule(rng: &mut ChaCha8Rng) -> String {
    let c = format!("({:.2})", rng.random::<f32>() * 6.0 - 3.0);
    let level = ["p", "q"][rng.random_range(0..2)];
    let condition = [
        "a > 2".into(),
        "a >= 0".into(),
        "a < 0".into(),
        "b <= 0.5".into(),
        "a + b > 1".into(),
        "a + b > 50".into(),
        "a - b + n >= 1".into(),
        "n == 3".into(),
        "n != 2".into(),
        format!("c == '{level}'"),
        "c in {'p'}".into(),
    ];
    let claim = [
        format!("u <= {c}"),
        format!("u + v >= {c}"),
        format!("u <= {c} or v <= {c}"),
        format!("abs(u - v) <= {c}"),
        format!("u <= a + {c}"),
        format!("max(u, v) <= 1000 + {c}"),
        "u == v".into(),
        format!("count(u >= {c}, v >= {c}, a >= 0.5) >= 2"),
        "u <= 100000 * a + 100000".into(),
    ];
    let pick = |list: &[String], rng: &mut ChaCha8Rng| list[rng.random_range(0..list.len())].clone();
    let (p, q, y) = (pick(&condition, rng), pick(&condition, rng), pick(&claim, rng));
    match rng.random_range(0..8) {
        0 => format!("{p} and {q} and {y}"),
        1 => format!("{p} and {y}"),
        2 => format!("{p} or {y}"),
        3 => format!("({p} or {q}) and ({y} or {p})"),
        4 => format!("{p} and {q} => {y}"),
        5 => y,
        6 => format!("not ({p}) and ({y} or {q})"),
        _ => format!("{p} => {y}"),
    }
}

/// Rows of the domain: corners and points inside.
fn sampled(rng: &mut ChaCha8Rng, schema: &Schema, rows: usize) -> Matrix {
    let first = usize::from(schema.one_hot == OneHot::DropFirst);
    let mut data = Vec::new();
    for _ in 0..rows {
        for feature in &schema.features {
            let u = [0.0, 1.0, rng.random::<f32>(), rng.random::<f32>()][rng.random_range(0..4)];
            match &feature.domain {
                Domain::Real { lo, hi } => data.push((lo + (hi - lo) * u).clamp(*lo, *hi)),
                Domain::Integer { lo, hi } => data.push((*lo as f32 + (hi - lo) as f32 * u).round()),
                Domain::Ordered { levels } => data.push(rng.random_range(0..levels.len()) as f32),
                Domain::Stepped { lo, hi, step } => data.push(((lo + (hi - lo) * u) / step).round() * step),
                Domain::Category { levels } => {
                    let taken = rng.random_range(0..levels.len());
                    data.extend((first..levels.len()).map(|l| f32::from(u8::from(l == taken))));
                }
            }
        }
    }
    Matrix { rows, cols: schema.columns().len(), data }
}

/// Whether a row is an input of the domain.
fn inside(schema: &Schema, x: &[f32]) -> bool {
    let first = usize::from(schema.one_hot == OneHot::DropFirst);
    let (mut at, mut point) = (0, Vec::new());
    for feature in &schema.features {
        if let Domain::Category { levels } = &feature.domain {
            let width = levels.len() - first;
            let taken: Vec<usize> = (0..width).filter(|l| x[at + l] == 1.0).collect();
            let zeros = (0..width).filter(|l| x[at + l] == 0.0).count();
            if taken.len() > 1 || taken.len() + zeros != width || taken.is_empty() && first == 0 {
                return false;
            }
            point.push(taken.first().map_or(0.0, |l| (l + first) as f32));
            at += width;
        } else {
            point.push(x[at]);
            at += 1;
        }
    }
    Region::domain(schema).unwrap().contains(&point)
}

fn settings(arithmetic: Arithmetic) -> VerifySettings {
    VerifySettings {
        timeout: Some(Duration::from_secs(2)),
        most_regions: 200,
        threads: 1,
        arithmetic,
        ..VerifySettings::default()
    }
}

fn spec(rng: &mut ChaCha8Rng, schema: &Schema, rules: usize) -> Option<NormalSpec> {
    let rules: Vec<RuleText> = (0..rules).map(|k| RuleText { name: format!("rule {k}"), text: rule(rng) }).collect();
    compile(&rules, schema).ok()
}

fn told(spec: &NormalSpec) -> Vec<&str> {
    spec.rules.iter().map(|r| r.text.as_str()).collect()
}

#[test]
fn every_verdict_agrees_with_samples() {
    let mut seen = [0usize; 3];
    for case in 0..cases(200) {
        let rng = &mut ChaCha8Rng::seed_from_u64(case);
        let schema = schema(rng, regression());
        let network = network(rng, schema.columns().len(), 2);
        let Some(spec) = spec(rng, &schema, 1 + case as usize % 2) else { continue };
        network.validate().unwrap();
        let (x, judge) = (sampled(rng, &schema, 200), Judge::new(&spec));
        let y = network.forward(&x);
        let broken = (0..x.rows).find(|r| (0..spec.rules.len()).any(|rule| judge.breaks(rule, x.row(*r), y.row(*r))));
        let arithmetic = if case % 5 == 0 { Arithmetic::Real } else { Arithmetic::Float32 };
        let place = || format!("case {case}: {:?} {arithmetic:?} {network:?}", told(&spec));
        match verify(&spec, &network, &settings(arithmetic), &|| false).unwrap().0 {
            Outcome::Proved(_) => {
                // What rounding alone breaks is none of exact arithmetic's.
                if arithmetic == Arithmetic::Float32 {
                    assert_eq!(broken, None, "{}", place());
                }
                seen[0] += 1;
            }
            Outcome::Refuted(example) => {
                assert!(inside(&schema, &example.x), "{:?} {}", example.x, place());
                if arithmetic == Arithmetic::Float32 {
                    let row = Matrix { rows: 1, cols: example.x.len(), data: example.x.clone() };
                    let y = network.forward(&row);
                    assert!(judge.breaks(example.rule, &example.x, &y.data), "{}", place());
                }
                seen[1] += 1;
            }
            Outcome::Unknown { .. } => seen[2] += 1,
        }
        let few = Matrix { rows: 3, cols: x.cols, data: x.data[..3 * x.cols].to_vec() };
        for (r, near) in
            adversity(&spec, &Model::new(network.clone()), &few, 0.1, &settings(Arithmetic::Float32), &|_| {}, &|| false)
                .unwrap()
                .iter()
                .enumerate()
        {
            match near {
                Near::Broken(example) => assert!(inside(&schema, &example.x), "{}", place()),
                Near::Safe => {
                    let breaks = (0..spec.rules.len()).any(|rule| judge.breaks(rule, few.row(r), y.row(r)));
                    assert!(!breaks, "row {r} itself breaks a rule: {}", place());
                }
                Near::Undecided(_) => {}
            }
        }
    }
    println!("proved, refuted, unknown: {seen:?}");
    assert!(seen[0] > seen.iter().sum::<usize>() / 10 && seen[1] > seen.iter().sum::<usize>() / 3, "{seen:?}");
}

#[test]
fn what_is_repaired_obeys() {
    let mut repaired = 0;
    for case in 0..cases(15) {
        let rng = &mut ChaCha8Rng::seed_from_u64(1000 + case);
        let schema = schema(rng, regression());
        let network = network(rng, schema.columns().len(), 2);
        let Some(spec) = spec(rng, &schema, 1) else { continue };
        let short = Duration::from_millis(200);
        let settings = repair::RepairSettings { look: short, back: short };
        let after = match mend(&spec, &network, &KnownRows::Nothing, &settings, &|| false) {
            Ok(Mended::Repaired(done)) => done.network,
            Ok(Mended::Already(_)) => network.clone(),
            Err(_) => continue,
        };
        repaired += 1;
        let (x, judge) = (sampled(rng, &schema, 300), Judge::new(&spec));
        let y = after.forward(&x);
        let broken = (0..x.rows).find(|r| judge.breaks(0, x.row(*r), y.row(*r)));
        assert_eq!(broken, None, "case {case}: {:?} {network:?}", told(&spec));
    }
    assert!(repaired > 0);
}

/// A claim that is false for every input, or for those that a condition names, is refuted by any of them.
#[test]
fn a_rule_that_the_inputs_alone_break_is_refuted() {
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    for text in [
        "a > 2 and u <= 1",
        "a < 0 and n == 7 and u == v",
        "not (a >= 0 or u <= 5)",
        "n == 1 and u <= 1000",
        "a + b > 100 and u <= 1 and v <= 1",
        "c == 'p' and u <= 1000000",
        "(a > 2 or n > 9) and (u <= 1 or v <= 1)",
    ] {
        for arithmetic in [Arithmetic::Float32, Arithmetic::Real] {
            let mut schema = schema(rng, regression());
            schema.features[3].domain = Domain::Category { levels: ["p", "q"].map(String::from).to_vec() };
            schema.features[2].domain = Domain::Integer { lo: 0, hi: 4 };
            let spec = compile(&[RuleText { name: "r".into(), text: text.into() }], &schema).unwrap();
            let network = network(&mut ChaCha8Rng::seed_from_u64(5), schema.columns().len(), 2);
            let (outcome, _) = verify(&spec, &network, &settings(arithmetic), &|| false).unwrap();
            let Outcome::Refuted(example) = outcome else { panic!("{text} {arithmetic:?}: {outcome:?}") };
            assert!(inside(&schema, &example.x), "{text}: {:?}", example.x);
        }
    }
}

/// A relu whose input is the product of two computed values, mostly negative, and which counts against the bound: its lower line is
/// flat, so the form ends there and does not reach the product.
#[test]
fn relus_behind_gates_with_computed_factors_are_decided() {
    let schema = Schema {
        features: ["a", "b"].map(|n| Feature { name: n.into(), domain: Domain::Real { lo: -1.0, hi: 1.0 } }).to_vec(),
        task: Task::regression(vec!["u".into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let mut open = 0;
    for seed in 0..30 {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut dense = |rows: usize, cols: usize, sign: f32, bias: f32| {
            let mut list = |n: usize| (0..n).map(|_| sign * rng.random::<f32>()).collect::<Vec<f32>>();
            Op::Dense { w: Matrix { rows, cols, data: list(rows * cols) }, b: vec![bias; rows] }
        };
        let relu = || Op::Act(Activation::Relu);
        let nodes = vec![
            (dense(3, 2, 1.0, 0.5), vec![0]),
            (relu(), vec![1]),
            (dense(1, 2, 1.0, -0.4), vec![0]),
            (Op::Gate, vec![if seed % 2 == 0 { 1 } else { 2 }, 3]),
            (relu(), vec![4]),
            (dense(1, 3, -3.0, 0.0), vec![5]),
        ];
        let network = pruned(Network { inputs: 2, nodes: nodes.into_iter().map(|(op, from)| Node { op, from }).collect() });
        let x = sampled(&mut ChaCha8Rng::seed_from_u64(seed), &schema, 2000);
        let y = network.forward(&x).data;
        let most = (0..x.rows).map(|r| y[r] + x.row(r)[0]).fold(f32::MIN, f32::max);
        let outcome = |c: f32| {
            let rule = RuleText { name: "r".into(), text: format!("u + a <= ({c:.5})") };
            let spec = compile(&[rule], &schema).unwrap();
            verify(&spec, &network, &VerifySettings { most_regions: 400, ..settings(Arithmetic::Float32) }, &|| false).unwrap().0
        };
        // With 0 for the relus the bound is 1: only their lines, which do reach the product, show more.
        open += usize::from(most < 0.9);
        let (above, below) = (outcome(f32::midpoint(most, 1.0)), outcome(most - 0.01));
        assert!(!matches!(above, Outcome::Refuted(_)), "seed {seed}: {above:?}");
        assert!(matches!(below, Outcome::Refuted(_)), "seed {seed}: {below:?}");
    }
    assert!(open > 5, "{open} open");
}
