//! Equalities on grids.

use super::faces::day;
use super::*;

/// Ranges on the grids that [`grids`] finds.
fn on_grids(spec: &NormalSpec, ranges: &[Number]) -> Vec<Number> {
    let found = grids(spec, ranges).unwrap();
    ranges.iter().zip(found).map(|(n, grid)| Number { grid, ..*n }).collect()
}

fn four(rules: &[&str]) -> NormalSpec {
    spec(vec![whole("n", 0, 1000), category("c", &["p", "q"])], &["u", "v", "t", "w"], rules)
}

fn tried(rules: &[&str], expected: [Option<i32>; 4], anchor: Option<&Anchor>, asked: &Asked) {
    let spec = four(rules);
    let ranges = on_grids(&spec, &wide(4, -2048.0, 4096.0));
    assert_eq!(ranges.iter().map(|n| n.grid).collect::<Vec<_>>(), expected, "{rules:?}");
    Trial { spec: &spec, ranges: &ranges, anchor, usual: (-600.0, 900.0), borders: &[] }.passes(asked);
}

/// 2^14 is the first power of two that all terms stay below.
const GRID: Option<i32> = Some(23 - 14);

#[test]
fn sums_of_outputs() {
    let exact = Asked { refused: 0.0, wild: 0.001, ratio: 1.0001 };
    tried(&["u + v == t", "u >= 0", "v >= 0"], [GRID, GRID, GRID, None], None, &exact);
    tried(&["u + v == n", "u >= 0", "v >= 0"], [GRID, GRID, None, None], None, &exact);
    tried(&["u == v"], [Some(10), Some(10), None, None], None, &exact);
    tried(&["2 * u + v == n", "u >= 0", "v >= 0"], [GRID, GRID, None, None], None, &exact);
    tried(&["c == 'q' => u + v == n", "u >= 0", "v >= 0"], [GRID, GRID, None, None], None, &exact);
    tried(&["u + v == n or u + t == n", "u >= 0", "v >= 0", "t >= 0"], [GRID, GRID, GRID, None], None, &exact);
    tried(&["u == 2 * n + 1", "v + t == 7"], [Some(10), GRID, GRID, None], None, &exact);
    // Times 4 all factors are whole.
    tried(&["u == 0.25 * n", "v >= 0"], [Some(9), None, None, None], None, &exact);
    tried(&["u == 0.5 * n + 3"], [Some(10), None, None, None], None, &exact);
    // A feature itself needs no grid.
    tried(&["u == n"], [None; 4], None, &exact);
}

#[test]
fn several_faces_beside_an_equality() {
    let rules = ["u + v == n / 2", "u >= 0", "v >= u"];
    tried(&rules, [GRID, GRID, None, None], None, &Asked { refused: 0.01, wild: 0.05, ratio: 1.05 });
    let anchor = Anchor { weights: vec![(0, 0, 0.125), (1, 0, 0.375)], bias: vec![0.0; 4] };
    // Where n is near 0 so is all that is allowed, and a step of the grid too much.
    tried(&rules, [GRID, GRID, None, None], Some(&anchor), &SURE);
    let rules = ["u + v == t", "t + w == n", "u >= 0", "v >= 0", "t >= 0", "w >= 0"];
    tried(&rules, [GRID; 4], None, &Asked { refused: 0.02, wild: 0.2, ratio: 1.05 });
    let anchor = Anchor { weights: vec![(0, 0, 0.25), (1, 0, 0.25), (2, 0, 0.5), (3, 0, 0.5)], bias: vec![0.0; 4] };
    tried(&rules, [GRID; 4], Some(&anchor), &SURE);
}

/// Equalities under conditions that share outputs with others: each row obeys those whose conditions hold, exactly.
#[test]
fn conditional_equalities_that_share_outputs() {
    let asked = Asked { refused: 0.0, wild: 0.05, ratio: 1.01 };
    let signs = ["u >= -2000", "v >= -2000"];
    for rules in [
        &["u + v == n", "c == 'q' => v + t == n"][..],
        &["c == 'p' => u + v == n", "c == 'q' => v + t == 2 * n"],
        &["n >= 500 => u + v == n", "c == 'q' => v + t == n", "t + w == 3"],
        // Twice the same sum, of different values.
        &["n >= 500 => u + v == n", "n < 500 => u + v == 2 * n", "u + t == 8"],
        // Elimination doubles a factor.
        &["c == 'q' => u + v == n", "c == 'q' => u - v == t"],
    ] {
        let rules: Vec<&str> = rules.iter().chain(&signs).copied().collect();
        let spec = four(&rules);
        let ranges = on_grids(&spec, &wide(4, -4096.0, 8192.0));
        Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-600.0, 900.0), borders: &[] }.passes(&asked);
    }
}

/// An output that equals a feature, among others that add up to it: the others share what the feature is.
#[test]
fn outputs_with_one_value_among_sums() {
    let asked = Asked { refused: 0.0, wild: 0.2, ratio: 1.01 };
    let spec = |rules: &[&str]| {
        let targets = ["a", "b", "c", "d", "e"];
        spec(vec![whole("n", 0, 1000), category("c1", &["p", "q"])], &targets, rules)
    };
    for rules in [
        &["a + b == c", "c + d == e", "e == n"][..],
        &["a + b == c", "c + d == e", "e == n", "min(a, b, d) >= -500"],
        &["a + b == c", "c == n", "e == 2 * n + 1"],
        // One value follows from another.
        &["a + b == n", "b + c == d", "a == 7", "e >= b"],
        &["a + b == c", "c + d == e", "c1 == 'q' => e == n"],
    ] {
        let spec = spec(rules);
        let ranges = on_grids(&spec, &wide(5, -2048.0, 4096.0));
        Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-300.0, 900.0), borders: &[] }.passes(&asked);
    }
}

#[test]
fn hours_of_a_day() {
    let spec = day(whole("daily", 0, 9000), "== daily");
    for usual in [(-50.0, 400.0), (-5.0, 40.0), (0.0, 1000.0)] {
        for coarse in [false, true] {
            let mut ranges = on_grids(&spec, &wide(24, 0.0, 4096.0));
            assert_eq!(ranges[0].grid, Some(23 - 17));
            if coarse {
                ranges.iter_mut().for_each(|n| n.grid = Some(0));
            }
            let trial = Trial { spec: &spec, ranges: &ranges, anchor: None, usual, borders: &[] };
            trial.passes(&Asked { refused: 0.0, wild: 0.001, ratio: 1.02 });
        }
    }
}

/// Multiples of a step: the grid is as fine as that, or there is none.
#[test]
fn sums_that_equal_a_stepped_feature() {
    let with = |step: f32, hi: f32, rules: &[&str]| {
        let features = vec![stepped("t", 0.0, hi, step), whole("n", 0, 100), category("c", &["p", "q"])];
        spec(features, &["u", "v", "w"], rules)
    };
    let exact = Asked { refused: 0.0, wild: 0.001, ratio: 1.0001 };
    let rules = ["u + v == t", "u >= 0", "v >= 0"];
    for (step, hi, rules, grid) in [
        (0.25, 1000.0, &rules[..], 9),
        (2f32.powi(-9), 4.0, &rules, 9),
        (1024.0, 4096.0, &rules, 9),
        (0.25, 1000.0, &["u + v + w == t + n", "u >= 0", "v >= 0", "w >= 0"], 9),
        (0.25, 1000.0, &["c == 'q' => u + v == 0.5 * t + 0.25", "u >= 0", "v >= 0"], 8),
    ] {
        let spec = with(step, hi, rules);
        let ranges = on_grids(&spec, &wide(3, -2048.0, 4096.0));
        assert_eq!(ranges[0].grid, Some(grid), "{step} {rules:?}");
        Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-600.0, 900.0), borders: &[] }.passes(&exact);
    }
    // Sums of these sizes have a coarser grid than the step.
    let too_fine = grids(&with(2f32.powi(-10), 4.0, &rules), &wide(3, -2048.0, 4096.0));
    assert!(matches!(too_fine, Err(MakeError::Equality { why: NotEqual::TooLarge, .. })), "{too_fine:?}");
    let off = grids(&with(2f32.powi(-9), 4.0, &["u + v == t / 4"]), &wide(3, -2048.0, 4096.0));
    assert!(matches!(off, Err(MakeError::Equality { .. })), "{off:?}");
    let too_large = grids(&with(1024.0, 1024e6, &rules), &wide(3, -2048.0, 4096.0));
    assert!(matches!(too_large, Err(MakeError::Equality { why: NotEqual::TooLarge, .. })), "{too_large:?}");
    // The feature itself needs no grid.
    assert_eq!(grids(&with(0.25, 8.0, &["u == t"]), &wide(3, -2048.0, 4096.0)), Ok(vec![None; 3]));
}

/// A factor of 1/2 takes the bit that is left over, so that outputs have to stay within their ranges: sums just below a power of two.
#[test]
fn halves_of_a_feature_leave_no_bit_to_spare() {
    let spec = four(&["u + v == n / 2", "u >= 0", "v >= 0"]);
    let ranges = on_grids(&spec, &wide(4, -400.0, 700.0));
    assert_eq!(ranges[0].grid, Some(23 - 11));
    let trial = Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-200.0, 400.0), borders: &[] };
    trial.passes(&Asked { refused: 0.0, wild: 0.001, ratio: 1.0001 });
}

/// Outputs on a grid without any equality.
#[test]
fn whole_outputs() {
    let spec = four(&["u >= 0.3", "u + v <= 10.5", "t <= n + 0.5"]);
    let ranges = vec![Number { lo: -2048.0, hi: 4096.0, grid: Some(0) }; 4];
    let trial = Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-600.0, 900.0), borders: &[] };
    trial.passes(&Asked { ratio: 1.02, ..SURE });
}

/// Where the grid's last bit is taken, outputs stay within the ranges that are given.
#[test]
fn sums_without_a_bit_to_spare() {
    let spec = four(&["u + v == n", "u >= 0", "v >= 0"]);
    let ranges = vec![Number { lo: -2048.0, hi: 6144.0, grid: Some(10) }; 4];
    let trial = Trial { spec: &spec, ranges: &ranges, anchor: None, usual: (-600.0, 900.0), borders: &[] };
    assert_eq!(trial.passes(&SURE).outputs, Outputs::Numbers(ranges.clone()));
}

#[test]
fn a_real_feature_gets_a_tolerance_that_can_be_kept() {
    let with = |rule: &str| spec(vec![real("r", 1.0, 100.0)], &["u", "v"], &[rule]);
    let ranges = wide(2, -200.0, 200.0);
    let Err(MakeError::RealEquality { rule, tolerance }) = grids(&with("u + v == r"), &ranges) else { panic!("no tolerance") };
    assert_eq!(rule, "rule 0");
    assert!(MakeError::RealEquality { rule, tolerance }.to_string().contains("step = 0.25"));
    // A few roundings of numbers up to 500.
    assert!((1e-4..3e-3).contains(&tolerance), "{tolerance}");
    let trial = |tolerance: f64| {
        let spec = with(&format!("abs(u + v - r) <= {tolerance}"));
        let rng = &mut ChaCha8Rng::seed_from_u64(1);
        let made = make(&spec, &SOURCE, &ranges, &ALIKE[..ranges.len()], None).unwrap();
        refused(&spec, &made, &scores(1000, 2, -100.0, 100.0, rng), &inputs(&spec, 1000, &[], rng))
    };
    assert_eq!(trial(tolerance), 0.0);
    assert!(trial(tolerance / 8.0) > 0.5);
    // An output that is the feature is exact.
    assert_eq!(grids(&with("u == r"), &ranges), Ok(vec![None, None]));
}
