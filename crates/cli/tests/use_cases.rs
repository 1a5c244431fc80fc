//! The five use cases of the paper, on their data where it is there.

#[path = "../../../tests/rust/needs.rs"]
mod needs;
mod support;

use std::path::{Path, PathBuf};

use needs::{Need, data_folder};
use serde_json::Value;
use support::{expect, json};

needs::tests! {
    uc1_expenses: Need::Data;
    uc2_loans: Need::Data;
    uc3_music: Need::Data;
    uc4_digits: Need::Data;
    uc5_sushi: Need::Data;
    use_cases_without_rules_are_refuted_and_guaranteed_ones_proved: Need::Data;
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn explain(name: &str) -> Value {
    let data = data_folder();
    let file = example(name);
    json(Path::new("."), 0, &["explain", file.to_str().unwrap(), "--data", data.to_str().unwrap(), "--json"])
}

fn train(name: &str) -> Value {
    train_with(name, &[])
}

fn train_with(name: &str, more: &[&str]) -> Value {
    let data = data_folder();
    let (file, out) = (example(name), tempfile::tempdir().unwrap());
    let args = [
        "train",
        file.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
        "--out",
        out.path().to_str().unwrap(),
        "--json",
        "-q",
    ];
    json(Path::new("."), 0, &[&args, more].concat())
}

/// The checker accepted the files, and no prediction breaks a rule.
fn certified(t: &Value) {
    assert_eq!(t["certified"], true, "{t}");
    for split in ["train", "validation", "test"] {
        assert_eq!(t[split]["rows_breaking_all"], 0, "{t}");
    }
}

fn uc1_expenses() {
    let e = explain("uc1.toml");
    assert_eq!((&e["rows"], &e["rows_breaking"]), (&41417.into(), &35317.into()));
    assert_eq!(e["rules"][0]["rows_breaking"], 32110);
    assert_eq!(e["rules"][1]["rows_breaking"], 20015);
    assert_eq!(e["skip"], serde_json::json!(["Total Household Income"]));
    assert_eq!(e["gate"], e["skip"]);
    let t = train("uc1.toml");
    certified(&t);
    assert_eq!(t["gate"], "Total Household Income");
    assert!(t["test"]["mse"].as_f64().unwrap() < 19.0, "{t}");
    let t = train_with("uc1.toml", &["--enforce", "none"]);
    assert!(t["test"]["mse"].as_f64().unwrap() < 19.0, "without rules: {t}");
    assert!(t["test"]["rows_breaking_all"].as_u64().unwrap() > 1000, "{t}");
}

fn uc2_loans() {
    let e = explain("uc2.toml");
    assert_eq!((&e["rows"], &e["rules"][0]["rows_breaking"]), (&492.into(), &5.into()));
    assert_eq!(e["rows_breaking_injected"], 40);
    assert_eq!(e["skip"], serde_json::json!(["ApplicantIncome", "Credit_History"]));
    let t = train("uc2.toml");
    certified(&t);
    assert!(t["test"]["accuracy"].as_f64().unwrap() > 72.0, "{t}");
}

fn uc3_music() {
    let e = explain("uc3.toml");
    assert_eq!((&e["rows"], &e["rows_breaking"], &e["rows_breaking_injected"]), (&793.into(), &0.into(), &40.into()));
    assert_eq!(e["skip"], serde_json::json!(["the_beatles"]));
    // Better than the majority class, 27 %.
    let t = train("uc3.toml");
    certified(&t);
    assert!(t["test"]["accuracy"].as_f64().unwrap() > 50.0, "{t}");
}

fn uc4_digits() {
    let e = explain("uc4.toml");
    assert_eq!((&e["rows"], &e["rows_breaking"]), (&20000.into(), &0.into()));
    assert_eq!(e["features"].as_array().unwrap().len(), 3136);
    assert_eq!((&e["audit"]["components"], &e["audit"]["constant_only"]), (&1.into(), &false.into()));
    // 1024 sets less 84 with a sum of at most 10.
    assert_eq!((&e["enforce"]["means"], &e["enforce"]["table"]), (&"decode".into(), &940.into()));
}

fn uc5_sushi() {
    let e = explain("uc5.toml");
    assert_eq!((&e["rows"], &e["rows_breaking"]), (&4926.into(), &0.into()));
    assert_eq!((&e["audit"]["components"], &e["audit"]["constant_only"]), (&24.into(), &true.into()));
    assert!(e["audit"]["words"].as_str().unwrap().contains("decode"));
    assert_eq!((&e["enforce"]["means"], &e["enforce"]["table"]), (&"decode".into(), &24.into()));
    // Decoded: always an ordering, and more often the right one than any constant, which has at most 16.9 %.
    let t = train("uc5.toml");
    certified(&t);
    assert_eq!((&t["enforce"], &t["decode"]), (&"decode".into(), &"in-graph".into()));
    assert!(t["test"]["coherent"].as_f64().unwrap() > 18.0, "{t}");
    // Unconstrained: most labels right, hardly ever an ordering.
    let t = train_with("uc5.toml", &["--enforce", "none"]);
    assert!(t["test"]["flattened"].as_f64().unwrap() > 70.0, "{t}");
    assert!(t["test"]["rows_breaking"].as_f64().unwrap() > 100.0, "{t}");
}

fn use_cases_without_rules_are_refuted_and_guaranteed_ones_proved() {
    let data = data_folder();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    for case in ["uc1", "uc2", "uc3"] {
        let file = example(&format!("{case}.toml"));
        let (file, data) = (file.to_str().unwrap(), data.to_str().unwrap());
        for (enforce, code) in [("none", 1), ("auto", 0)] {
            let out = format!("{case}-{enforce}");
            expect(home, 0, &["train", file, "--out", &out, "--enforce", enforce, "--data", data, "-q"]);
            let model = format!("{out}/model.onnx");
            let report = json(home, code, &["verify", "--model", &model, "--rules", file, "--data", data, "--json"]);
            assert_eq!(report["verdict"], if code == 1 { "refuted" } else { "proved" }, "{case} {enforce}");
        }
    }
}
