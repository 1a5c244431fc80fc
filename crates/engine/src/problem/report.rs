//! The `[report]` table of a rule file enters as TOML; what the page says of a model beside its proof leaves.

use serde::{Deserialize, Serialize};

/// What the page says of a model: the `[report]` table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReportSettings {
    /// What the model is called. Default: the folder of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Which version of it this is. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Who answers for it. Default: nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Columns by whose levels, or quantiles, the scores are told as well: features, or columns that `ignore` keeps from the model. Default:
    /// none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<String>,
    /// What is known to be limited, a sentence each, beside what the page says itself. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

impl ReportSettings {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
