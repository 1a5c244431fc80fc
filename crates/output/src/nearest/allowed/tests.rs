use deepsade_solve::active_set::Infeasible;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Allowed, NearestError};
use crate::judge::Judge;

/// Inputs r in [1, 100] and c in {p, q}; outputs u, v.
pub(in crate::nearest) fn spec(rules: &[&str]) -> NormalSpec {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let schema = Schema {
        features: vec![
            feature("r", Domain::Real { lo: 1.0, hi: 100.0 }),
            feature("c", Domain::Category { levels: vec!["p".into(), "q".into()] }),
        ],
        task: Task::regression(vec!["u".into(), "v".into()]),
        one_hot: OneHot::DropFirst,
        filled: vec![],
    };
    let rules: Vec<RuleText> =
        rules.iter().enumerate().map(|(k, text)| RuleText { name: format!("rule {k}"), text: (*text).into() }).collect();
    compile(&rules, &schema).unwrap()
}

fn near(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9)
}

#[test]
fn closed_forms() {
    let spec = spec(&["u + v <= r", "u <= 0.1 * r"]);
    let allowed = Allowed::new(&spec);
    assert!(allowed.is_one_piece());
    let place = allowed.at(&[10.0, 0.0]).unwrap();
    for (p, y) in [([0.5, 3.0], [0.5, 3.0]), ([0.5, 12.0], [-0.75, 10.75]), ([4.0, 3.0], [1.0, 3.0]), ([20.0, 20.0], [1.0, 9.0])]
    {
        assert!(near(&allowed.nearest(&place, &p, 0.0).unwrap().y, &y), "{p:?}");
    }
}

#[test]
fn the_nearest_of_the_pieces_is_taken_and_conditions_choose_them() {
    let spec = spec(&["u <= 1 or u >= 3", "c == 'q' => v >= 5", "r > 50 => u + v == 0"]);
    let allowed = Allowed::new(&spec);
    assert!(!allowed.is_one_piece());
    let at = |x: [f32; 2], p: [f64; 2]| allowed.nearest(&allowed.at(&x).unwrap(), &p, 0.0).map(|n| n.y);
    assert!(near(&at([10.0, 0.0], [1.9, 0.0]).unwrap(), &[1.0, 0.0]));
    assert!(near(&at([10.0, 0.0], [2.1, 0.0]).unwrap(), &[3.0, 0.0]));
    assert!(near(&at([10.0, 1.0], [0.0, 0.0]).unwrap(), &[0.0, 5.0]));
    assert!(near(&at([60.0, 0.0], [1.0, 1.0]).unwrap(), &[0.0, 0.0]));
    assert!(near(&at([60.0, 1.0], [9.0, 0.0]).unwrap(), &[-5.0, 5.0]));
}

#[test]
fn decoded_outputs_obey_the_rules_exactly_as_float32_values() {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let spec = spec(&["3 * u + 7 * v <= 0.1 * r", "u < v", "c == 'q' => u > -0.3 or v < -100", "abs(u) <= r"]);
    let (allowed, judge) = (Allowed::new(&spec), Judge::new(&spec));
    for _ in 0..2000 {
        let x = [1.0 + rng.random::<f32>() * 99.0, f32::from(u8::from(rng.random::<bool>()))];
        let scale = 10f32.powi(rng.random_range(-3..6));
        let y = [scale * (rng.random::<f32>() - 0.5), scale * (rng.random::<f32>() - 0.5)];
        let decoded = allowed.decode(&x, &y).unwrap();
        assert!((0..4).all(|rule| !judge.breaks(rule, &x, &decoded)), "{x:?} {y:?} {decoded:?}");
    }
    let spec = self::spec(&["u == v"]);
    let (allowed, judge) = (Allowed::new(&spec), Judge::new(&spec));
    for _ in 0..200 {
        let y = [rng.random::<f32>(), rng.random::<f32>() * 30.0];
        assert!(!judge.breaks(0, &[1.0, 0.0], &allowed.decode(&[1.0, 0.0], &y).unwrap()));
    }
    assert_eq!(allowed.decode(&[1.0, 0.0], &[f32::NAN, 0.0]), Err(NearestError::NotFinite));
}

#[test]
fn nothing_allowed_is_an_error() {
    let spec = spec(&["u >= r", "u <= 50"]);
    let allowed = Allowed::new(&spec);
    assert_eq!(allowed.decode(&[60.0, 0.0], &[0.0, 0.0]), Err(NearestError::Infeasible(Infeasible)));
    assert_eq!(allowed.decode(&[40.0, 0.0], &[0.0, 0.0]), Ok(vec![40.0, 0.0]));
}

/// Where the rules leave one point or an edge: at r = 1 in each of them, and next to it.
#[test]
fn a_corner_that_is_all_that_is_left_is_found() {
    let rng = &mut ChaCha8Rng::seed_from_u64(7);
    for rules in [
        &["u >= 0", "v >= 0", "u + v <= r - 1"][..],
        &["u >= 0", "v >= 0", "7 * u + 3 * v <= r - 1"],
        &["u >= 2 * r", "v >= r", "u + v <= 3 * r"],
        &["abs(u) <= r - 1", "v >= 2 * u + r", "v <= 2 * u + r"],
        &["u + v == r - 1", "u >= v"],
        &["u == 0.1 and v <= 2 or u + v <= r - 1 and u >= 0 and v >= 0"],
        &["u - v <= 0", "v - u <= 0", "u >= 5"],
    ] {
        let spec = spec(rules);
        let (allowed, judge) = (Allowed::new(&spec), Judge::new(&spec));
        for r in [1.0, 1.0f32.next_up(), 1.5, 7.1] {
            for _ in 0..200 {
                let scale = 10f32.powi(rng.random_range(-3..6));
                let y = [scale * (rng.random::<f32>() - 0.5), scale * (rng.random::<f32>() - 0.5)];
                let decoded = allowed.decode(&[r, 0.0], &y);
                let Ok(decoded) = decoded else { panic!("{rules:?} at r = {r} {y:?}: {decoded:?}") };
                assert!((0..rules.len()).all(|rule| !judge.breaks(rule, &[r, 0.0], &decoded)), "{rules:?} {y:?} {decoded:?}");
            }
        }
    }
}

/// Twenty outputs, all of them held at 0.
#[test]
fn what_is_tiny_beside_the_prediction_is_met_exactly() {
    let feature = Feature { name: "r".into(), domain: Domain::Real { lo: 0.0, hi: 100.0 } };
    let task = Task::regression(vec!["u".into(), "v".into()]);
    let schema = Schema { features: vec![feature], task, one_hot: OneHot::Full, filled: vec![] };
    for texts in [&["u == r"][..], &["u + v == r"], &["u + v == r", "u >= 0", "v >= 0"]] {
        let rules: Vec<RuleText> = texts.iter().map(|t| RuleText { name: (*t).into(), text: (*t).into() }).collect();
        let spec = compile(&rules, &schema).unwrap();
        let (allowed, judge) = (Allowed::new(&spec), Judge::new(&spec));
        for r in [0.0f32, 1e-44, 1e-38, 1e-30, 1e-20, 1e-12, 1e-3, 0.1, 100.0] {
            let y = allowed.decode(&[r], &[5.0, -7.0]).unwrap_or_else(|e| panic!("{texts:?} at {r:e}: {e}"));
            assert!((0..rules.len()).all(|k| !judge.breaks(k, &[r], &y)), "{texts:?} at {r:e}: {y:?}");
        }
    }
}

/// Rules and inputs for which outputs exist, though float64 misses them.
#[test]
fn outputs_are_found_wherever_there_are_some() {
    let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } };
    let task = Task::regression(vec!["y".into(), "z".into()]);
    let schema = Schema { features: vec![feature("x"), feature("w")], task, one_hot: OneHot::Full, filled: vec![] };
    for (texts, points) in [
        (&["y + z < 0.5*x", "z == 2*w"][..], &[[5.0f32, 5.0], [0.0, 3.3], [0.0, 10.0]][..]),
        (&["y < 2*w", "z == w"], &[[0.0, 0.0], [3.0, 0.0]]),
        (&["y == x - w", "y - z > 3*x", "z <= 0.25"], &[[0.0, 0.0], [0.0, 0.1]]),
        (&["2*y - z < 0.25", "y == x + w", "2*y - z < 2*w", "z != 1"], &[[7.7, 7.7]]),
        (&["y - z <= 0.1", "z == 0", "y + z < x - w"], &[[7.7, 7.7], [9.99, 9.99]]),
        (&["y != 2*w", "y in {0, 1, 2}", "z < 3*x"], &[[0.0, 0.0], [0.0, 0.5]]),
        (&["z != 0.5*x", "y in {0, 1, 2}", "y + z != x - w", "z < 0"], &[[2.5, 0.0]]),
        (&["y == x", "z == w"], &[[1e-9, 0.1], [0.1, 1e-9], [1e-44, 10.0]]),
        (&["x <= y", "y <= z", "z <= x + w"], &[[1e-44, 1e-30], [1e-30, 1e-44]]),
    ] {
        let rules: Vec<RuleText> = texts.iter().map(|t| RuleText { name: (*t).into(), text: (*t).into() }).collect();
        let spec = compile(&rules, &schema).unwrap();
        let (allowed, judge) = (Allowed::new(&spec), Judge::new(&spec));
        for x in points {
            for start in [[0.3f32, -0.2], [5.0, 5.0], [-7.0, 3.0], [0.0, 0.0]] {
                let y = allowed.decode(x, &start).unwrap_or_else(|e| panic!("{texts:?} at {x:?} from {start:?}: {e}"));
                assert!((0..rules.len()).all(|k| !judge.breaks(k, x, &y)), "{texts:?} at {x:?}: {y:?}");
            }
        }
    }
}

#[test]
fn many_alternatives_are_refused_at_once() {
    let numbers: Vec<String> = (0..2000).map(|k| k.to_string()).collect();
    let spec = spec(&[&format!("u not in {{{}}}", numbers.join(","))]);
    // By enumeration of all cells, with a search through all faces for each atom, this took minutes.
    assert!(matches!(Allowed::new(&spec).at(&[10.0, 0.0]), Err(super::AllowedError::TooManyPieces)));
}

#[test]
fn many_outputs_at_a_corner() {
    let names: Vec<String> = (0..20).map(|j| format!("y{j}")).collect();
    let schema = Schema {
        features: vec![Feature { name: "r".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } }],
        task: Task::regression(names.clone()),
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let mut texts: Vec<String> = names.iter().map(|y| format!("{y} >= 0")).collect();
    texts.push(format!("{} <= r", names.join(" + ")));
    let rules: Vec<RuleText> = texts.iter().map(|t| RuleText { name: t.clone(), text: t.clone() }).collect();
    let spec = compile(&rules, &schema).unwrap();
    let (allowed, rng) = (Allowed::new(&spec), &mut ChaCha8Rng::seed_from_u64(8));
    for _ in 0..50 {
        let y: Vec<f32> = (0..20).map(|_| rng.random::<f32>() * 9.0 - 3.0).collect();
        assert_eq!(allowed.decode(&[0.0], &y), Ok(vec![0.0; 20]));
    }
}
