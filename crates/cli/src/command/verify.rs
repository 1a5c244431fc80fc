//! `deepsade verify`: a network and rules, or a VNN-LIB property, enter; proved, refuted or unknown leaves.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use deepsade_check::Arithmetic;
use deepsade_engine::artifact::{read_any, read_at_most, write_whole};
use deepsade_engine::files;
use deepsade_engine::folder_lock::Hold;
use deepsade_engine::problem::Problem;
use deepsade_engine::proof::Certified;
use deepsade_engine::vacuous::vacuous;
use deepsade_engine::verify::vnnlib::{self, Property};
use deepsade_engine::verify::words::{as_json, in_words};
use deepsade_engine::verify::{FileAnswer, Outcome, Undecided, VerifySettings, fits, verify_file};
use deepsade_net::Model;
use deepsade_spec::{NormalSpec, Schema};
use serde_json::json;

use super::predict::same_file;
use crate::args::{ArithmeticArg, VerifyArgs};
use crate::interrupt::Interrupt;
use crate::outcome::{Exit, emit};
use crate::render::While;
use deepsade_engine::subject::{self, SubjectFiles, columns_in_words};

/// A property of more bytes is none.
const MOST_BYTES: u64 = 512 << 20;

/// Runs the command.
pub fn run(args: &VerifyArgs) -> anyhow::Result<Exit> {
    // Reading is part of what the time is for: a property may be large.
    let begun = Instant::now();
    if let (Some(folder), Some(rules)) = (&args.certificate, &args.rules) {
        super::not_over_inputs(folder, std::slice::from_ref(rules))?;
    }
    let settings = settings(args.timeout, args.threads)?;
    let asked = args.clone();
    let Some(question) = within(settings.timeout, move || question(&asked)) else { return read_too_long(args, begun) };
    let (model, spec, rules_toml, named) = question?;
    // Found out before the search, not after it.
    let _hold = args.certificate.as_deref().map(|folder| writable(folder, &args.model, args.force)).transpose()?;
    let settings = VerifySettings {
        timeout: settings.timeout.map(|t| t.saturating_sub(begun.elapsed())),
        arithmetic: match args.arithmetic {
            ArithmeticArg::Float32 => Arithmetic::Float32,
            ArithmeticArg::Real => Arithmetic::Real,
        },
        ..settings
    };
    let interrupt = Interrupt::listen();
    let FileAnswer { decided, proof, differs, work, seconds } = verify_file(&spec, &model, &settings, &|| interrupt.pressed())?;
    // The answer is printed whatever becomes of the files.
    let written = args.certificate.as_deref().map_or(Ok(()), |folder| write(proof.as_deref(), args, &rules_toml, folder));
    if args.vnncomp {
        for rule in &spec.rules {
            if let Some(why) = vacuous(rule, &spec.schema) {
                eprintln!("note: {}: {why}", rule.name);
            }
        }
        emit(&vnncomp(&decided))?;
    } else if args.json {
        let report = as_json(&decided, &spec, seconds, work, &differs);
        emit(&(serde_json::to_string_pretty(&report)? + "\n"))?;
    } else {
        if !named {
            eprintln!("the model does not name its columns; read as {}", columns_in_words(&spec.schema.shown()));
        }
        super::note_rounding(&differs);
        emit(&in_words(&decided, &spec.shown(), seconds, work.regions, args.certificate.as_deref()))?;
        let open = match &decided {
            Outcome::Refuted(example) => Some(example.rule),
            Outcome::Unknown { rule, .. } => Some(*rule),
            Outcome::Proved(_) => None,
        };
        if let (Some(rule), Some(rules)) = (open, &args.rules) {
            // What looks at one input does not keep a rule about two.
            emit(&match (spec.pairs.is_empty(), rule < spec.rules.len()) {
                (true, _) => shield_in_words(&args.model, rules, &spec.schema),
                (false, true) => format!("{TRAIN}{ONE_INPUT}"),
                (false, false) => TRAIN.into(),
            })?;
        }
    }
    written?;
    Ok(match decided {
        Outcome::Proved(_) => Exit::Success,
        // `unknown` was printed.
        Outcome::Refuted(example) if args.vnncomp && !example.in_every_runtime => Exit::Unknown,
        Outcome::Refuted(_) => Exit::Finding,
        Outcome::Unknown { .. } => Exit::Unknown,
    })
}

/// What `work` gives, if it ends in time; else it is left to itself.
fn within<T: Send + 'static>(limit: Option<Duration>, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (send, receive) = mpsc::sync_channel(1);
    let worker = std::thread::Builder::new().stack_size(16 << 20).spawn(move || drop(send.send(work()))).ok()?;
    let received = match limit {
        Some(limit) => receive.recv_timeout(limit),
        None => receive.recv().map_err(|_| RecvTimeoutError::Disconnected),
    };
    match received {
        Ok(given) => Some(given),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => match worker.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => None,
        },
    }
}

/// The answer where the time was over before the question was read.
fn read_too_long(args: &VerifyArgs, begun: Instant) -> anyhow::Result<Exit> {
    if let Some(folder) = args.certificate.as_deref().filter(|folder| folder.exists()) {
        let _hold = writable(folder, &args.model, args.force)?;
        forget_aloud(folder)?;
    }
    let why = "the time is over, and the model and its rules were not read to their end";
    emit(&match (args.vnncomp, args.json) {
        (true, _) => "timeout\n".into(),
        (false, true) => {
            let said = json!({"verdict": "unknown", "why": why, "rule": null, "seconds": begun.elapsed().as_secs_f64()});
            serde_json::to_string_pretty(&said)? + "\n"
        }
        (false, false) => format!("unknown: {why} (--timeout gives it longer)\n"),
    })?;
    Ok(Exit::Unknown)
}

/// What keeps rules between two inputs.
const TRAIN: &str = "`deepsade train` trains a network whose weights keep rules between two inputs, with proof.\n";

/// What keeps the others, where they stand in one file.
const ONE_INPUT: &str =
    "Rules about one input `deepsade shield` keeps behind this network, as it is: in a file without those between two.\n";

/// How a network that is not proved becomes one that is.
pub fn shield_in_words(model: &Path, rules: &Path, schema: &Schema) -> String {
    if !schema.filled.is_empty() {
        return "A network with an output step keeps the rules for every input, missing values included: deepsade train FILE --enforce decode \
                (deepsade shield puts one behind a network that is asked about complete rows alone)\n"
            .into();
    }
    format!(
        "An output step can be put behind this network, as it is, which keeps the rules for every input, with proof:\n  deepsade shield --model {} --rules {} --out DIR\n",
        model.display(),
        rules.display()
    )
}

/// Writes the proof, or takes away one that a run before left there.
fn write(proof: Option<&Certified>, args: &VerifyArgs, rules: &str, folder: &Path) -> anyhow::Result<()> {
    let Some(proof) = proof else { return forget_aloud(folder) };
    write_proof(proof, rules, folder)?;
    if let Some(property) = &args.vnnlib {
        write_whole(&folder.join("property.vnnlib"), &property_bytes(property)?)?;
    }
    Ok(())
}

/// How long, and on how many threads.
pub fn settings(timeout: f64, threads: Option<usize>) -> anyhow::Result<VerifySettings> {
    VerifySettings::new(timeout, threads).with_context(|| format!("--timeout {timeout} must be a positive number of seconds"))
}

/// Makes a folder for results and sees that files can be written there, by nobody else, and that it is not where the model is.
pub fn writable(folder: &Path, model: &Path, force: bool) -> anyhow::Result<Hold> {
    std::fs::create_dir_all(folder).while_doing(|| format!("can't make the folder {}", folder.display()))?;
    if same_file(&folder.join(files::MODEL), model) {
        bail!("{} holds the model itself, which would be overwritten; name another folder", folder.display());
    }
    tempfile::tempfile_in(folder).while_doing(|| format!("can't write into {}", folder.display()))?;
    let hold = Hold::of(folder).while_doing(|| format!("can't write into {}", folder.display()))?;
    super::not_over_another(folder, false, force)?;
    Ok(hold)
}

/// Takes away the certificate of a run before, and says so: what is said now does not go with it.
fn forget_aloud(folder: &Path) -> anyhow::Result<()> {
    let certificate = folder.join(files::CERTIFICATE);
    if certificate.exists() {
        eprintln!("note: nothing was proved now, so {} of an earlier run is removed", certificate.display());
    }
    files::forget_proof(folder).while_doing(|| format!("can't remove the old certificate in {}", folder.display()))
}

/// The network, the rules, the text of their file, and whether the model names its columns.
fn question(args: &VerifyArgs) -> anyhow::Result<(Model, NormalSpec, String, bool)> {
    if let Some(path) = &args.vnnlib {
        let property = read_property(path)?;
        let model = read_any(&args.model, args.output.as_deref())?;
        fits(&property.spec, &model.network).while_doing(|| format!("{} and {}", args.model.display(), path.display()))?;
        let text = Problem::about(&property.schema, property.rules.clone())?.stated(&property.schema);
        return Ok((model, property.spec, text, true));
    }
    let rules = args.rules.as_deref().context("--rules or --vnnlib is needed")?;
    let output = args.output.as_deref();
    let subject = subject::read(&SubjectFiles { model: &args.model, rules, data: args.data.as_deref(), output, rows: false })?;
    subject.notes().into_iter().for_each(|note| eprintln!("note: {note}"));
    let text = subject.problem.stated(&subject.spec.schema);
    Ok((subject.model, subject.spec, text, subject.named))
}

/// Reads a property; errors name the file and the place.
pub fn read_property(path: &Path) -> anyhow::Result<Property> {
    let text = String::from_utf8(property_bytes(path)?).while_doing(|| format!("can't read {}", path.display()))?;
    vnnlib::read(&text).map_err(|e| anyhow::anyhow!("{}, {e}", path.display()))
}

fn property_bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    match read_at_most(path, MOST_BYTES).while_doing(|| format!("can't read {}", path.display()))? {
        Ok(bytes) => Ok(bytes),
        Err(_) => bail!("{}: more than {MOST_BYTES} bytes is too large for a property", path.display()),
    }
}

/// Writes what `deepsade check DIR` reads.
pub fn write_proof(proof: &Certified, rules: &str, folder: &Path) -> anyhow::Result<()> {
    files::write_proof(folder, proof.model(), rules, Some(&proof.certificate().to_json()))?;
    Ok(())
}

/// The answer as the competition reads it. A violation that another order of summation may round away is no `sat` there: the
/// example is run again in another runtime.
fn vnncomp(decided: &Outcome) -> String {
    match decided {
        Outcome::Proved(_) => "unsat\n".into(),
        Outcome::Refuted(example) if example.in_every_runtime => {
            let inputs = example.x.iter().enumerate().map(|(k, v)| format!("(X_{k} {v:?})"));
            let outputs = example.y.iter().enumerate().map(|(k, v)| format!("(Y_{k} {v:?})"));
            format!("sat\n({})\n", inputs.chain(outputs).collect::<Vec<_>>().join("\n "))
        }
        Outcome::Unknown { why: Undecided::Timeout, .. } => "timeout\n".into(),
        Outcome::Refuted(_) | Outcome::Unknown { .. } => "unknown\n".into(),
    }
}
