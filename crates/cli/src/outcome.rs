//! Exit codes, which are a contract, and standard output, which may be closed or full.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Context;

/// Prints on standard output. A reader that has gone, such as `head`, ends the program in peace.
pub fn emit(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        other => other.context("can't write to standard output"),
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// 0: it did what was asked.
    Success,
    /// 1: it found something: rules broken, contradictory, refuted or not certified.
    Finding,
    /// 2: it could not run: wrong usage or input.
    InputError,
    /// 3: it could not decide, or was stopped.
    Unknown,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        ExitCode::from(match outcome {
            Outcome::Success => 0,
            Outcome::Finding => 1,
            Outcome::InputError => 2,
            Outcome::Unknown => 3,
        })
    }
}
