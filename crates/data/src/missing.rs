//! A table of used columns with gaps enters; one without leaves, with what was filled in for each feature, or the error that says where
//! the gaps are.

use std::borrow::Cow;

use deepsade_spec::{Domain, Fill, Filled, Schema, indicator_of, nearest_multiple};

use super::error::{DataError, OverrideProblem};
use super::gap::{Impute, MISSING_LEVEL, Missing};
use super::overrides::{FeatureKind, FeatureOverride, LARGEST_INTEGER, Overrides, stepped};
use super::settings::{DataSettings, MissingPolicy};
use super::table::{Column, MISSING_CODE, Table, TableValue};

/// What was done about missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MissingReport {
    /// Rows left out.
    pub dropped_rows: usize,
    /// Values filled in.
    pub imputed_values: usize,
}

/// Settles every column of `table`: features that are filled in, by their own statement or by `[data]`, are, and get a column that says
/// where, if that is asked for; gaps in the others are treated by the policy. Targets are never filled in.
pub fn settle_missing(
    table: &mut Table,
    targets: &[String],
    data: &DataSettings,
    overrides: &Overrides,
) -> Result<(MissingReport, Vec<Filled>), DataError> {
    let policy = data.missing_policy();
    let is_target = |name: &str| targets.iter().any(|t| t == name);
    let how = |name: &str, column: &Column| {
        let stated = overrides.get(name).and_then(|o| o.missing.clone());
        let default = (policy == MissingPolicy::Impute && !matches!(column, Column::Bytes { .. }))
            .then(|| Missing::Found(data.imputes_by()));
        stated.or(default).filter(|_| !is_target(name))
    };
    let plan: Vec<Option<Missing>> = table.names.iter().zip(&table.columns).map(|(name, column)| how(name, column)).collect();
    let open: Vec<bool> = plan.iter().map(Option::is_none).collect();
    let dropped_rows = match policy {
        MissingPolicy::Error => refuse(table, &open).map(|()| 0)?,
        MissingPolicy::Drop | MissingPolicy::Impute => drop_rows(table, &open)?,
    };
    let mut filled = Vec::new();
    for (c, how) in plan.into_iter().enumerate() {
        let Some(how) = how else { continue };
        let (name, column) = (&table.names[c], &table.columns[c]);
        let stated = overrides.get(name).cloned().unwrap_or_default();
        let with = value(name, column, &how, &stated)?;
        let number = matches!(with, Fill::Number(_)) || stated.order.is_some();
        let gaps = (0..column.len()).any(|row| column.is_missing(row));
        let indicator = stated.indicator.unwrap_or(data.indicator && number && gaps);
        if indicator && !number {
            return Err(DataError::Override { name: name.clone(), problem: OverrideProblem::IndicatorOfCategory });
        }
        if indicator && table.names.contains(&indicator_of(name)) {
            return Err(DataError::Override { name: name.clone(), problem: OverrideProblem::IndicatorTaken });
        }
        let markers = stated.missing_values.beside(Some(&data.missing_values));
        filled.push(Filled { feature: name.clone(), with, indicator, markers });
    }
    let imputed_values = fill(table, &filled);
    Ok((MissingReport { dropped_rows, imputed_values }, filled))
}

/// The table with the gaps of a schema filled in, and with its indicators; where it has none of either, as it is.
pub fn with_gaps_filled<'t>(table: &'t Table, schema: &Schema) -> Cow<'t, Table> {
    if schema.filled.is_empty() {
        return Cow::Borrowed(table);
    }
    let mut copy = table.clone();
    fill(&mut copy, &schema.filled);
    Cow::Owned(copy)
}

/// Fills in gaps and adds the columns of indicators that are not there; how many values were missing.
fn fill(table: &mut Table, filled: &[Filled]) -> usize {
    let mut count = 0;
    for Filled { feature, with, indicator, .. } in filled {
        let Some(c) = table.names.iter().position(|n| n == feature) else { continue };
        if *indicator && !table.names.contains(&indicator_of(feature)) {
            let flags = (0..table.rows()).map(|row| f64::from(u8::from(table.columns[c].is_missing(row)))).collect();
            table.names.push(indicator_of(feature));
            table.columns.push(Column::Number(flags));
        }
        match (&mut table.columns[c], with) {
            (Column::Number(values), Fill::Number(v)) => {
                for value in values.iter_mut().filter(|value| value.is_nan()) {
                    *value = f64::from(*v);
                    count += 1;
                }
            }
            (Column::Text { levels, codes }, Fill::Level(level)) if codes.contains(&MISSING_CODE) => {
                let code = levels.iter().position(|l| l == level).unwrap_or_else(|| {
                    levels.push(level.clone());
                    levels.len() - 1
                });
                for code_of_row in codes.iter_mut().filter(|code| **code == MISSING_CODE) {
                    *code_of_row = code as u32;
                    count += 1;
                }
            }
            _ => {}
        }
    }
    count
}

/// What is read where a column has no value.
fn value(name: &str, column: &Column, how: &Missing, stated: &FeatureOverride) -> Result<Fill, DataError> {
    let wrong = |problem| DataError::Override { name: name.to_owned(), problem };
    let nothing = || DataError::NothingToImpute { column: name.to_owned() };
    let found = match (how, column) {
        (Missing::Stated(fill), _) => fill.clone(),
        (Missing::OwnLevel, Column::Text { .. }) => Fill::Level(MISSING_LEVEL.into()),
        (Missing::OwnLevel, _) => return Err(wrong(OverrideProblem::LevelOfNumber)),
        (Missing::Found(Impute::Median | Impute::Mean), Column::Text { .. }) if stated.missing.is_some() => {
            return Err(wrong(OverrideProblem::MiddleOfCategory));
        }
        (Missing::Found(_), Column::Text { levels, codes }) => {
            let most = most_frequent(levels.len(), codes).ok_or_else(nothing)?;
            Fill::Level(levels[most as usize].clone())
        }
        (Missing::Found(how), column) => {
            let mut values: Vec<f64> = (0..column.len())
                .filter_map(|row| match column.value(row) {
                    TableValue::Number(v) => Some(v),
                    _ => None,
                })
                .collect();
            if values.is_empty() {
                return Err(nothing());
            }
            let v = match how {
                Impute::Median | Impute::None => median(&mut values),
                Impute::Mean => to_grid(values.iter().sum::<f64>() / values.len() as f64, stated),
                Impute::MostFrequent => commonest(&mut values),
            };
            // Adding zero turns -0 into 0.
            Fill::Number(v as f32 + 0.0)
        }
    };
    // Of what is stated: a value beside its range must not be told as one of the data.
    let domain = stated.stated_domain().or(match (stated.kind, stated.step) {
        (Some(FeatureKind::Integer), _) => Some(Domain::WHOLE),
        (_, Some(step)) => Some(stepped(-LARGEST_INTEGER * step, LARGEST_INTEGER * step, step)),
        _ => None,
    });
    let fits = match (&domain, column) {
        (Some(domain), _) => found.number(domain).is_some() || found.level(domain).is_some(),
        (None, Column::Text { .. }) => matches!(found, Fill::Level(_)),
        (None, _) => matches!(found, Fill::Number(v) if v.is_finite()),
    };
    let shown = || domain.map_or_else(|| format!("the column holds {}", column.kind()), |d| d.in_words());
    if fits { Ok(found) } else { Err(wrong(OverrideProblem::FillOutside { value: found.to_string(), domain: shown() })) }
}

/// The nearest whole number, or multiple, where a feature has only these.
fn to_grid(v: f64, stated: &FeatureOverride) -> f64 {
    nearest_multiple(v, if stated.kind == Some(FeatureKind::Integer) { Some(1.0) } else { stated.step })
}

fn refuse(table: &Table, open: &[bool]) -> Result<(), DataError> {
    let (mut first, mut count, mut rows) = (None, 0, 0);
    for row in 0..table.rows() {
        let mut gaps = (0..table.columns.len()).filter(|&c| open[c] && table.columns[c].is_missing(row)).peekable();
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

fn drop_rows(table: &mut Table, open: &[bool]) -> Result<usize, DataError> {
    let rows = table.rows();
    let mut keep = vec![true; rows];
    for (column, _) in table.columns.iter().zip(open).filter(|(_, open)| **open) {
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
    Ok(rows - kept)
}

/// The value in the middle; of two the smaller, so that it is a value of the column.
fn median(values: &mut [f64]) -> f64 {
    let middle = (values.len() - 1) / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The commonest value; of equally common ones the smallest.
fn commonest(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let groups = values.chunk_by(|a, b| a == b);
    // Of several `max_by_key` takes the last.
    groups.rev().max_by_key(|group| group.len()).map_or(0.0, |group| group[0])
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
#[path = "missing/tests.rs"]
mod tests;
