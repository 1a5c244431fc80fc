//! Any text as a rule file: an error, or a problem that is explained and stated again in full, where it needs no data.
#![no_main]

use std::path::Path;

use deepsade_engine::explain::{explain, words};
use deepsade_engine::problem::Problem;
use deepsade_spec::print;
use libfuzzer_sys::fuzz_target;

/// A longer text is a longer list of the same.
const LONGEST: usize = 600;
/// Explaining searches, which may take its time on what is longer.
const LONGEST_EXPLAINED: usize = 300;

fuzz_target!(|text: &str| {
    if text.len() > LONGEST {
        return;
    }
    let problem = match Problem::parse(text, Path::new("rules.toml")) {
        Ok(problem) => problem,
        Err(error) => return drop(error.to_string()),
    };
    // Files that a text names are somebody's.
    if problem.data.is_some() || problem.network().trunk.is_some() {
        return;
    }
    let spec = match problem.load(&mut |_| {}) {
        Ok((spec, _)) => spec,
        Err(error) => return drop(error.to_string()),
    };
    let length: usize = spec.rules.iter().map(|rule| print::formula(&rule.claim, &spec.schema).len()).sum();
    if length <= LONGEST_EXPLAINED {
        let explained = explain(&spec, None, problem.network(), problem.train());
        let _ = words::in_words(&explained, &spec);
    }
    let stated = problem.stated(&spec.schema);
    let again = Problem::parse(&stated, Path::new("rules.toml")).unwrap_or_else(|e| panic!("{e}\n{stated}"));
    let (again, _) = again.load(&mut |_| {}).unwrap_or_else(|e| panic!("{e}\n{stated}"));
    assert_eq!(again.schema, spec.schema, "{stated}");
});
