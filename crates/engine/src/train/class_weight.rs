//! `class_weight` enters as a word or a table, and rows of classes; what each class counts leaves.

use std::collections::BTreeMap;

use deepsade_data::Dataset;
use deepsade_output::predict::predicted_class;
use deepsade_spec::Task;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What the rows of each class count.
#[derive(Debug, Clone, PartialEq)]
pub enum ClassWeight {
    /// All classes alike: a row counts rows / (classes * rows of its class).
    Balanced,
    /// As much as is stated; 1 if nothing is.
    Given(BTreeMap<String, f64>),
}

impl ClassWeight {
    /// What each class counts, by the rows that are learnt from; the name of a class that there is not, or `None` for a task without
    /// classes.
    pub fn of(&self, task: &Task, rows: &Dataset) -> Result<Vec<f32>, Option<String>> {
        let classes = task.classes().ok_or(None)?;
        match self {
            Self::Given(weights) => match weights.keys().find(|class| !classes.contains(class)) {
                Some(unknown) => Err(Some(unknown.clone())),
                None => Ok(classes.iter().map(|class| weights.get(class).map_or(1.0, |w| *w as f32)).collect()),
            },
            Self::Balanced => {
                let mut counts = vec![0.0; classes.len()];
                for (row, weight) in rows.weight.iter().enumerate() {
                    counts[predicted_class(rows.y.row(row))] += f64::from(*weight);
                }
                let total: f64 = counts.iter().sum();
                let weight = |count: &f64| if *count > 0.0 { (total / (classes.len() as f64 * count)) as f32 } else { 1.0 };
                Ok(counts.iter().map(weight).collect())
            }
        }
    }

    /// Rows with these weights of their classes.
    pub fn apply(weights: &[f32], rows: &mut Dataset) {
        for row in 0..rows.weight.len() {
            rows.weight[row] *= weights[predicted_class(rows.y.row(row))];
        }
    }
}

impl Serialize for ClassWeight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Balanced => serializer.serialize_str("balanced"),
            Self::Given(weights) => weights.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ClassWeight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordOrTable;

        impl<'de> de::Visitor<'de> for WordOrTable {
            type Value = ClassWeight;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"balanced\" or a table of a number a class, such as { Y = 1, N = 5 }")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<ClassWeight, E> {
                match word {
                    "balanced" => Ok(ClassWeight::Balanced),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<ClassWeight, A::Error> {
                let mut weights = BTreeMap::new();
                while let Some((class, weight)) = map.next_entry::<String, f64>()? {
                    weights.insert(class, weight);
                }
                Ok(ClassWeight::Given(weights))
            }
        }

        deserializer.deserialize_any(WordOrTable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepsade_net::Matrix;

    /// Three rows of n and one of y, which counts twice.
    fn rows() -> (Task, Dataset) {
        let task = Task::Binary { target: "t".into(), classes: vec!["n".into(), "y".into()] };
        let y = Matrix { rows: 4, cols: 2, data: vec![1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0] };
        (task, Dataset { x: Matrix::zeros(4, 1), y, weight: vec![1.0, 1.0, 1.0, 2.0] })
    }

    #[test]
    fn balanced_classes_count_alike() {
        let (task, mut rows) = rows();
        let weights = ClassWeight::Balanced.of(&task, &rows).unwrap();
        assert_eq!(weights, [5.0 / 6.0, 1.25]);
        ClassWeight::apply(&weights, &mut rows);
        assert!((rows.weight[..3].iter().sum::<f32>() - rows.weight[3]).abs() < 1e-6);
    }

    #[test]
    fn stated_weights_are_read_by_name() {
        let (task, rows) = rows();
        let told = |text: &str| toml::from_str::<BTreeMap<String, ClassWeight>>(text).map(|mut t| t.remove("w").unwrap());
        assert_eq!(told("w = { y = 5 }").unwrap().of(&task, &rows), Ok(vec![1.0, 5.0]));
        assert_eq!(told("w = { z = 5 }").unwrap().of(&task, &rows), Err(Some("z".into())));
        assert_eq!(told("w = 'balanced'").unwrap().of(&Task::regression(vec!["t".into()]), &rows), Err(None));
        assert!(told("w = 'equal'").unwrap_err().to_string().contains("\"balanced\" or a table"));
    }
}
