//! Predictions of rows enter, with what is to stand beside them; the text of a CSV file leaves.

use std::borrow::Cow;

use deepsade_data::RowStatus;
use deepsade_net::Matrix;
use deepsade_output::predict;
use deepsade_output::reader::Probabilities;
use deepsade_spec::{Schema, Task, shown};

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
pub(super) struct Told<'a> {
    /// Names of the columns that are passed on.
    pub(super) ids: &'a [String],
    pub(super) status: &'a [RowStatus],
    pub(super) scores: Option<&'a Matrix>,
    pub(super) probabilities: Option<&'a [Option<Probabilities>]>,
}

/// The names of all columns, each once: one of ours whose name a column before it has says whose it is.
fn header(schema: &Schema, named: &[String], told: &Told) -> Vec<String> {
    let mut ours: Vec<String> = vec!["in_domain".into(), "outside".into()];
    if told.scores.is_some() {
        let prefix = if matches!(schema.task, Task::Regression { .. }) { "raw " } else { "" };
        ours.extend((0..schema.task.outputs()).map(|j| format!("{prefix}{}", schema.task.output_name(j))));
    }
    if told.probabilities.is_some() {
        ours.push("probability".into());
        ours.extend(schema.task.classes().unwrap_or(named).iter().map(|name| format!("p('{name}')")));
    }
    let mut header: Vec<String> = told.ids.iter().chain(named).cloned().collect();
    for mut name in ours {
        while header.contains(&name) {
            name = format!("deepsade {name}");
        }
        header.push(name);
    }
    header
}

/// The table of predictions, as the bytes of a CSV file.
pub(super) fn predictions(
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
    let header = header(schema, &named, told);
    csv.write_record(header.iter().map(|name| as_text(name).into_owned()))?;
    for (row, status) in status.iter().enumerate() {
        let mut record: Vec<String> = ids(row).iter().map(|id| as_text(id).into_owned()).collect();
        // Without all its inputs a row has no prediction, nor has one for which no output obeys the rules.
        let blank = matches!(status, RowStatus::Missing { .. }) || y.row(row).iter().any(|v| v.is_nan());
        if blank {
            record.extend(vec![String::new(); words]);
        } else {
            record.extend(in_words(row).iter().map(|word| as_text(word).into_owned()));
        }
        record.push((*status == RowStatus::Inside).to_string());
        record.push(super::feature(*status).map(|f| as_text(&schema.features[f].name).into_owned()).unwrap_or_default());
        if let Some(scores) = scores {
            record.extend(scores.row(row).iter().map(f32::to_string));
        }
        if let Some(probabilities) = probabilities {
            match probabilities[row].as_ref().filter(|_| !blank) {
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
