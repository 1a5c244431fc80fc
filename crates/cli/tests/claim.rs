//! What `check` and `verify` say is about what the rule file says, not about what a model calls itself.

mod support;

use std::fs;
use std::path::Path;

use deepsade_net::Model;
use deepsade_spec::canonical::canonical;
use deepsade_spec::{Schema, carried};
use support::{deepsade, expect, json, refusal, small_problem, stderr};

/// A network whose schema says something else than it did, with hashes put right: a forger's work, as good as it gets.
fn forge(folder: &Path, from: &str, to: &str) {
    let (path, proof) = (folder.join("run/model.onnx"), folder.join("run/certificate.json"));
    let mut model = Model::from_bytes(&fs::read(&path).unwrap()).unwrap();
    let schema = model.metadata.get_mut("deepsade.schema").unwrap();
    let forged = schema.replace(from, to);
    assert_ne!(*schema, forged, "{from}");
    schema.clone_from(&forged);
    let rules = model.metadata["deepsade.rules"].clone();
    let spec = carried(&rules, &Schema::from_json(&forged).unwrap()).unwrap();
    let bytes = model.to_bytes().unwrap();
    let mut certificate: serde_json::Value = serde_json::from_slice(&fs::read(&proof).unwrap()).unwrap();
    certificate["model_sha256"] = deepsade_check::sha256_hex(&bytes).into();
    certificate["rules_sha256"] = deepsade_check::sha256_hex(canonical(&spec).as_bytes()).into();
    fs::create_dir_all(folder.join("forged")).unwrap();
    fs::write(folder.join("forged/model.onnx"), bytes).unwrap();
    fs::write(folder.join("forged/certificate.json"), certificate.to_string()).unwrap();
    fs::copy(folder.join("run/rules.toml"), folder.join("forged/rules.toml")).unwrap();
}

#[test]
fn a_model_that_calls_itself_something_else_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 5);
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "run", "-q"]);
    for (from, to, word) in [
        ("[\"no\",\"yes\"]", "[\"yes\",\"no\"]", "classification of loan as \"no\", \"yes\""),
        ("[\"rural\",\"urban\"]", "[\"urban\",\"rural\"]", "level 0 of the feature \"area\""),
        ("\"lo\":20.0", "\"lo\":20.5", "\"age\""),
        ("\"kind\":\"real\",\"lo\":20.0,\"hi\":69.0", "\"kind\":\"integer\",\"lo\":20,\"hi\":69", "\"age\""),
        ("\"age\"", "\"years\"", "no feature \"age\""),
    ] {
        forge(dir.path(), from, to);
        // As `train` stated it, and as the person wrote it, with the domain from the data.
        for rules in ["run/rules.toml", "loans.toml"] {
            let said = json(dir.path(), 1, &["check", "forged", "--rules", rules, "--json"]);
            assert_eq!(said["step"], "claim", "{to}: {said}");
            assert!(said["reason"].as_str().unwrap().contains(word), "{to}: {said}");
        }
        if !to.contains("20") {
            let said = refusal(dir.path(), &["verify", "--model", "forged/model.onnx", "--rules", "loans.toml"]);
            assert!(said.contains("are not about the same"), "{said}");
        }
    }
}

#[test]
fn a_rule_file_that_leaves_something_open_needs_its_data() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 5);
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "run", "-q"]);
    // What `train` writes states everything: no data are needed.
    fs::create_dir(dir.path().join("away")).unwrap();
    fs::rename(dir.path().join("loans.csv"), dir.path().join("away/loans.csv")).unwrap();
    expect(dir.path(), 0, &["check", "run"]);
    expect(dir.path(), 0, &["verify", "--model", "run/model.onnx", "--rules", "run/rules.toml"]);
    let said = refusal(dir.path(), &["check", "run", "--rules", "loans.toml"]);
    assert!(said.contains("leaves features, domains or classes to its data") && said.contains("rules.toml"), "{said}");
    refusal(dir.path(), &["verify", "--model", "run/model.onnx", "--rules", "loans.toml"]);
    for data in ["away", "away/loans.csv"] {
        expect(dir.path(), 0, &["check", "run", "--rules", "loans.toml", "--data", data]);
        expect(dir.path(), 0, &["explain", "loans.toml", "--data", data]);
        expect(dir.path(), 0, &["train", "loans.toml", "--data", data, "--out", "again", "--force", "-q"]);
    }
    assert!(fs::read(dir.path().join("again/model.onnx")).unwrap() == fs::read(dir.path().join("run/model.onnx")).unwrap());
    // More was in the data than the model covers.
    let rows = fs::read_to_string(dir.path().join("away/loans.csv")).unwrap() + "1000,urban,30,yes\n";
    fs::write(dir.path().join("away/loans.csv"), rows).unwrap();
    let said = expect(dir.path(), 1, &["check", "run", "--rules", "loans.toml", "--data", "away"]);
    assert!(said.contains("REJECTED at claim") && said.contains("\"income\""), "{said}");
}

#[test]
fn where_there_are_data_their_columns_are_meant_in_whatever_order_they_are_stated() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let rows = |first: &str, second: &str| -> String {
        let row = |k: usize| format!("{},{},{}\n", k % 7, (k * 5) % 11, k % 7);
        format!("{first},{second},u\n") + &(0..60).map(row).collect::<String>()
    };
    fs::write(at("ab.csv"), rows("a", "b")).unwrap();
    fs::write(at("ba.csv"), rows("b", "a")).unwrap();
    fs::write(at("aeb.csv"), rows("a", "e").replace("u\n", "b,u\n").replace(",0\n", ",0,0\n")).unwrap();
    let problem = |data: &str| {
        format!(
            "[data]\nfile = '{data}'\n[task]\nkind = 'regression'\ntargets = ['u']\n[features]\na = {{range = [0, 10]}}\nb = {{range = [0, 10]}}\n\
             [network]\nhidden = [4]\n[train]\nepochs = 3\n[[rule]]\nname = 'cap'\ntext = 'u <= 20'\n"
        )
    };
    for name in ["ab", "ba", "aeb", "gone"] {
        fs::write(at(&format!("{name}.toml")), problem(&format!("{name}.csv"))).unwrap();
    }
    expect(dir.path(), 0, &["train", "ab.toml", "--out", "ab", "--enforce", "weights", "-q"]);
    expect(dir.path(), 0, &["train", "ba.toml", "--out", "ba", "-q"]);
    for (folder, rules, accepted) in [("ab", "ab", true), ("ba", "ba", true), ("ab", "ba", false), ("ba", "ab", false)] {
        let rules = format!("{rules}.toml");
        let (check, model) = (["check", folder, "--rules", &rules], format!("{folder}/model.onnx"));
        let verify = ["verify", "--model", &model, "--rules", &rules];
        if accepted {
            expect(dir.path(), 0, &check);
            expect(dir.path(), 0, &verify);
        } else {
            assert!(expect(dir.path(), 1, &check).contains("column 0"), "{folder} {rules}");
            assert!(refusal(dir.path(), &verify).contains("are not about the same"), "{folder} {rules}");
        }
    }
    // Without the data there is what is stated; with a column more the data must be readable.
    let checked = deepsade(dir.path(), &["check", "ab", "--rules", "gone.toml"]);
    assert!(checked.status.success() && stderr(&checked).contains("gone.csv was not found"), "{}", stderr(&checked));
    assert!(!stderr(&deepsade(dir.path(), &["check", "ab"])).contains("not found"));
    let mend = ["repair", "--model", "ab/model.onnx", "--rules", "gone.toml", "--out", "mended", "--force"];
    assert!(expect(dir.path(), 0, &mend).contains("nothing to repair"));
    refusal(dir.path(), &["check", "ab", "--rules", "aeb.toml"]);
    // What is asked for must be there: without it the order that is stated would pass.
    for command in [&["check", "ab", "--rules", "ba.toml", "--data", "nope"][..], &["explain", "ab.toml", "--data", "nope"]] {
        assert!(refusal(dir.path(), command).contains("there is no such folder"), "{command:?}");
    }
    refusal(dir.path(), &["verify", "--model", "ab/model.onnx", "--rules", "ba.toml", "--data", "nope"]);
}

#[test]
fn encodings_are_stated_too() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 5);
    let text = fs::read_to_string(dir.path().join("loans.toml")).unwrap();
    fs::write(dir.path().join("loans.toml"), text.replace("[task]", "one_hot = \"drop-first\"\n[task]")).unwrap();
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "run", "-q"]);
    expect(dir.path(), 0, &["check", "run"]);
    let full = fs::read_to_string(dir.path().join("run/rules.toml")).unwrap().replace("drop-first", "full");
    fs::write(dir.path().join("full.toml"), full).unwrap();
    let said = expect(dir.path(), 1, &["check", "run", "--rules", "full.toml"]);
    assert!(said.contains("each level but the first"), "{said}");
}

#[test]
fn what_is_proved_is_printed_and_vacuous_rules_are_marked() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 5);
    let more = "[[rule]]\nname = \"nobody\"\ntext = \"income > 200 and area == 'urban' => loan == 'no'\"\n";
    let text = fs::read_to_string(dir.path().join("loans.toml")).unwrap() + more;
    fs::write(dir.path().join("loans.toml"), text).unwrap();
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "run", "-q"]);
    let said = expect(dir.path(), 0, &["check", "run"]);
    for part in [
        "task: a binary classification of loan as \"no\", \"yes\"",
        "  income: numbers from 0 to 99",
        "  area: one of \"rural\", \"urban\"",
        "rule 'poor': income >= 20 or area != 'rural' or score('no') >= score('yes')",
        "vacuous: no input of the domain meets its condition",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let said = json(dir.path(), 0, &["check", "run", "--json"]);
    assert_eq!((&said["task"]["kind"], &said["domain"][0]["name"]), (&"binary".into(), &"income".into()));
    let field = |name: &str| said["rules"].as_array().unwrap().iter().map(|r| r[name].clone()).collect::<Vec<_>>();
    assert_eq!(field("vacuous"), [false, true]);
    assert!(field("normal")[0].as_str().unwrap().starts_with("income >= 20"));
    let args = ["verify", "--model", "run/model.onnx", "--rules", "run/rules.toml"];
    assert!(expect(dir.path(), 0, &args).contains("vacuous: no input"));
    let said = json(dir.path(), 0, &[&args[..], &["--json"]].concat());
    assert_eq!((&said["rules"][0]["vacuous"], &said["rules"][1]["vacuous"]), (&false.into(), &true.into()));
}

#[test]
fn where_there_is_no_rule_nothing_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 5);
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "run", "-q"]);
    let text = fs::read_to_string(dir.path().join("run/rules.toml")).unwrap();
    fs::write(dir.path().join("none.toml"), text.split("[[rule]]").next().unwrap()).unwrap();
    let said = expect(dir.path(), 1, &["check", "run", "--rules", "none.toml"]);
    assert!(said.contains("there is no rule: nothing is claimed"), "{said}");
    refusal(dir.path(), &["verify", "--model", "run/model.onnx", "--rules", "none.toml"]);
}

/// The number that a data file's 0.1 becomes lies above 0.1, and that of 0.7 below 0.7: both meet a condition that names them.
#[test]
fn a_decimal_in_a_condition_is_what_a_data_file_makes_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String = (0..200)
        .map(|i| {
            let (rate, share) = (i % 11, (i * 7) % 11);
            let label = u8::from(!(rate <= 1 || share >= 7) && i % 3 > 0);
            format!("0.{rate},0.{share},{label},{}\n", u8::from(i % 2 == 0))
        })
        .collect();
    fs::write(dir.path().join("d.csv"), format!("rate,share,d0,d1\n{}", rows.replace("0.10,", "1.0,"))).unwrap();
    let rule = |k: usize, text: &str| format!("[[rule]]\nname = \"r{k}\"\ntext = \"{text}\"\n");
    let head = "[data]\nfile = \"d.csv\"\ntargets = [\"d0\", \"d1\"]\n[task]\nkind = \"multilabel\"\n[train]\nepochs = 5\n";
    let rules =
        rule(0, "rate <= 0.1 => not d0") + &rule(1, "share >= 0.7 => not d0") + &rule(2, "3 * rate == 0.9 => d1 or not d1");
    fs::write(dir.path().join("p.toml"), format!("{head}{rules}")).unwrap();
    let e = json(dir.path(), 0, &["explain", "p.toml", "--json", "-q"]);
    assert_eq!(e["rules"][0]["normal"], "rate > 0.1 or not label[0]");
    assert_eq!(e["rules"][0]["rows_breaking"], 0, "{e}");
    for enforce in ["weights", "decode"] {
        expect(dir.path(), 0, &["train", "p.toml", "--out", "run", "--force", "-q", "--enforce", enforce]);
        fs::write(dir.path().join("new.csv"), "rate,share\n0.1,0.2\n0.5,0.7\n0.1,0.7\n").unwrap();
        let out = expect(dir.path(), 0, &["predict", "run/model.onnx", "new.csv", "-q"]);
        for line in out.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!((cells[0], cells[2]), ("0", "true"), "{enforce}: {line}");
        }
    }
}
