//! verify, adversity, repair and export from the command line: answers, exit codes, files, refusals.

mod support;

use deepsade_net::{Matrix, Model, Network, Node, Op};
use serde_json::Value;
use support::{expect, json, refusal, small_problem};

/// A folder with a model trained without rules (`free`) and one with (`safe`).
fn trained() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    small_problem(folder.path(), 30);
    // A rule that the labels contradict: a network without it learns to break it.
    let file = folder.path().join("loans.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("income < 20 and area == 'rural' =>", "income > 80 and area == 'urban' =>")).unwrap();
    expect(folder.path(), 0, &["train", "loans.toml", "--out", "free", "--enforce", "none", "-q"]);
    expect(folder.path(), 0, &["train", "loans.toml", "--out", "safe", "-q"]);
    folder
}

#[test]
fn a_free_network_is_refuted_repaired_and_then_proved() {
    let folder = trained();
    let home = folder.path();
    let free = ["verify", "--model", "free/model.onnx", "--rules", "loans.toml", "--json"];
    let report = json(home, 1, &free);
    assert_eq!((&report["verdict"], &report["rule"]), (&Value::from("refuted"), &Value::from("poor")));
    assert_eq!(report["input"]["area"], "urban");
    assert!(report["input"]["income"].as_f64().unwrap() > 80.0);
    assert!(report["output"]["score('yes')"].as_f64() > report["output"]["score('no')"].as_f64());
    assert!(report["seconds"].is_number() && report["regions"].is_number());
    assert!(expect(home, 1, &free[..5]).contains("refuted"));

    let report =
        json(home, 0, &["verify", "--model", "safe/model.onnx", "--rules", "loans.toml", "--json", "--certificate", "proof"]);
    assert_eq!(report["verdict"], "proved");
    assert!(expect(home, 0, &["check", "proof"]).contains("accepted"));

    let repaired = json(home, 0, &["repair", "--model", "free/model.onnx", "--rules", "loans.toml", "--out", "fixed", "--json"]);
    assert_eq!((&repaired["repaired"], &repaired["certified"]), (&Value::from(true), &Value::from(true)));
    assert!(repaired["after"]["accuracy"].as_f64().unwrap() > 70.0, "{repaired}");
    assert_eq!(repaired["after"]["rows_breaking_all"], 0);
    expect(home, 0, &["check", "fixed"]);
    expect(home, 0, &["verify", "--model", "fixed/model.onnx", "--rules", "loans.toml"]);
    let again = json(home, 0, &["repair", "--model", "fixed/model.onnx", "--rules", "loans.toml", "--out", "twice", "--json"]);
    assert_eq!(again["repaired"], false);
    // All but the last layer, bit for bit.
    let dense = |name: &str| {
        let network = Model::from_bytes(&std::fs::read(home.join(name)).unwrap()).unwrap().network;
        let bits = |op: &Op| match op {
            Op::Dense { w, b } => Some(w.data.iter().chain(b).map(|v| v.to_bits()).collect::<Vec<u32>>()),
            _ => None,
        };
        network.nodes.iter().filter_map(|n| bits(&n.op)).collect::<Vec<_>>()
    };
    let (before, after) = (dense("free/model.onnx"), dense("fixed/model.onnx"));
    assert_eq!(before[..before.len() - 1], after[..after.len() - 1]);
    assert_ne!(before.last(), after.last());
}

#[test]
fn adversity_counts_every_row() {
    let folder = trained();
    let home = folder.path();
    let ask = |model: &str| {
        json(
            home,
            0,
            &["adversity", "--model", model, "--rules", "loans.toml", "--data", "loans.csv", "--radius", "0.1", "--json", "-q"],
        )
    };
    let (free, safe) = (ask("free/model.onnx"), ask("safe/model.onnx"));
    assert_eq!((&safe["adversity"], &safe["broken"], &safe["undecided"]), (&Value::from(0.0), &Value::from(0), &Value::from(0)));
    assert!(free["adversity"].as_f64().unwrap() > 1.0, "{free}");
    assert_eq!(free["rows"], 200);
    let words = expect(home, 0, &["adversity", "--model", "free/model.onnx", "--rules", "loans.toml", "-q"]);
    assert!(words.contains("of 200 rows have a counter-example within 0.1") && words.contains("rule 'poor'"), "{words}");
}

#[test]
fn exported_rules_are_the_same_question() {
    let folder = trained();
    let home = folder.path();
    let text = expect(home, 0, &["export", "loans.toml", "--to", "vnnlib"]);
    std::fs::write(home.join("p.vnnlib"), &text).unwrap();
    assert!(text.contains("; rule poor: income > 80"), "{text}");
    let free = expect(home, 1, &["verify", "--model", "free/model.onnx", "--vnnlib", "p.vnnlib", "--vnncomp"]);
    assert!(free.starts_with("sat\n((X_0 ") && free.contains("(Y_1 "), "{free}");
    let safe = ["verify", "--model", "safe/model.onnx", "--vnnlib", "p.vnnlib"];
    assert_eq!(expect(home, 0, &[&safe[..], &["--vnncomp", "--certificate", "proof"]].concat()), "unsat\n");
    expect(home, 0, &["check", "proof"]);
    expect(home, 0, &["check", "proof", "--vnnlib", "p.vnnlib"]);
    // What is proved of a box holds in a part of it, and not beyond.
    for (end, code) in [(98, 0), (100, 1)] {
        let other = text.replace("(assert (<= X_0 99))", &format!("(assert (<= X_0 {end}))"));
        assert_ne!(other, text);
        std::fs::write(home.join("q.vnnlib"), other).unwrap();
        expect(home, code, &["check", "proof", "--vnnlib", "q.vnnlib"]);
    }
}

#[test]
fn bad_input_is_named() {
    let folder = trained();
    let home = folder.path();
    let model = ["verify", "--model", "free/model.onnx"];
    let with = |rest: &[&str]| refusal(home, &[&model[..], rest].concat());
    assert!(with(&["--rules", "none.toml"]).contains("none.toml"));
    std::fs::write(home.join("bad.vnnlib"), "(declare-const X_0 Real)\n(assert (<= Y_0 0))").unwrap();
    assert!(with(&["--vnnlib", "bad.vnnlib"]).contains("bad.vnnlib, line 2, column 13: `Y_0` is not declared"));
    let small = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 0))(assert (<= X_0 1))(assert (<= Y_0 0))";
    std::fs::write(home.join("small.vnnlib"), small).unwrap();
    let wrong = with(&["--vnnlib", "small.vnnlib"]);
    assert!(wrong.contains("the network has 4 inputs and 2 outputs, the rules speak of 1 columns (X_0)"), "{wrong}");
    assert!(with(&["--rules", "loans.toml", "--timeout=-1"]).contains("--timeout"));
    std::fs::write(
        home.join("never.toml"),
        std::fs::read_to_string(home.join("loans.toml")).unwrap().replace("=> loan == 'no'", "=> loan == 'no' and loan == 'yes'"),
    )
    .unwrap();
    let report = json(home, 1, &["repair", "--model", "free/model.onnx", "--rules", "never.toml", "--out", "x", "--json"]);
    // Nothing obeys a contradiction, decoded or not.
    assert_eq!(report["offer"], Value::Null);
    assert!(report["advice"].as_str().unwrap().contains("contradict"), "{report}");
    let into_itself = ["repair", "--model", "free/model.onnx", "--rules", "loans.toml", "--out", "free"];
    assert!(refusal(home, &into_itself).contains("holds the model itself"));
    assert!(with(&["--rules", "loans.toml", "--output", "none"]).contains("none"));
    let missing = ["repair", "--model", "free/model.onnx", "--rules", "loans.toml", "--out", "y", "--data", "none.csv"];
    assert!(refusal(home, &missing).contains("none.csv"));
}

/// `y = x / 1.9073331`, as another tool writes it.
const DIVISION: &[u8] = b"\x08\x08:N\x0a\x0e\x0a\x01x\x0a\x01d\x12\x01y\x22\x03Div\x12\x01g*\x0d\x08\x01\x10\x01B\x01dJ\x04~#\xf4?\
Z\x14\x0a\x01x\x12\x0f\x0a\x0d\x08\x01\x12\x09\x0a\x03\x12\x01N\x0a\x02\x08\x01b\x14\x0a\x01y\x12\x0f\x0a\x0d\x08\x01\x12\x09\x0a\x03\
\x12\x01N\x0a\x02\x08\x01B\x04\x0a\x00\x10\x0d";

/// Features x and a regression of y with one rule.
fn line(home: &std::path::Path, name: &str, rule: &str) {
    let text = format!(
        "features.x = {{range = [0, 4]}}\ntask = {{kind = \"regression\", targets = [\"y\"]}}\nrule = [{{name = \"r\", text = \"{rule}\"}}]\n"
    );
    std::fs::write(home.join(name), text).unwrap();
}

#[test]
fn what_is_read_inexactly_is_never_proved_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    std::fs::write(home.join("div.onnx"), DIVISION).unwrap();
    line(home, "holds.toml", "y <= 3");
    line(home, "breaks.toml", "y <= 1");
    let report =
        json(home, 3, &["verify", "--model", "div.onnx", "--rules", "holds.toml", "--json", "--certificate", "proof", "--force"]);
    assert_eq!(report["verdict"], "unknown");
    assert!(report["why"].as_str().unwrap().contains("(Div)"), "{report}");
    assert_eq!(expect(home, 3, &["verify", "--model", "div.onnx", "--rules", "holds.toml", "--vnncomp"]), "unknown\n");
    // The model that was written is what was looked at.
    expect(home, 0, &["check", "proof"]);
    expect(home, 0, &["verify", "--model", "proof/model.onnx", "--rules", "holds.toml"]);
    let report = json(
        home,
        1,
        &["verify", "--model", "div.onnx", "--rules", "breaks.toml", "--json", "--certificate", "proof", "--force"],
    );
    assert_eq!(report["in_every_runtime"], false);
    assert!(!home.join("proof/certificate.json").exists(), "an old certificate does not stay beside a new answer");
    // At 3 the file gives 1.5728768, and a product with 1 / 1.9073331 gives 1.5728767: only the network as it was read breaks this.
    line(home, "near.toml", "x == 3 => y >= 1.57287675");
    let report = json(home, 3, &["verify", "--model", "div.onnx", "--rules", "near.toml", "--json"]);
    assert!(report["why"].as_str().unwrap().contains("(Div)"), "{report}");
}

/// Dense layers with one number each, `y = w x + b`, one after the other, as a file.
fn chain(home: &std::path::Path, name: &str, layers: &[(f32, f32)]) {
    let dense = |&(w, b): &(f32, f32)| Op::Dense { w: Matrix { rows: 1, cols: 1, data: vec![w] }, b: vec![b] };
    let nodes = layers.iter().enumerate().map(|(k, layer)| Node { op: dense(layer), from: vec![k] }).collect();
    std::fs::write(home.join(name), Model::new(Network { inputs: 1, nodes }).to_bytes().unwrap()).unwrap();
}

#[test]
fn a_sat_that_another_runtime_may_not_see_is_withheld() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let property = |name: &str, bound: &str| {
        let text = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (= X_0 1))";
        std::fs::write(home.join(name), format!("{text}(assert (> Y_0 {bound}))")).unwrap();
    };
    // float32's 0.1 is 0.1000000015: above 0.1, by less than the rounding of a product and a sum may take away.
    chain(home, "tenth.onnx", &[(0.1, 0.0)]);
    property("near.vnnlib", "0.1");
    property("far.vnnlib", "0.09");
    let ask = |property| ["verify", "--model", "tenth.onnx", "--vnnlib", property];
    let report = json(home, 1, &[&ask("near.vnnlib")[..], &["--json"]].concat());
    assert_eq!((&report["verdict"], &report["in_every_runtime"]), (&Value::from("refuted"), &Value::from(false)));
    assert_eq!(expect(home, 3, &[&ask("near.vnnlib")[..], &["--vnncomp"]].concat()), "unknown\n");
    let sat = expect(home, 1, &[&ask("far.vnnlib")[..], &["--vnncomp"]].concat());
    assert_eq!(sat, "sat\n((X_0 1.0)\n (Y_0 0.1))\n");
}

#[test]
fn overflow_is_the_reason_that_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    chain(home, "huge.onnx", &[(1e30, 1e30), (1e30, 0.0)]);
    line(home, "line.toml", "y >= 0");
    let words = expect(home, 3, &["verify", "--model", "huge.onnx", "--rules", "line.toml"]);
    assert!(words.contains("values inside the network can exceed float32's range on this domain"), "{words}");
}

#[test]
fn an_inner_tensor_is_judged_where_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    // The tensor v1 is x, the output y is -x: only the first breaks the rule.
    chain(home, "two.onnx", &[(1.0, 0.0), (-1.0, 0.0)]);
    line(home, "line.toml", "y <= 2");
    std::fs::write(home.join("rows.csv"), "x\n0\n1\n3\n4\n").unwrap();
    let adversity = ["adversity", "--model", "two.onnx", "--rules", "line.toml", "--data", "rows.csv", "--json", "-q"];
    assert_eq!(json(home, 0, &adversity)["broken_rows"], Value::from(Vec::<u64>::new()));
    let inner = json(home, 0, &[&adversity[..], &["--output", "v1"]].concat());
    assert_eq!(inner["broken_rows"], Value::from(vec![3, 4]));
    assert!(inner["example"]["output"]["y"].as_f64().unwrap() > 2.0, "{inner}");
    assert!(refusal(home, &[&adversity[..], &["--output", "v9"]].concat()).contains("v9"));

    let repair = ["repair", "--model", "two.onnx", "--rules", "line.toml", "--out", "fixed", "--force", "--json"];
    assert_eq!(json(home, 0, &repair)["repaired"], false);
    let inner = json(home, 0, &[&repair[..], &["--output", "v1"]].concat());
    assert_eq!((&inner["repaired"], &inner["certified"]), (&Value::from(true), &Value::from(true)));
    // What was written is the network up to there.
    let network = Model::from_bytes(&std::fs::read(home.join("fixed/model.onnx")).unwrap()).unwrap().network;
    let denses = network.nodes.iter().filter(|n| matches!(n.op, Op::Dense { .. })).count();
    let y = network.forward(&Matrix { rows: 2, cols: 1, data: vec![0.0, 4.0] }).data;
    assert!(denses == 1 && y[1] <= 2.0 && y[1] > y[0], "{network:?} gives {y:?}");
    expect(home, 0, &["check", "fixed"]);
    assert!(refusal(home, &[&repair[..], &["--output", "v9"]].concat()).contains("v9"));
}

#[test]
fn repair_weighs_by_rows_that_only_the_command_line_names() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    chain(home, "line.onnx", &[(1.0, 0.0)]);
    line(home, "line.toml", "y <= 2");
    std::fs::write(home.join("low.csv"), "x,y\n0,0\n0.5,0.5\n1,1\n").unwrap();
    std::fs::write(home.join("inputs.csv"), "x\n0\n0.5\n1\n").unwrap();
    let repair = |rest: &[&str]| {
        json(
            home,
            0,
            &[&["repair", "--model", "line.onnx", "--rules", "line.toml", "--out", "out", "--force", "--json"], rest].concat(),
        )
    };
    let (none, low, inputs) = (repair(&[]), repair(&["--data", "low.csv"]), repair(&["--data", "inputs.csv"]));
    assert!(none["before"].is_null() && inputs["before"].is_null());
    assert_eq!(low["before"]["mse"], 0.0);
    assert!(low["after"]["mse"].as_f64().unwrap() > 0.0, "{low}");
    let change = |report: &Value| report["change"].as_f64().unwrap();
    assert!(change(&low) < change(&none) && (change(&low) - change(&inputs)).abs() < 1e-3, "{none} {low} {inputs}");
    expect(home, 0, &["check", "out"]);
    // Without time the first layer that is safe is kept, certified all the same.
    let first = repair(&["--timeout", "0"]);
    assert!(first["before_shrinking"].is_null() && first["certified"] == true, "{first}");
    assert!(change(&first) > change(&none), "{first} {none}");
    assert_eq!(none["before_shrinking"], first["change"]);
    let wrong = ["repair", "--model", "line.onnx", "--rules", "line.toml", "--out", "out", "--force", "--timeout=-1"];
    assert!(refusal(home, &wrong).contains("--timeout"));
    // On [0, 4] the nearest line to y = x below 2 changes by about 1 root mean square; twice that is not near.
    assert!(change(&none) < 1.2, "{none}");
}

#[test]
fn answers_come_whatever_the_files_and_the_clock() {
    let folder = trained();
    let home = folder.path();
    let safe = ["verify", "--model", "safe/model.onnx", "--rules", "loans.toml"];
    expect(home, 0, &[&safe[..], &["--timeout", "1e300"]].concat());
    std::fs::write(home.join("file"), "").unwrap();
    assert!(refusal(home, &[&safe[..], &["--certificate", "file/proof"]].concat()).contains("can't make the folder"));
    let free = ["adversity", "--model", "free/model.onnx", "--rules", "loans.toml", "--data", "loans.csv", "--json", "-q"];
    let report = json(home, 0, &free);
    assert_eq!(report["broken_rows"].as_array().unwrap().len() as u64, report["broken"].as_u64().unwrap());
    assert!(report["broken_rows"][0].as_u64().unwrap() >= 1 && report["undecided_rows"] == Value::from(Vec::<u64>::new()));
}

/// The keys that docs/verify.md lists for an answer.
fn listed(answer: &str) -> Vec<String> {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verify.md")).unwrap();
    let line = docs.lines().find(|line| line.starts_with(&format!("| {answer} |"))).unwrap_or_else(|| panic!("{answer}"));
    let keys = line.rsplit(" | ").next().unwrap();
    keys.split('`').skip(1).step_by(2).map(String::from).collect()
}

fn keys(value: &Value) -> Vec<String> {
    let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    keys.sort();
    keys
}

/// The Python package has the same test.
#[test]
fn answers_have_the_keys_that_the_documents_list() {
    let folder = trained();
    let home = folder.path();
    let ask = |code, command: &str, model: &str, more: &[&str]| {
        json(home, code, &[&[command, "--model", model, "--rules", "loans.toml", "--json"], more].concat())
    };
    let refuted = ask(1, "verify", "free/model.onnx", &[]);
    assert_eq!(keys(&refuted), listed("`verify`, refuted"));
    let proved = ask(0, "verify", "safe/model.onnx", &[]);
    assert_eq!(keys(&proved), listed("`verify`, proved"));
    assert_eq!(keys(&proved["rules"][0]), listed("`rules`, each"));
    assert_eq!(keys(&ask(0, "adversity", "free/model.onnx", &["-q"])), listed("`adversity`"));
    assert_eq!(keys(&ask(0, "repair", "free/model.onnx", &["--out", "fixed"])), listed("`repair`, repaired"));
    let mut shielded = ask(0, "shield", "free/model.onnx", &["--out", "shielded"]);
    assert!(shielded.as_object_mut().unwrap().remove("model").is_some());
    assert_eq!(keys(&shielded), listed("`shield`, accepted"));
    assert_eq!(keys(&shielded["rules"][0]), listed("`rules`, each"));
}
