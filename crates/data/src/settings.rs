//! The `[data]` table of a rule file enters as TOML; settings checked against their ranges leave.

use deepsade_spec::OneHot;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::error::DataError;
use super::recipe::Recipe;

/// Where data comes from and how it is prepared: the `[data]` table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataSettings {
    /// A CSV (`.csv`, `.csv.gz`) or `.parquet` file, as [`super::locate()`] finds it. Default: none, which only a recipe allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The columns to predict. Default: those of `[task]`.
    pub targets: Vec<String>,
    /// Columns to leave out; `""` is the unnamed index column some programs write. Default: none.
    pub ignore: Vec<String>,
    /// What to do with missing values. Default: `"error"`.
    pub missing: MissingPolicy,
    /// Shares of the rows for training, validation and test. Default: 0.7, 0.1, 0.2; each at least 0, together 1, train above 0.
    pub split: SplitShares,
    /// Seed of the split and of recipes that draw at random. Default: 0.
    pub seed: u64,
    /// What to do with training rows whose own target breaks a rule. Default: `"keep"`; a number in [0, 1] is their weight.
    pub breaking_rows: BreakingRows,
    /// How many rows to relabel so that they break a rule, as the paper's experiments do. Default: 0.
    pub inject_violations: usize,
    /// How far the domain of a number reaches beyond the data, where its range is not stated: at each end this share of the range.
    /// Default: 0; 0 or above.
    pub margin: f64,
    /// Columns of a category: `"full"` (one a level) or `"drop-first"` (none for the first level). Default: `"full"`.
    pub one_hot: OneHot,
    /// A built-in reader for data that is no table. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Recipe>,
    /// How many instances a generating recipe makes (default 20000); elsewhere only the first so many rows are used (default all).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
    /// What stands between two values of a CSV file, one ASCII character. Default: a comma.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub separator: Option<char>,
}

/// What to do with missing values in used columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissingPolicy {
    /// Refuse the data.
    #[default]
    Error,
    /// Leave out rows that have one.
    Drop,
    /// Fill in the median or the most frequent level; rows without a target are left out.
    Impute,
}

/// Shares of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitShares {
    /// To learn from.
    pub train: f64,
    /// To choose the best network by.
    pub validation: f64,
    /// To score the chosen one on.
    pub test: f64,
}

impl Default for SplitShares {
    fn default() -> Self {
        Self { train: 0.7, validation: 0.1, test: 0.2 }
    }
}

/// What to do with training rows whose own target breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum BreakingRows {
    /// Train on them like on any other.
    #[default]
    Keep,
    /// Leave them out of training.
    Drop,
    /// Train on them with this weight, 0 to 1.
    Weight(f64),
}

impl Serialize for BreakingRows {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Keep => serializer.serialize_str("keep"),
            Self::Drop => serializer.serialize_str("drop"),
            Self::Weight(w) => serializer.serialize_f64(*w),
        }
    }
}

impl<'de> Deserialize<'de> for BreakingRows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordOrWeight;

        impl de::Visitor<'_> for WordOrWeight {
            type Value = BreakingRows;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"keep\", \"drop\" or a weight from 0 to 1")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<BreakingRows, E> {
                match word {
                    "keep" => Ok(BreakingRows::Keep),
                    "drop" => Ok(BreakingRows::Drop),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }

            fn visit_f64<E: de::Error>(self, weight: f64) -> Result<BreakingRows, E> {
                Ok(BreakingRows::Weight(weight))
            }

            fn visit_i64<E: de::Error>(self, weight: i64) -> Result<BreakingRows, E> {
                Ok(BreakingRows::Weight(weight as f64))
            }

            fn visit_u64<E: de::Error>(self, weight: u64) -> Result<BreakingRows, E> {
                Ok(BreakingRows::Weight(weight as f64))
            }
        }

        deserializer.deserialize_any(WordOrWeight)
    }
}

impl SplitShares {
    /// Refuses shares that are negative, do not sum to 1, or leave nothing to train on.
    pub fn check(&self) -> Result<(), DataError> {
        let shares = [self.train, self.validation, self.test];
        let sum: f64 = shares.iter().sum();
        if shares.iter().all(|s| *s >= 0.0) && (sum - 1.0).abs() <= 1e-9 && self.train > 0.0 {
            return Ok(());
        }
        let value = format!("{{ train = {}, validation = {}, test = {} }}", self.train, self.validation, self.test);
        Err(DataError::Setting { setting: "split", value, expected: "shares are at least 0, sum to 1, and train is above 0" })
    }
}

impl DataSettings {
    /// Refuses values outside their range and contradictions between settings.
    pub fn check(&self) -> Result<(), DataError> {
        // How categories become columns is stated of a model, too, without any data.
        let encoding = Self { one_hot: self.one_hot, ..Self::default() };
        if self.file.is_none() && self.recipe.is_none() && (*self == Self::default() || *self != encoding) {
            return Err(DataError::NoFile);
        }
        self.check_without_file()
    }

    /// The same for rows that do not come from a file.
    pub fn check_without_file(&self) -> Result<(), DataError> {
        self.split.check()?;
        if !(self.margin >= 0.0 && self.margin.is_finite()) {
            let expected = "a share of each feature's range, 0 or above and finite";
            return Err(DataError::Setting { setting: "margin", value: self.margin.to_string(), expected });
        }
        if let BreakingRows::Weight(w) = self.breaking_rows
            && !(0.0..=1.0).contains(&w)
        {
            let expected = "\"keep\", \"drop\" or a weight from 0 to 1";
            return Err(DataError::Setting { setting: "breaking_rows", value: w.to_string(), expected });
        }
        if self.rows == Some(0) {
            return Err(DataError::Setting { setting: "rows", value: "0".into(), expected: "at least 1" });
        }
        if let Some(c) = self.separator
            && (!c.is_ascii() || matches!(c, '"' | '\n' | '\r'))
        {
            let expected = "one ASCII character, neither a quote nor the end of a line";
            return Err(DataError::Setting { setting: "separator", value: format!("{c:?}"), expected });
        }
        let named: Vec<&String> = self.targets.iter().chain(&self.ignore).collect();
        match named.iter().enumerate().find(|(i, name)| named[..*i].contains(name)) {
            Some((_, name)) => Err(DataError::NamedTwice { name: (*name).clone() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "settings/tests.rs"]
mod tests;
