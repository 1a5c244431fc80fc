//! Faces that all hold at once, some under conditions.

use super::*;

/// Income and members of a household; five expenses.
fn expenses() -> NormalSpec {
    let features = vec![real("income", 1e4, 2e6), real("members", 1.0, 20.0)];
    spec(
        features,
        &["food", "out", "shopping", "necessary", "rest"],
        &["sum(food, out, shopping, necessary, rest) <= income", "out <= 0.05 * income"],
    )
}

fn hours(rule: &str) -> (Vec<String>, Vec<String>) {
    let names: Vec<String> = (0..24).map(|h| format!("h{h}")).collect();
    let mut rules: Vec<String> = names.iter().map(|n| format!("{n} >= 0")).collect();
    rules.push(format!("sum({}) {rule}", names.join(", ")));
    (names, rules)
}

pub(super) fn day(feature: Feature, rule: &str) -> NormalSpec {
    let (names, rules) = hours(rule);
    let texts = |of: &[String]| of.to_vec();
    let (names, rules) = (texts(&names), texts(&rules));
    spec(
        vec![feature],
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
        &rules.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

#[test]
fn expenses_within_income_in_closed_form() {
    let (spec, rng) = (expenses(), &mut ChaCha8Rng::seed_from_u64(1));
    let made = make(&spec, &SOURCE, &wide(5, -4e6, 4e6), None).unwrap();
    assert!(made.best && made.piece.calls.len() <= 10, "{:?}", made.piece.calls);
    let (s, x) = (scores(4000, 5, -2e5, 1e6, rng), inputs(&spec, 4000, &[], rng));
    report("expenses", &spec, &made, &s, &x);
}

#[test]
fn hours_of_a_day() {
    let spec = day(real("income", 10.0, 1000.0), "<= income");
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let anchor = Anchor { weights: (0..24).map(|h| (h, 0, 0.03)).collect(), bias: vec![0.001; 24] };
    for (lo, hi) in [(-50.0, 150.0), (-2.0, 30.0), (-300.0, 300.0)] {
        for anchor in [Some(&anchor), None] {
            let made = make(&spec, &SOURCE, &wide(24, -1000.0, 1000.0), anchor).unwrap();
            let (s, x) = (scores(2000, 24, lo, hi, rng), inputs(&spec, 2000, &[], rng));
            report("hours", &spec, &made, &s, &x);
            report("wild", &spec, &made, &wild(2000, 24, rng), &x);
        }
    }
}

#[test]
fn others() {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let features = || vec![real("r", 1.0, 100.0), category("c", &["p", "q"])];
    let cases: &[(&str, &[&str], Anchor)] = &[
        ("bounds", &["0 <= u and u <= 50", "v >= 3"], constant(&[1.0, 5.0, 0.0])),
        ("moving bound", &["u <= r", "u >= 0", "u <= 50"], constant(&[0.5, 5.0, 0.0])),
        ("wine", &["0 <= u and u <= v"], constant(&[1.0, 5.0, 0.0])),
        ("wine 3", &["0 <= u and u <= v and v <= r"], Anchor { weights: vec![(0, 0, 0.25), (1, 0, 0.75)], bias: vec![0.0; 3] }),
        ("three meet", &["u >= 0", "v >= 0", "u + v <= r"], constant(&[0.3, 0.3, 0.0])),
        ("chain", &["u <= v", "v <= t", "u + v + t <= r"], constant(&[-4.0, -2.0, -1.0])),
        ("conditional", &["c == 'q' => v >= 5", "r > 50 => u + v <= 10", "u >= 0", "v >= 0"], constant(&[1.0, 6.0, 0.0])),
        ("conditional pair", &["c == 'q' => v <= u", "r > 50 => u + v <= 10"], constant(&[1.0, -6.0, 0.0])),
        ("three planes", &["u + v + t <= r", "u - v <= 3", "2 * t + u >= -30", "v - t <= 20"], constant(&[0.0, 0.0, 0.0])),
        (
            "slab",
            &["u + v <= r + 1", "u + v >= r - 1", "u >= 0", "v >= 0"],
            Anchor { weights: vec![(0, 0, 0.5), (1, 0, 0.5)], bias: vec![0.0; 3] },
        ),
        (
            "band",
            &["abs(u + v + t - r) <= 0.01", "u >= 0", "v >= 0", "t >= 0"],
            Anchor { weights: vec![(0, 0, 0.4), (1, 0, 0.4), (2, 0, 0.2)], bias: vec![0.0; 3] },
        ),
    ];
    for (name, rules, anchor) in cases {
        let spec = spec(features(), &["u", "v", "t"], rules);
        for anchor in [Some(anchor), None] {
            let made = make(&spec, &SOURCE, &wide(3, -200.0, 200.0), anchor).unwrap();
            let (s, x) = (scores(3000, 3, -60.0, 90.0, rng), inputs(&spec, 3000, &[50.0], rng));
            report(name, &spec, &made, &s, &x);
            report("wild", &spec, &made, &wild(2000, 3, rng), &x);
        }
    }
}
