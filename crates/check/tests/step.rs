//! Output steps: what a tail lets through obeys the rules in any runtime.

mod common;

use common::tail::{Tails, Tensor, number, rows_of};
use common::{Rng, holds, point, row, rule};
use deepsade_check::Arithmetic;
use deepsade_check::step::{Case, InputPorts, Number, OutputStep, Outputs, Tail, output_names};
use deepsade_net::Port;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};

fn stepped((lo, hi, step): (f32, f32, f32)) -> Domain {
    Domain::Stepped { lo, hi, step }
}

fn schema(rng: &mut Rng, task: Task) -> Schema {
    let real = [(-1.0, 2.0), (0.0, 1.0), (0.5, 100.0), (-3e-39, 1.0)][rng.below(4)];
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    Schema {
        features: vec![
            feature("x", Domain::Real { lo: real.0, hi: real.1 }),
            feature("k", Domain::Category { levels: ["p", "q", "r"].map(String::from).to_vec() }),
            feature("n", Domain::Integer { lo: [-2, 0][rng.below(2)], hi: 30 }),
            feature("s", [(-2.0, 8.0, 0.25), (0.0, 8.0, 4.0), (-1.0, 1.0, 2f32.powi(-20))].map(stepped)[rng.below(3)].clone()),
        ],
        task,
        one_hot: [OneHot::Full, OneHot::DropFirst][rng.below(2)],
        filled: vec![],
    }
}

fn step(outputs: Outputs) -> OutputStep {
    let bias = vec![0.0; outputs.count()];
    let fallback = vec![Case { when: vec![], weights: vec![], bias, trees: vec![] }];
    OutputStep { candidate: "c".into(), outputs, fallback }
}

/// A fallback that is a feature itself is that feature, bit for bit, where it can't be flushed; anything else counts as rounded.
#[test]
fn a_fallback_that_copies_a_feature_is_exact_away_from_zero() {
    let rng = &mut Rng(5);
    let of = |lo: f32, hi: f32| {
        let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo, hi } };
        let (features, task) = (vec![feature("x"), feature("z")], Task::regression(vec!["a".into()]));
        compile(&[rule("min(x, z) <= a and a <= max(x, z)")], &Schema { features, task, one_hot: OneHot::Full, filled: vec![] })
            .unwrap()
    };
    let case = |weights: &[(usize, usize, f32)], bias: f32| Case {
        when: vec![],
        weights: weights.to_vec(),
        bias: vec![bias],
        trees: vec![],
    };
    let how = |spec: &NormalSpec, case: &Case| case.arithmetic(&spec.rules[0].claim, spec);
    let (away, below) = (of(2f32.powi(-100), 9.0), of(-9.0, -2f32.powi(-100)));
    for sign in [1.0, -1.0] {
        assert_eq!(how(&away, &case(&[(0, 1, sign)], 0.0)), Arithmetic::Real);
        assert_eq!(how(&below, &case(&[(0, 0, sign), (0, 1, 0.0)], -0.0)), Arithmetic::Real);
    }
    let rounded = [case(&[(0, 0, 1.0)], 1e-9), case(&[(0, 0, 1.0), (0, 1, 1.0)], 0.0), case(&[(0, 0, 0.3)], 0.0)];
    for case in &rounded {
        assert_eq!(how(&away, case), Arithmetic::Float32);
    }
    for (lo, hi) in [(0.0, 9.0), (-1.0, 9.0), (2f32.powi(-100).next_down(), 9.0), (1e-40, 9.0)] {
        assert_eq!(how(&of(lo, hi), &case(&[(0, 0, 1.0)], 0.0)), Arithmetic::Float32, "{lo}");
    }
    // Whatever the order, with flushing and without.
    let step = OutputStep {
        candidate: "c".into(),
        outputs: Outputs::Numbers(vec![Number { lo: 100.0, hi: 200.0, grid: None }]),
        fallback: vec![case(&[(0, 1, 1.0)], 0.0)],
    };
    let tail = Tail::new(&away, &step, &rows_of(&away.schema), output_names(|_| false)).unwrap();
    for k in 0..2000 {
        let flush = rng.below(2) == 0;
        let z = if k % 2 == 0 { (2f32.powi(-100) * (1.0 + rng.unit() as f32)).min(9.0) } else { (rng.unit() * 9.0) as f32 };
        let z = z.max(2f32.powi(-100));
        let x = [9.0, 2f32.powi(-100), z][rng.below(3)];
        let inputs = [("in", Tensor::rows(2, vec![x, z])), ("c", Tensor::standing(vec![150.0]))];
        let known = Tails { rng, flush }.run(&tail.piece, &inputs);
        assert_eq!((known["ok"].data[0], known["y"].data[0].to_bits()), (0.0, z.to_bits()), "{x} {z} {flush}");
    }
}

const NUMBERS: [&str; 18] = [
    "a <= 5",
    "a > 0 - 0.5",
    "a <= b",
    "b < a",
    "a + b <= x",
    "0.1 * a - 0.3 * b >= 0.7 * x - 1.3",
    "x > 0 => a >= 1",
    "x <= 0.1 => b <= 0.3",
    "x + n >= 1.3 => a + b >= 0",
    "k == 'q' and n >= 3 => a <= 0.5 * n",
    "a <= 1 or b <= 1",
    "abs(a - b) <= 3",
    "max(a, b) >= 0",
    "at_least(2, a >= 0, b >= 0, a + b <= 3, k == 'p')",
    "a <= s",
    "a + b >= s",
    "s > 0.3 => a + 0.25 <= s",
    "s + 0.5 * n >= 1.25 => b >= 0",
];

/// Where the tail gives the candidate, every rule holds exactly; and most candidates that are well inside are given.
#[test]
fn what_is_let_through_obeys() {
    let rng = &mut Rng(11);
    let (mut given, mut obeyed, mut refused) = (0, 0, 0);
    for _ in 0..400 {
        let task = Task::regression(vec!["a".into(), "b".into()]);
        let schema = schema(rng, task);
        let rules: Vec<RuleText> = (0..=rng.below(3)).map(|_| rule(NUMBERS[rng.below(NUMBERS.len())])).collect();
        let rules: Vec<RuleText> = rules.iter().enumerate().map(|(k, r)| RuleText { name: k.to_string(), ..r.clone() }).collect();
        let spec = compile(&rules, &schema).expect("rules compile");
        let grid = [None, None, Some(4)][rng.below(3)];
        let numbers = vec![Number { lo: -16.0, hi: 16.0, grid }, Number { lo: -16.0, hi: 8.0, grid: None }];
        let step = step(Outputs::Numbers(numbers));
        let tail = Tail::new(&spec, &step, &rows_of(&schema), output_names(|_| false)).expect("it can be written");
        for _ in 0..40 {
            let x = point(&schema, rng);
            let near = [x[0], x[2], x[3], x[0] + x[2], 0.1, 0.3, 1.0, 0.5 * x[2]];
            let c = vec![number(rng, &near), number(rng, &near)];
            let flush = rng.below(2) == 0;
            let mut runtime = Tails { rng, flush };
            let columns = row(&schema, &x);
            let known =
                runtime.run(&tail.piece, &[("in", Tensor::rows(columns.len(), columns)), ("c", Tensor::standing(c.clone()))]);
            let (y, ok) = (&known["y"].data, known["ok"].data[0] > 0.5);
            assert_eq!(known["in_domain"].data[0], 1.0, "{x:?} {schema:?}");
            let obeys = |y: &[f32]| y.iter().all(|v| v.is_finite()) && spec.rules.iter().all(|r| holds(&r.claim, &x, y));
            if ok {
                given += 1;
                assert!(obeys(y), "{rules:?} {x:?} {c:?} {y:?} {flush}");
                let same = |y: f32, c: f32, hi: f32, off: f32| {
                    (c.is_nan() || c.abs() >= 1e18) && y == 0.0 || (y - c.clamp(-16.0, hi)).abs() <= off
                };
                assert!(same(y[0], c[0], 16.0, 0.07) && same(y[1], c[1], 8.0, 1e-30), "{c:?} {y:?}");
            } else {
                assert_eq!(y[..], [0.0, 0.0]);
                if obeys(&c) && c.iter().all(|v| v.abs() <= 8.0) {
                    refused += 1;
                }
            }
            obeyed += usize::from(obeys(&c));
        }
    }
    assert!(given > 2000, "{given}");
    // Those on a border, or that the grid moves.
    assert!(refused * 5 < obeyed, "{refused} of {obeyed}");
}

/// An equality with multiples of a step is judged exactly, in any order of summation: it is given if it holds, and only then.
#[test]
fn sums_with_a_stepped_feature_are_exact() {
    let rng = &mut Rng(14);
    for (step, grid, reach) in [(0.25, 16, 64.0), (0.25, 2, 1e6), (2f32.powi(-20), 20, 4.0), (1024.0, 0, 4e6)] {
        let domain = Domain::Stepped { lo: 0.0, hi: 100.0 * step, step };
        let task = Task::regression(vec!["a".into(), "b".into()]);
        let schema = Schema { features: vec![Feature { name: "s".into(), domain }], task, one_hot: OneHot::Full, filled: vec![] };
        let spec = compile(&[rule("a + b == s")], &schema).expect("it compiles");
        let unit = 2f32.powi(-grid);
        let end = (reach / unit).floor() * unit;
        let step = self::step(Outputs::Numbers(vec![Number { lo: -end, hi: end, grid: Some(grid) }; 2]));
        let tail = Tail::new(&spec, &step, &rows_of(&schema), output_names(|_| false)).expect("it can be written");
        for _ in 0..200 {
            let x = point(&schema, rng);
            let a = ((rng.unit() as f32 - 0.5) * end / unit).floor() * unit;
            let b = x[0] - a + [0.0, 0.0, unit, -unit][rng.below(4)];
            let given = [("in", Tensor::rows(1, x.clone())), ("c", Tensor::standing(vec![a, b]))];
            let known = Tails { rng, flush: true }.run(&tail.piece, &given);
            let equal = holds(&spec.rules[0].claim, &x, &[a, b]);
            assert_eq!(known["ok"].data[0] > 0.5, equal, "{x:?} {a} {b}");
        }
    }
}

/// The same for classes and labels, where every comparison is exact: what is refused breaks a rule in some reading of tiny features.
#[test]
fn labels_and_classes_are_judged_exactly() {
    let rng = &mut Rng(12);
    // Many outputs are chosen row by row.
    let labels = |count: usize| Task::Multilabel { labels: (0..count).map(|k| format!("l{k}")).collect() };
    let classes = Task::Multiclass { target: "t".into(), classes: ["A", "B", "C"].map(String::from).to_vec() };
    let about_labels = [
        "sum(i * label[i] for i in 0..5) > 4",
        "exactly(2, label[i] for i in 0..5)",
        "label[0] => label[1]",
        "n >= 7 and k == 'p' => not label[2]",
        "s > 0.3 and s + n < 7 => label[4]",
        "0.3 * label[0] + 0.25 * label[1] + 0.7 * label[3] <= 0.9",
    ];
    let about_classes = ["n >= 5 => t == 'A'", "k == 'q' => t in {'B', 'C'}", "x + 0.3 * n > 4 => t != 'B'", "score('A') <= 3"];
    for round in 0..400 {
        let many = [5, 70][round / 2 % 2];
        let (task, pool) = if round % 2 == 0 { (labels(many), &about_labels[..]) } else { (classes.clone(), &about_classes[..]) };
        let schema = schema(rng, task);
        let rules: Vec<RuleText> =
            (0..=rng.below(3)).map(|k| RuleText { name: k.to_string(), text: pool[rng.below(pool.len())].into() }).collect();
        let spec = compile(&rules, &schema).expect("rules compile");
        let (outputs, count) = if round % 2 == 0 {
            (Outputs::Labels(many), many)
        } else {
            (Outputs::Numbers(vec![Number { lo: -100.0, hi: 100.0, grid: None }; 3]), 3)
        };
        let tail = Tail::new(&spec, &step(outputs), &rows_of(&schema), output_names(|_| false)).expect("it can be written");
        for _ in 0..20 {
            let x = point(&schema, rng);
            let c: Vec<f32> = (0..count).map(|_| number(rng, &[0.0, 0.5, 1.0])).collect();
            let flush = rng.below(2) == 0;
            let mut runtime = Tails { rng, flush };
            let columns = row(&schema, &x);
            let given = [("in", Tensor::rows(columns.len(), columns)), ("c", Tensor::standing(c.clone()))];
            let known = runtime.run(&tail.piece, &given);
            let (y, ok) = (&known["y"].data, known["ok"].data[0] > 0.5);
            if ok {
                assert!(spec.rules.iter().all(|r| holds(&r.claim, &x, y)), "{rules:?} {x:?} {c:?} {y:?}");
            } else if round % 2 == 0 {
                let set: Vec<f32> = c.iter().map(|c| if *c > 0.5 { 1.0 } else { 0.0 }).collect();
                assert!(!spec.rules.iter().all(|r| holds(&r.claim, &x, &set)), "{rules:?} {x:?} {set:?}");
            }
        }
    }
}

/// The flag is true for inputs of the domain and false for others.
#[test]
fn inputs_outside_the_domain_are_told() {
    let rng = &mut Rng(13);
    for _ in 0..200 {
        let schema = schema(rng, Task::regression(vec!["a".into()]));
        let spec = compile(&[rule("a <= 5")], &schema).expect("it compiles");
        let step = step(Outputs::Numbers(vec![Number { lo: -1.0, hi: 1.0, grid: None }]));
        let tail = Tail::new(&spec, &step, &rows_of(&schema), output_names(|_| false)).expect("it can be written");
        let mut columns = row(&schema, &point(&schema, rng));
        let before = columns.clone();
        let k = rng.below(columns.len());
        // Beside 0 nothing that may be taken for it.
        let beside = if columns[k] == 0.0 { 1e-30 } else { columns[k].next_up() };
        columns[k] = [f32::NAN, 1e9, -1e9, 0.5, 0.3, f32::INFINITY, columns[k] + 0.25, beside, 1e30][rng.below(9)];
        let inside = |columns: &[f32], rng: &mut Rng| {
            let given = [("in", Tensor::rows(columns.len(), columns.to_vec())), ("c", Tensor::standing(vec![0.0]))];
            Tails { rng, flush: false }.run(&tail.piece, &given)["in_domain"].data[0] > 0.5
        };
        assert!(inside(&before, rng));
        let Domain::Real { lo, hi } = schema.features[0].domain else { unreachable!() };
        let still = k == 0 && columns[0] >= lo && columns[0] <= hi;
        let whole = k + 2 == columns.len() && columns[k].fract() == 0.0 && (0.0..=30.0).contains(&columns[k]);
        let Domain::Stepped { lo, hi, step } = schema.features[3].domain else { unreachable!() };
        let multiple = k + 1 == columns.len() && (columns[k] / step).fract() == 0.0 && (lo..=hi).contains(&columns[k]);
        assert_eq!(inside(&columns, rng), still || whole || multiple || columns == before, "{columns:?} {schema:?}");
    }
}

/// The same for more columns than are compared one by one.
#[test]
fn inputs_outside_a_wide_domain_are_told() {
    let rng = &mut Rng(17);
    let feature = |k: usize| {
        let domain = match k % 3 {
            0 => Domain::Real { lo: -1.0, hi: 2.0 },
            1 => Domain::Integer { lo: -3, hi: 9 },
            _ => Domain::Stepped { lo: -1.0, hi: 4.0, step: 0.25 },
        };
        Feature { name: format!("x{k}"), domain }
    };
    let schema = Schema {
        features: (0..72).map(feature).collect(),
        task: Task::regression(vec!["a".into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let spec = compile(&[rule("x3 + x4 >= 1 => a <= 5")], &schema).expect("it compiles");
    let step = step(Outputs::Numbers(vec![Number { lo: -1.0, hi: 9.0, grid: None }]));
    let tail = Tail::new(&spec, &step, &rows_of(&schema), output_names(|_| false)).expect("it can be written");
    let inside = |columns: &[f32], rng: &mut Rng| {
        let given = [("in", Tensor::rows(columns.len(), columns.to_vec())), ("c", Tensor::standing(vec![0.0]))];
        Tails { rng, flush: false }.run(&tail.piece, &given)["in_domain"].data[0] > 0.5
    };
    for _ in 0..200 {
        let good: Vec<f32> = (0..72)
            .map(|k| match k % 3 {
                0 => (rng.unit() * 3.0 - 1.0) as f32,
                1 => rng.below(13) as f32 - 3.0,
                _ => rng.below(21) as f32 * 0.25 - 1.0,
            })
            .collect();
        assert!(inside(&good, rng));
        let mut bad = good.clone();
        let k = rng.below(72);
        let beside = [2f32.next_up(), 0.1, 0.3][k % 3];
        bad[k] = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, 9.25, beside][rng.below(6)];
        assert!(!inside(&bad, rng), "{k} {}", bad[k]);
    }
}

/// Cast to float32 the first whole number beyond 2^24 is 2^24 itself: it would be taken for an end of the range.
#[test]
fn whole_inputs_end_before_float32_loses_them() {
    let inputs = |element: &str, hi: i32| {
        let features = vec![Feature { name: "k".into(), domain: Domain::Integer { lo: 0, hi } }];
        let schema = Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::Full, filled: vec![] };
        InputPorts::of(&[Port { name: "k".into(), element: element.into(), dims: vec![None, Some(1)] }], &schema)
    };
    for element in ["int64", "int32"] {
        assert!(inputs(element, (1 << 24) - 1).is_ok());
        assert!(inputs(element, 1 << 24).unwrap_err().to_string().contains("16777217"));
    }
}
