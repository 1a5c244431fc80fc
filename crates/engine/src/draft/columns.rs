//! A table enters; for each column what it is leaves: a number with its range, a category with its levels, or nothing to learn from.

use deepsade_data::dates::is_day_number;
use deepsade_data::{Column, Doubt, FEW_NUMBERS, Table, TableValue, doubt};
use deepsade_spec::{LARGEST_INTEGER, shown};
use serde::Serialize;

use super::sheet::Sheet;

/// A column that lacks more than this share of its values is left out.
const MOST_MISSING: f64 = 0.6;
/// Below so many rows nothing is taken for an identifier.
const ROWS_OF_IDENTIFIER: usize = 20;

/// A column that is no target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// Rows without a value.
    pub missing: usize,
    /// Different values.
    pub distinct: usize,
    /// A number of nines, such as -999, that stands far from all others, and in how many rows: it may mean that there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nines: Option<(f64, usize)>,
    /// What it is.
    #[serde(flatten)]
    pub role: Role,
}

/// What a column is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Role {
    /// Measured.
    Real {
        /// From and to, with room around the data.
        range: [f64; 2],
    },
    /// Whole numbers.
    Integer {
        /// From and to, with room around the data where there are many.
        range: [f64; 2],
    },
    /// One of several texts.
    Category {
        /// The texts, sorted.
        levels: Vec<String>,
    },
    /// Left out.
    #[serde(rename = "left out")]
    Out(LeftOut),
}

/// Why a column is left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "lowercase")]
pub enum LeftOut {
    /// It has no name: an index that some program wrote.
    Unnamed,
    /// Several columns have its name.
    Twice,
    /// It has no values.
    Empty,
    /// It lacks most of its values.
    Sparse {
        /// Rows without a value.
        missing: usize,
        /// Rows.
        rows: usize,
    },
    /// All values are the same.
    Constant,
    /// Each row has a value of its own.
    Identifier,
    /// It holds dates.
    Dates,
    /// Numbers that are spelled with more than digits and a point.
    Spelled {
        /// One of them.
        example: String,
    },
    /// It has very many levels.
    Levels {
        /// How many.
        levels: usize,
    },
    /// Measured, but for a few words.
    Words {
        /// The words.
        words: Vec<String>,
        /// Rows that hold one.
        rows: usize,
    },
    /// A type that no reader takes.
    Type {
        /// The type.
        found: String,
    },
    /// A number that float32 does not hold.
    Beyond {
        /// The number, as it is written.
        value: String,
        /// Its row.
        row: u64,
    },
}

impl LeftOut {
    /// For people, with what brings the column in.
    pub fn in_words(&self) -> String {
        match self {
            LeftOut::Unnamed => "it has no name and is taken for an index".into(),
            LeftOut::Twice => "several columns have this name; rename them in the file to use them".into(),
            LeftOut::Empty => "it has no values".into(),
            LeftOut::Sparse { missing, rows } => format!("{missing} of {rows} rows have no value"),
            LeftOut::Constant => "it has one value only".into(),
            LeftOut::Identifier => "every row has a value of its own: taken for an identifier".into(),
            LeftOut::Dates => "it holds dates; put what matters (age in days, month, weekday) into columns of numbers".into(),
            LeftOut::Spelled { example } => format!(
                "it holds numbers spelled as '{example}': write them plainly, with a point before decimals and without units, percent signs or \
                 thousands separators"
            ),
            LeftOut::Levels { levels } => format!("{levels} different texts are many for a category; group them into fewer"),
            LeftOut::Words { words, rows } => {
                let words: Vec<String> = words.iter().map(|w| format!("'{w}'")).collect();
                format!(
                    "numbers but for {} in {rows} rows; list what means \"no value\" under `missing_values`",
                    words.join(", ")
                )
            }
            LeftOut::Type { found } => format!("it holds {found}; convert it to numbers or text to use it"),
            LeftOut::Beyond { value, row } => format!("row {row} holds {value}, which float32 does not hold"),
        }
    }

    /// Whether deleting it from `ignore` lets it take part.
    pub fn can_return(&self) -> bool {
        matches!(
            self,
            LeftOut::Identifier
                | LeftOut::Dates
                | LeftOut::Levels { .. }
                | LeftOut::Sparse { .. }
                | LeftOut::Words { .. }
                | LeftOut::Constant
        )
    }
}

/// What each column of a sheet is, in the order of the file; those that could not be read at the end.
pub(super) fn describe(sheet: &Sheet) -> Vec<Described> {
    let table = &sheet.table;
    let read = table.names.iter().zip(&table.columns).map(|(name, column)| of(table, name, column));
    let unread = sheet.unread.iter().map(|(name, why)| Described {
        name: name.clone(),
        missing: 0,
        distinct: 0,
        nines: None,
        role: Role::Out(why.clone()),
    });
    read.chain(unread).collect()
}

/// The least or the largest of some numbers if nothing but nines are its digits, several have it, and it is farther from the others than
/// these are from each other.
fn nines(values: &[f64]) -> Option<(f64, usize)> {
    let distinct = distinct(values);
    let ends = match &distinct[..] {
        [least, low, .., high, most] => [(*least, low - least, most - low), (*most, most - high, high - least)],
        _ => return None,
    };
    let count = |end: f64| values.iter().filter(|v| **v == end).count();
    let of_nines = |end: f64| end.abs() >= 99.0 && end.abs().to_string().bytes().all(|digit| digit == b'9');
    let found = ends.into_iter().find(|(end, gap, width)| of_nines(*end) && gap > width && count(*end) > 1);
    found.map(|(end, ..)| (end, count(end)))
}

fn of(table: &Table, name: &str, column: &Column) -> Described {
    let rows = table.rows();
    let missing = (0..rows).filter(|&row| column.is_missing(row)).count();
    let nines = numbers(column).and_then(|values| nines(&values));
    let described = |distinct, role| Described { name: name.to_owned(), missing, distinct, nines, role };
    let out = |distinct, why| described(distinct, Role::Out(why));
    if missing == rows {
        return out(0, LeftOut::Empty);
    }
    let numbers = numbers(column);
    let distinct = match &numbers {
        Some(values) => distinct(values).len(),
        None => levels(column).len(),
    };
    if name.is_empty() {
        return out(distinct, LeftOut::Unnamed);
    }
    if missing as f64 > MOST_MISSING * rows as f64 {
        return out(distinct, LeftOut::Sparse { missing, rows });
    }
    if distinct == 1 {
        return out(distinct, LeftOut::Constant);
    }
    let (why, role) = match (numbers, column) {
        (Some(values), _) => (number_out(name, &values, distinct), number_role(&values, distinct)),
        (None, Column::Text { levels, codes }) => {
            (text_out(levels, codes, rows - missing), Role::Category { levels: levels.clone() })
        }
        (None, _) => return out(0, LeftOut::Empty),
    };
    match why {
        Some(why) => out(distinct, why),
        None => described(distinct, role),
    }
}

/// The values of a column of numbers, without gaps.
pub(super) fn numbers(column: &Column) -> Option<Vec<f64>> {
    let value = |row| match column.value(row) {
        TableValue::Number(v) => Some(v),
        _ => None,
    };
    (!matches!(column, Column::Text { .. })).then(|| (0..column.len()).filter_map(value).collect())
}

/// The texts that occur, in the reader's order.
pub(super) fn levels(column: &Column) -> Vec<String> {
    match column {
        Column::Text { levels, .. } => levels.clone(),
        _ => Vec::new(),
    }
}

/// Different numbers, sorted.
pub(super) fn distinct(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup();
    sorted
}

pub(super) fn is_whole(values: &[f64]) -> bool {
    values.iter().all(|v| v.fract() == 0.0 && v.abs() <= f64::from(LARGEST_INTEGER))
}

fn number_out(name: &str, values: &[f64], distinct: usize) -> Option<LeftOut> {
    let whole = values.iter().all(|v| v.fract() == 0.0);
    if whole && distinct > FEW_NUMBERS && values.iter().all(|&v| is_day_number(v)) {
        return Some(LeftOut::Dates);
    }
    let unique = whole && distinct == values.len() && values.len() >= ROWS_OF_IDENTIFIER;
    let counted = values.windows(2).all(|pair| pair[1] == pair[0] + 1.0);
    (unique && (counted || named_identifier(name))).then_some(LeftOut::Identifier)
}

/// Whether a name says that the column is a key.
fn named_identifier(name: &str) -> bool {
    let spaced: String = name.chars().flat_map(|c| if c.is_uppercase() { vec![' ', c] } else { vec![c] }).collect();
    let words = spaced.to_lowercase();
    let mut words = words.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    let joined = name.to_lowercase();
    words.any(|w| ["id", "key", "index", "uuid", "guid", "nr", "no", "number", "code", "ident", "identifier"].contains(&w))
        || joined == "rowid"
        || joined.ends_with("id") && name.ends_with("ID")
}

fn number_role(values: &[f64], distinct: usize) -> Role {
    let (lo, hi) = ends(values);
    if !is_whole(values) {
        return Role::Real { range: room(lo, hi, false) };
    }
    let few = distinct <= FEW_NUMBERS && hi - lo <= 20.0;
    Role::Integer { range: if few { [lo, hi] } else { room(lo, hi, true) } }
}

pub(super) fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &v| (lo.min(v), hi.max(v)))
}

/// A range around the data: a tenth more at each end, in round numbers; what is never negative, or a share, stays so.
pub(super) fn room(lo: f64, hi: f64, whole: bool) -> [f64; 2] {
    let span = if hi > lo { hi - lo } else { hi.abs().max(1.0) };
    let mut unit = 10f64.powf(span.log10().floor() - 1.0);
    if whole {
        unit = unit.max(1.0);
    }
    let most = if whole { f64::from(LARGEST_INTEGER) } else { f64::from(f32::MAX) };
    // A multiple of the unit without the tail that binary fractions leave; beyond doubt about it the data's own end.
    let multiple = |v: f64, rounded: f64, outside: fn(f64, f64) -> bool| {
        let decimals = (-unit.log10().floor()).clamp(0.0, 300.0) as usize;
        let near = format!("{rounded:.decimals$}").parse().unwrap_or(v);
        if outside(near, v) { near } else { v }
    };
    let mut low = multiple(lo, ((lo - 0.1 * span) / unit).floor() * unit, |near, v| near <= v).max(-most);
    let mut high = multiple(hi, ((hi + 0.1 * span) / unit).ceil() * unit, |near, v| near >= v).min(most);
    if lo >= 0.0 {
        low = low.max(0.0);
        if hi <= 1.0 && !whole {
            high = high.min(1.0);
        }
    }
    if hi <= 0.0 {
        high = high.min(0.0);
    }
    [low, high]
}

/// Columns that are left out, and why, in words; of many the first.
pub(super) fn why_out(columns: &[Described]) -> String {
    const NAMED: usize = 5;
    let reason = |c: &Described| match &c.role {
        Role::Out(why) => Some(format!("'{}' is left out: {}", shown::name(&c.name), why.in_words())),
        _ => None,
    };
    let all: Vec<String> = columns.iter().filter_map(reason).collect();
    let more = if all.len() > NAMED { format!("; and {} more are left out", all.len() - NAMED) } else { String::new() };
    all.into_iter().take(NAMED).collect::<Vec<_>>().join("; ") + &more
}

/// What to say of texts nearly all of which are a number once commas, a currency, a unit or a percent sign are taken away; codes, in which
/// letters stand before digits, are none.
fn spelled_number(levels: &[String]) -> Option<LeftOut> {
    let number = |text: &&String| {
        let text = text.trim().trim_start_matches(['$', '€', '£', '¥', '+', '-']).trim_start();
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = &text[digits.len()..];
        let plain = digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '\'' | ' ' | '\u{a0}' | '\u{202f}'));
        plain && unit.chars().count() <= 5
    };
    let found = levels.iter().filter(number).count();
    (found > 0 && found * 10 >= levels.len() * 9).then(|| LeftOut::Spelled { example: levels[0].clone() })
}

fn text_out(levels: &[String], codes: &[u32], present: usize) -> Option<LeftOut> {
    let doubt = doubt(levels, codes);
    let unique = present >= ROWS_OF_IDENTIFIER && levels.len() as f64 >= 0.9 * present as f64;
    match doubt {
        Some(Doubt::Dates) => Some(LeftOut::Dates),
        // Few numbers are the codes of a category, which may have words beside them.
        Some(Doubt::Words { words, .. }) if levels.len() - words.len() <= FEW_NUMBERS => None,
        Some(Doubt::Words { words, rows }) => {
            Some(LeftOut::Words { words: words.into_iter().map(|l| levels[l].clone()).collect(), rows })
        }
        Some(Doubt::Levels) if spelled_number(levels).is_some() => spelled_number(levels),
        _ if unique && spelled_number(levels).is_some() => spelled_number(levels),
        _ if unique => Some(LeftOut::Identifier),
        Some(Doubt::Levels) => Some(LeftOut::Levels { levels: levels.len() }),
        None => None,
    }
}
