//! Features that are multiples of a step: equalities with them are trained, proved and predicted exactly, and what can't be is refused.

mod support;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use support::{deepsade, expect, json, refusal, stderr};

/// 200 days: hours sold in quarters, heat; what two parts take of them.
fn write(folder: &Path, stated: &str, odd: &str) {
    let mut csv = "sold,heat,a,b\n".to_string();
    for i in 0..200u32 {
        let (sold, heat) = (i * 37 % 97, f64::from(i * 53 % 97) / 9.7);
        let a = (if heat > 5.0 { sold / 2 } else { sold / 4 } + i % 3).min(sold);
        let quarters = |n: u32| f64::from(n) / 4.0;
        writeln!(csv, "{},{heat},{},{}", quarters(sold), quarters(a), quarters(sold - a)).unwrap();
    }
    fs::write(folder.join("days.csv"), csv + odd).unwrap();
    let toml = format!(
        "[data]\nfile = \"days.csv\"\ntargets = [\"a\", \"b\"]\n{stated}[task]\nkind = \"regression\"\n[network]\nhidden = [8]\n\
         [train]\nepochs = 6\nlearning_rate = 0.01\n[[rule]]\nname = \"all\"\ntext = \"a + b == sold\"\n\
         [[rule]]\nname = \"some\"\ntext = \"a >= 0 and b >= 0\"\n"
    );
    fs::write(folder.join("rules.toml"), toml).unwrap();
}

const QUARTERS: &str = "[features.sold]\nstep = 0.25\n";

#[test]
fn parts_of_a_stepped_feature_add_up_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, QUARTERS, "");
    let words = expect(folder, 0, &["explain", "rules.toml"]);
    assert!(words.contains("multiples of 0.25 from 0 to 24"), "{words}");
    let said = json(folder, 0, &["train", "rules.toml", "--out", "run", "--enforce", "decode", "--json", "-q"]);
    assert!(said["certified"] == true && said["enforced_by"] == "decode", "{said}");
    let rules = fs::read_to_string(folder.join("run/rules.toml")).unwrap();
    assert!(rules.contains("step = 0.25"), "{rules}");
    expect(folder, 0, &["check", "run"]);
    expect(folder, 0, &["verify", "--model", "run/model.onnx", "--rules", "run/rules.toml"]);
    expect(folder, 0, &["report", "run", "--out", "page.html"]);

    let told = expect(folder, 0, &["predict", "run/model.onnx", "days.csv", "-q"]);
    let sold: Vec<f64> = (0..200u32).map(|i| f64::from(i * 37 % 97) / 4.0).collect();
    assert_eq!(told.lines().count(), 201);
    for (line, sold) in told.lines().skip(1).zip(sold) {
        let y: Vec<f64> = line.split(',').take(2).map(|v| v.parse().unwrap()).collect();
        assert!(y[0] + y[1] == sold && y[0] as f32 + y[1] as f32 == sold as f32, "{line}: {sold}");
        assert!(y[0] >= 0.0 && y[1] >= 0.0, "{line}");
    }
    // What is no multiple is no input of the domain.
    fs::write(folder.join("odd.csv"), "sold,heat\n0.3,1\n0.25,1\n").unwrap();
    let told = expect(folder, 0, &["predict", "run/model.onnx", "odd.csv", "-q"]);
    assert!(told.lines().nth(1).is_some_and(|line| line.ends_with("false,sold")), "{told}");
    assert!(told.lines().nth(2).is_some_and(|line| line.ends_with("true,")), "{told}");

    // Another claim than the model's.
    for other in ["step = 0.5", "step = 0.125", ""] {
        fs::write(folder.join("run/rules.toml"), rules.replace("step = 0.25", other)).unwrap();
        let said = expect(folder, 1, &["check", "run"]);
        assert!(said.contains("REJECTED at claim") && said.contains("multiples of 0.25"), "{said}");
    }
}

#[test]
fn what_has_no_exact_multiples_is_refused_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let train = ["train", "rules.toml", "--out", "run", "--enforce", "decode", "-q"];
    write(folder, "[features.sold]\nstep = 0.01\n", "");
    let error = refusal(folder, &train);
    assert!(error.contains("features.sold") && error.contains("hundredths") && error.contains("kind = \"integer\""), "{error}");
    write(folder, QUARTERS, "0.3,1,0.3,0\n");
    let error = refusal(folder, &train);
    assert!(error.contains("row 201") && error.contains("0.3") && error.contains("multiples of 0.25"), "{error}");
    // Without it, the message names it.
    write(folder, "", "");
    let said = deepsade(folder, &train);
    let error = stderr(&said);
    assert_eq!(said.status.code(), Some(1), "{error}");
    assert!(error.contains("abs(left - right) <=") && error.contains("step = 0.25"), "{error}");
}
