use deepsade_net::Matrix;
use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::ranges;
use super::*;

/// Where nothing may have been ordered, all hours but one must be 0: a single point, which a program in floats finds or not.
#[test]
fn an_equality_that_leaves_one_point_has_a_fallback_whatever_the_data() {
    let names: Vec<String> = (0..24).map(|h| format!("h{h}")).collect();
    let all = names.join(", ");
    let texts = [format!("min({all}) >= 0"), format!("sum({all}) == ordered")];
    let rules: Vec<RuleText> = texts.iter().map(|text| RuleText { name: text.clone(), text: text.clone() }).collect();
    let features = vec![Feature { name: "ordered".into(), domain: Domain::Integer { lo: 0, hi: 2000 } }];
    let spec = compile(&rules, &Schema { features, task: Task::regression(names), one_hot: OneHot::Full }).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    for _ in 0..20 {
        let size: Vec<f32> = (0..24).map(|_| rng.random_range(5.0..80.0)).collect();
        let data: Vec<f32> = (0..50).flat_map(|_| size.clone()).map(|s| s * rng.random_range(0.2..1.8)).collect();
        let usual = Usual::of(&Matrix { rows: 50, cols: 24, data });
        let outputs = Outputs::Numbers(ranges(&spec, &usual).unwrap());
        fallback(&spec, &outputs, &usual).unwrap();
    }
}

/// Rules that need one simple thing in one place and another elsewhere, or a point at the very border of what is allowed.
#[test]
fn what_obeys_in_a_few_simple_ways_is_found_and_proved() {
    let names = |of: &[&str]| of.iter().map(|name| (*name).to_string()).collect::<Vec<_>>();
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let numbers = || Task::regression(names(&["u", "v", "x"]));
    let classes = |of: &[&str]| match of {
        [_, _] => Task::Binary { target: "t".into(), classes: names(of) },
        _ => Task::Multiclass { target: "t".into(), classes: names(of) },
    };
    let cases: [(Task, &[&str]); 9] = [
        (classes(&["N", "Y"]), &["a > 50 => t == 'N'", "a < 20 => t == 'Y'"]),
        (classes(&["N", "Y"]), &["10 * a > k + m => t == 'N'", "10 * a < k + m - 100 => t == 'Y'"]),
        (classes(&["A", "B", "C"]), &["a > 50 => t == 'A'", "a < 20 => t == 'B'", "a >= 20 and a <= 50 => t == 'C'"]),
        (numbers(), &["c == 'red' => u > v", "c == 'blue' => u < v"]),
        (numbers(), &["abs(u + v - a) <= 0.002"]),
        (numbers(), &["x == 0.25 * m", "u >= 0"]),
        (numbers(), &["x == 0.5 * m + 3"]),
        (numbers(), &["u + v == k", "u >= 0 and v >= 0", "u >= v"]),
        (numbers(), &["u + v == k", "u >= 0 and v >= 0", "k > 100 => u >= v"]),
    ];
    for (task, texts) in cases {
        let features = vec![
            feature("a", Domain::Real { lo: 0.0, hi: 100.0 }),
            feature("k", Domain::Integer { lo: 0, hi: 200 }),
            feature("m", Domain::Integer { lo: 0, hi: 100 }),
            feature("c", Domain::Category { levels: names(&["blue", "red"]) }),
        ];
        let rules: Vec<RuleText> = texts.iter().map(|text| RuleText { name: (*text).into(), text: (*text).into() }).collect();
        let spec = compile(&rules, &Schema { features, task, one_hot: OneHot::Full }).unwrap();
        let outputs = spec.schema.task.outputs();
        let w = Matrix { rows: outputs, cols: 5, data: (0..5 * outputs).map(|k| (k % 7) as f32 / 9.0).collect() };
        let nodes = vec![deepsade_net::Node { op: deepsade_net::Op::Dense { w, b: vec![0.0; outputs] }, from: vec![0] }];
        let network = Network { inputs: 5, nodes };
        let usual = Usual::of(&Matrix { rows: 30, cols: outputs, data: (0..30 * outputs).map(|k| (k % 61) as f32).collect() });
        let (_, proof) = super::super::attach(&spec, &network, &usual).unwrap_or_else(|why| panic!("{texts:?}: {why}"));
        assert!(proof.is_ok(), "{texts:?}: {:?}", proof.err());
    }
}
