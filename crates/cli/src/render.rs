//! Errors as text for people: what, where, and what to do.

use std::io::{IsTerminal, Write};

use deepsade_engine::problem::ProblemError;
use deepsade_spec::shown;

use crate::rule_error::rule_errors;

/// In place of the standard one in this whole program: what files say (names, paths, levels) is shown, not obeyed.
macro_rules! eprintln {
    ($($arg:tt)*) => {
        $crate::render::tell(&(::deepsade_spec::shown::message(&::std::format!($($arg)*)) + "\n"))
    };
}

/// Writes to standard error. Where nobody can read it, nothing is lost but the words.
pub fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Prints an error on standard error.
pub fn error(error: &anyhow::Error) {
    let terminal = std::io::stderr().is_terminal();
    tell(&describe(error, terminal));
}

/// Prints help, the version or what is wrong with the arguments, and ends the program.
pub fn usage(error: &clap::Error) -> ! {
    let text = error.render().to_string();
    // What was given stands in the text; a line of it must not pass for one of ours.
    let plain = std::env::args_os().all(|arg| arg.to_str().is_some_and(|arg| shown::name(arg) == arg));
    if !error.use_stderr() || plain && text.len() < 10_000 {
        // With the colours of its own.
        error.exit()
    }
    eprintln!("{text}");
    std::process::exit(error.exit_code())
}

/// The error as text; colours only for a terminal.
pub fn describe(error: &anyhow::Error, terminal: bool) -> String {
    let of_rules = |e: &(dyn std::error::Error + 'static)| match e.downcast_ref() {
        Some(ProblemError::Rules { path, errors }) => Some((path.clone(), errors.clone())),
        _ => None,
    };
    if let Some((path, errors)) = error.chain().find_map(of_rules) {
        return rule_errors(&path.display().to_string(), &errors, terminal);
    }
    shown::message(&format!("error: {error}")) + "\n"
}

/// Failures with what was being done before them. Errors of ours say their causes themselves.
pub trait While<T> {
    /// `what: the failure`.
    fn while_doing(self, what: impl FnOnce() -> String) -> anyhow::Result<T>;
}

impl<T, E: std::fmt::Display> While<T> for Result<T, E> {
    fn while_doing(self, what: impl FnOnce() -> String) -> anyhow::Result<T> {
        self.map_err(|error| anyhow::anyhow!("{}: {error}", what()))
    }
}
