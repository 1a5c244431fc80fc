//! An output folder enters; which runs are finished leaves, and every further one is written down at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use deepsade_check::sha256_hex;
use deepsade_engine::artifact::write_whole;
use deepsade_engine::folder_lock::Hold;
use deepsade_engine::unfinished::UNFINISHED;
use serde::{Deserialize, Serialize};

use super::ReproduceError;
use super::experiment::{Experiment, Planned};
use super::stock::Stock;
use crate::results::{self, RunResult};

/// The file that says what the results are of.
pub const SETTINGS: &str = "settings.json";

/// Among the hashes of a use case, that of its data file.
const DATA: &str = "data";

/// Everything that decides the results, as far as it can be told apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The program.
    version: String,
    folds: usize,
    quick: bool,
    seed: u64,
    /// By use case: hashes of its settings, its rule file and its data.
    cases: BTreeMap<String, BTreeMap<String, String>>,
}

impl Identity {
    /// Reads the data files for their hashes; an error names the one that is missing.
    pub fn new(plan: &Experiment, stock: &Stock) -> Result<Self, ReproduceError> {
        let mut cases = BTreeMap::new();
        for case in &plan.cases {
            let file = stock.file(case)?;
            let bytes = std::fs::read(&file).map_err(|source| ReproduceError::File { path: file.clone(), source })?;
            let settings = serde_json::to_string(case).expect("plain data becomes JSON");
            let hashes = [("settings", settings.as_bytes()), ("rule file", case.rules().as_bytes()), (DATA, &bytes)];
            cases.insert(case.name.clone(), hashes.map(|(what, bytes)| (what.into(), sha256_hex(bytes))).into());
        }
        let version = env!("CARGO_PKG_VERSION").into();
        Ok(Self { version, folds: plan.folds, quick: plan.quick, seed: plan.seed, cases })
    }

    /// Use cases whose data are not byte for byte the public file.
    pub fn unplanned<'a>(&self, plan: &'a Experiment) -> Vec<&'a str> {
        let strange = |case: &&super::case::UseCase| self.cases.get(&case.name).is_some_and(|hashes| hashes[DATA] != case.sha256);
        plan.cases.iter().filter(strange).map(|case| case.name.as_str()).collect()
    }

    /// The first thing that differs, in words.
    fn difference(&self, earlier: &Self) -> Option<String> {
        let differs = |what: &str, a: &dyn std::fmt::Display, b: &dyn std::fmt::Display| {
            (a.to_string() != b.to_string()).then(|| format!("{what} was {b} and is now {a}"))
        };
        differs("the version of the program", &self.version, &earlier.version)
            .or_else(|| differs("--folds", &self.folds, &earlier.folds))
            .or_else(|| differs("--quick", &self.quick, &earlier.quick))
            .or_else(|| differs("--seed", &self.seed, &earlier.seed))
            .or_else(|| {
                let both = self.cases.iter().filter_map(|(name, now)| Some((name, now, earlier.cases.get(name)?)));
                let mut parts =
                    both.flat_map(|(name, now, then)| now.iter().map(move |(what, hash)| (name, what, hash, then.get(what))));
                parts
                    .find(|(_, _, hash, then)| Some(*hash) != *then)
                    .map(|(name, what, ..)| format!("the {what} of {name} changed"))
            })
    }
}

/// The results file, open for more.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
    _hold: Hold,
    finished: BTreeSet<(String, String, Option<u64>, Option<u64>)>,
}

impl Ledger {
    /// Starts a new file, or goes on with the one of an earlier call with the same settings.
    pub fn open(out: &Path, identity: &Identity, resume: bool) -> Result<Self, ReproduceError> {
        let unusable = |source| ReproduceError::Folder { dir: out.into(), source };
        std::fs::create_dir_all(out).map_err(unusable)?;
        let (path, settings) = (out.join(results::FILE), out.join(SETTINGS));
        let hold = Hold::of(out).map_err(|_| ReproduceError::Busy { out: out.into() })?;
        // A folder of something else stays as it is.
        if !(resume && settings.exists()) && holds_something(out).map_err(unusable)? {
            return Err(ReproduceError::NotEmpty { out: out.into(), resumable: settings.exists() });
        }
        let failed = |source| ReproduceError::File { path: path.clone(), source };
        let mut identity = identity.clone();
        let mut finished = BTreeSet::new();
        if resume && settings.exists() {
            let unreadable = |source| ReproduceError::File { path: settings.clone(), source };
            let text = std::fs::read_to_string(&settings).map_err(unreadable)?;
            let earlier: Identity =
                serde_json::from_str(&text).map_err(|source| ReproduceError::Settings { path: settings.clone(), source })?;
            let text = match std::fs::read(&path) {
                Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
                other => other.map_err(failed)?,
            };
            // A line that was being written when the program was killed is written anew.
            let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
            // Where nothing is finished, there is nothing to go on with.
            if let Some(what) = identity.difference(&earlier).filter(|_| whole > 0) {
                return Err(ReproduceError::Differs { out: out.into(), what });
            }
            if whole > 0 {
                identity.cases.extend(earlier.cases);
            }
            if whole < text.len() {
                OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(whole as u64)).map_err(failed)?;
            }
            if whole > 0 {
                finished = results::read(&path)?.runs.iter().map(key).collect();
            }
        }
        // What the results are of is there before them: a program that is killed in between can go on.
        write_whole(&settings, (serde_json::to_string_pretty(&identity).expect("plain data becomes JSON") + "\n").as_bytes())?;
        let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self { path, file, _hold: hold, finished })
    }

    /// Whether a run is there already.
    pub fn has(&self, plan: &Experiment, run: &Planned) -> bool {
        let (use_case, method) = plan.names(run);
        self.finished.contains(&(use_case, method, Some(run.repeat), Some(run.fold as u64)))
    }

    /// Writes a run down, to the disk.
    pub fn append(&mut self, run: &RunResult) -> Result<(), ReproduceError> {
        let line = serde_json::to_string(run).expect("plain data becomes JSON") + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|source| ReproduceError::File { path: self.path.clone(), source })?;
        self.finished.insert(key(run));
        Ok(())
    }
}

/// Whether anything but what a program leaves behind that was killed while it began: an empty results file, a file half written.
fn holds_something(out: &Path) -> std::io::Result<bool> {
    for entry in std::fs::read_dir(out)? {
        let entry = entry?;
        let name = entry.file_name();
        let begun = name == results::FILE && entry.metadata().is_ok_and(|m| m.is_file() && m.len() == 0);
        if !begun && !name.to_string_lossy().starts_with(UNFINISHED) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn key(run: &RunResult) -> (String, String, Option<u64>, Option<u64>) {
    (run.use_case.clone(), run.method.clone(), run.repeat, run.fold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::experiment::Options;

    fn identity(seed: u64) -> Identity {
        let hashes = BTreeMap::from([("data".to_string(), "aa".to_string())]);
        let cases = BTreeMap::from([("uc2".to_string(), hashes)]);
        Identity { version: "1".into(), folds: 2, quick: false, seed, cases }
    }

    fn plan() -> Experiment {
        let options =
            Options { cases: vec!["uc2".into()], methods: vec!["ffn".into()], repeats: 1, folds: 2, quick: false, seed: 0 };
        Experiment::new(&options).unwrap()
    }

    fn result(fold: u64) -> RunResult {
        RunResult { use_case: "uc2".into(), method: "ffn".into(), repeat: Some(0), fold: Some(fold), ..RunResult::default() }
    }

    #[test]
    fn a_line_that_was_cut_off_is_written_anew() {
        let dir = tempfile::tempdir().unwrap();
        let plan = plan();
        let mut ledger = Ledger::open(dir.path(), &identity(0), false).unwrap();
        ledger.append(&result(0)).unwrap();
        let path = dir.path().join(results::FILE);
        let first = std::fs::read_to_string(&path).unwrap();
        ledger.append(&result(1)).unwrap();
        let both = std::fs::read_to_string(&path).unwrap();
        drop(ledger);
        // Without the end of its line a run is not there, even if all else of it is.
        std::fs::write(&path, &both[..both.len() - 1]).unwrap();
        assert!(!Ledger::open(dir.path(), &identity(0), true).unwrap().has(&plan, &plan.runs[1]));
        std::fs::write(&path, &both[..both.len() - 9]).unwrap();
        let mut ledger = Ledger::open(dir.path(), &identity(0), true).unwrap();
        let error = Ledger::open(dir.path(), &identity(0), true).unwrap_err().to_string();
        assert!(error.contains("another"), "{error}");
        assert_eq!(plan.runs.iter().map(|r| ledger.has(&plan, r)).collect::<Vec<_>>(), [true, false]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
        ledger.append(&result(1)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), both);
    }

    #[test]
    fn a_beginning_that_was_killed_at_any_point_can_be_gone_on_with() {
        let begin: [fn(&Path); 4] = [
            |_| {},
            |dir| std::fs::write(dir.join(results::FILE), "").unwrap(),
            |dir| std::fs::write(dir.join(format!("{UNFINISHED}x1y2")), "{").unwrap(),
            |dir| {
                drop(Ledger::open(dir, &identity(0), false).unwrap());
                std::fs::remove_file(dir.join(results::FILE)).unwrap();
            },
        ];
        for (k, begin) in begin.iter().enumerate() {
            let dir = tempfile::tempdir().unwrap();
            begin(dir.path());
            Ledger::open(dir.path(), &identity(0), true).unwrap_or_else(|e| panic!("{k}: {e}")).append(&result(0)).unwrap();
            assert!(Ledger::open(dir.path(), &identity(0), true).unwrap().has(&plan(), &plan().runs[0]), "{k}");
        }
        // Results of nobody knows what are not gone on with.
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(results::FILE), "{}\n").unwrap();
        assert!(Ledger::open(dir.path(), &identity(0), true).is_err());
    }

    #[test]
    fn other_settings_and_full_folders_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        drop(Ledger::open(dir.path(), &identity(0), false).unwrap());
        let error = Ledger::open(dir.path(), &identity(0), false).unwrap_err().to_string();
        assert!(error.contains("--resume"), "{error}");
        // As long as nothing is finished, other settings may be tried.
        drop(Ledger::open(dir.path(), &identity(1), true).unwrap());
        Ledger::open(dir.path(), &identity(0), true).unwrap().append(&result(0)).unwrap();
        let error = Ledger::open(dir.path(), &identity(1), true).unwrap_err().to_string();
        assert!(error.contains("--seed was 0 and is now 1"), "{error}");
        let mut changed = identity(0);
        changed.cases.get_mut("uc2").unwrap().insert("data".into(), "bb".into());
        let error = Ledger::open(dir.path(), &changed, true).unwrap_err().to_string();
        assert!(error.contains("the data of uc2 changed"), "{error}");
        // Another use case may join.
        let mut more = identity(0);
        more.cases.insert("uc3".into(), BTreeMap::new());
        drop(Ledger::open(dir.path(), &more, true).unwrap());
        assert!(Ledger::open(dir.path(), &identity(0), true).is_ok(), "and the first is remembered");
        // What is nobody's experiment stays as it is.
        let other = tempfile::tempdir().unwrap();
        std::fs::write(other.path().join("thesis.tex"), "x").unwrap();
        let error = Ledger::open(other.path(), &identity(0), true).unwrap_err().to_string();
        assert!(error.contains("is not empty") && std::fs::read_dir(other.path()).unwrap().count() == 1, "{error}");
    }
}
