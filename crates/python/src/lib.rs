//! The native half of the Python package: numpy arrays, Arrow frames and JSON enter, the engine runs, arrays and JSON leave.
//!
//! Everything goes through `enter::enter`, which frees the interpreter's lock, honours Ctrl-C and turns errors into Python's.

// PyO3 hands arguments over by value.
#![allow(clippy::needless_pass_by_value)]

mod array;
mod enter;
mod errors;
mod examine;
mod fit;
mod layer;
mod model;
mod reproduce;
#[path = "../../cli/src/rule_error.rs"]
mod rule_error;
mod shield;
mod subject;
mod table;

use deepsade_engine::{adversity, files, verify};
use deepsade_lab::reproduce::experiment::FOLDS;
use deepsade_output::make::classes::FORBIDDEN;
use pyo3::prelude::*;

/// The native half of `deepsade`.
#[pymodule(name = "_core")]
fn core_module(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("MODEL", files::MODEL)?;
    m.add("RULES", files::RULES)?;
    m.add("CERTIFICATE", files::CERTIFICATE)?;
    m.add("SUMMARY", files::SUMMARY)?;
    m.add("LOG", files::LOG)?;
    m.add("FORBIDDEN", FORBIDDEN)?;
    m.add("RADIUS", adversity::RADIUS)?;
    m.add("ADVERSITY_SECONDS", adversity::SECONDS)?;
    m.add("VERIFY_SECONDS", verify::SECONDS)?;
    m.add("FOLDS", FOLDS)?;
    errors::add(m)?;
    m.add_class::<table::Table>()?;
    m.add_class::<model::Model>()?;
    m.add_class::<fit::Fitted>()?;
    m.add_class::<shield::Shielded>()?;
    m.add_class::<layer::Rules>()?;
    m.add_class::<layer::Held>()?;
    m.add_class::<reproduce::Experiment>()?;
    m.add_function(wrap_pyfunction!(reproduce::repeats, m)?)?;
    m.add_class::<reproduce::Results>()?;
    m.add_function(wrap_pyfunction!(fit::fit, m)?)?;
    m.add_function(wrap_pyfunction!(fit::explain, m)?)?;
    m.add_function(wrap_pyfunction!(fit::decoded, m)?)?;
    m.add_function(wrap_pyfunction!(shield::shield, m)?)?;
    m.add_function(wrap_pyfunction!(examine::check, m)?)?;
    m.add_function(wrap_pyfunction!(examine::verify, m)?)?;
    m.add_function(wrap_pyfunction!(examine::adversity, m)?)?;
    m.add_function(wrap_pyfunction!(examine::adversity_index, m)?)?;
    m.add_function(wrap_pyfunction!(examine::repair, m)?)?;
    m.add_function(wrap_pyfunction!(examine::settle, m)?)?;
    m.add_function(wrap_pyfunction!(examine::report, m)?)?;
    m.add_function(wrap_pyfunction!(examine::write_proof, m)?)?;
    m.add_function(wrap_pyfunction!(examine::write_run, m)?)?;
    m.add_function(wrap_pyfunction!(examine::occupied, m)?)?;
    m.add_function(wrap_pyfunction!(examine::write_whole, m)?)?;
    m.add_function(wrap_pyfunction!(subject::settings, m)?)?;
    m.add_function(wrap_pyfunction!(subject::stated, m)?)?;
    m.add_function(wrap_pyfunction!(subject::number_text, m)?)?;
    m.add_function(wrap_pyfunction!(subject::spelled_name, m)?)?;
    m.add_function(wrap_pyfunction!(subject::spelled_level, m)?)?;
    m.add_function(wrap_pyfunction!(subject::encoded, m)?)?;
    m.add_function(wrap_pyfunction!(subject::orderings, m)?)?;
    Ok(())
}
