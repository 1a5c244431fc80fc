//! Alternatives.

use super::*;

fn three(rules: &[&str]) -> NormalSpec {
    spec(vec![real("r", 1.0, 100.0), category("c", &["p", "q"])], &["u", "v", "t"], rules)
}

#[test]
fn the_nearest_alternative_is_taken() {
    let ranges = wide(3, -200.0, 200.0);
    for rules in [
        &["u <= 1 or v <= 1"][..],
        &["u <= 1 or u >= 3"],
        &["u <= 1 or v <= 1", "u + v <= r", "u >= 0"],
        &["c == 'q' => u <= 1 or v <= 1"],
        &["r > 50 => u <= 1 or v + t >= r"],
        &["count(u > 0, v > 0, t > 0) <= 1"],
        &["max(u, v) >= r"],
        &["abs(u) >= 5", "abs(v) >= 5"],
        &["(c == 'q' and u <= v) or (c == 'p' and u + v <= t)"],
        &["u <= v or u <= t", "v <= t or v <= r", "u >= -20"],
        // One of them is empty for most inputs.
        &["u >= 90 and u <= r or v + t <= 5"],
    ] {
        let spec = three(rules);
        let trial = Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-60.0, 90.0), borders: &[50.0, 90.0] };
        trial.passes(&SURE);
    }
}

/// An anchor in one of the alternatives does not keep the other from being taken.
#[test]
fn an_anchor_is_in_one_of_them() {
    let spec = three(&["u + v <= -20 or u + v >= 20", "u <= v", "v <= t", "t <= 80"]);
    let (ranges, anchor) = (wide(3, -200.0, 200.0), constant(&[10.0, 20.0, 30.0]));
    let trial = Trial { spec: &spec, ranges: &ranges, anchor: Some(&anchor), usual: (-60.0, 90.0), borders: &[] };
    trial.passes(&SURE);
}

/// Outputs that no rule ties together are chosen apart: 2^8 alternatives, of which two are made.
#[test]
fn groups_of_outputs_choose_apart() {
    let names: Vec<String> = (0..8).map(|k| format!("u{k}")).collect();
    let mut rules: Vec<String> = names.iter().map(|n| format!("{n} <= 1 or {n} >= 30")).collect();
    let (names, ranges) = (names.iter().map(String::as_str).collect::<Vec<_>>(), wide(8, -200.0, 200.0));
    let features = || vec![real("r", 1.0, 100.0), category("c", &["p", "q"])];
    // A sum in one of the groups; a condition; two of them tied together.
    for more in ["u0 >= -50", "u0 + u1 <= r", "c == 'q' => u2 <= 0", "u5 <= u6 or u5 <= u7"] {
        rules.push(more.into());
        let spec = spec(features(), &names, &rules.iter().map(String::as_str).collect::<Vec<_>>());
        let trial = Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-60.0, 90.0), borders: &[] };
        let calls = trial.passes(&Asked { refused: 0.0, wild: 0.001, ratio: 1.02 }).piece.calls.len();
        assert!(calls < 2000, "{calls}");
    }
}

/// Where alternatives are too many to be tried one after the other, each row chooses among options by itself.
#[test]
fn rows_choose_among_many_alternatives() {
    let names: Vec<String> = (0..7).map(|k| format!("u{k}")).collect();
    let above = names.iter().map(|n| format!("{n} > 3")).collect::<Vec<_>>().join(", ");
    let either = |n: &String| format!("{n} <= 1 or {n} >= 30");
    let tied = names.iter().map(either).chain([format!("sum({}) <= 4 * r", names.join(", "))]).collect::<Vec<_>>();
    let features = || vec![real("r", 1.0, 100.0), category("c", &["p", "q"])];
    let exact = Asked { refused: 0.0, wild: 0.001, ratio: 1.002 };
    // Options that a sum ties together are chosen one by one, which is not always the best.
    let good = Asked { refused: 0.01, wild: 0.01, ratio: 1.4 };
    for (rules, asked) in [
        // What is broken most is left: nothing is nearer.
        (vec![format!("at_most(3, {above})")], &exact),
        (vec![format!("exactly(3, {above})")], &exact),
        (vec![format!("c == 'q' => exactly(3, {above})"), "u0 <= 50".into()], &good),
        (tied, &good),
    ] {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let spec = spec(features(), &names, &rules.iter().map(String::as_str).collect::<Vec<_>>());
        let ranges = wide(7, -200.0, 200.0);
        let trial = Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-60.0, 90.0), borders: &[] };
        let made = trial.passes(asked);
        assert!(made.piece.calls.len() < 400 && !made.best, "{}", made.how);
    }
}

/// A long list of values is one choice: the graph does not grow by a few calls for each of them.
#[test]
fn a_long_list_is_one_choice() {
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    let mut calls = |n: usize| {
        let list = (0..n).map(|k| (3 * k).to_string()).collect::<Vec<_>>().join(", ");
        let rules = [format!("u in {{{list}}}"), format!("c == 'p' => v in {{{list}}}"), "t <= r".into()];
        let spec = three(&rules.iter().map(String::as_str).collect::<Vec<_>>());
        let made = make(&spec, &SOURCE, &wide(3, -1000.0, 1000.0), &ALIKE[..3], None).unwrap();
        let (x, s) = (inputs(&spec, 200, &[], rng), scores(200, 3, -60.0, 180.0, rng));
        let ran = run(&spec, &made, &s, &x);
        for r in 0..s.rows {
            let nearest = (s.row(r)[0] / 3.0).round().clamp(0.0, n as f32 - 1.0) * 3.0;
            assert!(ran.ok[r] && (ran.y.row(r)[0] - s.row(r)[0]).abs() <= (nearest - s.row(r)[0]).abs() + 1e-4, "row {r}");
        }
        made.piece.calls.len()
    };
    assert_eq!(calls(60), calls(150));
}
