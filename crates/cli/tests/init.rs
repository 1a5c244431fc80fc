//! `deepsade init`: what it drafts can be trained as it is.

mod support;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use support::{expect, json, refusal};

/// Drafts a file for `csv`, trains it for a few epochs and hands back what `train --json` says.
fn trained(folder: &Path, csv: &str, options: &[&str]) -> serde_json::Value {
    fs::write(folder.join("data.csv"), csv).unwrap();
    expect(folder, 0, &[&["init", "data.csv", "--force"], options].concat());
    json(folder, 0, &["train", "problem.toml", "--epochs", "3", "--out", "run", "--json", "--force"])
}

#[test]
fn a_draft_of_numbers_ends_certified() {
    let dir = tempfile::tempdir().unwrap();
    let mut csv = String::from(",when,size,rooms,area,price\n");
    for k in 0..120 {
        let gap = if k % 9 == 0 { String::new() } else { format!("{}", 1 + k % 5) };
        let _ = writeln!(
            csv,
            "{k},2023-{:02}-01,{}.5,{gap},{},{}",
            1 + k % 12,
            40 + k % 60,
            ["urban", "rural"][k % 2],
            100 + 3 * (k % 60)
        );
    }
    let report = trained(dir.path(), &csv, &["--target", "price"]);
    assert_eq!(report["certified"], true, "{report}");
    assert_eq!(report["test"]["rows_breaking_all"], 0);
    let draft = json(dir.path(), 0, &["init", "data.csv", "--target", "price", "--out", "other.toml", "--json"]);
    assert_eq!((&draft["draft"]["task"], &draft["draft"]["guessed"]), (&"regression".into(), &false.into()));
    assert_eq!(draft["draft"]["rows_with_gaps"], 14);
    let left_out: Vec<&str> = draft["draft"]["columns"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["kind"] == "left out")
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    assert_eq!(left_out, ["", "when"]);
}

#[test]
fn a_draft_without_a_rule_trains_and_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String = (0..90).map(|k| format!("{},{},{}\n", k % 31, k % 7, ["no", "yes"][usize::from(k % 31 > 14)])).collect();
    fs::write(dir.path().join("data.csv"), format!("x,z,y\n{rows}")).unwrap();
    let said = expect(dir.path(), 0, &["init", "data.csv"]);
    assert!(said.contains("the target was guessed: y") && said.contains("deepsade train problem.toml"), "{said}");
    let said = expect(dir.path(), 0, &["train", "problem.toml", "--epochs", "2", "--out", "run"]);
    assert!(said.contains("No rule is stated, so nothing was proved"), "{said}");
    // The suggestion that says most: with its # gone the run ends certified.
    let text = fs::read_to_string(dir.path().join("problem.toml")).unwrap();
    assert!(text.contains("=> y == 'no'\""), "{text}");
    let at = text.find("# [[rule]]").unwrap();
    let taken: Vec<&str> = text[at..].lines().take(3).map(|line| line.trim_start_matches("# ")).collect();
    fs::write(dir.path().join("problem.toml"), format!("{}\n{}\n", &text[..at], taken.join("\n"))).unwrap();
    let report = json(dir.path(), 0, &["train", "problem.toml", "--epochs", "2", "--out", "run2", "--json"]);
    assert_eq!(report["certified"], true, "{report}");
}

#[test]
fn nasty_files_train_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    for (name, csv, options) in [
        ("few rows", "a,b,y\n1,2,3\n2,1,4\n5,2,1\n3,3,3.5\n7,1,2\n1,1,9\n2,2,2\n8,0,1\n4,4,4\n6,5,0\n".to_owned(), &[][..]),
        ("one feature, huge numbers", numbers("x,y", 40, |k| format!("{}e30,{}e-12", k % 7, k)), &[]),
        (
            "labels",
            numbers("x,a,b", 60, |k| format!("{}.5,{},{}", k % 13, k % 2, k / 2 % 2)),
            &["--target", "a", "--target", "b"],
        ),
        (
            "a ranking",
            numbers("x,a,b", 60, |k| format!("{}.5,{},{}", k % 13, 1 + k % 2, 2 - k % 2)),
            &["--target", "a", "--target", "b"],
        ),
        (
            "names",
            numbers("\"a,b\",q\"\"uote,Ünï,`tick`,and,y", 50, |k| {
                format!("{},{},{},{},{},{}", k % 3, k % 5, k % 7, k % 11, k % 13, k % 20)
            }),
            &[],
        ),
        ("semicolons", numbers("a;b;y", 50, |k| format!("{};{};c{}", k % 3, k % 5, k % 3)), &[]),
        (
            "several targets",
            numbers("x,a,b", 60, |k| format!("{},{}.5,{}.25", k % 13, k % 7, k % 7 + k % 3)),
            &["--target", "a", "--target", "b"],
        ),
    ] {
        let report = trained(dir.path(), &csv, options);
        assert!(report["epochs"].is_number(), "{name}: {report}");
    }
}

fn numbers(head: &str, rows: usize, row: impl Fn(usize) -> String) -> String {
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!("{head}\n{}\n", rows.join("\n"))
}

#[test]
fn nothing_is_overwritten_unasked() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("d.csv"), numbers("x,y", 30, |k| format!("{k}.5,{k}.25"))).unwrap();
    expect(dir.path(), 0, &["init", "d.csv"]);
    let first = fs::read(dir.path().join("problem.toml")).unwrap();
    assert!(refusal(dir.path(), &["init", "d.csv"]).contains("--force overwrites it"));
    assert!(refusal(dir.path(), &["init", "d.csv", "--out", "d.csv", "--force"]).contains("is the data file"));
    expect(dir.path(), 0, &["init", "d.csv", "--force"]);
    assert_eq!(fs::read(dir.path().join("problem.toml")).unwrap(), first, "the same data, the same draft");
    let printed = expect(dir.path(), 0, &["init", "d.csv", "--out", "-"]);
    assert!(printed.starts_with("# A draft"), "{printed}");
    assert!(refusal(dir.path(), &["init", "none.csv", "--out", "other.toml"]).contains("none.csv"));
    assert!(refusal(dir.path(), &["init", "d.csv", "--target", "yy", "--out", "other.toml"]).contains("did you mean 'y'?"));
    // A draft elsewhere still finds its data.
    fs::create_dir(dir.path().join("sub")).unwrap();
    expect(dir.path(), 0, &["init", "d.csv", "--out", "sub/p.toml"]);
    expect(dir.path(), 0, &["explain", "sub/p.toml"]);
}
