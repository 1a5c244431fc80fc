//! The files of a result: who writes and reads them.

use std::path::{Path, PathBuf};

pub use crate::file_names::{CERTIFICATE, FOLDS, LOG, MODEL, RULES, SPLIT, SUMMARY};

use crate::artifact::{ArtifactError, write_together};
use crate::train::EpochRecord;

/// Writes what `deepsade check` reads into a folder that is there, and says where the model is. Without a certificate what an earlier run
/// proved goes: it is not true of this model.
pub fn write_proof(folder: &Path, model: &[u8], rules: &str, certificate: Option<&str>) -> Result<PathBuf, ArtifactError> {
    write_together(folder, &proof_files(model, rules, certificate))?;
    Ok(folder.join(MODEL))
}

/// What `deepsade check` reads, by name.
pub(crate) fn proof_files<'b>(
    model: &'b [u8],
    rules: &'b str,
    certificate: Option<&'b str>,
) -> [(&'static str, Option<&'b [u8]>); 3] {
    [(MODEL, Some(model)), (RULES, Some(rules.as_bytes())), (CERTIFICATE, certificate.map(str::as_bytes))]
}

/// Takes away the certificate of a run before, if there is one.
pub fn forget_proof(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(folder.join(CERTIFICATE)) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The epochs that the log in a folder has; a log that can't be read is one that is not there.
pub fn read_log(folder: &Path) -> Vec<EpochRecord> {
    let log = std::fs::read_to_string(folder.join(LOG)).unwrap_or_default();
    log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Epochs as the log has them.
pub fn log(records: &[EpochRecord]) -> String {
    records.iter().map(log_line).collect()
}

/// An epoch as the log has it.
pub fn log_line(record: &EpochRecord) -> String {
    serde_json::to_string(record).expect("plain data becomes JSON") + "\n"
}
