//! A table of used columns with gaps enters; one without leaves, or the error that says where the gaps are.

use super::error::DataError;
use super::settings::MissingPolicy;
use super::table::{Column, MISSING_CODE, Table};

/// What was done about missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MissingReport {
    /// Rows left out.
    pub dropped_rows: usize,
    /// Values filled in.
    pub imputed_values: usize,
}

/// Applies the policy to every column of `table`; `targets` are never imputed, a row without one is left out.
pub fn settle_missing(table: &mut Table, targets: &[String], policy: MissingPolicy) -> Result<MissingReport, DataError> {
    match policy {
        MissingPolicy::Error => refuse(table).map(|()| MissingReport::default()),
        MissingPolicy::Drop => drop_rows(table, |_| true),
        MissingPolicy::Impute => {
            let report = drop_rows(table, |name| targets.iter().any(|t| t == name))?;
            Ok(MissingReport { imputed_values: impute(table)?, ..report })
        }
    }
}

fn refuse(table: &Table) -> Result<(), DataError> {
    let (mut first, mut count, mut rows) = (None, 0, 0);
    for row in 0..table.rows() {
        let mut gaps = (0..table.columns.len()).filter(|&c| table.columns[c].is_missing(row)).peekable();
        if let Some(&c) = gaps.peek() {
            first.get_or_insert((row, c));
            rows += 1;
            count += gaps.count();
        }
    }
    match first {
        None => Ok(()),
        Some((row, c)) => Err(DataError::Missing { row: table.row_numbers[row], column: table.names[c].clone(), count, rows }),
    }
}

fn drop_rows(table: &mut Table, counts: impl Fn(&str) -> bool) -> Result<MissingReport, DataError> {
    let rows = table.rows();
    let mut keep = vec![true; rows];
    for (_, column) in table.names.iter().zip(&table.columns).filter(|(name, _)| counts(name)) {
        for (row, keep) in keep.iter_mut().enumerate() {
            *keep &= !column.is_missing(row);
        }
    }
    let kept = keep.iter().filter(|k| **k).count();
    if kept == 0 {
        return Err(DataError::AllDropped { rows });
    }
    if kept < rows {
        table.keep_rows(&keep);
    }
    Ok(MissingReport { dropped_rows: rows - kept, imputed_values: 0 })
}

fn impute(table: &mut Table) -> Result<usize, DataError> {
    let mut filled = 0;
    for (name, column) in table.names.iter().zip(&mut table.columns) {
        let found = match column {
            Column::Number(values) => median(values).map(|m| {
                for v in values.iter_mut().filter(|v| v.is_nan()) {
                    *v = m;
                    filled += 1;
                }
            }),
            Column::Text { levels, codes } => most_frequent(levels.len(), codes).map(|most| {
                for code in codes.iter_mut().filter(|c| **c == MISSING_CODE) {
                    *code = most;
                    filled += 1;
                }
            }),
            Column::Bytes { .. } => Some(()),
        };
        if found.is_none() {
            return Err(DataError::NothingToImpute { column: name.clone() });
        }
    }
    Ok(filled)
}

/// The middle value; of two middle values the smaller, so that an integer stays one.
fn median(values: &[f64]) -> Option<f64> {
    let mut present: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    if present.is_empty() {
        return None;
    }
    let middle = (present.len() - 1) / 2;
    Some(*present.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// The commonest level; of equally common ones the first.
fn most_frequent(levels: usize, codes: &[u32]) -> Option<u32> {
    let mut counts = vec![0_usize; levels];
    for &code in codes.iter().filter(|c| **c != MISSING_CODE) {
        counts[code as usize] += 1;
    }
    let most = *counts.iter().max()?;
    counts.iter().position(|&n| n == most).map(|i| i as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: f64 = f64::NAN;

    fn table() -> Table {
        Table {
            names: ["a", "t", "y"].map(String::from).to_vec(),
            columns: vec![
                Column::Number(vec![4.0, GAP, 1.0, 3.0, GAP]),
                Column::Text { levels: vec!["p".into(), "q".into()], codes: vec![1, 0, 1, MISSING_CODE, 0] },
                Column::Number(vec![0.0, 1.0, 1.0, 0.0, GAP]),
            ],
            row_numbers: vec![1, 2, 3, 4, 5],
        }
    }

    fn targets() -> Vec<String> {
        vec!["y".into()]
    }

    #[test]
    fn error_names_the_first_place_the_counts_and_the_ways_out() {
        let message = settle_missing(&mut table(), &targets(), MissingPolicy::Error).unwrap_err().to_string();
        for part in ["4 missing values in 3 rows", "row 2, column 'a'", "missing = \"drop\"", "missing = \"impute\""] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn drop_leaves_full_rows() {
        let mut t = table();
        let report = settle_missing(&mut t, &targets(), MissingPolicy::Drop).unwrap();
        assert_eq!(report, MissingReport { dropped_rows: 3, imputed_values: 0 });
        assert_eq!(t.row_numbers, [1, 3]);
        assert_eq!(t.columns[1], Column::Text { levels: vec!["q".into()], codes: vec![0, 0] });
    }

    #[test]
    fn impute_fills_features_and_drops_rows_without_a_target() {
        let mut t = table();
        let report = settle_missing(&mut t, &targets(), MissingPolicy::Impute).unwrap();
        assert_eq!(report, MissingReport { dropped_rows: 1, imputed_values: 2 });
        // The row without a target is gone before the median (1, 3, 4) and the commonest level (q, p, q) are taken.
        assert_eq!(t.columns[0], Column::Number(vec![4.0, 3.0, 1.0, 3.0]));
        assert_eq!(t.columns[1], Column::Text { levels: vec!["p".into(), "q".into()], codes: vec![1, 0, 1, 1] });
    }

    #[test]
    fn median_of_an_even_count_is_a_value_of_the_column() {
        assert_eq!(median(&[5.0, 1.0, GAP, 2.0, 9.0]), Some(2.0));
        assert_eq!(median(&[GAP]), None);
    }

    #[test]
    fn empty_columns_are_refused_by_name() {
        let mut t = table();
        t.columns[0] = Column::Number(vec![GAP; 5]);
        let message = settle_missing(&mut t.clone(), &targets(), MissingPolicy::Impute).unwrap_err().to_string();
        assert!(message.contains("column 'a' has no values"), "{message}");
        let message = settle_missing(&mut t, &targets(), MissingPolicy::Drop).unwrap_err().to_string();
        assert!(message.contains("no rows are left: each of the 5 rows"), "{message}");
    }
}
