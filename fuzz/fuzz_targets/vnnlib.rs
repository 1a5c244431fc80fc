//! Any text as a VNN-LIB property: an error, or rules that are written as a property again, which is read.
#![no_main]

use deepsade_engine::verify::vnnlib;
use libfuzzer_sys::fuzz_target;

/// A longer text is a longer list of the same.
const LONGEST: usize = 1500;

const REFUSED: [&str; 2] = ["no assertion mentions an output", "no input satisfies"];

fuzz_target!(|text: &str| {
    if text.len() > LONGEST {
        return;
    }
    let property = match vnnlib::read(text) {
        Ok(property) => property,
        Err(error) => return drop(error.to_string()),
    };
    if let Ok(written) = vnnlib::write(&property.spec) {
        let again = match vnnlib::read(&written) {
            Ok(again) => again,
            // A set that outputs do not limit, or that is empty, is no question about a network; it is refused with these words.
            Err(e) if REFUSED.iter().any(|words| e.to_string().contains(words)) => return,
            Err(e) => panic!("{e}\n{written}"),
        };
        // The inputs of the unsafe set may be stated more closely, never with other columns.
        let sizes = |p: &vnnlib::Property| (p.schema.features.len(), p.schema.task.outputs());
        assert_eq!(sizes(&again), sizes(&property), "{written}");
    }
});
