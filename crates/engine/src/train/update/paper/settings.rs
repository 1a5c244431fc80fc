//! `[train.paper]` of a settings file enters; values known to be in range leave.

use std::path::PathBuf;

use deepsade_solve::maxsmt::SolverName;
use deepsade_solve::maxsmt::smtlib::Quantifiers;
use serde::{Deserialize, Serialize};

use crate::train::SettingsError;
use crate::train::settings::within;

/// The paper's update, `[train.paper]`. The defaults are those of the paper's use cases 2 to 5, and of the authors' code where the
/// paper gives none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PaperSettings {
    /// eta: step size of plain gradient descent, for all layers. Default 0.1; above 0, finite. `optimiser`, `learning_rate`,
    /// `momentum` and `weight_decay` of `[train]` are not read.
    pub learning_rate: f32,
    /// alpha: how far each weight of the last layer may move in one `MaxSMT` problem. Default 0.1; above 0, finite.
    pub alpha: f32,
    /// s: candidates of the line search. Default 5; 0 to 1000.
    pub line_search: usize,
    /// tau: margins of the soft constraints of classes and labels. Default `[0, 1, 2]`; each 0 or above.
    pub margins: Vec<f64>,
    /// e: errors of the soft constraints of regression. Default `[0.1]`; each above 0.
    pub errors: Vec<f64>,
    /// What an error is measured in: `"batch"` (default): shares of the largest target of the batch, as in the authors' code;
    /// `"raw"`: units of the target.
    pub errors_in: ErrorsIn,
    /// `"branch-and-bound"` (default), `"fu-malik"` or `"local-search"`.
    pub maxsmt: MaxSmtName,
    /// The solver of `"fu-malik"`: `"z3"` (default) or `"cvc5"`.
    pub solver: SolverName,
    /// For `"fu-malik"`: `"eliminate"` (default) or `"keep"`, as in the paper.
    pub quantifiers: Quantifiers,
    /// Seconds for one `MaxSMT` problem. Default 5; above 0. Runs that reach it depend on the machine's speed.
    pub limit: f64,
    /// Nodes of a branch and bound, or moves of a local search. Default 2000; 1 or above.
    pub nodes: usize,
    /// Each how many solutions validation loss is looked at (lines 24 to 26). Default 1; 1 or above.
    pub validate_every: usize,
    /// Algorithm 1 to the letter: the rows are dealt out to batches once, K' is over the box of the whole domain, there is no gate, targets
    /// are not standardised, s is 5, V is looked at after every solution, what the data favour does not count, and W is never made anew.
    /// Default false.
    pub strict: bool,
    /// A file of the output folder, `NAME.smt2`, to which everything that a solver is sent is appended. Default: none.
    pub replay: Option<PathBuf>,
}

/// What an error of a soft constraint is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorsIn {
    /// Shares of the largest target of the batch.
    #[default]
    Batch,
    /// Units of the target.
    Raw,
}

/// The `MaxSMT` engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaxSmtName {
    /// Ours, exact.
    #[default]
    BranchAndBound,
    /// Over an SMT solver, exact.
    FuMalik,
    /// Incomplete.
    LocalSearch,
}

impl Default for PaperSettings {
    fn default() -> Self {
        Self {
            learning_rate: 0.1,
            alpha: 0.1,
            line_search: 5,
            margins: vec![0.0, 1.0, 2.0],
            errors: vec![0.1],
            errors_in: ErrorsIn::Batch,
            maxsmt: MaxSmtName::BranchAndBound,
            solver: SolverName::Z3,
            quantifiers: Quantifiers::Eliminate,
            limit: 5.0,
            nodes: 2000,
            validate_every: 1,
            strict: false,
            replay: None,
        }
    }
}

impl PaperSettings {
    /// Refuses the first setting outside its range.
    pub fn check(&self) -> Result<(), SettingsError> {
        let positive =
            |name: &str, x: f64| within(x > 0.0 && x.is_finite(), || format!("train.paper.{name}"), x, "above 0 and finite");
        positive("learning_rate", f64::from(self.learning_rate))?;
        positive("alpha", f64::from(self.alpha))?;
        let five = !self.strict || self.line_search == 5;
        within(five, || "train.paper.line_search".into(), self.line_search, "5 where train.paper.strict is true")?;
        within(self.line_search <= 1000, || "train.paper.line_search".into(), self.line_search, "from 0 to 1000")?;
        for (k, tau) in self.margins.iter().enumerate() {
            within(*tau >= 0.0 && tau.is_finite(), || format!("train.paper.margins[{k}]"), tau, "0 or above and finite")?;
        }
        for (k, e) in self.errors.iter().enumerate() {
            positive(&format!("errors[{k}]"), *e)?;
        }
        within(self.limit > 0.0 && self.limit <= 1e6, || "train.paper.limit".into(), self.limit, "above 0 and at most 1000000")?;
        let every = self.validate_every >= 1 && (!self.strict || self.validate_every == 1);
        let range = if self.strict { "1 where train.paper.strict is true" } else { "1 or above" };
        within(every, || "train.paper.validate_every".into(), self.validate_every, range)?;
        within(self.nodes >= 1, || "train.paper.nodes".into(), self.nodes, "1 or above")?;
        // A rule file may come from elsewhere: it names a file, not a place.
        let bare = |path: &PathBuf| path.file_name() == Some(path.as_os_str()) && path.extension().is_some_and(|e| e == "smt2");
        let replay = self.replay.clone().unwrap_or_else(|| "none.smt2".into());
        within(bare(&replay), || "train.paper.replay".into(), replay.display(), "the name of a file, NAME.smt2, without a folder")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_names_and_refusals() {
        assert_eq!(toml::from_str::<PaperSettings>("").unwrap(), PaperSettings::default());
        let text = "maxsmt = 'fu-malik'\nsolver = 'cvc5'\nquantifiers = 'keep'\nerrors_in = 'raw'";
        let read: PaperSettings = toml::from_str(text).unwrap();
        assert_eq!((read.maxsmt, read.solver, read.quantifiers), (MaxSmtName::FuMalik, SolverName::Cvc5, Quantifiers::Keep));
        assert!(toml::from_str::<PaperSettings>("maxsmt = 'fu_malik'").is_err());
        let ok = PaperSettings::default;
        for (settings, message) in [
            (PaperSettings { alpha: 0.0, ..ok() }, "train.paper.alpha = 0: must be above 0 and finite"),
            (PaperSettings { margins: vec![0.0, -1.0], ..ok() }, "train.paper.margins[1] = -1: must be 0 or above and finite"),
            (PaperSettings { errors: vec![0.0], ..ok() }, "train.paper.errors[0] = 0: must be above 0 and finite"),
            (PaperSettings { limit: f64::NAN, ..ok() }, "train.paper.limit = NaN: must be above 0 and at most 1000000"),
            (
                PaperSettings { replay: Some("../x.smt2".into()), ..ok() },
                "train.paper.replay = ../x.smt2: must be the name of a file, NAME.smt2, without a folder",
            ),
            (PaperSettings { nodes: 0, ..ok() }, "train.paper.nodes = 0: must be 1 or above"),
            (
                PaperSettings { strict: true, line_search: 7, ..ok() },
                "train.paper.line_search = 7: must be 5 where train.paper.strict is true",
            ),
        ] {
            assert_eq!(settings.check().unwrap_err().to_string(), message);
        }
        for place in ["/tmp/x.smt2", "a/x.smt2", "..", "", ".", "x", "/", "x.smt2/", "./x.smt2", "model.onnx"] {
            assert!(PaperSettings { replay: Some(place.into()), ..ok() }.check().is_err(), "{place}");
        }
        assert_eq!(PaperSettings { replay: Some("sent.smt2".into()), ..ok() }.check(), Ok(()));
        assert_eq!(ok().check(), Ok(()));
    }
}
