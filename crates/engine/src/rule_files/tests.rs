use super::*;

const NAMES: [&str; 4] = ["animal", "dog", "cat", "it's"];

/// What becomes of the `[[rule]]` tables of a text, with these files beside it.
fn expanded(text: &str, files: &[(&str, &str)], task: TaskKind) -> Result<Vec<(String, String)>, String> {
    #[derive(Deserialize)]
    struct Rules {
        rule: Vec<RuleTable>,
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let entries = toml::from_str::<Rules>(text).unwrap().rule;
    let names = NAMES.map(String::from);
    let rules = expand(entries, folder.path(), &LabelNames { task, names: &names }).map_err(|e| {
        let folder = format!("{}/", folder.path().display());
        e.to_string().replace(&folder, "")
    })?;
    Ok(rules.into_iter().map(|r| (r.name, r.text)).collect())
}

fn of(rules: &[(&str, &str)]) -> Vec<(String, String)> {
    rules.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

#[test]
fn a_file_of_rules_is_read_line_by_line() {
    let text = "[[rule]]\nname = 'first'\ntext = 'a >= 0'\n[[rule]]\nfile = 'r.txt'\n[[rule]]\nname = 'ours'\nfile = 'r.txt'\n";
    let file = "# all of these\n\n  a <= b   # behind\nnamed :: `a#b` <= 'x # y'\n";
    let found = expanded(text, &[("r.txt", file)], TaskKind::Regression).unwrap();
    let expected = [
        ("first", "a >= 0"),
        ("r.txt, line 3", "a <= b"),
        ("named", "`a#b` <= 'x # y'"),
        ("ours, line 3", "a <= b"),
        ("named", "`a#b` <= 'x # y'"),
    ];
    assert_eq!(found, of(&expected));
}

#[test]
fn a_hierarchy_is_a_rule_for_each_pair() {
    let text = "[[rule]]\nname = 'tree'\ntext = '  hierarchy(\"t.csv\")'\n";
    let file = "note,Parent,child\n,animal,dog\n,animal,\"it's\"\n\n,,animal\n,animal,dog\n";
    let found = expanded(text, &[("t.csv", file)], TaskKind::Multilabel).unwrap();
    let expected = [
        ("tree: dog => animal", "label['dog'] => label['animal']"),
        ("tree: it's => animal", "label[\"it's\"] => label['animal']"),
    ];
    assert_eq!(found, of(&expected));
    // And from a file of rules.
    let text = "[[rule]]\nfile = 'r.rules'\n";
    let found = expanded(text, &[("t.csv", file), ("r.rules", "tree :: hierarchy('t.csv')")], TaskKind::Multilabel).unwrap();
    assert_eq!(found, of(&expected));
}

#[test]
fn refusals_name_the_place() {
    let entry = |text: &str| expanded(&format!("[[rule]]\n{text}\n"), &[], TaskKind::Multilabel).unwrap_err();
    assert!(entry("name = 'a'").starts_with("[[rule]] number 1: it has no `text`"));
    assert!(entry("text = 'a'").contains("no `name`"));
    assert!(entry("name = 'a'\ntext = 'b'\nfile = 'c.txt'").contains("`text` and `file`"));
    assert!(entry("file = 'none.txt'").contains("can't read none.txt"));
    let tree = |file: &str, task| expanded("[[rule]]\nname = 't'\ntext = 'hierarchy(\"t.csv\")'\n", &[("t.csv", file)], task);
    let wrong = |file: &str| tree(file, TaskKind::Multilabel).unwrap_err();
    assert_eq!(wrong("child,parent\ndog,animal\ndgo,animal\n"), "t.csv, line 3: 'dgo' is no label; did you mean 'dog'?");
    assert!(wrong("dog,animal\n").starts_with("t.csv, line 1: the first line names the columns"));
    assert!(wrong("child,parent\n\n\ndog\n").starts_with("t.csv, line 4: 1 values"));
    assert!(wrong("child,parent\ndog,dog\n").starts_with("t.csv, line 2: 'dog => dog' is no pair"));
    let round = wrong("child,parent\ndog,animal\nanimal,dog\n");
    assert_eq!(round, "t.csv, line 3: 'animal' is above itself: animal => dog => animal");
    assert!(wrong("child,parent\ndog,\n").contains("no line has a child with a parent"));
    assert!(tree("child,parent\ndog,animal\n", TaskKind::Binary).unwrap_err().contains("needs `kind = \"multilabel\"`"));
    for text in [
        "hierarchy(\"t.csv\") and dog",
        "hierarchy(t)",
        "hierarchy(t.csv)",
        "dog => hierarchy(\"t.csv\")",
        "hierarchy(\"a.csv\", \"b.csv\")",
    ] {
        assert!(entry(&format!("name = 'a'\ntext = '{text}'")).contains("is a rule of its own"), "{text}");
    }
    let rules = |file: &str| expanded("[[rule]]\nfile = 'r.txt'\n", &[("r.txt", file)], TaskKind::Regression).unwrap_err();
    assert!(rules("# none\n").contains("has no rules"));
    assert!(rules("a >= 0\nb ::\n").contains("r.txt, line 2: there is no rule behind"));
    assert!(rules(":: a\n").contains("r.txt, line 1: there is no name"));
    let other = expanded("[[rule]]\nfile = 'r.toml'\n", &[("r.toml", "secret")], TaskKind::Regression).unwrap_err();
    assert!(other.contains("ends in .txt") && !other.contains("secret"), "{other}");
}
