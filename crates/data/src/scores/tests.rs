//! Scores whose values are counted by hand.

use super::*;
use crate::table::Column;

fn task(kind: &str) -> Task {
    let names = |n: &[&str]| n.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    match kind {
        "binary" => Task::Binary { target: "y".into(), classes: names(&["no", "yes"]) },
        "multiclass" => Task::Multiclass { target: "y".into(), classes: names(&["a", "b", "c"]) },
        "labels" => Task::Multilabel { labels: names(&["red", "blue"]) },
        _ => Task::regression(names(&["u"])),
    }
}

fn matrix(rows: &[&[f32]]) -> Matrix {
    Matrix { rows: rows.len(), cols: rows[0].len(), data: rows.concat() }
}

fn close(value: &Value, expected: f64) {
    let found = value.as_f64().unwrap_or(f64::NAN);
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
}

/// Four rows: probabilities 0.1, 0.4, 0.4, 0.8 of yes; truth no, no, yes, yes; decided at 0.3.
fn four(segments: &[Segment], seed: Option<u64>) -> Value {
    let p = [0.1, 0.4, 0.4, 0.8];
    let outputs = matrix(&[&[0.0, -1.0], &[0.0, 1.0], &[0.0, 1.0], &[0.0, 1.0]]);
    let truth = matrix(&[&[1.0, 0.0], &[1.0, 0.0], &[0.0, 1.0], &[0.0, 1.0]]);
    let probabilities: Vec<Vec<f64>> = p.iter().map(|p| vec![1.0 - p, *p]).collect();
    let task = task("binary");
    Judged { task: &task, outputs: &outputs, probabilities: Some(&probabilities), truth: &truth, weight: &[1.0; 4], cutoff: 0.3 }
        .scores(segments, seed)
}

#[test]
fn two_classes_at_a_cutoff() {
    let s = four(&[], None);
    // Of four pairs three are in order and one is tied.
    close(&s["auc"], 3.5 / 4.0);
    close(&s["gini"], 0.75);
    // Behind 0.1 half of the noes are below and no yes; behind 0.4 all and half.
    close(&s["ks"], 0.5);
    close(&s["accuracy"], 0.75);
    close(&s["brier"], (0.01 + 0.16 + 0.36 + 0.04) / 4.0);
    close(&s["log_loss"], -(0.9f64.ln() + 0.6f64.ln() + 0.4f64.ln() + 0.8f64.ln()) / 4.0);
    close(&s["precision"], 2.0 / 3.0);
    close(&s["recall"], 1.0);
    close(&s["false_positive_rate"], 0.5);
    assert_eq!(s["confusion"], json!({"true_negative": 1, "false_positive": 1, "false_negative": 0, "true_positive": 2}));
    assert_eq!((&s["positive"], &s["cutoff"], &s["rows"]), (&json!("yes"), &json!(0.3), &json!(4)));
    let bins = s["calibration"].as_array().unwrap();
    assert_eq!(bins.iter().map(|b| b["rows"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 1]);
    close(&bins[1]["share_observed"], 0.5);
    close(&s["calibration_error"], (0.1 + 2.0 * 0.1 + 0.2) / 4.0);
}

#[test]
fn intervals_hold_the_score_and_come_again_with_the_seed() {
    let s = four(&[], Some(7));
    for name in ["accuracy", "brier", "log_loss"] {
        let (lo, hi) = (s["intervals"][name][0].as_f64().unwrap(), s["intervals"][name][1].as_f64().unwrap());
        let value = s[name].as_f64().unwrap();
        assert!(lo <= value && value <= hi && lo < hi, "{name}: {lo} {value} {hi}");
    }
    assert_eq!(s, four(&[], Some(7)));
    // In an eighth of the draws of four rows one class is missing.
    assert_eq!(s["intervals"]["auc"], Value::Null);
}

#[test]
fn segments_by_level_value_and_quantile() {
    let text = Column::Text { levels: vec!["f".into(), "m".into()], codes: vec![0, 1, 0, u32::MAX] };
    let sex = Segment::of("sex", &text);
    assert_eq!((sex.names.clone(), sex.part.clone()), (vec!["f".into(), "m".into(), "(missing)".into()], vec![0, 1, 0, 2]));
    let s = four(&[sex], None);
    let parts = s["segments"][0]["parts"].as_array().unwrap();
    assert_eq!((&parts[0]["value"], &parts[0]["rows"]), (&json!("f"), &json!(2)));
    close(&parts[0]["share_predicted"], 0.5);
    close(&parts[0]["true_positive_rate"], 1.0);
    close(&parts[1]["false_positive_rate"], 1.0);
    close(&parts[1]["predicted"]["yes"], 1.0);
    let few = Segment::of("children", &Column::Number(vec![10.0, 2.0, 10.0]));
    assert_eq!((few.names, few.part), (vec!["2".into(), "10".into()], vec![1, 0, 1]));
    let many = Segment::of("age", &Column::Number((0..100).map(f64::from).collect()));
    assert_eq!(many.names, ["up to 24", "above 24 to 49", "above 49 to 74", "above 74"]);
    assert_eq!([0, 25, 50, 99].map(|r: usize| many.part[r]), [0, 1, 2, 3]);
}

#[test]
fn several_classes_labels_and_numbers() {
    let outputs = matrix(&[&[2.0, 1.0, 0.0], &[0.0, 1.0, 0.5], &[0.0, 3.0, 1.0]]);
    let truth = matrix(&[&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]]);
    let p = vec![vec![0.7, 0.2, 0.1], vec![0.1, 0.6, 0.3], vec![0.1, 0.5, 0.4]];
    let t = task("multiclass");
    let s = Judged { task: &t, outputs: &outputs, probabilities: Some(&p), truth: &truth, weight: &[1.0; 4], cutoff: 0.5 }
        .scores(&[], None);
    close(&s["accuracy"], 2.0 / 3.0);
    close(&s["auc_macro"], 1.0);
    assert_eq!(s["confusion"], json!([[1, 0, 0], [0, 1, 0], [0, 1, 0]]));

    let outputs = matrix(&[&[1.0, -1.0], &[1.0, 1.0], &[-1.0, -1.0]]);
    let truth = matrix(&[&[1.0, 0.0], &[0.0, 1.0], &[0.0, 1.0]]);
    let p = vec![vec![0.9, 0.2], vec![0.6, 0.7], vec![0.3, 0.4]];
    let t = task("labels");
    let s = Judged { task: &t, outputs: &outputs, probabilities: Some(&p), truth: &truth, weight: &[1.0; 4], cutoff: 0.5 }
        .scores(&[], None);
    // Red: one right, one too many; blue: one right, one missed.
    close(&s["f1_micro"], 4.0 / 6.0);
    close(&s["f1_macro"], 2.0 / 3.0);
    close(&s["auprc_macro"], 1.0);
    close(&s["exact_match"], 1.0 / 3.0);

    let (outputs, truth) = (matrix(&[&[1.0], &[2.0], &[6.0], &[f32::NAN]]), matrix(&[&[1.0], &[3.0], &[5.0], &[0.0]]));
    let t = task("numbers");
    let s = Judged { task: &t, outputs: &outputs, probabilities: None, truth: &truth, weight: &[1.0; 4], cutoff: 0.5 }
        .scores(&[], None);
    assert_eq!((&s["rows"], &s["rows_without_prediction"]), (&json!(3), &json!(1)));
    close(&s["mse"], 2.0 / 3.0);
    close(&s["mae"], 2.0 / 3.0);
    close(&s["r2"], 1.0 - 2.0 / 8.0);
    close(&s["error_quantiles"][2]["error"], 0.0);
    close(&s["targets"]["u"]["mae"], 2.0 / 3.0);
    close(&s["rmse"], (2.0f64 / 3.0).sqrt());
}

#[test]
fn the_root_of_several_targets_is_the_mean_of_their_roots() {
    let t = Task::regression(vec!["u".into(), "v".into()]);
    let (outputs, truth) = (matrix(&[&[1.0, 10.0], &[2.0, 20.0]]), matrix(&[&[2.0, 18.0], &[3.0, 28.0]]));
    let s = Judged { task: &t, outputs: &outputs, probabilities: None, truth: &truth, weight: &[1.0; 2], cutoff: 0.5 }
        .scores(&[], None);
    close(&s["mse"], 32.5);
    close(&s["rmse"], 4.5);
    close(&s["targets"]["v"]["rmse"], 8.0);
}

#[test]
fn a_row_of_weight_two_counts_as_two_rows() {
    let (outputs, truth) = (matrix(&[&[1.0], &[2.0], &[6.0]]), matrix(&[&[1.0], &[3.0], &[5.0]]));
    let (twice, both) = (matrix(&[&[1.0], &[2.0], &[6.0], &[6.0]]), matrix(&[&[1.0], &[3.0], &[5.0], &[5.0]]));
    let t = task("numbers");
    let judged = |outputs, truth, weight| Judged { task: &t, outputs, probabilities: None, truth, weight, cutoff: 0.5 };
    let (weighted, repeated) = (judged(&outputs, &truth, &[1.0, 1.0, 2.0]), judged(&twice, &both, &[1.0; 4]));
    for name in ["mse", "mae", "r2"] {
        assert!((weighted.number(name) - repeated.number(name)).abs() < 1e-12, "{name}");
    }
}

#[test]
fn rows_of_one_class_have_no_auc() {
    let (outputs, truth) = (matrix(&[&[0.0, 1.0]]), matrix(&[&[0.0, 1.0]]));
    let (t, p) = (task("binary"), vec![vec![0.3, 0.7]]);
    let s = Judged { task: &t, outputs: &outputs, probabilities: Some(&p), truth: &truth, weight: &[1.0; 4], cutoff: 0.5 }
        .scores(&[], None);
    assert_eq!((&s["auc"], &s["ks"], &s["false_positive_rate"]), (&Value::Null, &Value::Null, &Value::Null));
    close(&s["accuracy"], 1.0);
}
