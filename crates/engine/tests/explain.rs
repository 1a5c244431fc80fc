//! What `explain` claims, against brute force and against answers known beforehand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use deepsade_engine::explain::words::in_words;
use deepsade_engine::explain::{
    Conflict, Conflicts, Possible, audit, explain, possible, smallest_conflict, smallest_conflict_until,
};
use deepsade_engine::train::{NetworkSettings, TrainSettings};
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, Rational, RuleText, Schema, Task, Var, compile};
use proptest::prelude::*;

fn spec(schema: &Schema, rules: &[&str]) -> NormalSpec {
    let rules: Vec<RuleText> =
        rules.iter().enumerate().map(|(k, text)| RuleText { name: format!("r{k}"), text: (*text).into() }).collect();
    compile(&rules, schema).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn numbers() -> Schema {
    let real = |name: &str, lo, hi| Feature { name: name.into(), domain: Domain::Real { lo, hi } };
    Schema {
        features: vec![real("income", 1.0, 100.0), real("age", 18.0, 90.0)],
        task: Task::regression(vec!["food".into(), "rent".into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    }
}

fn labels(n: usize, features: Vec<Feature>) -> Schema {
    Schema {
        features,
        task: Task::Multilabel { labels: (0..n).map(|i| format!("l{i}")).collect() },
        one_hot: OneHot::Full,
        filled: vec![],
    }
}

fn found(spec: &NormalSpec) -> Conflict {
    match smallest_conflict(spec) {
        Conflicts::Found(conflict) => conflict,
        other => panic!("expected a conflict, got {other:?}"),
    }
}

fn witness(spec: &NormalSpec, feature: usize) -> Rational {
    found(spec).witness[&Var::Feature(feature)].clone()
}

#[test]
fn rules_that_can_be_obeyed_everywhere() {
    for rules in [
        &["food + rent <= income", "food >= 0", "rent >= 0"][..],
        &["income < 50 => food <= 3", "income >= 50 => food >= 4"],
        &["food == rent", "food <= 0 or food >= income"],
        &["abs(food - income) <= 1", "max(food, rent) <= income + 1"],
    ] {
        let spec = spec(&numbers(), rules);
        assert_eq!(possible(&spec.rules.iter().collect::<Vec<_>>(), &spec.schema), Possible::Always, "{rules:?}");
        assert_eq!(smallest_conflict(&spec), Conflicts::None);
    }
}

#[test]
fn rules_about_many_classes_are_decided_class_by_class() {
    let classes: Vec<String> = (0..12).map(|k| format!("c{k}")).collect();
    let schema = Schema { task: Task::Multiclass { target: "y".into(), classes }, ..numbers() };
    let [low, high] = [0..6, 6..12].map(|part| part.map(|k| format!("'c{k}'")).collect::<Vec<_>>().join(", "));
    let rich = format!("income + age > 100 => y in {{{low}}}");
    // Only where both conditions hold is there no class.
    let torn = spec(&schema, &["age > 20 => y != 'c11'", &rich, &format!("age - income > 10 => y in {{{high}}}")]);
    let conflict = found(&torn);
    assert_eq!(conflict.rules, [1, 2]);
    let [income, age] = [0, 1].map(|f| conflict.witness[&Var::Feature(f)].clone());
    assert!(&income + &age > Rational::from(100) && age - income > Rational::from(10));
    let fine = spec(&schema, &["age > 20 => y != 'c11'", &rich, &format!("income + age < 90 => y in {{{high}}}")]);
    assert_eq!(smallest_conflict(&fine), Conflicts::None);
    // What reads scores is no matter of the class alone.
    let scores = spec(&schema, &["score('c0') >= score('c1') + 1", "y == 'c1'"]);
    assert_eq!(found(&scores).rules, [0, 1]);
}

#[test]
fn the_smallest_conflict_is_found_with_an_input_that_shows_it() {
    // Only where income < 10 do the second and the fourth rule contradict each other.
    let spec = spec(&numbers(), &["rent >= 0", "food >= 10", "age > 30 => rent <= 5", "food <= income"]);
    let conflict = found(&spec);
    assert_eq!(conflict.rules, [1, 3]);
    assert!(witness(&spec, 0) < Rational::from(10));
}

#[test]
fn a_conflict_at_one_point_of_the_domain_is_found() {
    // food <= income and food >= 200 - income meet everywhere but below income 100.
    let tight = spec(&numbers(), &["food <= income", "food >= 200 - income"]);
    assert!(witness(&tight, 0) < Rational::from(100));
    // food < income and food > 99: impossible at income 99, and possible just above it; whole domain above 99 is possible.
    let mut schema = numbers();
    schema.features[0].domain = Domain::Real { lo: 99.0, hi: 100.0 };
    let edge = spec(&schema, &["food < income", "food > 99"]);
    assert_eq!(witness(&edge, 0), Rational::from(99));
    let closed = spec(&schema, &["food <= income", "food >= 99"]);
    assert_eq!(smallest_conflict(&closed), Conflicts::None);
}

#[test]
fn a_rule_that_contradicts_itself_is_a_conflict_of_one() {
    let spec = spec(&numbers(), &["rent >= 0", "food < 1 and food > income"]);
    assert_eq!(found(&spec).rules, [1]);
}

#[test]
fn inputs_are_float32_values() {
    let mut schema = numbers();
    schema.features[0].domain = Domain::Real { lo: 0.0, hi: 1.0 };
    // Only at the float32 that 0.1 is read as do both apply.
    let decimal = spec(&schema, &["income <= 0.1 => food <= 1", "income >= 0.1 => food >= 2"]);
    assert_eq!(witness(&decimal, 0), Rational::try_from(0.1f32).unwrap());
    let apart = spec(&schema, &["income <= 0.1 => food <= 1", "income > 0.1 => food >= 2"]);
    assert_eq!(smallest_conflict(&apart), Conflicts::None);
    let binary = spec(&schema, &["income <= 0.125 => food <= 1", "income >= 0.125 => food >= 2"]);
    assert_eq!(witness(&binary, 0), Rational::try_from(0.125f32).unwrap());
    // A witness is an input that can be given to the network.
    let slanted = spec(&schema, &["3 * income + age <= 20 => food <= 1", "3 * income + age >= 19 => food >= 2"]);
    let x = found(&slanted).witness;
    for (_, value) in x {
        assert_eq!(Rational::try_from(value.to_f32().value()).unwrap(), value);
    }
}

/// No float32 number is 0.1, and no whole one lies between 0 and 1; what has room is obeyed by both.
#[test]
fn outputs_are_float32_values() {
    let mut schema = numbers();
    for (rule, obeyed) in [
        ("food in {0.1}", false),
        ("food == 0.1", false),
        ("food in {0.1, 0.5}", true),
        ("10 * food >= 1 and food <= 0.1", false),
        ("0.1 <= food <= 0.1000001", true),
        ("food == 0.5", true),
        ("food > 0.1 and food < 0.2", true),
    ] {
        let spec = spec(&schema, &[rule]);
        match smallest_conflict(&spec) {
            Conflicts::None => assert!(obeyed, "{rule}"),
            Conflicts::Found(conflict) => assert!(!obeyed && conflict.by_rounding(&spec), "{rule}"),
            Conflicts::Unknown => panic!("{rule}"),
        }
    }
    schema.task = Task::Regression { targets: ["food", "rent"].map(String::from).to_vec(), whole: vec!["food".into()] };
    assert!(found(&spec(&schema, &["food > 0 and food < 1"])).by_rounding(&spec(&schema, &["food > 0 and food < 1"])));
    assert_eq!(smallest_conflict(&spec(&schema, &["rent > 0 and rent < 1", "0.5 <= food <= 1.5"])), Conflicts::None);
    assert!(!found(&spec(&schema, &["food > 1 and food < 0"])).by_rounding(&spec(&schema, &["food > 1 and food < 0"])));
}

#[test]
fn what_is_too_hard_is_said_to_be_unknown() {
    // Eleven pigeons, ten holes: contradictory, and hard for any search.
    let pigeons = spec(
        &labels(110, numbers().features),
        &[
            "forall p in 0..11: at_least(1, label[p * 10 + h] for h in 0..10)",
            "forall h in 0..10: at_most(1, label[p * 10 + h] for p in 0..11)",
        ],
    );
    assert_eq!(smallest_conflict(&pigeons), Conflicts::Unknown);
}

#[test]
fn classes_and_categories() {
    let schema = Schema {
        features: vec![Feature { name: "area".into(), domain: Domain::Category { levels: vec!["a".into(), "b".into()] } }],
        task: Task::Multiclass { target: "g".into(), classes: vec!["x".into(), "y".into(), "z".into()] },
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let fine = spec(&schema, &["area == 'a' => g in {'x', 'y'}", "g != 'y'", "score('z') > score('y') + 1"]);
    assert_eq!(smallest_conflict(&fine), Conflicts::None);
    let broken = spec(&schema, &["area == 'a' => g == 'x'", "g != 'z'", "g in {'y', 'z'}"]);
    let conflict = found(&broken);
    assert_eq!(conflict.rules, [0, 2]);
    assert_eq!(conflict.witness[&Var::Level(0, 0)], Rational::ONE);
}

#[test]
fn the_audit_counts_what_the_paper_ran_into() {
    // Four items in order: 24 orderings, none contained in another.
    let ranking = Schema {
        features: vec![Feature { name: "x".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } }],
        task: Task::Ranking { items: ["a", "b", "c", "d"].map(String::from).to_vec() },
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let orderings = spec(
        &ranking,
        &["forall i in 0..4: exactly(1, at[i, p] for p in 0..4)", "forall p in 0..4: exactly(1, at[i, p] for i in 0..4)"],
    );
    let found = audit(&orderings);
    assert_eq!((found.components, found.constant_only), (Some(24), true));

    // Digits whose sum is above 10: adding a digit keeps it so.
    let digits = spec(&labels(10, ranking.features.clone()), &["sum(i * label[i] for i in 0..10) > 10"]);
    let found = audit(&digits);
    assert_eq!((found.components, found.constant_only), (Some(1), false));

    // Two independent choices of one among two: 2 * 2 components.
    let pairs = spec(&labels(5, ranking.features.clone()), &["exactly(1, label[0], label[1])", "exactly(1, label[2], label[3])"]);
    let found = audit(&pairs);
    assert_eq!((found.components, found.constant_only), (Some(4), false), "label 4 is free");

    // A rule with a condition may confine a network, and is not looked into: nothing is claimed.
    let conditional = spec(&labels(2, ranking.features.clone()), &["x > 0.5 => exactly(1, label[0], label[1])"]);
    assert_eq!((audit(&conditional).components, audit(&conditional).constant_only), (None, false));

    // Classes: only one is left.
    let mut classes = ranking.clone();
    classes.task = Task::Multiclass { target: "g".into(), classes: vec!["x".into(), "y".into(), "z".into()] };
    let found = audit(&spec(&classes, &["g != 'x'", "g in {'x', 'y'}"]));
    assert_eq!((found.components, found.constant_only), (Some(1), true));

    // On a category the argument does not reach from one level to the other.
    let category = vec![Feature { name: "c".into(), domain: Domain::Category { levels: vec!["a".into(), "b".into()] } }];
    let found = audit(&spec(&labels(2, category), &["exactly(1, label[0], label[1])"]));
    assert_eq!((found.components, found.constant_only), (Some(2), false));
}

fn random_claim() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0usize..4).prop_map(|i| format!("label[{i}]")),
        (0usize..4).prop_map(|i| format!("not label[{i}]")),
        (0i32..4).prop_map(|i| format!("n < {i}")),
        Just("c == 'b'".to_string()),
        (1usize..4).prop_map(|k| format!("at_least({k}, label[i] for i in 0..4)")),
        (-3i32..4).prop_map(|k| format!("sum((2 * i - 3) * label[i] for i in 0..4) >= {k} + n")),
    ];
    leaf.prop_recursive(3, 10, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} and {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} or {b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("(not {a} <=> {b})")),
        ]
    })
}

static UNDECIDED: AtomicUsize = AtomicUsize::new(0);

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_brute_force(texts in prop::collection::vec(random_claim(), 1..4)) {
        let features = vec![
            Feature { name: "n".into(), domain: Domain::Integer { lo: 0, hi: 3 } },
            Feature { name: "c".into(), domain: Domain::Category { levels: vec!["a".into(), "b".into()] } },
        ];
        let schema = labels(4, features);
        let rules: Vec<RuleText> =
            texts.iter().enumerate().map(|(k, t)| RuleText { name: format!("r{k}"), text: t.clone() }).collect();
        let Ok(spec) = compile(&rules, &schema) else { return Ok(()) };
        let obeyed = |n: i32, c: usize, set: usize, chosen: &[usize]| chosen.iter().all(|k| spec.rules[*k].claim.at(&|var| match var {
            Var::Output(j) => Rational::from(if set >> j & 1 == 1 { 1 } else { -1 }),
            Var::Feature(_) => Rational::from(n),
            Var::Level(_, l) => Rational::from(u8::from(l == c)),
        }));
        let impossible = |chosen: &[usize]| (0..4).any(|n| (0..2).any(|c| (0..16).all(|set| !obeyed(n, c, set, chosen))));
        let all: Vec<usize> = (0..rules.len()).collect();
        match smallest_conflict(&spec) {
            Conflicts::None => prop_assert!(!impossible(&all)),
            // Equivalences inside equivalences can be too many branches.
            Conflicts::Unknown => prop_assert!(UNDECIDED.fetch_add(1, Ordering::Relaxed) < 4, "so few labels are hardly ever left open"),
            Conflicts::Found(conflict) => {
                prop_assert!(impossible(&conflict.rules));
                // No smaller set conflicts.
                for mask in 0..1usize << rules.len() {
                    let set: Vec<usize> = all.iter().copied().filter(|k| mask >> k & 1 == 1).collect();
                    prop_assert!(set.len() >= conflict.rules.len() || !impossible(&set), "{set:?}");
                }
            }
        }
    }
}

/// No whole or stepped input lies at a constant between two of them, so none enters the network as its float32.
#[test]
fn constants_between_whole_and_stepped_inputs_get_no_note() {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let schema = Schema {
        features: vec![
            feature("x", Domain::Real { lo: 0.0, hi: 1.0 }),
            feature("k", Domain::Integer { lo: 0, hi: 5 }),
            feature("s", Domain::Stepped { lo: 0.0, hi: 1.0, step: 0.25 }),
        ],
        task: Task::regression(vec!["y".into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    };
    for rule in ["k <= 0.1 => y <= 1", "s <= 0.1 => y <= 1"] {
        let spec = spec(&schema, &[rule]);
        let words = in_words(&explain(&spec, None, &NetworkSettings::default(), &TrainSettings::default()), &spec);
        assert!(!words.contains("enters the network as"), "{rule}: {words}");
    }
}

/// Each class is looked at once, not once for every other: for so many that took minutes.
#[test]
fn rules_about_hundreds_of_classes_are_decided_soon_or_given_up_when_told() {
    let names = |letter: char, n: usize| (0..n).map(|k| format!("{letter}{k}")).collect::<Vec<_>>();
    let listed =
        |letter: char, range: std::ops::Range<usize>| range.map(|k| format!("'{letter}{k}'")).collect::<Vec<_>>().join(", ");
    let schema = Schema {
        features: vec![Feature { name: "k".into(), domain: Domain::Category { levels: names('l', 600) } }],
        task: Task::Multiclass { target: "g".into(), classes: names('c', 200) },
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let half = format!("k in {{{}}} => g not in {{{}}}", listed('l', 0..300), listed('c', 0..100));
    let other = format!("k in {{{}}} => g in {{{}}}", listed('l', 299..310), listed('c', 0..100));
    let started = Instant::now();
    assert_eq!(smallest_conflict(&spec(&schema, &[&half])), Conflicts::None);
    let both = spec(&schema, &[&half, &other]);
    let conflict = found(&both);
    assert_eq!((conflict.rules, &conflict.witness[&Var::Level(0, 299)]), (vec![0, 1], &Rational::ONE));
    assert_eq!(smallest_conflict_until(&both, &|| true), Conflicts::Unknown);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
