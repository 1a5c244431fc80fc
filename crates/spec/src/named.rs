//! An input enters, as a row of columns or as a point, or outputs; they leave by name, with values as people and JSON have them.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{Domain, Rational, Schema, Task, Var};

/// Features or outputs by name: levels in words, whole numbers without a fraction.
///
/// ```
/// use deepsade_spec::{Domain, Feature, NamedValues, OneHot, Schema, Task};
///
/// let levels = ["Rural", "Urban"].map(String::from).to_vec();
/// let features = vec![
///     Feature { name: "area".into(), domain: Domain::Category { levels } },
///     Feature { name: "rooms".into(), domain: Domain::Integer { lo: 1, hi: 9 } },
/// ];
/// let schema = Schema { features, task: Task::regression(vec!["rent".into()]), one_hot: OneHot::Full, filled: vec![] };
/// assert_eq!(NamedValues::of_row(&schema, &[0.0, 1.0, 3.0]).to_string(), r#"area = "Urban", rooms = 3"#);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct NamedValues(Map<String, Value>);

impl NamedValues {
    /// A row of the network's columns.
    pub fn of_row(schema: &Schema, x: &[f32]) -> Self {
        let map = schema.column_map();
        let value = |f: usize, domain: &Domain| match domain {
            Domain::Category { .. } => map.level_in(f, x) as f64,
            _ => f64::from(x[map.first(f)]),
        };
        let named = schema.features.iter().enumerate().map(|(f, feature)| {
            let value = value(f, &feature.domain);
            (feature.name.clone(), said(&feature.domain, value))
        });
        Self(named.collect())
    }

    /// The values of some variables: features that are not among them may be any, and of a category the level that is taken counts.
    pub fn of_point(schema: &Schema, point: &BTreeMap<Var, Rational>) -> Self {
        let named = point.iter().filter_map(|(var, value)| {
            let (f, value) = match *var {
                Var::Feature(f) => (f, value.to_f64().value()),
                Var::Level(f, level) if value.is_one() => (f, level as f64),
                _ => return None,
            };
            Some((schema.features[f].name.clone(), said(&schema.features[f].domain, value)))
        });
        Self(named.collect())
    }

    /// Outputs of the network.
    pub fn of_outputs(task: &Task, y: &[f32]) -> Self {
        Self(y.iter().enumerate().map(|(j, v)| (task.output_name(j), json!(v))).collect())
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where an input is, in words.
    pub fn place(&self) -> String {
        if self.is_empty() { "for any input".into() } else { format!("where {self}") }
    }
}

/// A value of a domain; of a category that is the place of its level.
fn said(domain: &Domain, value: f64) -> Value {
    match domain {
        Domain::Category { levels } | Domain::Ordered { levels } => json!(levels.get(value as usize)),
        Domain::Integer { .. } if value.fract() == 0.0 => json!(value as i64),
        Domain::Integer { .. } | Domain::Real { .. } | Domain::Stepped { .. } => json!(value),
    }
}

impl fmt::Display for NamedValues {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let named: Vec<String> = self.0.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        f.write_str(&named.join(", "))
    }
}
