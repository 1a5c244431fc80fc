//! A text column of which nothing is stated enters; leaves what has to be decided about it, if it is no plain category.

use super::dates::is_date;
use super::number;
use super::overrides::Overrides;
use super::table::{Column, MISSING_CODE, Table};

/// Up to so many levels are a category without a word.
const FEW: usize = 20;
/// More are none, however many rows there are.
const MANY: usize = 100;
/// Between these a level has so many rows on average.
const ROWS_A_LEVEL: usize = 20;
/// A column is one of numbers, with something else between them, if this share of its rows are numbers,
const MOSTLY: f64 = 0.9;
/// and if no more levels are something else.
const STRAYS: usize = 5;
/// No more numbers than these, close together, are codes or counts.
pub const FEW_NUMBERS: usize = 10;

/// What a text column may be instead of a category.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// All of its texts are dates.
    Dates,
    /// Numbers, but for a few words.
    Words {
        /// The words' codes.
        words: Vec<usize>,
        /// Rows that hold one.
        rows: usize,
    },
    /// Too many texts for so few rows, or for any.
    Levels,
}

/// What speaks against taking texts for the levels of a category; words first, as whoever removes them has a column of numbers.
pub fn doubt(levels: &[String], codes: &[u32]) -> Option<Doubt> {
    if levels.len() > 2 && levels.iter().all(|level| is_date(level)) {
        return Some(Doubt::Dates);
    }
    let present = codes.iter().filter(|code| **code != MISSING_CODE).count();
    let words: Vec<usize> = (0..levels.len()).filter(|l| number::parse(&levels[*l]).is_none()).collect();
    let rows = codes.iter().filter(|code| words.contains(&(**code as usize))).count();
    if (1..=STRAYS).contains(&words.len()) && (present - rows) as f64 >= MOSTLY * present as f64 {
        return Some(Doubt::Words { words, rows });
    }
    let plain = levels.len() <= FEW || levels.len() <= MANY && levels.len() * ROWS_A_LEVEL <= present;
    (!plain).then_some(Doubt::Levels)
}

/// Why a text column can't be taken for a category as it is. One of few levels can, with words among its numbers, too.
pub(crate) fn undecided(table: &Table, column: &Column) -> Option<String> {
    let Column::Text { levels, codes } = column else { return None };
    match doubt(levels, codes)? {
        Doubt::Dates => Some(format!(
            "holds dates ({} different ones, such as '{}'): make numbers of them in the file (a year, a month, days since a day)",
            levels.len(),
            levels[0]
        )),
        Doubt::Words { .. } if levels.len() <= FEW => None,
        Doubt::Words { words, .. } => Some(format!(
            "would be a category of {} levels, but holds numbers but for {}",
            levels.len(),
            listed(table, levels, codes, &words)
        )),
        Doubt::Levels => {
            Some(format!("has {} different texts in {} rows, a column of 0 and 1 for each", levels.len(), codes.len()))
        }
    }
}

/// Columns of numbers with words between them, which make them categories: what to know of each.
pub(crate) fn stray_words(table: &Table, overrides: &Overrides) -> Vec<String> {
    let columns = table.names.iter().zip(&table.columns);
    let unstated = columns.filter(|(name, _)| overrides.get(*name).is_none_or(|o| o.expected_kind().is_none()));
    let told = |(name, column): (&String, &Column)| {
        let Column::Text { levels, codes } = column else { return None };
        let Some(Doubt::Words { words, .. }) = doubt(levels, codes) else { return None };
        let words = listed(table, levels, codes, &words);
        Some(format!(
            "column '{name}' holds numbers but for {words}; so it is a category of {} levels (`kind = \"category\"` in [features.{name}] \
             says that this is meant)",
            levels.len()
        ))
    };
    unstated.filter_map(told).collect()
}

/// Some levels with their first rows, and what to say if they stand for no value.
fn listed(table: &Table, levels: &[String], codes: &[u32], words: &[usize]) -> String {
    let first = |level: usize| codes.iter().position(|code| *code as usize == level).map_or(0, |row| table.row_numbers[row]);
    let shown: Vec<String> = words.iter().map(|l| format!("'{}' (row {})", levels[*l], first(*l))).collect();
    let quoted: Vec<String> = words.iter().map(|l| format!("{:?}", levels[*l])).collect();
    format!("{}: if that stands for no value, say `missing_values = [{}]` in [data]", shown.join(", "), quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(values: &[&str]) -> Table {
        let mut levels = crate::levels::Levels::default();
        values.iter().for_each(|v| if v.is_empty() { levels.push_missing() } else { levels.push(v) });
        let row_numbers = (1..=values.len() as u64).collect();
        Table { names: vec!["c".into()], columns: vec![levels.finish()], row_numbers }
    }

    fn decision(values: &[&str]) -> Option<String> {
        let t = table(values);
        undecided(&t, &t.columns[0])
    }

    #[test]
    fn dates_need_a_decision() {
        assert!(decision(&["2024-01-01", "2024-01-02", "2024-01-03"]).unwrap().contains("holds dates (3 different ones"));
    }

    #[test]
    fn many_levels_need_a_decision_and_few_do_not() {
        let names: Vec<String> = (0..200).map(|k| format!("name {k}")).collect();
        let of = |n: usize, rows: usize| {
            let values: Vec<&str> = (0..rows).map(|k| names[k % n].as_str()).collect();
            decision(&values)
        };
        assert_eq!(of(20, 20), None);
        assert!(of(21, 400).unwrap().contains("21 different texts in 400 rows"));
        assert_eq!(of(21, 420), None);
        assert_eq!(of(100, 2000), None);
        assert!(of(101, 5000).is_some());
    }

    #[test]
    fn a_stray_word_is_named_with_its_row() {
        let mut values: Vec<String> = (0..60).map(|k| (k % 12).to_string()).collect();
        values[17] = "unknown".into();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let told = stray_words(&table(&values), &Overrides::new());
        assert!(told[0].contains("'unknown' (row 18)") && told[0].contains("missing_values = [\"unknown\"]"), "{told:?}");
        // Levels that happen to be numbers in part are a category.
        let mixed: Vec<&str> = (0..60).map(|k| if k % 3 == 0 { "3+" } else { "2" }).collect();
        assert!(stray_words(&table(&mixed), &Overrides::new()).is_empty());
        let stated: Overrides = toml::from_str("c = { kind = 'category' }").unwrap();
        assert!(stray_words(&table(&values), &stated).is_empty());
        let many: Vec<String> = (0..60).map(|k| if k == 3 { "x".into() } else { k.to_string() }).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(decision(&many).unwrap().contains("'x' (row 4)"));
    }
}
