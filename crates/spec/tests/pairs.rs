//! Rules between two inputs: what they mean, in words and exactly, and what is refused.

use deepsade_spec::canonical::canonical;
use deepsade_spec::{
    Domain, Feature, Fill, Filled, Kept, Moves, NormalSpec, OneHot, Rational, RuleErrorKind, RuleText, Schema, Task, Trend, Var,
    compile, print,
};

fn features() -> Vec<Feature> {
    let levels = |names: &[&str]| names.iter().map(|n| (*n).to_string()).collect();
    vec![
        Feature { name: "age".into(), domain: Domain::Real { lo: 18.0, hi: 98.0 } },
        Feature { name: "claims".into(), domain: Domain::Integer { lo: 0, hi: 10 } },
        Feature { name: "gender".into(), domain: Domain::Category { levels: levels(&["f", "m", "x"]) } },
    ]
}

fn schema(task: Task) -> Schema {
    Schema { features: features(), task, one_hot: OneHot::Full, filled: vec![] }
}

fn numbers() -> Schema {
    schema(Task::regression(vec!["premium".into(), "risk".into()]))
}

fn classes() -> Schema {
    schema(Task::Binary { target: "loan".into(), classes: vec!["N".into(), "Y".into()] })
}

fn rule(text: &str) -> RuleText {
    RuleText { name: "r".into(), text: text.into() }
}

fn read(text: &str, schema: &Schema) -> NormalSpec {
    compile(&[rule(text)], schema).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

fn refused(text: &str, schema: &Schema) -> (RuleErrorKind, String, String) {
    let error = compile(&[rule(text)], schema).expect_err(text).remove(0);
    (error.kind, text[error.span].to_string(), error.hint.unwrap_or_default())
}

/// Whether there is a value says something of it, too.
#[test]
fn what_is_unaffected_is_the_same_with_and_without_a_value() {
    let indicator = Feature { name: "age is missing".into(), domain: Domain::Integer { lo: 0, hi: 1 } };
    let filled = |indicator| Filled { feature: "age".into(), with: Fill::Number(40.0), indicator, markers: vec![] };
    let features = || features().into_iter().chain([indicator.clone()]).collect();
    let with = Schema { features: features(), filled: vec![filled(true)], ..numbers() };
    let moved = |text: &str, schema: &Schema| read(text, schema).pairs[0].parts[0].features.clone();
    assert_eq!(moved("unaffected(risk, age)", &with), [0, 3]);
    assert_eq!(moved("unaffected(risk, {gender, `age is missing`, age})", &with), [0, 2, 3]);
    assert_eq!(moved("increasing(risk, age)", &with), [0]);
    assert_eq!(moved("unaffected(risk, gender)", &with), [2]);
    // A feature that happens to be called so.
    let without = Schema { features: features(), filled: vec![filled(false)], ..numbers() };
    assert_eq!(moved("unaffected(risk, age)", &without), [0]);
}

/// However it is spelled, it is one set of classes.
#[test]
fn classes_that_are_named_one_by_one_are_a_set() {
    let classes: Vec<String> = ["low", "mid", "high", "top"].map(String::from).to_vec();
    let schema = schema(Task::Multiclass { target: "k".into(), classes });
    let kept = |text: &str| format!("{:?}", read(&format!("increasing({text}, age)"), &schema).pairs[0].parts);
    let set = kept("k in {'high', 'top'}");
    for same in [
        "k == 'high' or k == 'top'",
        "k == 'top' or k in {'high', 'top'}",
        "k != 'low' and k != 'mid'",
        "not (k == 'low' or k == 'mid')",
    ] {
        assert_eq!(kept(same), set, "{same}");
    }
    assert_ne!(kept("k == 'high'"), set);
    let plain = |text: &str| format!("{:?}", read(text, &schema).rules[0].claim);
    assert_eq!(plain("age > 50 or k == 'low' or k == 'mid'"), plain("age > 50 or k in {'low', 'mid'}"));
}

#[test]
fn another_word_is_told_and_never_the_opposite() {
    for (text, ours) in [
        ("nondecreasing(risk, age)", "increasing"),
        ("non_increasing(risk, age)", "decreasing"),
        ("increasin(risk, age)", "increasing"),
    ] {
        let (.., hint) = refused(text, &numbers());
        assert_eq!(hint, format!("did you mean `{ours}`?"), "{text}");
    }
    for text in ["change(risk, {age}, by = 1) >= 5", "change(risk, {age}, by = 1) + change(premium, {age}, by = 1) <= 5"] {
        let (.., hint) = refused(text, &numbers());
        assert!(hint.starts_with("one change is at most, or below, a constant"), "{text}: {hint}");
    }
}

#[test]
fn they_are_told_in_words() {
    for (text, words) in [
        ("increasing(risk, claims)", "risk never falls when claims rises"),
        ("decreasing(premium, {age, claims})", "premium never rises when age or claims rises"),
        ("increasing(premium - risk, age)", "premium - risk never falls when age rises"),
        ("age >= 25 => increasing(premium, claims)", "where age >= 25: premium never falls when claims rises"),
        ("unaffected(risk, {gender, age})", "risk is the same whatever age and gender is"),
        ("change(risk, {age}, by = 0.5) <= 5", "risk changes by at most 5 when age moves by at most 0.5"),
        ("5 > change(risk, {age}, by = 10%)", "risk changes by less than 5 when age moves by at most 8"),
        ("change(risk, by = 1) <= 2", "risk changes by at most 2 when age moves by at most 1 and claims moves by at most 1"),
        (
            "increasing(risk, age) and decreasing(premium, claims)",
            "risk never falls when age rises; premium never rises when claims rises",
        ),
    ] {
        let spec = read(text, &numbers());
        assert!(spec.rules.is_empty() && spec.pairs.len() == 1 && !spec.is_empty(), "{text}");
        assert_eq!(print::pair_rule(&spec.pairs[0], &spec.schema), words, "{text}");
    }
    for (text, words) in [
        ("unaffected(loan, gender)", "the predicted class is the same whatever gender is"),
        ("increasing(loan == 'Y', age)", "(score('N') < score('Y')) stays so when age rises"),
        ("decreasing(loan == 'Y', age)", "(score('N') >= score('Y')) stays so when age rises"),
        ("increasing(score('Y') - score('N'), age)", "-score('N') + score('Y') never falls when age rises"),
    ] {
        let spec = read(text, &classes());
        assert_eq!(print::pair_rule(&spec.pairs[0], &spec.schema), words, "{text}");
    }
    let labels = schema(Task::Multilabel { labels: vec!["a".into(), "b".into()] });
    let spec = read("forall i in 0..2: increasing(label[i], age)", &labels);
    assert_eq!(spec.pairs[0].parts.len(), 2);
}

/// Whole numbers move in whole steps: what is left over of a distance moves nothing, and a feature that cannot move is not in the rule.
#[test]
fn whole_numbers_move_by_whole_steps() {
    let parts = |text: &str| read(text, &numbers()).pairs[0].parts.clone();
    assert_eq!(parts("change(risk, {claims}, by = 1.9) <= 1"), parts("change(risk, {claims}, by = 1) <= 1"));
    assert_eq!(parts("change(risk, {age, claims}, by = 0.9) <= 1"), parts("change(risk, {age}, by = 0.9) <= 1"));
    assert_eq!(parts("change(risk, {claims}, by = 0.5) <= 1")[0].moves, Moves::By(vec![Rational::ZERO]));
    let (kind, ..) = refused("change(risk, {claims}, by = 1) >= 1", &numbers());
    assert!(matches!(&kind, RuleErrorKind::TwoInputs(name) if name == "change"), "{kind:?}");
}

/// No two inputs lie farther apart than the range is wide: a longer distance is the width, so that no number beyond float64 is left.
#[test]
fn a_distance_beyond_the_range_is_the_range() {
    let most = read("change(risk, {age, claims}, by = 100%) <= 1", &numbers());
    for by in ["80", "81", "1e39", "1e400", "100%", "1e300%"] {
        let spec = read(&format!("change(risk, {{age, claims}}, by = {by}) <= 1"), &numbers());
        assert_eq!((&spec.pairs[0].parts, canonical(&spec)), (&most.pairs[0].parts, canonical(&most)), "{by}");
    }
    let spec = read("change(risk, {age, claims}, by = 79) <= 1", &numbers());
    assert_eq!(spec.pairs[0].parts[0].moves, Moves::By(vec![Rational::from(79), Rational::from(10)]));
    for (by, shown) in [("1e-400", "about 1e-400"), ("1e-40", "1.000000e-40"), ("1e-5", "0.00001"), ("1 / 3", "1/3")] {
        let spec = read(&format!("change(risk, {{age}}, by = {by}) <= 1"), &numbers());
        let words = print::pair_rule(&spec.pairs[0], &spec.schema);
        assert_eq!(words, format!("risk changes by at most 1 when age moves by at most {shown}"));
    }
}

/// A rule, which inputs it speaks of, and what it claims of their outputs.
type Said<'a> = (&'a str, &'a dyn Fn(f64, f64) -> bool, &'a dyn Fn(f64, f64) -> bool);

/// The claim at two inputs, against the sentence of the documentation written out by hand.
#[test]
fn they_mean_what_the_documentation_says() {
    let ages = [18.0, 30.0, 30.5, 98.0];
    let outputs = [-1.0, 0.0, 0.5, 7.0];
    let at = |age: f64, claims: f64, gender: usize, y: f64| {
        move |var: Var| {
            let v = match var {
                Var::Feature(0) => age,
                Var::Feature(_) => claims,
                Var::Level(_, l) => f64::from(u8::from(l == gender)),
                Var::Output(_) => y,
            };
            Rational::try_from(v).unwrap()
        }
    };
    let said: [Said; 5] = [
        ("increasing(risk, age)", &|a, b| a <= b, &|y, z| z >= y),
        ("decreasing(risk, age)", &|a, b| a <= b, &|y, z| z <= y),
        ("age >= 30 => increasing(risk, age)", &|a, b| a <= b && a >= 30.0, &|y, z| z >= y),
        ("change(risk, {age}, by = 0.5) <= 1", &|a, b| (a - b).abs() <= 0.5, &|y, z| z >= y - 1.0),
        ("change(risk, {age}, by = 0.5) < 0.5", &|a, b| (a - b).abs() <= 0.5, &|y, z| z > y - 0.5),
    ];
    for (text, moves, keeps) in said {
        let spec = read(text, &numbers());
        let part = &spec.pairs[0].parts[0];
        for (a, b) in ages.iter().flat_map(|a| ages.map(|b| (*a, b))) {
            for (y, z) in outputs.iter().flat_map(|y| outputs.map(|z| (*y, z))) {
                let (first, second) = (at(a, 2.0, 1, y), at(b, 2.0, 1, z));
                assert_eq!(part.allows(&spec.schema, &first, &second), moves(a, b), "{text} {a} {b}");
                assert_eq!(part.keeps(&first, &second), keeps(y, z), "{text} {y} {z}");
                // Nothing else may differ.
                assert!(
                    !part.allows(&spec.schema, &first, &at(b, 3.0, 1, z))
                        && !part.allows(&spec.schema, &first, &at(b, 2.0, 0, z))
                );
            }
        }
    }
    let spec = read("unaffected(risk, gender)", &numbers());
    let part = &spec.pairs[0].parts[0];
    assert!(part.allows(&spec.schema, &at(20.0, 2.0, 1, 0.0), &at(20.0, 2.0, 0, 0.0)));
    assert!(!part.keeps(&at(20.0, 2.0, 1, 1.0), &at(20.0, 2.0, 0, 0.5)));
}

#[test]
fn what_is_enough_of_each_output() {
    let demands = |text: &str, schema: &Schema| read(text, schema).pairs[0].parts[0].demands();
    assert_eq!(demands("increasing(premium - risk, age)", &numbers()), [(0, Trend::Up), (1, Trend::Down)]);
    assert_eq!(demands("decreasing(risk, age)", &numbers()), [(1, Trend::Down)]);
    assert_eq!(demands("unaffected(risk, age)", &numbers()), [(1, Trend::Constant)]);
    let mut found = demands("increasing(loan == 'Y', age)", &classes());
    found.sort_by_key(|(j, _)| *j);
    assert_eq!(found, [(0, Trend::Down), (1, Trend::Up)]);
    // An output that must rise for one part and fall for the other stays.
    let three = schema(Task::Multiclass { target: "c".into(), classes: ["p", "q", "r"].map(String::from).to_vec() });
    let spec = read("increasing(c in {'q', 'r'}, age) and decreasing(c == 'q', age)", &three);
    assert_eq!(spec.pairs[0].parts.len(), 2);
    assert!(spec.pairs[0].parts[0].demands().iter().all(|(j, t)| *t == if *j == 0 { Trend::Down } else { Trend::Up }));
    assert!(matches!(&spec.pairs[0].parts[0].kept, Kept::Condition(_)) && spec.pairs[0].parts[0].moves == Moves::Up);
}

#[test]
fn refusals_name_the_place_and_the_way_out() {
    use RuleErrorKind as K;
    let (numbers, classes) = (numbers(), classes());
    for (text, schema, place, hint) in [
        ("increasing(risk, gender)", &numbers, "gender", "order = ["),
        ("increasing(risk, {age, age})", &numbers, "age", ""),
        ("increasing(age, risk)", &numbers, "risk", "comes first"),
        ("increasing(risk + age, claims)", &numbers, "risk + age", "before `=>`"),
        ("increasing(max(risk, premium), claims)", &numbers, "max(risk, premium)", "one by one"),
        ("increasing(loan, age)", &classes, "loan", "loan == 'Y'"),
        ("risk >= 0 and increasing(risk, age)", &numbers, "risk >= 0", "one [[rule]] each"),
        ("risk >= 0 => increasing(risk, age)", &numbers, "risk >= 0", "both inputs"),
        ("increasing(risk, age) or risk >= 0", &numbers, "increasing(risk, age) or risk >= 0", "one [[rule]] each"),
        ("not increasing(risk, age)", &numbers, "not increasing(risk, age)", ""),
        ("change(risk, {age}) <= 5", &numbers, "change(risk, {age})", ""),
        ("change(risk, {age}, by = 0.1)", &numbers, "change(risk, {age}, by = 0.1)", ""),
        ("change(risk, {age}, by = 0.1) >= 5", &numbers, "change(risk, {age}, by = 0.1) >= 5", ""),
        ("change(risk, {age}, by = 0) <= 5", &numbers, "0", "by = 0.1"),
        ("change(risk, {age}, by = 1) <= -1", &numbers, "-1", ""),
        ("change(risk, {age}, by = 1) <= age", &numbers, "age", ""),
        ("change(loan, {age}, by = 1) <= 1", &classes, "loan", "unaffected"),
        ("increasing(risk)", &numbers, "increasing(risk)", ""),
        ("increasing(risk, age, claims)", &numbers, "increasing(risk, age, claims)", ""),
        ("increasing(risk, agee)", &numbers, "agee", "age"),
        ("increasing(3, age)", &numbers, "3", ""),
        ("sum({risk, premium}) <= 1", &numbers, "{risk, premium}", "after `in`"),
        ("monoton(risk, age)", &numbers, "monoton", "increasing"),
        ("risk = 3", &numbers, "=", "=="),
    ] {
        let (kind, found, said) = refused(text, schema);
        assert_eq!(found, place, "{text}: {kind}");
        assert!(said.contains(hint), "{text}: {said:?}");
    }
    assert!(matches!(refused("risk <= increasing(risk, age)", &numbers).0, K::TwoInputs(_)));
}

#[test]
fn certificates_are_tied_to_them() {
    let of = |text: &str| canonical(&read(text, &numbers()));
    let texts = [
        "increasing(risk, age)",
        "decreasing(risk, age)",
        "increasing(premium, age)",
        "increasing(risk, claims)",
        "increasing(risk, {age, claims})",
        "unaffected(risk, age)",
        "age > 20 => increasing(risk, age)",
        "change(risk, {age}, by = 1) <= 1",
        "change(risk, {age}, by = 2) <= 1",
        "change(risk, {age}, by = 1) <= 2",
        "change(risk, {age}, by = 1) < 1",
        "risk >= 0",
    ];
    for (k, a) in texts.iter().enumerate() {
        for b in &texts[k + 1..] {
            assert_ne!(of(a), of(b), "{a} and {b}");
        }
    }
    assert_eq!(of("increasing(risk, {age, claims})"), of("increasing(risk, {claims, age})"));
}

/// Without a list all numbers move: there must be one.
#[test]
fn something_must_be_able_to_move() {
    let mut categories = numbers();
    categories.features.drain(..2);
    let (_, place, hint) = refused("change(risk, by = 1) <= 2", &categories);
    assert!(place == "change(risk, by = 1)" && hint.contains("unaffected"), "{place}: {hint}");
}
