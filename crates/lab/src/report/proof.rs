//! The files of a run enter, what may be said about their proof leaves.

use std::path::Path;

use deepsade_check::{Accepted, Arithmetic, Keeper, Rejected, Verdict};
use deepsade_engine::recheck::{self, CheckFiles};
use deepsade_engine::verdict::all_hold;

use super::html::{escape, marked, number};

/// What is known about the proof of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum ProofStatus {
    /// The checker accepted the certificate, just now, from the files.
    Proved(Box<Accepted>),
    /// The checker rejected it.
    Rejected {
        /// Where.
        step: String,
        /// Why.
        reason: String,
    },
    /// There is no certificate.
    None,
    /// The files can't be checked.
    Unchecked(String),
}

impl ProofStatus {
    /// Runs the checker on the files of a folder.
    pub(crate) fn of(dir: &Path) -> Self {
        let files = CheckFiles::of(dir);
        if !files.certificate.exists() {
            return ProofStatus::None;
        }
        match recheck::files(&files) {
            Ok(Verdict::Accepted(accepted)) => ProofStatus::Proved(Box::new(accepted)),
            Ok(Verdict::Rejected(Rejected { at, why })) => {
                ProofStatus::Rejected { step: at.to_string(), reason: why.to_string() }
            }
            Err(error) => ProofStatus::Unchecked(error.to_string()),
        }
    }

    /// What was proved, if it was.
    pub fn accepted(&self) -> Option<&Accepted> {
        if let ProofStatus::Proved(accepted) = self { Some(accepted) } else { None }
    }

    /// Whether the rules are proved in float32 for what `deepsade predict` answers.
    pub fn proved(&self) -> bool {
        self.accepted().is_some_and(|a| a.arithmetic == Arithmetic::Float32)
    }

    /// In a line.
    pub fn in_words(&self, rules: usize) -> String {
        match self {
            ProofStatus::Proved(a) if self.proved() => {
                let how = match a.kept_by {
                    Keeper::Choice => "the graph chooses among outputs that obey them",
                    Keeper::Step => "in float32 as deployed, by the output step in the graph",
                    Keeper::Clips => "in float32 as deployed, by bounds to which the graph clips its outputs",
                    Keeper::Weights => "in float32 as deployed",
                };
                format!("Proved: {} for every input of the domain, {how}", all_hold(a))
            }
            ProofStatus::Proved(a) => {
                format!("Proved for exact real arithmetic only, not for float32: {}", all_hold(a))
            }
            ProofStatus::Rejected { .. } => "Not proved: the checker rejects the certificate".into(),
            ProofStatus::None if rules == 0 => "No rules, nothing to prove".into(),
            ProofStatus::None => "Not proved: there is no certificate".into(),
            ProofStatus::Unchecked(_) => "Not proved: the files can't be checked".into(),
        }
    }

    /// As a box on top of the page.
    pub(crate) fn badge(&self, rules: usize) -> String {
        let (class, detail) = match self {
            ProofStatus::Proved(_) if self.proved() => ("good", CHECKED.to_string()),
            ProofStatus::Proved(_) => ("warn", "Rounding in float32 may break a rule by a little.".into()),
            ProofStatus::Rejected { step, reason } => {
                ("bad", format!("At {step}: {reason}. The rules may still hold; nobody knows."))
            }
            ProofStatus::None if rules == 0 => ("warn", String::new()),
            ProofStatus::None => ("warn", "The rules were not enforced in training: predictions may break them.".into()),
            ProofStatus::Unchecked(why) => ("bad", why.clone()),
        };
        format!(
            "<div class=\"badge {class}\" id=\"proof\"><strong>{}</strong>{}</div>\n",
            escape(&self.in_words(rules)),
            if class == "bad" { escape(&detail) } else { marked(&detail) }
        )
    }

    /// Rows of the table of proved rules: name, regions, cells and margin; of what is chosen from, the cases.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let rules = self.accepted().map(|a| a.rules.as_slice()).unwrap_or_default();
        if self.accepted().is_some_and(|a| a.kept_by == Keeper::Choice) {
            return rules.iter().map(|r| vec![r.name.clone(), r.cells.to_string()]).collect();
        }
        let margin = |m: f64| if m.is_finite() { number(m) } else { "–".into() };
        rules.iter().map(|r| vec![r.name.clone(), r.regions.to_string(), r.cells.to_string(), margin(r.margin)]).collect()
    }
}

const CHECKED: &str = "The exact checker accepted the certificate when this page was made, from the files in the folder. \
                       `deepsade check` repeats it.";
