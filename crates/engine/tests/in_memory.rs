//! Rows that are in memory give what the same rows in a file give.

use deepsade_data::{Column, DataSettings, Table, encode_inputs, encode_numbers};
use deepsade_engine::problem::Problem;
use deepsade_spec::Domain;

const RULES: &str = r#"[data]
file = "homes.csv"
targets = ["price"]

[features.rooms]
kind = "integer"
range = [1, 20]

[task]
kind = "regression"

[[rule]]
name = "floor"
text = "price >= 10 * rooms"
"#;

const JSON: &str = r#"{"data": {"targets": ["price"]}, "features": {"rooms": {"kind": "integer", "range": [1, 20]}},
    "task": {"kind": "regression"}, "rule": [{"name": "floor", "text": "price >= 10 * rooms"}]}"#;

fn table() -> Table {
    Table {
        names: ["rooms", "area", "size", "price"].map(String::from).to_vec(),
        columns: vec![
            Column::Number(vec![3.0, 5.0, 4.0]),
            Column::Text { levels: vec!["Rural".into(), "Urban".into()], codes: vec![1, 0, 1] },
            Column::Number(vec![70.0, 110.0, 90.0]),
            Column::Number(vec![250.0, 310.0, 280.5]),
        ],
        row_numbers: vec![1, 2, 3],
    }
}

#[test]
fn a_table_in_memory_is_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let csv = "rooms,area,size,price\n3,Urban,70,250\n5,Rural,110,310\n4,Urban,90,280.5\n";
    std::fs::write(folder.path().join("homes.csv"), csv).unwrap();
    let from_file = Problem::parse(RULES, &folder.path().join("rules.toml")).unwrap();
    let (spec, loaded) = from_file.load(&mut |_| {}).unwrap();
    let (problem, data) = Problem::in_memory(JSON).unwrap();
    let (same_spec, same) = problem.load_table(table(), &data).unwrap();
    assert_eq!(same.table, loaded.unwrap().table);
    assert_eq!(same_spec, spec);
}

#[test]
fn what_is_stated_needs_no_data() {
    let (problem, data) = Problem::in_memory(JSON).unwrap();
    let (spec, _) = problem.load_table(table(), &data).unwrap();
    let again = Problem::parse(&problem.stated(&spec.schema), "rules.toml".as_ref()).unwrap();
    let (same, rows) = again.load(&mut |_| {}).unwrap();
    assert_eq!(same, spec);
    assert!(rows.is_none());
    assert_eq!((again.train(), again.network()), (problem.train(), problem.network()));
}

#[test]
fn a_margin_widens_what_is_not_stated() {
    let (problem, data) =
        Problem::in_memory(&JSON.replace(r#""targets": ["price"]"#, r#""targets": ["price"], "margin": 0.5"#)).unwrap();
    let (spec, _) = problem.load_table(table(), &data).unwrap();
    assert_eq!(spec.schema.features[0].domain, Domain::Integer { lo: 1, hi: 20 });
    assert_eq!(spec.schema.features[2].domain, Domain::Real { lo: 50.0, hi: 130.0 });
    let refused = DataSettings { margin: f64::NAN, ..DataSettings::default() }.checked_without_file().unwrap_err();
    assert!(refused.to_string().contains("0 or above"), "{refused}");
}

#[test]
fn columns_of_one_name_are_refused() {
    let (problem, data) = Problem::in_memory(JSON).unwrap();
    let mut twice = table();
    twice.names[2] = "rooms".into();
    assert!(problem.load_table(twice, &data).unwrap_err().to_string().contains("two columns are named 'rooms'"));
}

#[test]
fn plain_numbers_are_encoded_as_a_table_is() {
    let (problem, data) = Problem::in_memory(JSON).unwrap();
    let mut numbers = table();
    numbers.drop_columns(&["area".into()]);
    let (spec, _) = problem.load_table(numbers.clone(), &data).unwrap();
    let odd = [[3.0, 70.0], [5.5, 110.0], [f64::NAN, 500.0], [21.0, f64::NAN], [4.0, 111.0]];
    let column = |k: usize| Column::Number(odd.iter().map(|row| row[k]).collect());
    numbers =
        Table { names: vec!["rooms".into(), "size".into()], columns: vec![column(0), column(1)], row_numbers: (1..6).collect() };
    let by_table = encode_inputs(&numbers, &spec.schema).unwrap();
    let plain = encode_numbers(odd.len(), &spec.schema, |r, c| odd[r][c]);
    assert_eq!(plain.status, by_table.status);
    let bits = |x: &deepsade_net::Matrix| x.data.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&plain.x), bits(&by_table.x));
}

#[test]
fn settings_end_where_they_end_and_errors_name_the_setting() {
    let task = r#"{"task": {"kind": "regression", "targets": ["y"]}, "features": {"x": {"range": [0, 1]}}"#;
    assert!(Problem::in_memory(&format!("{task}}}")).is_ok());
    let message = |json: String| Problem::in_memory(&json).unwrap_err().to_string();
    assert_eq!(message(format!("{task}}} more")), "settings: trailing characters");
    let wrong = message(format!(r#"{task}, "network": {{"activation": "gelu"}}}}"#));
    assert!(wrong.starts_with("network.activation: unknown value `gelu`"), "{wrong}");
}
