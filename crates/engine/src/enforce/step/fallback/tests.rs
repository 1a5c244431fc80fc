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
    let spec =
        compile(&rules, &Schema { features, task: Task::regression(names), one_hot: OneHot::Full, filled: vec![] }).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    for _ in 0..20 {
        let size: Vec<f32> = (0..24).map(|_| rng.random_range(5.0..80.0)).collect();
        let data: Vec<f32> = (0..50).flat_map(|_| size.clone()).map(|s| s * rng.random_range(0.2..1.8)).collect();
        let usual = Usual::of(&Matrix { rows: 50, cols: 24, data });
        let outputs = Outputs::Numbers(ranges(&spec, &usual).unwrap());
        fallback(&spec, &outputs, &usual).unwrap();
    }
}

fn names(of: &[&str]) -> Vec<String> {
    of.iter().map(|name| (*name).to_string()).collect()
}

/// Three numbers, of which the first may have to be whole.
fn numbers(whole: &[&str]) -> Task {
    Task::Regression { targets: names(&["u", "v", "x"]), whole: names(whole) }
}

fn classes(of: &[&str]) -> Task {
    match of {
        [_, _] => Task::Binary { target: "t".into(), classes: names(of) },
        _ => Task::Multiclass { target: "t".into(), classes: names(of) },
    }
}

/// Two real features, two whole ones and a category.
fn spec(task: Task, texts: &[&str]) -> NormalSpec {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let features = vec![
        feature("a", Domain::Real { lo: 0.0, hi: 100.0 }),
        feature("b", Domain::Real { lo: -5.0, hi: 5.0 }),
        feature("k", Domain::Integer { lo: 0, hi: 200 }),
        feature("m", Domain::Integer { lo: 0, hi: 100 }),
        feature("c", Domain::Category { levels: names(&["blue", "red"]) }),
    ];
    let rules: Vec<RuleText> = texts.iter().map(|text| RuleText { name: (*text).into(), text: (*text).into() }).collect();
    compile(&rules, &Schema { features, task, one_hot: OneHot::Full, filled: vec![] }).unwrap()
}

/// Between two features only one of them is: where neither can be flushed to 0 it is given as it is.
#[test]
fn between_two_features_one_of_them_is_the_fallback() {
    let texts = ["min(a, b) <= u", "u <= max(a, b)"];
    let of = |lo: f32| {
        let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo, hi: 10.0 } };
        let rules: Vec<RuleText> = texts.iter().map(|text| RuleText { name: (*text).into(), text: (*text).into() }).collect();
        let task = Task::regression(vec!["u".into()]);
        compile(&rules, &Schema { features: vec![feature("a"), feature("b")], task, one_hot: OneHot::Full, filled: vec![] })
            .unwrap()
    };
    let found = |spec: &NormalSpec| {
        let usual = usual(1);
        fallback(spec, &Outputs::Numbers(ranges(spec, &usual).unwrap()), &usual)
    };
    found(&of(1.0)).unwrap();
    let words = found(&of(0.0)).expect_err("a tiny number may be taken for 0").to_string();
    assert!(words.contains("away from 0"), "{words}");
}

/// Of 2^12 ways to obey only the last one has outputs: each output is mapped by itself.
#[test]
fn outputs_that_nothing_ties_together_fall_back_apart() {
    let names: Vec<String> = (0..12).map(|k| format!("u{k}")).collect();
    let rule = |n: &String| RuleText { name: n.clone(), text: format!("({n} <= -1 or {n} >= 2) and {n} >= 0") };
    let rules: Vec<RuleText> = names.iter().map(rule).collect();
    let features = vec![Feature { name: "a".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } }];
    let spec =
        compile(&rules, &Schema { features, task: Task::regression(names), one_hot: OneHot::Full, filled: vec![] }).unwrap();
    let usual = Usual::unknown(&spec);
    let outputs = Outputs::Numbers(ranges(&spec, &usual).unwrap());
    fallback(&spec, &outputs, &usual).unwrap();
}

fn usual(outputs: usize) -> Usual {
    Usual::of(&Matrix { rows: 30, cols: outputs, data: (0..30 * outputs).map(|k| (k % 61) as f32).collect() })
}

/// What is said where rules can't be put behind a model.
fn refused(whole: &[&str], texts: &[&str]) -> String {
    let spec = spec(numbers(whole), texts);
    let usual = usual(3);
    let outputs = Outputs::Numbers(ranges(&spec, &usual).unwrap());
    fallback(&spec, &outputs, &usual).expect_err("nothing obeys, or nothing that float32 can keep").to_string()
}

/// Rules that need one simple thing in one place and another elsewhere, or a point at the very border of what is allowed.
#[test]
fn what_obeys_in_a_few_simple_ways_is_found_and_proved() {
    let cases: [(Task, &[&str]); 19] = [
        (classes(&["N", "Y"]), &["a > 50 => t == 'N'", "a < 20 => t == 'Y'"]),
        (classes(&["N", "Y"]), &["10 * a > k + m => t == 'N'", "10 * a < k + m - 100 => t == 'Y'"]),
        (classes(&["A", "B", "C"]), &["a > 50 => t == 'A'", "a < 20 => t == 'B'", "a >= 20 and a <= 50 => t == 'C'"]),
        // Sums that float32 cannot tell at their borders, one inside the other.
        (classes(&["N", "Y"]), &["10 * a > k + b + 6 => t == 'N'", "m == 1 and a + b + k < 30 and 10 * a < 0.5 * b => t == 'Y'"]),
        (numbers(&[]), &["c == 'red' => u > v", "c == 'blue' => u < v"]),
        (numbers(&[]), &["abs(u + v - a) <= 0.002"]),
        (numbers(&[]), &["x == 0.25 * m", "u >= 0"]),
        (numbers(&[]), &["x == 0.5 * m + 3"]),
        (numbers(&[]), &["u + v == k", "u >= 0 and v >= 0", "u >= v"]),
        (numbers(&[]), &["u + v == k", "u >= 0 and v >= 0", "k > 100 => u >= v"]),
        // A point is left where m is 0.
        (numbers(&[]), &["u + v == 2 * k + m", "u >= 0 and v >= 0 and x >= 0", "x <= 0.5 * m"]),
        (numbers(&[]), &["x >= 0.1 * m and x <= 0.4 * m"]),
        // What is computed exactly stands beside what is rounded.
        (numbers(&[]), &["u + v == k", "x >= 0.3 * a and x <= 0.3 * a + 1", "u >= 0 and v >= 0"]),
        (numbers(&[]), &["u >= 0.3 * k and v >= 0.3 * k", "u + v == k + 1"]),
        // Either side asks for another map, and the border for one that obeys both.
        (numbers(&[]), &["0.1 * a + 0.3 * b > 1.7 => v >= a", "0.1 * a + 0.3 * b <= 1.7 => v <= a + 1", "abs(u - a) <= 3"]),
        // A whole number beside plain ones that follow it.
        (numbers(&["u"]), &["2 * u <= k + m", "u >= 0", "0.7 * k + b > 7.3 => 3 * u + x >= 2", "abs(x - 0.1 * m) <= 1"]),
        (
            numbers(&["u"]),
            &[
                "u == 0 or u >= 3",
                "v >= 100 * u and v <= 1000 * k + 2000 + 10 * x",
                "0.3 * k + b > 2.5 => u >= 3 or x >= 0.1 * m + 0.4",
                "abs(x - 0.1 * m) <= 1 and 2 * u <= k + m",
            ],
        ),
        (numbers(&[]), &["exactly(4, u <= 0, u <= 1, u <= 2, u <= 3, u <= 4, u <= 5, u <= 6, u <= 7)"]),
        (numbers(&["u"]), &["u == m + 1 or u == m - 1", "k >= 5 => u >= m", "abs(v - 0.5 * u) <= 0.3"]),
    ];
    for (task, texts) in cases {
        let spec = spec(task, texts);
        let outputs = spec.schema.task.outputs();
        let w = Matrix { rows: outputs, cols: 6, data: (0..6 * outputs).map(|k| (k % 7) as f32 / 9.0).collect() };
        let nodes = vec![deepsade_net::Node { op: deepsade_net::Op::Dense { w, b: vec![0.0; outputs] }, from: vec![0] }];
        let network = Network { inputs: 6, nodes };
        let (_, proof) = super::super::attach(&spec, &network, &usual(outputs)).unwrap_or_else(|why| panic!("{texts:?}: {why}"));
        assert!(proof.is_ok(), "{texts:?}: {:?}", proof.err());
    }
}

/// The one number that obeys is the last of a list; the strongest of a thousand bounds is one of them.
#[test]
fn many_ways_and_many_conditions_are_no_obstacle() {
    let list = format!("u in {{{}}}", (0..300).map(|i| i.to_string()).collect::<Vec<_>>().join(", "));
    let mut texts = vec![list, "k >= 7 => u >= 299".into()];
    texts.extend((0..=200).map(|i| format!("k == {i} => v <= {i}")));
    texts.extend((0..=300).map(|i| format!("k + m == {i} => v <= {i}")));
    texts.extend((-100..=200).map(|i| format!("k - m == {i} => v <= {i}")));
    let spec = spec(numbers(&[]), &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let usual = usual(3);
    let number = |lo: f32, hi: f32| Number { lo, hi, grid: None };
    let found = fallback(&spec, &Outputs::Numbers(vec![number(-1e3, 1e3); 3]), &usual).unwrap();
    assert!(matches!(&found[..], [case] if case.bias[0] == 299.0 && case.bias[1] <= -100.0), "{found:?}");
}

/// A runtime may take a tiny `a` for 0: then both rules are asked there.
#[test]
fn a_border_that_float32_cannot_tell_is_named_with_the_rules_that_meet_there() {
    let words = refused(&[], &["a > 0 => u > 0", "a == 0 => u == 0"]);
    for part in ["cannot tell `a <= 0` from `a > 0`", "rules 'a > 0 => u > 0' and 'a == 0 => u == 0'", "state a as kind"] {
        assert!(words.contains(part), "{words}");
    }
    let words = refused(&[], &["0.3 * a + b > 2.5 => u >= 1", "0.3 * a + b <= 2.5 => u <= 0"]);
    assert!(words.contains("the sum is rounded") && words.contains("state a and b as kind"), "{words}");
}

#[test]
fn bounds_that_touch_in_one_input_have_no_room_for_rounding() {
    let words = refused(&[], &["u >= 0.03 * a", "u <= 0.9 * a"]);
    assert!(words.contains("it holds in exact numbers") && words.contains("Give a rule room"), "{words}");
}

#[test]
fn an_input_without_outputs_is_named() {
    let words = refused(&[], &["u >= a", "u <= 50"]);
    assert!(words.contains("no outputs obey rules 'u >= a' and 'u <= 50' for the input a = "), "{words}");
}

/// k = 1, b = 5, m = 0 leaves 0 for u, and then nothing for x; 1/2 would do.
#[test]
fn where_no_whole_number_is_left_that_is_said() {
    let texts = ["2 * u <= k + m", "u >= 0", "0.7 * k + b > 5.3 => 3 * u + x >= 2", "abs(x - 0.1 * m) <= 1"];
    let words = refused(&["u"], &texts);
    assert!(words.contains("the rules together may leave no whole number there"), "{words}");
}
