//! What a test needs beyond the repository enters by name; where it is leaves, or a word on standard error that the test is skipped.
//! With `CI=true` nothing may be missing: the test fails instead.

#![allow(dead_code, reason = "each test file uses its part")]

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of the public data files.
pub fn data_folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("DEEPSADE_DATA").map_or(beside, PathBuf::from);
    if folder.join("loan_data_set.csv").exists() {
        return Some(folder);
    }
    missing(&format!("no public data files in {}; set DEEPSADE_DATA (docs/data.md)", folder.display()))
}

/// What starts an SMT solver: what its environment variable says, or its name.
pub fn solver(name: &str) -> Option<OsString> {
    let variable = format!("DEEPSADE_{}", name.to_uppercase());
    let program = std::env::var_os(variable).filter(|p| !p.is_empty()).unwrap_or_else(|| name.into());
    if std::process::Command::new(&program).arg("--version").output().is_ok() {
        return Some(program);
    }
    missing(&format!("the solver {name} is not there; scripts/install-solvers installs it"))
}

fn missing<T>(what: &str) -> Option<T> {
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "CI=true lets no test be skipped: {what}");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // Not by `eprintln!`, which the test harness keeps to itself where a test passes.
    writeln!(std::io::stderr(), "skipped: {test}: {what}").expect("standard error can be written to");
    None
}
