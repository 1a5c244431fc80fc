//! One file a command.

use std::path::{Path, PathBuf};

use anyhow::bail;
use deepsade_engine::files::{MODEL, TOGETHER};
use deepsade_engine::pipeline::Occupied;
use deepsade_engine::problem::Problem;

pub mod adversity;
pub mod check;
pub mod demo;
pub mod explain;
pub mod export;
pub mod folds;
pub mod init;
pub mod predict;
pub mod repair;
pub mod report;
pub mod reproduce;
pub mod shell;
pub mod shield;
pub mod train;
pub mod verify;

/// Refuses a folder in which a run would replace a file that it reads.
fn not_over_inputs(folder: &Path, inputs: &[PathBuf]) -> anyhow::Result<()> {
    for file in TOGETHER.map(|name| folder.join(name)) {
        if inputs.iter().any(|input| predict::same_file(&file, input)) {
            bail!("{} is read by this run, and would be replaced by a file of its own; name another folder", file.display());
        }
    }
    Ok(())
}

/// Refuses a file to write that this command reads, or that is one of a run's.
fn not_over(out: &Path, inputs: &[impl AsRef<Path>]) -> anyhow::Result<()> {
    if inputs.iter().any(|input| predict::same_file(out, input.as_ref())) {
        bail!("--out {} would overwrite an input; name another file", out.display());
    }
    let of_a_run = out.file_name().is_some_and(|name| TOGETHER.iter().any(|of_run| name == *of_run));
    if of_a_run && out.exists() && out.with_file_name(MODEL).exists() {
        bail!("--out {} would replace one of the files of a model, which belong together; name another file", out.display());
    }
    Ok(())
}

/// Refuses a folder that holds what would be replaced, unless that is asked for.
fn not_over_another(folder: &Path, resume: bool, force: bool) -> anyhow::Result<()> {
    let found = Occupied::of(folder, resume).filter(|_| !force);
    match found {
        None => Ok(()),
        Some(Occupied::Finished) if resume => {
            bail!("{} holds a finished run: there is nothing to resume. --force replaces it", folder.display())
        }
        Some(found) => {
            let resume = if found == Occupied::Unfinished { "go on with it by --resume, " } else { "" };
            bail!("{} holds {found}; {resume}name another folder, or replace it with --force", folder.display())
        }
    }
}

/// Says where a file may compute otherwise than the network that was read from it.
fn note_rounding(places: &[String]) {
    for place in places {
        eprintln!("note: {place}: the file may round differently there from the network that was looked at");
    }
}

/// Reads a rule file, with `--data`: another file than the one it names, or a folder to look in.
fn problem(file: &Path, data: Option<&Path>) -> anyhow::Result<Problem> {
    let given = file.extension().map(|e| e.to_string_lossy().to_lowercase());
    if given.is_some_and(|e| ["csv", "tsv", "parquet", "gz"].contains(&e.as_str())) && file.is_file() {
        let file = file.display();
        bail!("{file} is data, not a rule file: `deepsade init {file}` drafts a rule file for it");
    }
    let problem = Problem::read(file)?.with_data(data)?;
    if let (Some(data), None) = (data.filter(|data| !data.is_dir()), &problem.data) {
        bail!(
            "{} has no [data], so nothing says how {} is to be read: add [data] with `targets`",
            file.display(),
            data.display()
        );
    }
    Ok(problem)
}
