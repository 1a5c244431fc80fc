//! The file of use cases enters, what each expects and allows leaves; with `--quick` already applied.

use std::collections::BTreeMap;
use std::path::Path;

use deepsade_engine::problem::{Problem, ProblemError};
use serde::{Deserialize, Serialize};

use super::method::Method;

const CASES: &str = include_str!("../../data/cases.toml");
const RULES: [(&str, &str); 5] = [
    ("uc1", include_str!("../../../../examples/uc1.toml")),
    ("uc2", include_str!("../../../../examples/uc2.toml")),
    ("uc3", include_str!("../../../../examples/uc3.toml")),
    ("uc4", include_str!("../../../../examples/uc4.toml")),
    ("uc5", include_str!("../../../../examples/uc5.toml")),
];

/// A use case, as data/cases.toml of this crate describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UseCase {
    /// `uc1` to `uc5`.
    pub name: String,
    /// What the tables call it.
    pub title: String,
    /// True if the data are not the paper's.
    #[serde(default)]
    pub substitute: bool,
    /// SHA-256 of the public data file.
    #[serde(skip_serializing)]
    pub sha256: String,
    /// Rows that the data must have.
    pub rows: usize,
    /// Input columns that they must have.
    pub columns: usize,
    /// Rows whose label must break a rule, after injection.
    pub breaking: usize,
    /// The scores of the paper's table, the one that decides first.
    pub scores: Vec<String>,
    /// Methods that run by default.
    pub methods: Vec<Method>,
    /// Methods that run if asked for.
    #[serde(default)]
    pub also: Vec<Method>,
    /// About the seconds of one plain training.
    pub seconds: f64,
    /// The Adversity Index.
    pub adversity: AdversityBudget,
    /// How weights of penalties are chosen.
    pub tune: Tune,
    /// Epochs of methods that do not have those of the rule file.
    #[serde(default)]
    pub epochs: BTreeMap<Method, usize>,
    /// Weights for which a method is trained beside the tables, for a figure.
    pub sweep: Option<Sweep>,
    /// What `--quick` has instead.
    #[serde(default, skip_serializing)]
    quick: Quick,
}

/// How much the Adversity Index may cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdversityBudget {
    /// Rows to look around; fewer than all are drawn at random, the same for every run.
    pub rows: usize,
    /// Regions that may be bounded for each rule and row.
    pub regions: usize,
}

/// How the weight of a penalty is chosen: the smallest with the fewest violations on rows held out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tune {
    /// To choose from.
    pub weights: Vec<f64>,
    /// Folds of the rows that train and validate; 1 trains on the former and counts on the latter.
    pub folds: usize,
    /// Epochs of a trial; those of the rule file if not said.
    pub epochs: Option<usize>,
}

/// Trainings with stated weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Of which method.
    pub method: Method,
    /// With which weights.
    pub weights: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Quick {
    adversity: Option<usize>,
    weights: Option<Vec<f64>>,
    folds: Option<usize>,
    trial: Option<usize>,
    epochs: Option<usize>,
}

#[derive(Deserialize)]
struct CaseFile {
    case: Vec<UseCase>,
}

/// All use cases.
pub fn cases(quick: bool) -> Vec<UseCase> {
    let CaseFile { case } = toml::from_str(CASES).expect("data/cases.toml of this crate is well formed");
    if quick { case.into_iter().map(UseCase::quick).collect() } else { case }
}

impl UseCase {
    fn quick(mut self) -> Self {
        let Quick { adversity, weights, folds, trial, epochs } = self.quick.clone();
        self.adversity.rows = adversity.unwrap_or(self.adversity.rows);
        self.tune.weights = weights.unwrap_or(self.tune.weights);
        self.tune.folds = folds.unwrap_or(self.tune.folds);
        self.tune.epochs = trial.or(self.tune.epochs);
        if let Some(epochs) = epochs {
            for method in self.methods.iter().chain(&self.also) {
                self.epochs.entry(*method).or_insert(epochs);
            }
        }
        self
    }

    /// The text of its rule file.
    pub fn rules(&self) -> &'static str {
        RULES.iter().find(|(name, _)| *name == self.name).map_or("", |(_, text)| *text)
    }

    /// Its rule file, whose data are looked for in `data`.
    pub fn problem(&self, data: &Path) -> Result<Problem, ProblemError> {
        Problem::parse(self.rules(), &data.join(format!("{}.toml", self.name)))
    }

    /// Whether a method can run on it.
    pub fn can_run(&self, method: Method) -> bool {
        self.methods.contains(&method) || self.also.contains(&method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_rule_file_and_quick_is_less_work() {
        let (full, quick) = (cases(false), cases(true));
        assert_eq!(full.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["uc1", "uc2", "uc3", "uc4", "uc5"]);
        for (full, quick) in full.iter().zip(&quick) {
            assert!(full.problem(Path::new("")).unwrap().data.is_some(), "{}", full.name);
            assert!(quick.adversity.rows <= full.adversity.rows && quick.tune.weights.len() <= full.tune.weights.len());
            assert!(full.title.contains("substitute") == full.substitute);
        }
        assert_eq!(quick[3].epochs[&Method::Ffn], 25);
        assert!(!full[3].epochs.contains_key(&Method::Ffn));
    }
}
