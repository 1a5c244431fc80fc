//! Every rule in docs/rules.md compiles.

use std::path::Path;

use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};

fn schema(task: &str) -> Schema {
    let names = |list: &[&str]| list.iter().map(|s| (*s).to_string()).collect();
    let task = match task {
        "regression" => Task::regression(names(&["food", "rent", "fun"])),
        "multiclass" => Task::Multiclass { target: "genre".into(), classes: names(&["jazz", "pop", "rock"]) },
        "multilabel" => Task::Multilabel { labels: (0..10).map(|i| format!("d{i}")).collect() },
        "ranking" => Task::Ranking { items: names(&["ika", "sake", "tekka", "kappa"]) },
        "hours" => Task::regression(names(&["h0", "h1", "h2", "h3"])),
        other => panic!("docs/rules.md has a block of unknown task '{other}'"),
    };
    let hours = matches!(&task, Task::Regression { targets, .. } if targets[0] == "h0");
    let real = |name: String| Feature { name, domain: Domain::Real { lo: 0.0, hi: 24.0 } };
    if hours {
        let features = (0..4).map(|i| format!("cap_{i}")).chain(["total".into()]).map(real).collect();
        return Schema { features, task, one_hot: OneHot::Full, filled: vec![] };
    }
    let features = vec![
        Feature { name: "income".into(), domain: Domain::Real { lo: 0.0, hi: 100_000.0 } },
        Feature { name: "House Age".into(), domain: Domain::Integer { lo: 0, hi: 200 } },
        Feature { name: "area".into(), domain: Domain::Category { levels: names(&["Rural", "Semiurban", "Urban"]) } },
    ];
    Schema { features, task, one_hot: OneHot::Full, filled: vec![] }
}

#[test]
fn every_rule_in_the_docs_compiles() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (mut task, mut rules) = (None, 0);
    for line in text.lines() {
        match (line.strip_prefix("```"), task) {
            (Some(info), None) => task = info.strip_prefix("rule:").map(schema_name),
            (Some(_), Some(_)) => task = None,
            (None, Some(task)) => {
                let rule = RuleText { name: line.into(), text: line.into() };
                compile(&[rule], &schema(task)).unwrap_or_else(|errors| panic!("{line}: {errors:?}"));
                rules += 1;
            }
            (None, None) => {}
        }
    }
    assert!(rules > 30, "the page has its examples");
}

fn schema_name(info: &str) -> &'static str {
    ["regression", "multiclass", "multilabel", "ranking", "hours"].into_iter().find(|t| *t == info).unwrap_or("unknown")
}
