//! One file a command.

use std::path::Path;

use anyhow::bail;
use deepsade_engine::problem::Problem;

pub mod adversity;
pub mod check;
pub mod demo;
pub mod explain;
pub mod export;
pub mod predict;
pub mod repair;
pub mod report;
pub mod reproduce;
pub mod shield;
pub mod train;
pub mod verify;

/// Reads a rule file, with `--data`: another file than the one it names, or a folder to look in.
fn problem(file: &Path, data: Option<&Path>) -> anyhow::Result<Problem> {
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
