use deepsade_net::Blind;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};

use super::{same, unread};
use crate::rejected::Misfit;

fn spec(one_hot: OneHot, rules: &[&str]) -> NormalSpec {
    let levels = ["a", "b", "c"].map(String::from).to_vec();
    let features = [
        ("x", Domain::Real { lo: -1.0, hi: 1.0 }),
        ("group", Domain::Category { levels: levels.clone() }),
        ("grade", Domain::Ordered { levels }),
        ("n", Domain::Integer { lo: 2, hi: 5 }),
    ];
    let features = features.map(|(name, domain)| Feature { name: name.into(), domain }).to_vec();
    let schema = Schema { features, task: Task::regression(vec!["y".into()]), one_hot, filled: vec![] };
    let text = |(k, text): (usize, &&str)| RuleText { name: format!("r{k}"), text: (*text).into() };
    compile(&rules.iter().enumerate().map(text).collect::<Vec<_>>(), &schema).unwrap()
}

const FREE: Option<f32> = None;

fn found(one_hot: OneHot, rules: &[&str], values: &[Option<f32>]) -> Result<Vec<usize>, Misfit> {
    unread(Some(&Blind { values: values.to_vec() }), &spec(one_hot, rules))
}

#[test]
fn values_of_the_domain_hide_their_features() {
    let rules = ["y >= x"];
    assert_eq!(unread(None, &spec(OneHot::Full, &rules)), Ok(vec![]));
    assert_eq!(found(OneHot::Full, &rules, &[FREE; 6]), Ok(vec![]));
    assert_eq!(found(OneHot::Full, &rules, &[FREE, Some(0.0), Some(1.0), Some(0.0), FREE, FREE]), Ok(vec![1]));
    assert_eq!(found(OneHot::Full, &rules, &[FREE, FREE, FREE, FREE, Some(2.0), Some(5.0)]), Ok(vec![2, 3]));
    // The first level has no column.
    assert_eq!(found(OneHot::DropFirst, &rules, &[FREE, Some(0.0), Some(0.0), FREE, FREE]), Ok(vec![1]));
    assert_eq!(found(OneHot::DropFirst, &rules, &[FREE, Some(0.0), Some(1.0), FREE, FREE]), Ok(vec![1]));
}

#[test]
fn other_values_are_refused() {
    let group = || Err(Misfit::BlindValue("group".into()));
    for three in [
        [Some(0.0), Some(0.0), Some(0.0)],
        [Some(1.0), Some(1.0), Some(0.0)],
        [Some(1.0), FREE, FREE],
        [Some(0.5), Some(0.5), Some(0.0)],
    ] {
        let [a, b, c] = three;
        assert_eq!(found(OneHot::Full, &["y >= 0"], &[FREE, a, b, c, FREE, FREE]), group(), "{three:?}");
    }
    for (grade, n) in [(Some(3.0), FREE), (Some(0.5), FREE), (FREE, Some(1.0)), (FREE, Some(2.5)), (FREE, Some(f32::INFINITY))] {
        let name = if grade.is_some() { "grade" } else { "n" };
        assert_eq!(found(OneHot::Full, &["y >= 0"], &[FREE, FREE, FREE, FREE, grade, n]), Err(Misfit::BlindValue(name.into())));
    }
    assert_eq!(found(OneHot::Full, &["y >= 0"], &[FREE; 5]), Err(Misfit::BlindColumns));
}

/// What is promised of the input would be proved of another one.
#[test]
fn a_rule_that_asks_about_them_is_refused() {
    let hidden = [Some(0.5), Some(1.0), Some(0.0), Some(0.0), FREE, FREE];
    for rule in ["y >= x", "x > 0 => y >= 1", "group == 'b' => y >= 1"] {
        assert_eq!(found(OneHot::Full, &["y <= 9", rule], &hidden), Err(Misfit::BlindRule("r1".into())), "{rule}");
    }
    assert_eq!(found(OneHot::Full, &["n > 3 => y >= 1"], &hidden), Ok(vec![0, 1]));
}

#[test]
fn rules_between_inputs_that_differ_in_what_is_read_do_not_follow() {
    let of = |rule: &str, unread: &[usize]| same(&spec(OneHot::Full, &[rule]).pairs[0], unread, &|_| false).is_ok();
    assert!(of("unaffected(y, {group, n})", &[1, 3]) && of("x > 0 => unaffected(y, group)", &[1]));
    assert!(!of("unaffected(y, {group, n})", &[1]) && !of("unaffected(y, group)", &[]));
    // What does not change neither falls nor changes too much.
    assert!(of("increasing(y, n)", &[3]) && of("change(y, {n}, by = 1) <= 0", &[3]) && !of("increasing(y, n)", &[0]));
}
