//! `deepsade export`: a rule file enters, the same question in another tool's language leaves.

use deepsade_engine::artifact::write_whole;
use deepsade_engine::problem::Problem;
use deepsade_engine::verify::vnnlib;

use crate::args::{ExportArgs, ExportFormat};
use crate::outcome::{Outcome, emit};

/// Runs the command.
pub fn run(args: &ExportArgs) -> anyhow::Result<Outcome> {
    let problem = Problem::read(&args.file)?;
    let (spec, _) = problem.load(args.data.as_deref(), &mut |_| {})?;
    let text = match args.to {
        ExportFormat::Vnnlib => vnnlib::write(&spec)?,
    };
    match &args.out {
        Some(path) => write_whole(path, text.as_bytes())?,
        None => emit(&text)?,
    }
    Ok(Outcome::Success)
}
