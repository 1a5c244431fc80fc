//! Asks git which commit is being built; `deepsade --version` says it. Without git, or outside this repository, it says nothing.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // An archive of the sources may have been unpacked inside somebody else's repository.
    let ours = git(&["rev-parse", "--show-prefix"]).is_some_and(|prefix| prefix == "crates/cli/");
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| ours);
    if commit.is_some() {
        // HEAD moves by a checkout, its branch by a commit, and the log of HEAD by both. What is not there is not to be waited for:
        // cargo would build anew every time.
        let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
        for name in ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
            if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|p| Path::new(p).exists()) {
                println!("cargo::rerun-if-changed={path}");
            }
        }
    }
    println!("cargo::rustc-env=DEEPSADE_COMMIT={}", commit.map_or(String::new(), |commit| format!(" ({commit})")));
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}
