//! A model, a rule file and a certificate as they stand on the disk enter, the checker's verdict leaves.

use std::path::Path;

use deepsade_check::{Verdict, check};
use deepsade_spec::{Domain, Schema};
use thiserror::Error;

use crate::artifact::ArtifactError;
use crate::problem::{Problem, ProblemError};

/// Why nothing can be checked.
#[derive(Debug, Error)]
pub enum RecheckError {
    /// The model or the certificate can't be read.
    #[error(transparent)]
    File(ArtifactError),
    /// The rule file can't be read.
    #[error(transparent)]
    Rules(#[from] ProblemError),
}

/// Checks the files. What the checker accepts is still rejected if the rule file states a larger domain than the model's own.
pub fn files(model: &Path, rules: &Path, certificate: &Path) -> Result<Verdict, RecheckError> {
    let unreadable = |path: &Path| {
        let path = path.to_path_buf();
        move |source| RecheckError::File(ArtifactError::Unreadable { path, source })
    };
    let bytes = std::fs::read(model).map_err(unreadable(model))?;
    let text = std::fs::read_to_string(certificate).map_err(unreadable(certificate))?;
    Ok(held(&bytes, &Problem::read(rules)?, &text))
}

/// The same for a model and a certificate that are in memory.
pub fn held(model: &[u8], problem: &Problem, certificate: &str) -> Verdict {
    let verdict = check(model, &problem.rules, certificate);
    let outside = match &verdict {
        Verdict::Accepted(a) => outside_model(problem, &a.spec().schema),
        Verdict::Rejected { .. } => None,
    };
    match outside {
        Some(reason) => Verdict::Rejected { step: "domain".into(), reason },
        None => verdict,
    }
}

/// What the rule file states about the domain and the model's own domain, for which the proof holds, does not cover.
fn outside_model(problem: &Problem, schema: &Schema) -> Option<String> {
    for (name, stated) in &problem.features {
        let Some(stated) = stated.stated_domain() else { continue };
        let Some(f) = schema.feature(name) else { return Some(format!("the model has no feature '{name}'")) };
        let covered = match (&stated, &schema.features[f].domain) {
            (Domain::Category { levels }, Domain::Category { levels: known }) => levels.iter().all(|l| known.contains(l)),
            (Domain::Real { lo, hi }, Domain::Real { lo: a, hi: b }) => a <= lo && hi <= b,
            (Domain::Integer { lo, hi }, Domain::Integer { lo: a, hi: b }) => a <= lo && hi <= b,
            (Domain::Integer { lo, hi }, Domain::Real { lo: a, hi: b }) => *a <= *lo as f32 && *hi as f32 <= *b,
            _ => false,
        };
        if !covered {
            return Some(format!(
                "the rule file states {stated:?} for '{name}', the model covers {:?}",
                schema.features[f].domain
            ));
        }
    }
    None
}
