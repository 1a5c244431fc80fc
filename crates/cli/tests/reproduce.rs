//! `deepsade reproduce`: refusals, the same results whatever the number of jobs, going on after a kill, Ctrl-C.

#[path = "../../../tests/rust/needs.rs"]
mod needs;
mod support;

use std::path::Path;
use std::time::Duration;

use needs::{Need, data_folder};
use serde_json::Value;
use support::{command, deepsade, expect, refusal, stderr};

needs::tests! {
    what_can_not_be_run_is_refused_before_anything_is_written;
    jobs_do_not_change_results_and_a_cut_line_is_done_again: Need::Data;
    #[cfg(unix)]
    ctrl_c_ends_in_good_order: Need::Data;
}

/// The runs without their seconds, in order.
fn runs(out: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(out.join("results.jsonl")).unwrap();
    let run = |line: &str| {
        let mut run: Value = serde_json::from_str(line).unwrap();
        let fields = run.as_object_mut().unwrap();
        assert!(fields.remove("seconds").unwrap().as_f64().unwrap() > 0.0);
        fields.remove("tuning_seconds");
        fields.remove("cpu_seconds");
        run.to_string()
    };
    let mut runs: Vec<String> = text.lines().map(run).collect();
    runs.sort();
    runs
}

fn what_can_not_be_run_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let reproduce = |more: &[&str]| refusal(folder.path(), &[&["reproduce"], more].concat());
    assert!(reproduce(&["uc7", "--data", "data"]).contains("there are uc1, uc2, uc3, uc4, uc5"));
    assert!(reproduce(&["all", "--methods", "ffn,cnn", "--data", "data"]).contains("no method is called 'cnn'"));
    assert!(reproduce(&["uc2", "--methods", "deepsade-plain", "--data", "data"]).contains("does not apply to uc2"));
    assert!(reproduce(&["uc2"]).contains("--data or $DEEPSADE_DATA"));
    assert!(reproduce(&["uc2", "--data", "nowhere"]).contains("nowhere is no folder"));
    assert!(reproduce(&["uc2", "--data", "data"]).contains("loan_data_set.csv"));
    assert!(reproduce(&["uc2", "--folds", "1", "--data", "data"]).contains("2 folds"));
    assert!(!folder.path().join("runs").exists());
    // A file of that name with other rows is not the paper's.
    let header = "Gender,Married,Dependents,Education,Self_Employed,ApplicantIncome,CoapplicantIncome,LoanAmount,Loan_Amount_Term,\
                  Credit_History,Property_Area,Loan_Status\n";
    let rows =
        "Male,Yes,0,Graduate,No,4000,0,100,360,0,Urban,N\nMale,No,1,Not Graduate,Yes,6000,10,120,180,1,Rural,Y\n".repeat(50);
    std::fs::write(data.join("loan_data_set.csv"), header.to_string() + &rows).unwrap();
    let error = reproduce(&["uc2", "--data", "data", "--out", "other"]);
    assert!(error.contains("expected"), "{error}");
}

fn jobs_do_not_change_results_and_a_cut_line_is_done_again() {
    let data = data_folder();
    let data = data.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let args = |jobs: &'static str, out: &'static str| {
        vec![
            "reproduce",
            "uc2",
            "--quick",
            "--folds",
            "2",
            "--methods",
            "deepsade,ffn,sbr",
            "--data",
            data,
            "-q",
            "--jobs",
            jobs,
            "--out",
            out,
        ]
    };
    let printed = expect(folder.path(), 0, &args("1", "one"));
    expect(folder.path(), 0, &args("2", "two"));
    let whole = runs(&one);
    assert_eq!(whole.len(), 6);
    assert_eq!(whole, runs(&two));

    assert_eq!(printed, std::fs::read_to_string(one.join("tables.md")).unwrap());
    assert!(printed.contains("UC2, loans") && printed.contains("| deepsade ") && printed.contains("80.04 ± 4.29"), "{printed}");
    let tables: Value = serde_json::from_str(&std::fs::read_to_string(one.join("tables.json")).unwrap()).unwrap();
    let row = &tables["tables"][0]["rows"][0];
    assert_eq!((&row["method"], &row["certified"]), (&"deepsade".into(), &serde_json::json!([2, 2])));
    assert_eq!(row["cells"][0]["ours"]["mean"], 100.0);
    for figure in ["uc2-accuracy.svg", "uc2-training.png", "uc2-bounds.svg", "uc2-adversity-ffn.svg"] {
        assert!(one.join("figures").join(figure).exists(), "{figure}");
    }
    let check = expect(folder.path(), 0, &["check", "one/models/uc2-deepsade"]);
    assert!(check.contains("no loan without history"), "{check}");
    expect(folder.path(), 0, &["report", "one"]);
    let page = std::fs::read_to_string(one.join("report.html")).unwrap();
    assert!(page.contains("80.04 ± 4.29") && page.contains("data:image/svg+xml"));

    // As kill -9 leaves it: the last line half written.
    let path = two.join("results.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 30]).unwrap();
    let error = refusal(folder.path(), &args("2", "two"));
    assert!(error.contains("is not empty") && error.contains("--resume"), "{error}");
    let error = refusal(folder.path(), &[&args("2", "two")[..], &["--resume", "--seed", "4"]].concat());
    assert!(error.contains("--seed was 0 and is now 4"), "{error}");
    let before = std::fs::read_to_string(&path).unwrap();
    expect(folder.path(), 0, &[&args("2", "two")[..], &["--resume"]].concat());
    assert_eq!(whole, runs(&two));
    let kept = before.rfind('\n').unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with(&before[..kept]), "finished runs are not done again");
}

#[cfg(unix)]
fn ctrl_c_ends_in_good_order() {
    let data = data_folder();
    let folder = tempfile::tempdir().unwrap();
    let args =
        ["reproduce", "uc2", "--repeats", "200", "--methods", "ffn", "--out", "out", "--data", data.to_str().unwrap(), "-q"];
    let child = command(folder.path(), &args).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let results = folder.path().join("out/results.jsonl");
    let begun = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        std::fs::metadata(&results).is_ok_and(|m| m.len() > 0)
    });
    assert!(begun, "a run ends within half a minute");
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("add --resume"), "{}", stderr(&output));
    let done = runs(&folder.path().join("out")).len();
    assert!(done > 0 && done < 1000, "{done}");
    let again = deepsade(folder.path(), &args);
    assert!(stderr(&again).contains("is not empty"));
}
