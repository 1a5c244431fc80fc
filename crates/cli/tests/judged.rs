//! What `predict` prints beside its predictions, and what a run says of rows that tell little: blanks, probabilities, names, rare classes.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use support::{deepsade, expect, json, refusal, small_problem, stderr};

fn rows(csv: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().iter().map(String::from).collect();
    (header, reader.records().map(|r| r.unwrap().iter().map(String::from).collect()).collect())
}

#[test]
fn probabilities_are_blank_without_a_prediction_and_add_up_to_one() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 3);
    expect(home, 0, &["train", "loans.toml", "--out", "run", "--enforce", "decode", "-q"]);
    fs::write(home.join("gaps.csv"), "income,area,age\n,rural,30\n30,urban,40\n").unwrap();
    let (_, found) = rows(&expect(home, 0, &["predict", "run/model.onnx", "gaps.csv", "--proba", "-q"]));
    assert_eq!(found[0], ["", "false", "income", "", "", ""], "nothing is known of a row without a value");
    assert!(found[1].iter().enumerate().all(|(k, cell)| k == 2 || !cell.is_empty()), "{found:?}");
    let (_, all) = rows(&expect(home, 0, &["predict", "run/model.onnx", "loans.csv", "--proba", "-q"]));
    for row in all {
        let p: Vec<f64> = row[3..].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!(p.iter().all(|p| (0.0..=1.0).contains(p)) && p[1] + p[2] == 1.0, "{row:?}");
    }
}

fn one_target(home: &Path, target: &str) {
    let data: String = (0..60).map(|k| format!("{k},{}\n", 2 * k + 1)).collect();
    fs::write(home.join("t.csv"), format!("x,{target}\n{data}")).unwrap();
    let file = format!(
        "[data]\nfile = 't.csv'\ntargets = [\"{target}\"]\n[task]\nkind = 'regression'\n[network]\nhidden = [4]\n[train]\nepochs = 1\n\
         [[rule]]\nname = 'positive'\ntext = '`{target}` >= 0'\n"
    );
    fs::write(home.join("t.toml"), file).unwrap();
    expect(home, 0, &["train", "t.toml", "--out", "t", "-q", "--force"]);
}

#[test]
fn no_two_columns_of_predictions_have_one_name() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    for target in ["in_domain", "outside"] {
        one_target(home, target);
        let (header, _) = rows(&expect(home, 0, &["predict", "t/model.onnx", "t.csv", "-q"]));
        assert_eq!((header.len(), header.iter().collect::<BTreeSet<_>>().len()), (3, 3), "{header:?}");
        assert!(header[0] == target && header.contains(&format!("deepsade {target}")), "{header:?}");
    }
}

#[test]
fn a_class_of_few_rows_is_told_and_so_are_scores_that_folds_lack() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 1);
    let rare: String = (0..200).map(|k| format!("{k},{}\n", if k % 100 == 7 { "yes" } else { "no" })).collect();
    fs::write(home.join("rare.csv"), format!("x,loan\n{rare}")).unwrap();
    let text = fs::read_to_string(home.join("loans.toml")).unwrap().replace("loans.csv", "rare.csv");
    fs::write(home.join("rare.toml"), text.split_once("[[rule]]").unwrap().0).unwrap();
    let output = deepsade(home, &["train", "rare.toml", "--out", "run"]);
    assert!(stderr(&output).contains("note: class 'yes' has "), "{}", stderr(&output));
    let quiet = json(home, 0, &["train", "rare.toml", "--out", "run", "--force", "--json", "-q"]);
    let warned = quiet["warnings"].to_string();
    assert!(warned.contains("validation rows and") && warned.contains("test rows"), "{warned}");

    let folds = ["train", "rare.toml", "--folds", "5", "--out", "folds", "-q"];
    let words = expect(home, 0, &folds);
    assert!(words.contains("auc, ") && words.contains("not told in fold"), "{words}");
    assert!(refusal(home, &folds).contains("folds holds folds.json already"), "folds are not replaced by chance");
    let refused = refusal(home, &["train", "rare.toml", "--folds", "5", "--out", "run", "-q"]);
    assert!(refused.contains("run holds a model already") && !home.join("run/folds.json").exists(), "{refused}");
    let said = json(home, 0, &[&folds[..], &["--json", "--force"]].concat());
    assert!(said["scores"]["auc"].is_null() && said["untold"]["auc"].as_array().is_some_and(|folds| folds.len() >= 3), "{said}");
    // Beside the folder that keeps the model.
    expect(home, 0, &["train", "loans.toml", "--folds", "2", "-q"]);
    assert!(home.join("runs/loans-folds/folds.json").exists() && !home.join("runs/loans").exists());
}

#[test]
fn a_training_that_fails_on_its_way_leaves_neither_folder_nor_log() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let data: String = (0..60).map(|k| format!("{k},{},{}\n", 2 * k, 60 - k)).collect();
    fs::write(home.join("e.csv"), format!("x,u,v\n{data}")).unwrap();
    let file = |more: &str, rule: &str| {
        format!(
            "[data]\nfile = 'e.csv'\ntargets = ['u', 'v']\n[task]\nkind = 'regression'\n[network]\nhidden = [4]\n[train]\nepochs = 2\n{more}\n\
             [[rule]]\nname = 'r'\ntext = '{rule}'\n"
        )
    };
    fs::write(home.join("equal.toml"), file("enforce = 'weights'", "u + v == x")).unwrap();
    fs::write(home.join("steep.toml"), file("learning_rate = 1e18", "u >= v - 1000")).unwrap();
    fs::write(home.join("good.toml"), file("", "u >= v - 1000")).unwrap();
    expect(home, 0, &["train", "good.toml", "--out", "model", "-q"]);
    for (file, code) in [("equal.toml", 1), ("steep.toml", 2)] {
        let output = deepsade(home, &["train", file, "--out", "new", "-q"]);
        assert_eq!(output.status.code(), Some(code), "{file}: {}", stderr(&output));
        assert!(!home.join("new").exists(), "{file}");
        let output = deepsade(home, &["train", file, "--out", "model", "-q", "--force"]);
        assert_eq!(output.status.code(), Some(code));
        assert!(!home.join("model/run.jsonl.part").exists() && support::checkpoints(&home.join("model")) == 0, "{file}");
    }
    expect(home, 0, &["check", "model"]);
}
