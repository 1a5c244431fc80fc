//! Outputs whose spreads differ: what varies more is moved more.

use super::*;

const SPREAD: [f64; 3] = [4.0, 1.0, 0.25];

fn three(rules: &[&str]) -> NormalSpec {
    spec(vec![whole("r", 1, 100)], &["u", "v", "t"], rules)
}

/// What becomes of one row of outputs at `r = 10`.
fn moved(rules: &[&str], from: [f32; 3], spread: &[f64; 3]) -> Vec<f32> {
    let spec = three(rules);
    let found = grids(&spec, &wide(3, -256.0, 256.0)).unwrap();
    let ranges: Vec<Number> = found.into_iter().map(|grid| Number { lo: -256.0, hi: 256.0, grid }).collect();
    let made = make(&spec, &SOURCE, &ranges, spread, None).unwrap();
    let ran =
        run(&spec, &made, &Matrix { rows: 1, cols: 3, data: from.to_vec() }, &Matrix { rows: 1, cols: 1, data: vec![10.0] });
    assert!(ran.ok[0]);
    ran.given.data
}

/// Of a sum that is too large by d, output j takes the part `spread_j^2 / sum of spread^2` of d, whichever way it is found.
#[test]
fn what_is_too_much_is_shared_out_by_squares() {
    let near = |rules: &[&str], from: [f32; 3], spread: &[f64; 3], expected: [f32; 3]| {
        let found = moved(rules, from, spread);
        let off = found.iter().zip(expected).fold(0.0f32, |m, (y, e)| m.max((y - e).abs()));
        assert!(off < 0.15, "{rules:?}: {found:?}");
    };
    // In closed form, on a line, step by step, as an equality, and as one of two alternatives.
    near(&["u + v <= r"], [10.0, 10.0, 5.0], &[3.0, 1.0, 1.0], [1.0, 9.0, 5.0]);
    near(&["u + v <= r", "u >= 0", "v >= 0"], [10.0, 10.0, 5.0], &[3.0, 1.0, 1.0], [1.0, 9.0, 5.0]);
    near(&["u + v <= r", "u <= t + 100", "u - v <= 90"], [10.0, 10.0, 5.0], &[3.0, 1.0, 1.0], [1.0, 9.0, 5.0]);
    near(&["u + v == r"], [10.0, 10.0, 5.0], &[3.0, 1.0, 1.0], [1.0, 9.0, 5.0]);
    near(&["u + v == r", "u + t == 5", "u >= -90"], [1.0, 9.0, 4.0], &[3.0, 1.0, 1.0], [1.0, 9.0, 4.0]);
    near(&["u + v <= r or t >= 90"], [10.0, 10.0, 5.0], &[3.0, 1.0, 1.0], [1.0, 9.0, 5.0]);
    // The nearer alternative is the one that is few spreads away.
    let either = ["u <= 0 or v <= 0"];
    assert_eq!(moved(&either, [5.0, 3.0, 1.0], &[1.0; 3]), [5.0, 0.0, 1.0]);
    assert_eq!(moved(&either, [5.0, 3.0, 1.0], &[4.0, 1.0, 1.0]), [0.0, 3.0, 1.0]);
    // An output that no rule ties to them does not make them alike, however wide it is.
    near(&["u + v <= r", "u <= v + 90", "t <= 200"], [10.0, 10.0, 5.0], &[0.003, 0.001, 1e6], [1.0, 9.0, 5.0]);
    // Only what is beside another counts.
    near(&["u + v + t <= r"], [10.0, 10.0, 20.0], &[1e6; 3], [0.0, 0.0, 10.0]);
}

/// A band that leaves less than the rounding of all steps may take, beside an output of very different size that no rule ties to it: the
/// middle of the band follows the outputs, and does not stay where the fallback is.
#[test]
fn a_thin_band_follows_the_outputs() {
    let spec = spec(vec![whole("r", 1, 100)], &["u", "v", "t"], &["u <= v", "v <= u + 0.0005", "t <= 200000 * r + 10000"]);
    let ranges = [(-100.0, 200.0), (-100.0, 200.0), (-6e6, 1.2e7)].map(|(lo, hi)| Number { lo, hi, grid: None });
    let anchor = constant(&[25.682_983, 25.683_22, 106_496.0]);
    let made = make(&spec, &SOURCE, &ranges, &[20.0, 20.0, 1e6], Some(&anchor)).unwrap();
    assert!(made.ratio < 1.05 && made.nowhere == 0.0, "{} {}", made.ratio, made.nowhere);
    // What leaves less than a tenth of it is made all the same, and is told.
    let thinner =
        super::spec(vec![whole("r", 1, 100)], &["u", "v", "t"], &["u <= v", "v <= u + 0.0002", "t <= 200000 * r + 10000"]);
    let stuck = make(&thinner, &SOURCE, &ranges, &[20.0, 20.0, 1e6], Some(&anchor)).unwrap();
    assert!(stuck.nowhere > 0.5, "{}", stuck.nowhere);
    let rows = 40;
    let from: Vec<f32> = (0..rows as u16).flat_map(|k| [f32::from(k), f32::from(k) + 2.0, 5000.0]).collect();
    let s = Matrix { rows, cols: 3, data: from };
    let ran = run(&spec, &made, &s, &Matrix { rows, cols: 1, data: vec![10.0; rows] });
    let followed = |r: &usize| ran.ok[*r] && (ran.given.row(*r)[0] - s.row(*r)[0] - 1.0).abs() < 0.1;
    let share = (0..rows).filter(followed).count();
    assert!(share == rows, "{share} of {rows} rows: {:?}", ran.given.data);
}

#[test]
fn nearest_in_their_measure() {
    let ranges = wide(3, -200.0, 200.0);
    for (rules, anchor) in [
        (&["u + v + t <= r", "v <= 0.05 * r"][..], None),
        (&["u >= 0", "v >= 0", "t >= 0", "u + v + t <= r"], Some([0.3; 3])),
        (&["u <= v", "v <= t", "u + v + t <= r"], Some([-4.0, -2.0, -1.0])),
        (&["u + v <= r or u + t >= 90", "u >= -20"], None),
    ] {
        let (spec, anchor) = (three(rules), anchor.map(|bias| constant(&bias)));
        let trial = Trial { spec: &spec, ranges: &ranges, anchor: anchor.as_ref(), usual: (-60.0, 90.0), borders: &[] };
        trial.passes_with(&SURE, &SPREAD);
    }
}

#[test]
fn spreads_that_are_none() {
    let spec = three(&["u <= v"]);
    let refused = |spread: &[f64]| make(&spec, &SOURCE, &wide(3, 0.0, 1.0), spread, None).unwrap_err();
    for spread in [&[1.0, 2.0][..], &[1.0, 0.0, 1.0], &[1.0, f64::NAN, 1.0], &[1.0, f64::INFINITY, 1.0]] {
        assert_eq!(refused(spread), MakeError::Spread { outputs: 3 });
    }
}
