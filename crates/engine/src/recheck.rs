//! A model, a rule file and a certificate as they stand on the disk enter, the checker's verdict leaves.

use std::path::{Path, PathBuf};

use deepsade_check::{Proved, Verdict, check_until};
use deepsade_net::Carried;
use deepsade_output::reader::CUTOFF_KEY;
use deepsade_solve::parallel::cores;
use deepsade_spec::{Claim, NormalSpec, Schema, Task};
use thiserror::Error;

use crate::artifact::{ArtifactError, CLIPS_KEY, RULES_KEY, SCHEMA_KEY, STEP_KEY, carried_spec, read_bytes, read_text};
use crate::files::{CERTIFICATE, MODEL, RULES};
use crate::problem::{Problem, ProblemError};

/// Which files.
#[derive(Debug, Clone)]
pub struct CheckFiles {
    /// The model.
    pub model: PathBuf,
    /// The rule file.
    pub rules: PathBuf,
    /// The certificate.
    pub certificate: PathBuf,
    /// Data for what the rule file does not state, or a folder to look for them in.
    pub data: Option<PathBuf>,
}

impl CheckFiles {
    /// Those of a folder that training wrote.
    pub fn of(dir: &Path) -> Self {
        let [model, rules, certificate] = [MODEL, RULES, CERTIFICATE].map(|name| dir.join(name));
        Self { model, rules, certificate, data: None }
    }
}

/// Why nothing can be checked.
#[derive(Debug, Error)]
pub enum RecheckError {
    /// The model or the certificate can't be read.
    #[error(transparent)]
    File(ArtifactError),
    /// There is no certificate.
    #[error(
        "{} is not there: {}",
        certificate.display(),
        if *ruled {
            "the model is not proved. `deepsade verify --certificate DIR` looks for a proof, and `deepsade train` writes one unless `enforce = \"none\"`"
        } else {
            "the rule file has no rule, so there is nothing to prove"
        }
    )]
    NoCertificate {
        /// Where it would be.
        certificate: PathBuf,
        /// Whether there are rules.
        ruled: bool,
    },
    /// The rule file can't be read, or does not state what its rules are about.
    #[error("{0}")]
    Rules(#[from] ProblemError),
}

/// How often files are read that somebody replaces meanwhile.
const READINGS: usize = 3;

/// Checks the files. Where a run replaces them meanwhile, what was read may be of both runs: what is not accepted is read again.
pub fn files(files: &CheckFiles) -> Result<Verdict, RecheckError> {
    let when =
        || [&files.model, &files.rules, &files.certificate].map(|path| std::fs::metadata(path).and_then(|m| m.modified()).ok());
    let mut before = when();
    let mut found = once(files);
    for _ in 1..READINGS {
        let now = when();
        if now == before || matches!(found, Ok(Verdict::Accepted(_))) {
            break;
        }
        before = now;
        found = once(files);
    }
    found
}

fn once(files: &CheckFiles) -> Result<Verdict, RecheckError> {
    let bytes = read_bytes(&files.model).map_err(RecheckError::File)?;
    let problem = Problem::read(&files.rules)?.with_data(files.data.as_deref())?;
    if !files.certificate.exists() {
        return Err(RecheckError::NoCertificate { certificate: files.certificate.clone(), ruled: !problem.rules.is_empty() });
    }
    let text = read_text(&files.certificate).map_err(RecheckError::File)?;
    Ok(held(&bytes, &problem, &text, &|| false)?)
}

/// What the model's own metadata say otherwise than what is proved, for people: nothing of it counts for the proof, but `predict` judges
/// rows by the rules that a model carries.
pub fn stated_otherwise(files: &CheckFiles, proved: &Proved) -> Vec<String> {
    let (Ok(bytes), Ok(certificate)) = (read_bytes(&files.model), read_text(&files.certificate)) else { return Vec::new() };
    let metadata = Carried::read(&bytes).map(|file| file.metadata).unwrap_or_default();
    let mut notes = Vec::new();
    if metadata.contains_key(RULES_KEY) {
        let claims = |spec: &NormalSpec| {
            let pairs = spec.pairs.iter().map(|r| r.parts.clone()).collect::<Vec<_>>();
            (spec.rules.iter().map(|r| r.claim.clone()).collect::<Vec<_>>(), pairs)
        };
        let same = carried_spec(&bytes, &files.model).is_ok_and(|own| claims(&own) == claims(&proved.spec));
        if !same {
            notes.push(
                "the model's metadata state other rules than the rule file: proved are those of the rule file, and `predict` judges rows by \
                 the others"
                    .into(),
            );
        }
    }
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    let certificate = json(&certificate).unwrap_or_default();
    for (key, field, what) in [(STEP_KEY, "step", "an output step"), (CLIPS_KEY, "clips", "bounds of outputs")] {
        let proved = certificate.get(field).filter(|value| !value.is_null());
        if let Some(text) = metadata.get(key).filter(|text| proved.is_none() || json(text).as_ref() != proved) {
            let beside = if proved.is_some() { "the certificate states others" } else { "the certificate has none" };
            notes.push(format!(
                "the model's metadata state {what} ({} characters), and {beside}: nothing of that is proved",
                text.len()
            ));
        }
    }
    if metadata.contains_key(CUTOFF_KEY) && !matches!(proved.spec.schema.task, Task::Binary { .. }) {
        notes.push(format!("the model's metadata state a cut-off ({CUTOFF_KEY}), which only two classes have: it plays no part"));
    }
    notes
}

/// The same for a model and a certificate that are in memory, rejected once `stop` says so.
pub fn held(
    model: &[u8],
    problem: &Problem,
    certificate: &str,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Verdict, ProblemError> {
    // Only to know whether the data must be read; a model that can't be read is the checker's to reject.
    let metadata = Carried::read(model).map(|file| file.metadata).unwrap_or_default();
    problem.same_cutoff(&metadata)?;
    let own = metadata.get(SCHEMA_KEY).and_then(|text| Schema::from_json(text).ok());
    let claim = problem.claim(own.as_ref(), &mut None)?;
    Ok(judged(model, &claim, certificate, stop))
}

/// What the checker says, on all cores, until `stop` says so.
pub fn judged(model: &[u8], claim: &Claim, certificate: &str, stop: &(dyn Fn() -> bool + Sync)) -> Verdict {
    check_until(model, claim, certificate, cores(), stop)
}
