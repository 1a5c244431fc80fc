//! What a test needs beyond the repository enters by name; tests that lack it are `ignored`, which only a harness that decides when
//! it runs can say. With `CI=true` nothing may be missing: the test runs and fails.
//!
//! For test files with `harness = false`: [`tests!`] lists the tests and what each needs.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Trial};

/// What may be missing on a machine.
#[derive(Debug, Clone, Copy)]
pub enum Need {
    /// The public data files.
    Data,
    /// The SMT solver of this name.
    Solver(&'static str),
}

impl Need {
    /// What is missing, if it is, and what to do about it.
    fn missing(self) -> Option<String> {
        match self {
            Self::Data => find_data().err(),
            Self::Solver(name) => find_solver(name).err(),
        }
    }

    fn short(self) -> String {
        match self {
            Self::Data => "no public data".into(),
            Self::Solver(name) => format!("no {name}"),
        }
    }
}

/// The folder of the public data files, for a test that says that it needs them.
pub fn data_folder() -> PathBuf {
    find_data().unwrap_or_else(|what| panic!("{what}"))
}

/// What starts an SMT solver, for a test that says that it needs it.
pub fn solver(name: &str) -> OsString {
    find_solver(name).unwrap_or_else(|what| panic!("{what}"))
}

fn find_data() -> Result<PathBuf, String> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("DEEPSADE_DATA").map_or(beside, PathBuf::from);
    if folder.join("loan_data_set.csv").exists() {
        return Ok(folder);
    }
    Err(format!("no public data files in {}; set DEEPSADE_DATA (docs/data.md)", folder.display()))
}

/// What its environment variable says, or its name.
fn find_solver(name: &str) -> Result<OsString, String> {
    let variable = format!("DEEPSADE_{}", name.to_uppercase());
    let program = std::env::var_os(variable).filter(|p| !p.is_empty()).unwrap_or_else(|| name.into());
    if std::process::Command::new(&program).arg("--version").output().is_ok() {
        return Ok(program);
    }
    Err(format!("the solver {name} is not there; scripts/install-solvers installs it"))
}

/// One test of a file.
#[derive(Debug, Clone, Copy)]
pub struct Test {
    pub name: &'static str,
    pub needs: &'static [Need],
    pub run: fn(),
}

impl Test {
    fn trial(self, insist: bool) -> Trial {
        let Some((need, what)) = self.needs.iter().find_map(|need| Some((need, need.missing()?))) else {
            return Trial::test(self.name, move || {
                (self.run)();
                Ok(())
            });
        };
        let lacking = Trial::test(self.name, move || Err(format!("CI=true lets no test be ignored: {what}").into()));
        lacking.with_kind(need.short()).with_ignored_flag(!insist)
    }
}

/// Runs tests as the usual harness does, with its arguments; what they lack stands in brackets before their names.
pub fn run(tests: &[Test]) {
    let insist = std::env::var_os("CI").is_some_and(|ci| ci == "true");
    let missing: BTreeSet<String> = tests.iter().flat_map(|test| test.needs).filter_map(|need| need.missing()).collect();
    missing.iter().for_each(|what| eprintln!("{what}"));
    libtest_mimic::run(&Arguments::from_args(), tests.iter().map(|test| test.trial(insist)).collect()).exit();
}

/// The `main` of a test file: `tests! { name; other: Need::Data, Need::Solver("z3"); }`. The compiler warns of a test that is not listed.
macro_rules! tests {
    ($($(#[$when:meta])* $name:ident $(: $($need:expr),+)?;)+) => {
        fn main() {
            needs::run(&[$($(#[$when])* needs::Test { name: stringify!($name), needs: &[$($($need),+)?], run: $name }),+]);
        }
    };
}
pub(crate) use tests;
