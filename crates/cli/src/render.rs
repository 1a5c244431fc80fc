//! Errors as text for people: what, where, and what to do.

use std::io::IsTerminal;

use deepsade_engine::problem::ProblemError;
use deepsade_spec::shown;

use crate::rule_error::rule_errors;

/// Prints an error on standard error.
pub fn error(error: &anyhow::Error) {
    let terminal = std::io::stderr().is_terminal();
    eprint!("{}", describe(error, terminal));
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
    if let Some(ProblemError::Rules { path, errors }) = error.downcast_ref() {
        return rule_errors(&path.display().to_string(), errors, terminal);
    }
    let said = error.to_string();
    let mut text = shown::message(&format!("error: {said}")) + "\n";
    for cause in error.chain().skip(1) {
        // Most errors of ours already say their cause.
        let cause = cause.to_string();
        if !said.contains(&cause) {
            text += &format!("  because: {}\n", shown::message(&cause));
        }
    }
    text
}
