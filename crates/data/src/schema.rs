//! A table, the overrides and the task enter; a [`Schema`] leaves whose domains hold every row.

use std::collections::{BTreeMap, HashSet};

use deepsade_spec::float32::{round_down, round_up};
use deepsade_spec::{Domain, Feature, Fill, Filled, OneHot, Schema, Task, indicator_of};

use super::decision::undecided;
use super::error::{DataError, OverrideProblem};
use super::gap::{MISSING_LEVEL, Missing};
use super::inputs::FeatureEncoder;
use super::levels::MOST_LEVELS;
use super::overrides::{FeatureKind, FeatureOverride, LARGEST_INTEGER, Overrides, stepped};
use super::settings::{DataSettings, MissingPolicy};
use super::table::{Column, Kind, Table, TableValue};
use super::task::TaskSettings;

/// The schema of a table: every column that is no target becomes a feature.
///
/// Domains are the stated ones, else the data's range (rounded outward to float32) or levels.
/// A value outside a stated domain is an error that names its row.
pub fn infer_schema(
    table: &Table,
    targets: &[String],
    overrides: &Overrides,
    task: &TaskSettings,
    one_hot: OneHot,
) -> Result<Schema, DataError> {
    check_overrides(overrides, table, targets)?;
    let task = built(task, targets, overrides, Some(table))?;
    let mut features = Vec::new();
    let predicted: HashSet<&String> = targets.iter().collect();
    for (name, column) in table.names.iter().zip(&table.columns).filter(|(name, _)| !predicted.contains(name)) {
        let stated = overrides.get(name).cloned().unwrap_or_default();
        let domain = domain(table, name, column, &stated)?;
        features.push(Feature { name: name.clone(), domain });
    }
    if features.is_empty() {
        return Err(DataError::NoFeatures);
    }
    Ok(Schema { features, task, one_hot, filled: Vec::new() })
}

/// The task, with those of its targets that are stated to be whole numbers; the table must hold whole numbers then.
fn built(task: &TaskSettings, targets: &[String], overrides: &Overrides, table: Option<&Table>) -> Result<Task, DataError> {
    let mut built = task.build(targets.to_vec(), table)?;
    let stated = task.whole(targets, overrides)?;
    for name in &stated {
        if let Some((table, column)) = table.and_then(|t| Some((t, t.column(name)?))) {
            refuse_outside(table, name, column, &Domain::WHOLE)?;
        }
    }
    if let Task::Regression { whole, .. } = &mut built {
        *whole = stated;
    }
    Ok(built)
}

/// Lets the domains of numbers whose range is not stated reach beyond the data, at each end by this share of their range.
pub fn widen(schema: &mut Schema, overrides: &Overrides, margin: f64) {
    if margin == 0.0 {
        return;
    }
    let most = f64::from(f32::MAX);
    for feature in schema.features.iter_mut().filter(|f| overrides.get(&f.name).is_none_or(|o| o.range.is_none())) {
        match &mut feature.domain {
            Domain::Real { lo, hi } => {
                let by = margin * (f64::from(*hi) - f64::from(*lo));
                *lo = round_down((f64::from(*lo) - by).max(-most));
                *hi = round_up((f64::from(*hi) + by).min(most));
            }
            Domain::Integer { lo, hi } => {
                let by = margin * (f64::from(*hi) - f64::from(*lo));
                *lo = (f64::from(*lo) - by).floor().max(-LARGEST_INTEGER) as i32;
                *hi = (f64::from(*hi) + by).ceil().min(LARGEST_INTEGER) as i32;
            }
            Domain::Stepped { lo, hi, step } => {
                let step = f64::from(*step);
                let (by, most) = (margin * (f64::from(*hi) - f64::from(*lo)), LARGEST_INTEGER * step);
                *lo = (((f64::from(*lo) - by) / step).floor() * step).max(-most) as f32;
                *hi = (((f64::from(*hi) + by) / step).ceil() * step).min(most) as f32;
            }
            Domain::Category { .. } | Domain::Ordered { .. } => {}
        }
    }
}

/// The schema that a rule file states without its data: the features in the order of the file, each with a stated domain. `data` are
/// the settings of `[data]`: they may name targets, and texts that stand for no value.
pub fn stated_schema(
    overrides: &Overrides,
    task: &TaskSettings,
    data: Option<&DataSettings>,
    one_hot: OneHot,
) -> Result<Schema, DataError> {
    let targets = task.resolve_targets(data.map_or(&[][..], |d| &d.targets))?;
    let task = built(task, &targets, overrides, None)?;
    let (mut features, mut filled) = (Vec::new(), Vec::new());
    for (name, stated) in overrides.iter().filter(|(name, _)| !targets.contains(name)) {
        stated.check(name)?;
        let Some(domain) = stated.stated_domain() else {
            return Err(DataError::Override { name: name.clone(), problem: OverrideProblem::NoDomain });
        };
        filled.extend(stated_fill(name, stated, &domain, data)?);
        features.push(Feature { name: name.clone(), domain });
    }
    if features.is_empty() {
        return Err(DataError::NoFeatures);
    }
    let indicators = filled.iter().filter(|f: &&Filled| f.indicator).map(|f| indicator_of(&f.feature));
    features.extend(indicators.map(|name| Feature { name, domain: Domain::Integer { lo: 0, hi: 1 } }));
    Ok(Schema { features, task, one_hot, filled })
}

/// What is read for a missing value, if that is stated.
fn stated_fill(
    name: &str,
    stated: &FeatureOverride,
    domain: &Domain,
    data: Option<&DataSettings>,
) -> Result<Option<Filled>, DataError> {
    let wrong = |problem| Err(DataError::Override { name: name.to_owned(), problem });
    let with = match &stated.missing {
        Some(Missing::Stated(fill)) => fill.clone(),
        Some(Missing::OwnLevel) => Fill::Level(MISSING_LEVEL.into()),
        Some(Missing::Found(_)) => return wrong(OverrideProblem::FillNotStated),
        // Then the data say what is read.
        None if data.is_some_and(|d| d.missing_policy() == MissingPolicy::Impute) => {
            return wrong(OverrideProblem::FillNotStated);
        }
        None => return Ok(None),
    };
    if with.number(domain).is_none() && with.level(domain).is_none() {
        return wrong(OverrideProblem::FillOutside { value: with.to_string(), domain: domain.in_words() });
    }
    let (indicator, markers) = (stated.indicator == Some(true), stated.missing_values.beside(data.map(|d| &d.missing_values)));
    Ok(Some(Filled { feature: name.to_owned(), with, indicator, markers }))
}

/// How overrides want columns to be read.
pub fn kinds_of_overrides(overrides: &Overrides) -> BTreeMap<String, Kind> {
    overrides.iter().filter_map(|(name, o)| Some((name.clone(), o.expected_kind()?))).collect()
}

fn check_overrides(overrides: &Overrides, table: &Table, targets: &[String]) -> Result<(), DataError> {
    let places = table.places();
    for (name, stated) in overrides {
        stated.check(name)?;
        if !places.contains_key(name.as_str()) {
            let features = table.names.iter().filter(|n| !targets.contains(n)).map(String::as_str);
            let nearest = deepsade_spec::nearest(name, features).map(String::from);
            return Err(DataError::UnknownColumn {
                place: "[features]",
                name: name.clone(),
                nearest,
                columns: table.names.clone(),
            });
        }
    }
    Ok(())
}

fn domain(table: &Table, name: &str, column: &Column, stated: &FeatureOverride) -> Result<Domain, DataError> {
    if let Some(expected) = stated.expected_kind().filter(|kind| *kind != column.kind()) {
        return Err(DataError::WrongKind { column: name.to_owned(), found: column.kind(), expected });
    }
    if let Some(domain) = stated.stated_domain() {
        refuse_outside(table, name, column, &domain)?;
        return Ok(domain);
    }
    match (column, stated.kind) {
        (Column::Text { levels, .. }, _) if levels.len() > MOST_LEVELS => {
            Err(DataError::TooManyLevels { column: name.to_owned(), count: levels.len(), most: MOST_LEVELS })
        }
        (Column::Text { levels, .. }, _) if levels.is_empty() => Err(DataError::NothingToImpute { column: name.to_owned() }),
        (Column::Text { levels, .. }, kind) => match undecided(table, column).filter(|_| kind.is_none()) {
            Some(what) => Err(DataError::Undecided { column: name.to_owned(), what }),
            None => Ok(Domain::Category { levels: levels.clone() }),
        },
        (_, kind) => {
            let (lo, hi) = range(column).ok_or_else(|| DataError::NothingToImpute { column: name.to_owned() })?;
            if let Some(step) = stated.step {
                let most = LARGEST_INTEGER * step;
                refuse_outside(table, name, column, &stepped(-most, most, step))?;
                return Ok(stepped(lo, hi, step));
            }
            if kind != Some(FeatureKind::Integer) {
                return Ok(Domain::Real { lo: round_down(lo), hi: round_up(hi) });
            }
            refuse_outside(table, name, column, &Domain::WHOLE)?;
            Ok(Domain::Integer { lo: lo as i32, hi: hi as i32 })
        }
    }
}

/// Smallest and largest value of a number column; `None` if all are missing.
fn range(column: &Column) -> Option<(f64, f64)> {
    let mut range: Option<(f64, f64)> = None;
    for row in 0..column.len() {
        if let TableValue::Number(v) = column.value(row) {
            let (lo, hi) = range.unwrap_or((v, v));
            range = Some((lo.min(v), hi.max(v)));
        }
    }
    range
}

fn refuse_outside(table: &Table, name: &str, column: &Column, domain: &Domain) -> Result<(), DataError> {
    let plan = FeatureEncoder::new(name, column, domain)?;
    // Rounding must not turn a fraction into the whole number, or the multiple, that a column claims to hold.
    let beside = |row| matches!(column.value(row), TableValue::Number(v) if !domain.on_grid(v));
    match (0..column.len()).find(|&row| !column.is_missing(row) && (!plan.holds(row) || beside(row))) {
        None => Ok(()),
        Some(row) => Err(DataError::OutsideDomain {
            row: table.row_numbers[row],
            column: name.to_owned(),
            value: column.value(row).to_string(),
            domain: domain.in_words(),
        }),
    }
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
