//! Faces that all hold at once, some under conditions.

use super::*;

/// Two features, a category, and three outputs.
fn three(rules: &[&str]) -> NormalSpec {
    let features = vec![real("r", 1.0, 100.0), real("s", 0.0, 50.0), category("c", &["p", "q"])];
    spec(features, &["u", "v", "t"], rules)
}

/// Tries with an anchor, and without.
fn trials(rules: &[&str], anchor: &Anchor) {
    let (spec, ranges) = (three(rules), wide(3, -200.0, 200.0));
    let trial = Trial { spec: &spec, ranges: &ranges, anchor: Some(anchor), usual: (-60.0, 90.0), borders: &[50.0] };
    trial.passes(&SURE);
    Trial { anchor: None, ..trial }.passes(&SURE);
}

/// Outputs for each hour, none negative, and a rule for their sum.
pub(super) fn day(feature: Feature, rule: &str) -> NormalSpec {
    let names: Vec<String> = (0..24).map(|h| format!("h{h}")).collect();
    let mut rules: Vec<String> = names.iter().map(|n| format!("{n} >= 0")).collect();
    rules.push(format!("sum({}) {rule}", names.join(", ")));
    let texts = |of: &[String]| of.iter().map(String::as_str).map(str::to_owned).collect::<Vec<_>>();
    let (names, rules) = (texts(&names), texts(&rules));
    let (names, rules): (Vec<&str>, Vec<&str>) = (names.iter().map(|n| &n[..]).collect(), rules.iter().map(|r| &r[..]).collect());
    spec(vec![feature], &names, &rules)
}

#[test]
fn what_is_asked_is_more_than_nothing() {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let (spec, ranges) = (three(&["0 <= u and u <= v"]), wide(3, -200.0, 200.0));
    let (s, x) = (scores(1000, 3, -60.0, 90.0, rng), inputs(&spec, 1000, &[], rng));
    assert!(refused(&spec, &as_they_are(&ranges), &s, &x) > 0.5);
    assert!(ratio(&spec, &as_they_are(&ranges), &ranges, &ALIKE[..3], &s, &x) == 0.0);
    // Obeying alone is not near.
    let far = Trial { spec: &three(&["u == 1", "v == 2"]), ranges: &ranges, anchor: None, usual: (-60.0, 90.0), borders: &[] };
    let made = far.passes(&SURE);
    assert!(refused(&spec, &made, &s, &x) == 0.0 && ratio(&spec, &made, &ranges, &ALIKE[..3], &s, &x) > 2.0);
}

/// Two faces at an obtuse angle: what is pushed by one is pushed against the other.
#[test]
fn two_that_push_each_other() {
    let spec = three(&["u + v <= r", "u - 2 * v <= s"]);
    let ranges = wide(3, -400.0, 400.0);
    let made = Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-60.0, 90.0), borders: &[] }.passes(&SURE);
    assert!(made.best, "{}", made.how);
}

/// The first use case of the paper.
#[test]
fn expenses_within_income() {
    let features = vec![real("income", 1e4, 2e6), real("members", 1.0, 20.0)];
    let spec = spec(
        features,
        &["food", "out", "shopping", "necessary", "rest"],
        &["sum(food, out, shopping, necessary, rest) <= income", "out <= 0.05 * income"],
    );
    let ranges = wide(5, -4e6, 4e6);
    let trial = Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-2e5, 1e6), borders: &[] };
    let made = trial.passes(&SURE);
    assert!(made.best && made.piece.calls.len() <= 10, "{:?}", made.piece.calls);
    // Ranges that would be in the way of the closed form leave it room.
    let made = Trial { ranges: &wide(5, 0.0, 2e6), usual: (0.0, 1e6), ..trial }.passes(&SURE);
    assert!(made.best);
}

#[test]
fn hours_of_a_day() {
    let spec = day(real("income", 10.0, 1000.0), "<= income");
    let anchor = Anchor { weights: (0..24).map(|h| (h, 0, 0.03)).collect(), bias: vec![0.001; 24] };
    let ranges = wide(24, -1000.0, 1000.0);
    for usual in [(-50.0, 150.0), (-2.0, 30.0), (-300.0, 300.0)] {
        let trial = Trial { spec: &spec, ranges: &ranges, anchor: Some(&anchor), usual, borders: &[] };
        trial.passes(&SURE);
        Trial { anchor: None, ..trial }.passes(&SURE);
    }
}

#[test]
fn bounds_of_single_outputs_are_exact() {
    // But for a rounding, where a bound is a feature that may be tiny.
    let exact = Asked { refused: 0.0, wild: 0.0, ratio: 1.0001 };
    for rules in [
        &["0 <= u and u <= 50", "v >= 3"][..],
        &["u <= r", "u >= 0", "u <= 50", "v >= s"],
        &["u > 0", "v < 0.1", "t >= 0.1"],
        &["c == 'q' => v >= 5", "c == 'p' => v <= s"],
    ] {
        let (spec, ranges) = (three(rules), wide(3, -200.0, 200.0));
        let made =
            Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-60.0, 90.0), borders: &[0.0, 50.0] }.passes(&exact);
        assert!(made.best);
    }
}

#[test]
fn a_part_and_the_whole() {
    trials(&["0 <= u and u <= v"], &constant(&[1.0, 5.0, 0.0]));
    let between = Anchor { weights: vec![(0, 0, 0.25), (1, 0, 0.75)], bias: vec![0.0; 3] };
    trials(&["0 <= u and u <= v and v <= r"], &between);
    trials(&["0 <= u and u <= v", "r + s > 60 => v <= 40 + u", "t <= u"], &constant(&[1.0, 5.0, 0.5]));
}

#[test]
fn several_that_meet() {
    trials(&["u >= 0", "v >= 0", "u + v <= r"], &constant(&[0.3, 0.3, 0.0]));
    trials(&["u <= v", "v <= t", "u + v + t <= r"], &constant(&[-4.0, -2.0, -1.0]));
    let planes = ["u + v + t <= r", "u - v <= 3", "2 * t + u >= -30", "v - t <= 20"];
    trials(&planes, &constant(&[0.0; 3]));
    // An anchor on a face, where the way to it is of no use.
    trials(&planes, &constant(&[3.0, 0.0, -2.0]));
}

#[test]
fn under_conditions() {
    trials(&["c == 'q' => v >= 5", "r > 50 => u + v <= 10", "u >= 0", "v >= 0"], &constant(&[1.0, 6.0, 0.0]));
    trials(&["c == 'q' => v <= u", "r > 50 => u + v <= 10"], &constant(&[1.0, -6.0, 0.0]));
    trials(&["r + s > 60 => u + v + t <= 10", "u >= 0", "v >= 0", "t >= 0", "t <= 20"], &constant(&[1.0; 3]));
}

#[test]
fn between_two_planes() {
    let even = |w: &[f32]| Anchor { weights: w.iter().enumerate().map(|(j, w)| (j, 0, *w)).collect(), bias: vec![0.0; 3] };
    trials(&["u + v <= r + 1", "u + v >= r - 1", "u >= 0", "v >= 0"], &even(&[0.5, 0.5, 0.0]));
    trials(&["abs(u + v + t - r) <= 0.01", "u >= 0", "v >= 0", "t >= 0"], &even(&[0.4, 0.4, 0.2]));
}

/// Scores of classes are numbers, too.
#[test]
fn raw_scores() {
    let task = Task::Multiclass { target: "k".into(), classes: vec!["a".into(), "b".into(), "d".into()] };
    let schema = Schema { features: vec![real("r", 0.0, 1.0)], task, one_hot: OneHot::Full, filled: vec![] };
    let texts = ["score('a') <= 2 * r + 1", "r > 0.5 => k == 'b' or k == 'd'"];
    let rules = texts.map(|text| RuleText { name: text.into(), text: text.into() });
    let spec = compile(&rules, &schema).unwrap();
    let ranges = wide(3, -20.0, 20.0);
    let trial = Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-5.0, 5.0), borders: &[0.5] };
    trial.passes(&SURE);
}
