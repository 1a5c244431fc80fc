//! Rules for the tests of both files.

use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};

/// Inputs r in [1, 100] and c in {p, q}; outputs u, v.
pub(super) fn spec(rules: &[&str]) -> NormalSpec {
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
    let rules: Vec<RuleText> = rules.iter().map(|text| RuleText { name: (*text).into(), text: (*text).into() }).collect();
    compile(&rules, &schema).unwrap()
}
