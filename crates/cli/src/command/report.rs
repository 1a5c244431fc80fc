//! `deepsade report`: a folder enters, one HTML page leaves.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::bail;

use deepsade_engine::artifact::write_whole;
use deepsade_engine::files::{CERTIFICATE, LOG, MODEL, RULES, SUMMARY};
use deepsade_lab::report::{Page, ProofStatus, report};
use deepsade_lab::results;
use serde_json::json;

use crate::args::ReportArgs;
use crate::outcome::{Exit, emit};

/// Runs the command.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    let out = args.out.clone().unwrap_or_else(|| args.dir.join("report.html"));
    let page = write(&args.dir, args.data.as_deref(), &out)?;
    if args.json {
        let proved = page.proof.as_ref().map(ProofStatus::proved);
        let said = json!({"page": out, "proved": proved, "proof": page.proof.as_ref().map(|_| page.said)});
        emit(&(serde_json::to_string_pretty(&said)? + "\n"))?;
    } else {
        let said = if page.said.is_empty() { page.said } else { page.said + ".\n" };
        emit(&format!("{said}Page: {}\n", out.display()))?;
    }
    Ok(Exit::Success)
}

/// Whether a file begins as a page does.
fn is_page(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(100).read_to_end(&mut start));
    let start = String::from_utf8_lossy(&start).trim_start().to_lowercase();
    read.is_ok() && (start.is_empty() || start.starts_with("<!doctype html") || start.starts_with("<html"))
}

/// Makes the page and writes it.
pub fn write(dir: &Path, data: Option<&Path>, out: &Path) -> anyhow::Result<Page> {
    let inputs = [MODEL, CERTIFICATE, RULES, LOG, SUMMARY, results::FILE];
    super::not_over(out, &inputs.iter().map(|name| dir.join(name)).chain(data.map(PathBuf::from)).collect::<Vec<_>>())?;
    if out.is_file() && !is_page(out) {
        bail!("--out {} is there and is no HTML page, which alone is replaced; name another file", out.display());
    }
    let page = report(dir, data)?;
    write_whole(out, page.html.as_bytes())?;
    Ok(page)
}
