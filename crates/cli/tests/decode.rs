//! `enforce = "decode"` from the rule file to the predictions, in and out of the domain.

mod support;

use std::path::Path;

use support::{expect, json, refusal};

/// Four labels that depend on three features, noisily: 300 rows, some of which break the rules.
fn problem(folder: &Path, train: &str, rules: &[&str]) {
    let mut csv = String::from("a,b,kind,l0,l1,l2,l3\n");
    for i in 0..300u32 {
        let (a, b, kind) = ((i * 37) % 100, (i * 61) % 90, ["x", "y", "z"][(i % 3) as usize]);
        let noise = u32::from(i % 13 == 0);
        let l0 = u32::from(a > 40) ^ noise;
        let l1 = u32::from(b > 30);
        let (l2, l3) = (u32::from(kind == "x" && a < 70), u32::from(l0 + l1 == 0));
        csv.push_str(&format!("{a},{b},{kind},{l0},{l1},{l2},{l3}\n"));
    }
    std::fs::write(folder.join("data.csv"), csv).unwrap();
    let rules: String = rules.iter().map(|r| format!("[[rule]]\nname = \"{}\"\ntext = \"{r}\"\n", r.replace('\'', ""))).collect();
    let file = format!(
        "[data]\nfile = \"data.csv\"\ntargets = [\"l0\", \"l1\", \"l2\", \"l3\"]\n[task]\nkind = \"multilabel\"\n\
         [network]\nhidden = [8]\n{train}\n{rules}"
    );
    std::fs::write(folder.join("p.toml"), file).unwrap();
    // Half of these rows are far outside the domain.
    let mut rows = String::from("a,b,kind\n");
    for i in 0..200i64 {
        let (wide, side) = if i % 2 == 0 { (1, 1) } else { (1000, -1) };
        rows.push_str(&format!(
            "{},{},{}\n",
            (i * 29 % 100) * wide,
            (i * 31 % 90) * side * wide,
            ["x", "y", "z"][(i % 3) as usize]
        ));
    }
    std::fs::write(folder.join("new.csv"), rows).unwrap();
}

fn predictions(folder: &Path) -> Vec<Vec<String>> {
    let out = expect(folder, 0, &["predict", "out/model.onnx", "new.csv", "-q", "--proba", "--scores"]);
    csv::Reader::from_reader(out.as_bytes()).records().map(|r| r.unwrap().iter().map(String::from).collect()).collect()
}

fn labels(row: &[String]) -> Vec<bool> {
    row[..4].iter().map(|v| v == "1").collect()
}

const FREE_OF_INPUTS: [&str; 2] = ["at_least(1, label[j] for j in 0..4)", "label[2] => label[0] or label[3]"];

#[test]
fn without_conditions_the_graph_chooses_for_every_input() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    problem(folder, "[train]\nepochs = 20", &FREE_OF_INPUTS);
    let e = json(folder, 0, &["explain", "p.toml", "--json"]);
    assert_eq!((&e["enforce"]["means"], &e["enforce"]["table"]), (&"decode".into(), &13.into()), "{e}");
    let t = json(folder, 0, &["train", "p.toml", "--out", "out", "--json", "-q"]);
    assert_eq!((&t["certified"], &t["enforce"], &t["decode"]), (&true.into(), &"decode".into(), &"in-graph".into()), "{t}");
    assert!(t["left_out"].as_u64().unwrap() > 0, "{t}");
    assert_eq!(t["test"]["rows_breaking_all"], 0);
    let c = json(folder, 0, &["check", "out", "--json"]);
    assert_eq!((&c["verdict"], &c["decode"]), (&"accepted".into(), &"in-graph".into()));
    assert!(expect(folder, 0, &["check", "out"]).contains("the output step in the graph gives no other outputs"));
    let rows = predictions(folder);
    assert_eq!(rows.len(), 200);
    assert_eq!(rows.iter().filter(|r| r[4] == "false").count(), 100);
    for row in &rows {
        let l = labels(row);
        assert!(l.contains(&true) && (!l[2] || l[0] || l[3]), "{row:?}");
        // Columns: labels, in_domain, outside, scores, probability, marginals.
        let number = |k: usize| row[k].parse::<f64>().unwrap();
        assert!((0.0..=1.0).contains(&number(10)));
        let best: f64 = (0..4).map(|j| number(11 + j)).sum();
        assert!(best >= 0.999, "one label at least is expected: {row:?}");
    }
    assert!(refusal(folder, &["predict", "p.toml", "new.csv"]).contains("error"));
}

#[test]
fn with_conditions_on_the_input_the_graph_chooses() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rules = ["a < 50.5 and kind == 'x' => not label[0]", "kind != 'y' => exactly(2, label[j] for j in 0..4)"];
    problem(folder, "[train]\nepochs = 20\nenforce = \"decode\"", &rules);
    let t = json(folder, 0, &["train", "p.toml", "--out", "out", "--json", "-q"]);
    assert_eq!((&t["certified"], &t["enforced_by"], &t["decode"]), (&true.into(), &"decode".into(), &"in-graph".into()), "{t}");
    assert_eq!(t["test"]["rows_breaking_all"], 0);
    assert_eq!(t["cost"]["metric"], "coherent", "{t}");
    // What was once asked for is no error.
    assert_eq!(expect(folder, 0, &["check", "out"]), expect(folder, 0, &["check", "out", "--allow-library"]));
    let new = std::fs::read_to_string(folder.join("new.csv")).unwrap();
    for (row, input) in predictions(folder).iter().zip(new.lines().skip(1)) {
        let input: Vec<&str> = input.split(',').collect();
        let (a, kind, l) = (input[0].parse::<f64>().unwrap(), input[2], labels(row));
        assert!(!(a < 50.5 && kind == "x" && l[0]), "{input:?} {row:?}");
        assert!(kind == "y" || l.iter().filter(|l| **l).count() == 2, "{input:?} {row:?}");
    }
    // Another set of rules than the one the model was made for.
    let other = std::fs::read_to_string(folder.join("out/rules.toml")).unwrap().replace("exactly(2", "exactly(3");
    std::fs::write(folder.join("other.toml"), other).unwrap();
    let said = expect(folder, 1, &["check", "out", "--rules", "other.toml"]);
    assert!(said.contains("REJECTED at rules hash"), "{said}");
}

#[test]
fn an_input_without_a_valid_set_is_refused_with_that_input() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    problem(folder, "", &["a < 20 => label[0]", "kind == 'z' => not label[0]"]);
    for args in [&["explain", "p.toml"][..], &["train", "p.toml", "--out", "out", "-q"]] {
        let output = support::deepsade(folder, args);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &support::stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("kind = \"z\"") && said.contains("a = "), "{said}");
    }
}

#[test]
fn a_given_network_is_decoded_as_it_is_or_trained_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    problem(folder, "[train]\nepochs = 10\nenforce = \"none\"", &FREE_OF_INPUTS);
    json(folder, 0, &["train", "p.toml", "--out", "plain", "--json", "-q"]);
    let text = std::fs::read_to_string(folder.join("p.toml")).unwrap();
    let with = |network: &str| {
        let text = text.replace("hidden = [8]", network).replace("enforce = \"none\"", "enforce = \"decode\"");
        std::fs::write(folder.join("p.toml"), text).unwrap();
    };
    with("trunk = \"plain/model.onnx\"\nfreeze = true");
    let frozen = json(folder, 0, &["train", "p.toml", "--out", "out", "--force", "--json", "-q"]);
    assert_eq!(
        (&frozen["certified"], &frozen["epochs"], &frozen["test"]["rows_breaking_all"]),
        (&true.into(), &0.into(), &0.into())
    );
    // The same scores, decoded.
    let scores = |model: &str| {
        let out = expect(folder, 0, &["predict", model, "new.csv", "-q", "--scores"]);
        let rows: Vec<_> = csv::Reader::from_reader(out.as_bytes()).records().map(|r| r.unwrap()).collect();
        rows.iter().map(|r| r.iter().skip(6).map(String::from).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert_eq!(scores("plain/model.onnx"), scores("out/model.onnx"));
    with("trunk = \"plain/model.onnx\"");
    let tuned = json(folder, 0, &["train", "p.toml", "--out", "out", "--force", "--json", "-q"]);
    assert_eq!((&tuned["certified"], &tuned["epochs"]), (&true.into(), &10.into()));
    // A decoded model is a trunk, too; a missing one is an error.
    std::fs::copy(folder.join("out/model.onnx"), folder.join("again.onnx")).unwrap();
    with("trunk = \"again.onnx\"\nfreeze = true");
    assert_eq!(json(folder, 0, &["train", "p.toml", "--out", "out", "--force", "--json", "-q"])["certified"], true);
    with("trunk = \"nowhere.onnx\"");
    assert!(refusal(folder, &["train", "p.toml", "-q"]).contains("nowhere.onnx"));
    with("freeze = true");
    assert!(refusal(folder, &["train", "p.toml", "-q"]).contains("network.freeze"));
    // With the rules in its weights only the last layer moves.
    let by_weights = |network: &str| {
        let text = text.replace("hidden = [8]", network).replace("enforce = \"none\"", "enforce = \"weights\"");
        std::fs::write(folder.join("p.toml"), text).unwrap();
    };
    by_weights("trunk = \"plain/model.onnx\"");
    let kept = json(folder, 0, &["train", "p.toml", "--out", "kept", "--json", "-q"]);
    assert_eq!((&kept["certified"], &kept["test"]["rows_breaking_all"]), (&true.into(), &0.into()));
    expect(folder, 0, &["check", "kept"]);
    by_weights("trunk = \"plain/model.onnx\"\nfreeze = true");
    assert!(refusal(folder, &["train", "p.toml", "-q"]).contains("freeze = true trains nothing"));
}

#[test]
fn what_can_not_be_decoded_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    problem(folder, "[train]\nenforce = \"decode\"\ndecode_nodes = 3", &["sum(j * label[j] for j in 0..4) >= 3"]);
    // Training can't know of so many sets; the step still stands behind it.
    assert_eq!(
        json(folder, 0, &["train", "p.toml", "--epochs", "1", "--out", "out", "--force", "--json", "-q"])["certified"],
        true
    );
    problem(folder, "[train]\nenforce = \"decode\"", &["score(0) <= 5"]);
    assert!(refusal(folder, &["train", "p.toml", "-q"]).contains("raw scores"));
    problem(folder, "[train]\nenforce = \"none\"\nepochs = 1", &FREE_OF_INPUTS);
    expect(folder, 0, &["train", "p.toml", "-q", "--out", "out", "--force"]);
    // Without a choice each label has a probability of its own.
    let csv = expect(folder, 0, &["predict", "out/model.onnx", "new.csv", "--proba", "-q"]);
    assert!(csv.lines().next().unwrap().ends_with("probability,p('l0'),p('l1'),p('l2'),p('l3')"), "{csv}");
}

#[test]
fn auto_puts_the_step_behind_what_cannot_know_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    problem(folder, "[train]\nepochs = 1\ndecode_nodes = 2", &FREE_OF_INPUTS);
    let t = json(folder, 0, &["train", "p.toml", "--out", "out", "--json", "-q"]);
    assert_eq!((&t["certified"], &t["enforced_by"], &t["decode"]), (&true.into(), &"decode".into(), &"in-graph".into()), "{t}");
    assert!(t["enforce_why"].as_str().unwrap().contains("2 nodes"), "{t}");
}

/// What a rule file claims, as certificates hash it.
fn stated(folder: &Path, file: &str) -> String {
    let problem = deepsade_engine::problem::Problem::read(&folder.join(file)).unwrap();
    deepsade_spec::canonical::canonical(&problem.load(&mut |_| {}).unwrap().0)
}

#[test]
fn other_rules_in_the_file_of_a_model_are_no_proof() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    problem(folder, "[train]\nepochs = 1", &["a > 40 => label[0]", "b > 30 => label[1]"]);
    let t = json(folder, 0, &["train", "p.toml", "--out", "out", "--json", "-q"]);
    assert_eq!((&t["certified"], &t["decode"], &t["loss"]), (&true.into(), &"in-graph".into(), &"exact".into()), "{t}");
    let (path, proof) = (folder.join("out/model.onnx"), folder.join("out/certificate.json"));
    let mut model = deepsade_net::Model::from_bytes(&std::fs::read(&path).unwrap()).unwrap();
    let rules = model.metadata.get_mut("deepsade.rules").unwrap();
    *rules = rules.replace("a > 40", "a > 90");
    let bytes = model.to_bytes().unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let mut certificate: serde_json::Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
    certificate["model_sha256"] = deepsade_check::sha256_hex(&bytes).into();
    std::fs::write(&proof, certificate.to_string()).unwrap();
    // The graph is the same, and obeys what rules.toml states; what the file says of itself it does not.
    expect(folder, 0, &["check", "out"]);
    let rules = std::fs::read_to_string(folder.join("out/rules.toml")).unwrap();
    std::fs::write(folder.join("other.toml"), rules.replace("a > 40", "a > 90")).unwrap();
    let said = expect(folder, 1, &["check", "out", "--rules", "other.toml"]);
    assert!(said.contains("REJECTED at rules hash"), "{said}");
    // Nor does another hash make the tail that of other rules.
    let weaker = deepsade_check::sha256_hex(stated(folder, "other.toml").as_bytes());
    certificate["rules_sha256"] = weaker.into();
    std::fs::write(&proof, certificate.to_string()).unwrap();
    let said = expect(folder, 1, &["check", "out", "--rules", "other.toml"]);
    assert!(said.contains("REJECTED at"), "{said}");
}

/// Near 0 a graph takes numbers below 2^-100 in size for 0, also where a range ends there: what runs it and `predict` say the same.
#[test]
fn what_the_graph_takes_for_zero_is_outside_for_predict_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows: String = (0..40).map(|k| format!("{}e-35,{},{}\n", 1 + k, k, k % 7)).collect();
    std::fs::write(folder.join("data.csv"), format!("x,z,y\n{rows}")).unwrap();
    let file = |range: &str| {
        format!(
            "[data]\nfile = \"data.csv\"\ntargets = [\"y\"]\n[task]\nkind = \"regression\"\n[features.x]\nrange = {range}\n\
             [network]\nhidden = [4]\n[train]\nepochs = 2\nenforce = \"decode\"\n[[rule]]\nname = \"r\"\ntext = \"y <= 5\"\n"
        )
    };
    for (range, inside) in [("[1e-35, 1e-33]", "false"), ("[0, 1]", "true")] {
        std::fs::write(folder.join("p.toml"), file(range)).unwrap();
        expect(folder, 0, &["train", "p.toml", "--out", "out", "--force", "-q"]);
        let out = expect(folder, 0, &["predict", "out/model.onnx", "data.csv", "-q"]);
        let found: Vec<String> = csv::Reader::from_reader(out.as_bytes()).records().map(|r| r.unwrap()[1].to_string()).collect();
        assert_eq!(found, vec![inside; 40], "{range}");
    }
}
