//! Exit codes, which are a contract, and what is printed: standard output may be closed or full, and text from a file must not
//! reach a terminal as it is.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use deepsade_spec::shown;

use crate::render::While;

/// Prints words or JSON on standard output, nothing hidden in it.
pub fn emit(text: &str) -> anyhow::Result<()> {
    write(shown::lines(text).as_bytes())
}

/// Prints what another program reads: byte for byte, unless it goes to a terminal.
pub fn emit_data(text: &str) -> anyhow::Result<()> {
    if std::io::stdout().is_terminal() { emit(text) } else { write(text.as_bytes()) }
}

/// A reader that has gone, such as `head`, ends the program in peace.
fn write(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        other => other.while_doing(|| "can't write to standard output".into()),
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: it did what was asked.
    Success,
    /// 1: it found something: rules broken, contradictory, refuted or not certified.
    Finding,
    /// 2: it could not run: wrong usage or input.
    InputError,
    /// 3: it could not decide, or was stopped.
    Unknown,
}

impl From<Exit> for ExitCode {
    fn from(outcome: Exit) -> Self {
        ExitCode::from(match outcome {
            Exit::Success => 0,
            Exit::Finding => 1,
            Exit::InputError => 2,
            Exit::Unknown => 3,
        })
    }
}
