//! Targets and classes, and the refusals.

use super::*;

fn settings(text: &str) -> TaskSettings {
    toml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

fn table(column: Column) -> Table {
    Table { names: names(&["y"]), row_numbers: (1..=column.len() as u64).collect(), columns: vec![column] }
}

fn refused(text: &str, targets: &[&str], column: Column) -> String {
    settings(text).build(names(targets), Some(&table(column))).expect_err(text).to_string()
}

#[test]
fn targets_are_stated_once_or_alike() {
    let own = settings("kind = 'regression'\ntargets = ['a', 'b']");
    assert_eq!(own.resolve_targets(&[]).unwrap(), ["a", "b"]);
    assert_eq!(own.resolve_targets(&names(&["a", "b"])).unwrap(), ["a", "b"]);
    let message = own.resolve_targets(&names(&["b"])).unwrap_err().to_string();
    assert!(message.contains("differ between [data] (b) and [task] (a, b)"), "{message}");
    let none = settings("kind = 'regression'");
    assert_eq!(none.resolve_targets(&names(&["y"])).unwrap(), ["y"]);
    assert!(none.resolve_targets(&[]).unwrap_err().to_string().contains("no targets"));
    assert!(none.resolve_targets(&names(&["y", "y"])).unwrap_err().to_string().contains("'y' is named twice"));
}

#[test]
fn classes_come_from_the_data_sorted() {
    let numbers = table(Column::Number(vec![10.0, 9.0, -1.0, 9.0]));
    let task = settings("kind = 'multiclass'").build(names(&["y"]), Some(&numbers)).unwrap();
    assert_eq!(task, Task::Multiclass { target: "y".into(), classes: names(&["-1", "9", "10"]) });
    let texts = table(Column::Text { levels: names(&["N", "Y"]), codes: vec![1, 0] });
    let task = settings("kind = 'binary'").build(names(&["y"]), Some(&texts)).unwrap();
    assert_eq!(task.classes(), Some(&names(&["N", "Y"])[..]));
    let task = settings("kind = 'binary'\nclasses = ['Y', 'N']").build(names(&["y"]), Some(&texts)).unwrap();
    assert_eq!(task.classes(), Some(&names(&["Y", "N"])[..]));
}

#[test]
fn refusals() {
    let three = || Column::Number(vec![0.0, 1.0, 2.0]);
    let one = || Column::Number(vec![1.0, 1.0]);
    assert!(refused("kind = 'binary'", &["y"], three()).contains("needs exactly two classes; there are 3: 0, 1, 2"));
    assert!(refused("kind = 'multiclass'", &["y"], one()).contains("needs two or more classes; there are 1: 1"));
    assert!(refused("kind = 'binary'\nclasses = ['a', 'a']", &["y"], one()).contains("class 'a' is listed twice"));
    assert!(refused("kind = 'regression'\nclasses = ['a']", &["y"], one()).contains("`classes` belong to"));
    assert!(refused("kind = 'ranking'", &["y"], one()).contains("at least two target columns"));
    assert!(refused("kind = 'regression'", &["Y"], one()).contains("did you mean 'y'?"));
    let two = Table { names: names(&["y", "z"]), columns: vec![one(), one()], row_numbers: vec![1, 2] };
    let message = settings("kind = 'binary'").build(names(&["y", "z"]), Some(&two)).unwrap_err().to_string();
    assert!(message.contains("a binary task has exactly one target column, not 2"), "{message}");
    let many = Column::Number((0..2000).map(f64::from).collect());
    assert!(refused("kind = 'multiclass'", &["y"], many).contains("2000 different values"));
    assert!(toml::from_str::<TaskSettings>("kind = 'guess'").unwrap_err().to_string().contains("unknown variant `guess`"));
    assert!(toml::from_str::<TaskSettings>("kind = 'binary'\nclass = []").unwrap_err().to_string().contains("unknown field"));
}
