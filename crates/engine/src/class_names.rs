//! What a model names and the classes or targets of the rules enter; leaves an error where columns would be read as others.

use std::collections::BTreeMap;
use std::fmt;

use deepsade_net::Model;
use deepsade_spec::{Schema, Task};
use thiserror::Error;

use crate::metadata_names;

/// What a model names is not what the rules think, or is not read.
#[derive(Debug, Error)]
pub enum OtherNames {
    /// Its numbers.
    #[error(transparent)]
    Classes(#[from] OtherClasses),
    /// Its labels.
    #[error(transparent)]
    Labels(#[from] UnreadLabels),
    /// Its columns.
    #[error(transparent)]
    Columns(#[from] OtherColumns),
}

/// The columns are in another order than the rules think.
#[derive(Debug, Error)]
#[error(
    "its metadata list its columns as {}, in another order than the rules': list the features of the rule file in this order, or, if the \
     metadata are wrong, take them out of the file",
    quoted(model)
)]
pub struct OtherColumns {
    /// The model's.
    pub model: Vec<String>,
}

/// The columns are scores of other classes than the rules think.
#[derive(Debug, Error)]
#[error(
    "the model names its numbers [{own}], in this order, but the rules have [{}]: each would be read as another. State the model's order \
     under [task]: {} = [{own}]",
    quoted(rules),
    if *targets { "targets" } else { "classes" },
    own = quoted(model)
)]
pub struct OtherClasses {
    /// The model's.
    pub model: Vec<String>,
    /// Those of the rules.
    pub rules: Vec<String>,
    /// Whether these are targets.
    pub targets: bool,
}

/// Labels of a file's own that are made in a way that is not read.
#[derive(Debug, Error)]
#[error(
    "its output '{label}' holds labels or numbers of its own, and how these come from the scores is not read: name the tensor with the \
     scores (--output NAME), whose columns are then read as the rules have them, in their order"
)]
pub struct UnreadLabels {
    /// The output.
    pub label: String,
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// The classes that the numbers 0, 1, ... of a model stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered(Vec<String>);

impl fmt::Display for Numbered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each: Vec<String> = self.0.iter().enumerate().map(|(k, class)| format!("{k} as '{class}'")).collect();
        write!(f, "the model numbers its classes; read are {}: if that is wrong, change the order of `classes`", each.join(", "))
    }
}

/// Compares what a model names with the schema of the rules. Whoever names the tensor with the scores says that its columns are in the
/// rules' order, whatever metadata and labels say.
pub(crate) fn of_model(model: &Model, schema: &Schema, output: Option<&str>) -> Result<Option<Numbered>, OtherNames> {
    let task = &schema.task;
    columns(&model.metadata, schema)?;
    let told = if output.is_none() { metadata_names::of_outputs(&model.metadata, task) } else { Vec::new() };
    let numbered = compare(model.classes.iter().cloned().chain(told), task)?;
    // The largest score says something of classes alone.
    let picked = model.picked.first().filter(|_| task.classes().is_none());
    // Our own step has further outputs, and says what they are.
    let ours = |name: &&String| model.behind.as_ref().is_some_and(|behind| behind.outputs.iter().any(|port| port.name == **name));
    let unread = model.labels.iter().find(|name| !ours(name));
    match unread.or(picked).filter(|_| output.is_none()) {
        Some(label) => Err(UnreadLabels { label: label.clone() }.into()),
        None => Ok(numbered),
    }
}

/// Sees that metadata list the columns in the order of the rules, if at all.
pub(crate) fn columns(metadata: &BTreeMap<String, String>, schema: &Schema) -> Result<(), OtherColumns> {
    metadata_names::other_columns(metadata, schema).map_or(Ok(()), |model| Err(OtherColumns { model }))
}

/// Compares names and order with every list that a model has.
pub(crate) fn compare(lists: impl IntoIterator<Item = Vec<String>>, task: &Task) -> Result<Option<Numbered>, OtherClasses> {
    let targets: Vec<String> = task.target_columns().into_iter().map(String::from).collect();
    let rules = task.classes().unwrap_or(&targets);
    let compared = |model| compared(model, rules).map_err(|e| OtherClasses { targets: task.classes().is_none(), ..e });
    lists.into_iter().try_fold(None, |told, model| Ok(compared(model)?.or(told)))
}

fn compared(model: Vec<String>, rules: &[String]) -> Result<Option<Numbered>, OtherClasses> {
    if model.len() == rules.len() {
        if model.iter().zip(rules).all(|(a, b)| same(a, b)) {
            return Ok(None);
        }
        let numbered = model.iter().enumerate().all(|(k, name)| same(name, &k.to_string()));
        let numbers: Vec<Option<f64>> = rules.iter().map(|name| number(name)).collect();
        let of_model = |value: f64| (0..rules.len()).find(|k| *k as f64 == value);
        // A class '1' may well be what the model calls 1: it is not read as its 0, nor are others whose order is unclear.
        let others = numbers.iter().flatten().all(|value| of_model(*value).is_none());
        let same_place = |(k, value): (usize, &Option<f64>)| value.is_some_and(|v| of_model(v).is_none_or(|own| own == k));
        let in_order = numbers.iter().enumerate().all(same_place) && numbers.is_sorted();
        if numbered && (others || in_order) {
            return Ok(Some(Numbered(rules.to_vec())));
        }
    }
    Err(OtherClasses { model, rules: rules.to_vec(), targets: false })
}

/// Numbers are compared as such: 1 and 1.0 are one class.
fn same(a: &str, b: &str) -> bool {
    a == b || number(a).is_some_and(|a| number(b) == Some(a))
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(model: &[&str], rules: &[&str]) -> Result<Option<String>, String> {
        let texts = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<String>>();
        compared(texts(model), &texts(rules)).map(|n| n.map(|n| n.to_string())).map_err(|e| e.to_string())
    }

    #[test]
    fn the_same_names_in_the_same_order_are_the_same() {
        assert_eq!(said(&["bad", "good"], &["bad", "good"]), Ok(None));
        assert_eq!(said(&["0", "1"], &["0", "1"]), Ok(None));
        assert_eq!(said(&["1", "2"], &["1.0", "2.0"]), Ok(None));
    }

    #[test]
    fn numbers_for_names_are_told() {
        let told = said(&["0", "1"], &["good", "bad"]).unwrap().unwrap();
        assert!(told.contains("0 as 'good', 1 as 'bad'"), "{told}");
        // Numbers that the model does not have, or has at the same place.
        for rules in [["10", "20", "30"], ["0.5", "-1", "nan"], ["0", " 1.0", "9"]] {
            assert!(said(&["0", "1", "2"], &rules).unwrap().is_some(), "{rules:?}");
        }
    }

    #[test]
    fn other_names_and_another_order_are_refused_with_both() {
        for (model, rules) in [
            (&["bad", "good", "mid"][..], &["good", "bad", "mid"][..]),
            (&["0", "1"], &["1", "0"]),
            (&["0", "1"], &["2.0", "1.0"]),
            // Who counts from 0 may mean class 1 by 1.
            (&["0", "1"], &["1", "2"]),
            (&["0", "1", "2"], &["1", "2", "3"]),
            (&["0", "1", "2"], &["a", "b", " 1.0 "]),
            (&["0", "1"], &["01", "10"]),
            (&["3", "5"], &["a", "b"]),
            (&["a", "b"], &["a", "b", "c"]),
        ] {
            let told = said(model, rules).unwrap_err();
            let list = |names: &[&str]| format!("[\"{}\"]", names.join("\", \""));
            assert!(told.contains(&list(rules)) && told.ends_with(&format!("classes = {}", list(model))), "{told}");
        }
    }
}
