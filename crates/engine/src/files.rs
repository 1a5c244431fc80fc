//! The files of a result: who writes and reads them.

use std::path::{Path, PathBuf};

pub use crate::file_names::{CERTIFICATE, ESTIMATOR, FOLDS, LOG, MODEL, RULES, SPLIT, SUMMARY, TOGETHER};

use crate::artifact::{ArtifactError, write_together};
use crate::train::EpochRecord;
use crate::unfinished;

/// Writes what `deepsade check` reads into a folder that is there, and says where the model is. What else an earlier run left there goes, its
/// certificate too where there is none: it is not true of this model.
pub fn write_proof(folder: &Path, model: &[u8], rules: &str, certificate: Option<&str>) -> Result<PathBuf, ArtifactError> {
    write_run(folder, model, rules, certificate, None)?;
    Ok(folder.join(MODEL))
}

/// Writes the files of a run that is in memory into a folder that is there. What it has not goes: it is of another run.
pub fn write_run(
    folder: &Path,
    model: &[u8],
    rules: &str,
    certificate: Option<&str>,
    said: Option<(&str, &str)>,
) -> Result<(), ArtifactError> {
    let (summary, log) = said.map(|(summary, log)| (summary.as_bytes(), log.as_bytes())).unzip();
    let others = [(SUMMARY, summary), (LOG, log), (SPLIT, None), (ESTIMATOR, None)];
    write_together(folder, &[&proof_files(model, rules, certificate)[..], &others].concat())
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
    unfinished::remove(&folder.join(CERTIFICATE))
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A device is written to and stays, a link is replaced and what it leads to stays, and an old certificate goes with the model that it
    /// was about.
    #[test]
    fn devices_stay_and_links_and_old_proofs_go() {
        let dir = tempfile::tempdir().unwrap();
        let (home, away) = (dir.path().join("run"), dir.path().join("away.onnx"));
        fs::create_dir(&home).unwrap();
        symlink("/dev/null", home.join(RULES)).unwrap();
        for linked in [false, true] {
            fs::write(home.join(CERTIFICATE), "old").unwrap();
            if linked {
                fs::rename(home.join(MODEL), &away).unwrap();
                symlink(&away, home.join(MODEL)).unwrap();
            }
            let model = format!("model {linked}");
            write_proof(&home, model.as_bytes(), "rules", None).unwrap();
            assert_eq!(fs::read_to_string(home.join(MODEL)).unwrap(), model);
            assert!(!fs::symlink_metadata(home.join(MODEL)).unwrap().is_symlink());
            assert!(!linked || fs::read_to_string(&away).unwrap() == "model false");
            assert!(fs::symlink_metadata(home.join(RULES)).unwrap().is_symlink());
            assert!(!home.join(CERTIFICATE).exists());
        }
    }
}
