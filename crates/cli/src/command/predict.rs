//! `deepsade predict`: a model and rows enter, a CSV of predictions leaves.

mod given;
mod written;

use std::cell::Cell;
use std::path::Path;

use anyhow::bail;
use deepsade_data::{Columns, Kind, ReadOptions, RowStatus, Table, TableValue, encode_inputs, read_table};
use deepsade_engine::artifact::{model_rules, read_model, write_whole};
use deepsade_engine::train::TrainSettings;
use deepsade_output::predict;
use deepsade_output::printed::Printed;
use deepsade_output::reader::Output;
use deepsade_spec::{Schema, Task};
use serde_json::json;

use self::written::{Told, predictions};
use crate::args::PredictArgs;
use crate::outcome::{Exit, emit, emit_data};
use crate::progress::ReadBar;

/// Runs the command.
pub fn run(args: &PredictArgs) -> anyhow::Result<Exit> {
    if let Some(out) = &args.out {
        super::not_over(out, &[&args.model, &args.data])?;
    }
    let (model, schema) = read_model(&args.model)?;
    let rows = given::RowsFrom::at(&args.data)?;
    let mut bar = ReadBar::new(args.quiet);
    let separator = args.separator.and_then(|c| u8::try_from(c).ok());
    let options = passing(&args.id, &schema, ReadOptions { separator, ..ReadOptions::for_schema(&schema) })?;
    let table = rows.named(read_table(rows.path(), &options, &mut |p| bar.update(p)))?;
    let mut inputs = encode_inputs(&table, &schema)?;
    let rules = model_rules(&args.model, &model, &schema)?;
    let output = Output::of(&model, &rules)?;
    inputs.put_outside(output.lost(&inputs.x));
    let outside = inputs.status.iter().filter(|s| **s != RowStatus::Inside).count();
    if args.strict
        && let Some(row) = inputs.status.iter().position(|s| *s != RowStatus::Inside)
    {
        bail!(
            "{}: {}; {outside} rows in all are outside the domain",
            args.data.display(),
            why(&table, &schema, inputs.status[row], row)
        );
    }
    let y = output.outputs(&inputs.x);
    let probabilities = match (args.proba, &schema.task) {
        (false, _) => None,
        (true, Task::Regression { .. }) => {
            bail!("--proba: {} predicts numbers, which have no probabilities", args.model.display())
        }
        (true, _) => Some(output.probabilities(&inputs.x, &y, TrainSettings::default().decode_nodes)?),
    };
    let printed = Printed::new(&rules);
    // The outputs of a regression are its predictions, unless they were moved.
    let raw = !matches!(schema.task, Task::Regression { .. }) || output.has_step();
    let scores = (args.scores && raw).then(|| output.scores(&inputs.x));
    let first = schema.first_columns();
    let broken_as_read = Cell::new(0);
    let words = |row: usize| {
        if !matches!(schema.task, Task::Regression { .. }) {
            return predict::in_words(&schema.task, y.row(row));
        }
        let written = |f: usize| match table.column(&schema.features[f].name).map(|c| c.value(row)) {
            Some(TableValue::Number(v)) => v,
            // The place of a level.
            _ => inputs.x.row(row).get(first[f]).copied().map_or(f64::NAN, f64::from),
        };
        let shown = printed.numbers(inputs.x.row(row), y.row(row), &written);
        let broken = !shown.obeys && inputs.status[row] == RowStatus::Inside;
        broken_as_read.set(broken_as_read.get() + usize::from(broken));
        shown.numbers.iter().map(f64::to_string).collect()
    };
    let ids = |row: usize| {
        let written = |name: &String| match table.column(name).map(|c| c.value(row)) {
            Some(TableValue::Missing) | None => String::new(),
            Some(value) => value.to_string(),
        };
        args.id.iter().map(written).collect::<Vec<_>>()
    };
    let told = Told { ids: &args.id, status: &inputs.status, scores: scores.as_ref(), probabilities: probabilities.as_deref() };
    let csv = predictions(&schema, &y, &ids, &words, &told)?;
    match args.out.as_deref().filter(|path| *path != Path::new(given::STANDARD)) {
        Some(path) => write_whole(path, &csv)?,
        None => emit_data(&String::from_utf8(csv)?)?,
    }
    if args.json {
        let counts =
            json!({"rows": table.rows(), "outside_domain": outside, "broken_as_read": broken_as_read.get(), "out": args.out});
        emit(&(serde_json::to_string_pretty(&counts)? + "\n"))?;
    }
    let blank = |row: usize| inputs.status[row] == RowStatus::Inside && y.row(row).iter().any(|v| v.is_nan());
    let blanks = (0..y.rows).filter(|row| blank(*row)).count();
    if blanks > 0 {
        eprintln!(
            "{blanks} rows of the domain have no prediction: no float32 output obeys the rules there, or the network gives none"
        );
    }
    if broken_as_read.get() > 0 && !args.quiet {
        eprintln!(
            "note: in {} rows the rules leave so little room that sums in float64, as 1.2 - 0.4 * 3, break one by their own rounding; \
             there the numbers keep comparisons of two values, and the model's own float32 numbers keep all rules",
            broken_as_read.get()
        );
    }
    if outside > 0 && !args.quiet {
        let first = inputs.status.iter().position(|s| *s != RowStatus::Inside).expect("some row is outside");
        eprintln!(
            "{outside} of {} rows are outside the domain, where nothing is guaranteed (column in_domain); the first: {}",
            table.rows(),
            why(&table, &schema, inputs.status[first], first)
        );
    }
    Ok(if blanks > 0 { Exit::Finding } else { Exit::Success })
}

/// How to read further columns, which are passed on as they are written.
fn passing(ids: &[String], schema: &Schema, options: ReadOptions) -> anyhow::Result<ReadOptions> {
    let (Columns::Only(names), false) = (&options.columns, ids.is_empty()) else { return Ok(options) };
    let taken = predict::columns(&schema.task);
    if let Some(name) = ids.iter().find(|id| taken.contains(id) || ["in_domain", "outside", "probability"].contains(&id.as_str()))
    {
        bail!("--id {name}: the predictions have a column of this name; rename it in the data");
    }
    if let Some((_, name)) = ids.iter().enumerate().find(|(k, id)| ids[..*k].contains(id)) {
        bail!("--id {name} is given twice");
    }
    let passed: Vec<String> = ids.iter().filter(|id| !names.contains(id)).cloned().collect();
    let mut expected = options.expected.clone();
    expected.extend(passed.iter().map(|id| (id.clone(), Kind::Text)));
    Ok(ReadOptions { columns: Columns::Beside { model: names.clone(), further: passed, place: "`--id`" }, expected, ..options })
}

/// Whether two paths lead to one file.
pub fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn feature(status: RowStatus) -> Option<usize> {
    match status {
        RowStatus::Inside => None,
        RowStatus::Outside { feature } | RowStatus::Missing { feature } => Some(feature),
    }
}

fn why(table: &Table, schema: &Schema, status: RowStatus, row: usize) -> String {
    let Some(f) = feature(status) else { return "inside".into() };
    let name = &schema.features[f].name;
    let value = table.column(name).map(|c| c.value(row).to_string()).unwrap_or_default();
    match status {
        RowStatus::Missing { .. } => format!("row {}: '{name}' is missing", table.row_numbers[row]),
        _ => format!("row {}: {name} = {value} is outside its domain", table.row_numbers[row]),
    }
}
