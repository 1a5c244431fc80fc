//! Networks that choose their outputs from a table: an input that leads to a row which breaks a rule is found, and none is made up.

use deepsade_check::Arithmetic;
use deepsade_engine::adversity::{Near, adversity};
use deepsade_engine::verify::{LeadsThere, Outcome, Undecided, VerifySettings, verify};
use deepsade_net::{Activation, Matrix, Model, Network, Node, Op};
use deepsade_output::Judge;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const TABLE: [[f32; 3]; 4] = [[0., 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 1.]];

fn schema() -> Schema {
    let domains = [Domain::Real { lo: -1.0, hi: 1.0 }, Domain::Integer { lo: 0, hi: 4 }];
    let features = domains.into_iter().enumerate().map(|(k, domain)| Feature { name: format!("x{k}"), domain }).collect();
    Schema {
        features,
        task: Task::Multilabel { labels: (0..3).map(|j| format!("d{j}")).collect() },
        one_hot: OneHot::Full,
        filled: vec![],
    }
}

fn choosing(rng: &mut ChaCha8Rng) -> Network {
    let mut dense = |rows: usize, cols: usize, from| {
        let mut number = |n: usize| (0..n).map(|_| rng.random::<f32>() * 2.0 - 1.0).collect::<Vec<f32>>();
        Node { op: Op::Dense { w: Matrix { rows, cols, data: number(rows * cols) }, b: number(rows) }, from: vec![from] }
    };
    let nodes = vec![
        dense(6, 2, 0),
        Node { op: Op::Act(Activation::Relu), from: vec![1] },
        dense(4, 6, 2),
        Node { op: Op::Choose(Matrix { rows: 4, cols: 3, data: TABLE.concat() }), from: vec![3] },
    ];
    Network { inputs: 2, nodes }
}

fn rule(text: &str) -> NormalSpec {
    compile(
        &[RuleText { name: "first".into(), text: "d2 => d1".into() }, RuleText { name: text.into(), text: text.into() }],
        &schema(),
    )
    .expect("rules compile")
}

fn grid() -> Matrix {
    let rows: Vec<[f32; 2]> = (0..=400).flat_map(|i| (0..=4).map(move |n| [i as f32 / 200.0 - 1.0, n as f32])).collect();
    Matrix { rows: rows.len(), cols: 2, data: rows.concat() }
}

#[test]
fn an_input_that_leads_to_a_forbidden_row_is_found_and_none_is_made_up() {
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    let settings = VerifySettings::default();
    let mut seen = [0, 0];
    for case in 0..40 {
        let network = choosing(rng);
        let spec = rule(["x0 > 0.5 => not d0", "x1 >= 3 and x0 < 0 => not d2", "not (d0 and d1)", "x0 + x1 > 1 => d1"][case % 4]);
        let (judge, rows) = (Judge::new(&spec), grid());
        let y = network.forward(&rows);
        let broken = (0..rows.rows).any(|r| judge.breaks(1, rows.row(r), y.row(r)));
        match verify(&spec, &network, &settings, &|| false).expect("the network fits").0 {
            Outcome::Refuted(example) => {
                let x = Matrix { rows: 1, cols: 2, data: example.x.clone() };
                assert_eq!(network.forward(&x).data, example.y, "case {case}");
                assert_eq!(example.rule, 1, "case {case}: the first rule holds for every row of the table");
                assert!(judge.breaks(1, &example.x, &example.y), "case {case}");
                seen[0] += 1;
            }
            Outcome::Unknown { rule, why } => {
                assert!(!broken, "case {case}: the grid breaks the rule: {why}");
                assert!(rule == 1 && matches!(&why, Undecided::Choice { whether: LeadsThere::None, .. }), "case {case}: {why}");
                seen[1] += 1;
            }
            Outcome::Proved(_) => panic!("case {case}: some row of the table breaks the rule"),
        }
    }
    assert!(seen.iter().all(|n| *n > 5), "refuted and not: {seen:?}");
}

#[test]
fn rows_near_a_forbidden_choice_are_told_from_those_that_are_not() {
    // Row 1 of the table where x0 > 0.25, else row 0.
    let w = Matrix { rows: 4, cols: 2, data: vec![0., 0., 1., 0., 0., 0., 0., 0.] };
    let dense = Node { op: Op::Dense { w, b: vec![0.25, 0.0, -9.0, -9.0] }, from: vec![0] };
    let choose = Node { op: Op::Choose(Matrix { rows: 4, cols: 3, data: TABLE.concat() }), from: vec![1] };
    let network = Network { inputs: 2, nodes: vec![dense, choose] };
    let spec = rule("x1 == 4 => not d0");
    let x = Matrix { rows: 4, cols: 2, data: vec![0.0, 4.0, 0.2, 4.0, 0.5, 4.0, 0.2, 2.0] };
    let settings = VerifySettings::default();
    let near = adversity(&spec, &Model::new(network.clone()), &x, 0.1, &settings, &|_| {}, &|| false).expect("the network fits");
    let broken: Vec<Option<bool>> = near
        .iter()
        .map(|n| match n {
            Near::Broken(example) => {
                assert_eq!((example.rule, example.y.as_slice()), (1, &TABLE[1][..]));
                Some(true)
            }
            Near::Safe => Some(false),
            Near::Undecided(_) => None,
        })
        .collect();
    assert_eq!(broken, [Some(false), Some(true), Some(true), Some(false)]);
}

#[test]
fn totals_beyond_float32_choose_as_the_runtime_does() {
    // Both totals are infinite: the first of them chooses, whatever the exact ones would say.
    let w = Matrix { rows: 4, cols: 2, data: vec![3e38, 0., 3e38, 0., 0., 0., 0., 0.] };
    let dense = Node { op: Op::Dense { w, b: vec![3e38, 3.1e38, -1.0, -1.0] }, from: vec![0] };
    let choose = Node { op: Op::Choose(Matrix { rows: 4, cols: 3, data: TABLE.concat() }), from: vec![1] };
    let network = Network { inputs: 2, nodes: vec![dense, choose] };
    let mut schema = schema();
    schema.features[0].domain = Domain::Real { lo: 0.5, hi: 1.0 };
    let rules = [RuleText { name: "r".into(), text: "not d0".into() }];
    let spec = compile(&rules, &schema).unwrap();
    for arithmetic in [Arithmetic::Float32, Arithmetic::Real] {
        let settings = VerifySettings { arithmetic, ..VerifySettings::default() };
        match verify(&spec, &network, &settings, &|| false).unwrap().0 {
            Outcome::Refuted(example) => assert!(example.exact && !example.in_every_runtime, "{example:?}"),
            Outcome::Unknown { .. } => assert_eq!(arithmetic, Arithmetic::Float32),
            Outcome::Proved(_) => panic!("a row breaks the rule"),
        }
    }
}

#[test]
fn a_long_table_is_tried_before_it_is_given_up() {
    let labels = 12;
    let rows: Vec<Vec<f32>> = (0..1 << labels).map(|k: u32| (0..labels).map(|j| (k >> j & 1) as f32).collect()).collect();
    let table = Matrix { rows: rows.len(), cols: labels, data: rows.concat() };
    // The scores 10 x0 - 5 and the like, the most likely set by its total.
    let w =
        Matrix { rows: labels, cols: 2, data: (0..labels).flat_map(|j| [if j % 2 == 0 { 10.0 } else { -10.0 }, 0.1]).collect() };
    let scores = Node { op: Op::Dense { w, b: vec![0.0; labels] }, from: vec![0] };
    let totals = Node { op: Op::Dense { w: table.clone(), b: vec![0.0; table.rows] }, from: vec![1] };
    let network = Network { inputs: 2, nodes: vec![scores, totals, Node { op: Op::Choose(table), from: vec![2] }] };
    let schema = Schema { task: Task::Multilabel { labels: (0..labels).map(|j| format!("d{j}")).collect() }, ..schema() };
    let rules = ["x0 > 0.9 => d1", "d1 => d0"].map(|t| RuleText { name: t.into(), text: t.into() });
    let spec = compile(&rules, &schema).unwrap();
    let outcome = verify(&spec, &network, &VerifySettings::default(), &|| false).unwrap().0;
    assert!(matches!(outcome, Outcome::Refuted(_)), "{outcome:?}");
    let x = Matrix { rows: 2, cols: 2, data: vec![-0.5, 1.0, 0.5, 1.0] };
    let near = adversity(&spec, &Model::new(network.clone()), &x, 0.01, &VerifySettings::default(), &|_| {}, &|| false).unwrap();
    assert!(matches!(&near[0], Near::Broken(example) if example.rule == 1 && example.x == [-0.5, 1.0]), "{near:?}");
    assert!(matches!(near[1], Near::Undecided(_)), "{near:?}");
}
