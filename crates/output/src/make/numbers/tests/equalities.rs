//! Equalities on grids.

use super::faces::day;
use super::*;

/// Ranges on the grids that [`grids`] finds.
fn on_grids(spec: &NormalSpec, ranges: &[Number]) -> Vec<Number> {
    let found = grids(spec, ranges).unwrap();
    ranges.iter().zip(found).map(|(n, grid)| Number { grid, ..*n }).collect()
}

#[test]
fn others() {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let features = || vec![whole("n", 0, 1000), category("c", &["p", "q"])];
    let cases: &[&[&str]] = &[
        &["u + v == t", "u >= 0", "v >= 0"],
        &["u + v == n", "u >= 0", "v >= 0"],
        &["u == v"],
        &["u + v == t", "t + w == n", "u >= 0", "v >= 0", "t >= 0", "w >= 0"],
        &["2 * u + v == n", "u >= 0", "v >= 0"],
        &["u + v == n / 2", "u >= 0", "v >= u"],
        &["c == 'q' => u + v == n", "u >= 0", "v >= 0"],
        &["u == n"],
        &["u == 2 * n + 1", "v + t == 7"],
        &["u + v == n or u + t == n", "u >= 0", "v >= 0", "t >= 0"],
    ];
    for rules in cases {
        let spec = spec(features(), &["u", "v", "t", "w"], rules);
        let ranges = on_grids(&spec, &wide(4, -2048.0, 4096.0));
        println!("{:?}", ranges.iter().map(|n| n.grid).collect::<Vec<_>>());
        let made = make(&spec, &SOURCE, &ranges, None).unwrap();
        let (s, x) = (scores(3000, 4, -600.0, 900.0, rng), inputs(&spec, 3000, &[50.0], rng));
        report(&format!("{rules:?}"), &spec, &made, &s, &x);
        report("wild", &spec, &made, &wild(2000, 4, rng), &x);
    }
}

#[test]
fn hours_of_a_day() {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let spec = day(whole("daily", 0, 9000), "== daily");
    for (lo, hi) in [(-50.0, 400.0), (-5.0, 40.0)] {
        for coarse in [false, true] {
            let mut ranges = on_grids(&spec, &wide(24, 0.0, 4096.0));
            println!("{:?}", ranges[0]);
            if coarse {
                ranges.iter_mut().for_each(|n| n.grid = Some(0));
            }
            let made = make(&spec, &SOURCE, &ranges, None).unwrap();
            let (s, x) = (scores(2000, 24, lo, hi, rng), inputs(&spec, 2000, &[], rng));
            report("hours", &spec, &made, &s, &x);
            report("wild", &spec, &made, &wild(2000, 24, rng), &x);
        }
    }
}
