//! Names, levels and numbers enter; how TOML and the rule language spell them leaves.

use deepsade_spec::shown;

/// A text as TOML has it, on one line.
pub(super) fn text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if shown::hidden(c) => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A key of TOML.
pub(crate) fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { name.into() } else { text(name) }
}

/// Texts as a list of TOML.
pub(super) fn list(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|t| text(t)).collect::<Vec<_>>().join(", "))
}

/// A number, as both TOML and rules read it.
pub(super) fn number(v: f64) -> String {
    let v = v + 0.0;
    if v == 0.0 || (1e-5..1e16).contains(&v.abs()) { format!("{v}") } else { format!("{v:e}") }
}

/// What a rule is called: one line of visible characters, not too long.
pub(super) fn title(words: &str) -> String {
    shown::abridged(&shown::name(words), 80).into_owned()
}

#[cfg(test)]
mod tests {
    use deepsade_spec::lex::{TokenKind, lex};
    use deepsade_spec::print::{level, name};

    use super::*;

    #[test]
    fn odd_names_survive_both_languages() {
        for odd in ["a b", "", "q\"q", "back\\slash", "line\nbreak", "Größe", "\u{202e}turned", "x", "and", "[x]", "1"] {
            let read: toml::Table = toml::from_str(&format!("{} = {}", key(odd), text(odd))).unwrap();
            assert_eq!(read[odd].as_str(), Some(odd));
            let named = name(odd);
            assert_eq!(named.is_none(), odd.is_empty(), "{odd}");
            let tokens = named.map(|n| lex(&n).unwrap());
            assert!(tokens.is_none_or(|t| t.len() == 2 && t[0].kind == TokenKind::Name(odd.into())), "{odd}");
        }
        assert_eq!(name("a`b"), None);
        assert_eq!((level("it's").unwrap(), level("x").unwrap()), ("\"it's\"".into(), "'x'".into()));
        assert_eq!(level("'\""), None);
    }

    #[test]
    fn numbers_read_back() {
        for v in [0.0, -0.0, 1.0, -2.5, 1e-9, 3.4e38, 123_456_789.25, 0.1] {
            assert_eq!(number(v).parse::<f64>().unwrap(), v);
            assert!(lex(&number(v)).is_ok());
        }
        assert_eq!(number(-0.0), "0");
    }
}
