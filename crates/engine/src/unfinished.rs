//! Files that are being written, under names of their own: what a killed run left of them goes, or is ended where all of it was written.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::file_names::TOGETHER;

/// What the names of files begin with that are still being written.
pub const UNFINISHED: &str = ".deepsade-";
/// The same where whoever writes holds the folder: who holds it next finds nobody writing them.
pub(crate) const HELD: &str = ".deepsade-run-";
/// How old such a file is when nobody writes it any more.
const FORGOTTEN: Duration = Duration::from_mins(10);

/// The list of what is to be renamed: once it stands, all of it will be.
const COMMITTED: &str = ".deepsade-commit";

/// Bytes that the list has at most.
const LONGEST: u64 = 4096;

/// Gives files of a folder their names, and removes those that have no bytes. From the moment at which their list is written whoever
/// looks into the folder next ends what is begun.
pub(crate) fn commit(folder: &Path, files: Vec<(&str, Option<NamedTempFile>)>) -> std::io::Result<()> {
    let written = |file: &NamedTempFile| file.path().file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let line = |(name, file): &(&str, Option<NamedTempFile>)| format!("{name} {}\n", file.as_ref().map_or("-".into(), written));
    let list: String = files.iter().map(line).collect();
    let mut file = tempfile::Builder::new().prefix(HELD).tempfile_in(folder)?;
    file.write_all(list.as_bytes()).and_then(|()| file.as_file().sync_all())?;
    file.persist(folder.join(COMMITTED)).map_err(|e| e.error)?;
    for file in files.into_iter().filter_map(|(_, file)| file) {
        file.keep().map_err(|e| e.error)?;
    }
    settle(folder)
}

/// Ends what a killed run had begun to rename. What a list says of other files than ours is not done.
pub fn settle(folder: &Path) -> std::io::Result<()> {
    let at = folder.join(COMMITTED);
    // Ours is a small file, and no link or pipe.
    match std::fs::symlink_metadata(&at) {
        Ok(found) if found.is_file() && found.len() <= LONGEST => {}
        _ => return Ok(()),
    }
    let list = std::fs::read_to_string(&at)?;
    for (name, written) in list.lines().filter_map(|line| line.split_once(' ')) {
        let plain = |file: &str| file.starts_with(UNFINISHED) && file != COMMITTED && !file.contains(['/', '\\']);
        match written {
            _ if !TOGETHER.contains(&name) => {}
            "-" => remove(&folder.join(name))?,
            written if plain(written) => std::fs::rename(folder.join(written), folder.join(name)).or_else(done)?,
            _ => {}
        }
    }
    remove(&at)
}

/// Whether the files of a folder are of two runs, because a killed run's renames could not be ended.
pub fn mixed(folder: &Path) -> bool {
    settle(folder).is_err() && folder.join(COMMITTED).exists()
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> std::io::Result<()> {
    std::fs::remove_file(path).or_else(done)
}

/// What is not there any more needs nothing.
fn done(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Removes what a killed run left in a folder that is held now. What can't be removed stays: it is in nobody's way.
pub fn clear(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let old = || entry.metadata().ok().filter(std::fs::Metadata::is_file)?.modified().ok()?.elapsed().ok();
        if name.starts_with(HELD) || name.starts_with(UNFINISHED) && old().is_some_and(|age| age > FORGOTTEN) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_whole_is_ended_and_nothing_else_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let (home, read) = (dir.path(), |name: &str| std::fs::read_to_string(dir.path().join(name)).ok());
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        ["model.onnx", "certificate.json", "rules.toml", "mine.txt"].iter().for_each(|name| write(name, "old"));
        // A run that was killed behind its first rename, and a list that a stranger wrote.
        write(".deepsade-b", "new");
        write("other", "new");
        write(
            COMMITTED,
            "model.onnx .deepsade-a\nrules.toml .deepsade-b\ncertificate.json -\nmine.txt .deepsade-b\nmodel.onnx other\n",
        );
        settle(home).unwrap();
        assert_eq!((read("rules.toml"), read("certificate.json")), (Some("new".into()), None));
        assert_eq!(["model.onnx", "mine.txt", "other"].map(read), ["old", "old", "new"].map(|t| Some(t.into())));
        assert_eq!((read(COMMITTED), read(".deepsade-b")), (None, None));
        settle(home).unwrap();
        // Neither a long list nor the list itself is taken.
        write(COMMITTED, &"rules.toml -\n".repeat(1000));
        settle(home).unwrap();
        assert!(read("rules.toml").is_some());
        write(COMMITTED, "model.onnx .deepsade-commit\n");
        settle(home).unwrap();
        assert_eq!(read("model.onnx"), Some("old".into()));
    }

    #[test]
    fn what_nobody_writes_any_more_goes_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, age: u64| {
            let file = std::fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - Duration::from_secs(age)).unwrap();
        };
        make(".deepsade-old", 3600);
        make(".deepsade-new", 1);
        make(".deepsade-run-new", 1);
        make("model.onnx", 3600);
        clear(dir.path());
        let mut left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".deepsade-new", "model.onnx"]);
    }
}
