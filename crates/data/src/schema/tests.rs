//! Domains from data and from overrides, and the refusals.

use super::*;
use crate::inputs::kinds_of_schema;
use crate::table::MISSING_CODE;
use crate::task::TaskKind;
use deepsade_spec::Task;

fn table() -> Table {
    Table {
        names: ["income", "rooms", "area", "y"].map(String::from).to_vec(),
        columns: vec![
            Column::Number(vec![0.1, 0.7, 0.3]),
            Column::Number(vec![2.0, 5.0, 3.0]),
            Column::Text { levels: vec!["Rural".into(), "Urban".into()], codes: vec![1, 0, 1] },
            Column::Number(vec![1.0, 0.0, 1.0]),
        ],
        // As after a dropped row: messages must speak of the file's rows.
        row_numbers: vec![1, 3, 4],
    }
}

fn task(kind: TaskKind) -> TaskSettings {
    TaskSettings { kind, targets: None, classes: None, cutoff: None, stated: Overrides::new() }
}

fn infer(overrides: &str) -> Result<Schema, DataError> {
    let overrides = toml::from_str(overrides).unwrap();
    infer_schema(&table(), &["y".into()], &overrides, &task(TaskKind::Binary), OneHot::Full)
}

fn refused(overrides: &str) -> String {
    infer(overrides).expect_err(overrides).to_string()
}

#[test]
fn domains_come_from_the_data_rounded_outward() {
    let schema = infer("").unwrap();
    let Domain::Real { lo, hi } = schema.features[0].domain else { panic!("a real domain") };
    assert!(f64::from(lo) <= 0.1 && lo <= 0.1_f32 && f64::from(hi) >= 0.7 && hi >= 0.7_f32);
    assert!(f64::from(lo.next_up()) > 0.1 && f64::from(hi.next_down()) < 0.7);
    assert_eq!(schema.features[1].domain, Domain::Real { lo: 2.0, hi: 5.0 });
    assert_eq!(schema.features[2].domain, Domain::Category { levels: vec!["Rural".into(), "Urban".into()] });
    assert_eq!(schema.task, Task::Binary { target: "y".into(), classes: vec!["0".into(), "1".into()] });
    assert_eq!(schema.columns().len(), 4);
}

#[test]
fn overrides_win() {
    let schema =
        infer("rooms = { kind = 'integer' }\nincome = { range = [0, 1] }\narea = { levels = ['Urban', 'Semi', 'Rural'] }")
            .unwrap();
    assert_eq!(schema.features[0].domain, Domain::Real { lo: 0.0, hi: 1.0 });
    assert_eq!(schema.features[1].domain, Domain::Integer { lo: 2, hi: 5 });
    assert_eq!(schema.features[2].domain, Domain::Category { levels: vec!["Urban".into(), "Semi".into(), "Rural".into()] });
}

#[test]
fn data_outside_a_stated_domain_is_refused_by_row() {
    assert!(refused("income = { range = [0, 0.5] }").contains("row 3, column 'income': 0.7"));
    assert!(refused("income = { range = [0, 0.5] }").contains("numbers from 0 to 0.5"));
    assert!(refused("rooms = { kind = 'integer', range = [0, 4] }").contains("row 3, column 'rooms': 5"));
    assert!(refused("income = { kind = 'integer' }").contains("row 1, column 'income': 0.1"));
    assert!(
        refused("area = { levels = ['Urban'] }")
            .contains("row 3, column 'area': Rural is not in the stated domain: one of \"Urban\"")
    );
    let mut t = table();
    t.columns[1] = Column::Number(vec![1.0, 1e9, 2.0]);
    let overrides = toml::from_str("rooms = { kind = 'integer' }").unwrap();
    let message = infer_schema(&t, &["y".into()], &overrides, &task(TaskKind::Binary), OneHot::Full).unwrap_err().to_string();
    assert!(message.contains("row 3, column 'rooms': 1000000000"), "{message}");
}

#[test]
fn overrides_that_fit_no_feature_are_refused() {
    let message = refused("incme = { range = [0, 1] }");
    assert!(message.contains("[features] names 'incme'") && message.contains("did you mean 'income'?"), "{message}");
    assert!(refused("y = { range = [0, 1] }").contains("target 'y': only the targets of a regression have a `kind`"));
    assert!(refused("area = { range = [0, 1] }").contains("column 'area' holds text, but must hold numbers"));
    assert!(refused("income = { kind = 'category' }").contains("column 'income' holds numbers, but must hold text"));
    assert!(refused("income = { range = [1, 0] }").contains("[features.income]"));
}

#[test]
fn identifiers_and_empty_tables_are_refused() {
    let many: Vec<String> = (0..=MOST_LEVELS).map(|i| format!("id{i:05}")).collect();
    let codes: Vec<u32> = (0..many.len() as u32).collect();
    let rows = codes.len();
    let mut t = Table {
        names: vec!["id".into(), "y".into()],
        columns: vec![Column::Text { levels: many, codes }, Column::Number(vec![1.0; rows])],
        row_numbers: (1..=rows as u64).collect(),
    };
    let infer = |t: &Table| {
        let message = infer_schema(t, &["y".into()], &Overrides::new(), &task(TaskKind::Regression), OneHot::Full);
        message.unwrap_err().to_string()
    };
    assert!(infer(&t).contains("column 'id' has 1001 different values") && infer(&t).contains("`ignore`"));
    t.drop_columns(&["id".into()]);
    assert!(infer(&t).contains("no feature columns are left"));
}

#[test]
fn constant_and_partly_missing_columns_are_fine() {
    let t = Table {
        names: vec!["c".into(), "t".into(), "y".into()],
        columns: vec![
            Column::Number(vec![4.0, f64::NAN]),
            Column::Text { levels: vec!["x".into()], codes: vec![0, MISSING_CODE] },
            Column::Number(vec![1.0, 2.0]),
        ],
        row_numbers: vec![1, 2],
    };
    let schema = infer_schema(&t, &["y".into()], &Overrides::new(), &task(TaskKind::Regression), OneHot::DropFirst).unwrap();
    assert_eq!(schema.features[0].domain, Domain::Real { lo: 4.0, hi: 4.0 });
    assert_eq!(schema.columns().len(), 1);
}

#[test]
fn kinds_for_reading() {
    let overrides: Overrides =
        toml::from_str("a = { kind = 'category' }\nb = { range = [0, 1] }\nc = { levels = ['x'] }\nd = {}").unwrap();
    let kinds = kinds_of_overrides(&overrides);
    assert_eq!(kinds, BTreeMap::from([("a".into(), Kind::Text), ("b".into(), Kind::Number), ("c".into(), Kind::Text)]));
    let kinds = kinds_of_schema(&infer("rooms = { kind = 'integer' }").unwrap());
    let expected = [("income", Kind::Number), ("rooms", Kind::Number), ("area", Kind::Text)];
    assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)).into());
}

#[test]
fn without_data_every_domain_is_stated() {
    let overrides: Overrides =
        toml::from_str("z = { range = [0, 1] }\na = { kind = 'integer', range = [0, 9] }\nm = { levels = ['p', 'q'] }").unwrap();
    let names = |list: &[&str]| Some(list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
    let stated = TaskSettings {
        kind: TaskKind::Regression,
        targets: names(&["y"]),
        classes: None,
        cutoff: None,
        stated: Overrides::new(),
    };
    let schema = stated_schema(&overrides, &stated, None, OneHot::Full).unwrap();
    assert_eq!(schema.features.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["z", "a", "m"]);
    assert_eq!(schema.columns().len(), 4);

    let refused = |text: &str, task: &TaskSettings| {
        stated_schema(&toml::from_str(text).unwrap(), task, None, OneHot::Full).unwrap_err().to_string()
    };
    assert!(refused("a = { kind = 'integer' }", &stated).contains("the domain must be stated"));
    assert!(refused("a = {}", &stated).contains("[features.a]"));
    assert!(refused("y = { range = [0, 1] }", &stated).contains("a target"));
    assert!(refused("", &stated).contains("no feature columns"));
    assert!(refused("a = { range = [0, 1] }", &task(TaskKind::Regression)).contains("no targets"));
    let unclassed = TaskSettings { kind: TaskKind::Binary, ..stated };
    assert!(refused("a = { range = [0, 1] }", &unclassed).contains("the classes must be stated"));
}

/// What becomes of a regression of a and b, whose tables in `[targets]` and `[features]` are these.
fn targets(stated: &str, features: &str, b: &[f64]) -> Result<Task, String> {
    let table = Table {
        names: ["x", "a", "b"].map(String::from).to_vec(),
        columns: vec![Column::Number(vec![1.0, 2.5]), Column::Number(vec![3.0, 4.0]), Column::Number(b.to_vec())],
        row_numbers: vec![1, 2],
    };
    let (stated, overrides) = (toml::from_str(stated).unwrap(), toml::from_str(features).unwrap());
    let settings = TaskSettings { stated, ..task(TaskKind::Regression) };
    infer_schema(&table, &["a".into(), "b".into()], &overrides, &settings, OneHot::Full)
        .map(|s| s.task)
        .map_err(|e| e.to_string())
}

#[test]
fn targets_may_be_whole_numbers() {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let whole = |whole: &[&str]| Ok(Task::Regression { targets: names(&["a", "b"]), whole: names(whole) });
    let integer = |name: &str| format!("{name} = {{ kind = 'integer' }}");
    assert_eq!(targets("", "", &[0.5, 1e9]), whole(&[]));
    assert_eq!(targets(&integer("b"), "", &[0.0, -7.0]), whole(&["b"]));
    assert_eq!(targets("", &integer("b"), &[0.0, -7.0]), whole(&["b"]));
    assert_eq!(targets(&integer("b"), &integer("b"), &[0.0, 1.0]), whole(&["b"]));
    assert_eq!(targets("b = {}\na = { kind = 'real' }", &integer("b"), &[0.0, 1.0]), whole(&["b"]));
    // In the order of the outputs.
    assert_eq!(targets(&format!("{}\n{}", integer("b"), integer("a")), "", &[0.0, 1.0]), whole(&["a", "b"]));
    let refused = |stated: &str, features: &str, b: &[f64]| targets(stated, features, b).unwrap_err();
    assert!(
        refused(&integer("b"), "", &[0.0, 0.5]).contains("row 2, column 'b': 0.5 is not in the stated domain: whole numbers")
    );
    assert!(refused(&integer("b"), "", &[1e9, 0.5]).contains("row 1, column 'b': 1000000000"));
    assert!(refused(&integer("c"), "", &[0.0, 1.0]).contains("target 'c': it is no target"));
    assert!(refused(&integer("x"), "", &[0.0, 1.0]).contains("target 'x': it is no target"));
    assert!(refused(&integer("b"), "b = { kind = 'real' }", &[0.0, 1.0]).contains("different kinds"));
    assert!(refused("b = { range = [0, 1] }", "", &[0.0, 1.0]).contains("only `kind` is stated"));
    assert!(
        refused("", "b = { kind = 'integer', range = [0, 1] }", &[0.0, 1.0]).contains("bounds of what is predicted are rules")
    );
    assert!(refused("b = { kind = 'category' }", "", &[0.0, 1.0]).contains("\"real\" or \"integer\""));
    assert!(refused("b = { levels = ['x'] }", "", &[0.0, 1.0]).contains("only `kind`"));
}

#[test]
fn a_step_takes_its_range_from_the_data_or_states_it() {
    let rooms = |stated: &str| infer(stated).unwrap().features[1].domain.clone();
    assert_eq!(rooms("rooms = { step = 0.5 }"), Domain::Stepped { lo: 2.0, hi: 5.0, step: 0.5 });
    assert_eq!(rooms("rooms = { step = 0.25, range = [0, 6.5] }"), Domain::Stepped { lo: 0.0, hi: 6.5, step: 0.25 });
    assert!(
        refused("rooms = { step = 2 }").contains("row 3, column 'rooms': 5 is not in the stated domain: multiples of 2 from")
    );
    assert!(refused("rooms = { step = 0.5, range = [2, 4.5] }").contains("row 3, column 'rooms': 5"));
    // 0.1 is beside every step, though its float32 is a multiple of a small one.
    assert!(refused("income = { step = 0.25 }").contains("row 1, column 'income': 0.1"));
    assert!(refused("area = { step = 0.25 }").contains("'area'"));
    // A margin ends at multiples, too.
    let overrides: Overrides = toml::from_str("rooms = { step = 0.5 }").unwrap();
    let mut schema = infer("rooms = { step = 0.5 }").unwrap();
    widen(&mut schema, &overrides, 0.1);
    assert_eq!(schema.features[1].domain, Domain::Stepped { lo: 1.5, hi: 5.5, step: 0.5 });
    assert!(targets("[b]\nstep = 0.5", "", &[1.0]).is_err_and(|e| e.contains("only `kind`")));
}
