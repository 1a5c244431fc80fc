//! `deepsade report`: what it writes, says and refuses.

mod support;

use std::fs;

use support::{deepsade, expect, json, refusal, small_problem};

#[test]
fn a_run_becomes_a_page_that_says_what_the_checker_says() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 5);
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "run", "--quiet"]);
    let said = json(dir.path(), 0, &["report", "run", "--data", "loans.csv", "--json"]);
    assert_eq!((&said["page"], &said["proved"]), (&"run/report.html".into(), &true.into()));
    let page = fs::read_to_string(dir.path().join("run/report.html")).unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(dir.path().join("run/summary.json")).unwrap()).unwrap();
    assert!(page.contains("Proved: 1 rule holds") && page.contains("income &lt; 20"));
    assert!(page.contains(&summary["test"]["rows_all"].to_string()));
    // The log has what the curves show.
    let log = fs::read_to_string(dir.path().join("run/run.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert!(last["margin"].as_f64().unwrap() > 0.0 && (0.0..=1.0).contains(&last["moved"].as_f64().unwrap()), "{last}");

    // What is proved of real numbers is not called proved of float32; one flipped bit of the model, and nothing is proved.
    let path = dir.path().join("run/certificate.json");
    let certificate = fs::read_to_string(&path).unwrap();
    fs::write(&path, certificate.replace("float32", "real")).unwrap();
    let said = json(dir.path(), 0, &["report", "run", "--out", "real.html", "--json"]);
    assert!(said["proof"].as_str().unwrap().contains("not for float32") && said["proved"] == false, "{said}");
    let mut bytes = fs::read(dir.path().join("run/model.onnx")).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    fs::write(dir.path().join("run/model.onnx"), bytes).unwrap();
    let output = deepsade(dir.path(), &["report", "run", "--out", "flipped.html"]);
    let page = fs::read_to_string(dir.path().join("flipped.html")).unwrap_or_default();
    assert!(!page.contains("Proved"), "{}", support::stderr(&output));
}

#[test]
fn without_rules_or_a_certificate_nothing_is_called_proved() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 2);
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "run", "--enforce", "none", "--quiet"]);
    assert!(expect(dir.path(), 0, &["report", "run"]).contains("Not proved: there is no certificate"));
    let page = fs::read_to_string(dir.path().join("run/report.html")).unwrap();
    assert!(page.contains("income &lt; 20") && !page.contains("Proved"), "the rules stand there, unproved");
}

#[test]
fn what_can_not_be_reported_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 1);
    assert!(refusal(dir.path(), &["report", "."]).contains("model.onnx"));
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "run", "--quiet"]);
    assert!(refusal(dir.path(), &["report", "run", "--out", "run/model.onnx"]).contains("overwrite"));
    assert!(refusal(dir.path(), &["report", "run", "--out", "loans.csv"]).contains("no HTML page"));
    expect(dir.path(), 0, &["report", "run", "--out", "page.html"]);
    expect(dir.path(), 0, &["report", "run", "--out", "page.html"]);
    assert!(refusal(dir.path(), &["report", "run", "--data", "none.csv"]).contains("none.csv"));
    fs::write(dir.path().join("run/model.onnx"), "not a model").unwrap();
    assert!(refusal(dir.path(), &["report", "run"]).contains("model.onnx"));
    fs::create_dir(dir.path().join("lab")).unwrap();
    fs::write(dir.path().join("lab/results.jsonl"), "{}\nnonsense\n{}\n").unwrap();
    assert!(refusal(dir.path(), &["report", "lab"]).contains("line 2"));
    assert!(refusal(dir.path(), &["report", "lab", "--data", "loans.csv"]).contains("without one"));
}
