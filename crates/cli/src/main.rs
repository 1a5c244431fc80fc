//! The `deepsade` command: arguments enter, a report and an exit code leave.

// First: the other files print through what it defines.
#[macro_use]
mod render;
mod args;
mod command;
mod interrupt;
mod outcome;
mod progress;
mod rule_error;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::outcome::Exit;

fn main() -> ExitCode {
    let args = Args::try_parse().unwrap_or_else(|error| render::usage(&error));
    deepsade_data::set_limits((&args.limits).into());
    deepsade_engine::summary::set_program(args::VERSION);
    let result = match &args.command {
        Command::Demo(args) => command::demo::run(args),
        Command::Init(args) => command::init::run(args),
        Command::Explain(args) => command::explain::run(args),
        Command::Train(args) => command::train::run(args),
        Command::Check(args) => command::check::run(args),
        Command::Predict(args) => command::predict::run(args),
        Command::Report(args) => command::report::run(args),
        Command::Verify(args) => command::verify::run(args),
        Command::Shield(args) => command::shield::run(args),
        Command::Adversity(args) => command::adversity::run(args),
        Command::Repair(args) => command::repair::run(args),
        Command::Reproduce(args) => command::reproduce::run(args),
        Command::Export(args) => command::export::run(args),
        Command::Schema => command::shell::schema(),
        Command::Completions(args) => command::shell::completions(args),
        Command::Man(args) => command::shell::man(args),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            render::error(&error);
            Exit::InputError.into()
        }
    }
}
