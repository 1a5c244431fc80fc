//! Against all label sets, one by one, and against the decoder that chooses row by row.

use std::fmt::Write;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::tests::{SOURCE, multilabel, obeys, point, run, scores, spec, unclear};
use super::*;
use crate::Judge;
use crate::decode::{Decoder, Scratch};

/// What a set is worth, by scores as they count.
fn worth(scores: &[f32], y: &[f32]) -> f64 {
    let sane = |s: f32| if s.is_nan() { 0.0 } else { f64::from(s.clamp(-MOST, MOST)) };
    scores.iter().zip(y).filter(|(_, y)| **y > 0.5).map(|(s, _)| sane(*s)).sum()
}

/// Less than this differ totals that float32 can't tell apart.
fn rounding(scores: &[f32]) -> f64 {
    let size: f64 = scores.iter().map(|s| worth(&[s.abs()], &[1.0])).sum();
    1e-6 * (1.0 + size)
}

/// Runs rows with random scores; compares every candidate with all sets.
fn against_all(spec: &NormalSpec, made: &Made, rows: usize, rng: &mut ChaCha8Rng) -> usize {
    let n = spec.schema.task.outputs();
    let x: Vec<Vec<f32>> = (0..rows).map(|_| point(rng)).collect();
    let given: Vec<Vec<f32>> = (0..rows).map(|_| scores(rng, n)).collect();
    let mut compared = 0;
    for ((x, given), found) in x.iter().zip(&given).zip(run(made, &given, &x)) {
        let set = |bits: usize| (0..n).map(|j| f32::from(u8::from(bits >> j & 1 == 1))).collect::<Vec<f32>>();
        let valid = (0..1usize << n).map(set).filter(|y| obeys(spec, x, y));
        let most = valid.map(|y| worth(given, &y)).fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY || unclear(x) {
            continue;
        }
        let rules: Vec<&str> = spec.rules.iter().map(|r| r.text.as_str()).collect();
        assert!(obeys(spec, x, &found), "{rules:?} {}: {x:?} {given:?} {found:?}", made.how);
        assert!(found.iter().all(|v| [0.0, 1.0].contains(v)));
        if made.best {
            let short = most - worth(given, &found);
            assert!(short <= rounding(given), "{rules:?} {}: {short} short: {x:?} {given:?} {found:?}", made.how);
        }
        compared += 1;
    }
    compared
}

/// A random condition over labels and the input.
fn condition(rng: &mut ChaCha8Rng, n: usize, depth: usize, inputs: bool) -> String {
    if inputs && rng.random_range(0..4) == 0 {
        return ["a < 3.5", "a + b >= 4", "k == 'p'", "b == 2", "k in {'p', 'q'}"][rng.random_range(0..5)].into();
    }
    if depth == 0 {
        return format!("label[{}]", rng.random_range(0..n));
    }
    let part = |rng: &mut ChaCha8Rng| condition(rng, n, depth - 1, inputs);
    match rng.random_range(0..6) {
        0 => format!("({} => {})", part(rng), part(rng)),
        1 => format!("({} or {})", part(rng), part(rng)),
        2 => format!("not ({} and {})", part(rng), part(rng)),
        3 => format!("({} <=> {})", part(rng), part(rng)),
        4 => {
            let mut sum = String::from("0");
            for j in 0..n {
                let _ = write!(sum, " + {} * label[{j}]", [-2, -1, 1, 2, 3][rng.random_range(0..5)]);
            }
            format!("{sum} <= {}", rng.random_range(0..5))
        }
        _ => format!("exactly(1, {}, {}, {})", part(rng), part(rng), part(rng)),
    }
}

#[test]
fn random_rules_are_obeyed_at_best() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (mut compared, mut kinds) = (0, std::collections::BTreeSet::new());
    for round in 0..250 {
        let n = rng.random_range(1..=7);
        let rules: Vec<String> = (0..rng.random_range(1..4))
            .map(|_| condition(&mut rng, n, 2, round % 2 == 0))
            .filter(|t| t.contains("label"))
            .collect();
        let spec = multilabel(n, &rules);
        let made = match make(&spec, &SOURCE) {
            Ok(made) => made,
            Err(MakeError::Impossible) => continue,
            Err(other) => panic!("{rules:?}: {other}"),
        };
        assert!(made.best);
        kinds.extend(made.how.split(' ').next().map(String::from));
        compared += against_all(&spec, &made, 20, &mut rng);
    }
    assert!(compared > 2500 && kinds.contains("table"), "{compared} {kinds:?}");
}
