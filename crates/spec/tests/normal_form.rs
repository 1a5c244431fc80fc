//! The normal form of a rule and its negation agree with the rule itself, at random points, for random rules.

use deepsade_spec::{Domain, Feature, OneHot, Rational, RuleText, Schema, Task, Var, check_types, compile, print};
use proptest::prelude::*;

fn features() -> Vec<Feature> {
    let category = Domain::Category { levels: ["low", "mid", "top"].map(String::from).to_vec() };
    vec![
        Feature { name: "income".into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } },
        Feature { name: "n".into(), domain: Domain::Integer { lo: 0, hi: 3 } },
        Feature { name: "area".into(), domain: category },
    ]
}

fn schema(task: Task) -> Schema {
    Schema { features: features(), task, one_hot: OneHot::Full, filled: vec![] }
}

fn tasks() -> [Task; 4] {
    let names = |list: &[&str]| list.iter().map(|s| (*s).to_string()).collect();
    [
        Task::regression(names(&["a", "b", "c"])),
        Task::Multiclass { target: "genre".into(), classes: names(&["rock", "pop", "jazz"]) },
        Task::Multilabel { labels: names(&["l0", "l1", "l2"]) },
        Task::Ranking { items: names(&["x", "y"]) },
    ]
}

fn number(task: usize) -> BoxedStrategy<String> {
    let leaf = match task {
        0 => prop_oneof![Just("a"), Just("b"), Just("c"), Just("income"), Just("n"), Just("0.5"), Just("2")].boxed(),
        1 => prop_oneof![Just("score('rock')"), Just("score('jazz')"), Just("n"), Just("1")].boxed(),
        2 => prop_oneof![Just("label[0]"), Just("l1"), Just("score(2)"), Just("income"), Just("2")].boxed(),
        _ => prop_oneof![Just("at[0, 1]"), Just("at['y', 0]"), Just("n"), Just("1")].boxed(),
    };
    leaf.prop_map(String::from)
        .prop_recursive(3, 12, 3, move |inner| {
            let many = prop::collection::vec(inner.clone(), 1..4).prop_map(|v| v.join(", "));
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} + {b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} - {b})")),
                inner.clone().prop_map(|a| format!("-1.5 * ({a})")),
                inner.clone().prop_map(|a| format!("({a}) / 2")),
                inner.clone().prop_map(|a| format!("abs({a})")),
                many.clone().prop_map(|a| format!("min({a})")),
                many.clone().prop_map(|a| format!("max({a})")),
                many.prop_map(|a| format!("sum({a})")),
                (condition_leaf(task), inner.clone(), inner).prop_map(|(c, a, b)| format!("(if {c} then {a} else {b})")),
            ]
        })
        .boxed()
}

fn condition_leaf(task: usize) -> BoxedStrategy<String> {
    let inputs = prop_oneof![Just("area == 'mid'"), Just("area in {'low', 'top'}"), Just("n < 2"), Just("income != 5")];
    let outputs = match task {
        0 => prop_oneof![Just("a < b"), Just("0 <= a <= income")].boxed(),
        1 => prop_oneof![Just("genre == 'pop'"), Just("genre not in {'rock', 'jazz'}"), Just("genre != 'rock'")].boxed(),
        2 => prop_oneof![
            Just("label[1]"),
            Just("exactly(1, label[i] for i in 0..3)"),
            Just("sum(i * label[i] for i in 0..3) > 1"),
            Just("sum((1 - i) * label[i] for i in 0..3) >= 0"),
            Just("at_most(1, not label[0], l1)"),
        ]
        .boxed(),
        _ => {
            prop_oneof![Just("forall i in 0..2: exactly(1, at[i, p] for p in 0..2)"), Just("exists i in 0..2: at[i, 0]")].boxed()
        }
    };
    prop_oneof![inputs, outputs].prop_map(|s| format!("({s})")).boxed()
}

fn condition(task: usize) -> BoxedStrategy<String> {
    let relation = prop_oneof![Just("<"), Just("<="), Just("=="), Just("!="), Just(">="), Just(">")];
    let compare = (number(task), relation, number(task)).prop_map(|(a, r, b)| format!("({a} {r} {b})"));
    prop_oneof![condition_leaf(task), compare]
        .prop_recursive(2, 6, 2, |inner| {
            prop_oneof![
                inner.clone().prop_map(|a| format!("not {a}")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} and {b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} or {b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} => {b})")),
                (inner.clone(), inner).prop_map(|(a, b)| format!("({a} <=> {b})")),
            ]
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_rule_at_every_point(
        (task, text) in (0usize..4).prop_flat_map(|t| (Just(t), condition(t))),
        points in prop::collection::vec((0i32..=20, 0i32..=3, 0usize..3, prop::collection::vec(-4i32..=4, 4)), 8),
    ) {
        let schema = schema(tasks()[task].clone());
        let rule = RuleText { name: "r".into(), text };
        // A random rule may be about inputs alone, or fold to a constant: those are refused, and tested elsewhere.
        let Ok(typed) = check_types(std::slice::from_ref(&rule), &schema) else { return Ok(()) };
        let normal = compile(std::slice::from_ref(&rule), &schema).unwrap();
        let claim = &normal.rules[0].claim;
        let negated = claim.negated();
        for (income, n, level, outputs) in points {
            let value = |var: Var| match var {
                Var::Output(j) => Rational::from(outputs[j]) / Rational::from(2),
                Var::Feature(0) => Rational::from(income) / Rational::from(2),
                Var::Feature(_) => Rational::from(n),
                Var::Level(_, l) => Rational::from(u8::from(l == level)),
            };
            let expected = typed.rules[0].claim.at(&value);
            prop_assert_eq!(claim.at(&value), expected, "{}", print::formula(claim, &schema));
            prop_assert_eq!(negated.at(&value), !expected, "{}", print::formula(&negated, &schema));
        }
    }

    #[test]
    fn no_text_panics(text in "[a-c0-9 .<>=!+*/(){}\\[\\],:'`-]{0,60}|.{0,40}") {
        for task in tasks() {
            let _ = compile(&[RuleText { name: "r".into(), text: text.clone() }], &schema(task));
        }
    }
}

fn normal(task: usize, text: &str) -> String {
    let schema = schema(tasks()[task].clone());
    let spec = compile(&[RuleText { name: "r".into(), text: text.into() }], &schema).unwrap();
    print::formula(&spec.rules[0].claim, &schema)
}

#[test]
fn prints_like_a_rule() {
    assert_eq!(normal(0, "0 <= a <= income"), "a >= 0 and a <= income");
    assert_eq!(normal(0, "sum(a, b) <= 0.05 * income"), "a + b <= 0.05 * income");
    assert_eq!(normal(0, "income < 5 and area == 'mid' => a == 0"), "income >= 5 or area != 'mid' or (a >= 0 and a <= 0)");
    assert_eq!(normal(0, "abs(a - b) <= 1/3"), "a <= b + 1/3 and a >= b - 1/3");
    assert_eq!(
        normal(1, "n == 0 => genre in {'rock', 'pop'}"),
        "n > 0 or score('rock') >= score('jazz') or score('pop') >= score('jazz')"
    );
    assert_eq!(
        normal(2, "exactly(1, label[i] for i in 0..3)"),
        "(label[0] or label[1] or label[2]) and count(not label[0], not label[1], not label[2]) >= 2"
    );
    assert_eq!(normal(2, "label[0] => label[1]"), "not label[0] or label[1]");
    assert_eq!(normal(3, "at['y', 0] <=> at[0, 1]"), "(not at[1, 0] or at[0, 1]) and (at[1, 0] or not at[0, 1])");
}

#[test]
fn atoms_that_the_domain_decides_fold_away() {
    assert_eq!(normal(0, "income >= 0 => a >= 1"), "a >= 1");
    assert_eq!(normal(0, "n > 3 => a >= 1"), "true");
    assert_eq!(normal(0, "area in {'low', 'mid', 'top'} => a >= 1"), "a >= 1");
}

#[test]
fn numbers_are_exact() {
    // 0.1 + 0.2 is 0.3 here, and not the sum of two floats.
    assert_eq!(normal(0, "a <= 0.1 + 0.2"), "a <= 0.3");
    assert_eq!(normal(0, "a <= 1e-7 * 3"), "a <= 0.0000003");
    assert_eq!(normal(0, "a / 3 <= 1"), "1/3 * a <= 1");
}

#[test]
fn gates_are_the_features_that_a_rule_scales_with() {
    let gate =
        |text: &str| compile(&[RuleText { name: "r".into(), text: text.into() }], &schema(tasks()[0].clone())).unwrap().gate;
    assert_eq!(gate("a + b <= income"), vec![0]);
    assert_eq!(gate("a + b <= income + 1"), Vec::<usize>::new());
    assert_eq!(gate("a + b <= income + n"), Vec::<usize>::new());
    assert_eq!(gate("income < 5 => a <= 1"), Vec::<usize>::new());
}

#[test]
fn long_flat_rules_need_no_deep_stack() {
    let schema = schema(tasks()[0].clone());
    let chain = |word: &str, n: usize| (0..n).map(|k| format!("a <= {k} * b / 2 - c")).collect::<Vec<_>>().join(word);
    let rules = [
        RuleText { name: "and".into(), text: chain(" and ", 5000) },
        RuleText { name: "or".into(), text: chain(" or ", 5000) },
        RuleText { name: "sum".into(), text: format!("{}a <= 1", "b - ".repeat(900)) },
        RuleText { name: "product".into(), text: format!("{}a <= 1", "1 * ".repeat(900)) },
    ];
    // A quarter of what threads get.
    let small = std::thread::Builder::new().stack_size(1 << 19);
    let spec = small.spawn(move || compile(&rules, &schema)).unwrap().join().unwrap().unwrap();
    assert_eq!(spec.rules[0].claim.conjuncts().len(), 5000);
    assert_eq!(spec.rules[1].claim.negated().conjuncts().len(), 5000);
}
