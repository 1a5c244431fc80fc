//! `deepsade report`: a folder enters, one HTML page leaves.

use std::path::{Path, PathBuf};

use anyhow::bail;
use deepsade_engine::artifact::write_whole;
use deepsade_lab::report::{Proof, report};
use serde_json::json;

use crate::args::ReportArgs;
use crate::outcome::{Outcome, emit};

/// Runs the command.
pub fn run(args: &ReportArgs) -> anyhow::Result<Outcome> {
    let out = args.out.clone().unwrap_or_else(|| args.dir.join("report.html"));
    let (page, proof) = write(&args.dir, args.data.as_deref(), &out)?;
    if args.json {
        let proved = proof.as_ref().map(|p| p.accepted().is_some());
        let said = json!({"page": page, "proved": proved, "proof": proof.as_ref().map(|p| p.in_words(1))});
        emit(&(serde_json::to_string_pretty(&said)? + "\n"))?;
    } else {
        let said = proof.map(|p| p.in_words(1) + ".\n").unwrap_or_default();
        emit(&format!("{said}Page: {}\n", page.display()))?;
    }
    Ok(Outcome::Success)
}

/// Writes the page; returns where it is and what it says about the proof.
pub fn write(dir: &Path, data: Option<&Path>, out: &Path) -> anyhow::Result<(PathBuf, Option<Proof>)> {
    let inputs = ["model.onnx", "certificate.json", "rules.toml", "run.jsonl", "summary.json", "results.jsonl"];
    if inputs.iter().map(|name| dir.join(name)).chain(data.map(PathBuf::from)).any(|input| super::predict::same_file(out, &input)) {
        bail!("--out {} would overwrite an input; name another file", out.display());
    }
    let page = report(dir, data)?;
    write_whole(out, page.html.as_bytes())?;
    Ok((out.into(), page.proof))
}
