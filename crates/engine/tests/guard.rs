//! Whatever a network computes in float32, in any order of summation, lies in the boxes by which its last layer is guarded; and a
//! last layer that the guard has moved obeys the rules.

use deepsade_check::Bounds;
use deepsade_data::Dataset;
use deepsade_engine::bounds::{HiddenBounds, RelationScratch};
use deepsade_engine::enforce::favoured;
use deepsade_engine::gate;
use deepsade_engine::guard::{Favoured, Guard, GuardError, Obstacle, Tightness};
use deepsade_engine::train::{ActivationName, NetworkSettings, Stepper, initial_network};
use deepsade_engine::units::Units;
use deepsade_net::{Activation, Matrix, Network, Op};
use deepsade_output::Judge;
use deepsade_spec::{ColumnKind, Domain, Feature, OneHot, RuleText, Schema, Task, compile};
use deepsade_spec::{Cut, Region};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn schema(one_hot: OneHot) -> Schema {
    let real = |lo, hi| Domain::Real { lo, hi };
    let levels = |n: usize| Domain::Category { levels: (0..n).map(|l| format!("l{l}")).collect() };
    let domains = [
        ("unit", real(0.0, 1.0)),
        ("far", real(1e6, 1_000_001.0)),
        ("wide", real(-3e7, 2e7)),
        ("tiny", real(1e-38, 3e-38)),
        ("point", real(0.1, 0.1)),
        ("whole", Domain::Integer { lo: -3, hi: 16_777_216 }),
        ("two", levels(2)),
        ("five", levels(5)),
        ("single", levels(1)),
    ];
    let features = domains.map(|(name, domain)| Feature { name: name.into(), domain }).into();
    Schema { features, task: Task::regression(vec!["a".into(), "b".into()]), one_hot, filled: vec![] }
}

/// An input of the region: at an end of each number, at the next one inside, or in between.
fn sample(rng: &mut ChaCha8Rng, schema: &Schema, region: &Region) -> Vec<f32> {
    let corner = rng.random::<bool>();
    let mut value = Vec::new();
    for (f, feature) in schema.features.iter().enumerate() {
        value.push(match (region.range(f), region.levels(f)) {
            (Some((lo, hi)), _) => {
                let whole = matches!(feature.domain, Domain::Integer { .. });
                let between = lo + (hi - lo) * rng.random::<f64>();
                let inside = if whole { (lo + 1.0).min(hi) as f32 } else { (lo as f32).next_up().min(hi as f32) };
                match rng.random_range(0..if corner { 3 } else { 5 }) {
                    0 => lo as f32,
                    1 => hi as f32,
                    2 => inside,
                    _ if whole => between.round() as f32,
                    _ => (between as f32).clamp(lo as f32, hi as f32),
                }
            }
            (_, Some(allowed)) => {
                let there: Vec<usize> = (0..allowed.len()).filter(|l| allowed[*l]).collect();
                there[rng.random_range(0..there.len())] as f32
            }
            (None, None) => unreachable!("a feature is a number or a category"),
        });
    }
    let column = |c: &deepsade_spec::InputColumn| match c.kind {
        ColumnKind::Number => value[c.feature],
        ColumnKind::Level(l) => f32::from(value[c.feature] == l as f32),
    };
    schema.columns().iter().map(column).collect()
}

/// Every value of the network in float32, each sum in a random order, multiplications fused at random.
fn evaluate(rng: &mut ChaCha8Rng, network: &Network, x: &[f32]) -> Vec<Vec<f32>> {
    let mut values = vec![x.to_vec()];
    for node in &network.nodes {
        let x = &values[node.from[0]];
        let value = match &node.op {
            Op::Affine { scale, shift } => x.iter().zip(scale).zip(shift).map(|((x, s), t)| x * s + t).collect(),
            Op::Dense { w, b } => (0..w.rows)
                .map(|o| {
                    let mut terms: Vec<(f32, f32)> =
                        w.row(o).iter().copied().zip(x.iter().copied()).chain([(b[o], 1.0)]).collect();
                    terms.shuffle(rng);
                    let fused = rng.random::<bool>();
                    terms.iter().fold(0.0f32, |sum, (w, x)| if fused { w.mul_add(*x, sum) } else { sum + w * x })
                })
                .collect(),
            Op::Act(Activation::Relu) => x.iter().map(|v| v.max(0.0)).collect(),
            Op::Act(Activation::Sigmoid) => x.iter().map(|v| 1.0 / (1.0 + (-v).exp())).collect(),
            Op::Act(Activation::Tanh) => x.iter().map(|v| v.tanh()).collect(),
            Op::Select(columns) => columns.iter().map(|c| x[*c]).collect(),
            Op::Concat => node.from.iter().flat_map(|v| values[*v].clone()).collect(),
            Op::Gate => x.iter().map(|v| v * values[node.from[1]][0]).collect(),
            Op::Choose(_) | Op::Conv(_) | Op::MaxPool(_) => unreachable!("the guard's networks here have none"),
        };
        values.push(value);
    }
    values
}

fn parameters(network: &Network) -> Vec<f32> {
    let dense = network.nodes.iter().filter_map(|n| if let Op::Dense { w, b } = &n.op { Some((w, b)) } else { None });
    dense.flat_map(|(w, b)| w.data.iter().chain(b).copied()).collect()
}

/// Random biases, and some weights of very different sizes.
fn disturb(rng: &mut ChaCha8Rng, network: &mut Network) {
    for node in &mut network.nodes {
        if let Op::Dense { w, b } = &mut node.op {
            b.iter_mut().for_each(|b| *b = rng.random_range(-1.0..1.0));
            for w in &mut w.data {
                match rng.random_range(0..12) {
                    0 => *w *= 1000.0,
                    1 => *w *= 1e-20,
                    2 => *w = 0.0,
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn every_computed_value_lies_in_its_box() {
    for seed in 0..24u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let schema = schema(if seed % 2 == 0 { OneHot::Full } else { OneHot::DropFirst });
        let activation = [ActivationName::Relu, ActivationName::Sigmoid, ActivationName::Tanh][(seed % 3) as usize];
        // The last layer of a network of depth d reads the layers up to d: so each depth is looked at.
        for hidden in [vec![], vec![7], vec![7, 40], vec![7, 40, 1]] {
            let settings = NetworkSettings { hidden, activation, ..NetworkSettings::default() };
            let ranges = schema.column_ranges();
            let skip: Vec<usize> = (0..ranges.len()).filter(|c| c % 2 == 0).collect();
            let mut network = initial_network(&ranges, &skip, None, 2, &settings, seed);
            disturb(&mut rng, &mut network);
            let whole = Region::domain(&schema).unwrap();
            let [low, high] = whole.split(2, &Cut::At(5.5)).unwrap();
            let [few, rest] = high.split(7, &Cut::Levels(vec![0, 3])).unwrap();
            let [none, _] = low.split(5, &Cut::At(7.5)).unwrap();
            let regions = [whole, low, few, rest, none];
            let mut bounds = HiddenBounds::new(&network, &schema, &regions);
            let mut tied = bounds.clone();
            bounds.update(&parameters(&network));
            tied.update_tied(&parameters(&network), &mut RelationScratch::default());
            let last = network.nodes.last().unwrap().from[0];
            for (r, region) in regions.iter().enumerate() {
                let (boxed, tied) = (bounds.last_input(r), tied.last_input(r));
                for i in 0..boxed.r.len() {
                    // Up to the rounding of ends that nearly cancel: units read numbers of up to 1e5 here.
                    let rounding = boxed.r[i] * 0.001 + 1e5 * 4.0 * f32::EPSILON;
                    assert!(
                        tied.r[i] <= boxed.r[i] + rounding,
                        "linear bounds are never looser: {} of {}",
                        tied.r[i],
                        boxed.r[i]
                    );
                }
                for _ in 0..40 {
                    let x = sample(&mut rng, &schema, region);
                    let values = evaluate(&mut rng, &network, &x);
                    for (i, v) in values[last].iter().enumerate() {
                        for (kind, boxed) in [("box", boxed), ("tied", tied)] {
                            let off = (f64::from(*v) - f64::from(boxed.m[i])).abs();
                            assert!(
                                off <= f64::from(boxed.r[i]),
                                "seed {seed}, {:?}, region {r}, unit {i}, {kind}: {off} of {}",
                                settings.hidden,
                                boxed.r[i]
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_last_layer_that_was_moved_obeys_the_rules() {
    let rules = [
        "0 <= a <= b",
        "a <= 5 or a >= 6",
        "five == 'l0' => a + b <= 20 * unit + 40",
        "max(a, b) <= 100 and whole >= 0 => a >= -1",
    ];
    for seed in 0..12u64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let schema = schema(if seed % 2 == 0 { OneHot::Full } else { OneHot::DropFirst });
        let texts: Vec<RuleText> =
            rules.iter().enumerate().map(|(k, text)| RuleText { name: format!("rule {k}"), text: (*text).into() }).collect();
        let spec = compile(&texts, &schema).unwrap();
        let settings = NetworkSettings { hidden: vec![9, 5], ..NetworkSettings::default() };
        let network = gate::network(&spec, &settings, None, seed);
        let bounds = if seed % 4 < 2 { Bounds::Interval } else { Bounds::Relational };
        let mut guard = Guard::new(&spec, &network, &Units::raw(2), Tightness { bounds, regions: 1 }).unwrap();
        let mut moved = parameters(&network);
        for _ in 0..20 {
            // As after a step of training, a large one.
            moved.iter_mut().for_each(|p| *p += rng.random_range(-1.0..1.0));
            guard.solve(&mut moved);
            let mut present = network.clone();
            let mut rest = &moved[..];
            for node in &mut present.nodes {
                if let Op::Dense { w, b } = &mut node.op {
                    let (weights, after) = rest.split_at(w.data.len());
                    let (bias, after) = after.split_at(b.len());
                    w.data.copy_from_slice(weights);
                    b.copy_from_slice(bias);
                    rest = after;
                }
            }
            let whole = Region::domain(&schema).unwrap();
            let judge = Judge::new(&spec);
            for _ in 0..200 {
                let x = sample(&mut rng, &schema, &whole);
                let values = evaluate(&mut rng, &present, &x);
                let y = &values[values.len() - 1];
                let broken: Vec<&str> = (0..rules.len()).filter(|r| judge.breaks(*r, &x, y)).map(|r| rules[r]).collect();
                assert!(broken.is_empty(), "seed {seed}: {broken:?} at {x:?}, {y:?}");
            }
        }
    }
}

/// What a guard says to rules about a and b, with x in [0, 10] and a category.
fn refusal(rules: &[&str]) -> Result<(), (Vec<String>, Obstacle)> {
    let features = vec![
        Feature { name: "x".into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } },
        Feature { name: "c".into(), domain: Domain::Category { levels: vec!["p".into(), "q".into(), "r".into()] } },
    ];
    let schema =
        Schema { features, task: Task::regression(vec!["a".into(), "b".into()]), one_hot: OneHot::default(), filled: vec![] };
    let texts: Vec<RuleText> = rules.iter().map(|text| RuleText { name: (*text).into(), text: (*text).into() }).collect();
    let spec = compile(&texts, &schema).unwrap();
    let settings = NetworkSettings { hidden: vec![6], ..NetworkSettings::default() };
    let network = gate::network(&spec, &settings, None, 1);
    match Guard::new(&spec, &network, &Units::raw(2), Tightness { bounds: Bounds::Interval, regions: 1 }) {
        Ok(_) => Ok(()),
        Err(GuardError::Infeasible { rules, why }) => Err((rules, why)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn what_a_last_layer_can_keep_is_decided() {
    // Constants do not round, so a band of a few float32 values is wide enough for them; one that follows x does.
    assert_eq!(refusal(&["0.999999 <= a and a <= 1"]), Ok(()));
    assert_eq!(refusal(&["x <= a and a <= x + 1", "abs(b - 2 * x) <= 0.01"]), Ok(()));
    let (rules, why) = refusal(&["b <= 3", "x <= a and a <= x + 0.00001"]).unwrap_err();
    assert_eq!(rules, ["x <= a and a <= x + 0.00001"]);
    assert!(matches!(why, Obstacle::NoMargin { needed } if needed > 5e-6 && needed < 1e-3), "{why}");
    // Above the tent and below it plus 1: affine functions can't follow; with 5 more they can.
    assert_eq!(refusal(&["a >= x", "a >= 10 - x", "a <= max(x, 10 - x) + 5.1"]), Ok(()));
    let (rules, why) = refusal(&["a >= x", "b >= 0", "a >= 10 - x", "a <= 9"]).unwrap_err();
    assert_eq!((rules, why), (vec!["a >= x".into(), "a <= 9".into()], Obstacle::NotAffine));
    let (rules, why) = refusal(&["a <= 200", "a == 2 * x"]).unwrap_err();
    assert_eq!((rules, why), (vec!["a == 2 * x".into()], Obstacle::Equality));
    // Atoms are read up to a factor, whatever that is: no float64 holds 1e400, but one atom of a last layer does.
    for rule in
        ["a <= 1e400", "1e400 * a <= 1e400", "1e-400 * a <= 0", "x > 0.5 => 1e400 * a <= 1e400 * x", "1e400 * a + x <= 1e400"]
    {
        assert_eq!(refusal(&[rule]), Ok(()), "{rule}");
    }
    // A category is branched, and the rule that needs it is not blamed for another's fault.
    assert_eq!(refusal(&["c == 'p' => a >= 1", "c != 'p' => a <= 0"]), Ok(()));
    let (rules, _) = refusal(&["c == 'p' => a >= 1", "c != 'p' => a <= 0", "b >= x", "b <= 9.5"]).unwrap_err();
    assert_eq!(rules, ["b >= x", "b <= 9.5"]);
}

#[test]
fn labels_that_the_rules_need_not_touch_stay_as_they_were() {
    let features = vec![Feature { name: "x".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } }];
    let task = Task::Multilabel { labels: (0..5).map(|j| format!("l{j}")).collect() };
    let schema = Schema { features, task, one_hot: OneHot::default(), filled: vec![] };
    let rule = RuleText { name: "some".into(), text: "sum((j + 1) * label[j] for j in 0..5) > 5".into() };
    let spec = compile(&[rule], &schema).unwrap();
    let settings = NetworkSettings { hidden: vec![7], ..NetworkSettings::default() };
    let network = gate::network(&spec, &settings, None, 3);
    let tightness = Tightness { bounds: Bounds::Interval, regions: 1 };
    // Labels 1 and 3 obey the rule together.
    let usual = Favoured { clauses: None, outputs: Some(vec![-1.0, 1.0, -1.0, 1.0, -1.0]) };
    let mut guard = Guard::around(&spec, &network, &Units::raw(5), tightness, Some(&usual)).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut moved = parameters(&network);
    let (inputs, start) = (7, moved.len() - 8 * 5);
    for _ in 0..100 {
        moved[start..].iter_mut().for_each(|p| *p += rng.random_range(-1.0..1.0));
        let before = moved.clone();
        assert!(guard.solve(&mut moved).moves > 0);
        let bias = start + inputs * 5;
        let row = |p: &[f32], j: usize| [&p[start + j * inputs..][..inputs], &p[bias + j..=bias + j]].concat();
        let changed: Vec<usize> = (0..5).filter(|j| row(&moved, *j) != row(&before, *j)).collect();
        assert!(!changed.is_empty() && changed.iter().all(|j| [1, 3].contains(j)), "labels {changed:?}");
        moved = before;
    }
}

/// At least two of four labels, by rows that have one of {0, 1} and one of {2, 3}: the weights keep these two clauses, and no label is
/// present for every input.
#[test]
fn weights_keep_the_clauses_that_most_rows_obey() {
    let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } };
    let task = Task::Multilabel { labels: (0..4).map(|j| j.to_string()).collect() };
    let schema = Schema { features: ["a", "b", "c"].map(feature).to_vec(), task, one_hot: OneHot::Full, filled: vec![] };
    let text = "count(label[j] for j in 0..4) >= 2".to_string();
    let spec = compile(&[RuleText { name: "two".into(), text }], &schema).unwrap();
    let y = vec![1., 0., 1., 0., 0., 1., 0., 1., 1., 0., 0., 1.];
    let rows = Dataset {
        x: Matrix { rows: 3, cols: 3, data: vec![0.5; 9] },
        y: Matrix { rows: 3, cols: 4, data: y },
        weight: vec![1.0; 3],
    };
    let settings = NetworkSettings { hidden: vec![8], clip: Some(8), ..NetworkSettings::default() };
    let network = gate::network(&spec, &settings, None, 3);
    let tightness = Tightness { bounds: Bounds::Interval, regions: 1 };
    let favoured = favoured(&spec, &rows).unwrap();
    let mut guard = Guard::around(&spec, &network, &Units::raw(4), tightness, Some(&favoured)).unwrap();
    let mut stepper = Stepper::new(&network, 1).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let x = Matrix { rows: 2000, cols: 3, data: (0..6000).map(|_| rng.random::<f32>()).collect() };
    // Outputs 0 and 1 are opposite to each other but for a bias that is too low, and so are 2 and 3.
    let last = stepper.parameters().len() - 9 * 4;
    for j in 0..4 {
        let sign = |k: usize| if (k >> (j / 2)) % 2 == j % 2 { 1.0 } else { -1.0 };
        (0..8).for_each(|k| stepper.parameters_mut()[last + 8 * j + k] = sign(k));
        stepper.parameters_mut()[last + 32 + j] = 0.0;
    }
    let out = stepper.network().forward(&x);
    for j in 0..4 {
        let mean = (0..2000).map(|r| out.row(r)[j]).sum::<f32>() / 2000.0;
        stepper.parameters_mut()[last + 32 + j] = -mean - 0.01;
    }
    let solved = guard.solve(stepper.parameters_mut());
    assert!(solved.moves > 0 && !solved.pulled_back, "{solved:?}");
    let out = stepper.network().forward(&x);
    let mut present = [0; 4];
    for r in 0..2000 {
        let y = out.row(r);
        assert!((y[0] > 0.0 || y[1] > 0.0) && (y[2] > 0.0 || y[3] > 0.0), "{y:?}");
        (0..4).for_each(|j| present[j] += usize::from(y[j] > 0.0));
    }
    assert!(present.iter().all(|n| (1..2000).contains(n)), "{present:?}");
}
