//! Copies of the last hidden layer outside of conditions: the weights alone keep the rules, and are free elsewhere.

use deepsade_data::{Column, Table};
use deepsade_engine::pipeline::{Checked, Ended, Prepared};
use deepsade_engine::train::Silent;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

/// Three kinds of what `a` and `b` say, which is seldom what a rule about `f` forbids.
fn kinds() -> Table {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let mut draw = || (0..400).map(|_| rng.random_range(0.0..10.0)).collect::<Vec<f64>>();
    let (a, b, mut f) = (draw(), draw(), draw());
    let kind = |k: usize| {
        if a[k] + b[k] < 7.0 {
            "low"
        } else if a[k] > b[k] {
            "left"
        } else {
            "right"
        }
    };
    let kinds: Vec<&str> = (0..400).map(kind).collect();
    // What the rules forbid does not occur.
    for (f, kind) in f.iter_mut().zip(&kinds) {
        *f = match *kind {
            "left" => 4.1 + 0.35 * *f,
            "low" => 0.59 * *f,
            _ => *f,
        };
    }
    let levels = ["left", "low", "right"];
    let codes = kinds.iter().filter_map(|kind| levels.iter().position(|l| l == kind)).map(|k| k as u32).collect();
    let texts = Column::Text { levels: levels.map(String::from).to_vec(), codes };
    let columns = vec![Column::Number(a), Column::Number(b), Column::Number(f), texts];
    Table { names: ["a", "b", "f", "kind"].map(String::from).to_vec(), columns, row_numbers: (1..=400).collect() }
}

fn summary(copies: bool, members: usize) -> Value {
    let settings = json!({
        "data": {"targets": ["kind"]},
        "task": {"kind": "multiclass"},
        "network": {"hidden": [16, 8], "copies": copies, "members": members},
        "train": {"epochs": 150, "learning_rate": 0.005, "enforce": "weights"},
        "rule": [
            {"name": "not left", "text": "f < 4 => kind != 'left'"},
            {"name": "not low", "text": "f > 6 => kind in {'left', 'right'}"},
        ],
    });
    let Prepared::Ready(ready) = Checked::in_memory(&settings.to_string(), 5).unwrap().take(kinds()).unwrap() else {
        panic!("the rules can be obeyed")
    };
    let Ended::Done(done) = ready.train(None, &mut Silent).unwrap() else { panic!("nothing stops it") };
    done.summary(None)
}

#[test]
fn weights_are_free_outside_of_conditions() {
    let [without, with, mean] = [(false, 1), (true, 1), (true, 3)].map(|(outside, members)| summary(outside, members));
    // Members with copies have a mean, whether or not it is taken.
    assert!(!mean["warnings"].to_string().contains("not alike"), "{mean}");
    for said in [&without, &with, &mean] {
        assert_eq!((&said["certified"], &said["enforced_by"]), (&json!(true), &json!("weights")), "{said}");
        assert_eq!(said["test"]["rows_breaking_all"], 0);
    }
    let accuracy = |said: &Value| said["test"]["accuracy"].as_f64().unwrap();
    assert!(accuracy(&with) > accuracy(&without) + 5.0, "{} {}", accuracy(&with), accuracy(&without));
}
