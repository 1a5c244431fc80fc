//! A folder and a training that may be cut short enter; the log of its epochs leaves, and at last the files of a finished one.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::Finished;
use crate::artifact::{ArtifactError, write_whole};
use crate::files::{CERTIFICATE, LOG, MODEL, RULES, SPLIT, SUMMARY, log, log_line};
use crate::train::EpochRecord;

/// The log of a run that may still fail, beside the model and the log of an earlier one.
const UNFINISHED_LOG: &str = "run.jsonl.part";
const CHECKPOINT: &str = "checkpoint";

/// The checkpoint of one of a run's trainings.
pub(super) fn checkpoint(folder: &Path, training: &str) -> PathBuf {
    let dash = if training.is_empty() { "" } else { "-" };
    folder.join(format!("{CHECKPOINT}{dash}{training}.bin"))
}

/// All checkpoints in a folder.
fn checkpoints(folder: &Path) -> Vec<PathBuf> {
    let ours = |path: &PathBuf| {
        let named = path.file_name().and_then(|n| n.to_str()).is_some_and(|name| name.starts_with(CHECKPOINT));
        named && path.extension().is_some_and(|e| e == "bin")
    };
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).filter(ours).collect()
}

/// What a folder holds that another run would replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occupied {
    /// A model.
    Finished,
    /// A run that was cut short.
    Unfinished,
    /// A file of somebody else's with the name of one that a run writes.
    ByFile(&'static str),
}

impl Occupied {
    /// What is in a folder; `resume` goes on with what was cut short and replaces nothing else.
    pub fn of(folder: &Path, resume: bool) -> Option<Self> {
        let unfinished = !checkpoints(folder).is_empty();
        match (unfinished, folder.join(MODEL).exists()) {
            (true, _) if resume => None,
            (_, true) => Some(Self::Finished),
            (true, false) => Some(Self::Unfinished),
            (false, false) => {
                [RULES, CERTIFICATE, SUMMARY, SPLIT, LOG].into_iter().find(|name| folder.join(name).exists()).map(Self::ByFile)
            }
        }
    }
}

/// What the folder "holds".
impl fmt::Display for Occupied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => write!(f, "a model already"),
            Self::Unfinished => write!(f, "an unfinished run"),
            Self::ByFile(name) => write!(f, "{name}, which would be replaced"),
        }
    }
}

/// Where a run leaves what it has come to. What an earlier run left stays until there is another model.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Where the log is written until there is a model that goes with it.
    live: PathBuf,
    file: Option<File>,
    resume: bool,
    /// Whether this run has logged anything.
    begun: bool,
    /// Checkpoints that were there before.
    before: Vec<PathBuf>,
}

impl Folder {
    /// Opens a folder that is there; with `resume`, to go on with what was begun in it, if anything was.
    pub fn open(path: &Path, resume: bool) -> Result<Self, ArtifactError> {
        let last = path.join(LOG);
        let live = path.join(UNFINISHED_LOG);
        // That it can be written is known before; a run that fails leaves no log of nothing.
        let new = !last.exists();
        let writable = File::options().append(true).create(true).open(&last);
        writable.map_err(|source| ArtifactError::Unwritable { path: last.clone(), source })?;
        if new {
            let _ = std::fs::remove_file(last);
        }
        let before = checkpoints(path);
        let resume = resume && !before.is_empty();
        Ok(Self { path: path.into(), live, file: None, resume, begun: false, before })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a run goes on.
    pub fn resumes(&self) -> bool {
        self.resume
    }

    /// Another training begins, whose epochs are counted from the start.
    pub(super) fn begin(&mut self) {
        self.file = None;
    }

    /// Appends a record. After a resume, lines of epochs that are run again go first.
    pub(super) fn append(&mut self, record: &EpochRecord) -> std::io::Result<()> {
        if self.file.is_none() {
            let before = if self.resume { std::fs::read_to_string(&self.live).unwrap_or_default() } else { String::new() };
            let earlier = |line: &&str| serde_json::from_str::<EpochRecord>(line).is_ok_and(|r| r.epoch < record.epoch);
            let kept: String = before.lines().filter(earlier).map(|l| format!("{l}\n")).collect();
            let mut file = File::create(&self.live)?;
            file.write_all(kept.as_bytes())?;
            (self.file, self.begun) = (Some(file), true);
        }
        match &mut self.file {
            Some(file) => file.write_all(log_line(record).as_bytes()),
            None => Ok(()),
        }
    }

    /// Replaces the log by the complete list: of a run that goes on another time.
    pub(super) fn keep(&self, records: &[EpochRecord]) -> Result<(), ArtifactError> {
        write_whole(&self.live, log(records).as_bytes())
    }

    /// Takes away what a run left that ends without a model and can't be gone on with: what was there before stays.
    pub fn abandon(self) {
        if self.resume || !self.begun {
            return;
        }
        let _ = std::fs::remove_file(&self.live);
        for unfinished in checkpoints(&self.path).iter().filter(|path| !self.before.contains(path)) {
            let _ = std::fs::remove_file(unfinished);
        }
    }

    /// Writes the files of a run that has its model, says where the model is, and forgets what there was to resume.
    pub fn finish(self, finished: &Finished) -> Result<PathBuf, ArtifactError> {
        let model = finished.write(&self.path)?;
        let _ = std::fs::remove_file(self.path.join(UNFINISHED_LOG));
        for unfinished in checkpoints(&self.path) {
            let _ = std::fs::remove_file(unfinished);
        }
        Ok(model)
    }
}
