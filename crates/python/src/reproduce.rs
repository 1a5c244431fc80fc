//! The runs of an experiment, one by one: what is asked for enters, a line of results.jsonl leaves.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use deepsade_lab::reproduce::experiment::{self, Options};
use deepsade_lab::reproduce::ledger::{Identity, Ledger};
use deepsade_lab::reproduce::measure::measure;
use deepsade_lab::reproduce::stock::Stock;
use deepsade_lab::results::RunResult;
use pyo3::prelude::*;

use crate::enter::enter;
use crate::errors::{Class, Failure};

/// How often folds are dealt out, where nothing else is said.
#[pyfunction]
pub fn repeats(quick: bool) -> u64 {
    experiment::repeats(quick)
}

/// The runs of `deepsade reproduce` with these options.
#[pyclass(frozen, module = "deepsade._core")]
pub struct Experiment {
    plan: experiment::Experiment,
    stock: Arc<Stock>,
}

/// results.jsonl, open for more.
#[pyclass(module = "deepsade._core")]
pub struct Results {
    ledger: Ledger,
}

/// What this process has read, so that runs of one use case share it.
fn stock(data: &Path) -> Arc<Stock> {
    static READ: Mutex<Option<(PathBuf, Arc<Stock>)>> = Mutex::new(None);
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    match &*read {
        Some((folder, stock)) if folder == data => stock.clone(),
        _ => read.insert((data.into(), Arc::new(Stock::new(data)))).1.clone(),
    }
}

#[pymethods]
impl Experiment {
    /// Lists the runs; options as on the command line, `data` the folder of the data files.
    #[new]
    #[pyo3(signature = (data, cases, methods, repeats, folds, quick, seed))]
    fn new(
        data: PathBuf,
        cases: Vec<String>,
        methods: Vec<String>,
        repeats: u64,
        folds: usize,
        quick: bool,
        seed: u64,
    ) -> PyResult<Self> {
        let plan =
            experiment::Experiment::new(&Options { cases, methods, repeats, folds, quick, seed }).map_err(Failure::from)?;
        Ok(Self { plan, stock: stock(&data) })
    }

    /// How many runs there are.
    fn __len__(&self) -> usize {
        self.plan.runs.len()
    }

    /// About how many seconds each run takes.
    fn costs(&self) -> Vec<f64> {
        self.plan.runs.iter().map(|r| r.cost).collect()
    }

    /// Does a run; its line of results.jsonl leaves.
    fn run(&self, py: Python<'_>, index: usize) -> PyResult<String> {
        enter(py, |signals| {
            let run =
                self.plan.runs.get(index).ok_or_else(|| Failure::new(Class::Settings, format!("there is no run {index}")))?;
            // Only Ctrl-C ends a run early, and then its own error is raised.
            let result = measure(&self.plan, run, &self.stock, None, &|| signals.pressed())?.unwrap_or_default();
            Ok(serde_json::to_string(&result).expect("plain data becomes JSON"))
        })
    }

    /// Opens the results in a folder, which must be empty unless `resume`.
    fn results(&self, out: PathBuf, resume: bool) -> PyResult<Results> {
        let open = || Ledger::open(&out, &Identity::new(&self.plan, &self.stock)?, resume);
        Ok(Results { ledger: open().map_err(Failure::from)? })
    }
}

#[pymethods]
impl Results {
    /// Which runs are not done yet.
    fn left(&self, experiment: &Experiment) -> Vec<usize> {
        let plan = &experiment.plan;
        (0..plan.runs.len()).filter(|k| !self.ledger.has(plan, &plan.runs[*k])).collect()
    }

    /// Writes a line down at once.
    fn append(&mut self, line: &str) -> PyResult<()> {
        let result: RunResult = serde_json::from_str(line).map_err(|e| Failure::new(Class::Data, e))?;
        Ok(self.ledger.append(&result).map_err(Failure::from)?)
    }
}
