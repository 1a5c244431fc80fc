//! Against the rules, class by class.

use deepsade_spec::Task;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::tests::{SOURCE, obeys, pass, point, run, scores, spec, unclear};
use super::*;

fn task(classes: &[&str]) -> Task {
    Task::Multiclass { target: "c".into(), classes: classes.iter().map(|c| (*c).into()).collect() }
}

/// The first of the largest: the class that scores stand for.
fn winner(scores: &[f32]) -> usize {
    (0..scores.len()).rev().max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap()
}

#[test]
fn the_best_class_that_the_rules_allow_wins() {
    let rules = ["a < 3.5 => c in {'v', 'w'}", "a + b >= 4 => c != 'w'", "k == 'q' and c == 'z' => b > 0"];
    let spec = spec(task(&["u", "v", "w", "z"]), &rules);
    let made = make(&spec, &SOURCE).unwrap();
    assert!(made.best, "{}", made.how);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let x: Vec<Vec<f32>> = (0..3000).map(|_| point(&mut rng)).collect();
    let given: Vec<Vec<f32>> = (0..3000).map(|_| scores(&mut rng, 4)).collect();
    let (mut forbidden, mut kept) = (0, 0);
    let candidates = run(&made, &given, &x);
    assert_eq!(pass(&spec, &made, &candidates, &x), [true; 3000]);
    for ((x, given), found) in x.iter().zip(&given).zip(candidates) {
        assert!(found.iter().all(|v| (FORBIDDEN..=KEPT).contains(v)));
        assert!(obeys(&spec, x, &found), "{x:?} {given:?} {found:?}");
        let sane: Vec<f32> = given.iter().map(|s| if s.is_nan() { 0.0 } else { s.clamp(-KEPT, KEPT) }).collect();
        let alone = |k: usize| (0..4).map(|j| f32::from(u8::from(j == k))).collect::<Vec<f32>>();
        let allowed: Vec<usize> = (0..4).filter(|k| obeys(&spec, x, &alone(*k))).collect();
        let best = allowed.iter().copied().rev().max_by(|a, b| sane[*a].total_cmp(&sane[*b])).unwrap();
        if unclear(x) {
            continue;
        }
        assert_eq!(winner(&found), best, "{x:?} {given:?} {found:?}");
        for k in 0..4 {
            assert_eq!(found[k], if allowed.contains(&k) { sane[k] } else { FORBIDDEN });
        }
        forbidden += 4 - allowed.len();
        kept += usize::from(winner(&sane) == best);
    }
    assert!(forbidden > 2000 && kept > 1000, "{forbidden} {kept}");
    // A distance at which the probability is 0.
    assert_eq!((FORBIDDEN - -KEPT).exp(), 0.0);
}

#[test]
fn without_rules_scores_stay_and_are_made_finite() {
    let binary = Task::Binary { target: "c".into(), classes: vec!["n".into(), "y".into()] };
    let made = make(&spec::<&str>(binary.clone(), &[]), &SOURCE).unwrap();
    let given = vec![vec![0.25, -3.5], vec![f32::NAN, f32::NEG_INFINITY]];
    let x = vec![vec![0.0; 5]; 2];
    assert_eq!(run(&made, &given, &x), [[0.25, -3.5], [0.0, -KEPT]]);
    let always = make(&spec(binary, &["c == 'y'"]), &SOURCE).unwrap();
    assert_eq!(run(&always, &given, &x), [[FORBIDDEN, -3.5], [FORBIDDEN, -KEPT]]);
}

#[test]
fn probabilities_are_those_among_the_allowed() {
    let spec = spec(task(&["u", "v", "w"]), &["a < 3.5 => c != 'u'", "b >= 4 => c != 'w'"]);
    let made = make(&spec, &Source { probabilities: true, ..SOURCE }).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let x: Vec<Vec<f32>> = (0..2000).map(|_| point(&mut rng)).collect();
    let given: Vec<Vec<f32>> = (0..2000)
        .map(|_| {
            // A forest is often sure.
            let p: Vec<f32> =
                (0..3).map(|_| if rng.random_range(0..3) == 0 { 0.0 } else { rng.random::<f32>() + 0.01 }).collect();
            let total: f32 = p.iter().sum();
            p.iter().map(|p| if total > 0.0 { p / total } else { 1.0 / 3.0 }).collect()
        })
        .collect();
    let candidates = run(&made, &given, &x);
    assert_eq!(pass(&spec, &made, &candidates, &x), [true; 2000]);
    for ((x, p), found) in x.iter().zip(&given).zip(candidates) {
        assert!((found.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{p:?} {found:?}");
        if unclear(x) {
            continue;
        }
        let alone = |k: usize| (0..3).map(|j| f32::from(u8::from(j == k))).collect::<Vec<f32>>();
        let allowed: Vec<bool> = (0..3).map(|k| obeys(&spec, x, &alone(k))).collect();
        let total: f32 = (0..3).filter(|k| allowed[*k]).map(|k| p[k]).sum();
        for k in 0..3 {
            assert!(allowed[k] || found[k] == 0.0, "{p:?} {found:?}");
            assert!(!allowed[k] || total == 0.0 || (found[k] - p[k] / total).abs() < 1e-5, "{p:?} {found:?}");
        }
    }
}

/// What may be probabilities and is not is lowered, whatever it is.
#[test]
fn logits_stay_logits() {
    let spec = spec(task(&["u", "v", "w"]), &["a < 3.5 => c != 'u'"]);
    let (plain, any) = (make(&spec, &SOURCE).unwrap(), make(&spec, &Source { probabilities: true, ..SOURCE }).unwrap());
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let x: Vec<Vec<f32>> = (0..500).map(|_| point(&mut rng)).collect();
    let given: Vec<Vec<f32>> = (0..500).map(|_| scores(&mut rng, 3)).collect();
    assert_eq!(run(&any, &given, &x), run(&plain, &given, &x));
}

#[test]
fn what_is_no_choice_of_a_class_is_refused() {
    let scores = spec(task(&["u", "v", "w"]), &["score('u') - score('v') <= a"]);
    assert!(matches!(make(&scores, &SOURCE), Err(MakeError::Scores { rule }) if rule.contains("score('u')")));
    let labels = Task::Multilabel { labels: vec!["l".into()] };
    assert_eq!(make(&spec::<&str>(labels, &[]), &SOURCE).unwrap_err(), MakeError::NoClasses);
}
