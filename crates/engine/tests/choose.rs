//! Where rules are enforced when nobody says where: the best on validation of what is proved, and what that costs; and what the output
//! step falls back on.

use deepsade_check::{Certificate, Keeper};
use deepsade_data::{Column, Table};
use deepsade_engine::enforce::step::torn;
use deepsade_engine::explain::through_weights;
use deepsade_engine::pipeline::{Checked, Ended, Finished, PipelineError, Prepared};
use deepsade_engine::problem::Problem;
use deepsade_engine::train::Silent;
use deepsade_net::Matrix;
use deepsade_output::{Judge, Output};
use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

fn train(settings: &Value, table: Table) -> Result<Finished, PipelineError> {
    let ready = match Checked::in_memory(&settings.to_string(), 3)?.take(table)? {
        Prepared::Ready(ready) => ready,
        Prepared::Contradictory(words) => panic!("{words}"),
    };
    match ready.train(None, &mut Silent)? {
        Ended::Done(finished) => Ok(*finished),
        _ => panic!("it neither diverges nor is it interrupted"),
    }
}

fn table(names: &[&str], columns: Vec<Column>, rows: usize) -> Table {
    Table { names: names.iter().map(ToString::to_string).collect(), columns, row_numbers: (1..=rows as u64).collect() }
}

/// Incomes, amounts and who got a loan: nobody who asks for more than a tenth of the income, and of others most.
fn loans() -> Table {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let rows = 400;
    let column =
        |rng: &mut ChaCha8Rng, lo: f64, hi: f64| (0..rows).map(|_| rng.random_range(lo..hi).round()).collect::<Vec<f64>>();
    let (income, co, amount) = (column(rng, 100.0, 9000.0), column(rng, 0.0, 3000.0), column(rng, 10.0, 700.0));
    let code = |k: usize| u32::from(10.0 * amount[k] <= income[k] + co[k] && income[k] > 500.0);
    let status = Column::Text { levels: vec!["N".into(), "Y".into()], codes: (0..rows).map(|k| code(k) as _).collect() };
    let columns = vec![Column::Number(income), Column::Number(co), Column::Number(amount), status];
    table(&["income", "co", "amount", "status"], columns, rows)
}

fn loan_settings(enforce: &str) -> Value {
    json!({
        "data": {"targets": ["status"]},
        "features": {"income": {"range": [0, 81000]}, "co": {"range": [0, 42000]}, "amount": {"range": [0, 700]}},
        "task": {"kind": "binary"},
        "network": {"hidden": [8]},
        "train": {"epochs": 30, "learning_rate": 0.01, "enforce": enforce},
        "rule": [{"name": "too much", "text": "10 * amount > income + co => status == 'N'"}],
    })
}

/// Whoever asks for the weights is told what that costs, and that there is another way.
#[test]
fn a_guarantee_that_costs_much_is_warned_of_with_the_way_out() {
    let done = train(&loan_settings("weights"), loans()).unwrap();
    let summary = done.summary(None);
    let told: Vec<&str> = summary["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let cost = told.iter().find(|w| w.starts_with("the guarantee costs much: accuracy")).unwrap_or_else(|| panic!("{told:?}"));
    assert!(cost.contains("--enforce decode was not tried") && cost.contains("deepsade explain"), "{cost}");
    // Weights are trained from the start, and have no step to run.
    assert_eq!((&summary["cost"]["epochs"], &summary["timings"]["run"]), (&json!(30), &Value::Null));
    let done = train(&loan_settings("auto"), loans()).unwrap();
    assert!(!done.summary(None)["warnings"].to_string().contains("costs much"));
}

/// Estimators have no test rows.
#[test]
fn what_a_guarantee_costs_is_told_by_other_rows_where_none_test() {
    let falling = || {
        let x: Vec<f64> = (0..200).map(|k| f64::from(k * 37 % 200)).collect();
        let y = x.iter().map(|x| -x).collect();
        table(&["x", "y"], vec![Column::Number(x), Column::Number(y)], 200)
    };
    for (train_share, validation, on) in [(0.7, 0.3, "validation"), (1.0, 0.0, "training")] {
        let settings = json!({
            "data": {"targets": ["y"], "split": {"train": train_share, "validation": validation, "test": 0.0}},
            "task": {"kind": "regression"},
            "network": {"hidden": [8]},
            "train": {"epochs": 60, "learning_rate": 0.01},
            "rule": [{"name": "up", "text": "increasing(y, x)"}],
        });
        let warnings = train(&settings, falling()).unwrap().summary(None)["warnings"].to_string();
        assert!(warnings.contains("the guarantee costs much: mse"), "{warnings}");
        assert!(warnings.contains(&format!("{on} rows whose label obeys")), "{warnings}");
    }
}

/// What becomes of prices that rise by 2 with each unit of size, from 20 to 200, under a rule kept by the weights.
fn priced(rule: &str) -> Value {
    let rng = &mut ChaCha8Rng::seed_from_u64(4);
    let size: Vec<f64> = (0..300).map(|_| rng.random_range(20.0..200.0f64)).collect();
    let price = size.iter().map(|s| 400.0 + 2.0 * s).collect();
    let rows = table(&["size", "price"], vec![Column::Number(size), Column::Number(price)], 300);
    let settings = json!({
        "data": {"targets": ["price"]},
        "features": {"size": {"range": [20, 200]}},
        "task": {"kind": "regression"},
        "network": {"hidden": [16, 8]},
        "train": {"epochs": 40, "learning_rate": 0.01, "enforce": "weights"},
        "rule": [{"name": "r", "text": rule}],
    });
    train(&settings, rows).unwrap().summary(None)
}

/// A change over a short distance, where rounding takes a good part of what is allowed: slopes leave room for it.
#[test]
fn a_small_change_leaves_room_for_rounding() {
    let summary = priced("change(price, {size}, by = 0.01) <= 0.022");
    assert_eq!(summary["certified"], true, "{}", summary["cost"]);
}

/// Where no input meets the condition of a rule between two inputs, nothing keeps the network from rising.
#[test]
fn a_rule_between_two_inputs_under_a_condition_that_none_meets_costs_nothing() {
    let summary = priced("size > 500 => decreasing(price, size)");
    assert_eq!(summary["certified"], true);
    // The variance of the prices is above 10,000.
    assert!(summary["cost"]["enforced"].as_f64().unwrap() < 1000.0, "{}", summary["cost"]);
    assert!(priced("size > 50 => decreasing(price, size)")["cost"]["enforced"].as_f64().unwrap() > 5000.0);
}

/// Rules that no row obeys leave nothing to score by.
#[test]
fn rows_that_all_break_the_rules_are_told_in_words() {
    let mut settings = loan_settings("decode");
    settings["rule"] = json!([{"name": "nobody", "text": "status == 'N'"}]);
    let mut rows = loans();
    if let Column::Text { codes, .. } = &mut rows.columns[3] {
        codes.iter_mut().for_each(|code| *code = 1);
    }
    let done = train(&settings, rows).unwrap();
    let warnings = done.summary(None)["warnings"].to_string();
    assert!(warnings.contains("no label of the") && warnings.contains("deepsade explain"), "{warnings}");
}

/// Through the weights this rule, on the sum of several features, holds scores back near its border.
#[test]
fn auto_takes_the_output_step_where_the_weights_lose_much() {
    let done = train(&loan_settings("auto"), loans()).unwrap();
    let summary = done.summary(None);
    let cost = &summary["cost"];
    assert_eq!((&summary["certified"], &summary["enforced_by"]), (&true.into(), &"decode".into()), "{cost}");
    assert_eq!((&summary["decode"], &summary["model"]), (&"in-graph".into(), &Value::Null));
    assert!(summary["made"].is_string() && summary.get("in_library").is_none(), "{summary}");
    assert_eq!(done.accepted().unwrap().kept_by, Keeper::Step);

    assert_eq!(cost["metric"], "accuracy");
    for field in ["free", "enforced", "free_validation", "enforced_validation"] {
        assert!((0.0..=100.0).contains(&cost[field].as_f64().unwrap()), "{field}: {cost}");
    }
    // What went on from the free network's 30 epochs is compared with one that did, too.
    assert_eq!(cost["epochs"], 60);
    let run = &summary["timings"]["run"];
    assert!(run["network_us"].as_f64().unwrap() > 0.0 && run["ratio"].as_f64().unwrap() > 1.0, "{run}");
    // The rule is true of the rows: the guarantee costs next to nothing.
    assert!(cost["enforced"].as_f64().unwrap() > cost["free"].as_f64().unwrap() - 5.0, "{cost}");
    assert_eq!((&summary["distinct"], &summary["fallbacks"]), (&cost["distinct"], &cost["fallbacks"]));
    assert_eq!(cost["distinct"], 2, "both classes are predicted");
    assert!(cost["moved"].as_u64().unwrap() <= cost["rows"].as_u64().unwrap(), "{cost}");
    let tried = cost["tried"].as_array().unwrap();
    let ways: Vec<&str> = tried.iter().map(|t| t["enforced_by"].as_str().unwrap()).collect();
    assert_eq!(ways, ["weights", "decode", "decode"], "{cost}");
    let of = |k: usize| tried[k]["score"].as_f64().unwrap();
    assert!(of(0) + 10.0 < of(1).max(of(2)), "the weights lose much: {cost}");
    // Half of the rows are the better class: what the weights keep is no constant.
    assert!(of(0) > 70.0, "the weights collapse: {cost}");
    let best = tried.iter().filter(|t| t["certified"] == true).filter_map(|t| t["score"].as_f64()).fold(0.0, f64::max);
    assert_eq!(cost["enforced_validation"].as_f64().unwrap(), best, "{cost}");
    assert_eq!(summary["test"]["rows_breaking_all"], 0);
}

/// All rows that validate are refused, and so a constant is as good there as anything.
#[test]
fn where_validation_can_not_tell_the_training_rows_choose() {
    let mut table = loans();
    let Column::Text { codes, .. } = &table.columns[3] else { panic!("status is text") };
    let refused = (0..codes.len()).filter(|k| codes[*k] == 0).take(20).collect::<Vec<_>>();
    let part = |k: usize| if refused.contains(&k) { 1 } else { 2 * u32::from(k.is_multiple_of(4)) };
    let part = (0..codes.len()).map(|k| part(k) as _).collect();
    table.names.push("part".into());
    table.columns.push(Column::Text { levels: ["train", "validation", "test"].map(String::from).to_vec(), codes: part });
    let mut settings = loan_settings("auto");
    settings["data"]["split"] = json!({"column": "part"});
    let done = train(&settings, table).unwrap();
    let cost = &done.summary(None)["cost"];
    let scores: Vec<f64> = cost["tried"].as_array().unwrap().iter().map(|t| t["score"].as_f64().unwrap()).collect();
    assert_eq!(scores, [100.0; 3], "{cost}");
    assert_eq!((&done.summary(None)["enforced_by"], &cost["distinct"]), (&"decode".into(), &2.into()), "{cost}");
}

#[test]
fn what_is_asked_for_is_what_is_tried() {
    let tried = |enforce: &str| {
        let summary = train(&loan_settings(enforce), loans()).unwrap().summary(None);
        let ways = summary["cost"]["tried"].as_array().unwrap().iter().map(|t| t["enforced_by"].as_str().unwrap().to_string());
        (summary["enforced_by"].as_str().unwrap().to_string(), ways.collect::<Vec<_>>())
    };
    assert_eq!(tried("decode"), ("decode".into(), vec!["decode".into(), "decode".into()]));
    assert_eq!(tried("weights"), ("weights".into(), vec!["weights".into()]));
    let free = train(&loan_settings("none"), loans()).unwrap().summary(None);
    assert_eq!((&free["enforced_by"], &free["cost"], &free["certified"]), (&"none".into(), &Value::Null, &false.into()));
}

/// Rows of two features and a number.
fn numbers() -> Table {
    let rng = &mut ChaCha8Rng::seed_from_u64(2);
    let rows = 200;
    let (a, b): (Vec<f64>, Vec<f64>) = (0..rows).map(|_| (rng.random_range(0.0..10.0), rng.random_range(-5.0..5.0))).unzip();
    let y = a.iter().zip(&b).map(|(a, b)| if *a > 3.0 { 5.0 + a * 0.3 } else { 1.0 + 0.1 * b }).collect();
    table(&["a", "b", "y"], vec![Column::Number(a), Column::Number(b), Column::Number(y)], rows)
}

fn number_settings(rules: &[&str], features: &Value) -> Value {
    let rules: Vec<Value> = rules.iter().map(|text| json!({"name": text, "text": text})).collect();
    json!({
        "data": {"targets": ["y"]},
        "features": features,
        "task": {"kind": "regression"},
        "network": {"hidden": [6]},
        "train": {"epochs": 5, "learning_rate": 0.01, "enforce": "decode"},
        "rule": rules,
    })
}

fn real() -> Value {
    json!({"a": {"range": [0, 10]}, "b": {"range": [-5, 5]}})
}

/// Every output obeys at points of the domain and on the borders of conditions.
fn obeys(done: &Finished, border: impl Fn(&mut ChaCha8Rng) -> (f32, f32)) {
    let spec = done.accepted().unwrap().spec.clone();
    let rng = &mut ChaCha8Rng::seed_from_u64(7);
    let mut data = Vec::new();
    let rows = 4000;
    for k in 0..rows {
        let (a, b) = if k % 2 == 0 { border(rng) } else { (rng.random_range(0.0..10.0f32), rng.random_range(-5.0..5.0f32)) };
        let off = |rng: &mut ChaCha8Rng, v: f32| [v, v.next_up(), v.next_down()][rng.random_range(0..3usize)];
        data.extend([off(rng, a).clamp(0.0, 10.0), off(rng, b).clamp(-5.0, 5.0)]);
    }
    let x = Matrix { rows, cols: 2, data };
    let (output, judge) = (Output::of(&done.fitted.model, &spec).unwrap(), Judge::new(&spec));
    let (y, flags) = output.outputs_and_flags(&x);
    assert!(flags.unwrap().iter().all(|f| f.in_domain));
    for r in 0..rows {
        let broken = (0..spec.rules.len()).find(|k| judge.breaks(*k, x.row(r), y.row(r)));
        assert_eq!(broken, None, "{:?} gives {:?}", x.row(r), y.row(r));
    }
}

#[test]
fn a_fallback_of_two_cases_is_found_and_proved() {
    let done = train(&number_settings(&["a > 3 => y >= 5", "a <= 3 => y <= 2"], &real()), numbers()).unwrap();
    let accepted = done.accepted().expect("it is proved");
    assert_eq!((accepted.kept_by, accepted.rules.len()), (Keeper::Step, 2));
    let certificate = Certificate::from_json(done.certificate.as_ref().unwrap()).unwrap();
    let cases = certificate.step.unwrap().fallback;
    assert_eq!(cases.len(), 2, "{cases:?}");
    assert!(!cases[0].when.is_empty() && cases[1].when.is_empty());
    obeys(&done, |rng| (3.0, rng.random_range(-5.0..5.0)));
}

#[test]
fn conditions_on_sums_hold_in_both_directions() {
    let rules = ["a + b > 4 => y >= 1", "a + b <= 4 => y <= 6", "a - b >= 2 => y <= 8", "a - b < 2 => y >= 0 - 1"];
    let done = train(&number_settings(&rules, &real()), numbers()).unwrap();
    assert_eq!(done.accepted().expect("it is proved").kept_by, Keeper::Step);
    obeys(&done, |rng| {
        let a = rng.random_range(0.0..9.0f32);
        (a, if rng.random() { 4.0 - a } else { a - 2.0 })
    });
}

/// Float32 can't tell on which side of a + b = 4 an input lies: where the sides leave nothing in common, no step may promise it.
#[test]
fn what_float32_can_not_tell_apart_is_not_promised() {
    let rules = ["a + b > 4 => y >= 5", "a + b <= 4 => y <= 2"];
    match train(&number_settings(&rules, &real()), numbers()) {
        Err(refused) => {
            assert!(refused.to_string().contains("near the border float32 cannot tell `a + b <= 4`"), "{refused}");
        }
        Ok(done) => assert!(done.accepted().is_none(), "{:?}", done.certificate),
    }
}

/// Where one class must win on one side of a border and may not on the other, no weights need be looked for.
#[test]
fn classes_that_are_torn_apart_at_a_border_are_told_beforehand() {
    let told = |domain: &Domain, text: &str| {
        let features = ["p", "q"].map(|name| Feature { name: name.into(), domain: domain.clone() }).to_vec();
        let task = Task::Multiclass { target: "t".into(), classes: ["a", "b", "c"].map(String::from).to_vec() };
        let rules = [RuleText { name: "rule".into(), text: text.into() }];
        torn(&compile(&rules, &Schema { features, task, one_hot: OneHot::Full, filled: vec![] }).unwrap())
            .map(|why| why.to_string())
    };
    let real = Domain::Real { lo: 0.0, hi: 5.0 };
    let why = told(&real, "p > q + 0.5 <=> t == 'a'").unwrap();
    assert!(why.contains("near the border float32 cannot tell `p <= q + 0.5`") && why.contains("rule 'rule'"), "{why}");
    // Whole numbers are told apart, and one side alone leaves room; of one feature float32 knows the side.
    assert_eq!(told(&Domain::Integer { lo: 0, hi: 5 }, "p > q + 0.5 <=> t == 'a'"), None);
    assert_eq!(told(&real, "p > q + 0.5 => t == 'a'"), None);
    assert_eq!(told(&real, "p > 0.5 <=> t == 'a'"), None);
}

/// Shares that differ by category need a gate, and a real one must stay clear of 0: `explain` promises no other than `train` takes.
#[test]
fn explain_promises_the_gate_that_training_takes() {
    let rows = 60;
    for (least, gated) in [(0.0, false), (1.0, true)] {
        let settings = json!({
            "data": {"targets": ["rent"]},
            "features": {"income": {"kind": "real", "range": [least, 100]}},
            "task": {"kind": "regression"},
            "network": {"hidden": [4]},
            "train": {"epochs": 2, "enforce": "weights"},
            "rule": [
                {"name": "poor", "text": "kind == 'a' => 0 <= rent <= 0.2 * income"},
                {"name": "rich", "text": "kind == 'b' => 0.5 * income <= rent <= income"},
            ],
        });
        let income: Vec<f64> = (0..rows).map(|k| 1.0 + f64::from(k)).collect();
        let rent = (0..rows).map(|k| if k % 2 == 0 { 0.1 } else { 0.6 } * (1.0 + f64::from(k))).collect();
        let kind = Column::Text { levels: vec!["a".into(), "b".into()], codes: (0..rows).map(|k| (k % 2) as _).collect() };
        let columns = vec![Column::Number(income), kind, Column::Number(rent)];
        let rows = || table(&["income", "kind", "rent"], columns.clone(), rows as usize);
        let (problem, data) = Problem::in_memory(&settings.to_string()).unwrap();
        let (spec, _) = problem.load_table(rows(), &data).unwrap();
        let promised = through_weights(&spec, problem.network(), problem.train().tightness());
        assert_eq!(promised.is_ok(), gated, "from {least}: {promised:?}");
        match train(&settings, rows()) {
            Ok(done) => assert!(gated && done.fitted.gate.as_deref() == Some("income")),
            Err(error) => assert!(!gated, "{error}"),
        }
    }
}
