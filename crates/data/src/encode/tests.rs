//! Encoded targets of every task, and the refusals.

use super::*;
use deepsade_spec::{Domain, Feature, OneHot};

fn encoded(task: Task, targets: Vec<(&str, Column)>) -> Result<Vec<f32>, DataError> {
    let rows = targets[0].1.len();
    let mut names = vec!["x".to_owned()];
    let mut columns = vec![Column::Number(vec![0.5; rows])];
    for (name, column) in targets {
        names.push(name.to_owned());
        columns.push(column);
    }
    let table = Table { names, columns, row_numbers: (11..11 + rows as u64).collect() };
    let domain = Domain::Real { lo: 0.0, hi: 1.0 };
    let schema = Schema { features: vec![Feature { name: "x".into(), domain }], task, one_hot: OneHot::Full, filled: vec![] };
    let data = encode(&table, &schema)?;
    assert_eq!((data.x.data, data.weight), (vec![0.5; rows], vec![1.0; rows]));
    Ok(data.y.data)
}

fn numbers(values: &[f64]) -> Column {
    Column::Number(values.to_vec())
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| (*s).to_owned()).collect()
}

#[test]
fn regression_and_labels() {
    let task = Task::regression(words(&["a", "b"]));
    let y = encoded(task, vec![("b", numbers(&[3.0, 4.0])), ("a", numbers(&[1.0, 2.0]))]).unwrap();
    assert_eq!(y, [1.0, 3.0, 2.0, 4.0]);
    let labels = || Task::Multilabel { labels: words(&["a", "b"]) };
    let bytes = Column::Bytes { values: vec![1, 0], divisor: 1.0 };
    assert_eq!(encoded(labels(), vec![("a", numbers(&[0.0, 1.0])), ("b", bytes)]).unwrap(), [0.0, 1.0, 1.0, 0.0]);
    let refused = encoded(labels(), vec![("a", numbers(&[0.0, 1.0])), ("b", numbers(&[1.0, 2.0]))]);
    assert!(refused.unwrap_err().to_string().contains("row 12, target 'b': 2 cannot be used: a label column holds 0 or 1"));
    let text = Column::Text { levels: words(&["no"]), codes: vec![0] };
    let refused = encoded(Task::regression(words(&["a"])), vec![("a", text)]);
    assert!(refused.unwrap_err().to_string().contains("row 11, target 'a': no cannot be used"));
}

#[test]
fn classes_as_text_or_numbers() {
    let task = |classes: &[&str]| Task::Multiclass { target: "c".into(), classes: words(classes) };
    let text = || Column::Text { levels: words(&["p", "q"]), codes: vec![1, 0] };
    assert_eq!(encoded(task(&["q", "p", "r"]), vec![("c", text())]).unwrap(), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    assert_eq!(encoded(task(&["0", "1.0"]), vec![("c", numbers(&[1.0, 0.0]))]).unwrap(), [0.0, 1.0, 1.0, 0.0]);
    let message = encoded(task(&["q", "r"]), vec![("c", text())]).unwrap_err().to_string();
    assert!(message.contains("row 12, target 'c': p cannot be used: the classes are q, r"), "{message}");
}

#[test]
fn rankings_mark_item_and_place() {
    let task = || Task::Ranking { items: words(&["a", "b", "c"]) };
    let columns = |a, b, c| vec![("a", numbers(&[a])), ("b", numbers(&[b])), ("c", numbers(&[c]))];
    assert_eq!(encoded(task(), columns(2.0, 3.0, 1.0)).unwrap(), [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    for (a, b, c, column) in [(0.0, 1.0, 2.0, 'a'), (1.0, 1.0, 2.0, 'b'), (1.0, 2.0, 4.0, 'c'), (1.5, 2.0, 3.0, 'a')] {
        let message = encoded(task(), columns(a, b, c)).unwrap_err().to_string();
        assert!(message.contains(&format!("row 11, target '{column}'")), "{message}");
        assert!(message.contains("every place from 1 to 3 once"), "{message}");
    }
}

#[test]
fn gaps_and_strangers_are_refused() {
    let gap = encoded(Task::regression(words(&["a"])), vec![("a", numbers(&[1.0, f64::NAN]))]);
    assert!(gap.unwrap_err().to_string().contains("row 12, column 'a': the value is missing"));
    let outside = encoded(Task::regression(words(&["x"])), vec![("a", numbers(&[1.0]))]);
    assert!(outside.is_ok(), "a target may be any column");
    let domain = Domain::Real { lo: 0.0, hi: 1.0 };
    let task = Task::regression(words(&["x"]));
    let schema = Schema { features: vec![Feature { name: "x".into(), domain }], task, one_hot: OneHot::Full, filled: vec![] };
    let table = |v| Table { names: words(&["x"]), columns: vec![numbers(&[v])], row_numbers: vec![7] };
    let message = encode(&table(1.5), &schema).unwrap_err().to_string();
    assert!(message.contains("row 7, column 'x': 1.5 is not in the stated domain: numbers from 0 to 1"), "{message}");
    assert!(encode(&table(f64::NAN), &schema).unwrap_err().to_string().contains("row 7, column 'x': the value is missing"));
}
