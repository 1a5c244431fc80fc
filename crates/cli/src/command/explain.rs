//! `deepsade explain`: a rule file enters, what it means leaves, for people or as JSON.

use deepsade_engine::explain::{explain, words};
use deepsade_engine::fit;

use crate::args::ExplainArgs;
use crate::outcome::{Exit, emit};
use crate::progress::ReadBar;

/// Runs the command.
pub fn run(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let problem = super::problem(&args.file, args.data.as_deref())?;
    let mut bar = ReadBar::new(args.quiet);
    let (spec, loaded) = problem.load(&mut |p| bar.update(p))?;
    let rows = match (&loaded, &problem.data) {
        (Some(loaded), Some(settings)) => Some(fit::rows(&spec, loaded, settings, settings.seed)?),
        _ => None,
    };
    // What people read has each name on one line; what programs read has it as it is.
    let spec = if args.json { spec } else { spec.shown() };
    let explanation = explain(&spec, rows.as_ref(), problem.network(), problem.train());
    if args.json {
        emit(&(serde_json::to_string_pretty(&explanation)? + "\n"))?;
    } else {
        emit(&words::in_words(&explanation, &spec))?;
    }
    Ok(if explanation.contradictory() {
        Exit::Finding
    } else if explanation.undecided() {
        Exit::Unknown
    } else {
        Exit::Success
    })
}
