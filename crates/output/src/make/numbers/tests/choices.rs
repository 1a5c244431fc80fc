//! Alternatives.

use super::*;

#[test]
fn others() {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let features = || vec![real("r", 1.0, 100.0), category("c", &["p", "q"])];
    let cases: &[&[&str]] = &[
        &["u <= 1 or v <= 1"],
        &["u <= 1 or u >= 3"],
        &["u <= 1 or v <= 1", "u + v <= r", "u >= 0"],
        &["c == 'q' => u <= 1 or v <= 1"],
        &["r > 50 => u <= 1 or v + t >= r"],
        &["count(u > 0, v > 0, t > 0) <= 1"],
        &["max(u, v) >= r"],
        &["abs(u) >= 5", "abs(v) >= 5"],
        &["(c == 'q' and u <= v) or (c == 'p' and u + v <= t)"],
        &["u <= v or u <= t", "v <= t or v <= r", "u >= -20"],
    ];
    for rules in cases {
        let spec = spec(features(), &["u", "v", "t"], rules);
        let made = make(&spec, &SOURCE, &wide(3, -200.0, 200.0), None).unwrap();
        let (s, x) = (scores(3000, 3, -60.0, 90.0, rng), inputs(&spec, 3000, &[50.0], rng));
        report(&format!("{rules:?}"), &spec, &made, &s, &x);
        report("wild", &spec, &made, &wild(2000, 3, rng), &x);
    }
}
