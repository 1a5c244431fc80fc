use std::fmt::Write;
use std::path::Path;

use deepsade_data::TaskKind;
use deepsade_spec::{Domain, NormalSpec};

use super::*;
use crate::fit;
use crate::problem::Problem;

/// A draft for a CSV text, and the folder that holds it.
fn drafted(csv: &str, targets: &[&str]) -> (DraftedFile, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data.csv");
    std::fs::write(&file, csv).unwrap();
    let targets = targets.iter().map(ToString::to_string).collect();
    let wishes = Wishes { targets, folder: folder.path().into(), ..Wishes::default() };
    (draft(&file, &wishes, &mut |_| {}).unwrap(), folder)
}

/// The draft with every suggestion taken.
fn all_taken(text: &str) -> String {
    let mut left = 0;
    let mut out = String::new();
    for line in text.lines() {
        left = if line.starts_with("# [[rule]]") { 3 } else { left };
        let _ = writeln!(out, "{}", if left > 0 { line.trim_start_matches("# ") } else { line });
        left = left.max(1) - 1;
    }
    out
}

/// Reads a rule file with its data; for each rule the rows that break it.
fn broken(text: &str, folder: &Path) -> (NormalSpec, Vec<Option<usize>>) {
    let problem = Problem::parse(text, &folder.join("problem.toml")).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let (spec, loaded) = problem.load(&mut |_| {}).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let rows = fit::rows(&spec, &loaded.unwrap(), problem.data.as_ref().unwrap(), 0).unwrap();
    (spec, rows.breaking_shipped)
}

/// Every suggestion can be taken, and as many rows break it as the draft says.
fn counts_are_true(draft: &DraftedFile, folder: &Path) {
    let (spec, found) = broken(&all_taken(&draft.text), folder);
    for (rule, breaking) in spec.rules.iter().zip(found) {
        let told = draft.rules.iter().find(|r| r.name == rule.name).unwrap();
        assert_eq!(breaking, Some(told.of - told.obey), "{}", told.text);
    }
    assert_eq!(spec.rules.len() + spec.pairs.len(), draft.rules.len());
}

fn texts(draft: &DraftedFile) -> Vec<&str> {
    draft.rules.iter().map(|r| r.text.as_str()).collect()
}

fn why<'a>(draft: &'a DraftedFile, name: &str) -> &'a LeftOut {
    match &draft.columns.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("{name}")).role {
        Role::Out(why) => why,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn kinds_ranges_and_what_is_left_out() {
    let mut csv = String::from("id,day,when,city,flag,count,share,same,word,empty,level,y\n");
    for k in 0..200 {
        let word = if k == 7 { "unknown".into() } else { format!("{}", k * 3 % 90) };
        let _ = writeln!(
            csv,
            "{},2024-01-{:02},{},town{k},{},{},{:.3},5,{word},,{},{:.2}",
            1000 + k,
            1 + k % 28,
            20_240_100 + 1 + k % 28,
            k % 2,
            k % 50,
            f64::from(k % 100) / 100.0,
            ["low", "high"][(k / 3 % 2) as usize],
            f64::from(k) / 3.0
        );
    }
    let (draft, folder) = drafted(&csv, &[]);
    assert_eq!((draft.task, &draft.targets[..], draft.guessed), (TaskKind::Regression, &["y".to_string()][..], true));
    assert_eq!(*why(&draft, "id"), LeftOut::Identifier);
    assert_eq!(*why(&draft, "day"), LeftOut::Dates);
    assert_eq!(*why(&draft, "when"), LeftOut::Dates);
    assert_eq!(*why(&draft, "city"), LeftOut::Identifier);
    assert_eq!(*why(&draft, "same"), LeftOut::Constant);
    assert_eq!(*why(&draft, "word"), LeftOut::Words { words: vec!["unknown".into()], rows: 1 });
    assert_eq!(*why(&draft, "empty"), LeftOut::Empty);
    let (spec, breaking) = broken(&draft.text, folder.path());
    let domain = |name: &str| &spec.schema.features.iter().find(|f| f.name == name).unwrap().domain;
    assert_eq!(*domain("flag"), Domain::Integer { lo: 0, hi: 1 });
    assert_eq!(*domain("count"), Domain::Integer { lo: 0, hi: 54 });
    assert_eq!(*domain("share"), Domain::Real { lo: 0.0, hi: 1.0 });
    assert_eq!(*domain("level"), Domain::Category { levels: vec!["high".into(), "low".into()] });
    assert_eq!((spec.schema.features.len(), spec.rules.len(), &breaking[..]), (4, 1, &[Some(0)][..]));
    assert!(draft.notes.iter().any(|n| n.starts_with("the target was guessed: y")), "{:?}", draft.notes);
    counts_are_true(&draft, folder.path());
}

#[test]
fn nines_far_from_all_others_may_mean_no_value() {
    let mut csv = String::from("a,b,c,d,y\n");
    for k in 0..100 {
        let a = if k % 20 == 3 { -999 } else { k % 60 };
        let d = if k == 3 { -999 } else { k % 60 };
        let _ = writeln!(csv, "{a},{},{},{d},{}", k, 900 + k, k % 7 * 3);
    }
    let (draft, _folder) = drafted(&csv, &["y"]);
    let told: Vec<&String> = draft.notes.iter().filter(|note| note.contains("stands for no value")).collect();
    assert!(
        matches!(&told[..], [one] if one.starts_with("'a' is -999 in 5 of 100 rows") && one.contains("[\"-999\"]")),
        "{told:?}"
    );
}

#[test]
fn planted_rules_are_found_and_chance_is_not() {
    let mut csv = String::from("income,noise,area,low,high,rest\n");
    let mut state = 7u64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for k in 0..400 {
        let income = 100 + draw(900);
        let low = draw(income / 3);
        let high = low + draw(income / 3);
        let area = ["north", "south", "west"][k % 3];
        // In the west nobody spends much on the first.
        let low = if area == "west" { low / 9 } else { low };
        let _ = writeln!(csv, "{income},{},{area},{low},{high},{}", draw(1000), income - low - high);
    }
    let (draft, folder) = drafted(&csv, &["low", "high", "rest"]);
    let texts = texts(&draft);
    assert!(texts.contains(&"low <= high"), "{texts:?}");
    assert!(texts.contains(&"sum(low, high, rest) == income"), "{texts:?}");
    assert!(texts.iter().any(|t| t.starts_with("area == 'west' => low <= ")), "{texts:?}");
    assert!(!texts.iter().any(|t| t.contains("noise")), "{texts:?}");
    assert!(draft.rules.iter().all(|r| r.stands == r.name.starts_with("range of ")), "{:?}", draft.rules);
    counts_are_true(&draft, folder.path());
}

#[test]
fn what_stands_in_the_way_of_a_draft_is_named() {
    let refused = |csv: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("d.csv"), csv).unwrap();
        let wishes = Wishes { folder: folder.path().into(), ..Wishes::default() };
        draft(&folder.path().join("d.csv"), &wishes, &mut |_| {}).unwrap_err().to_string()
    };
    let rows = |row: &dyn Fn(usize) -> String| (0..60).map(|k| row(k) + "\n").collect::<String>();
    let ragged = refused(&format!(
        "a,b,y\n{}1,2\n",
        rows(&|k| format!("{k}.5,{},{k}.25", k % 7)).lines().take(7).map(|l| format!("{l}\n")).collect::<String>()
    ));
    assert!(ragged.contains("row 8: 2 values, but the header names 3"), "{ragged}");
    let stray = refused(&format!("x,y\n{}", rows(&|k| if k == 9 { "much,1.5".into() } else { format!("{k}.25,{k}.5") })));
    assert!(stray.contains("'x' is left out: numbers but for 'much'"), "{stray}");
    for spelt in ["EUR", "%"] {
        let odd = refused(&format!("x;y\n{}", rows(&|k| format!("1.{k:03},5 {spelt};{k}.5"))));
        assert!(odd.contains("'x' is left out: it holds numbers spelled as '1.000,5"), "{odd}");
    }
    let comma = refused(&format!("x;y\n{}", rows(&|k| format!("{k},13;{k}.5"))));
    assert!(comma.contains("with a point before decimals"), "{comma}");
}

/// `total` is the sum of three columns, whichever of them are predicted.
#[test]
fn sums_of_a_few_columns_are_found_whatever_is_predicted() {
    let mut csv = String::from("f,total,a,b,c,e\n");
    for k in 0..200u64 {
        let [a, b, c, e] = [k * 7 % 50, k * 13 % 49, k * 29 % 47, k * 31 % 30];
        let _ = writeln!(csv, "0.{},{},{a},{b},{c},{e}", k * 37 % 100, a + b + c);
    }
    for (targets, text) in [
        (&["total"][..], "total == sum(a, b, c)"),
        (&["a", "b"], "sum(a, b, c) == total"),
        (&["a", "b", "c", "e"], "sum(a, b, c) == total"),
        (&["total", "a", "b", "c", "e"], "sum(a, b, c) == total"),
    ] {
        let (draft, folder) = drafted(&csv, targets);
        let sums: Vec<&str> = texts(&draft).into_iter().filter(|t| t.contains("sum(")).collect();
        assert_eq!(sums, [text], "{targets:?}");
        counts_are_true(&draft, folder.path());
    }
}

#[test]
fn classes_get_implications_and_trends() {
    let mut csv = String::from("income,history,area,loan\n");
    for k in 0..300 {
        let (income, history) = (k * 37 % 100, (k / 7) % 2);
        let loan = if history == 0 && income < 60 || income + k % 30 < 30 { "no" } else { "yes" };
        let _ = writeln!(csv, "{income},{history},{},{loan}", ["a", "b'c"][k % 2]);
    }
    let (draft, folder) = drafted(&csv, &["loan"]);
    assert_eq!(draft.task, TaskKind::Binary);
    let texts = texts(&draft);
    assert!(texts.iter().any(|t| t.contains("history == 0") && t.ends_with("=> loan == 'no'")), "{texts:?}");
    assert!(texts.contains(&"increasing(loan == 'yes', income)"), "{texts:?}");
    assert!(draft.rules.iter().all(|r| !r.stands));
    counts_are_true(&draft, folder.path());
}

#[test]
fn tasks_follow_the_values() {
    let rows = |row: &dyn Fn(usize) -> String| (0..60).map(row).collect::<Vec<_>>().join("\n");
    let task = |head: &str, row: &dyn Fn(usize) -> String, targets: &[&str]| {
        let (draft, folder) = drafted(&format!("{head}\n{}\n", rows(row)), targets);
        broken(&draft.text, folder.path());
        draft
    };
    assert_eq!(task("x,y", &|k| format!("{k}.5,{}", k % 2), &["y"]).task, TaskKind::Binary);
    assert_eq!(task("x,y", &|k| format!("{k}.5,{}", k % 4), &["y"]).task, TaskKind::Multiclass);
    assert_eq!(task("x,y", &|k| format!("{k}.5,{}", k % 40), &["y"]).task, TaskKind::Regression);
    assert_eq!(task("x,y", &|k| format!("{k}.5,c{}", k % 4), &["y"]).task, TaskKind::Multiclass);
    assert_eq!(task("x,a,b", &|k| format!("{k}.5,{},{}", k % 2, k / 3 % 2), &["a", "b"]).task, TaskKind::Multilabel);
    let ranking = task("x,a,b", &|k| format!("{k}.5,{},{}", 1 + k % 2, 2 - k % 2), &["a", "b"]);
    assert_eq!((ranking.task, ranking.rules.len()), (TaskKind::Ranking, 2));
}

#[test]
fn odd_names_separators_and_duplicates() {
    let mut csv = String::from(";a b;\"q\"\"uote\";Größe;x`y;and;twice;twice;y=1\n");
    for k in 0..50 {
        let _ = writeln!(csv, "{k};{};{};{}.5;{};{};1;2;{}.25", k % 7, k % 11, k % 13, k % 17, k % 19, k % 23);
    }
    let (draft, folder) = drafted(&csv, &["y=1"]);
    assert_eq!((why(&draft, ""), why(&draft, "twice")), (&LeftOut::Unnamed, &LeftOut::Twice));
    let (spec, _) = broken(&draft.text, folder.path());
    let names: Vec<&str> = spec.schema.features.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["a b", "q\"uote", "Größe", "x`y", "and"]);
    counts_are_true(&draft, folder.path());
}

#[test]
fn gaps_are_counted_and_filled_in() {
    let mut csv = String::from("a,b,y\n");
    for k in 0..40 {
        let a = if k % 10 == 0 { String::new() } else { format!("{}", k % 12) };
        let y = if k == 5 { "NA".into() } else { format!("{k}.5") };
        let _ = writeln!(csv, "{a},{},{y}", k % 3);
    }
    let (draft, folder) = drafted(&csv, &["y"]);
    assert_eq!(draft.rows_with_gaps, 5);
    assert!(draft.text.contains("missing = \"impute\""), "{}", draft.text);
    broken(&draft.text, folder.path());
}

#[test]
fn what_can_not_be_predicted_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data.csv");
    let refused = |csv: &str, targets: &[&str]| {
        std::fs::write(&file, csv).unwrap();
        let targets = targets.iter().map(ToString::to_string).collect();
        draft(&file, &Wishes { targets, ..Wishes::default() }, &mut |_| {}).unwrap_err().to_string()
    };
    assert!(refused("age,y\n1,2\n2,3\n", &["agee"]).contains("did you mean 'age'?"));
    assert!(refused("age,y\n1,2\n2,2\n", &["y"]).contains("one value only"));
    assert!(refused("age,y\n1,2\n2,3\n", &["y", "y"]).contains("named twice"));
    assert!(refused("age,y,z\n1,a,2\n2,b,3\n", &["y", "z"]).contains("holds text"));
    assert!(refused("age,y\n1,2\n1,3\n", &["y"]).contains("no column is left"));
}

#[test]
fn rooms_are_round_and_hold_the_data() {
    for (lo, hi, whole) in [
        (0.0, 1.0, false),
        (-3.7, 12.9, false),
        (1e-9, 3e-9, false),
        (-1e30, 2e30, false),
        (5.0, 5.0, false),
        (150.0, 81000.0, true),
        (-16_777_216.0, 16_777_216.0, true),
        (f64::from(f32::MIN), f64::from(f32::MAX), false),
        (0.1, 0.300_000_000_000_000_04, false),
    ] {
        let [low, high] = columns::room(lo, hi, whole);
        assert!(low <= lo && high >= hi, "{lo} {hi}: {low} {high}");
        assert!(low.abs() <= f64::from(f32::MAX) && high.abs() <= f64::from(f32::MAX));
        assert!(!whole || low.fract() == 0.0 && high.fract() == 0.0);
    }
    assert_eq!(columns::room(150.0, 81000.0, true), [0.0, 90000.0]);
    assert_eq!(columns::room(-3.7, 12.9, false), [-6.0, 15.0]);
}
