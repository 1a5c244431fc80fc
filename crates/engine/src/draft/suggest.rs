//! Rows enter; rules that they obey leave, with how many do. Those that only state the obvious stand, the others are suggestions.

mod implied;
mod order;
mod sums;
mod trend;

use std::collections::HashSet;

use deepsade_data::{Column, Table, TableValue, TaskKind};
use deepsade_spec::{RuleText, print};
use serde::Serialize;

use super::columns::{Described, Role, ends, numbers, room};
use super::spelled::{self, number};
use super::target::Aim;

/// A rule, and how many rows obey it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    /// What it is called.
    pub name: String,
    /// The rule.
    pub text: String,
    /// How many obey it.
    pub obey: usize,
    /// Of how many that it says something about.
    pub of: usize,
    /// What is counted: rows, or pairs of rows.
    pub counted: &'static str,
    /// Whether it stands, or is commented out.
    pub stands: bool,
}

impl Suggestion {
    pub(super) fn of_rows(name: &str, text: String, obey: usize, of: usize) -> Self {
        Self { name: spelled::title(name), text, obey, of, counted: "rows", stands: false }
    }

    /// That all rows obey it.
    fn by_all(name: &str, text: String, rows: usize) -> Self {
        Self::of_rows(name, text, rows, rows)
    }
}

/// A feature as the searches see it: its name as rules spell it, and its values (NaN where missing).
struct Measured {
    name: String,
    values: Vec<f64>,
    whole: bool,
}

/// The rules that the rows suggest; no two of one name.
pub(super) fn suggest(table: &Table, columns: &[Described], aim: &Aim) -> Vec<Suggestion> {
    let features = features(table, columns);
    let mut found = match aim.kind {
        TaskKind::Regression => {
            let targets = targets(table, aim);
            let mut found = bounds(&targets);
            found.extend(sums::sums(&targets, &features));
            found.extend(order::order(&targets, &features));
            found.extend(implied::bounds(table, columns, &targets));
            found.extend(trend::of_numbers(&targets, &features));
            found
        }
        TaskKind::Binary | TaskKind::Multiclass => {
            let Some((target, column)) = aim.targets.first().and_then(|t| Some((print::name(t)?, table.column(t)?))) else {
                return Vec::new();
            };
            let of_rows = classes(column, &aim.classes);
            let mut found = implied::classes(table, columns, &target, &aim.classes, &of_rows);
            found.extend(trend::of_classes(&target, &aim.classes, &of_rows, &features));
            found
        }
        TaskKind::Multilabel => order::labels(&targets(table, aim)),
        TaskKind::Ranking => ranking(aim.targets.len(), table.rows()),
    };
    let mut seen = HashSet::new();
    for (k, rule) in found.iter_mut().enumerate() {
        if !seen.insert(rule.name.clone()) {
            rule.name = format!("{} ({})", rule.name, k + 1);
            seen.insert(rule.name.clone());
        }
    }
    found
}

/// What no row contradicts: the range of each target, with room.
fn bounds(targets: &[Measured]) -> Vec<Suggestion> {
    let of = |t: &Measured| {
        let present: Vec<f64> = t.values.iter().copied().filter(|v| !v.is_nan()).collect();
        let (lo, hi) = ends(&present);
        let [low, high] = room(lo, hi, t.whole);
        let text = format!("{} <= {} <= {}", number(low), t.name, number(high));
        Suggestion { stands: true, ..Suggestion::by_all(&format!("range of {}", plain(&t.name)), text, present.len()) }
    };
    targets.iter().map(of).collect()
}

/// An ordering has every item once and every place once.
pub fn orderings(items: usize) -> [RuleText; 2] {
    let once = |name: &str, each: char, of: char| {
        let text = format!("forall {each} in 0..{items}: exactly(1, at[i, p] for {of} in 0..{items})");
        RuleText { name: name.into(), text }
    };
    [once("each item has one place", 'i', 'p'), once("each place has one item", 'p', 'i')]
}

fn ranking(items: usize, rows: usize) -> Vec<Suggestion> {
    let stands = |rule: RuleText| Suggestion { stands: true, ..Suggestion::by_all(&rule.name, rule.text, rows) };
    orderings(items).map(stands).into()
}

fn features(table: &Table, columns: &[Described]) -> Vec<Measured> {
    let numeric = columns.iter().filter(|c| matches!(c.role, Role::Real { .. } | Role::Integer { .. }));
    numeric.filter_map(|c| held(table, &c.name)).collect()
}

fn targets(table: &Table, aim: &Aim) -> Vec<Measured> {
    aim.targets.iter().filter_map(|name| held(table, name)).collect()
}

fn held(table: &Table, name: &str) -> Option<Measured> {
    let column = table.column(name)?;
    let value = |row| match column.value(row) {
        TableValue::Number(v) => v,
        _ => f64::NAN,
    };
    let whole = super::columns::is_whole(&numbers(column)?);
    Some(Measured { name: print::name(name)?, values: (0..column.len()).map(value).collect(), whole })
}

/// For each row the place of its class.
fn classes(column: &Column, classes: &[String]) -> Vec<Option<usize>> {
    let of = |row: usize| match column.value(row) {
        TableValue::Number(v) => classes.iter().position(|c| *c == format!("{}", v + 0.0)),
        TableValue::Text(text) => classes.iter().position(|c| c == text),
        TableValue::Missing => None,
    };
    (0..column.len()).map(of).collect()
}

/// A name without the backticks of rules, for titles.
fn plain(name: &str) -> &str {
    name.trim_matches('`')
}
