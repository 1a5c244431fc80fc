//! Texts enter one by one, codes leave; at the end the levels come out sorted.

use std::collections::HashMap;

use super::number;
use super::table::{Column, MISSING_CODE};

/// More levels than this are taken for an identifier, unless they are stated.
pub const MOST_LEVELS: usize = 1000;

/// A text column while it is being read.
#[derive(Debug, Default)]
pub struct Levels {
    known: HashMap<Box<str>, u32>,
    names: Vec<String>,
    codes: Vec<u32>,
}

impl Levels {
    /// Room for so many rows.
    pub fn with_capacity(rows: usize) -> Self {
        Self { codes: Vec::with_capacity(rows), ..Self::default() }
    }

    /// The next row holds this text.
    pub fn push(&mut self, text: &str) {
        let code = self.known.get(text).copied().unwrap_or_else(|| {
            let code = self.names.len() as u32;
            self.names.push(text.to_owned());
            self.known.insert(text.into(), code);
            code
        });
        self.codes.push(code);
    }

    /// The next row holds nothing.
    pub fn push_missing(&mut self) {
        self.codes.push(MISSING_CODE);
    }

    /// The finished column: levels sorted, so that the order of rows in the file leaves no trace.
    pub fn finish(self) -> Column {
        let Self { names, mut codes, known } = self;
        drop(known);
        let mut order: Vec<(String, usize)> = names.into_iter().zip(0..).collect();
        sort_by_level(&mut order, |(name, _)| name);
        let mut place = vec![0; order.len()];
        for (new, (_, old)) in order.iter().enumerate() {
            place[*old] = new as u32;
        }
        for code in codes.iter_mut().filter(|code| **code != MISSING_CODE) {
            *code = place[*code as usize];
        }
        let levels = order.into_iter().map(|(name, _)| name).collect();
        Column::Text { levels, codes }
    }
}

/// Sorts by level: numerically if every level spells a number, else bytewise.
pub(crate) fn sort_by_level<T>(items: &mut [T], name: impl Fn(&T) -> &str) {
    if items.iter().all(|item| number::parse(name(item)).is_some()) {
        let value = |item: &T| number::parse(name(item)).unwrap_or(0.0);
        // Spellings of one number ("1", "1.0") stay apart, in bytewise order.
        items.sort_by(|a, b| value(a).total_cmp(&value(b)).then_with(|| name(a).cmp(name(b))));
    } else {
        items.sort_by(|a, b| name(a).cmp(name(b)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(texts: &[&str]) -> (Vec<String>, Vec<u32>) {
        let mut levels = Levels::default();
        for text in texts {
            if text.is_empty() { levels.push_missing() } else { levels.push(text) }
        }
        match levels.finish() {
            Column::Text { levels, codes } => (levels, codes),
            other => panic!("a text column, not {other:?}"),
        }
    }

    #[test]
    fn levels_are_sorted_bytewise_or_numerically() {
        let (levels, codes) = column(&["b", "a", "", "B", "a"]);
        assert_eq!(levels, ["B", "a", "b"]);
        assert_eq!(codes, [2, 1, MISSING_CODE, 0, 1]);
        let (levels, codes) = column(&["10", "9", "-1"]);
        assert_eq!(levels, ["-1", "9", "10"]);
        assert_eq!(codes, [2, 1, 0]);
        let (levels, _) = column(&["10", "9", "3+"]);
        assert_eq!(levels, ["10", "3+", "9"]);
    }
}
