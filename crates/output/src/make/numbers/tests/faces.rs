//! Faces that all hold at once, some under conditions.

use super::*;

fn uc1() -> NormalSpec {
    let features = vec![real("income", 0.0, 2e6), real("members", 1.0, 20.0)];
    spec(
        features,
        &["food", "out", "shopping", "necessary", "rest"],
        &["sum(food, out, shopping, necessary, rest) <= income", "out <= 0.05 * income"],
    )
}

#[test]
fn expenses_within_income_in_closed_form() {
    let (spec, rng) = (uc1(), &mut ChaCha8Rng::seed_from_u64(1));
    let made = make(&spec, &SOURCE, &wide(5, -4e6, 4e6), None).unwrap();
    assert!(made.best);
    let (s, x) = (scores(4000, 5, -2e5, 1e6, rng), inputs(&spec, 4000, &[], rng));
    println!("{:?}", made.piece.calls.iter().map(|c| c.op.clone()).collect::<Vec<_>>());
    println!("{} {}", refused(&spec, &made, &s, &x), ratio(&spec, &made, &s, &x));
}

#[test]
fn hours() {
    let names: Vec<String> = (0..24).map(|h| format!("h{h}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sum = format!("sum({}) <= income", names.join(", "));
    let mut rules: Vec<String> = names.iter().map(|n| format!("{n} >= 0")).collect();
    rules.push(sum);
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let spec = spec(vec![real("income", 0.0, 1000.0)], &names, &rules);
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let anchor = Anchor { weights: (0..24).map(|h| (h, 0, 0.03)).collect(), bias: vec![0.001; 24] };
    let made = make(&spec, &SOURCE, &wide(24, -1000.0, 1000.0), Some(&anchor)).unwrap();
    let (s, x) = (scores(2000, 24, -50.0, 150.0, rng), inputs(&spec, 2000, &[], rng));
    println!("{}", made.piece.calls.len());
    println!("{} {}", refused(&spec, &made, &s, &x), ratio(&spec, &made, &s, &x));
    let s = wild(2000, 24, rng);
    println!("{}", refused(&spec, &made, &s, &x));
}
