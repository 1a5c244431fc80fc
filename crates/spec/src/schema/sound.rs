//! A schema as a file states it enters; it leaves if it means one thing: finite ranges, levels and names that occur once.
//!
//! Whoever reads a schema, by whatever door, comes through here: the rest of the house takes these for granted.

use std::collections::BTreeSet;

use serde::Deserialize;
use thiserror::Error;

use super::filled::{INDICATOR, indicator_of};
use super::{Domain, Feature, Filled, OneHot, Schema, Task};

/// Whole numbers beyond this are not all float32 values.
pub const LARGEST_INTEGER: i32 = 1 << 24;

/// A schema before it is looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stated {
    features: Vec<Feature>,
    task: Task,
    #[serde(default)]
    one_hot: OneHot,
    #[serde(default)]
    filled: Vec<Filled>,
}

/// What is wrong with a schema.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemaError {
    /// An infinite bound, one beyond float32 or ±2^24, or a lower bound above the upper one.
    #[error(
        "the range of feature {0:?} must be finite, at most ±2^24 for whole numbers, and its first number not above its last"
    )]
    Range(String),
    /// A step that is no power of two, or a range that does not end at multiples of it.
    #[error(
        "the step of feature {0:?} must be a power of two from 2^-20 to 2^20 other than 1 (which is kind \"integer\"), and its range end \
         at multiples of it, at most 2^24 steps from 0"
    )]
    Step(String),
    /// A category that can't have a value.
    #[error("the category {0:?} has no levels")]
    NoLevels(String),
    /// A name that stands for two things.
    #[error("{what} {name:?} occurs twice; each needs a name of its own")]
    Twice {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Whole numbers that are not targets, or in another order than these: one set would be written in two ways.
    #[error("`whole` lists targets, each once and in their order, and {0:?} is none there")]
    NoWholeTarget(String),
    /// What stands for a missing value is no value of the feature.
    #[error(
        "what is read where {0:?} has no value must be a value of its domain, and features are listed once and in their order"
    )]
    Fill(String),
    /// A feature that should say whether another has a value, and does not.
    #[error(
        "the feature that says where {0:?} has no value must be 0 or 1, called '{0} is missing', and stand behind all others; a \
             category has none"
    )]
    Indicator(String),
    /// A task without enough to predict.
    #[error("a {kind} task needs {needed}, and there are {found}")]
    Count {
        /// The task.
        kind: &'static str,
        /// How many it needs.
        needed: &'static str,
        /// How many there are.
        found: usize,
    },
}

impl TryFrom<Stated> for Schema {
    type Error = SchemaError;

    fn try_from(Stated { features, task, one_hot, filled }: Stated) -> Result<Self, SchemaError> {
        let schema = Self { features, task, one_hot, filled };
        schema.sound().map(|()| schema)
    }
}

impl Schema {
    /// Whether every domain is a finite set of float32 values and every name stands for one thing.
    pub fn sound(&self) -> Result<(), SchemaError> {
        self.features.iter().try_for_each(Feature::sound)?;
        let (named, needed, enough): (&[String], _, fn(usize) -> bool) = match &self.task {
            Task::Regression { targets: names, .. } | Task::Multilabel { labels: names } => (names, "a target", |n| n >= 1),
            Task::Binary { classes, .. } => (classes, "exactly two classes", |n| n == 2),
            Task::Multiclass { classes, .. } => (classes, "two classes or more", |n| n >= 2),
            Task::Ranking { items } => (items, "two items or more", |n| n >= 2),
        };
        if !enough(named.len()) {
            return Err(SchemaError::Count { kind: self.task.kind(), needed, found: named.len() });
        }
        once("the class or target", named.iter().map(String::as_str))?;
        if let Task::Regression { targets, whole } = &self.task {
            let mut rest = targets.iter();
            if let Some(name) = whole.iter().find(|name| !rest.any(|target| target == *name)) {
                return Err(SchemaError::NoWholeTarget(name.clone()));
            }
        }
        self.sound_filling()?;
        // A rule that says `x` must not mean an input here and an output there.
        once("the column", self.features.iter().map(|f| f.name.as_str()).chain(self.task.target_columns()))
    }
}

impl Feature {
    /// Whether its domain is a finite set of float32 values that is not empty, or of levels that differ.
    pub(crate) fn sound(&self) -> Result<(), SchemaError> {
        let Self { name, domain } = self;
        let sound = match domain {
            Domain::Real { lo, hi } => lo.is_finite() && hi.is_finite() && lo <= hi,
            Domain::Integer { lo, hi } => -LARGEST_INTEGER <= *lo && lo <= hi && *hi <= LARGEST_INTEGER,
            Domain::Stepped { lo, hi, .. } => {
                if !domain.is_stepped() {
                    return Err(SchemaError::Step(name.clone()));
                }
                lo <= hi
            }
            Domain::Category { levels } | Domain::Ordered { levels } if levels.is_empty() => {
                return Err(SchemaError::NoLevels(name.clone()));
            }
            Domain::Ordered { levels } if levels.len() > LARGEST_INTEGER as usize => false,
            Domain::Category { levels } | Domain::Ordered { levels } => {
                once("level", levels.iter().map(String::as_str)).map(|()| true)?
            }
        };
        if sound { Ok(()) } else { Err(SchemaError::Range(name.clone())) }
    }
}

impl Schema {
    fn sound_filling(&self) -> Result<(), SchemaError> {
        let mut rest = self.given().iter();
        let mut behind = self.features[self.given().len()..].iter();
        for Filled { feature, with, indicator, .. } in &self.filled {
            let found = rest.find(|f| f.name == *feature).map(|f| (with.number(&f.domain), with.level(&f.domain)));
            let Some((number, level)) = found.filter(|(number, level)| number.is_some() || level.is_some()) else {
                return Err(SchemaError::Fill(feature.clone()));
            };
            let missing = |f: Option<&Feature>| f.is_none_or(|f| f.name != indicator_of(feature) || f.domain != INDICATOR);
            if *indicator && (missing(behind.next()) || number.is_none() || level.is_some()) {
                return Err(SchemaError::Indicator(feature.clone()));
            }
        }
        Ok(())
    }
}

impl Domain {
    /// Whether a stepped domain has a step that is allowed, with all that is in its range on it and exact in float32.
    pub fn is_stepped(&self) -> bool {
        let Some((k, (lo, hi))) = self.grid().zip(self.range()) else { return false };
        // Every float32 number and every power is a float64, and so is their product.
        let multiple = |v: f32| self.on_grid(v.into()) && f64::from(v).abs() <= 2f64.powi(24 - k);
        matches!(self, Domain::Stepped { .. }) && k != 0 && (-20..=20).contains(&k) && multiple(lo) && multiple(hi)
    }
}

fn once<'a>(what: &'static str, names: impl Iterator<Item = &'a str>) -> Result<(), SchemaError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(SchemaError::Twice { what, name: name.into() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A schema of one feature and one task.
    fn read(domain: &str, task: &str) -> Result<Schema, serde_json::Error> {
        let text = format!("{{\"features\":[{{\"name\":\"x\",\"domain\":{domain}}}],\"task\":{task}}}");
        let by_type = serde_json::from_str(&text);
        let by_name = Schema::from_json(&text);
        assert_eq!(by_type.is_ok(), by_name.is_ok(), "{text}: two doors, one answer");
        by_type
    }

    const UNIT: &str = r#"{"kind":"real","lo":0,"hi":1}"#;
    const TARGET: &str = r#"{"kind":"regression","targets":["y"]}"#;

    #[test]
    fn a_domain_is_finite_and_not_empty() {
        for good in [UNIT, r#"{"kind":"real","lo":-3.4e38,"hi":3.4e38}"#, r#"{"kind":"integer","lo":-16777216,"hi":16777216}"#] {
            assert!(read(good, TARGET).is_ok(), "{good}");
        }
        for good in ["0,\"hi\":0,\"step\":0.5", "-1,\"hi\":24,\"step\":0.25", "-16,\"hi\":16,\"step\":9.5367431640625e-07"] {
            assert!(read(&format!("{{\"kind\":\"stepped\",\"lo\":{good}}}"), TARGET).is_ok(), "{good}");
        }
        for bad in [
            r#"{"kind":"stepped","lo":0,"hi":1}"#,
            r#"{"kind":"stepped","lo":0,"hi":1,"step":0.01}"#,
            r#"{"kind":"stepped","lo":0,"hi":1,"step":1}"#,
            r#"{"kind":"stepped","lo":0,"hi":0,"step":0}"#,
            r#"{"kind":"stepped","lo":0,"hi":1,"step":-0.5}"#,
            r#"{"kind":"stepped","lo":0,"hi":0,"step":2097152}"#,
            r#"{"kind":"stepped","lo":0,"hi":0,"step":1e-7}"#,
            r#"{"kind":"stepped","lo":0,"hi":0,"step":1e-45}"#,
            r#"{"kind":"stepped","lo":0,"hi":0.75,"step":0.5}"#,
            r#"{"kind":"stepped","lo":0.25,"hi":1,"step":0.5}"#,
            r#"{"kind":"stepped","lo":1,"hi":0,"step":0.5}"#,
            r#"{"kind":"stepped","lo":0,"hi":4194305,"step":0.25}"#,
            r#"{"kind":"real","lo":0,"hi":1e39}"#,
            r#"{"kind":"real","lo":-1e39,"hi":0}"#,
            r#"{"kind":"real","lo":0,"hi":1e999}"#,
            r#"{"kind":"real","lo":0,"hi":null}"#,
            r#"{"kind":"real","lo":0,"hi":NaN}"#,
            r#"{"kind":"real","lo":1,"hi":0}"#,
            r#"{"kind":"real","lo":0,"hi":1,"hi":2}"#,
            r#"{"kind":"integer","lo":0,"hi":16777217}"#,
            r#"{"kind":"integer","lo":-2147483648,"hi":0}"#,
            r#"{"kind":"integer","lo":0,"hi":9223372036854775808}"#,
            r#"{"kind":"integer","lo":2,"hi":1}"#,
            r#"{"kind":"category","levels":[]}"#,
            r#"{"kind":"category","levels":["a","b","a"]}"#,
        ] {
            assert!(read(bad, TARGET).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_stands_for_one_thing() {
        for good in [r#"{"kind":"binary","target":"y","classes":["a","b"]}"#, r#"{"kind":"ranking","items":["a","b"]}"#] {
            assert!(read(UNIT, good).is_ok(), "{good}");
        }
        for bad in [
            r#"{"kind":"regression","targets":[]}"#,
            r#"{"kind":"regression","targets":["y","y"]}"#,
            r#"{"kind":"regression","targets":["x"]}"#,
            r#"{"kind":"binary","target":"x","classes":["a","b"]}"#,
            r#"{"kind":"binary","target":"y","classes":["a","b","c"]}"#,
            r#"{"kind":"binary","target":"y","classes":["a","a"]}"#,
            r#"{"kind":"multiclass","target":"y","classes":["a"]}"#,
            r#"{"kind":"multilabel","labels":["a","a"]}"#,
            r#"{"kind":"multilabel","labels":[]}"#,
            r#"{"kind":"ranking","items":["a"]}"#,
            r#"{"kind":"regression","targets":["y","z"],"whole":["x"]}"#,
            r#"{"kind":"regression","targets":["y","z"],"whole":["z","y"]}"#,
            r#"{"kind":"regression","targets":["y","z"],"whole":["y","y"]}"#,
            r#"{"kind":"multilabel","labels":["y"],"whole":["y"]}"#,
        ] {
            assert!(read(UNIT, bad).is_err(), "{bad}");
        }
        let twice = r#"{"features":[{"name":"x","domain":DOMAIN},{"name":"x","domain":DOMAIN}],"task":TASK}"#;
        let twice = twice.replace("DOMAIN", UNIT).replace("TASK", TARGET);
        assert!(Schema::from_json(&twice).unwrap_err().to_string().contains("\"x\" occurs twice"));
    }
}
