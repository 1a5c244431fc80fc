//! Targets that are whole numbers: what is trained, shielded and predicted is whole, proved, and what can't be is refused with the way out.

mod support;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use support::{deepsade, expect, json, refusal, stderr};

/// 200 days: seats, heat, day; casual and registered visitors, their sum.
fn write(folder: &Path, stated: &str, rules: &[&str]) {
    let mut csv = "seats,heat,day,casual,registered,cnt\n".to_string();
    for i in 0..200u32 {
        let (seats, heat) = (i * 37 % 60, f64::from(i * 53 % 97) / 9.7);
        let day = ["rest", "work"][(i % 2) as usize];
        let casual = (u32::from(heat > 5.0) * 4 + i % 3).min(seats);
        let registered = (seats / 3 + i % 5).min(seats - casual);
        writeln!(csv, "{seats},{heat},{day},{casual},{registered},{}", casual + registered).unwrap();
    }
    fs::write(folder.join("days.csv"), csv).unwrap();
    let mut toml = format!(
        "[data]\nfile = \"days.csv\"\ntargets = [\"casual\", \"registered\", \"cnt\"]\n[features.seats]\nkind = \"integer\"\n\
         [task]\nkind = \"regression\"\n{stated}[network]\nhidden = [8]\n[train]\nepochs = 6\nlearning_rate = 0.01\n"
    );
    for (k, text) in rules.iter().enumerate() {
        write!(toml, "[[rule]]\nname = \"rule {k}\"\ntext = \"{text}\"\n").unwrap();
    }
    fs::write(folder.join("rules.toml"), toml).unwrap();
}

const RULES: [&str; 4] = [
    "casual + registered == cnt",
    "casual >= 0 and registered >= 0",
    "cnt <= seats",
    "day == 'rest' and heat <= 2 => casual <= 3",
];
const WHOLE: &str = "[targets.cnt]\nkind = \"integer\"\n[targets.casual]\nkind = \"integer\"\n";

#[test]
fn whole_counts_are_trained_proved_and_predicted() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, WHOLE, &RULES);
    let said = json(folder, 0, &["train", "rules.toml", "--out", "run", "--json", "-q"]);
    assert!(said["certified"] == true && said["enforced_by"] == "decode", "{said}");
    let tried = said["cost"]["tried"].as_array().unwrap();
    assert!(tried.iter().all(|t| t["enforced_by"] == "decode"), "{tried:?}");
    assert!(fs::read_to_string(folder.join("run/rules.toml")).unwrap().contains("[targets.cnt]\nkind = \"integer\""));

    let words = expect(folder, 0, &["check", "run"]);
    assert!(words.contains("a regression of casual, registered, cnt (casual, cnt in whole numbers)"), "{words}");
    let judged = json(folder, 0, &["check", "run", "--json"]);
    assert_eq!(judged["task"]["whole"], serde_json::json!(["casual", "cnt"]));

    let told = expect(folder, 0, &["predict", "run/model.onnx", "days.csv", "-q"]);
    let seats: Vec<i64> = (0..200).map(|i| i * 37 % 60).collect();
    for (line, seats) in told.lines().skip(1).zip(seats) {
        // Whole numbers read as such, without a point.
        let y: Vec<i64> = line.split(',').take(3).map(|v| v.parse().unwrap_or_else(|_| panic!("{line}"))).collect();
        assert!(y[0] + y[1] == y[2] && y[0] >= 0 && y[1] >= 0 && y[2] <= seats, "{line}");
    }
    expect(folder, 0, &["verify", "--model", "run/model.onnx", "--rules", "run/rules.toml"]);
    expect(folder, 0, &["report", "run", "--out", "page.html"]);

    // Another claim than the model's, either way.
    let rules = fs::read_to_string(folder.join("run/rules.toml")).unwrap();
    fs::write(folder.join("run/rules.toml"), rules.replace("[targets.cnt]\nkind = \"integer\"\n", "")).unwrap();
    let said = expect(folder, 1, &["check", "run"]);
    assert!(said.contains("REJECTED at claim") && said.contains("whole numbers"), "{said}");
}

#[test]
fn weights_and_plain_networks_keep_nothing_whole() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let rules = ["cnt >= 0 - 1000", "casual <= 1000"];
    write(folder, WHOLE, &rules);
    let error = refusal(folder, &["train", "rules.toml", "--out", "w", "--enforce", "weights", "-q"]);
    assert!(error.contains("casual, cnt must be whole numbers") && error.contains("drop `kind = \"integer\"`"), "{error}");
    // The same network without whole numbers is proved, and with them it is not.
    write(folder, "", &rules);
    expect(folder, 0, &["train", "rules.toml", "--out", "plain", "--enforce", "weights", "-q"]);
    write(folder, WHOLE, &rules);
    let said = deepsade(folder, &["verify", "--model", "plain/model.onnx", "--rules", "rules.toml"]);
    let words = format!("{}{}", String::from_utf8_lossy(&said.stdout), stderr(&said));
    assert!(said.status.code() == Some(3) && words.contains("deepsade shield"), "{words}");
    expect(folder, 0, &["shield", "--model", "plain/model.onnx", "--rules", "rules.toml", "--out", "kept", "-q"]);
    expect(folder, 0, &["check", "kept"]);
}

#[test]
fn whole_numbers_need_no_rule() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, "[features.cnt]\nkind = \"integer\"\n", &[]);
    let said = json(folder, 0, &["train", "rules.toml", "--out", "run", "--json", "-q"]);
    assert_eq!(said["certified"], true, "{said}");
    expect(folder, 0, &["check", "run"]);
}

#[test]
fn what_leaves_no_whole_number_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, WHOLE, &["0.2 <= cnt <= 0.8"]);
    let error = stderr(&deepsade(folder, &["train", "rules.toml", "--out", "run", "-q"]));
    assert!(error.contains("rule 'rule 0'"), "{error}");
    write(folder, "[targets.cnt]\nkind = \"integer\"\nrange = [0, 3]\n", &RULES);
    assert!(refusal(folder, &["explain", "rules.toml"]).contains("target 'cnt': of a target only `kind` is stated"));
    write(folder, "[targets.cnt]\nkind = \"integer\"\n[features.cnt]\nkind = \"real\"\n", &RULES);
    assert!(refusal(folder, &["explain", "rules.toml"]).contains("different kinds"));
    write(folder, WHOLE, &RULES);
    let rows = fs::read_to_string(folder.join("days.csv")).unwrap().replacen(",2,14,16\n", ",2,14,16.5\n", 1);
    let rows = if rows.contains("16.5") { rows } else { rows.trim_end().to_string() + ".5\n" };
    fs::write(folder.join("days.csv"), rows).unwrap();
    let error = refusal(folder, &["explain", "rules.toml"]);
    assert!(error.contains("column 'cnt'") && error.contains("whole numbers from -16777216 to 16777216"), "{error}");
}
