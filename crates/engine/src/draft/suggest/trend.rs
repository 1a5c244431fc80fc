//! Which feature the target, or a class, tends to rise or fall with: by pairs of rows, as `increasing(...)` compares inputs.

use super::{Measured, Suggestion, plain};
use crate::draft::spelled;
use deepsade_spec::print;

/// Suggestions at most.
const MOST: usize = 4;
/// Share of the pairs that must agree.
const AGREE: f64 = 0.7;
/// Pairs that are looked at.
const PAIRS: usize = 20_000;

/// Tendencies of a regression.
pub(super) fn of_numbers(targets: &[Measured], features: &[Measured]) -> Vec<Suggestion> {
    let of = |t: &Measured| trends(&t.name, plain(&t.name), &t.values, features);
    let mut found: Vec<(f64, Suggestion)> = targets.iter().flat_map(of).collect();
    strongest(&mut found)
}

/// Tendencies of the second class of two, which is usually the one that is asked about.
pub(super) fn of_classes(target: &str, classes: &[String], rows: &[Option<usize>], features: &[Measured]) -> Vec<Suggestion> {
    let [_, second] = classes else { return Vec::new() };
    let Some(class) = print::level(second) else { return Vec::new() };
    let values: Vec<f64> = rows.iter().map(|c| c.map_or(f64::NAN, |c| c as f64)).collect();
    let spelt = format!("{target} == {class}");
    strongest(&mut trends(&spelt, &format!("{} {second}", plain(target)), &values, features))
}

fn strongest(found: &mut Vec<(f64, Suggestion)>) -> Vec<Suggestion> {
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.drain(..).take(MOST).map(|(_, rule)| rule).collect()
}

fn trends(spelt: &str, title: &str, values: &[f64], features: &[Measured]) -> Vec<(f64, Suggestion)> {
    let of = |feature: &Measured| {
        let (up, down) = pairs(values, &feature.values);
        let (word, says, obey) = if up >= down { ("increasing", "rises", up) } else { ("decreasing", "falls", down) };
        let share = obey as f64 / (up + down).max(1) as f64;
        let name = spelled::title(&format!("{title} {says} with {}", plain(&feature.name)));
        let text = format!("{word}({spelt}, {})", feature.name);
        let rule = Suggestion { counted: "pairs of rows", ..Suggestion::of_rows(&name, text, obey, up + down) };
        (share >= AGREE && up + down >= 100).then_some((share, rule))
    };
    features.iter().filter_map(of).collect()
}

/// Of pairs of rows that differ in both, in how many the two move together, and against each other.
fn pairs(values: &[f64], feature: &[f64]) -> (usize, usize) {
    let known: Vec<(f64, f64)> =
        values.iter().copied().zip(feature.iter().copied()).filter(|(y, x)| !y.is_nan() && !x.is_nan()).collect();
    let (mut up, mut down) = (0, 0);
    // The same pairs on every machine; the constants are those of a linear congruential generator.
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % known.len().max(1)
    };
    for _ in 0..if known.len() < 2 { 0 } else { PAIRS } {
        let ((y, x), (other_y, other_x)) = (known[draw()], known[draw()]);
        let both = (y - other_y) * (x - other_x);
        up += usize::from(both > 0.0);
        down += usize::from(both < 0.0);
    }
    (up, down)
}
