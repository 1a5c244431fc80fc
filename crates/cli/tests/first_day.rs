//! What a stranger runs first: folders that are not overwritten, rows from a pipe, names that pass through, help for the shell, scores.

mod support;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use support::{command, deepsade, expect, json, refusal, small_problem, stderr};

#[test]
fn what_a_folder_holds_is_replaced_only_by_force() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 2);
    expect(home, 0, &["train", "loans.toml", "--out", "run", "-q"]);
    let model = || fs::read(home.join("run/model.onnx")).unwrap();
    let first = model();
    let error = refusal(home, &["train", "loans.toml", "--out", "run", "--seed", "5", "-q"]);
    assert!(error.contains("run holds a model already") && error.contains("--force"), "{error}");
    let error = refusal(home, &["train", "loans.toml", "--out", "run", "--resume", "-q"]);
    assert!(error.contains("nothing to resume"), "{error}");
    assert_eq!(model(), first);
    expect(home, 0, &["train", "loans.toml", "--out", "run", "--seed", "5", "-q", "--force", "--enforce", "weights"]);
    assert_ne!(model(), first);
    // What belonged to the model before goes with it.
    fs::write(home.join("run/estimator.json"), "{}").unwrap();
    expect(home, 0, &["train", "loans.toml", "--out", "run", "-q", "--force", "--enforce", "weights"]);
    assert!(!home.join("run/estimator.json").exists() && home.join("run/summary.json").exists());
    let onto = ["verify", "--model", "run/model.onnx", "--rules", "run/rules.toml", "--certificate", "other", "--force"];
    fs::create_dir(home.join("other")).unwrap();
    fs::copy(home.join("run/summary.json"), home.join("other/summary.json")).unwrap();
    expect(home, 0, &onto);
    assert!(home.join("other/certificate.json").exists() && !home.join("other/summary.json").exists());
    // The other commands that write a model hold to it as well.
    let rules = ["--model", "run/model.onnx", "--rules", "run/rules.toml"];
    for (name, option) in [("verify", "--certificate"), ("shield", "--out"), ("repair", "--out")] {
        let call = [&[name][..], &rules, &[option, "there"]].concat();
        expect(home, 0, &call);
        assert!(refusal(home, &call).contains("--force"), "{name}");
        expect(home, 0, &[&call[..], &["--force"]].concat());
        fs::remove_dir_all(home.join("there")).unwrap();
    }
}

#[test]
fn an_unfinished_run_is_gone_on_with_or_replaced_never_by_chance() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 1_000_000);
    support::kill_after_checkpoint(home, "loans.toml", "cut");
    let error = refusal(home, &["train", "loans.toml", "--out", "cut", "-q"]);
    assert!(error.contains("unfinished run") && error.contains("--resume") && error.contains("--force"), "{error}");
    expect(home, 0, &["train", "loans.toml", "--out", "cut", "-q", "--force", "--epochs", "1"]);
}

#[test]
fn a_failed_run_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 2);
    let text = fs::read_to_string(home.join("loans.toml")).unwrap();
    fs::write(home.join("no_data.toml"), text.replace("loans.csv", "absent.csv")).unwrap();
    fs::write(home.join("no_gate.toml"), text.replace("hidden = [8, 4]", "gate = \"area\"")).unwrap();
    for file in ["no_data.toml", "no_gate.toml"] {
        refusal(home, &["train", file, "--out", "failed", "-q"]);
        assert!(!home.join("failed").exists(), "{file}");
    }
    fs::create_dir(home.join("mine")).unwrap();
    fs::write(home.join("mine/notes.txt"), "keep").unwrap();
    refusal(home, &["train", "no_gate.toml", "--out", "mine", "-q"]);
    let left: Vec<_> = fs::read_dir(home.join("mine")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
}

#[test]
fn a_gate_that_reaches_zero_is_told_where_to_start() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let rows: String = (0..60).map(|k| format!("{},{}\n", k, f64::from(k) * 0.4)).collect();
    fs::write(home.join("h.csv"), format!("income,rent\n{rows}")).unwrap();
    let file = |gate: &str| {
        format!(
            "[data]\nfile = \"h.csv\"\ntargets = [\"rent\"]\n[features]\nincome = {{ range = [0.0, 100.0] }}\n[task]\nkind = \"regression\"\n\
             [network]\nhidden = [4]\ngate = \"{gate}\"\n[train]\nepochs = 2\nenforce = \"weights\"\n\
             [[rule]]\nname = \"afford\"\ntext = \"0 <= rent <= income\"\n"
        )
    };
    fs::write(home.join("stated.toml"), file("income")).unwrap();
    let error = refusal(home, &["train", "stated.toml", "-q"]);
    assert!(error.contains("start at 0.001 or state whole numbers"), "{error}");
    fs::write(home.join("auto.toml"), file("auto")).unwrap();
    let said = stderr(&deepsade(home, &["train", "auto.toml", "--out", "auto"]));
    assert!(said.contains("start at 0.001 or state whole numbers"), "{said}");
    // Where nothing but a gate keeps the rules, the refusal says so as well, and it is true.
    let both: String = (0..60).map(|k| format!("{k},{},{}\n", f64::from(k) * 0.4, f64::from(k) * 0.3)).collect();
    fs::write(home.join("h.csv"), format!("income,rent,food\n{both}")).unwrap();
    let two = file("auto").replace("[\"rent\"]", "[\"rent\", \"food\"]").replace("0 <= rent <= income", "rent + food <= income")
        + "[[rule]]\nname = \"p\"\ntext = \"rent >= 0\"\n[[rule]]\nname = \"q\"\ntext = \"food >= 0\"\n";
    fs::write(home.join("two.toml"), &two).unwrap();
    let output = deepsade(home, &["train", "two.toml", "--out", "two", "-q"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("let the range of 'income'"), "{}", stderr(&output));
    fs::write(home.join("gated.toml"), two.replace("range = [0.0,", "range = [0.001,")).unwrap();
    fs::write(home.join("h.csv"), format!("income,rent,food\n{}", both.split_once('\n').unwrap().1)).unwrap();
    expect(home, 0, &["train", "gated.toml", "--out", "gated", "-q"]);
}

/// What is given in place of something else is told in plain words.
#[test]
fn options_and_files_say_what_they_expect() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 1);
    for (args, words) in [
        (&["train", "loans.toml", "--folds", "x"][..], "expected a whole number, such as 5"),
        (&["verify", "--model", "m.onnx", "--rules", "loans.toml", "--timeout", "soon"], "expected a number, such as 0.5"),
        (&["init", "loans.csv", "--separator", "tabulator"], "the word tab"),
        (&["train", "loans.csv"], "is data, not a rule file: `deepsade init loans.csv` drafts a rule file for it"),
        (&["predict", "loans.csv", "loans.csv"], "not an ONNX file"),
    ] {
        let error = refusal(home, args);
        assert!(error.contains(words) && !error.contains("wire type") && !error.contains("invalid digit"), "{error}");
    }
    expect(home, 0, &["train", "loans.toml", "--out", "run", "-q"]);
    fs::write(home.join("new.tsv"), "income\tarea\tage\n30\turban\t40\n").unwrap();
    for tab in ["tab", "\\t"] {
        expect(home, 0, &["predict", "run/model.onnx", "new.tsv", "--separator", tab, "-q"]);
    }
    // Columns that say something about rows are no features, and a split that says too little is told where.
    let text = fs::read_to_string(home.join("loans.toml")).unwrap();
    let weighted =
        text.replace("targets =", "weight = \"age\"\ntargets =").replace("[task]", "[features.age]\nkind = \"integer\"\n[task]");
    fs::write(home.join("w.toml"), weighted).unwrap();
    let error = refusal(home, &["train", "w.toml", "-q"]);
    assert!(error.contains("the weight of rows (`weight` in [data])") && error.contains("delete the table of 'age'"), "{error}");
    fs::write(home.join("s.toml"), text.replace("targets =", "split = { file = \"s.csv\" }\ntargets =")).unwrap();
    let error = refusal(home, &["train", "s.toml", "-q"]);
    assert!(error.contains("the file of `split`, 's.csv' not found") && !error.contains("public files"), "{error}");
    fs::write(home.join("s.csv"), "row,part\n1,Train\n2,Test\n").unwrap();
    let error = refusal(home, &["train", "s.toml", "-q"]);
    assert!(
        error.contains("row 3: ") && error.contains("s.csv says nothing of it, but must say train, validation or test"),
        "{error}"
    );
}

#[test]
fn weights_of_classes_are_in_the_summary_and_on_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 1);
    let text = fs::read_to_string(home.join("loans.toml")).unwrap();
    for (weight, words) in
        [("\"balanced\"", "balanced: all classes count alike"), ("{ yes = 3 }", "yes 3.0 in training, others 1")]
    {
        fs::write(home.join("w.toml"), text.replace("[train]\n", &format!("[train]\nclass_weight = {weight}\n"))).unwrap();
        let said = json(home, 0, &["train", "w.toml", "--out", "run", "--force", "--json", "-q"]);
        assert!(!said["class_weight"].is_null(), "{said}");
        expect(home, 0, &["report", "run"]);
        let page = fs::read_to_string(home.join("run/report.html")).unwrap();
        assert!(page.contains(words), "{words}");
    }
}

/// A column of numbers with one word in it: told before training, in the summary, also with `-q`.
#[test]
fn a_stray_word_among_numbers_is_told_wherever_rows_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let cell = |k: u32| if k == 7 { "oops".to_string() } else { (k % 9).to_string() };
    let rows: String = (0..80).map(|k| format!("{},{},{}\n", k % 11, cell(k), k % 5)).collect();
    fs::write(home.join("d.csv"), format!("a,b,y\n{rows}")).unwrap();
    let toml = "[data]\nfile = \"d.csv\"\ntargets = [\"y\"]\n[task]\nkind = \"regression\"\n[network]\nhidden = [4]\nmembers = 1\n\
                [train]\nepochs = 2\n[[rule]]\nname = \"r\"\ntext = \"y <= 90\"\n";
    fs::write(home.join("r.toml"), toml).unwrap();
    let told = |said: &Value, of: &str| said[of].to_string().contains("column 'b' holds numbers but for 'oops' (row 8)");
    let explained = json(home, 0, &["explain", "r.toml", "--json"]);
    assert!(told(&explained, "notes"), "{explained}");
    let trained = json(home, 0, &["train", "r.toml", "--out", "run", "--json", "-q"]);
    assert!(told(&trained, "warnings"), "{trained}");
    // One that is meant is no matter.
    fs::write(home.join("r.toml"), toml.replace("[network]", "[features.b]\nkind = \"category\"\n[network]")).unwrap();
    assert!(!told(&json(home, 0, &["explain", "r.toml", "--json"]), "notes"));
}

#[test]
fn shells_and_man_get_what_they_read() {
    let dir = tempfile::tempdir().unwrap();
    for (shell, sign) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef deepsade"),
        ("fish", "complete -c deepsade"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = expect(dir.path(), 0, &["completions", shell]);
        assert!(script.contains(sign) && script.contains("enforce") && script.contains("predict"), "{shell}");
    }
    let page = expect(dir.path(), 0, &["man"]);
    assert!(page.contains(".TH deepsade 1") && page.contains("certificate"), "{page}");
    let page = expect(dir.path(), 0, &["man", "train"]);
    assert!(page.contains("\\-\\-enforce"), "{page}");
    assert!(refusal(dir.path(), &["man", "trane"]).contains("there is no command 'trane'"));
}

fn rows(csv: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().iter().map(String::from).collect();
    (header, reader.records().map(|r| r.unwrap().iter().map(String::from).collect()).collect())
}

fn piped(home: &Path, args: &[&str], input: &[u8]) -> (i32, String, String) {
    let mut child = command(home, args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout.clone()).unwrap(), stderr(&output))
}

#[test]
fn names_pass_through_and_rows_come_from_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 5);
    expect(home, 0, &["train", "loans.toml", "--out", "run", "-q"]);
    let new = "customer,income,area,age,branch\n007,30,urban,40,=1+1\n008,80,rural,30,north\n,10,rural,50,\"a,b\"\n";
    fs::write(home.join("new.csv"), new).unwrap();
    let call = ["predict", "run/model.onnx", "new.csv", "-q", "--id", "customer", "--id", "branch", "--id", "income"];
    let (header, found) = rows(&expect(home, 0, &call));
    assert_eq!(header, ["customer", "branch", "income", "loan", "in_domain", "outside"]);
    assert_eq!(found.iter().map(|r| &r[0]).collect::<Vec<_>>(), ["007", "008", ""]);
    assert_eq!((found[0][1].as_str(), found[2][1].as_str(), found[1][2].as_str()), ("'=1+1", "a,b", "80"));
    assert!(refusal(home, &["predict", "run/model.onnx", "new.csv", "--id", "custmer"]).contains("customer"));
    assert!(refusal(home, &["predict", "run/model.onnx", "loans.csv", "--id", "loan"]).contains("--id loan"));

    let plain = expect(home, 0, &["predict", "run/model.onnx", "new.csv", "-q"]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(new.as_bytes()).unwrap();
    for input in [new.as_bytes().to_vec(), packed.finish().unwrap()] {
        let (code, out, error) = piped(home, &["predict", "run/model.onnx", "-", "--out", "-", "-q"], &input);
        assert_eq!((code, out), (0, plain.clone()), "{error}");
    }
    let (code, _, error) = piped(home, &["predict", "run/model.onnx", "-"], b"income,age\n1,2\n");
    assert!(code == 2 && error.contains("area"), "{error}");
    let (code, _, error) = piped(home, &["predict", "run/model.onnx", "-"], b"income,area,age\nmuch,urban,2\n");
    assert!(code == 2 && error.contains("standard input") && !error.contains("/tmp"), "{error}");
}

#[test]
fn every_classifier_has_probabilities_by_the_names_of_its_classes() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 10);
    for enforce in ["none", "weights", "decode"] {
        expect(home, 0, &["train", "loans.toml", "--out", enforce, "--enforce", enforce, "-q"]);
        let model = format!("{enforce}/model.onnx");
        let (header, found) = rows(&expect(home, 0, &["predict", &model, "loans.csv", "-q", "--proba"]));
        assert_eq!(header[3..], ["probability", "p('no')", "p('yes')"], "{enforce}");
        for row in &found {
            let p: Vec<f64> = row[3..].iter().map(|v| v.parse().unwrap()).collect();
            assert!((p[1] + p[2] - 1.0).abs() < 2e-6, "{enforce}: {row:?}");
            assert!((p[0] - if row[0] == "yes" { p[2] } else { p[1] }).abs() < 1e-9, "{enforce}: {row:?}");
            assert!(p[0] >= 0.5, "the class that is predicted is the likelier: {row:?}");
        }
    }
}

fn with_cutoff(home: &Path, cutoff: f64, more: &str) -> String {
    let text = fs::read_to_string(home.join("loans.toml")).unwrap();
    text.replace("kind = \"binary\"\n", &format!("kind = \"binary\"\ncutoff = {cutoff}\n")) + more
}

#[test]
fn a_cutoff_decides_and_the_rules_are_about_the_decision() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 5);
    let mut shares = Vec::new();
    for (cutoff, name) in [(0.1, "low"), (0.9, "high")] {
        for enforce in ["weights", "decode"] {
            fs::write(home.join("cut.toml"), with_cutoff(home, cutoff, "")).unwrap();
            let out = format!("{name}-{enforce}");
            let said = json(home, 0, &["train", "cut.toml", "--out", &out, "--enforce", enforce, "--json", "-q"]);
            assert_eq!((&said["certified"], &said["cutoff"]), (&true.into(), &cutoff.into()), "{said}");
            assert_eq!(said["scores"]["test"]["cutoff"].as_f64().map(|c| (c * 1e6).round() / 1e6), Some(cutoff));
            expect(home, 0, &["check", &out]);
            let (_, found) = rows(&expect(home, 0, &["predict", &format!("{out}/model.onnx"), "loans.csv", "-q", "--proba"]));
            let mut between = 0;
            for row in &found {
                let yes: f64 = row[5].parse().unwrap();
                // Behind a rule that allows one class only, that class is certain.
                let decided = if yes > cutoff { "yes" } else { "no" };
                assert!(row[0] == decided || (yes - cutoff).abs() < 1e-5, "{out}: {row:?}");
                between += usize::from((yes > 0.5) != (yes > cutoff));
            }
            assert!(between > 0, "{out}: some rows are decided otherwise than at one half");
            shares.push(found.iter().filter(|r| r[0] == "yes").count());
            if enforce == "weights" {
                // The file that goes with another proof decides at the same probability.
                let (model, rules) = (format!("{out}/model.onnx"), format!("{out}/rules.toml"));
                expect(home, 0, &["verify", "--model", &model, "--rules", &rules, "--certificate", "again", "--force"]);
                expect(home, 0, &["repair", "--model", &model, "--rules", &rules, "--out", "mended", "--force"]);
                for folder in ["again", "mended"] {
                    expect(home, 0, &["check", folder]);
                    let printed = expect(home, 0, &["predict", &format!("{folder}/model.onnx"), "loans.csv", "-q", "--proba"]);
                    assert_eq!(rows(&printed).1, found, "{folder}");
                }
            }
        }
    }
    assert!(shares[0] > shares[2] && shares[1] > shares[3], "{shares:?}");
    // A rule file that states another cut-off is about another decision.
    let other = fs::read_to_string(home.join("low-weights/rules.toml")).unwrap().replace("cutoff = 0.1", "cutoff = 0.7");
    fs::write(home.join("other.toml"), other).unwrap();
    let (model, words) = ("low-weights/model.onnx", "decides at a probability of 0.1");
    assert!(refusal(home, &["verify", "--model", model, "--rules", "other.toml"]).contains(words));
    assert!(refusal(home, &["repair", "--model", model, "--rules", "other.toml", "--out", "no"]).contains(words));
    assert!(refusal(home, &["shield", "--model", model, "--rules", "other.toml", "--out", "no"]).contains(words));
    assert!(refusal(home, &["check", "low-weights", "--rules", "other.toml"]).contains(words));
    // A model that says nonsense of its own is not read as one that decides at one half.
    let mut bytes = fs::read(home.join(model)).unwrap();
    let (key, value) = (b"deepsade.cutoff", b"0.1");
    let at = bytes.windows(key.len()).position(|w| w == key).unwrap() + key.len() + 2;
    assert_eq!(&bytes[at..at + value.len()], value);
    bytes[at..at + value.len()].copy_from_slice(b"abc");
    fs::write(home.join("odd.onnx"), bytes).unwrap();
    let words = "'deepsade.cutoff' is \"abc\"";
    assert!(refusal(home, &["predict", "odd.onnx", "loans.csv"]).contains(words));
    assert!(refusal(home, &["verify", "--model", "odd.onnx", "--rules", "low-weights/rules.toml"]).contains(words));
    assert!(refusal(home, &["check", "low-weights", "--model", "odd.onnx"]).contains(words));
    for (cutoff, words) in [("0", "0.001"), ("1.5", "0.999"), ("'a'", "expected a number")] {
        let text = with_cutoff(home, 0.5, "").replace("cutoff = 0.5", &format!("cutoff = {cutoff}"));
        fs::write(home.join("bad.toml"), text).unwrap();
        assert!(refusal(home, &["train", "bad.toml", "-q"]).contains(words), "{cutoff}");
    }
    fs::write(home.join("bad.toml"), with_cutoff(home, 0.5, "").replace("binary", "multiclass")).unwrap();
    assert!(refusal(home, &["train", "bad.toml", "-q"]).contains("binary tasks"));
}

#[test]
fn scores_segments_and_facts_are_in_the_summary() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 30);
    let report = "[report]\ntitle = \"Loans <b>\"\nversion = \"1.2\"\nowner = \"Risk\"\nsegments = [\"area\", \"age\", \"branch\"]\nlimits = [\"Not for companies.\"]\n";
    let data: String = fs::read_to_string(home.join("loans.csv"))
        .unwrap()
        .lines()
        .enumerate()
        .map(|(k, line)| format!("{line},{}\n", if k == 0 { "branch" } else { ["north", "south"][k % 2] }))
        .collect();
    fs::write(home.join("loans.csv"), data).unwrap();
    // What the model must not see can still be looked at.
    let text = fs::read_to_string(home.join("loans.toml")).unwrap().replace("targets", "ignore = [\"branch\"]\ntargets") + report;
    fs::write(home.join("loans.toml"), &text).unwrap();
    let said = json(home, 0, &["train", "loans.toml", "--out", "run", "--json", "-q"]);
    let test = &said["scores"]["test"];
    for name in ["accuracy", "auc", "gini", "ks", "log_loss", "brier", "precision", "recall", "f1"] {
        let (value, interval) = (test[name].as_f64().unwrap_or(f64::NAN), &test["intervals"][name]);
        assert!(interval[0].as_f64().unwrap() <= value && value <= interval[1].as_f64().unwrap(), "{name} {value} {interval}");
        assert!(said["scores"]["train"][name].is_number() && said["scores"]["train"]["intervals"].is_null());
    }
    let counted: u64 = test["confusion"].as_object().unwrap().values().map(|v| v.as_u64().unwrap()).sum();
    assert_eq!((counted, test["rows"].as_u64()), (40, Some(40)));
    let segments = test["segments"].as_array().unwrap();
    let columns: Vec<&str> = segments.iter().map(|s| s["column"].as_str().unwrap()).collect();
    assert_eq!(columns, ["area", "age", "branch"]);
    for segment in segments {
        let rows: u64 = segment["parts"].as_array().unwrap().iter().map(|p| p["rows"].as_u64().unwrap()).sum();
        assert_eq!(rows, 40, "{segment}");
    }
    assert_eq!(segments[2]["parts"][0]["value"], "north");
    let hash = said["data"]["sha256"].as_str().unwrap();
    assert_eq!((hash.len(), &said["data"]["rows"], &said["split"]["test"]), (64, &200.into(), &40.into()));
    assert_eq!((&said["report"]["title"], &said["report"]["version"]), (&"Loans <b>".into(), &"1.2".into()));
    assert!(said["program"].as_str().unwrap().starts_with("0.1.0") && said["date"].as_str().unwrap().len() == 10, "{said}");
    // Income decides, age does not.
    let importance = said["effects"]["importance"].as_array().unwrap();
    assert_eq!(importance[0]["feature"], "income", "{importance:?}");
    let curve = &said["effects"]["partial_dependence"][0];
    let mean: Vec<f64> = curve["curves"][0]["mean"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    assert!(mean[mean.len() - 1] > mean[0] + 0.5, "{mean:?}");
    let written: Value = serde_json::from_slice(&fs::read(home.join("run/summary.json")).unwrap()).unwrap();
    assert_eq!(written["scores"], said["scores"]);
    let words = expect(home, 0, &["train", "loans.toml", "--out", "again", "-q"]);
    assert!(words.contains("All 40 test rows, with 95 % intervals: accuracy ") && words.contains(", AUC "), "{words}");

    expect(home, 0, &["report", "run"]);
    let page = fs::read_to_string(home.join("run/report.html")).unwrap();
    for words in [
        "Loans &lt;b&gt;",
        "version 1.2",
        "Not for companies.",
        hash,
        "Calibration",
        "By branch",
        "What matters",
        "Signatures",
        "Cost of the guarantee",
    ] {
        assert!(page.contains(words), "{words}");
    }
    fs::write(home.join("odd.toml"), text.replace("\"branch\"]\nlimits", "\"brunch\"]\nlimits")).unwrap();
    let error = refusal(home, &["train", "odd.toml", "-q"]);
    assert!(error.contains("segments") && error.contains("branch"), "{error}");
}

/// What a run says of itself: there may be nothing to prove, folds have every score, and the dossier says how rows were dealt out.
#[test]
fn a_run_says_what_there_is_to_prove_and_how_rows_were_dealt_out() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 3);
    let rules = fs::read_to_string(home.join("loans.toml")).unwrap();
    fs::write(home.join("none.toml"), rules.split_once("[[rule]]").unwrap().0).unwrap();
    expect(home, 0, &["train", "none.toml", "--out", "none", "-q"]);
    assert!(refusal(home, &["check", "none"]).contains("there is nothing to prove"));
    expect(home, 0, &["train", "loans.toml", "--enforce", "none", "--out", "free", "-q"]);
    assert!(refusal(home, &["check", "free"]).contains("the model is not proved"));
    let folds = json(home, 0, &["train", "loans.toml", "--folds", "3", "--out", "folds", "--json", "-q"]);
    for score in ["auc", "ks", "log_loss", "brier"] {
        assert!(folds["scores"][score]["mean"].as_f64().is_some_and(|v| (0.0..2.0).contains(&v)), "{score}: {folds}");
    }
    let timed = rules.replace(
        "targets = [\"loan\"]\n",
        "targets = [\"loan\"]\nsplit = { by = \"age\", train = 0.6, validation = 0.2, test = 0.2 }\nweight = \"income\"\n",
    );
    let timed = timed.replace("income < 20 and area == 'rural'", "area == 'rural'");
    fs::write(home.join("timed.toml"), timed).unwrap();
    let said = json(home, 0, &["train", "timed.toml", "--out", "timed", "--json", "-q"]);
    assert_eq!(said["split"]["by"], serde_json::json!({"order": "age"}));
    expect(home, 0, &["report", "timed", "--out", "page.html"]);
    let page = fs::read_to_string(home.join("page.html")).unwrap();
    for words in
        ["in the order of 'age', the last ones to test", "rows count as 'income' says", "later by 'age' than the training rows"]
    {
        assert!(page.contains(words) || page.contains(&words.replace('\'', "&#39;")), "{words}");
    }
}
