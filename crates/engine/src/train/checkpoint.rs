//! The state of a run at an epoch's end enters a file, whole or not at all, and leaves it again.
//!
//! The file: `DSADECKP`, version (u32), fingerprint (32 bytes), the state, and the SHA-256 of all that; little-endian, lists with
//! their length (u64) before them.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::unfinished::HELD;

use super::update::Enforced;
use super::{EpochRecord, PaperSteps};

const MAGIC: &[u8; 8] = b"DSADECKP";
const VERSION: u32 = 6;

/// Where and how often to save a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointSettings {
    /// The file.
    pub path: PathBuf,
    /// Save at the end of an epoch if this long has passed since the last save. Default 1 s.
    pub every: Duration,
    /// Go on from the file instead of starting anew.
    pub resume: bool,
    /// What the run is about ([`Run::fingerprint`](super::Run::fingerprint)): a file with another one is refused.
    pub fingerprint: [u8; 32],
}

impl CheckpointSettings {
    /// Saves to `path` every second, starting anew.
    pub fn new(path: impl Into<PathBuf>, fingerprint: [u8; 32]) -> Self {
        Self { path: path.into(), every: Duration::from_secs(1), resume: false, fingerprint }
    }
}

/// Why a checkpoint could not be written or read.
#[derive(Debug, Error)]
pub enum CheckpointError {
    /// It could not be written; an earlier one is left as it was.
    #[error("cannot write the checkpoint {}: {source}; an earlier one, if any, is intact", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// There is none.
    #[error("there is no checkpoint {}: start anew with --force", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// It could not be read.
    #[error("cannot read the checkpoint {}: {source}; or start anew with --force", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is some other file.
    #[error("{} is not a checkpoint: start anew with --force", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It is of another version.
    #[error("the checkpoint {} has version {found}, this program reads version {VERSION}: start anew with --force", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// It is cut off or altered.
    #[error("the checkpoint {} is damaged: start anew with --force", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// It is whole, but no run comes there.
    #[error("the checkpoint {} says what no run can reach ({oddity}): start anew with --force", path.display())]
    Impossible {
        /// The file.
        path: PathBuf,
        /// What is odd about it.
        oddity: Oddity,
    },
    /// It is of another run.
    #[error("the checkpoint {} is of a run with other settings, data or network: start anew with --force", path.display())]
    OtherRun {
        /// The file.
        path: PathBuf,
    },
}

/// What no run can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Oddity {
    /// More epochs than the run has.
    #[error("epoch {epoch} of {epochs}")]
    Epoch {
        /// Epochs done.
        epoch: usize,
        /// Epochs of the run.
        epochs: usize,
    },
    /// Records of other epochs.
    #[error("its records are not those of its {epoch} epochs")]
    Records {
        /// Epochs done.
        epoch: usize,
    },
    /// More steps than the epochs have batches.
    #[error("{steps} steps in {epoch} epochs of {batches} batches")]
    Steps {
        /// Steps done.
        steps: u64,
        /// Epochs done.
        epoch: usize,
        /// Batches of an epoch.
        batches: usize,
    },
    /// Weights or losses that are not finite.
    #[error("a number in it is not finite")]
    NotFinite,
}

/// How far a run can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Epochs.
    pub epochs: usize,
    /// Batches of an epoch.
    pub batches: usize,
}

/// A run at the end of an epoch; all that the rest of the run depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    /// Epochs done.
    pub epoch: usize,
    /// Steps of the optimiser.
    pub steps: u64,
    /// The parameters.
    pub parameters: Vec<f32>,
    /// The optimiser's first memory.
    pub first: Vec<f32>,
    /// The optimiser's second memory.
    pub second: Vec<f32>,
    /// The parameters of the best epoch; the initial ones before there is one.
    pub best: Vec<f32>,
    /// The mean of the parameters; empty where none is followed.
    pub average: Vec<f32>,
    /// How often the last layer was moved so far.
    pub enforced: Enforced,
    /// What each epoch told.
    pub records: Vec<EpochRecord>,
}

impl RunState {
    /// What is odd about it, if something is.
    fn oddity(&self, RunLimits { epochs, batches }: RunLimits) -> Option<Oddity> {
        let Self { epoch, steps, parameters, first, second, best, average, enforced: _, records } = self;
        let (epoch, steps) = (*epoch, *steps);
        let mut weights = [parameters, best, average, first, second].into_iter().flatten();
        if epoch > epochs {
            Some(Oddity::Epoch { epoch, epochs })
        } else if records.len() != epoch || records.iter().zip(1..).any(|(record, k)| record.epoch != k) {
            Some(Oddity::Records { epoch })
        } else if steps > (epoch as u64).saturating_mul(batches as u64) {
            Some(Oddity::Steps { steps, epoch, batches })
        } else if weights.any(|w| !w.is_finite()) || records.iter().any(|record| !record.score().is_finite()) {
            Some(Oddity::NotFinite)
        } else {
            None
        }
    }
}

/// Saves states when it is time.
#[derive(Debug)]
pub struct CheckpointFile<'a> {
    settings: Option<&'a CheckpointSettings>,
    saved: Instant,
}

impl<'a> CheckpointFile<'a> {
    /// A keeper that has just saved.
    pub fn new(settings: Option<&'a CheckpointSettings>) -> Self {
        Self { settings, saved: Instant::now() }
    }

    /// The state to go on from, if that is asked for; it must be as large as `fresh`, and one that a run comes through.
    pub fn resume(&self, fresh: RunState, limits: RunLimits) -> Result<RunState, CheckpointError> {
        let Some(settings) = self.settings.filter(|settings| settings.resume) else { return Ok(fresh) };
        let path = &settings.path;
        let bytes = std::fs::read(path).map_err(|source| match source.kind() {
            ErrorKind::NotFound => CheckpointError::Missing { path: path.clone() },
            _ => CheckpointError::Read { path: path.clone(), source },
        })?;
        let state = decode(&bytes, &settings.fingerprint, path)?;
        let sizes = |s: &RunState| [&s.parameters, &s.first, &s.second, &s.best, &s.average].map(Vec::len);
        if sizes(&state) != sizes(&fresh) {
            return Err(CheckpointError::OtherRun { path: path.clone() });
        }
        match state.oddity(limits) {
            Some(oddity) => Err(CheckpointError::Impossible { path: path.clone(), oddity }),
            None => Ok(state),
        }
    }

    /// Saves if the interval has passed.
    pub fn epoch_ended(&mut self, state: &RunState) -> Result<(), CheckpointError> {
        let due = self.settings.is_some_and(|settings| self.saved.elapsed() >= settings.every);
        if due { self.save(state) } else { Ok(()) }
    }

    /// Saves now.
    pub fn save(&mut self, state: &RunState) -> Result<(), CheckpointError> {
        let Some(CheckpointSettings { path, fingerprint, .. }) = self.settings else { return Ok(()) };
        replace(path, &encode(state, fingerprint)).map_err(|source| CheckpointError::Write { path: path.clone(), source })?;
        self.saved = Instant::now();
        Ok(())
    }
}

/// Writes beside `path` and renames, so that `path` always holds a whole file.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(HELD).tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn encode(state: &RunState, fingerprint: &[u8; 32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(fingerprint);
    bytes.extend((state.epoch as u64).to_le_bytes());
    bytes.extend(state.steps.to_le_bytes());
    for list in [&state.parameters, &state.first, &state.second, &state.best, &state.average] {
        bytes.extend((list.len() as u64).to_le_bytes());
        bytes.extend(list.iter().flat_map(|x| x.to_le_bytes()));
    }
    let Enforced { steps, moved, pulled_back } = state.enforced;
    for count in [steps, moved, pulled_back, state.records.len()] {
        bytes.extend((count as u64).to_le_bytes());
    }
    for record in &state.records {
        bytes.extend((record.epoch as u64).to_le_bytes());
        let known = [record.validation_loss, record.margin, record.moved];
        let flags = known.iter().rev().fold(0, |flags, k| flags << 1 | u8::from(k.is_some()));
        bytes.push(flags << 1 | u8::from(record.best) | u8::from(record.paper.is_some()) << 4);
        for number in [Some(record.train_loss), Some(record.seconds)].into_iter().chain(known) {
            bytes.extend(number.unwrap_or(0.0).to_le_bytes());
        }
        if let Some(PaperSteps { line_search, optimal, feasible, infeasible, unknown, renewed, restart }) = record.paper {
            for count in [line_search, optimal, feasible, infeasible, unknown, renewed, usize::from(restart)] {
                bytes.extend((count as u64).to_le_bytes());
            }
        }
    }
    let sum = Sha256::digest(&bytes);
    bytes.extend(sum);
    bytes
}

fn decode(bytes: &[u8], fingerprint: &[u8; 32], path: &Path) -> Result<RunState, CheckpointError> {
    let path = || path.to_path_buf();
    let damaged = || CheckpointError::Damaged { path: path() };
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| CheckpointError::Foreign { path: path() })?;
    let (version, _) = rest.split_first_chunk().ok_or_else(damaged)?;
    let found = u32::from_le_bytes(*version);
    if found != VERSION {
        return Err(CheckpointError::Version { path: path(), found });
    }
    let (content, sum) = bytes.split_last_chunk::<32>().ok_or_else(damaged)?;
    if Sha256::digest(content).as_slice() != sum {
        return Err(damaged());
    }
    let mut reader = CheckpointReader(content.get(12..).ok_or_else(damaged)?);
    if reader.take::<32>().ok_or_else(damaged)? != *fingerprint {
        return Err(CheckpointError::OtherRun { path: path() });
    }
    reader.state().filter(|_| reader.0.is_empty()).ok_or_else(damaged)
}

/// What is still to be read.
struct CheckpointReader<'a>(&'a [u8]);

impl CheckpointReader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk()?;
        self.0 = tail;
        Some(*head)
    }

    fn count(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.take()?)).ok()
    }

    fn float(&mut self) -> Option<f64> {
        self.take().map(f64::from_le_bytes)
    }

    fn list(&mut self) -> Option<Vec<f32>> {
        let (head, tail) = self.0.split_at_checked(8)?.1.split_at_checked(CheckpointReader(self.0).count()?.checked_mul(4)?)?;
        self.0 = tail;
        Some(head.as_chunks().0.iter().map(|&x| f32::from_le_bytes(x)).collect())
    }

    fn record(&mut self) -> Option<EpochRecord> {
        let epoch = self.count()?;
        let [flags] = self.take()?;
        let (train_loss, seconds) = (self.float()?, self.float()?);
        let mut known = |bit: u8| self.float().map(|v| (flags & bit != 0).then_some(v));
        let (validation_loss, margin, moved) = (known(2)?, known(4)?, known(8)?);
        let paper = if flags & 16 == 0 { None } else { Some(self.paper()?) };
        Some(EpochRecord { epoch, train_loss, validation_loss, best: flags & 1 != 0, seconds, margin, moved, paper })
    }

    fn paper(&mut self) -> Option<PaperSteps> {
        Some(PaperSteps {
            line_search: self.count()?,
            optimal: self.count()?,
            feasible: self.count()?,
            infeasible: self.count()?,
            unknown: self.count()?,
            renewed: self.count()?,
            restart: self.count()? != 0,
        })
    }

    fn state(&mut self) -> Option<RunState> {
        Some(RunState {
            epoch: self.count()?,
            steps: u64::from_le_bytes(self.take()?),
            parameters: self.list()?,
            first: self.list()?,
            second: self.list()?,
            best: self.list()?,
            average: self.list()?,
            enforced: Enforced { steps: self.count()?, moved: self.count()?, pulled_back: self.count()? },
            records: (0..self.count()?).map(|_| self.record()).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests;
