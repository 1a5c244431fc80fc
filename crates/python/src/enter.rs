//! Work enters, its result leaves: without the interpreter's lock, stopped by Ctrl-C, errors as Python knows them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use std::time::Instant;

use deepsade_spec::shown;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::Failure;

/// Signals are asked for no more often than this.
const EVERY_MS: u64 = 50;

/// Whether Python wants the work to stop, and why.
pub struct Signals {
    /// Who asks Python: of threads that take turns one that may not would ask in its stead.
    thread: ThreadId,
    begun: Instant,
    asked: AtomicU64,
    stop: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Signals {
    fn new() -> Self {
        Self {
            thread: thread::current().id(),
            begun: Instant::now(),
            asked: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            error: Mutex::new(None),
        }
    }

    /// Whether to stop. Python handles signals on its main thread alone; on threads of ours this only repeats what is known.
    pub fn pressed(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return true;
        }
        if thread::current().id() != self.thread {
            return false;
        }
        let now = self.begun.elapsed().as_millis() as u64;
        if now < self.asked.load(Ordering::Relaxed) + EVERY_MS {
            return false;
        }
        self.asked.store(now, Ordering::Relaxed);
        if let Err(error) = Python::attach(asked) {
            self.fail(error);
        }
        self.stop.load(Ordering::Relaxed)
    }

    /// Stops the work with an error of Python's.
    pub fn fail(&self, error: PyErr) {
        self.stop.store(true, Ordering::Relaxed);
        self.error.lock().expect("no thread panics while it holds the error").get_or_insert(error);
    }
}

/// What Python's signal handlers say.
fn asked(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Runs the work.
pub fn enter<T: Send>(py: Python<'_>, work: impl FnOnce(&Signals) -> Result<T, Failure> + Send) -> PyResult<T> {
    let signals = Signals::new();
    // An invariant of ours that broke is an error like others: Python's own way would end what catches `Exception`.
    let result = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(&signals))));
    match signals.error.into_inner().expect("no thread panics while it holds the error") {
        Some(error) => Err(error),
        None => match result {
            Ok(result) => result.map_err(PyErr::from),
            Err(panic) => Err(PyRuntimeError::new_err(format!("a fault of deepsade itself: {}", reason(&*panic)))),
        },
    }
}

fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    shown::message(text.unwrap_or("it did not say which"))
}
