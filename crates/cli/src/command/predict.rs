//! `deepsade predict`: a model and rows enter, a CSV of predictions leaves.

mod given;

use std::borrow::Cow;
use std::cell::Cell;
use std::path::Path;

use anyhow::{Context, bail};
use deepsade_data::{Columns, Kind, ReadOptions, RowStatus, Table, TableValue, encode_inputs, read_table};
use deepsade_engine::artifact::{model_rules, read_model, write_whole};
use deepsade_engine::train::TrainSettings;
use deepsade_net::Matrix;
use deepsade_output::predict;
use deepsade_output::printed::Printed;
use deepsade_output::reader::{Output, Probabilities};
use deepsade_spec::{Schema, Task, shown};
use serde_json::json;

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
    let separator = match args.separator {
        Some(c) => Some(
            u8::try_from(c).ok().filter(u8::is_ascii).with_context(|| format!("--separator '{c}' is not an ASCII character"))?,
        ),
        None => None,
    };
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

/// A name that no spreadsheet takes for a formula: behind an apostrophe, unless it is a number. Such a name that begins with
/// apostrophes already gets one more, so that taking one away gives the name back. Full-width signs and signs behind blanks or
/// characters without width count, too: spreadsheets read them alike.
fn as_text(name: &str) -> Cow<'_, str> {
    const SIGNS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    let unseen =
        |c: char| matches!(c, '\'' | '\u{200c}' | '\u{200d}') || !c.is_control() && (c.is_whitespace() || shown::hidden(c));
    let formula = name.trim_start_matches(unseen).starts_with(SIGNS);
    if formula && name.trim().parse::<f64>().is_err() { Cow::Owned(format!("'{name}")) } else { Cow::Borrowed(name) }
}

/// What is printed beside predictions.
struct Told<'a> {
    /// Names of the columns that are passed on.
    ids: &'a [String],
    status: &'a [RowStatus],
    scores: Option<&'a Matrix>,
    probabilities: Option<&'a [Option<Probabilities>]>,
}

fn predictions(
    schema: &Schema,
    y: &Matrix,
    ids: &impl Fn(usize) -> Vec<String>,
    in_words: &impl Fn(usize) -> Vec<String>,
    told: &Told,
) -> anyhow::Result<Vec<u8>> {
    let Told { status, scores, probabilities, .. } = *told;
    let mut csv = csv::Writer::from_writer(Vec::new());
    let outputs = schema.task.outputs();
    let named = predict::columns(&schema.task);
    let words = named.len();
    let mut header: Vec<String> = told.ids.iter().chain(&named).cloned().collect();
    header.extend(["in_domain".into(), "outside".into()]);
    if scores.is_some() {
        let prefix = if matches!(schema.task, Task::Regression { .. }) { "raw " } else { "" };
        header.extend((0..outputs).map(|j| format!("{prefix}{}", schema.task.output_name(j))));
    }
    if probabilities.is_some() {
        header.push("probability".into());
        header.extend(schema.task.classes().unwrap_or(&named).iter().map(|name| format!("p('{name}')")));
    }
    csv.write_record(header.iter().map(|name| as_text(name).into_owned()))?;
    for (row, status) in status.iter().enumerate() {
        let mut record: Vec<String> = ids(row).iter().map(|id| as_text(id).into_owned()).collect();
        let said = match status {
            // Without all its inputs a row has no prediction.
            RowStatus::Missing { .. } => vec![String::new(); words],
            // Nor has a row for which no output obeys the rules.
            _ if y.row(row).iter().any(|v| v.is_nan()) => vec![String::new(); words],
            _ => in_words(row).iter().map(|word| as_text(word).into_owned()).collect(),
        };
        record.extend::<Vec<String>>(said);
        record.push((*status == RowStatus::Inside).to_string());
        record.push(feature(*status).map(|f| as_text(&schema.features[f].name).into_owned()).unwrap_or_default());
        if let Some(scores) = scores {
            record.extend(scores.row(row).iter().map(f32::to_string));
        }
        if let Some(probabilities) = probabilities {
            match &probabilities[row] {
                Some(p) => record.extend(std::iter::once(&p.set).chain(&p.labels).map(f64::to_string)),
                None => record.extend(vec![String::new(); 1 + outputs]),
            }
        }
        csv.write_record(&record)?;
    }
    Ok(csv.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::as_text;

    #[test]
    fn a_name_is_never_a_formula_and_can_be_had_back() {
        let plain = ["yes", "", "-1", "+1", "-2.5e3", "a=b", "o'clock", "'quoted'", " -1e3", " x"];
        plain.iter().for_each(|name| assert_eq!(as_text(name), *name));
        for name in [
            "=HYPERLINK(\"http://x\")",
            "+1+cmd|' /C calc'!A0",
            "-2+3",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "'=1",
            "''@a",
            "＝1+1",
            "＠a",
            "\u{200b}=1",
            "\u{feff}'+a",
            "\u{3164}\u{200d}=1",
            " =1",
            "\u{a0}+x",
        ] {
            let cell = as_text(name);
            assert!(cell.starts_with('\''), "{cell}");
            assert_eq!(&cell[1..], name);
        }
    }
}
