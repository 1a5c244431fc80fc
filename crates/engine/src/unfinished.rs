//! Files that are being written, under names of their own: what a killed run left of them goes.

use std::path::Path;
use std::time::Duration;

/// What the names of files begin with that are still being written.
pub const UNFINISHED: &str = ".deepsade-";
/// How old such a file is when nobody writes it any more.
const FORGOTTEN: Duration = Duration::from_mins(10);

/// Removes what a killed run left in a folder. What can't be removed stays: it is in nobody's way.
pub fn clear(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let old = || entry.metadata().ok().filter(std::fs::Metadata::is_file)?.modified().ok()?.elapsed().ok();
        if ours && old().is_some_and(|age| age > FORGOTTEN) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_old_and_ours_goes_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, age: u64| {
            let file = std::fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - Duration::from_secs(age)).unwrap();
        };
        make(".deepsade-old", 3600);
        make(".deepsade-new", 1);
        make("model.onnx", 3600);
        clear(dir.path());
        let mut left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".deepsade-new", "model.onnx"]);
    }
}
