//! Any text as a rule, for each kind of task: an error or a normal form, which prints, has cells, and compiles again to the same.
#![no_main]

use std::ops::ControlFlow;

use deepsade_fuzz::schema;
use deepsade_spec::{RuleText, canonical::canonical, cells::cells, compile, print};
use libfuzzer_sys::fuzz_target;

/// Longer texts repeat what shorter ones do.
const LONGEST: usize = 400;
/// Cells that are looked at.
const CELLS: usize = 1000;

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, text)) = bytes.split_first() else { return };
    let Ok(text) = std::str::from_utf8(&text[..text.len().min(LONGEST)]) else { return };
    let schema = schema(usize::from(*kind));
    let rule = |text: &str| [RuleText { name: "rule".into(), text: text.into() }];
    let spec = match compile(&rule(text), &schema) {
        Ok(spec) => spec,
        Err(errors) => {
            for error in errors {
                assert!(error.span.start <= error.span.end && error.span.end <= text.len(), "{error:?} is a place in {text:?}");
                assert!(text.is_char_boundary(error.span.start) && text.is_char_boundary(error.span.end), "{error:?}: {text:?}");
                let _ = error.to_string();
            }
            return;
        }
    };
    assert!(!canonical(&spec).is_empty());
    let claim = &spec.rules[0].claim;
    let mut seen = 0;
    let _ = cells(claim, &mut |_| {
        seen += 1;
        if seen < CELLS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let _ = print::formula(claim, &schema);
});
