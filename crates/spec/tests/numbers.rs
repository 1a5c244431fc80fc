//! Numbers in rules: exact however large, and as a data file's would be read where a feature is compared with one.

use deepsade_spec::{Domain, Feature, Formula, NormalSpec, OneHot, Rational, RuleText, Schema, Task, Var, compile, print};

fn schema() -> Schema {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    Schema {
        features: vec![
            feature("x", Domain::Real { lo: -2.0, hi: 2.0 }),
            feature("z", Domain::Real { lo: -1e30, hi: 1e30 }),
            feature("n", Domain::Integer { lo: -5, hi: 5 }),
        ],
        task: Task::Multilabel { labels: vec!["a".into(), "b".into()] },
        one_hot: OneHot::Full,
        filled: vec![],
    }
}

fn compiled(text: &str) -> NormalSpec {
    let rule = RuleText { name: "r".into(), text: text.into() };
    compile(&[rule], &schema()).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

/// Whether the condition holds at x or z, neither label being present.
fn holds(condition: &str, at: f32) -> bool {
    let spec = compiled(&format!("{condition} => label[0]"));
    let value = |var: Var| match var {
        Var::Output(_) => -Rational::ONE,
        _ => Rational::try_from(at).unwrap(),
    };
    !spec.rules[0].claim.at(&value)
}

#[test]
fn counts_never_wrap() {
    let smallest = i64::MIN;
    assert_eq!(compiled(&format!("at_most({smallest}, a, b)")).rules[0].claim, Formula::False);
    assert_eq!(compiled(&format!("exactly({smallest}, a, b)")).rules[0].claim, Formula::False);
    assert_eq!(compiled(&format!("at_least({smallest}, a, b)")).rules[0].claim, Formula::True);
    let largest = i64::MAX;
    assert_eq!(compiled(&format!("at_most({largest}, a, b)")).rules[0].claim, Formula::True);
    assert_eq!(compiled(&format!("at_least({largest}, a, b)")).rules[0].claim, Formula::False);
    for text in ["at_most(-9223372036854775809, a, b)", "at_most(1e30, a, b)", "label[-9223372036854775808]"] {
        assert!(compile(&[RuleText { name: "r".into(), text: text.into() }], &schema()).is_err(), "{text}");
    }
}

#[test]
fn exponents_beyond_reason_are_refused() {
    for number in
        ["1e-9223372036854775808", "1.5e-9223372036854775808", "1e9223372036854775807", "1e99999999999999999999", "1e401"]
    {
        let rule = RuleText { name: "r".into(), text: format!("x <= {number} => a") };
        let error = compile(&[rule], &schema()).unwrap_err();
        assert!(error[0].to_string().contains(&number[..2]), "{number}: {error:?}");
    }
}

#[test]
fn a_feature_is_compared_with_what_a_feature_of_that_value_is() {
    // float32 has 0.1 and 0.3 a little above, 0.7 below the decimals.
    for number in ["0.1", "0.3", "0.7", "-0.1", "-0.7", "1e-3", "1.1"] {
        let read = number.parse::<f64>().unwrap() as f32;
        for (relation, [below, at, above]) in [
            ("<=", [true, true, false]),
            ("<", [true, false, false]),
            (">=", [false, true, true]),
            (">", [false, false, true]),
            ("==", [false, true, false]),
            ("!=", [true, false, true]),
        ] {
            let same = [
                format!("x {relation} {number}"),
                format!("3 * x {relation} 3 * ({number})"),
                format!("x / 7 - ({number}) / 7 {relation} 0"),
                format!("not not (x {relation} {number})"),
                format!("x + 1 {relation} 1 + ({number})"),
            ];
            for condition in same {
                let found = [read.next_down(), read, read.next_up()].map(|x| holds(&condition, x));
                assert_eq!(found, [below, at, above], "{condition}");
            }
        }
        assert!(holds(&format!("x in {{5, {number}}}"), read));
        assert!(holds(&format!("min(x, 3) <= {number}"), read) && holds(&format!("max(x, -3) >= {number}"), read));
    }
    let spec = compiled("x <= 0.1 => a");
    assert_eq!(print::formula(&spec.rules[0].claim, &schema()), "x > 0.1 or label[0]");
    assert_eq!(spec.conditions(), compiled("3 * x <= 0.3 => a").conditions());
}

#[test]
fn what_is_printed_reads_back_as_the_same() {
    for number in ["0.1", "1e-30", "123456.789", "16777217", "1e-45", "1e-50", "0", "7e29", "0.30000001", "1/3"] {
        let spec = compiled(&format!("z > {number} => a"));
        let Formula::Or(parts) = &spec.rules[0].claim else { panic!("{number}") };
        let shown = print::formula(&parts[0], &schema());
        assert_eq!(compiled(&format!("{shown} or a")).rules[0].claim, spec.rules[0].claim, "{number}: {shown}");
    }
}

#[test]
fn everything_else_is_exact() {
    let tenth = Rational::from_parts(1.into(), 10u8.into());
    for text in ["score(0) <= 0.1", "score(0) <= x + 0.1", "x + z <= 0.1 => a", "n <= 0.1 => a", "x < 0.1 => score(0) <= x + 0.1"]
    {
        let mut constants = Vec::new();
        compiled(text).rules[0].claim.atoms(&mut |atom| constants.push(atom.linear.constant.clone()));
        assert!(constants.iter().any(|c| *c == tenth || *c == -tenth.clone()), "{text}: {constants:?}");
    }
}
