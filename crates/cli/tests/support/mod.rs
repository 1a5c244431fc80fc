//! Runs the command in a folder of its own.
#![allow(dead_code, unused_imports, reason = "each test file uses its part")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

pub fn deepsade(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deepsade"));
    command.args(args).current_dir(folder).env_remove("DEEPSADE_DATA");
    command
}

/// Standard output of a run that must end with this exit code.
pub fn expect(folder: &Path, code: i32, args: &[&str]) -> String {
    let output = deepsade(folder, args);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "deepsade {args:?}\n{error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a run that must end with exit code 2.
pub fn refusal(folder: &Path, args: &[&str]) -> String {
    let output = deepsade(folder, args);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "deepsade {args:?}\n{error}");
    assert!(output.stdout.is_empty(), "an error prints nothing on standard output");
    assert!(!error.contains("panicked"), "{error}");
    error
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn json(folder: &Path, code: i32, args: &[&str]) -> Value {
    serde_json::from_str(&expect(folder, code, args)).expect("one JSON object on standard output")
}

/// A loan-like problem: 200 rows, a category, a class.
pub fn small_problem(folder: &Path, epochs: usize) {
    let mut csv = String::from("income,area,age,loan\n");
    for i in 0..200u32 {
        let income = (i * 37) % 100;
        let area = ["rural", "urban"][(i % 2) as usize];
        let loan = if income + 10 * (i % 2) > 50 { "yes" } else { "no" };
        csv.push_str(&format!("{income},{area},{},{loan}\n", 20 + i % 50));
    }
    std::fs::write(folder.join("loans.csv"), csv).unwrap();
    let rules = format!(
        "[data]\nfile = \"loans.csv\"\ntargets = [\"loan\"]\n[task]\nkind = \"binary\"\n[network]\nhidden = [8, 4]\n\
         [train]\nepochs = {epochs}\nbatch = 4\nlearning_rate = 0.01\n\
         [[rule]]\nname = \"poor\"\ntext = \"income < 20 and area == 'rural' => loan == 'no'\"\n"
    );
    std::fs::write(folder.join("loans.toml"), rules).unwrap();
}

/// Checkpoints in a folder, of whichever training.
pub fn checkpoints(folder: &Path) -> usize {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = |path: &std::path::PathBuf| {
        let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("checkpoint"));
        named && path.extension().is_some_and(|e| e == "bin")
    };
    files.map(|file| file.path()).filter(ours).count()
}

/// Trains FILE into `out` and kills the run, as with kill -9, once it has saved a checkpoint.
pub fn kill_after_checkpoint(folder: &Path, file: &str, out: &str) {
    let mut child = command(folder, &["train", file, "--out", out, "-q"]).spawn().unwrap();
    let saves = || checkpoints(&folder.join(out)) > 0;
    let saved = (0..400).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        saves()
    });
    let still_running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(saved && still_running, "the run is long enough to be killed after a checkpoint");
}
