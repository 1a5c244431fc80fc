//! `deepsade export`: a rule file, and perhaps a model, enter; its problem leaves in the words of another program.

use deepsade_engine::artifact::write_whole;
use deepsade_engine::gate;
use deepsade_engine::smtlib_export;
use deepsade_engine::verify::vnnlib;
use deepsade_net::Model;

use crate::args::{ExportArgs, ExportTarget};
use crate::outcome::{Exit, emit_data};
use crate::progress::ReadBar;
use crate::render::While;

/// Runs the command.
pub fn run(args: &ExportArgs) -> anyhow::Result<Exit> {
    let text = match args.to {
        ExportTarget::Smtlib => smtlib(args)?,
        ExportTarget::Vnnlib => {
            let mut bar = ReadBar::new(args.quiet);
            let (spec, _) = super::problem(&args.file, args.data.as_deref())?.load(&mut |p| bar.update(p))?;
            vnnlib::write(&spec)?
        }
    };
    match &args.out {
        Some(path) => write_whole(path, text.as_bytes())?,
        None => emit_data(&text)?,
    }
    Ok(Exit::Success)
}

fn smtlib(args: &ExportArgs) -> anyhow::Result<String> {
    let problem = super::problem(&args.file, args.data.as_deref())?;
    let mut bar = ReadBar::new(args.quiet);
    let (spec, _) = problem.load(&mut |p| bar.update(p))?;
    let seed = problem.data.as_ref().map_or(0, |data| data.seed);
    let (network, fixed) = match &args.model {
        Some(path) => {
            let bytes = std::fs::read(path).while_doing(|| format!("can't read the model {}", path.display()))?;
            let model = Model::from_bytes(&bytes).while_doing(|| format!("{} is no model", path.display()))?;
            (model.network, true)
        }
        None => (gate::network(&spec, problem.network(), None, seed), false),
    };
    Ok(smtlib_export::smtlib(&spec, &network, fixed, problem.train().how(), args.quantifiers.into())?)
}
