//! `deepsade export`: a rule file, and perhaps a model, enter; its problem leaves in the words of another program.

use deepsade_engine::artifact::{read_bytes, write_whole};
use deepsade_engine::gate;
use deepsade_engine::left_out::pairs_in_words;
use deepsade_engine::problem::Problem;
use deepsade_engine::smtlib_export;
use deepsade_engine::verify::vnnlib;
use deepsade_net::Model;
use deepsade_spec::NormalSpec;

use crate::args::{ExportArgs, ExportTarget};
use crate::outcome::{Exit, emit_data};
use crate::progress::ReadBar;
use crate::render::While;

/// Runs the command.
pub fn run(args: &ExportArgs) -> anyhow::Result<Exit> {
    let problem = super::problem(&args.file, args.data.as_deref())?;
    if let Some(out) = &args.out {
        super::not_over(out, &problem.inputs().iter().chain(&args.model).collect::<Vec<_>>())?;
    }
    let mut bar = ReadBar::new(args.quiet);
    let (spec, _) = problem.load(&mut |p| bar.update(p))?;
    let text = match args.to {
        ExportTarget::Smtlib => smtlib(args, &problem, &spec)?,
        ExportTarget::Vnnlib => vnnlib::write(&spec)?,
    };
    if let Some(pairs) = pairs_in_words(&spec) {
        eprintln!("note: left out: {pairs}; `deepsade verify` decides them");
    }
    match &args.out {
        Some(path) => write_whole(path, text.as_bytes())?,
        None => emit_data(&text)?,
    }
    Ok(Exit::Success)
}

fn smtlib(args: &ExportArgs, problem: &Problem, spec: &NormalSpec) -> anyhow::Result<String> {
    let seed = problem.data.as_ref().map_or(0, |data| data.seed);
    let (network, fixed) = match &args.model {
        Some(path) => {
            let bytes = read_bytes(path)?;
            let model = Model::from_bytes(&bytes).while_doing(|| format!("{} is no model", path.display()))?;
            (model.network, true)
        }
        None => (gate::network(spec, problem.network(), None, seed), false),
    };
    Ok(smtlib_export::smtlib(spec, &network, fixed, problem.train().tightness(), args.quantifiers.into())?)
}
