//! Against all label sets, one by one, and against the decoder that chooses row by row.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::tests::{SOURCE, multilabel, obeys, pass, point, run, scores, spec, unclear};
use super::*;
use crate::Judge;
use crate::decode::{DecodeScratch, Decoder};
use crate::random_rules::condition;

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
    let candidates = run(made, &given, &x);
    let passed = pass(spec, made, &candidates, &x);
    for (((x, given), found), passed) in x.iter().zip(&given).zip(candidates).zip(passed) {
        let set = |bits: usize| (0..n).map(|j| f32::from(u8::from(bits >> j & 1 == 1))).collect::<Vec<f32>>();
        let sets: Vec<Vec<f32>> = (0..1usize << n).map(set).collect();
        // If it does not pass, none does: on a border, or where the rules contradict each other.
        assert!(passed || !pass(spec, made, &sets, &vec![x.clone(); sets.len()]).contains(&true), "{x:?} {found:?}");
        let valid = sets.into_iter().filter(|y| obeys(spec, x, y));
        let most = valid.map(|y| worth(given, &y)).fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY || unclear(x) {
            continue;
        }
        let rules: Vec<&str> = spec.rules.iter().map(|r| r.text.as_str()).collect();
        assert!(passed && obeys(spec, x, &found), "{rules:?} {}: {x:?} {given:?} {found:?}", made.how);
        assert!(found.iter().all(|v| [0.0, 1.0].contains(v)));
        if made.best {
            let short = most - worth(given, &found);
            assert!(short <= rounding(given), "{rules:?} {}: {short} short: {x:?} {given:?} {found:?}", made.how);
        }
        compared += 1;
    }
    compared
}

#[test]
fn random_rules_are_obeyed_at_best() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (mut compared, mut kinds) = (0, BTreeSet::new());
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

/// Runs rows with random scores; compares every candidate with what the decoder chooses. Rows that are best, of how many.
fn against_decoder(spec: &NormalSpec, made: &Made, rows: usize, rng: &mut ChaCha8Rng) -> (usize, usize) {
    let n = spec.schema.task.outputs();
    let decoder = Decoder::new(spec, 100_000).unwrap();
    let judge = Judge::new(spec);
    let x: Vec<Vec<f32>> = (0..rows).map(|_| point(rng)).collect();
    let given: Vec<Vec<f32>> = (0..rows).map(|_| scores(rng, n)).collect();
    let (mut best, mut compared, mut scratch, mut set) = (0, 0, DecodeScratch::default(), vec![0.0; n]);
    let candidates = run(made, &given, &x);
    let passed = pass(spec, made, &candidates, &x);
    for (((x, given), found), passed) in x.iter().zip(&given).zip(candidates).zip(passed) {
        let counted: Vec<f32> = given.iter().map(|s| worth(&[*s], &[1.0]) as f32).collect();
        if unclear(x) || !decoder.best(&counted, &decoder.met(&judge, x), &mut scratch, &mut set) {
            continue;
        }
        assert!(passed && obeys(spec, x, &found), "{}: {x:?} {given:?} {found:?}", made.how);
        compared += 1;
        let short = worth(given, &set) - worth(given, &found);
        best += usize::from(short <= rounding(given));
        assert!(!made.best || short <= rounding(given), "{}: {short} short: {given:?} {found:?}", made.how);
    }
    (best, compared)
}

#[test]
fn labels_of_different_rules_are_chosen_apart() {
    let rules = [
        "a < 3.5 => exactly(2, label[30], label[31], label[32])",
        "a + b >= 4 => not label[31]",
        "label[33] <=> label[34]",
        "k == 'p' => label[36] or label[37]",
    ];
    let rules: Vec<String> =
        (1..30).map(|j| format!("label[{j}] => label[{}]", (j - 1) / 2)).chain(rules.iter().map(|r| (*r).to_string())).collect();
    let spec = multilabel(40, &rules);
    let made = make(&spec, &SOURCE).unwrap();
    assert_eq!(
        made.how,
        "table of 8 sets of 3 labels, table of 4 sets of 2 labels, forest of 32 labels, labels without rules: 3"
    );
    assert!(made.best);
    let (best, compared) = against_decoder(&spec, &made, 300, &mut ChaCha8Rng::seed_from_u64(3));
    assert!(best == compared && compared > 200, "{best} of {compared}");
}

#[test]
fn forests_in_any_direction_are_best() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for round in 0..6 {
        // Each label hangs on one before it, by an implication to it, from it, or both.
        let tie = |rng: &mut ChaCha8Rng, j: usize| {
            let other = rng.random_range(0..j);
            match rng.random_range(0..6) {
                0 if round % 2 == 1 => format!("label[{j}] <=> label[{other}]"),
                1 | 2 if round > 2 => format!("label[{other}] => label[{j}]"),
                _ => format!("label[{j}] => label[{other}]"),
            }
        };
        let rules: Vec<String> = (10..300).map(|j| tie(&mut rng, j)).collect();
        let spec = multilabel(300, &rules);
        let made = make(&spec, &SOURCE).unwrap();
        assert!(made.best && made.how.starts_with("forest of"), "{}", made.how);
        let (best, compared) = against_decoder(&spec, &made, 60, &mut rng);
        assert!(best == compared && compared > 40, "{best} of {compared}");
    }
}

#[test]
fn some_cross_links_do_not_cost_the_best_set() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for links in [20, 60] {
        let mut rules: Vec<String> = (38..499).map(|j| format!("label[{j}] => label[{}]", rng.random_range(0..j))).collect();
        rules.extend((0..links).map(|_| {
            let j = rng.random_range(38..499);
            format!("label[{j}] => label[{}]", rng.random_range(0..j))
        }));
        let spec = multilabel(499, &rules);
        let made = make(&spec, &SOURCE).unwrap();
        assert!(made.best && made.how.contains("cross links"), "{}", made.how);
        let (best, compared) = against_decoder(&spec, &made, 60, &mut rng);
        assert!(best == compared && compared > 40, "{best} of {compared}");
    }
}

#[test]
fn entangled_hierarchies_give_valid_sets_that_are_often_best() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let mut rules: Vec<String> = Vec::new();
    for j in 10..200 {
        let others: BTreeSet<usize> = (0..rng.random_range(1..4)).map(|_| rng.random_range(0..j)).collect();
        rules.extend(others.iter().map(|o| format!("label[{j}] => label[{o}]")));
    }
    let spec = multilabel(200, &rules);
    let made = make(&spec, &SOURCE).unwrap();
    assert!(!made.best && made.how.contains("entangled"), "{}", made.how);
    // Scores of a valid set, and noise: what a network that has learned something says.
    let n = 200;
    let Sets::Implications(pairs) = recognise(&spec, &spec.rules.iter().map(|r| &r.claim).collect::<Vec<_>>()).unwrap() else {
        panic!("the rules are implications")
    };
    let planted = |rng: &mut ChaCha8Rng| {
        let mut set = vec![false; n];
        (0..4).for_each(|_| set[rng.random_range(0..n)] = true);
        // What a label implies is listed before it.
        for j in (0..n).rev().filter(|j| set[*j]).collect::<Vec<_>>() {
            let mut reached = vec![j];
            while let Some(j) = reached.pop() {
                set[j] = true;
                reached.extend(pairs.iter().filter(|(a, b)| *a == j && !set[*b]).map(|(_, b)| *b));
            }
        }
        let noise = |rng: &mut ChaCha8Rng| (0..4).map(|_| rng.random_range(-2.0f32..2.0)).sum::<f32>();
        set.iter().map(|yes| if *yes { 2.0 } else { -3.0 } + noise(rng)).collect::<Vec<f32>>()
    };
    let given: Vec<Vec<f32>> = (0..200).map(|_| planted(&mut rng)).collect();
    let x: Vec<Vec<f32>> = given.iter().map(|_| point(&mut rng)).collect();
    let closure = crate::decode::closure::Closure::new(n, &pairs);
    let (mut best, mut gained, mut possible) = (0, 0.0, 0.0);
    for ((x, given), found) in x.iter().zip(&given).zip(run(&made, &given, &x)) {
        assert!(obeys(&spec, x, &found));
        let mut set = vec![0.0; n];
        closure.best(given, &mut crate::decode::closure::ClosureScratch::default(), &mut set);
        gained += worth(given, &found);
        possible += worth(given, &set);
        best += usize::from(worth(given, &set) - worth(given, &found) <= rounding(given));
    }
    assert!(best > 120 && gained > 0.98 * possible, "{best} {gained} {possible}");
    against_all_kinds(&spec, &made, &mut rng);
}

/// Wild scores, too, give sets that obey the rules.
fn against_all_kinds(spec: &NormalSpec, made: &Made, rng: &mut ChaCha8Rng) {
    let x: Vec<Vec<f32>> = (0..50).map(|_| point(rng)).collect();
    let given: Vec<Vec<f32>> = (0..50).map(|_| scores(rng, spec.schema.task.outputs())).collect();
    for (x, found) in x.iter().zip(run(made, &given, &x)) {
        assert!(obeys(spec, x, &found), "{}: {x:?} {found:?}", made.how);
    }
}

fn ranking(n: usize, more: &[&str]) -> NormalSpec {
    let lines = ["forall i in 0..N: exactly(1, at[i, p] for p in 0..N)", "forall p in 0..N: exactly(1, at[i, p] for i in 0..N)"];
    let rules: Vec<String> = lines.iter().chain(more).map(|t| t.replace('N', &n.to_string())).collect();
    spec(Task::Ranking { items: (0..n).map(|i| format!("i{i}")).collect() }, &rules)
}

#[test]
fn rankings_are_best_up_to_twelve_items_and_good_beyond() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for (n, rows, how) in [(4, 200, "table of 24 orders"), (8, 100, "best order of 8 items"), (10, 20, "best order of 10")] {
        let spec = ranking(n, &[]);
        let made = make(&spec, &SOURCE).unwrap();
        assert!(made.best && made.how.starts_with(how), "{}", made.how);
        let (best, compared) = against_decoder(&spec, &made, rows, &mut rng);
        assert!(best == compared && compared > rows / 2, "{best} of {compared}");
    }
    let many = ranking(14, &[]);
    let made = make(&many, &SOURCE).unwrap();
    assert!(!made.best, "{}", made.how);
    let (best, compared) = against_decoder(&many, &made, 100, &mut rng);
    assert!(best > 3 * compared / 4 && compared > 70, "{best} of {compared}");
    // With more rules than that: a table, if the orders are few.
    let ruled = ranking(4, &["a < 3.5 => not at[0, 0]", "a + b >= 4 => at[1, 2] or at[2, 1]"]);
    let made = make(&ruled, &SOURCE).unwrap();
    assert_eq!(made.how, "table of 24 sets of 16 labels");
    let (best, compared) = against_decoder(&ruled, &made, 300, &mut rng);
    assert!(best == compared && compared > 200, "{best} of {compared}");
}

#[test]
fn what_is_no_table_is_eliminated_or_walked_through() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    // A chain of exclusions, conditions here and there: many sets, but every label hangs on few.
    let mut chain: Vec<String> = (0..38).map(|j| format!("not (label[{j}] and label[{}])", j + 1)).collect();
    chain.push("a < 3.5 => label[3] or label[20] or label[37]".into());
    chain.push("a + b >= 4 => not label[10] and label[11]".into());
    chain.push("exactly(1, label[30], label[25], label[27], k == 'q')".into());
    // A count over all: every label hangs on all others.
    let count =
        vec!["sum(i * label[i] for i in 0..20) > 100".to_string(), "a < 3.5 => at_most(9, label[i] for i in 0..20)".into()];
    // A count over twelve, and labels that hang on those: both would do.
    let mut some: Vec<String> = (12..20).map(|j| format!("label[{j}] => label[{}]", j - 12)).collect();
    some.push("sum(i * label[i] for i in 0..12) > 30".into());
    some.push("k == 'q' => not (label[13] and label[15])".into());
    let cases =
        [(39, chain, "39 labels by elimination"), (20, count, "20 labels by a diagram"), (20, some, "18 labels by a diagram")];
    for (n, rules, how) in cases {
        let spec = multilabel(n, &rules);
        let made = make(&spec, &SOURCE).unwrap();
        assert!(made.best && made.how.starts_with(how), "{}", made.how);
        let (best, compared) = against_decoder(&spec, &made, 300, &mut rng);
        assert!(best == compared && compared > 200, "{best} of {compared}");
    }
}

#[test]
fn sums_of_labels_and_features_are_a_table() {
    let spec = multilabel(5, &["sum(label[i] for i in 0..5) <= a", "2 * label[0] + label[1] <= b + 5"]);
    let made = make(&spec, &SOURCE).unwrap();
    assert!(made.how.starts_with("table of 32 sets"), "{}", made.how);
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let compared = against_all(&spec, &made, 300, &mut rng);
    assert!(compared > 200, "{compared}");
    // Every set asks something else of the input, and no point is on a border of that.
    let spec = multilabel(7, &["sum(2 * i * i * label[i] + label[i] for i in 0..7) <= 17 * a + b + 0.25"]);
    let made = make(&spec, &SOURCE).unwrap();
    // 8 of the 128 sums are above 175, the most that the input reaches.
    assert_eq!(made.how, "table of 120 sets of 7 labels");
    let compared = against_all(&spec, &made, 300, &mut rng);
    assert!(compared > 200, "{compared}");
}

#[test]
fn what_can_not_be_made_is_said() {
    let refused = |n: usize, rule: &str| make(&multilabel(n, &[rule]), &SOURCE).unwrap_err();
    assert!(matches!(refused(3, "score(0) >= 1"), MakeError::Scores { rule } if rule == "score(0) >= 1"));
    assert_eq!(refused(2, "label[0] and not label[0]"), MakeError::Impossible);
    assert_eq!(refused(14, "label[0] and exactly(3, label[i] for i in 0..14) and not label[0]"), MakeError::Impossible);
    // Random clauses of three labels hang together in no order at all.
    let mut rng = ChaCha8Rng::seed_from_u64(10);
    let mut label = || format!("label[{}]", rng.random_range(0..60));
    let clauses: Vec<String> = (0..150).map(|_| format!("{} or not {} or {}", label(), label(), label())).collect();
    let tangled = make(&multilabel(60, &clauses), &SOURCE).unwrap_err();
    assert!(matches!(tangled, MakeError::TooLarge { labels: 60, .. }), "{tangled}");
    let numbers = Task::regression(vec!["y".into()]);
    assert_eq!(make(&spec::<&str>(numbers, &[]), &SOURCE).unwrap_err(), MakeError::NoLabels);
}
