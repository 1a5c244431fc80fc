//! Errors as text for people: what, where, and what to do.

use std::io::IsTerminal;

use deepsade_engine::problem::ProblemError;

use crate::rule_error::rule_error;

/// Prints an error on standard error.
pub fn error(error: &anyhow::Error) {
    let terminal = std::io::stderr().is_terminal();
    eprint!("{}", describe(error, terminal));
}

/// The error as text; colours only for a terminal.
pub fn describe(error: &anyhow::Error, terminal: bool) -> String {
    if let Some(ProblemError::Rules { path, errors }) = error.downcast_ref() {
        return errors.iter().map(|e| rule_error(&path.display().to_string(), e, terminal)).collect::<Vec<_>>().join("\n");
    }
    let mut text = format!("error: {error}\n");
    for cause in error.chain().skip(1) {
        // Most errors of ours already say their cause.
        if !text.contains(&cause.to_string()) {
            text.push_str(&format!("  because: {cause}\n"));
        }
    }
    text
}
