//! Against all label sets, one by one, on random rules.

use deepsade_spec::{RuleText, Schema, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::random_rules::{self, condition, schema};

fn multilabel(n: usize) -> Schema {
    schema(random_rules::multilabel(n))
}

fn spec(schema: &Schema, texts: &[String]) -> NormalSpec {
    let rules: Vec<RuleText> = texts.iter().map(|t| RuleText { name: t.clone(), text: t.clone() }).collect();
    compile(&rules, schema).unwrap_or_else(|e| panic!("{texts:?}: {e:?}"))
}

/// A point of the domain, or outside of it.
fn point(rng: &mut ChaCha8Rng, outside: bool) -> Vec<f32> {
    let level = rng.random_range(0..3);
    let wide = if outside { 100.0 } else { 1.0 };
    let mut x = vec![rng.random_range(0.0..10.0) * wide, (rng.random_range(-5..=5) as f32) * wide];
    x.extend((0..3).map(|l| f32::from(u8::from(l == level))));
    x
}

/// The sets that obey the rules for an input, by the rules' own semantics.
fn valid_sets(spec: &NormalSpec, x: &[f32], n: usize) -> Vec<Vec<f32>> {
    let judge = Judge::new(spec);
    (0..1usize << n)
        .map(|set| (0..n).map(|j| f32::from(u8::from(set >> j & 1 == 1))).collect::<Vec<f32>>())
        .filter(|y| (0..spec.rules.len()).all(|r| !judge.breaks(r, x, y)))
        .collect()
}

fn worth(scores: &[f32], y: &[f32]) -> f64 {
    scores.iter().zip(y).map(|(s, y)| f64::from(*s) * f64::from(*y)).sum()
}

fn random_decoder(rng: &mut ChaCha8Rng, inputs: bool) -> Option<(NormalSpec, Decoder, usize)> {
    let most = if rng.random_range(0..8) == 0 { 12 } else { 7 };
    let n = rng.random_range(1..=most);
    let texts: Vec<String> =
        (0..rng.random_range(1..4)).map(|_| condition(rng, n, 2, inputs)).filter(|t| t.contains("label")).collect();
    let spec = spec(&multilabel(n), &texts);
    match Decoder::new(&spec, 100_000) {
        Ok(decoder) => Some((spec, decoder, n)),
        Err(DecodeError::Impossible { .. }) => None,
        Err(other) => panic!("{texts:?}: {other}"),
    }
}

#[test]
fn best_set_partition_function_and_gradient_are_those_of_brute_force() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut compared, mut scratch) = (0, DecodeScratch::default());
    for round in 0..600 {
        let Some((spec, decoder, n)) = random_decoder(&mut rng, round % 2 == 0) else { continue };
        for outside in [false, true] {
            let x = point(&mut rng, outside);
            // Quarters: sums are exact, and ties are frequent.
            let scores: Vec<f32> = (0..n).map(|_| rng.random_range(-12i32..12) as f32 / 4.0).collect();
            let valid = valid_sets(&spec, &x, n);
            let met = decoder.met(&Judge::new(&spec), &x);
            let mut set = vec![9.0; n];
            let found = decoder.best(&scores, &met, &mut scratch, &mut set);
            assert_eq!(found, !valid.is_empty(), "{spec:?} {x:?}");
            assert!(found || outside, "inputs of the domain have valid sets");
            if !found {
                continue;
            }
            assert!(valid.contains(&set), "round {round}");
            let most = valid.iter().map(|y| worth(&scores, y)).fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(worth(&scores, &set), most);
            // Twice the same.
            let mut again = vec![0.0; n];
            decoder.best(&scores, &met, &mut DecodeScratch::default(), &mut again);
            assert_eq!(set, again);

            let z: f64 = valid.iter().map(|y| worth(&scores, y).exp()).sum();
            let all: f64 = scores.iter().map(|s| f64::from(*s).exp().ln_1p()).sum();
            let mut marginals = vec![0.0; n];
            let Some(log_valid) = decoder.log_valid(&scores, &met, &mut scratch, &mut marginals) else { continue };
            assert!((log_valid - (z.ln() - all)).abs() < 1e-9, "{log_valid} {}", z.ln() - all);
            for j in 0..n {
                let with: f64 = valid.iter().filter(|y| y[j] > 0.0).map(|y| worth(&scores, y).exp()).sum();
                assert!((marginals[j] - with / z).abs() < 1e-9, "{j}: {} {}", marginals[j], with / z);
            }
            compared += 1;
        }
    }
    assert!(compared > 700, "{compared}");
}

#[test]
fn extreme_and_missing_scores_give_valid_sets() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let wild = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, 0.0, -0.0, 1e-45];
    for round in 0..200 {
        let Some((spec, decoder, n)) = random_decoder(&mut rng, round % 2 == 0) else { continue };
        let x = point(&mut rng, false);
        let scores: Vec<f32> = (0..n).map(|_| wild[rng.random_range(0..wild.len())]).collect();
        let mut set = vec![9.0; n];
        assert!(decoder.best(&scores, &decoder.met(&Judge::new(&spec), &x), &mut DecodeScratch::default(), &mut set));
        assert!(valid_sets(&spec, &x, n).contains(&set));
    }
}

#[test]
fn the_table_lists_the_valid_sets_in_order() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for _ in 0..200 {
        let Some((spec, decoder, n)) = random_decoder(&mut rng, false) else { continue };
        let mut valid = valid_sets(&spec, &point(&mut rng, false), n);
        valid.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let table = decoder.table();
        if valid.len() > MAX_TABLE {
            assert_eq!(table, None);
        } else if decoder.nodes().is_some() {
            assert_eq!(table.unwrap().data, valid.concat());
        }
    }
}

/// On a stack that has room for a hundredth of it.
#[test]
fn a_count_of_very_many_parts_has_a_diagram_of_its_own_stack() {
    let run = || {
        let spec = spec(&multilabel(3), &["sum(l0 for j in 0..30000) >= 2".into()]);
        Decoder::new(&spec, 100_000).map(|decoder| decoder.table())
    };
    let made = std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
    let sets = made.unwrap().unwrap();
    assert!(sets.rows == 4 && (0..4).all(|r| sets.row(r)[0] == 1.0), "{sets:?}");
}

#[test]
fn an_input_without_a_valid_set_is_named() {
    let texts = ["a < 3.5 => label[0]", "b >= 2 => not label[0]"].map(String::from);
    let error = Decoder::new(&spec(&multilabel(2), &texts), 1000).unwrap_err();
    let DecodeError::Impossible { x } = &error else { panic!("{error}") };
    let value = |name: &str| x.get(name).unwrap().as_f64().unwrap();
    assert!(value("a") < 3.5 && value("b") >= 2.0, "{error}");
    // The same conditions that exclude each other are no conflict.
    let texts = ["a < 3.5 => label[0]", "a >= 3.5 => not label[0]"].map(String::from);
    assert!(Decoder::new(&spec(&multilabel(2), &texts), 1000).is_ok());
    let texts = ["a < 3.5 => label[0]", "a > 4 => not label[0]"].map(String::from);
    assert!(Decoder::new(&spec(&multilabel(2), &texts), 1000).is_ok());
    let never = Decoder::new(&spec(&multilabel(2), &["label[0] and not label[0]".into()]), 1000).unwrap_err();
    assert_eq!(never.to_string(), "no label set obeys the rules for any input");
}

#[test]
fn what_can_not_be_decoded_is_refused() {
    let refused = |schema: &Schema, text: &str, budget: usize| Decoder::new(&spec(schema, &[text.into()]), budget).unwrap_err();
    assert!(matches!(refused(&multilabel(3), "score(0) >= 1", 1000), DecodeError::Scores { .. }));
    let many = "sum(i * i * label[i] for i in 0..20) > 500";
    assert_eq!(refused(&multilabel(20), many, 50), DecodeError::TooLarge { budget: 50 });
    let numbers = schema(Task::regression(vec!["y".into()]));
    assert_eq!(refused(&numbers, "y <= a", 1000), DecodeError::Regression);
}

#[test]
fn classes_are_a_masked_maximum() {
    let classes: Vec<String> = ["u", "v", "w"].map(String::from).into();
    let schema = schema(Task::Multiclass { target: "c".into(), classes });
    let spec = spec(&schema, &["a < 3.5 => c in {'v', 'w'}".into(), "k == 'p' => c != 'w'".into()]);
    let decoder = Decoder::new(&spec, 1000).unwrap();
    let judge = Judge::new(&spec);
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for _ in 0..200 {
        let x = point(&mut rng, false);
        let scores: Vec<f32> = (0..3).map(|_| rng.random_range(-2.0..2.0)).collect();
        let met = decoder.met(&judge, &x);
        let mut set = vec![0.0; 3];
        assert!(decoder.best(&scores, &met, &mut DecodeScratch::default(), &mut set));
        let allowed: Vec<usize> = (0..3).filter(|c| !(x[0] < 3.5 && *c == 0 || x[2] > 0.0 && *c == 2)).collect();
        let best = allowed.iter().copied().max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap();
        assert_eq!(set, [0, 1, 2].map(|c| f32::from(u8::from(c == best))));
        // The likelihood is the softmax over the allowed ones.
        let mut p = vec![0.0; 3];
        decoder.log_valid(&scores, &met, &mut DecodeScratch::default(), &mut p);
        let z: f64 = allowed.iter().map(|c| f64::from(scores[*c]).exp()).sum();
        for c in 0..3 {
            let expected = if allowed.contains(&c) { f64::from(scores[c]).exp() / z } else { 0.0 };
            assert!((p[c] - expected).abs() < 1e-9);
        }
    }
}

#[test]
fn rankings_and_hierarchies_are_recognised() {
    let ranking = schema(Task::Ranking { items: (0..8).map(|i| format!("i{i}")).collect() });
    let texts = ["forall i in 0..8: exactly(1, at[i, p] for p in 0..8)", "forall p in 0..8: exactly(1, at[i, p] for i in 0..8)"];
    let decoder = Decoder::new(&spec(&ranking, &texts.map(String::from)), 100_000).unwrap();
    assert_eq!(*decoder.sets(), Sets::Assignment(8));
    assert!(decoder.nodes().unwrap() < 5000 && decoder.table().is_none());
    // The diagram and the solver agree.
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for _ in 0..50 {
        let scores: Vec<f32> = (0..64).map(|_| rng.random_range(-3.0..3.0)).collect();
        let (mut a, mut b) = (vec![0.0; 64], vec![0.0; 64]);
        decoder.best(&scores, &[], &mut DecodeScratch::default(), &mut a);
        decoder.paths.as_ref().unwrap().best(&scores, &[], &mut paths::PathScratch::default(), &mut b);
        assert_eq!(a, b);
    }
    // Half of the rules leave more than assignments.
    let half = Decoder::new(&spec(&ranking, &[texts[0].into()]), 100_000).unwrap();
    assert!(matches!(half.sets(), Sets::Diagram(_)));

    let texts: Vec<String> = (1..40).map(|j| format!("label[{j}] => label[{}]", (j - 1) / 2)).collect();
    let tree = Decoder::new(&spec(&multilabel(40), &texts), 100_000).unwrap();
    assert!(matches!(tree.sets(), Sets::Implications(pairs) if pairs.len() == 39));
    assert!(tree.nodes().unwrap() < 1000, "{:?}", tree.nodes());
}
