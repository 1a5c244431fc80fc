//! The `[data]` table of a rule file enters as TOML; settings checked against their ranges leave.

use std::ops::Deref;
use std::path::Path;

use deepsade_spec::OneHot;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::error::DataError;
use super::gap::{Impute, Markers};
use super::locate::is_data_name;
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
    /// What to do with missing values that nothing is filled in for. Default: `"error"`.
    pub missing: MissingPolicy,
    /// Texts and numbers that stand for no value, besides an empty field, `?`, `NA`, `N/A`, `NaN` and `null`. Default: none.
    #[serde(skip_serializing_if = "Markers::is_empty")]
    pub missing_values: Markers,
    /// What is filled in for numbers in all features, in training and in every row that the model is asked about: `"median"`, `"mean"` or
    /// `"most-frequent"`; in categories it is the most frequent level. Default: `"none"`; `missing = "impute"` means `"median"`.
    pub impute: Impute,
    /// Whether numbers that have gaps in the data get a feature that says where. Default: false.
    pub indicator: bool,
    /// Which rows train, validate and test: shares, a column that says it, a file, or the order of a column. Default: shares of 0.7, 0.1
    /// and 0.2, drawn at random.
    pub split: SplitSettings,
    /// A column with the weight of each row, 0 or above, in losses and scores. It is no feature. Default: every row counts alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
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

/// Settings in their ranges: whoever holds them need not look again.
///
/// ```
/// use deepsade_data::DataSettings;
///
/// let settings: DataSettings = toml::from_str("file = 'homes.csv'\nseed = 3")?;
/// assert_eq!(settings.checked()?.seed, 3);
/// let settings: DataSettings = toml::from_str("file = 'homes.csv'\nmargin = -0.5")?;
/// assert!(settings.checked().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CheckedData(DataSettings);

impl Deref for CheckedData {
    type Target = DataSettings;

    fn deref(&self) -> &DataSettings {
        &self.0
    }
}

impl CheckedData {
    /// The same with another seed: there is none out of range.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self(DataSettings { seed, ..self.0 })
    }

    /// The separator as the reader takes it: one that passed the check is ASCII.
    pub fn delimiter(&self) -> Option<u8> {
        self.separator.map(|c| c as u8)
    }

    /// The same with another file, which the user names, so its name may end as it likes.
    #[must_use]
    pub fn with_file(self, file: String) -> Self {
        Self(DataSettings { file: Some(file), ..self.0 })
    }
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
    /// Fill in the median, or what `impute` says, or the most frequent level; rows without a target are left out.
    Impute,
}

/// Which rows train, validate and test, `[data.split]`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a table: shares { train = 0.7, validation = 0.1, test = 0.2 }, { column = \"...\" }, { by = \"...\" } or { file = \"...\" }"
)]
pub struct SplitSettings {
    /// The share that trains. Default: 0.7, or 0 if another share is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<f64>,
    /// The share that validates. Default: 0.1, or 0 if another share is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// The share that tests. Default: 0.2, or 0 if another share is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<f64>,
    /// A column that holds `train`, `validation` or `test`; it is no feature. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// A column by which rows are ordered (numbers, or dates that begin with the year): the first train, the last test; it is no
    /// feature. Default: none, rows are drawn at random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// A CSV file with the columns `row` (from 1) and `part`, such as the `split.csv` of a run. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl From<SplitShares> for SplitSettings {
    fn from(SplitShares { train, validation, test }: SplitShares) -> Self {
        Self { train: Some(train), validation: Some(validation), test: Some(test), ..Self::default() }
    }
}

impl SplitSettings {
    /// The shares.
    pub fn shares(&self) -> SplitShares {
        match (self.train, self.validation, self.test) {
            (None, None, None) => SplitShares::default(),
            (train, validation, test) => {
                let or_none = |share: Option<f64>| share.unwrap_or(0.0);
                SplitShares { train: or_none(train), validation: or_none(validation), test: or_none(test) }
            }
        }
    }

    /// Whether rows are dealt out by shares, at random.
    pub fn is_random(&self) -> bool {
        self.column.is_none() && self.by.is_none() && self.file.is_none()
    }

    fn check(&self) -> Result<(), DataError> {
        let refuse = |value: &str, expected| Err(DataError::Setting { setting: "split", value: value.into(), expected });
        if [&self.column, &self.by, &self.file].iter().filter(|way| way.is_some()).count() > 1 {
            return refuse("{ ... }", "rows are dealt out by one of `column`, `by` and `file`");
        }
        let stated = [self.train, self.validation, self.test].iter().any(Option::is_some);
        if stated && (self.column.is_some() || self.file.is_some()) {
            return refuse("{ ... }", "a `column` or `file` says which rows train, validate and test: leave the shares out");
        }
        self.shares().check()
    }
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
    fn check(&self) -> Result<(), DataError> {
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
    /// The one gate: refuses values outside their range and contradictions between settings.
    pub fn checked(self) -> Result<CheckedData, DataError> {
        // How categories become columns is stated of a model, too, without any data.
        let encoding = Self { one_hot: self.one_hot, ..Self::default() };
        if self.file.is_none() && self.recipe.is_none() && (self == Self::default() || self != encoding) {
            return Err(DataError::NoFile);
        }
        let checked = self.checked_without_file()?;
        match (&checked.file, checked.recipe) {
            (Some(named), None) if !is_data_name(Path::new(named)) => Err(DataError::NotData { file: named.clone() }),
            _ => Ok(checked),
        }
    }

    /// Columns that say something about rows and are no features.
    pub fn aside(&self) -> impl Iterator<Item = &String> {
        self.weight.iter().chain(&self.split.column).chain(&self.split.by)
    }

    /// What to do with gaps: who says what to fill in wants them filled in.
    pub fn missing_policy(&self) -> MissingPolicy {
        if self.impute == Impute::None { self.missing } else { MissingPolicy::Impute }
    }

    /// What is filled in for numbers, if anything is.
    pub fn imputes_by(&self) -> Impute {
        if self.impute == Impute::None { Impute::Median } else { self.impute }
    }

    /// The same for rows that do not come from a file.
    pub fn checked_without_file(self) -> Result<CheckedData, DataError> {
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
        if self.impute != Impute::None && self.missing == MissingPolicy::Drop {
            let expected = "rows are left out or filled in: drop one of `missing` and `impute`";
            return Err(DataError::Setting { setting: "missing", value: "\"drop\"".into(), expected });
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
        if let Some(name) = self.aside().find(|name| self.targets.contains(name)) {
            return Err(DataError::NotATarget { name: name.clone() });
        }
        let named: Vec<&String> = self.targets.iter().chain(&self.ignore).collect();
        match named.iter().enumerate().find(|(i, name)| named[..*i].contains(name)) {
            Some((_, name)) => Err(DataError::NamedTwice { name: (*name).clone() }),
            None => Ok(CheckedData(self)),
        }
    }
}

#[cfg(test)]
#[path = "settings/tests.rs"]
mod tests;
