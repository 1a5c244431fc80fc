//! Any bytes as a data file: an error, or a table that becomes rows of a problem.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use deepsade_data::{ReadOptions, encode, encode_inputs, read_table};
use deepsade_engine::problem::Problem;
use libfuzzer_sys::fuzz_target;

static PATHS: LazyLock<[PathBuf; 2]> = LazyLock::new(|| {
    ["csv", "csv.gz"].map(|end| std::env::temp_dir().join(format!("deepsade-fuzz-{}.{end}", std::process::id())))
});

const KINDS: [&str; 5] = ["regression", "binary", "multiclass", "multilabel", "ranking"];

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, content)) = bytes.split_first() else { return };
    let choice = usize::from(*choice);
    let path = &PATHS[choice % 2];
    std::fs::write(path, content).expect("a temporary file can be written");
    let separator = [None, Some(b';'), Some(b'\t'), Some(b'"')][choice / 2 % 4];
    let rows = if choice / 8 % 2 == 0 { None } else { Some(2) };
    let table = match read_table(path, &ReadOptions { separator, rows, ..ReadOptions::default() }, &mut |_| {}) {
        Ok(table) => table,
        Err(error) => return drop(error.to_string()),
    };
    let Some(target) = table.names.last() else { return };
    let missing = ["error", "drop", "impute"][choice / 16 % 3];
    let json = format!(
        r#"{{"data": {{"targets": [{}], "missing": "{missing}"}}, "task": {{"kind": "{}"}}}}"#,
        deepsade_spec::json::quoted(target),
        KINDS[choice / 48 % 5]
    );
    let Ok((problem, settings)) = Problem::in_memory(&json) else { return };
    match problem.load_table(table, &settings) {
        Ok((_, loaded)) => {
            let _ = encode(&loaded.table, &loaded.schema);
            encode_inputs(&loaded.table, &loaded.schema).expect("rows that made the schema fit it");
        }
        Err(error) => drop(error.to_string()),
    }
});
