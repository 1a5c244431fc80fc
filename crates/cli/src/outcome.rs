//! Exit codes, which are a contract.

use std::process::ExitCode;

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
