//! The text of an option enters, its value leaves, or what was expected in plain words.

/// A whole number.
pub(super) fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = text.parse::<u64>().ok().and_then(|v| T::try_from(v).ok());
    number.ok_or_else(|| "expected a whole number, such as 5".into())
}

/// A number.
pub(super) fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "expected a number, such as 0.5".into())
}

/// What stands between two values: one character, or its name where a shell makes it hard to type.
pub(super) fn separator(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(one), None) if one.is_ascii() => Ok(one),
        _ => Err("expected one ASCII character, such as \";\" or \"|\", or the word tab".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_expected_is_said_in_plain_words() {
        assert_eq!((whole::<usize>("5"), number("0.5")), (Ok(5), Ok(0.5)));
        for wrong in ["x", "-1", "1.5", ""] {
            assert!(whole::<usize>(wrong).is_err_and(|why| why.contains("a whole number, such as 5")), "{wrong}");
        }
        assert!(number("much").is_err_and(|why| why.contains("a number")));
        assert_eq!(["tab", "\\t", "\t", ";"].map(separator), [Ok('\t'), Ok('\t'), Ok('\t'), Ok(';')]);
        for wrong in ["", "ab", "§"] {
            assert!(separator(wrong).is_err_and(|why| why.contains("the word tab")), "{wrong}");
        }
    }
}
