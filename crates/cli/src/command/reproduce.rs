//! `deepsade reproduce`: names of use cases enter, results.jsonl, tables, figures and models leave.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, bail};
use deepsade_engine::artifact::write_whole;
use deepsade_lab::reproduce::experiment::{Experiment, Options, repeats};
use deepsade_lab::reproduce::figures;
use deepsade_lab::reproduce::print::{Tables, hardware, today};
use deepsade_lab::reproduce::runner::{self, Event, RunsEnded, Setting};
use deepsade_lab::reproduce::stock::Stock;
use deepsade_lab::reproduce::table::tables;
use deepsade_lab::results;

use crate::args::ReproduceArgs;
use crate::interrupt::Interrupt;
use crate::outcome::{Exit, emit};
use crate::progress::RunBar;

/// Runs the command.
pub fn run(args: &ReproduceArgs) -> anyhow::Result<Exit> {
    let plan = Experiment::new(&options(args))?;
    let stock = Stock::new(&data(args)?);
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    if jobs == 0 {
        bail!("--jobs 0: at least 1");
    }
    let interrupt = Interrupt::listen();
    let bar: Mutex<Option<RunBar>> = Mutex::new(None);
    let watch = |event: Event| {
        let mut bar = bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match event {
            Event::OtherData { case } => {
                eprintln!(
                    "note: the data of {case} are not byte for byte the file of docs/data.md: results may differ from those there"
                );
            }
            Event::Begun { left, runs, cost } => *bar = Some(RunBar::new(args.quiet, left, runs, cost)),
            Event::Finished { run, cost } => {
                if let Some(bar) = bar.as_mut() {
                    bar.done(&format!("{} {}", run.use_case, run.method), cost);
                }
            }
        }
    };
    let setting = Setting { out: &args.out, resume: args.resume, jobs };
    let ended = runner::run(&plan, &stock, setting, &watch, &|| interrupt.pressed());
    if let Some(bar) = bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner).as_ref() {
        bar.finish();
    }
    if let RunsEnded::Interrupted { done, runs } = ended? {
        eprintln!("interrupted: {done} of {runs} runs are in {}; add --resume to the same command to go on", args.out.display());
        return Ok(Exit::Unknown);
    }
    let results = results::read(&args.out.join(results::FILE))?;
    figures::draw(&plan, &stock, &args.out, &results)?;
    let command = std::env::args_os().skip(1).fold("deepsade".to_string(), |line, word| line + " " + &word.to_string_lossy());
    let command = after_earlier(&args.out, command);
    let tables = Tables { command, date: today(), hardware: hardware(), tables: tables(&results) };
    let json = serde_json::to_string_pretty(&tables)? + "\n";
    write_whole(&args.out.join("tables.json"), json.as_bytes())?;
    write_whole(&args.out.join("tables.md"), tables.markdown().as_bytes())?;
    emit(&if args.json { json } else { tables.markdown() })?;
    if !args.quiet {
        eprintln!("Tables, figures and models are in {0}; `deepsade report {0}` makes a page of them.", args.out.display());
    }
    // What promises a certificate must have one.
    let uncertified = tables.tables.iter().flat_map(|t| &t.rows).any(|r| r.certified.is_some_and(|(n, of)| n < of));
    Ok(if uncertified { Exit::Finding } else { Exit::Success })
}

/// The command after those of earlier calls, whose results are in the tables as well.
fn after_earlier(out: &Path, command: String) -> String {
    let text = std::fs::read_to_string(out.join("tables.json")).unwrap_or_default();
    let earlier = serde_json::from_str::<serde_json::Value>(&text).ok().and_then(|t| t["command"].as_str().map(str::to_string));
    match earlier {
        Some(earlier) if earlier.split(THEN).all(|line| line != command) => earlier + THEN + &command,
        Some(earlier) => earlier,
        None => command,
    }
}

/// Between two commands.
const THEN: &str = ", then ";

fn options(args: &ReproduceArgs) -> Options {
    Options {
        cases: args.cases.clone(),
        methods: args.methods.clone(),
        repeats: args.repeats.unwrap_or(repeats(args.quick)),
        folds: args.folds,
        quick: args.quick,
        seed: args.seed,
    }
}

fn data(args: &ReproduceArgs) -> anyhow::Result<PathBuf> {
    let named = args.data.clone().or_else(|| std::env::var_os("DEEPSADE_DATA").map(PathBuf::from));
    let folder =
        named.context("name the folder of the data files with --data or $DEEPSADE_DATA; docs/data.md says what they are")?;
    if !folder.is_dir() {
        bail!("{} is no folder; --data names the folder of the data files that docs/data.md describes", folder.display());
    }
    Ok(folder)
}
