//! A plan enters; its runs are trained on so many threads, one each, and every finished one is written down at once.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use deepsade_solve::parallel;

use super::ReproduceError;
use super::experiment::{Experiment, Planned};
use super::ledger::{Identity, Ledger};
use super::measure::{measure, model_folder};
use super::stock::Stock;
use crate::results::RunResult;

/// The folder of models in an experiment's folder.
pub const MODELS: &str = "models";

/// What is told while runs go on.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The data of a use case are not byte for byte the public file.
    OtherData {
        /// The use case.
        case: &'a str,
    },
    /// So many runs are to be done, of so many; what is left takes about so many seconds of one thread.
    Begun {
        /// To be done.
        left: usize,
        /// All.
        runs: usize,
        /// Of those to be done.
        cost: f64,
    },
    /// A run has ended and is on the disk.
    Finished {
        /// The run.
        run: &'a RunResult,
        /// What it was expected to cost.
        cost: f64,
    },
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsEnded {
    /// All runs are there.
    Finished,
    /// It was told to stop.
    Interrupted {
        /// Runs that are there.
        done: usize,
        /// Of so many.
        runs: usize,
    },
}

/// Where and how.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    /// The folder to write to.
    pub out: &'a Path,
    /// Whether to go on with what is there.
    pub resume: bool,
    /// Threads.
    pub jobs: usize,
}

/// Does all runs of a plan that are not done yet.
pub fn run(
    plan: &Experiment,
    stock: &Stock,
    setting: Setting,
    watch: &(dyn Fn(Event) + Sync),
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<RunsEnded, ReproduceError> {
    let Setting { out, resume, jobs } = setting;
    let identity = Identity::new(plan, stock)?;
    let ledger = Ledger::open(out, &identity, resume)?;
    identity.unplanned(plan).into_iter().for_each(|case| watch(Event::OtherData { case }));
    let left: Vec<&Planned> = plan.runs.iter().filter(|r| !ledger.has(plan, r)).collect();
    watch(Event::Begun { left: left.len(), runs: plan.runs.len(), cost: left.iter().map(|r| r.cost).sum() });
    let (ledger, error) = (Mutex::new(ledger), Mutex::new(None));
    let (done, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let stop = || failed.load(Ordering::Relaxed) || interrupted();
    let one = |run: &Planned| -> Result<(), ReproduceError> {
        let models = model_folder(plan, run).map(|name| out.join(MODELS).join(name));
        let Some(result) = measure(plan, run, stock, models.as_deref(), &stop)? else { return Ok(()) };
        let mut ledger = ledger.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        ledger.append(&result)?;
        done.fetch_add(1, Ordering::Relaxed);
        watch(Event::Finished { run: &result, cost: run.cost });
        Ok(())
    };
    let work = |(): &mut (), run: &&Planned| {
        if let Err(found) = one(run) {
            failed.store(true, Ordering::Relaxed);
            let (use_case, method) = plan.names(run);
            let place = format!("{use_case}, {method}, repeat {}, fold {}", run.repeat, run.fold);
            let mut error = error.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            error.get_or_insert(ReproduceError::Run { place, source: Box::new(found) });
        }
    };
    parallel::map(&left, jobs, &stop, || (), work);
    if let Some(error) = error.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        return Err(error);
    }
    let (runs, done) = (plan.runs.len(), plan.runs.len() - left.len() + done.into_inner());
    Ok(if done == runs { RunsEnded::Finished } else { RunsEnded::Interrupted { done, runs } })
}
