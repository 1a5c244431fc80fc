//! Files and folders that mean harm, or are merely damaged: what they say is shown and not obeyed, and what they ask for has limits.

mod support;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use deepsade_net::{Matrix, Model, Network, Node, Op};
use deepsade_spec::{Domain, Feature, OneHot, Schema, Task};
use support::{command, deepsade, expect, json, kill_after_checkpoint, refusal, small_problem, stderr};

/// Erases the line, pretends to be a line of ours, turns the direction of writing, speaks in C1.
const HOSTILE: &str = "x\u{1b}[2K\rFORGED\nFORGED: certificate accepted\u{202e}\u{9b}31m\u{2028}y";

/// y = 2 x, with these names.
fn model(folder: &Path, feature: &str, target: &str) {
    let network = Network {
        inputs: 1,
        nodes: vec![Node { from: vec![0], op: Op::Dense { w: Matrix { rows: 1, cols: 1, data: vec![2.0] }, b: vec![0.0] } }],
    };
    let schema = Schema {
        features: vec![Feature { name: feature.into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } }],
        task: Task::regression(vec![target.into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let mut model = Model::new(network);
    model.metadata.insert("deepsade.schema".into(), schema.to_json());
    fs::write(folder.join("m.onnx"), model.to_bytes().unwrap()).unwrap();
}

fn toml_text(text: &str) -> String {
    serde_json::to_string(text)
        .unwrap()
        .replace("\u{202e}", "\\u202e")
        .replace("\u{9b}", "\\u009b")
        .replace("\u{2028}", "\\u2028")
}

fn nothing_hidden(output: &Output) {
    for text in [String::from_utf8(output.stdout.clone()).unwrap(), String::from_utf8(output.stderr.clone()).unwrap()] {
        let hidden = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2028}".contains(c);
        assert!(!text.contains(hidden), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{text}");
    }
}

#[test]
fn names_of_a_hostile_file_are_shown_and_not_obeyed() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    model(home, HOSTILE, "y\u{1b}]0;title\u{7}");
    let rule = |text: &str| format!("[[rule]]\nname = \"r\"\ntext = {}\n", toml_text(text));
    let target = toml_text("y\u{1b}]0;title\u{7}");
    let head = format!(
        "[task]\nkind = \"regression\"\ntargets = [{target}]\n[features.{}]\nkind = \"real\"\nrange = [0, 1]\n",
        toml_text(HOSTILE)
    );
    let claim = |relation: &str| rule(&format!("`y\u{1b}]0;title\u{7}` {relation}"));
    fs::write(home.join("false.toml"), format!("{head}{}", claim("<= 1"))).unwrap();
    fs::write(home.join("true.toml"), format!("{head}{}", claim("<= 5"))).unwrap();
    fs::write(home.join("wrong.toml"), format!("{head}{}", rule(&format!("`{HOSTILE}` + nothing <= 1")))).unwrap();
    fs::write(home.join("named.toml"), format!("{head}{}", claim("<= 5").replace("\"r\"", &toml_text(HOSTILE)))).unwrap();
    fs::write(home.join("broken.toml"), format!("kind = {HOSTILE}")).unwrap();
    fs::write(home.join("rows.csv"), format!("\"{HOSTILE}\"\n0.5\n7\n{HOSTILE}\n").replace('\n', "\r\n")).unwrap();
    fs::write(home.join("good.csv"), format!("\"{HOSTILE}\"\n0.5\n7\n")).unwrap();
    let model = ["--model", "m.onnx", "--rules"];
    let with = |word: &'static str, rules: &'static str| [&[word], &model[..], &[rules]].concat();
    let files = ["false.toml", "true.toml", "wrong.toml", "named.toml", "broken.toml"];
    let mut calls: Vec<Vec<&str>> = files.iter().map(|file| vec!["explain", *file]).collect();
    calls.extend(files.iter().map(|file| vec!["explain", *file, "--json"]));
    calls.extend(files.iter().map(|file| with("verify", file)));
    calls.extend(files.iter().map(|file| [with("verify", file), vec!["--json"]].concat()));
    calls.push([with("verify", "true.toml"), vec!["--certificate", "proof", "--force"]].concat());
    calls.push(vec!["check", "proof"]);
    calls.push(vec!["check", "proof", "--json"]);
    calls.push(vec!["check", "proof", "--rules", "false.toml"]);
    calls.push([with("repair", "false.toml"), vec!["--out", "fixed", "--force"]].concat());
    calls.push([with("adversity", "false.toml"), vec!["--data", "good.csv"]].concat());
    calls.push(vec!["predict", "m.onnx", "good.csv", "--out", "p.csv"]);
    calls.push(vec!["predict", "m.onnx", "rows.csv", "--out", "p.csv"]);
    calls.push(vec!["predict", "m.onnx", "good.csv", "--out", "p.csv", "--strict"]);
    calls.push(vec!["train", "false.toml"]);
    calls.push(vec!["report", "proof"]);
    calls.push(vec!["verify", "--frob\u{1b}[2K\nnicate"]);
    calls.push(vec!["explain", "no\u{1b}[2K\nfile.toml"]);
    let mut codes = Vec::new();
    for call in &calls {
        let output = deepsade(home, call);
        nothing_hidden(&output);
        let code = output.status.code().unwrap();
        assert!(code <= 3, "{call:?}: {}", stderr(&output));
        codes.push(code);
    }
    assert!([0, 1, 2].iter().all(|code| codes.contains(code)), "every kind of ending was seen: {codes:?}");
    // As JSON, names are what they are.
    let e = json(home, 0, &["explain", "true.toml", "--json"]);
    assert_eq!(e["features"][0]["name"], HOSTILE);
    let long = claim("<= 5").replace("\"r\"", &toml_text(&"n".repeat(501)));
    fs::write(home.join("long.toml"), format!("{head}{long}")).unwrap();
    for file in ["named.toml", "long.toml"] {
        assert!(refusal(home, &["explain", file]).contains("one line of at most 500 visible characters"));
    }
}

#[test]
fn a_schema_with_an_infinite_or_empty_range_is_refused_by_every_reader() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    model(home, "x", "y");
    fs::write(home.join("rows.csv"), "x\n0.5\n").unwrap();
    fs::write(
        home.join("r.toml"),
        "[task]\nkind = \"regression\"\ntargets = [\"y\"]\n[features.x]\nrange = [0, 1]\n[[rule]]\nname = \"r\"\ntext = \"y <= x + 9\"\n",
    )
    .unwrap();
    let bytes = fs::read(home.join("m.onnx")).unwrap();
    let good = Model::from_bytes(&bytes).unwrap();
    let schema = good.metadata["deepsade.schema"].clone();
    assert!(schema.contains("\"lo\":0.0,\"hi\":1.0"), "{schema}");
    for range in ["\"lo\":0.0,\"hi\":1e39", "\"lo\":-1e999,\"hi\":1.0", "\"lo\":2.0,\"hi\":1.0", "\"lo\":null,\"hi\":1.0"] {
        let mut bad = good.clone();
        bad.metadata.insert("deepsade.schema".into(), schema.replace("\"lo\":0.0,\"hi\":1.0", range));
        fs::create_dir_all(home.join("run")).unwrap();
        fs::write(home.join("run/model.onnx"), bad.to_bytes().unwrap()).unwrap();
        for call in [
            vec!["predict", "run/model.onnx", "rows.csv"],
            vec!["verify", "--model", "run/model.onnx", "--rules", "r.toml"],
            vec!["adversity", "--model", "run/model.onnx", "--rules", "r.toml", "--data", "rows.csv"],
            vec!["repair", "--model", "run/model.onnx", "--rules", "r.toml", "--out", "fixed"],
            vec!["report", "run"],
        ] {
            let error = refusal(home, &call);
            assert!(error.contains("deepsade.schema"), "{call:?} {range}: {error}");
        }
    }
}

#[test]
fn messages_are_short_whatever_they_quote() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let long = "z".repeat(3_500_000);
    let head = "[task]\nkind = \"regression\"\ntargets = [\"y\"]\n[features.x]\nkind = \"real\"\nrange = [0, 1]\n";
    let rule = |text: &str| format!("{head}[[rule]]\nname = \"r\"\ntext = \"{text}\"\n");
    model(home, "x", "y");
    for (k, text) in [
        rule(&format!("y <= {long}")),
        rule(&format!("y <= '{long}'")),
        rule(&format!("{long}(y) <= 1")),
        rule(&format!("y <= {}", "9".repeat(3_500_000))),
        rule(&format!("y <= 1 {}", "or y <= 1 ".repeat(300_000) + "and")),
        format!("{head}[[rule]]\nname = \"{long}\"\ntext = \"y\"\n"),
        format!("{head}{long} = 1\n"),
        format!("{head}[data]\nfile = \"{long}.csv\"\ntargets = [\"y\"]\n"),
        head.replace("[0, 1]", &format!("\"{long}\"")),
        rule("y").replace("[[rule]]", &"[[rule]]\nname = \"q\"\ntext = \"z\"\n".repeat(3_000).replace("\"q\"", "\"q0\"")),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(home.join("long.toml"), text).unwrap();
        let error = refusal(home, &["explain", "long.toml"]);
        assert!(error.len() < 40_000, "{k}: {} bytes", error.len());
    }
    fs::write(home.join("long.csv"), format!("x\n{long}\n")).unwrap();
    assert!(refusal(home, &["predict", "m.onnx", "long.csv"]).len() < 2_000);
    fs::write(home.join("long.csv"), format!("{long}\n1\n")).unwrap();
    assert!(refusal(home, &["predict", "m.onnx", "long.csv"]).len() < 2_000);
}

#[test]
fn rules_as_long_as_a_file_are_explained_in_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let head = "[task]\nkind = \"regression\"\ntargets = [\"y\"]\n[features.x]\nkind = \"real\"\nrange = [0, 1]\n";
    let rule = |k: usize, text: &str| format!("[[rule]]\nname = \"r{k}\"\ntext = \"{text}\"\n");
    let list = |word: &str, n: usize| (0..n).map(|k| format!("y <= {k}")).collect::<Vec<_>>().join(word);
    let members = |n: usize| (0..n).map(|k| k.to_string()).collect::<Vec<_>>().join(", ");
    for text in [
        rule(0, &list(" or ", 20_000)),
        rule(0, &list(" and ", 20_000)),
        rule(0, &format!("y in {{{}}}", members(20_000))),
        rule(0, &format!("x > 0.5 => y in {{{}}}", members(1_000))),
        rule(0, &format!("at_most(3, {})", list(", ", 1_000))),
        (0..800).map(|k| rule(k, &format!("x > 0.{k:04} => y >= {k}"))).collect(),
    ] {
        fs::write(home.join("long.toml"), format!("{head}{text}")).unwrap();
        let mut limited = std::process::Command::new("sh");
        // One gigabyte of addresses, and the usual stack.
        limited
            .args(["-c", "ulimit -v 1000000; exec \"$0\" explain long.toml", env!("CARGO_BIN_EXE_deepsade")])
            .current_dir(home);
        let output = limited.output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 3)), "{:?} {}...: {}", output.status, &text[..60], stderr(&output));
    }
}

#[test]
fn data_files_that_never_end_meet_a_limit_that_can_be_lifted() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    model(home, "x", "y");
    let gz = |name: &str, head: &str, line: &[u8], times: usize| {
        let mut file = flate2::write::GzEncoder::new(fs::File::create(home.join(name)).unwrap(), flate2::Compression::fast());
        file.write_all(head.as_bytes()).unwrap();
        (0..times).for_each(|_| file.write_all(line).unwrap());
        file.finish().unwrap();
    };
    gz("endless.csv.gz", "x\n1", &b"0".repeat(1 << 20), 80);
    assert!(refusal(home, &["predict", "m.onnx", "endless.csv.gz"]).contains("--max-row-bytes"));
    gz("header.csv.gz", "x", &b"0".repeat(1 << 20), 80);
    assert!(refusal(home, &["predict", "m.onnx", "header.csv.gz"]).contains("--max-row-bytes"));
    gz("rows.csv.gz", "x\n", &b"1\n".repeat(1000), 10);
    assert!(refusal(home, &["predict", "m.onnx", "rows.csv.gz", "--max-values", "9999"]).contains("--max-values"));
    assert!(refusal(home, &["predict", "m.onnx", "rows.csv.gz", "--max-bytes", "1000"]).contains("--max-bytes"));
    expect(home, 0, &["predict", "m.onnx", "rows.csv.gz", "--max-values", "10000", "--out", "p.csv", "-q"]);
    let wide = |n: usize| (0..n).map(|k| format!("c{k}")).collect::<Vec<_>>().join(",");
    let zeros = |n: usize| vec!["0"; n].join(",");
    fs::write(home.join("wide.csv"), format!("x,{}\n1,{}\n", wide(150_000), zeros(150_000))).unwrap();
    assert!(refusal(home, &["predict", "m.onnx", "wide.csv"]).contains("--max-columns"));
    expect(home, 0, &["predict", "m.onnx", "wide.csv", "--max-columns", "200000", "-q"]);
    assert!(refusal(home, &["init", "wide.csv", "--target", "x"]).contains("--max-columns"));
}

#[test]
fn a_rule_file_makes_nobody_read_or_write_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    fs::write(home.join("secret"), "root:$6$abcdef:19000:0\nbin:*:1:1\n").unwrap();
    let with = |file: &str| {
        let text = format!(
            "[data]\nfile = \"{file}\"\ntargets = [\"y\"]\n[task]\nkind = \"regression\"\n[[rule]]\nname = \"r\"\ntext = \"y <= 1\"\n"
        );
        fs::write(home.join("r.toml"), text).unwrap();
        refusal(home, &["explain", "r.toml"])
    };
    assert!(!with("secret").contains("abcdef"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("secret", home.join("data.csv")).unwrap();
        assert!(!with("data.csv").contains("abcdef"));
    }
    fs::write(home.join("true.csv"), "alpha,beta\n1,2\n").unwrap();
    assert!(with("true.csv").contains("alpha"), "the columns of a data file are named");
    small_problem(home, 1);
    let text = fs::read_to_string(home.join("loans.toml")).unwrap();
    for place in ["/tmp/deepsade-elsewhere.smt2", "../elsewhere.smt2", "loans.toml"] {
        fs::write(home.join("w.toml"), text.replace("[train]", &format!("[train.paper]\nreplay = \"{place}\"\n[train]")))
            .unwrap();
        assert!(refusal(home, &["train", "w.toml", "--out", "run"]).contains("replay"), "{place}");
    }
}

#[test]
fn two_trainings_into_one_folder_do_not_meet() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 1_000_000);
    let mut first = command(home, &["train", "loans.toml", "--out", "run", "-q"]).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !home.join("run/run.jsonl.part").exists() && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let error = refusal(home, &["train", "loans.toml", "--out", "run", "-q"]);
    assert!(error.contains("another run writes into this folder"), "{error}");
    expect(home, 0, &["train", "loans.toml", "--out", "other", "--epochs", "1", "-q"]);
    first.kill().unwrap();
    first.wait().unwrap();
    // However the first ended, the folder is free again.
    expect(home, 0, &["train", "loans.toml", "--out", "run", "--epochs", "1", "-q", "--force"]);
    let left: Vec<_> = fs::read_dir(home.join("run")).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("lock")), "{left:?}");
}

/// Which of them does not matter; the other must not take the new folder away.
#[test]
fn of_two_trainings_that_begin_at_once_one_ends() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 5);
    for turn in 0..8 {
        let out = format!("run{turn}");
        let begin = || command(home, &["train", "loans.toml", "--out", &out, "-q"]).stderr(Stdio::null()).spawn().unwrap();
        let ended = [begin(), begin()].map(|mut run| run.wait().unwrap().code());
        assert!(ended.contains(&Some(0)) && ended.contains(&Some(2)), "{turn}: {ended:?}");
        assert!(home.join(&out).join("model.onnx").exists() && home.join(&out).join("run.jsonl").exists());
    }
}

#[test]
fn a_run_that_was_killed_leaves_no_log_of_a_model() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 100_000);
    kill_after_checkpoint(home, "loans.toml", "run");
    assert!(!home.join("run/run.jsonl").exists());
    expect(home, 0, &["train", "loans.toml", "--epochs", "2", "--out", "run", "--force", "-q"]);
    assert!(home.join("run/run.jsonl").exists());
}

#[test]
fn a_repair_that_fails_leaves_the_proof_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 2);
    for out in ["run", "kept"] {
        expect(home, 0, &["train", "loans.toml", "--out", out, "--enforce", "weights", "-q"]);
    }
    let torn = "\n[[rule]]\nname = \"a\"\ntext = \"income > 20 => loan == 'no'\"\n[[rule]]\nname = \"b\"\n\
                text = \"income > 30 => loan == 'yes'\"\n";
    let text = fs::read_to_string(home.join("loans.toml")).unwrap();
    fs::write(home.join("torn.toml"), text + torn).unwrap();
    expect(home, 1, &["repair", "--model", "run/model.onnx", "--rules", "torn.toml", "--out", "kept", "--force"]);
    expect(home, 0, &["check", "kept"]);
}

#[test]
fn a_run_that_fails_leaves_the_log_of_the_model_that_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 3);
    expect(home, 0, &["train", "loans.toml", "--out", "run", "--force", "-q"]);
    let kept =
        || ["run.jsonl", "model.onnx", "certificate.json", "summary.json"].map(|f| fs::read(home.join("run").join(f)).unwrap());
    let before = kept();
    // Killed on the way, and begun anew without --resume.
    let mut child =
        command(home, &["train", "loans.toml", "--out", "run", "--force", "-q", "--epochs", "1000000"]).spawn().unwrap();
    let begun = Instant::now();
    while !home.join("run/run.jsonl.part").exists() && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(kept(), before);
    expect(home, 0, &["train", "loans.toml", "--out", "run", "--force", "-q", "--epochs", "4"]);
    assert_eq!(fs::read_to_string(home.join("run/run.jsonl")).unwrap().lines().count(), 4);
    assert!(!home.join("run/run.jsonl.part").exists());
}

#[cfg(unix)]
#[test]
fn adversity_ends_soon_after_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    model(home, "x", "y");
    fs::write(
        home.join("r.toml"),
        "[task]\nkind = \"regression\"\ntargets = [\"y\"]\n[features.x]\nrange = [0, 1]\n[[rule]]\nname = \"r\"\ntext = \"y <= x + 9\"\n",
    )
    .unwrap();
    fs::write(home.join("rows.csv"), "x\n".to_owned() + &"0.5\n".repeat(1_000_000)).unwrap();
    let call = ["adversity", "--model", "m.onnx", "--rules", "r.toml", "--data", "rows.csv", "--json"];
    let mut child = command(home, &call).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    assert!(lines.map_while(Result::ok).any(|line| line.starts_with("row ")), "it says how far it is, and is not through");
    std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["undecided"].as_u64().unwrap() > 0, "rows that were not come to are not called safe");
}

#[cfg(unix)]
#[test]
fn a_repair_of_a_long_rule_ends_soon_after_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    model(home, "x", "y");
    let terms: Vec<String> = (0..20_000).map(|k| format!("y <= {}", -k)).collect();
    let head = "[task]\nkind = \"regression\"\ntargets = [\"y\"]\n[features.x]\nrange = [0, 1]\n";
    fs::write(home.join("r.toml"), format!("{head}[[rule]]\nname = \"r\"\ntext = \"{}\"\n", terms.join(" or "))).unwrap();
    let call = ["repair", "--model", "m.onnx", "--rules", "r.toml", "--out", "fixed", "--json"];
    let mut child = command(home, &call).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !home.join("fixed").exists() && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // The folder is there just before signals are listened to.
    std::thread::sleep(Duration::from_secs(1));
    assert!(child.try_wait().unwrap().is_none(), "it takes longer");
    let told = Instant::now();
    std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(told.elapsed() < Duration::from_secs(8), "{:?}", told.elapsed());
    assert_eq!(output.status.code(), Some(3));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["repaired"] == false && report["why"].as_str().unwrap().contains("stopped"), "{report}");
    assert!(!home.join("fixed/model.onnx").exists());
}

#[test]
fn class_names_are_no_formulas_for_a_spreadsheet() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 2);
    let rows = fs::read_to_string(home.join("loans.csv")).unwrap().replace(",yes", ",=HYPERLINK(1)").replace(",no", ",-1");
    fs::write(home.join("loans.csv"), &rows).unwrap();
    let rules = fs::read_to_string(home.join("loans.toml")).unwrap().replace("== 'no'", "== '-1'");
    fs::write(home.join("loans.toml"), rules).unwrap();
    expect(home, 0, &["train", "loans.toml", "--out", "run", "-q"]);
    let csv = expect(home, 0, &["predict", "run/model.onnx", "loans.csv", "-q"]);
    let cells: Vec<&str> = csv.lines().skip(1).map(|l| l.split(',').next().unwrap()).collect();
    assert!(cells.contains(&"'=HYPERLINK(1)") && cells.contains(&"-1"), "{cells:?}");
    assert!(cells.iter().all(|c| ["'=HYPERLINK(1)", "-1"].contains(c)), "{cells:?}");
}

/// A run that was killed between two renames left a list of what is to be renamed: the next command ends it.
#[test]
fn a_run_killed_between_two_renames_is_ended_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 3);
    for (out, seed) in [("old", "1"), ("new", "2")] {
        expect(home, 0, &["train", "loans.toml", "--out", out, "--seed", seed, "-q", "--enforce", "weights"]);
    }
    let files = ["model.onnx", "rules.toml", "certificate.json", "run.jsonl", "split.csv", "summary.json"];
    let of = |folder: &str| files.map(|name| fs::read(home.join(folder).join(name)).unwrap());
    let (before, whole) = (of("old"), of("new"));
    assert_ne!(before[0], whole[0]);
    for renamed in 0..=files.len() {
        let list: String = files.iter().enumerate().map(|(k, name)| format!("{name} .deepsade-{k}\n")).collect();
        for (k, name) in files.iter().enumerate() {
            let staged = home.join("old").join(format!(".deepsade-{k}"));
            fs::write(home.join("old").join(name), if k < renamed { &whole[k] } else { &before[k] }).unwrap();
            if k >= renamed {
                fs::write(staged, &whole[k]).unwrap();
            }
        }
        fs::write(home.join("old/.deepsade-commit"), list).unwrap();
        expect(home, 0, &["check", "old"]);
        assert_eq!(of("old"), whole, "{renamed}");
        let left = fs::read_dir(home.join("old"))
            .unwrap()
            .filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
        assert_eq!(left.count(), 0);
    }
    // What can't be ended is said, where it may be why nothing is proved: here a folder has a file's name.
    fs::write(home.join("old/model.onnx"), &before[0]).unwrap();
    fs::create_dir(home.join("old/run.jsonl.d")).unwrap();
    fs::rename(home.join("old/run.jsonl"), home.join("old/kept.jsonl")).unwrap();
    fs::rename(home.join("old/run.jsonl.d"), home.join("old/run.jsonl")).unwrap();
    fs::write(home.join("old/.deepsade-3"), "").unwrap();
    fs::write(home.join("old/.deepsade-commit"), "run.jsonl .deepsade-3\n").unwrap();
    let said = deepsade(home, &["check", "old"]);
    assert_eq!(said.status.code(), Some(1));
    assert!(stderr(&said).contains("a run was killed while it replaced files"), "{}", stderr(&said));
}

#[test]
fn a_page_has_no_scores_of_another_model() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 3);
    for (out, seed) in [("a", "1"), ("b", "2")] {
        expect(home, 0, &["train", "loans.toml", "--out", out, "--seed", seed, "-q", "--enforce", "weights"]);
    }
    let page = |out: &str| {
        expect(home, 0, &["report", out, "--out", "page.html"]);
        fs::read_to_string(home.join("page.html")).unwrap()
    };
    let absent = "no summary.json of this model";
    assert!(!page("a").contains(absent));
    expect(home, 0, &["verify", "--model", "b/model.onnx", "--rules", "b/rules.toml", "--certificate", "a", "--force"]);
    assert!(page("a").contains(absent));
}

#[cfg(target_os = "linux")]
#[test]
fn words_that_nobody_can_read_cost_no_run() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 2);
    let code = |args: &[&str]| {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        command(home, args).stdout(Stdio::null()).stderr(full).status().unwrap().code()
    };
    assert_eq!(code(&["train", "loans.toml", "--out", "out", "--enforce", "weights"]), Some(0));
    assert_eq!(code(&["check", "nowhere"]), Some(2));
    assert_eq!(code(&["train", "--nonsense"]), Some(2));
    assert_eq!(code(&["check", "out"]), Some(0));
    assert_eq!(code(&["verify", "--model", "out/model.onnx", "--rules", "out/rules.toml"]), Some(0));
}

/// What a training reads is not replaced by what it writes, nor somebody else's file without being asked.
#[test]
fn a_training_replaces_neither_its_inputs_nor_files_of_others() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    small_problem(home, 2);
    fs::create_dir(home.join("out")).unwrap();
    fs::copy(home.join("loans.csv"), home.join("out/split.csv")).unwrap();
    let rules = fs::read_to_string(home.join("loans.toml")).unwrap().replace("loans.csv", "split.csv");
    fs::write(home.join("out/own.toml"), rules).unwrap();
    let before = fs::read(home.join("out/split.csv")).unwrap();
    for force in [&[][..], &["--force"]] {
        let args = [&["train", "out/own.toml", "--out", "out", "-q"], force].concat();
        assert!(refusal(home, &args).contains("is read by this run"), "{force:?}");
    }
    assert!(refusal(home, &["train", "loans.toml", "--out", "out", "-q"]).contains("holds split.csv"));
    assert_eq!(fs::read(home.join("out/split.csv")).unwrap(), before);
    expect(home, 0, &["train", "loans.toml", "--out", "out", "-q", "--force"]);
    for name in ["rules.toml", "run.jsonl"] {
        fs::create_dir_all(home.join("own")).unwrap();
        fs::write(home.join("own").join(name), "mine").unwrap();
        assert!(refusal(home, &["train", "loans.toml", "--out", "own", "-q"]).contains(&format!("holds {name}")));
        fs::remove_file(home.join("own").join(name)).unwrap();
    }
    let export = |out: &str| refusal(home, &["export", "loans.toml", "--to", "vnnlib", "--out", out]);
    assert!(export("loans.csv").contains("overwrite an input"));
    assert!(export("out/certificate.json").contains("belong together"));
    assert!(refusal(home, &["predict", "out/model.onnx", "loans.csv", "--out", "out/summary.json"]).contains("belong together"));
}
