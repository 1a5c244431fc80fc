//! A file name from a rule file enters; the path of an existing file leaves.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::DataError;

/// The environment variable that names the last folder to look in.
pub const DATA_DIR_VARIABLE: &str = "DEEPSADE_DATA";

/// How names of data files end.
const ENDINGS: [&str; 8] = ["csv", "tsv", "tab", "txt", "dat", "data", "gz", "parquet"];

/// Whether a file is a data file by its name: a rule file must not make the program read, and quote, whatever else is there.
pub fn is_data_name(file: &Path) -> bool {
    file.extension().is_some_and(|e| ENDINGS.contains(&e.to_string_lossy().to_lowercase().as_str()))
}

/// Finds `file` beside the rule file, then in `data_dir` (the `--data` folder), then in `$DEEPSADE_DATA`.
///
/// An absolute path is taken as it is.
pub fn locate(file: &str, rule_file_dir: &Path, data_dir: Option<&Path>) -> Result<PathBuf, DataError> {
    first_existing(file, &folders(rule_file_dir, data_dir, std::env::var_os(DATA_DIR_VARIABLE)))
}

/// The same for the file that says how rows are dealt out.
pub(crate) fn locate_split(file: &str, rule_file_dir: &Path, data_dir: Option<&Path>) -> Result<PathBuf, DataError> {
    locate(file, rule_file_dir, data_dir).map_err(|error| match error {
        DataError::NotFound { file, looked_in, .. } => DataError::NotFound { of_split: true, file, looked_in },
        other => other,
    })
}

fn folders(rule_file_dir: &Path, data_dir: Option<&Path>, variable: Option<OsString>) -> Vec<PathBuf> {
    let mut folders = vec![rule_file_dir.to_owned()];
    folders.extend(data_dir.map(Path::to_owned));
    folders.extend(variable.filter(|v| !v.is_empty()).map(PathBuf::from));
    folders
}

fn first_existing(file: &str, folders: &[PathBuf]) -> Result<PathBuf, DataError> {
    let mut looked_in: Vec<PathBuf> = Vec::new();
    for folder in folders {
        // Joining an absolute path gives that path, each time.
        let path = folder.join(file);
        if path.is_file() {
            return Ok(path);
        }
        if !looked_in.contains(&path) {
            looked_in.push(path);
        }
    }
    Err(DataError::NotFound { of_split: false, file: file.to_owned(), looked_in })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_folder_that_has_it_wins() {
        let root = tempfile::tempdir().unwrap();
        let [rules, data, env] = ["rules", "data", "env"].map(|name| root.path().join(name));
        for folder in [&rules, &data, &env] {
            std::fs::create_dir(folder).unwrap();
        }
        let all = folders(&rules, Some(&data), Some(env.clone().into()));
        for folder in [&env, &data, &rules] {
            std::fs::write(folder.join("a.csv"), "x").unwrap();
            assert_eq!(first_existing("a.csv", &all).unwrap(), folder.join("a.csv"));
        }
        let absolute = data.join("a.csv");
        assert_eq!(first_existing(absolute.to_str().unwrap(), &all).unwrap(), absolute);
    }

    #[test]
    fn a_missing_file_names_every_place_once_and_the_guide() {
        let root = tempfile::tempdir().unwrap();
        let all = folders(&root.path().join("r"), Some(&root.path().join("d")), Some("e".into()));
        let message = first_existing("b.csv", &all).unwrap_err().to_string();
        for part in ["'b.csv'", "r/b.csv", "d/b.csv", "e/b.csv", "docs/data.md"] {
            assert!(message.contains(part), "{message}");
        }
        let message = first_existing("/no/such.csv", &all).unwrap_err().to_string();
        assert_eq!(message.matches("looked for /no/such.csv;").count(), 1, "{message}");
        // A folder of that name is not the file.
        std::fs::create_dir(root.path().join("c.csv")).unwrap();
        assert!(first_existing("c.csv", &[root.path().to_owned()]).is_err());
    }
}
