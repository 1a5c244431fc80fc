use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Allowed, DecodeError};
use crate::judge::Judge;
use crate::nearest::active_set::Infeasible;

/// Inputs r in [1, 100] and c in {p, q}; outputs u, v.
pub(in crate::nearest) fn spec(rules: &[&str]) -> NormalSpec {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let schema = Schema {
        features: vec![
            feature("r", Domain::Real { lo: 1.0, hi: 100.0 }),
            feature("c", Domain::Category { levels: vec!["p".into(), "q".into()] }),
        ],
        task: Task::Regression { targets: vec!["u".into(), "v".into()] },
        one_hot: OneHot::DropFirst,
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
    assert_eq!(allowed.decode(&[1.0, 0.0], &[f32::NAN, 0.0]), Err(DecodeError::NotFinite));
}

#[test]
fn nothing_allowed_is_an_error() {
    let spec = spec(&["u >= r", "u <= 50"]);
    let allowed = Allowed::new(&spec);
    assert_eq!(allowed.decode(&[60.0, 0.0], &[0.0, 0.0]), Err(DecodeError::Infeasible(Infeasible)));
    assert_eq!(allowed.decode(&[40.0, 0.0], &[0.0, 0.0]), Ok(vec![40.0, 0.0]));
}
