//! The commands as a person uses them: what they write, what they print, how they end.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use deepsade_data::{ReadOptions, read_table};
use deepsade_engine::fit;
use deepsade_engine::pipeline::{Checked, Ended, Prepared};
use deepsade_engine::train::Silent;
use deepsade_lab::reproduce::experiment::{Experiment, Options};
use deepsade_lab::reproduce::measure::measure;
use deepsade_lab::reproduce::stock::Stock;
use serde_json::{Value, json as object};
use support::{checkpoints, command, deepsade, expect, json, kill_after_checkpoint, refusal, small_problem, stderr};

#[test]
fn the_demo_trains_predicts_and_fits_a_screen() {
    let dir = tempfile::tempdir().unwrap();
    let shown = expect(dir.path(), 0, &["demo", "--out", "demo"]);
    assert!(shown.contains("0 <= `free sulfur dioxide` <= `total sulfur dioxide`"));
    assert!(shown.lines().count() <= 52, "a screenful:\n{shown}");
    for file in ["wine.toml", "model/model.onnx", "model/run.jsonl", "model/report.html", "predictions.csv"] {
        assert!(dir.path().join("demo").join(file).exists(), "{file}");
    }
    // The rule file it leaves behind works on its own.
    expect(&dir.path().join("demo"), 0, &["explain", "wine.toml"]);
}

#[test]
fn train_then_predict_with_the_onnx_file_alone() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 40);
    let report = json(dir.path(), 0, &["train", "loans.toml", "--out", "run", "--json"]);
    assert!(report["test"]["accuracy"].as_f64().unwrap() > 80.0, "{report}");
    assert_eq!(report["epochs"], 40);
    assert_eq!((&report["certified"], &report["arithmetic"]), (&true.into(), &"float32".into()));
    assert!(report["margins"]["poor"].as_f64().unwrap() > 0.0, "{report}");
    assert_eq!(report["test"]["rows_breaking_all"], 0);
    for split in ["train", "validation", "test"] {
        for name in ["accuracy", "accuracy_all", "rows_breaking", "rows_breaking_all"] {
            assert!(report[split][name].is_number(), "{split}.{name}");
        }
    }
    assert_eq!(fs::read_to_string(dir.path().join("run/run.jsonl")).unwrap().lines().count(), 40);

    // Another folder, other columns in another order, one row outside, one unknown level, one missing value.
    let other = tempfile::tempdir().unwrap();
    fs::copy(dir.path().join("run/model.onnx"), other.path().join("m.onnx")).unwrap();
    let rows = "note,age,area,income\na,30,urban,90\nb,30,rural,5\nc,30,urban,1000\nd,30,moon,50\ne,,urban,50\n";
    fs::write(other.path().join("new.csv"), rows).unwrap();
    let printed = expect(other.path(), 0, &["predict", "m.onnx", "new.csv"]);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], "loan,in_domain,outside");
    assert_eq!(lines[1], "yes,true,");
    assert_eq!(lines[2], "no,true,");
    assert!(lines[3].ends_with(",false,income"), "{printed}");
    assert!(lines[4].ends_with(",false,area"), "{printed}");
    assert_eq!(lines[5], ",false,age");
    let error = refusal(other.path(), &["predict", "m.onnx", "new.csv", "--strict"]);
    assert!(error.contains("row 3") && error.contains("income = 1000") && error.contains("3 rows"), "{error}");
    let scored = expect(other.path(), 0, &["predict", "m.onnx", "new.csv", "--scores", "-q"]);
    assert!(scored.starts_with("loan,in_domain,outside,score('no'),score('yes')\n"), "{scored}");
}

#[test]
fn rules_that_cannot_be_met_lose_nothing_of_an_earlier_run() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 3);
    let report = json(dir.path(), 0, &["train", "loans.toml", "--out", "run", "--force", "--json"]);
    for step in ["read", "train", "certify", "check"] {
        assert!(report["timings"][step].as_f64().unwrap() > 0.0, "{report}");
    }
    let rules = fs::read_to_string(dir.path().join("loans.toml")).unwrap();
    let kept = |file: &str| fs::read(dir.path().join("run").join(file)).unwrap();
    let before = ["run.jsonl", "model.onnx", "certificate.json"].map(kept);
    for (rule, verdict) in [("income < 10 => loan == 'yes'", "contradictory"), ("score('yes') == income * 0.3", "infeasible")] {
        fs::write(dir.path().join("bad.toml"), format!("{rules}[[rule]]\nname = \"bad\"\ntext = \"{rule}\"\n")).unwrap();
        let report = json(dir.path(), 1, &["train", "bad.toml", "--out", "run", "--force", "--json"]);
        assert_eq!((&report["certified"], &report["verdict"]), (&false.into(), &verdict.into()), "{report}");
        assert!(report["error"].as_str().unwrap().contains("'bad'"), "{report}");
        assert_eq!(["run.jsonl", "model.onnx", "certificate.json"].map(kept), before);
    }
    fs::write(
        dir.path().join("idle.toml"),
        format!("{rules}[[rule]]\nname = \"idle\"\ntext = \"income > 500 => loan == 'no'\"\n"),
    )
    .unwrap();
    let output = deepsade(dir.path(), &["train", "idle.toml", "--out", "idle"]);
    assert!(stderr(&output).contains("rule 'idle' is vacuous"), "{}", stderr(&output));
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_does_not() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 5);
    let model = |out: &str, seed: &str| {
        expect(dir.path(), 0, &["train", "loans.toml", "--out", out, "--seed", seed, "-q"]);
        fs::read(dir.path().join(out).join("model.onnx")).unwrap()
    };
    let first = model("a", "7");
    assert_eq!(first, model("b", "7"));
    assert_ne!(first, model("c", "8"));
}

#[test]
fn a_killed_training_resumes_to_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 25_000);
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "whole", "-q"]);
    kill_after_checkpoint(dir.path(), "loans.toml", "cut");
    assert!(!dir.path().join("cut/model.onnx").exists());
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "cut", "--resume", "-q"]);
    let read = |out: &str| fs::read(dir.path().join(out).join("model.onnx")).unwrap();
    assert_eq!(read("whole"), read("cut"));
    let lines = fs::read_to_string(dir.path().join("cut/run.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 25_000, "every epoch has its line, once");

    // With nothing left to resume it starts over, and says so.
    let output = deepsade(dir.path(), &["train", "loans.toml", "--out", "new", "--resume"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("starting from the beginning"));
    assert_eq!(read("whole"), read("new"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_and_says_how_to_go_on() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 1_000_000);
    let mut child =
        command(dir.path(), &["train", "loans.toml", "--out", "run"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    // Once an epoch is in the log of the run.
    let logged = |entry: fs::DirEntry| entry.metadata().is_ok_and(|m| m.is_file() && m.len() > 0);
    let begun = || fs::read_dir(dir.path().join("run")).is_ok_and(|files| files.flatten().any(logged));
    while !begun() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let status = child.wait().unwrap();
    let mut error = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut error).unwrap();
    assert_eq!(status.code(), Some(3), "{error}");
    assert!(error.contains("--resume"), "{error}");
    assert!(checkpoints(&dir.path().join("run")) > 0);
}

#[test]
fn explain_as_json_has_the_promised_fields() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 1);
    let e = json(dir.path(), 0, &["explain", "loans.toml", "--json"]);
    let rule = &e["rules"][0];
    assert_eq!(rule["name"], "poor");
    assert_eq!(rule["normal"], "income >= 20 or area != 'rural' or score('no') >= score('yes')");
    assert_eq!(rule["satisfiable"], true);
    assert_eq!(rule["rows_breaking"], 0);
    assert_eq!(e["conflict"], Value::Null);
    assert_eq!(e["skip"], serde_json::json!(["income", "area"]));
    assert_eq!(e["gate"], serde_json::json!([]));
    assert_eq!(e["audit"]["components"], 1);
    assert_eq!(e["features"][0], serde_json::json!({"name": "income", "kind": "real", "lo": 0.0, "hi": 99.0}));
}

#[test]
fn contradictory_rules_are_a_finding_with_a_witness() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 1);
    let more = "\n[[rule]]\nname = \"old\"\ntext = \"age > 60 => loan == 'yes'\"\n";
    let file = dir.path().join("loans.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text + more).unwrap();
    let e = json(dir.path(), 1, &["explain", "loans.toml", "--json"]);
    assert_eq!(e["conflict"]["rules"], serde_json::json!(["poor", "old"]));
    let witness = &e["conflict"]["witness"];
    assert!(witness["age"].as_f64().unwrap() > 60.0 && witness["income"].as_f64().unwrap() < 20.0, "{witness}");
    assert_eq!(witness["area"], "rural");
    let output = deepsade(dir.path(), &["train", "loans.toml", "--out", "run"]);
    assert_eq!(output.status.code(), Some(1), "a finding");
    let error = stderr(&output);
    assert!(error.contains("'poor', 'old' can't be obeyed together where"), "{error}");
}

#[test]
fn bad_input_is_refused_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 2);
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "run", "--force", "-q"]);
    let model = fs::read(dir.path().join("run/model.onnx")).unwrap();
    fs::write(dir.path().join("cut.onnx"), &model[..model.len() / 2]).unwrap();
    fs::write(dir.path().join("empty.csv"), "").unwrap();
    fs::write(dir.path().join("narrow.csv"), "income,age\n1,20\n").unwrap();
    fs::write(dir.path().join("words.csv"), "income,area,age\nmuch,urban,20\n").unwrap();

    for (args, words) in [
        (&["predict", "cut.onnx", "loans.csv"][..], "cut.onnx"),
        (&["predict", "missing.onnx", "loans.csv"], "missing.onnx"),
        (&["predict", "loans.csv", "loans.csv"], "loans.csv"),
        (&["predict", "run/model.onnx", "empty.csv"], "empty.csv"),
        (&["predict", "run/model.onnx", "narrow.csv"], "area"),
        (&["predict", "run/model.onnx", "words.csv"], "much"),
        (&["explain", "missing.toml"], "missing.toml"),
        (&["explain", "run"], "run"),
        (&["train", "loans.toml", "--out", "loans.csv"], "loans.csv"),
    ] {
        let error = refusal(dir.path(), args);
        assert!(error.contains(words), "{args:?}: {error}");
    }
    if cfg!(target_os = "linux") {
        let error = refusal(dir.path(), &["predict", "run/model.onnx", "loans.csv", "--out", "/dev/full"]);
        assert!(error.contains("/dev/full"), "{error}");
    }
    let error = refusal(dir.path(), &["train", "loans.toml", "--out", "run", "--force", "--seed", "minus one"]);
    assert!(error.contains("--seed"), "{error}");
    let error = refusal(dir.path(), &["predict", "run/model.onnx", "loans.csv", "--out", "./loans.csv"]);
    assert!(error.contains("overwrite an input"), "{error}");
    // A way to enforce rules that can't be is not silently left out: no float32 number is a tenth of every income.
    let text = fs::read_to_string(dir.path().join("loans.toml")).unwrap();
    fs::write(
        dir.path().join("enforced.toml"),
        text.replace("[train]\n", "[train]\nenforce = \"decode\"\n")
            + "[[rule]]\nname = \"raw\"\ntext = \"score('yes') == 0.1 * income\"\n",
    )
    .unwrap();
    let output = deepsade(dir.path(), &["train", "enforced.toml", "--out", "run", "--force"]);
    assert_eq!(output.status.code(), Some(1), "a finding");
    assert!(stderr(&output).contains("'raw'"), "{output:?}");
    assert_eq!(fs::read(dir.path().join("run/model.onnx")).unwrap(), model, "the earlier model is still there");
}

#[test]
fn the_rule_file_of_the_readme_is_the_demo_in_short() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let toml = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("README.md has a rule file");
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("readme.toml"), toml).unwrap();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let e = json(dir.path(), 0, &["explain", "readme.toml", "--data", data, "--json"]);
    assert_eq!((&e["rows"], &e["rules"][0]["satisfiable"]), (&1599.into(), &true.into()));
}

#[test]
fn check_accepts_what_train_wrote_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 10);
    let shown = expect(dir.path(), 0, &["train", "loans.toml", "--out", "run", "--enforce", "weights", "-q"]);
    assert!(shown.contains("certificate accepted: 1 rule holds for every input"), "{shown}");
    let verdict = json(dir.path(), 0, &["check", "run", "--json"]);
    assert_eq!((&verdict["verdict"], &verdict["rules"][0]["name"]), (&"accepted".into(), &"poor".into()));

    // One multiplier less: the step is named.
    let path = dir.path().join("run/certificate.json");
    let text = fs::read_to_string(&path).unwrap();
    let cells = text.find("\"cells\":[[").unwrap() + 10;
    let comma = cells + text[cells..].find(',').unwrap();
    let cut = dir.path().join("cut.json");
    fs::write(&cut, format!("{}{}", &text[..cells], &text[comma + 1..])).unwrap();
    let model = ["--model", "run/model.onnx", "--rules", "run/rules.toml"];
    let shown = expect(dir.path(), 1, &[&["check"], &model[..], &["--certificate", "cut.json"]].concat());
    assert!(shown.contains("REJECTED at rule \"poor\", region root, cell"), "{shown}");

    // A proof for real numbers is not one for float32, and a stated domain must be covered.
    fs::write(&cut, text.replace("\"float32\"", "\"real\"")).unwrap();
    let shown = expect(dir.path(), 1, &[&["check"], &model[..], &["--certificate", "cut.json"]].concat());
    assert!(shown.contains("REJECTED at arithmetic"), "{shown}");
    expect(dir.path(), 0, &[&["check"], &model[..], &["--certificate", "cut.json", "--real"]].concat());
    let stated = fs::read_to_string(dir.path().join("run/rules.toml")).unwrap();
    let wider = stated.replace("range = [0.0, 99.0]", "range = [-5, 1000]");
    assert_ne!(stated, wider);
    fs::write(dir.path().join("wider.toml"), wider).unwrap();
    let shown = expect(dir.path(), 1, &["check", "run", "--rules", "wider.toml"]);
    assert!(shown.contains("REJECTED at claim") && shown.contains("\"income\""), "{shown}");

    // Another rule file, another model: the hashes do not fit.
    let rules = fs::read_to_string(dir.path().join("run/rules.toml")).unwrap().replace("income < 20", "income < 21");
    fs::write(dir.path().join("run/rules.toml"), rules).unwrap();
    let verdict = json(dir.path(), 1, &["check", "run", "--json"]);
    assert_eq!(verdict["step"], "rules hash");
    refusal(dir.path(), &["check", "nowhere"]);
    refusal(dir.path(), &["check"]);
}

#[test]
fn rules_that_no_last_layer_can_meet_are_named_before_training() {
    let dir = tempfile::tempdir().unwrap();
    let data: String = (0..50).map(|i| format!("{i},{}\n", 2 * i)).collect();
    fs::write(dir.path().join("d.csv"), format!("x,y\n{data}")).unwrap();
    let rule = |name: &str, text: &str| format!("[[rule]]\nname = \"{name}\"\ntext = \"{text}\"\n");
    let head = "[data]\nfile = \"d.csv\"\ntargets = [\"y\"]\n[task]\nkind = \"regression\"\n[train]\nepochs = 2\n";
    // An equality leaves no margin; the rule beside it is not to blame.
    fs::write(dir.path().join("r.toml"), format!("{head}{}{}", rule("loose", "y <= 200"), rule("exact", "y == 2 * x"))).unwrap();
    let output = deepsade(dir.path(), &["train", "r.toml", "--out", "run", "--force"]);
    assert_eq!(output.status.code(), Some(1), "a finding");
    let error = stderr(&output);
    assert!(error.contains("rule 'exact'") && error.contains("state the rule as `abs(left - right) <= "), "{error}");
    // What is offered can be kept.
    let offered = error.split("abs(left - right) <= ").nth(1).and_then(|rest| rest.split('`').next()).expect("a tolerance");
    let near = format!("abs(y - 2 * x) <= {offered}");
    fs::write(dir.path().join("n.toml"), format!("{head}{}{}", rule("loose", "y <= 200"), rule("near", &near))).unwrap();
    assert_eq!(json(dir.path(), 0, &["train", "n.toml", "--out", "near", "--json", "-q"])["certified"], true);
    let shown = expect(dir.path(), 0, &["explain", "r.toml", "-q"]);
    assert!(shown.contains("Through the weights they can't be enforced: no last layer satisfies 'exact'"), "{shown}");
    // In exact arithmetic there is one: the margin is named, and nothing is said about equalities.
    fs::write(dir.path().join("s.toml"), format!("{head}{}", rule("narrow", "2 * x <= y and y <= 2 * x + 0.00001"))).unwrap();
    let error = stderr(&deepsade(dir.path(), &["train", "s.toml", "--out", "run", "--force"]));
    assert!(error.contains("'narrow'") && error.contains("takes a margin of about") && !error.contains("an equality"), "{error}");
    fs::write(dir.path().join("t.toml"), format!("{head}{}", rule("near", "abs(y - 2 * x) <= 0.5"))).unwrap();
    let shown = expect(dir.path(), 0, &["explain", "t.toml", "-q"]);
    assert!(!shown.contains("Through the weights"), "{shown}");
    let report = json(dir.path(), 0, &["train", "t.toml", "--out", "run", "--force", "--json", "-q"]);
    assert_eq!(report["certified"], true);
}

#[test]
fn every_way_to_bound_the_hidden_units_ends_certified() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 10);
    let text = fs::read_to_string(dir.path().join("loans.toml")).unwrap();
    for (name, setting, leaves) in [
        ("relational", "bounds = \"relational\"", 1),
        ("regions", "regions = 4", 4),
        ("both", "bounds = \"relational\"\nregions = 3", 3),
    ] {
        let file = format!("{name}.toml");
        fs::write(dir.path().join(&file), text.replace("[train]\n", &format!("[train]\n{setting}\n"))).unwrap();
        let report = json(dir.path(), 0, &["train", &file, "--out", name, "--enforce", "weights", "--json", "-q"]);
        assert_eq!(report["certified"], true, "{name}: {report}");
        let verdict = json(dir.path(), 0, &["check", name, "--json"]);
        assert_eq!(verdict["rules"][0]["regions"], leaves, "{name}");
        let certificate = fs::read_to_string(dir.path().join(name).join("certificate.json")).unwrap();
        assert_eq!(certificate.contains("relational"), setting.contains("relational"), "{name}");
    }
}

/// Rules that hold are no reason to be silent about a model that has learnt nothing.
#[test]
fn a_useless_model_is_warned_of_though_it_is_certified() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 30);
    let report = json(dir.path(), 0, &["train", "loans.toml", "--out", "good", "--json"]);
    assert_eq!(report["warnings"], serde_json::json!([]), "{report}");
    let mut csv = String::from("x,y\n");
    (0..200).for_each(|i| csv.push_str(&format!("{},{}\n", i % 40, 2 * (i % 40) + i % 3)));
    fs::write(dir.path().join("numbers.csv"), csv).unwrap();
    let numbers = "[data]\nfile = \"numbers.csv\"\ntargets = [\"y\"]\n[task]\nkind = \"regression\"\n[network]\nhidden = [8]\n\
                   [train]\nepochs = 5\nbatch = 10\nlearning_rate = 1e6\n[[rule]]\nname = \"floor\"\ntext = \"y >= -10 * x - 1\"\n";
    fs::write(dir.path().join("wild.toml"), numbers).unwrap();
    let report = json(dir.path(), 0, &["train", "wild.toml", "--out", "wild", "--force", "--json"]);
    assert_eq!(report["certified"], true, "{report}");
    let warning = report["warnings"][0].as_str().unwrap_or_else(|| panic!("{report}")).to_owned();
    assert!(warning.contains("no better than one constant prediction: mse"), "{warning}");
    let shown = expect(dir.path(), 0, &["train", "wild.toml", "--out", "wild", "--force", "-q"]);
    assert!(shown.contains(&format!("WARNING: {warning}")), "{shown}");
    let kept: Value = serde_json::from_slice(&fs::read(dir.path().join("wild/summary.json")).unwrap()).unwrap();
    assert_eq!(kept["warnings"], report["warnings"]);
}

#[test]
fn the_version_names_the_commit_where_there_is_one() {
    let git = |args: &[&str]| {
        let output = std::process::Command::new("git").args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_string())
    };
    let ours = git(&["rev-parse", "--show-prefix"]).is_some_and(|prefix| prefix == "crates/cli/");
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| ours).map_or(String::new(), |c| format!(" ({c})"));
    let printed = expect(Path::new("."), 0, &["--version"]);
    assert_eq!(printed, format!("deepsade {}{commit}\n", env!("CARGO_PKG_VERSION")));
}

/// What a summary says of the model: all but where it is and how long it took.
fn of_the_model(summary: &Value) -> Value {
    let mut said = summary.clone();
    for key in ["model", "seconds", "timings"] {
        said.as_object_mut().unwrap().remove(key).unwrap_or_else(|| panic!("no {key}: {summary}"));
    }
    said
}

#[test]
fn train_and_reproduce_leave_the_same_files_and_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let header = "Gender,Married,Dependents,Education,Self_Employed,ApplicantIncome,CoapplicantIncome,LoanAmount,Loan_Amount_Term,\
                  Credit_History,Property_Area,Loan_Status\n";
    let rows =
        "Male,Yes,0,Graduate,No,4000,0,100,360,0,Urban,N\nMale,No,1,Not Graduate,Yes,6000,10,120,180,1,Rural,Y\n".repeat(50);
    fs::write(at("loan_data_set.csv"), header.to_string() + &rows).unwrap();
    let names = |name: &str| vec![name.to_string()];
    let options = Options { cases: names("uc2"), methods: names("deepsade"), repeats: 1, folds: 2, quick: false, seed: 0 };
    let mut plan = Experiment::new(&options).unwrap();
    let (mut run, case) = (plan.runs[0].clone(), &mut plan.cases[0]);
    // A run of the command line has one seed.
    run.seed = run.split_seed;
    case.epochs.insert(run.method, 2);
    fs::write(at("uc2.toml"), case.rules()).unwrap();
    // These are not the rows of the paper.
    let problem = case.problem(folder.path()).unwrap();
    let (spec, loaded) = problem.load(&mut |_| {}).unwrap();
    let found = fit::rows(&spec, &loaded.unwrap(), problem.data.as_ref().unwrap(), run.split_seed).unwrap();
    case.rows = found.all.rows();
    case.columns = spec.schema.columns().len();
    case.breaking = found.breaking.iter().filter(|b| **b).count();

    measure(&plan, &run, &Stock::new(folder.path()), Some(&at("lab")), &|| false).unwrap().unwrap();
    let (seed, fold) = (run.seed.to_string(), format!("{}/2", run.fold));
    let as_in_the_lab = ["--enforce", "weights", "--epochs", "2", "--seed", &seed, "--fold", &fold];
    expect(folder.path(), 0, &[&["train", "uc2.toml", "--out", "cli", "-q"], &as_in_the_lab[..]].concat());
    let files = |name: &str| -> BTreeSet<_> { fs::read_dir(at(name)).unwrap().map(|f| f.unwrap().file_name()).collect() };
    assert_eq!(files("cli"), files("lab"));
    let said = |name: &str| -> Value { serde_json::from_slice(&fs::read(at(name).join("summary.json")).unwrap()).unwrap() };
    let (cli, lab) = (said("cli"), said("lab"));
    let file = |of: &str, name: &str| fs::read(at(of).join(name)).unwrap();
    for name in ["model.onnx", "certificate.json"] {
        assert_eq!(file("cli", name), file("lab", name), "{name}");
    }
    // The lab trains what a table names, and nothing to compare it with.
    assert_eq!((cli["cost"]["metric"].as_str(), &cli["certified"]), (Some("accuracy"), &true.into()));
    let mut compared = of_the_model(&cli);
    // Nor does it judge a model for a page of its own.
    for key in ["effects", "scores"] {
        assert!(compared.as_object_mut().unwrap().remove(key).is_some() && lab.get(key).is_none(), "{key}");
    }
    // A test is a program without a commit of its own.
    assert!(
        cli["program"].as_str().unwrap().starts_with(lab["program"].as_str().unwrap()),
        "{} {}",
        cli["program"],
        lab["program"]
    );
    compared["program"] = lab["program"].clone();
    for key in ["cost", "distinct", "fallbacks"] {
        assert_eq!((cli[key].is_null(), &lab[key]), (false, &Value::Null), "{key}");
        compared[key] = Value::Null;
    }
    // What is worth saying of the cost is said where there is one.
    let warnings = compared["warnings"].as_array_mut().unwrap();
    warnings.retain(|words| lab["warnings"].as_array().unwrap().contains(words));
    assert_eq!(compared, of_the_model(&lab));

    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/training.md")).unwrap();
    let listed =
        docs.split_once("The keys of a summary").unwrap().1.split_once("made it:").unwrap().1.split_once(".\n").unwrap().0;
    let listed: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
    assert_eq!(listed, cli.as_object().unwrap().keys().collect::<Vec<_>>(), "docs/training.md lists the keys");
}

/// The way of the Python package: settings as JSON, rows as a table.
#[test]
fn rows_in_memory_give_what_their_file_gives() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let row = |k: usize| format!("{},{},{}\n", 10 + k * 37 % 101, 1 + k % 6, (k * 53 % 97) as f64 / 10.0);
    fs::write(at("d.csv"), format!("income,members,rent\n{}", (0..120).map(row).collect::<String>())).unwrap();
    let rules = "[data]\nfile = 'd.csv'\ntargets = ['rent']\nsplit = { train = 0.8, validation = 0.2, test = 0.0 }\n\
                 [task]\nkind = 'regression'\n[features]\nincome = { range = [0, 200] }\n[network]\nhidden = [6]\n\
                 [train]\nepochs = 3\n[[rule]]\nname = 'afford'\ntext = '0 <= rent <= 0.5 * income'\n";
    fs::write(at("d.toml"), rules).unwrap();
    let file = json(folder.path(), 0, &["train", "d.toml", "--seed", "7", "--out", "run", "--json", "-q"]);

    let settings = object!({
        "data": {"targets": ["rent"], "split": {"train": 0.8, "validation": 0.2, "test": 0.0}},
        "task": {"kind": "regression"},
        "features": {"income": {"range": [0, 200]}},
        "network": {"hidden": [6]},
        "train": {"epochs": 3},
        "rule": [{"name": "afford", "text": "0 <= rent <= 0.5 * income"}],
    });
    let table = read_table(&at("d.csv"), &ReadOptions::default(), &mut |_| {}).unwrap();
    let Prepared::Ready(ready) = Checked::in_memory(&settings.to_string(), 7).unwrap().take(table).unwrap() else {
        panic!("rent can be 0")
    };
    let Ended::Done(finished) = ready.train(None, &mut Silent).unwrap() else { panic!("three epochs end") };
    assert_eq!(finished.bytes, fs::read(at("run/model.onnx")).unwrap());
    assert_eq!(finished.certificate.as_ref().unwrap().as_bytes(), fs::read(at("run/certificate.json")).unwrap());
    let said_of = |summary: &Value| {
        let mut said = of_the_model(summary);
        // The program's commit and where rows come from are the command's to tell, and so is what its page shows.
        for key in ["data", "effects", "program"] {
            said.as_object_mut().unwrap().remove(key).unwrap_or_else(|| panic!("no {key}: {summary}"));
        }
        said
    };
    assert_eq!(said_of(&finished.summary(None)), said_of(&file));
}

/// Inputs with decimals that are no float32 numbers, targets at the borders of the rules; a reader computes in float64.
#[test]
fn predictions_obey_as_they_are_printed() {
    let dir = tempfile::tempdir().unwrap();
    let x = |i: usize| (i * 7919 % 40_000) as f64 / 1000.0 + 0.001;
    let rows: String = (0..400).map(|i| format!("{},{},{}\n", x(i), 0.3 * x(i) + 0.5, 0.8 * x(i))).collect();
    fs::write(dir.path().join("d.csv"), format!("x,y,z\n{rows}")).unwrap();
    let rules: String = ["y <= 0.3 * x", "y + z <= x", "z >= 0 and y >= 0", "z <= x"]
        .iter()
        .map(|text| format!("[[rule]]\nname = \"{text}\"\ntext = \"{text}\"\n"))
        .collect();
    let head = "[data]\nfile = \"d.csv\"\ntargets = [\"y\", \"z\"]\n[task]\nkind = \"regression\"\n";
    let train = "[network]\nhidden = [6]\n[train]\nepochs = 40\nlearning_rate = 0.01\n";
    fs::write(dir.path().join("r.toml"), format!("{head}{train}{rules}")).unwrap();
    for enforce in ["weights", "decode"] {
        expect(dir.path(), 0, &["train", "r.toml", "--out", "run", "--force", "--enforce", enforce, "-q"]);
        let printed = expect(dir.path(), 0, &["predict", "run/model.onnx", "d.csv", "-q"]);
        let mut near = 0;
        for (i, line) in printed.lines().skip(1).enumerate() {
            let values: Vec<f64> = line.split(',').take(2).map(|v| v.parse().unwrap()).collect();
            let [y, z] = values[..] else { panic!("{line}") };
            assert!(
                y <= 0.3 * x(i) && y + z <= x(i) && z >= 0.0 && y >= 0.0 && z <= x(i),
                "{enforce}: x = {} gives {line}",
                x(i)
            );
            near += usize::from(y + z > x(i) * (1.0 - 1e-5));
        }
        assert!(enforce == "weights" || near > 40, "only {near} at the border");
        // Outside the domain no number obeys, and nothing is guaranteed: that is not a matter of float64.
        fs::write(dir.path().join("out.csv"), "x\n-5\n").unwrap();
        let said = json(dir.path(), 0, &["predict", "run/model.onnx", "out.csv", "-q", "--json", "--out", "p.csv"]);
        assert_eq!((&said["outside_domain"], &said["broken_as_read"]), (&1.into(), &0.into()), "{enforce}: {said}");
    }
}

/// A rule file is a person's own: what would write another one in its place is refused before any work.
#[test]
fn the_rule_file_given_is_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    small_problem(dir.path(), 1);
    expect(dir.path(), 0, &["train", "loans.toml", "--out", "run", "--enforce", "none", "-q"]);
    let own = |file: &str| fs::read_to_string(dir.path().join(file)).unwrap();
    let before = [own("run/rules.toml"), own("loans.toml")];
    let asked = ["--model", "run/model.onnx", "--rules", "run/rules.toml"];
    for (first, last) in [
        (&["train", "run/rules.toml"][..], &["--out", "run"][..]),
        (&["shield", asked[0], asked[1], asked[2], asked[3]], &["--out", "run/../run"]),
        (&["repair", asked[0], asked[1], asked[2], asked[3]], &["--out", "run"]),
        (&["verify", asked[0], asked[1], asked[2], asked[3]], &["--certificate", "run"]),
        (&["export", "loans.toml", "--to", "vnnlib"], &["--out", "loans.toml"]),
    ] {
        let said = refusal(dir.path(), &[first, last].concat());
        assert!(
            (said.contains("overwrit") || said.contains("would be replaced")) && said.contains("name another"),
            "{first:?}: {said}"
        );
        assert_eq!([own("run/rules.toml"), own("loans.toml")], before, "{first:?}");
    }
    // Two numbers a row are one for each class, and a threshold is for one.
    let shield = ["shield", "--model", "run/model.onnx", "--rules", "loans.toml", "--out", "kept", "--force"];
    let said = refusal(dir.path(), &[&shield[..], &["--threshold", "0.5"]].concat());
    assert!(said.contains("2 numbers a row") && said.contains("--threshold is for one"), "{said}");
    expect(dir.path(), 0, &shield);
    // A rule that can't be read is told in words.
    fs::write(
        dir.path().join("odd.toml"),
        own("kept/rules.toml").replace("=> loan == 'no'", "=> increasing(loan == 'no', age) or age > 3"),
    )
    .unwrap();
    let output = deepsade(dir.path(), &["check", "kept", "--rules", "odd.toml"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    assert!(!output.status.success() && said.contains("poor") && !said.contains("RuleError"), "{said}");
}
