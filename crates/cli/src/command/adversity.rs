//! `deepsade adversity`: a network, rules and rows enter; the share of rows with a counter-example near them leaves.

use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use deepsade_data::{CheckedData, ReadOptions, RowStatus, Table, encode, encode_inputs, read_table};
use deepsade_engine::adversity::{Counts, Near, adversity, as_json, is_radius, near_as_json};
use deepsade_engine::left_out::pairs_in_words;
use deepsade_engine::verify::words::example_in_words;
use deepsade_net::Matrix;

use deepsade_engine::subject::{self, Subject, SubjectFiles};

use crate::args::AdversityArgs;
use crate::interrupt::Interrupt;
use crate::outcome::{Exit, emit};
use crate::progress::RowBar;

/// Runs the command.
pub fn run(args: &AdversityArgs) -> anyhow::Result<Exit> {
    if !is_radius(args.radius) {
        bail!("--radius must be a number from 0 on");
    }
    let settings = super::verify::settings(args.timeout, args.threads)?;
    let files = SubjectFiles {
        model: &args.model,
        rules: &args.rules,
        data: args.data.as_deref(),
        output: args.output.as_deref(),
        rows: args.data.as_ref().is_none_or(|d| d.is_dir()),
    };
    let subject = subject::read(&files)?;
    subject.notes().into_iter().for_each(|note| eprintln!("note: {note}"));
    super::note_rounding(&subject.model.inexact);
    let (x, numbers, outside) = rows(args, &subject)?;
    if x.rows == 0 {
        bail!("no row of the data lies in the domain ({outside} lie outside)");
    }
    let (interrupt, bar) = (Interrupt::listen(), RowBar::new(args.quiet, x.rows));
    let started = Instant::now();
    let spec = &subject.spec;
    let found = adversity(spec, &subject.model, &x, args.radius, &settings, &|done| bar.done(done), &|| interrupt.pressed())?;
    bar.finish();
    let seconds = started.elapsed().as_secs_f64();
    let Counts { broken, undecided, .. } = Counts::of(&found);
    let first = found.iter().find_map(|n| if let Near::Broken(example) = n { Some(example) } else { None });
    let share = |n: usize| 100.0 * n as f64 / x.rows as f64;
    if args.json {
        let near: Vec<_> = numbers.iter().zip(&found).map(|(row, near)| near_as_json(spec, *row, near)).collect();
        emit(&(serde_json::to_string_pretty(&as_json(&near, args.radius, outside, seconds))? + "\n"))?;
    } else {
        let mut out = format!(
            "adversity {:.2} %: {broken} of {} rows have a counter-example within {} ({seconds:.1} s)\n",
            share(broken),
            x.rows,
            args.radius
        );
        if undecided > 0 {
            out += &format!("undecided: {undecided} rows, so at most {:.2} %\n", share(broken + undecided));
        }
        if outside > 0 {
            out += &format!("not looked at: {outside} rows outside the domain or incomplete\n");
        }
        if let Some(pairs) = pairs_in_words(spec) {
            out += &format!("not looked at: {pairs}; `deepsade verify` decides them\n");
        }
        if let Some(example) = first {
            out += &format!("the first:\n{}", example_in_words(&spec.shown(), example));
        }
        emit(&out)?;
    }
    Ok(if undecided > 0 { Exit::Unknown } else { Exit::Success })
}

/// The rows inside the domain, their numbers in the file (the first row of data is 1), and how many are not inside.
fn rows(args: &AdversityArgs, subject: &Subject) -> anyhow::Result<(Matrix, Vec<u64>, usize)> {
    let schema = &subject.spec.schema;
    match (&args.data, &subject.loaded) {
        (Some(path), _) if !path.is_dir() => {
            let (table, inside) = inside(path, subject, &ReadOptions::for_schema(schema))?;
            Ok((encode_inputs(&table, schema)?.x, table.row_numbers.clone(), inside.iter().filter(|i| !**i).count()))
        }
        (_, Some(loaded)) => Ok((encode(&loaded.table, schema)?.x, loaded.table.row_numbers.clone(), 0)),
        _ => bail!("{}: no rows: give --data, or name a file under [data]", args.rules.display()),
    }
}

/// The rows of a file that lie in the domain, and for each row of the file whether it does.
pub fn inside(path: &Path, subject: &Subject, options: &ReadOptions) -> anyhow::Result<(Table, Vec<bool>)> {
    let schema = &subject.spec.schema;
    let separator = subject.problem.data.as_ref().and_then(CheckedData::delimiter);
    let options = ReadOptions { separator, ..options.clone() };
    let mut table = read_table(path, &options, &mut |_| {})?;
    let inside: Vec<bool> = encode_inputs(&table, schema)?.status.iter().map(|s| *s == RowStatus::Inside).collect();
    table.keep_rows(&inside);
    Ok((table, inside))
}
