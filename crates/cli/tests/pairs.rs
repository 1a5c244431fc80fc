//! Rules between two inputs from the command line: trained, checked, explained, verified, and refused where nothing keeps them.

mod support;

use std::fs;

use support::{deepsade as run, expect, json, refusal};

const HEAD: &str = "[data]\nfile = \"d.csv\"\ntargets = [\"rate\"]\n\n[features.grade]\norder = [\"A\", \"B\", \"C\"]\n\n[task]\nkind = \"regression\"\n\n[network]\nhidden = [12, 8]\n\n[train]\nepochs = 15\n";

fn write(dir: &std::path::Path, more: &str, rules: &[&str]) {
    let mut csv = String::from("grade,age,area,rate\n");
    for k in 0..240usize {
        let (g, age, area) = (k % 3, (k * 37) % 80, (k * 7) % 2);
        let rate = g as f64 * 2.0 - age as f64 * 0.02 + ((k * 13) % 10) as f64 * 0.1 + area as f64 * 0.2;
        csv += &format!("{},{age},{},{rate}\n", ["A", "B", "C"][g], ["n", "s"][area]);
    }
    fs::write(dir.join("d.csv"), csv).unwrap();
    let rules: String = rules.iter().enumerate().map(|(k, r)| format!("[[rule]]\nname = \"r{k}\"\ntext = \"{r}\"\n")).collect();
    fs::write(dir.join("r.toml"), format!("{HEAD}{more}\n{rules}")).unwrap();
}

const RULES: [&str; 5] = [
    "increasing(rate, grade)",
    "decreasing(rate, age)",
    "unaffected(rate, area)",
    "change(rate, {age}, by = 1) <= 1",
    "grade >= 'B' => rate >= -1",
];

#[test]
fn all_kinds_of_rules_are_kept_in_one_file() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "", &RULES);
    let out = json(dir.path(), 0, &["train", "r.toml", "--out", "run", "--json", "-q"]);
    assert_eq!((&out["certified"], &out["enforced_by"]), (&true.into(), &"weights".into()), "{out}");
    assert!(out["distinct"].as_u64().unwrap() > 10, "{out}");
    let checked = json(dir.path(), 0, &["check", "run", "--json"]);
    let rules = checked["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 5);
    let by = |name: &str| rules.iter().find(|r| r["name"] == name).unwrap();
    assert_eq!((&by("r0")["proved_by"], &by("r3")["proved_by"]), (&"signs".into(), &"slopes".into()));
    assert_eq!(by("r1")["normal"], "rate never rises when age rises");
    // A rule that was not trained for is refuted by two inputs; one that was is proved of the file.
    fs::write(
        dir.path().join("q.toml"),
        fs::read_to_string(dir.path().join("run/rules.toml")).unwrap().replace("decreasing(rate, age)", "increasing(rate, age)"),
    )
    .unwrap();
    let refuted = run(dir.path(), &["verify", "--model", "run/model.onnx", "--rules", "q.toml", "--json"]);
    assert_eq!(refuted.status.code(), Some(1));
    let refuted: serde_json::Value = serde_json::from_slice(&refuted.stdout).unwrap();
    assert!(refuted["input"]["grade"].is_string() && refuted["other_input"]["grade"] == refuted["input"]["grade"], "{refuted}");
    let proved = json(dir.path(), 0, &["verify", "--model", "run/model.onnx", "--rules", "run/rules.toml", "--json"]);
    assert_eq!(proved["verdict"], "proved");
}

/// What looks at one input says which rules it does not see, and is refused where no other is left.
#[test]
fn commands_about_one_input_name_the_rules_that_they_leave_out() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "", &RULES[..2]);
    let trained = expect(dir.path(), 0, &["train", "r.toml", "--out", "free", "--enforce", "none", "-q"]);
    assert!(
        trained.contains("Not counted: rules 'r0', 'r1' compare two inputs") && !trained.contains("break a rule"),
        "{trained}"
    );
    let model = "free/model.onnx";
    let export = |to: &str| run(dir.path(), &["export", "r.toml", "--to", to]);
    for output in [run(dir.path(), &["adversity", "--model", model, "--rules", "r.toml"]), export("vnnlib"), export("smtlib")] {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains("rules 'r0', 'r1' compare two inputs"), "{said}");
    }
    assert!(expect(dir.path(), 0, &["report", "free"]).contains("Not proved: there is no certificate"));
    let page = fs::read_to_string(dir.path().join("free/report.html")).unwrap();
    assert!(page.contains("rules between two inputs are not counted") && page.contains("ordered ones as the place"), "the page");

    write(dir.path(), "", &["increasing(rate, grade)", "rate <= 1000"]);
    let near = json(dir.path(), 0, &["adversity", "--model", model, "--rules", "r.toml", "--json", "-q"]);
    assert_eq!(near["not_looked_at"], serde_json::json!(["r0"]), "{near}");
    let words = expect(dir.path(), 0, &["adversity", "--model", model, "--rules", "r.toml", "-q"]);
    assert!(words.contains("not looked at: rule 'r0' compares two inputs"), "{words}");
    for to in ["vnnlib", "smtlib"] {
        let output = export(to);
        let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && said.contains("left out: rule 'r0'"), "{said}");
        assert!(text.lines().any(|l| l.starts_with("; ") && l.contains("ot said here: rule 'r0' compares two inputs")), "{text}");
    }
}

/// A step looks at one input: of rules between two nothing is proved behind it, pairs of inputs are tried, and no other step would help.
#[test]
fn behind_an_output_step_rules_between_two_inputs_stay_open() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "enforce = \"decode\"", &["rate <= 1000"]);
    expect(dir.path(), 0, &["train", "r.toml", "--out", "step", "-q"]);
    write(dir.path(), "", &["rate <= 1000", "increasing(rate, grade)"]);
    let said = expect(dir.path(), 3, &["verify", "--model", "step/model.onnx", "--rules", "r.toml"]);
    assert!(
        said.contains("rule 'r1'") && said.contains("pairs of inputs that were tried break none") && !said.contains("shield"),
        "{said}"
    );
}

/// Levels that spell numbers are levels still, and one that the order does not have lies outside the domain.
#[test]
fn rows_with_an_ordered_category_are_predicted() {
    let dir = tempfile::tempdir().unwrap();
    for levels in [["A", "B", "C"], ["2", "1", "0"]] {
        write(dir.path(), "enforce = \"weights\"", &RULES[..2]);
        for file in ["d.csv", "r.toml"] {
            let text = fs::read_to_string(dir.path().join(file)).unwrap();
            let swapped = ["A", "B", "C"].iter().zip(levels).fold(text, |text, (old, new)| {
                text.replace(&format!("\n{old},"), &format!("\n{new},")).replace(&format!("\"{old}\""), &format!("\"{new}\""))
            });
            fs::write(dir.path().join(file), swapped).unwrap();
        }
        json(dir.path(), 0, &["train", "r.toml", "--out", "run", "--force", "--json", "-q"]);
        let rows: String = levels.iter().chain(&["foo"]).map(|level| format!("{level},30,n\n")).collect();
        fs::write(dir.path().join("new.csv"), format!("grade,age,area\n{rows}")).unwrap();
        let out = expect(dir.path(), 0, &["predict", "run/model.onnx", "new.csv", "-q"]);
        let cells: Vec<Vec<&str>> = out.lines().skip(1).map(|line| line.split(',').collect()).collect();
        let rate = |k: usize| cells[k][0].parse::<f64>().unwrap();
        assert!(rate(0) <= rate(1) && rate(1) <= rate(2) && rate(0) < rate(2), "{out}");
        assert_eq!(cells.iter().map(|c| c[1]).collect::<Vec<_>>(), ["true", "true", "true", "false"], "{out}");
        assert_eq!((cells[3][0], cells[3][2]), ("", "grade"), "{out}");
        let said = refusal(dir.path(), &["predict", "run/model.onnx", "new.csv", "--strict"]);
        assert!(said.contains("grade = foo is outside its domain"), "{said}");
    }
}

#[test]
fn explain_says_what_pairs_of_rows_say() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "", &RULES);
    let said = json(dir.path(), 0, &["explain", "r.toml", "--json"]);
    let rule = said["rules"].as_array().unwrap().iter().find(|r| r["name"] == "r0").unwrap();
    assert!(rule["pairs"]["discordant"].as_f64().unwrap() < 0.3, "{rule}");
    assert!(rule["kept_by"].as_str().unwrap().contains("signs"));
    let words = String::from_utf8(run(dir.path(), &["explain", "r.toml"]).stdout).unwrap();
    assert!(words.contains("rate is the same whatever area is") && words.contains("signs of the weights"), "{words}");
}

/// Of rows to which a rule does not apply nothing is counted.
#[test]
fn pairs_of_rows_are_counted_where_the_condition_holds() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "", &["area == 'n' => increasing(rate, age)", "area == 's' => increasing(rate, age)"]);
    let rows: String =
        (0..200i32).map(|k| format!("A,{},{},{}\n", k / 2, ["n", "s"][k as usize % 2], [k, -k][k as usize % 2])).collect();
    fs::write(dir.path().join("d.csv"), format!("grade,age,area,rate\n{rows}")).unwrap();
    let said = json(dir.path(), 0, &["explain", "r.toml", "--json"]);
    let shares = |k: usize| said["rules"][k]["pairs"]["discordant"].as_f64().unwrap();
    assert_eq!((shares(0), shares(1)), (0.0, 1.0), "{said}");
}

/// The signs of the weights keep a difference by each of its sides, and that is said.
#[test]
fn what_is_kept_output_by_output_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let rows: String = (0..60i32).map(|k| format!("{k},{},{}\n", 3 * k, k)).collect();
    fs::write(dir.path().join("d.csv"), format!("x,u,v\n{rows}")).unwrap();
    for (rule, told) in [("increasing(u, x)", false), ("increasing(u - v, x)", true), ("change(u - v, {x}, by = 1) <= 9", false)]
    {
        let text = format!(
            "[data]\nfile = \"d.csv\"\ntargets = [\"u\", \"v\"]\n[task]\nkind = \"regression\"\n[[rule]]\nname = \"r\"\ntext = \"{rule}\"\n"
        );
        fs::write(dir.path().join("r.toml"), text).unwrap();
        let said = json(dir.path(), 0, &["explain", "r.toml", "--json"]);
        assert_eq!(said["rules"][0]["kept_by"].to_string().contains("of each output by itself"), told, "{said}");
    }
}

/// What has no direction is broken by a rise, too, and a change by what lies as far apart as it says.
#[test]
fn the_page_counts_what_breaks_a_rule_on_its_curves() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "enforce = \"none\"", &["unaffected(rate, grade)", "change(rate, {age}, by = 60) <= 0.05"]);
    json(dir.path(), 0, &["train", "r.toml", "--out", "run", "--json", "-q"]);
    expect(dir.path(), 0, &["report", "run", "--out", "page.html"]);
    let page = fs::read_to_string(dir.path().join("page.html")).unwrap();
    let told: Vec<&str> = page.match_indices("on these curves ").map(|(at, words)| &page[at + words.len()..]).collect();
    assert!(told.len() >= 2, "{}", told.len());
    for count in told {
        assert!(!count.starts_with("0 "), "{}", &count[..40]);
    }
}

#[test]
fn settings_that_keep_no_such_rule_are_refused_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "update = \"paper\"", &RULES);
    let said = refusal(dir.path(), &["train", "r.toml", "--out", "run", "--force"]);
    assert!(said.contains("compares two inputs") && said.contains("update = \"project\""), "{said}");
    assert!(!dir.path().join("run/model.onnx").exists());
    // Clips keep them all, the bounded change as well.
    write(dir.path(), "enforce = \"decode\"", &RULES);
    let kept = json(dir.path(), 0, &["train", "r.toml", "--out", "kept", "--json", "-q"]);
    assert_eq!((&kept["certified"], &kept["enforced_by"]), (&true.into(), &"decode".into()), "{kept}");
    write(dir.path(), "", &RULES);
    fs::write(
        dir.path().join("s.toml"),
        fs::read_to_string(dir.path().join("r.toml"))
            .unwrap()
            .replace("hidden = [12, 8]", "hidden = [12, 8]\nactivation = \"tanh\""),
    )
    .unwrap();
    let said = String::from_utf8_lossy(&run(dir.path(), &["train", "s.toml", "--out", "run", "--force"]).stderr).into_owned();
    assert!(said.contains("activation = \"relu\""), "{said}");
    json(dir.path(), 0, &["train", "r.toml", "--out", "run", "--force", "--json", "-q"]);
    for command in ["shield", "repair"] {
        let out = run(dir.path(), &[command, "--model", "run/model.onnx", "--rules", "run/rules.toml", "--out", "other"]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned() + &String::from_utf8_lossy(&out.stdout);
        assert!(said.contains("compares two inputs") || said.contains("already"), "{command}: {said}");
    }
}
