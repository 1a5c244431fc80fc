//! What is read where a feature has no value: a number or a level in its place, and a column of its own that says so.
//!
//! The rules are read on what is filled in, and the domain is that of the filled features: a value that is filled in lies in the domain of
//! its feature, and an indicator is a feature like any other, 0 or 1. So a proof for all values of all features covers every input with
//! gaps, too.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{ColumnKind, Domain, Feature, Schema};

/// A feature that may have no value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filled {
    /// Its name.
    pub feature: String,
    /// What is read then.
    pub with: Fill,
    /// Whether a feature, [`indicator_of`] it, says that it was filled in. These stand behind all features that data have, in this order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub indicator: bool,
    /// Texts of a data file that stand for no value here, besides those that always do: how files are read, and nothing of the network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub markers: Vec<String>,
}

/// What stands in the place of a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fill {
    /// A number.
    Number(f32),
    /// A level, ordered or not.
    Level(String),
}

/// The name of the feature that is 1 where this one has no value.
pub fn indicator_of(feature: &str) -> String {
    format!("{feature} is missing")
}

/// The domain of an indicator.
pub(super) const INDICATOR: Domain = Domain::Integer { lo: 0, hi: 1 };

impl Filled {
    /// Whether both are filled in alike, for the same texts of a file in whatever order.
    pub fn alike(&self, other: &Self) -> bool {
        (&self.feature, &self.with, self.indicator, self.texts()) == (&other.feature, &other.with, other.indicator, other.texts())
    }

    fn texts(&self) -> BTreeSet<&str> {
        self.markers.iter().map(String::as_str).collect()
    }
}

impl std::fmt::Display for Filled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.with)?;
        if self.indicator {
            write!(f, " with an indicator")?;
        }
        if !self.markers.is_empty() {
            write!(f, " (also for {})", self.markers.iter().map(|m| format!("{m:?}")).collect::<Vec<String>>().join(", "))?;
        }
        Ok(())
    }
}

impl Fill {
    /// The number that enters the network in a column of numbers, if this is a value of the domain.
    pub fn number(&self, domain: &Domain) -> Option<f32> {
        match (self, domain) {
            (Self::Level(level), Domain::Ordered { levels }) => levels.iter().position(|l| l == level).map(|k| k as f32),
            // A zero has one sign, or one value would be written in two ways.
            (Self::Number(v), Domain::Real { .. } | Domain::Integer { .. } | Domain::Stepped { .. }) => {
                (domain.holds(*v) && (*v != 0.0 || v.is_sign_positive())).then_some(*v)
            }
            _ => None,
        }
    }

    /// The level of a category, if it has it.
    pub fn level(&self, domain: &Domain) -> Option<usize> {
        match (self, domain) {
            (Self::Level(level), Domain::Category { levels }) => levels.iter().position(|l| l == level),
            _ => None,
        }
    }
}

impl std::fmt::Display for Fill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(v) => write!(f, "{v}"),
            Self::Level(level) => write!(f, "{level:?}"),
        }
    }
}

impl Schema {
    /// The features that data have: all but the indicators.
    pub fn given(&self) -> &[Feature] {
        &self.features[..self.features.len().saturating_sub(self.filled.iter().filter(|f| f.indicator).count())]
    }

    /// How a feature is read that may have no value.
    pub fn filled(&self, feature: &str) -> Option<&Filled> {
        self.filled.iter().find(|f| f.feature == feature)
    }

    /// What is read where a feature has no value.
    pub fn fill(&self, feature: &str) -> Option<&Fill> {
        self.filled(feature).map(|f| &f.with)
    }

    /// For each indicator, in order, the feature that it is about.
    pub fn indicated(&self) -> impl Iterator<Item = &str> {
        self.filled.iter().filter(|f| f.indicator).map(|f| f.feature.as_str())
    }

    /// What fills in the columns of the input: for each column that data have what is read where it is not a number, and the columns whose
    /// gaps are told in a column of their own. `None` where nothing is filled in.
    pub fn filling(&self) -> Option<(Vec<Option<f32>>, Vec<usize>)> {
        if self.filled.is_empty() {
            return None;
        }
        let columns = self.columns();
        let given = columns.iter().filter(|c| c.feature < self.given().len());
        let value = |column: &super::InputColumn| {
            let Feature { name, domain } = &self.features[column.feature];
            let fill = self.fill(name)?;
            match column.kind {
                ColumnKind::Number => fill.number(domain),
                ColumnKind::Level(l) => fill.level(domain).map(|level| f32::from(u8::from(level == l))),
            }
        };
        let first = self.first_columns();
        let place = |name: &str| self.feature(name).map(|f| first[f]);
        Some((given.map(value).collect(), self.indicated().filter_map(place).collect()))
    }

    /// The same in words, for people; `None` where nothing is filled in.
    pub fn filling_in_words(&self) -> Option<String> {
        const SHOWN: usize = 6;
        let mut words: Vec<String> = self.filled.iter().take(SHOWN).map(|f| format!("{} as {}", f.feature, f.with)).collect();
        if self.filled.len() > SHOWN {
            words.push(format!("{} more", self.filled.len() - SHOWN));
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{OneHot, Task};
    use super::*;

    fn schema() -> Schema {
        let levels = ["a", "b", "c"].map(String::from).to_vec();
        let feature = |name: &str, domain| Feature { name: name.into(), domain };
        let features = vec![
            feature("n", Domain::Real { lo: 0.0, hi: 2.0 }),
            feature("c", Domain::Category { levels: levels.clone() }),
            feature("o", Domain::Ordered { levels }),
            feature("k", Domain::Integer { lo: -1, hi: 5 }),
            feature("n is missing", INDICATOR),
            feature("o is missing", INDICATOR),
        ];
        let filled = |feature: &str, with, indicator| Filled { feature: feature.into(), with, indicator, markers: vec![] };
        let filled = vec![
            filled("n", Fill::Number(1.5), true),
            filled("c", Fill::Level("b".into()), false),
            filled("o", Fill::Level("c".into()), true),
        ];
        Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::Full, filled }
    }

    #[test]
    fn columns_are_filled_as_their_features_are() {
        let (values, flags) = schema().filling().unwrap();
        // n, c=a, c=b, c=c, o, k: the last must have a value.
        assert_eq!(values, [Some(1.5), Some(0.0), Some(1.0), Some(0.0), Some(2.0), None]);
        assert_eq!(flags, [0, 4]);
        let fewer = Schema { one_hot: OneHot::DropFirst, ..schema() };
        assert_eq!(fewer.filling().unwrap().0[..4], [Some(1.5), Some(1.0), Some(0.0), Some(2.0)]);
        assert_eq!(Schema::from_json(&schema().to_json()).unwrap(), schema());
    }

    #[test]
    fn only_values_of_the_domain_are_filled_in() {
        let refused = |change: &dyn Fn(&mut Schema)| {
            let mut changed = schema();
            change(&mut changed);
            assert!(changed.sound().is_err() && Schema::from_json(&changed.to_json()).is_err(), "{changed:?}");
        };
        for bad in [2.5, f32::NAN, f32::INFINITY, -0.0] {
            refused(&|s| s.filled[0].with = Fill::Number(bad));
        }
        refused(&|s| s.filled[0].with = Fill::Level("a".into()));
        refused(&|s| s.filled[1].with = Fill::Level("d".into()));
        refused(&|s| s.filled[1].with = Fill::Number(1.0));
        refused(&|s| s.filled[2].with = Fill::Number(1.0));
        let whole = Filled { feature: "k".into(), with: Fill::Number(0.5), indicator: false, markers: vec![] };
        refused(&|s| s.filled.push(whole.clone()));
        // Twice, in another order, of no feature, of an indicator; indicators of others, with another domain, of a category, one too few.
        refused(&|s| s.filled.push(s.filled[2].clone()));
        refused(&|s| s.filled.swap(0, 1));
        refused(&|s| s.filled[0].feature = "m".into());
        let of_indicator = Filled { feature: "n is missing".into(), with: Fill::Number(0.0), indicator: false, markers: vec![] };
        refused(&|s| s.filled.push(of_indicator.clone()));
        refused(&|s| s.features.swap(4, 5));
        refused(&|s| s.features[4].domain = Domain::Integer { lo: 0, hi: 2 });
        refused(&|s| s.filled[1].indicator = true);
        refused(&|s| drop(s.features.pop()));
    }
}
