//! Every kind of rule, trained on small made-up data: the checker accepts and no prediction breaks it, or a refusal says why.

mod support;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;
use support::{deepsade, expect, json, kill_after_checkpoint, stderr};

const TARGETS: [&str; 11] = ["y", "w", "v", "genre", "loan", "d0", "d1", "d2", "i0", "i1", "i2"];

/// 150 rows: numbers x, z, s (positive, scales v), whole numbers k, a constant f, a category c; targets of every task.
fn data(unit_x: f64, unit_y: f64) -> String {
    let mut csv = format!("x,z,k,s,f,c,{}\n", TARGETS.join(","));
    for i in 0..150u32 {
        let x = f64::from(i * 37 % 101) / 10.1;
        let z = f64::from(i * 53 % 97) / 48.0 - 1.0;
        let (k, s) = (i % 6, 1.0 + f64::from(i * 29 % 89));
        let [y, w, v] = [x + z, 2.0 * x + f64::from(k) + 1.0, 0.03 * s * x].map(|t| t * unit_y);
        let (c, genre) = (["a", "b", "c"][(i % 3) as usize], ["jazz", "pop", "rock"][(i / 2 % 3) as usize]);
        let loan = if x > 5.0 { "yes" } else { "no" };
        let labels = [x > 3.0, z > 0.0, k > 2].map(u8::from);
        let order = [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2], [2, 1, 3]][(i % 5) as usize];
        write!(csv, "{:e},{z},{k},{s},3,{c},{y:e},{w:e},{v:e},{genre},{loan}", x * unit_x).unwrap();
        labels.into_iter().chain(order).for_each(|value| write!(csv, ",{value}").unwrap());
        csv.push('\n');
    }
    csv
}

/// A problem on these data; the strings are lines of the tables of their name.
struct Case<'a> {
    task: &'a str,
    targets: &'a [&'a str],
    network: &'a str,
    data: &'a str,
    features: &'a str,
    units: (f64, f64),
    rules: &'a [&'a str],
}

const REGRESSION: Case = Case {
    task: "regression",
    targets: &["y", "w"],
    network: "hidden = [6, 4]",
    data: "",
    features: "",
    units: (1.0, 1.0),
    rules: &[],
};
const GATED: Case = Case { targets: &["v"], ..REGRESSION };
const CLASSES: Case = Case { task: "multiclass", targets: &["genre"], ..REGRESSION };
const BINARY: Case = Case { task: "binary", targets: &["loan"], ..REGRESSION };
const LABELS: Case = Case { task: "multilabel", targets: &["d0", "d1", "d2"], ..REGRESSION };
const RANKING: Case = Case { task: "ranking", targets: &["i0", "i1", "i2"], ..REGRESSION };
const WHOLE_K: &str = "[features.k]\nkind = \"integer\"\n";

impl Case<'_> {
    fn write(&self, folder: &Path, train: &str) {
        fs::write(folder.join("data.csv"), data(self.units.0, self.units.1)).unwrap();
        let ignore: Vec<&str> = TARGETS.into_iter().filter(|t| !self.targets.contains(t)).collect();
        let mut toml = format!(
            "[data]\nfile = \"data.csv\"\ntargets = {:?}\nignore = {ignore:?}\n{}\n{}\
             [task]\nkind = \"{}\"\n[network]\n{}\n[train]\n{train}\n",
            self.targets, self.data, self.features, self.task, self.network
        );
        for (k, text) in self.rules.iter().enumerate() {
            write!(toml, "[[rule]]\nname = \"rule {k}\"\ntext = \"{text}\"\n").unwrap();
        }
        fs::write(folder.join("rules.toml"), toml).unwrap();
    }

    /// Trains; the checker must accept, by itself too, and no row's prediction may break a rule.
    fn holds(&self) -> Value {
        let dir = tempfile::tempdir().unwrap();
        self.write(dir.path(), "epochs = 4\nbatch = 16\nlearning_rate = 0.01");
        let output = deepsade(dir.path(), &["train", "rules.toml", "--out", "run", "--force", "--json", "-q"]);
        let about = format!("{:?} {:?}\n{}", self.rules, self.network, stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{about}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["certified"], true, "{about}");
        for split in ["train", "validation", "test"] {
            assert_eq!(report[split]["rows_breaking_all"], 0, "{split} {about}");
        }
        expect(dir.path(), 0, &["check", "run"]);
        report
    }

    fn each_holds(rules: &[&str], of: impl Fn(&[&str])) {
        rules.iter().for_each(|rule| of(&[rule]));
    }

    /// The message of a refusal before training.
    /// The message of a training that ends with this exit code before it began.
    fn refused(&self, code: i32) -> String {
        let dir = tempfile::tempdir().unwrap();
        self.write(dir.path(), "epochs = 1");
        let output = deepsade(dir.path(), &["train", "rules.toml", "--out", "run", "--force", "-q"]);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(!dir.path().join("run/model.onnx").exists());
        stderr(&output)
    }
}

/// Every kind of rule on numbers.
const ON_NUMBERS: [&str; 17] = [
    "y <= 2 * x + 3",
    "y + w <= 3 * x + 8",
    "0 <= y <= w <= 40",
    "-1 < y < w < 40",
    "y <= 0 or y >= 1",
    "y - w <= 0 or y + w >= 10 or y <= 3",
    "max(y, w) <= 30",
    "min(y, w) >= -5",
    "abs(y - x) <= 2",
    "abs(y) >= 1",
    "y <= if x > 5 then 12 else 8",
    "c == 'a' => y <= 9",
    "y != 3",
    "y != w",
    "not (y > 10 and w > 10)",
    "forall i in 0..3: y <= w + i",
    "exists i in 0..2: y >= i * w",
];

#[test]
fn rules_on_numbers_hold() {
    Case::each_holds(&ON_NUMBERS, |rules| drop(Case { rules, ..REGRESSION }.holds()));
}

/// The same rules in the output step: in the graph, with a certificate.
#[test]
fn rules_on_numbers_hold_in_the_nearest_outputs() {
    for rule in ON_NUMBERS.iter().chain(&["y == w", "0 <= y and y <= w and w <= 3 * x + 5", "x > 1000 => y <= 1"]) {
        let dir = tempfile::tempdir().unwrap();
        Case { rules: &[rule], ..REGRESSION }.write(dir.path(), "epochs = 2\nbatch = 16");
        let output =
            deepsade(dir.path(), &["train", "rules.toml", "--out", "run", "--force", "--enforce", "decode", "--json", "-q"]);
        assert_eq!(output.status.code(), Some(0), "{rule} {}", stderr(&output));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        for split in ["train", "validation", "test"] {
            assert_eq!(report[split]["rows_breaking_all"], 0, "{rule} {report}");
        }
        assert_eq!((&report["enforced_by"], &report["decode"]), (&"decode".into(), &"in-graph".into()), "{rule} {report}");
        assert_eq!(report["certified"], true, "{rule} {report}");
        expect(dir.path(), 0, &["check", "run"]);
        let predicted = expect(dir.path(), 0, &["predict", "run/model.onnx", "data.csv", "-q"]);
        assert!(!predicted.contains("NaN"), "{rule}");
    }
    let dir = tempfile::tempdir().unwrap();
    Case { rules: &["y >= x", "y <= 5"], ..REGRESSION }.write(dir.path(), "epochs = 1");
    let output = deepsade(dir.path(), &["train", "rules.toml", "--out", "run", "--force", "--enforce", "decode"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("can't be obeyed together where x ="), "{}", stderr(&output));
}

#[test]
fn many_rules_hold_at_once() {
    let rules = ["y >= 0", "y <= w", "w <= 60", "y <= x + 5", "w >= z", "y + w <= 80", "c == 'a' => y <= 9", "k > 2 => w >= 1"];
    let report = Case { rules: &rules, ..REGRESSION }.holds();
    assert_eq!(report["margins"].as_object().unwrap().len(), 8);
}

#[test]
fn rules_hold_in_linear_models_and_after_every_activation() {
    for network in
        ["hidden = []", "hidden = [1]", "hidden = [6, 4]\nactivation = \"sigmoid\"", "hidden = [1, 1]\nactivation = \"tanh\""]
    {
        Case { network, rules: &["0 <= y <= w", "y <= 2 * x + 3"], ..REGRESSION }.holds();
        Case { network, rules: &["x < 3 and c == 'a' => loan == 'no'"], ..BINARY }.holds();
    }
}

#[test]
fn opposite_demands_on_opposite_inputs_hold_in_a_linear_model() {
    let network = "hidden = []";
    for rules in [["x <= 4 => y <= 0", "x >= 6 => y >= 1"], ["c == 'a' => y <= 0", "c != 'a' => y >= 1"]] {
        Case { network, rules: &rules, ..REGRESSION }.holds();
    }
    Case { network, rules: &["y <= x - 5 or y >= x + 1"], ..REGRESSION }.holds();
    Case { network, rules: &["k > 2 => y < 4", "k < 3 => y > 4"], features: WHOLE_K, ..REGRESSION }.holds();
    Case {
        network,
        rules: &["c == 'a' => genre == 'pop'", "c == 'b' => genre == 'rock'", "c == 'c' => genre == 'jazz'"],
        ..CLASSES
    }
    .holds();
}

#[test]
fn rules_on_classes_hold() {
    let rules = [
        "x < 3 => genre == 'pop'",
        "c == 'a' => genre in {'rock', 'pop'}",
        "c == 'a' => genre not in {'rock'}",
        "genre != 'jazz'",
        // The class listed first wins a tie, the last one loses it.
        "k <= 2 => genre == 'jazz'",
        "k <= 2 => genre == 'rock'",
        "score('rock') > score('jazz') + 1",
        "k == 3 => genre != 'rock'",
        "k in {0, 1} => genre == 'pop'",
    ];
    for features in ["", WHOLE_K] {
        Case::each_holds(&rules, |rules| drop(Case { features, rules, ..CLASSES }.holds()));
    }
    Case { rules: &["c == 'a' => genre != 'rock'", "k >= 4 => genre != 'jazz'"], ..CLASSES }.holds();
    Case::each_holds(&["x < 3 and c == 'a' => loan == 'no'", "x < 3 => loan == 'yes'"], |rules| {
        drop(Case { rules, ..BINARY }.holds());
    });
}

#[test]
fn rules_on_labels_hold() {
    let rules = [
        "label[0] => label[1]",
        "d1 or label['d2']",
        "exactly(1, label[i] for i in 0..3)",
        "at_least(2, label[i] for i in 0..3)",
        "at_most(1, label[i] for i in 0..3)",
        "at_least(2, label[0], label[1], not label[2])",
        "sum(i * label[i] for i in 0..3) > 1",
        "sum(2 * label[0], 3 * label[1], -1 * label[2]) <= 2",
        "count(label[i] for i in 0..3) == 2",
        "exists i in 0..3: label[i]",
        "forall i in 0..2: label[i] => label[i + 1]",
        "label[0] <=> label[1]",
        "c == 'a' => not label[0]",
        "x > 8 => label[0] or label[1]",
    ];
    Case::each_holds(&rules, |rules| drop(Case { rules, ..LABELS }.holds()));
}

#[test]
fn rankings_are_orderings() {
    let rules = ["forall i in 0..3: exactly(1, at[i, p] for p in 0..3)", "forall p in 0..3: exactly(1, at[i, p] for i in 0..3)"];
    Case { rules: &rules, ..RANKING }.holds();
    Case { rules: &["exists p in 0..2: at['i0', p]"], ..RANKING }.holds();
}

#[test]
fn a_rule_that_scales_with_a_feature_gets_a_gate_unless_told_otherwise() {
    for (gate, found) in [("auto", Value::from("s")), ("s", "s".into()), ("none", Value::Null)] {
        let network = format!("hidden = [6, 4]\ngate = \"{gate}\"");
        for rule in ["v <= 0.5 * s", "0 <= v <= s", "v < s", "v <= 0.1 * s or v >= 0.2 * s"] {
            let report = Case { network: &network, rules: &[rule], ..GATED }.holds();
            assert_eq!(report["gate"], found, "{rule}");
        }
    }
    let report = Case { targets: &["y", "w", "v"], rules: &["sum(y, w, v) <= s", "y <= 0.05 * s", "v >= 0"], ..GATED }.holds();
    assert_eq!(report["gate"], "s");
    Case { rules: &["c == 'a' => v <= 0.5 * s", "s < 10 => v <= 2"], ..GATED }.holds();
    // A whole number may reach 0: there the product is 0, exactly.
    let report = Case { rules: &["0 <= v <= 3 * k"], features: WHOLE_K, ..GATED }.holds();
    assert_eq!((&report["gate"], &report["margins"]["rule 0"]), (&"k".into(), &0.0.into()));
    // A real one comes too close to 0, so there is no gate.
    assert_eq!(Case { rules: &["v <= 3 * k"], ..GATED }.holds()["gate"], Value::Null);
    Case { rules: &["v <= 10 * f"], ..GATED }.holds();
}

#[test]
fn a_gate_that_can_not_be_one_is_refused() {
    for (gate, why) in
        [("z", "never negative"), ("c", "numeric feature"), ("zz", "no feature has this name"), ("k", "must stay above 1e-20")]
    {
        let network = format!("gate = \"{gate}\"");
        let error = Case { network: &network, rules: &["v <= s"], ..GATED }.refused(2);
        assert!(error.contains(why) && error.contains(gate), "{error}");
    }
}

#[test]
fn categories_hold_in_both_encodings() {
    for data in ["one_hot = \"full\"", "one_hot = \"drop-first\""] {
        for rule in ["c == 'a' => y <= x + 1", "c == 'b' => y <= x + 1", "c != 'a' => y <= x + 1", "c not in {'b'} => w >= 1"] {
            Case { data, rules: &[rule], ..REGRESSION }.holds();
        }
        Case { data, rules: &["c in {'a', 'c'} => genre == 'pop'"], ..CLASSES }.holds();
    }
}

#[test]
fn features_without_width_hold() {
    Case { rules: &["y <= f + 20", "y >= f - 20"], ..REGRESSION }.holds();
    Case { rules: &["f == 3 => y <= 20"], network: "hidden = []", ..REGRESSION }.holds();
}

#[test]
fn rules_hold_at_every_scale() {
    for unit_x in [1e6, 1e-6] {
        let units = (unit_x, 1e6);
        Case { units, rules: &["0 <= y <= w", "y <= 20000000"], ..REGRESSION }.holds();
        Case { units, rules: &["v <= 500000 * s"], ..GATED }.holds();
        let rule = format!("y <= {} * x + 3000000", 2e6 / unit_x);
        Case { units, rules: &[&rule], ..REGRESSION }.holds();
        let rule = format!("x < {} => y <= 9e-6", 2.5 * unit_x);
        Case { units: (unit_x, 1e-6), rules: &[&rule], ..REGRESSION }.holds();
    }
}

#[test]
fn no_learning_rate_breaks_a_rule() {
    let dir = tempfile::tempdir().unwrap();
    Case { rules: &["0 <= y <= w", "y <= 5 or y >= 6"], ..REGRESSION }
        .write(dir.path(), "epochs = 20\nbatch = 4\nlearning_rate = 10");
    let report = json(dir.path(), 0, &["train", "rules.toml", "--out", "run", "--force", "--json", "-q"]);
    assert_eq!((&report["certified"], &report["train"]["rows_breaking_all"]), (&true.into(), &0.into()));
}

#[test]
fn opposite_demands_on_opposite_inputs_hold_beside_hidden_layers() {
    // Only a weight on the skipped feature itself can do it.
    Case { rules: &["x <= 2 => y <= 0", "x >= 8 => y >= 1"], ..REGRESSION }.holds();
    Case { rules: &["c == 'a' => y <= 0", "c == 'b' => y >= 1"], ..REGRESSION }.holds();
    Case { rules: &["y <= x - 5 or y >= x + 1"], ..REGRESSION }.holds();
    // The equality can't be kept with a margin; the other half can.
    Case { rules: &["y == 2 or y <= 0"], ..REGRESSION }.holds();
    Case { rules: &["x < 3 => genre == 'pop'", "x > 7 => genre == 'rock'"], ..CLASSES }.holds();
    Case { rules: &["x > 8 => label[0]", "x < 2 => not label[0]"], ..LABELS }.holds();
    let sigmoid = "hidden = [6, 4]\nactivation = \"sigmoid\"";
    Case { network: sigmoid, rules: &["x <= 2 => y <= 0", "x >= 8 => y >= 1"], ..REGRESSION }.holds();
}

#[test]
fn a_condition_and_an_output_can_be_tied_both_ways() {
    Case { rules: &["c == 'a' <=> y > 5"], ..REGRESSION }.holds();
    Case { rules: &["c == 'a' <=> label[1]"], ..LABELS }.holds();
    Case { rules: &["y <= (if c == 'a' then 1 else 5)"], ..REGRESSION }.holds();
}

#[test]
fn a_category_takes_exactly_one_level_in_the_last_layer_too() {
    for one_hot in ["full", "drop-first"] {
        let data = format!("one_hot = \"{one_hot}\"");
        Case { data: &data, rules: &["c == 'a' => y <= 0", "c != 'a' => y >= 1"], ..REGRESSION }.holds();
    }
}

#[test]
fn a_category_of_one_level_and_small_targets_hold() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String = (0..60).map(|i| format!("{i},only,{}e-6\n", i % 50)).collect();
    fs::write(dir.path().join("d.csv"), format!("x,u,y\n{rows}")).unwrap();
    for one_hot in ["full", "drop-first"] {
        let toml = format!(
            "[data]\nfile = \"d.csv\"\ntargets = [\"y\"]\none_hot = \"{one_hot}\"\n[task]\nkind = \"regression\"\n\
             [network]\nhidden = [6, 4]\n[train]\nepochs = 3\n[[rule]]\nname = \"small\"\ntext = \"0 <= y <= 0.0001\"\n"
        );
        fs::write(dir.path().join("r.toml"), toml).unwrap();
        let report = json(dir.path(), 0, &["train", "r.toml", "--out", "run", "--force", "--json", "-q"]);
        assert_eq!(report["certified"], true, "{report}");
        // Targets are at most 5e-5: predictions are of that size, not of the size of a slack in other units.
        assert!(report["test"]["mse"].as_f64().unwrap() < 1e-8, "{report}");
    }
}

#[test]
fn rules_without_a_margin_are_refused_with_advice() {
    for network in ["hidden = [6, 4]", "hidden = []"] {
        for rules in [&["y == x"][..], &["y <= w", "y == x"]] {
            let error = Case { network, rules, ..REGRESSION }.refused(1);
            let rule = format!("'rule {}'", rules.len() - 1);
            assert!(error.contains(&rule) && error.contains("state the rule as `abs(left - right) <= "), "{error}");
        }
    }
    let dir = tempfile::tempdir().unwrap();
    // `explain` knows as well how large outputs are, and names the same tolerance.
    Case { rules: &["y == x"], ..REGRESSION }.write(dir.path(), "epochs = 1");
    let named = |said: &str| said.split("state the rule as `").nth(1).and_then(|s| s.split('`').next()).map(str::to_string);
    let explained = named(&String::from_utf8_lossy(&deepsade(dir.path(), &["explain", "rules.toml"]).stdout));
    let trained = named(&stderr(&deepsade(dir.path(), &["train", "rules.toml", "--out", "run"])));
    assert!(explained.is_some() && explained == trained, "{explained:?} {trained:?}");
    Case { rules: &["y >= 1", "y <= 0"], ..REGRESSION }.write(dir.path(), "epochs = 1");
    let output = deepsade(dir.path(), &["train", "rules.toml", "--out", "run", "--force"]);
    assert_eq!(output.status.code(), Some(1), "a finding");
    assert!(stderr(&output).contains("'rule 0', 'rule 1' can't be obeyed together"), "{}", stderr(&output));
}

#[test]
fn a_killed_training_under_rules_resumes_to_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let rules = ["0 <= y <= w", "y <= 5 or y >= 6", "c == 'a' => y + w <= 3 * x + 12", "max(y, w) <= 30"];
    Case { rules: &rules, ..REGRESSION }.write(dir.path(), "epochs = 40000\nbatch = 16\nlearning_rate = 0.001");
    expect(dir.path(), 0, &["train", "rules.toml", "--out", "whole", "-q"]);
    kill_after_checkpoint(dir.path(), "rules.toml", "cut");
    expect(dir.path(), 0, &["train", "rules.toml", "--out", "cut", "--resume", "-q"]);
    for file in ["model.onnx", "certificate.json"] {
        let read = |out: &str| fs::read(dir.path().join(out).join(file)).unwrap();
        assert_eq!(read("whole"), read("cut"), "{file}");
    }
}
