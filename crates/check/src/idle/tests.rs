use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, Region, RuleText, Schema, Task, compile};

use super::idle;

fn spec(rules: &[&str]) -> NormalSpec {
    let levels = |names: &[&str]| names.iter().map(|n| (*n).to_string()).collect();
    let features = [
        ("x", Domain::Real { lo: -1.0, hi: 1.0 }),
        ("z", Domain::Real { lo: 0.0, hi: 10.0 }),
        ("one", Domain::Real { lo: 2.0, hi: 2.0 }),
        ("group", Domain::Category { levels: levels(&["a", "b", "c"]) }),
        ("only", Domain::Category { levels: levels(&["a"]) }),
        ("n", Domain::Integer { lo: 2, hi: 5 }),
        ("half", Domain::Stepped { lo: 0.0, hi: 4.0, step: 0.5 }),
    ];
    let features = features.map(|(name, domain)| Feature { name: name.into(), domain }).to_vec();
    let schema = Schema { features, task: Task::regression(vec!["y".into(), "v".into()]), one_hot: OneHot::Full, filled: vec![] };
    let text = |(k, text): (usize, &&str)| RuleText { name: format!("r{k}"), text: (*text).into() };
    compile(&rules.iter().enumerate().map(text).collect::<Vec<_>>(), &schema).unwrap()
}

fn rests(rules: &[&str]) -> bool {
    let spec = spec(rules);
    let domain = Region::domain(&spec.schema).unwrap();
    spec.pairs[0].parts.iter().all(|part| idle(part, &spec, &domain))
}

#[test]
fn two_inputs_that_are_the_same_break_nothing() {
    for rule in [
        "unaffected(y, {one, only})",
        "group == 'a' => unaffected(y, group)",
        "n == 3 => increasing(y, n)",
        "n > 2 and n < 4 => decreasing(y, n)",
        "change(y, {n}, by = 0.5) <= 0",
        "change(y, {half}, by = 0.4) < 1",
        "x > 0.5 and x < 0.5 => increasing(y, z)",
        "x + z > 12 => increasing(y, z)",
    ] {
        assert!(rests(&[rule]), "{rule}");
    }
    for rule in [
        "unaffected(y, {one, group})",
        "group != 'a' => unaffected(y, group)",
        "n == 3 => increasing(y, {n, x})",
        "n == 3 or n == 4 => increasing(y, n)",
        "n > 2 and n < 5 => decreasing(y, n)",
        "change(y, {n}, by = 1) <= 0",
        "change(y, {half}, by = 0.5) < 1",
        "x >= 0.5 => increasing(y, x)",
        "x + z > 10 => increasing(y, z)",
    ] {
        assert!(!rests(&[rule]), "{rule}");
    }
}

#[test]
fn other_rules_leave_no_room_only_where_they_hold() {
    let change = "change(2 * y - v, {x}, by = 0.1) <= 30";
    // 2 y in [0, 20], v in [-10, 0].
    assert!(rests(&[change, "0 <= y <= 10", "v <= 0", "v >= 0 - 10"]));
    assert!(!rests(&[change, "0 <= y <= 10", "v <= 0", "v >= 0 - 10.01"]));
    assert!(!rests(&[change, "0 <= y <= 10", "v <= 0"]));
    assert!(!rests(&["change(2 * y - v, {x}, by = 0.1) < 30", "0 <= y <= 10", "v <= 0", "v >= 0 - 10"]));
    // Ends that move with the input count at their widest on the region, conditions where they hold.
    assert!(rests(&["change(y, {x}, by = 0.1) <= 10", "0 <= y <= z"]));
    assert!(!rests(&["change(y, {x}, by = 0.1) <= 9", "0 <= y <= z"]));
    assert!(rests(&["z <= 9 => change(y, {x}, by = 0.1) <= 9", "0 <= y <= z"]));
    assert!(rests(&["z <= 9 => change(y, {x}, by = 0.1) <= 2", "z < 9.5 => (0 <= y and y <= 2)"]));
    assert!(!rests(&["z <= 9 => change(y, {x}, by = 0.1) <= 2", "z < 8.5 => (0 <= y and y <= 2)"]));
    assert!(!rests(&["change(y, {x}, by = 0.1) <= 2", "0 <= y or y >= 5", "y <= 2"]));
    // Of conditions on outputs.
    assert!(rests(&["increasing(y >= 1, x)", "y >= 2"]) && rests(&["increasing(y >= 3, x)", "y <= 2"]));
    assert!(!rests(&["increasing(y >= 2, x)", "y <= 2"]) && !rests(&["increasing(y >= 1, x)", "y >= 0"]));
    assert!(rests(&["increasing(y >= v or y <= 0 - v, x)", "y >= v or y <= 0 - v"]));
    assert!(rests(&["increasing(y >= v and y <= 5, x)", "y >= v", "y <= 5"]));
    assert!(!rests(&["increasing(y >= v and y <= 5, x)", "y >= v"]));
    assert!(!rests(&["increasing(y > v, x)", "y >= v"]));
}
