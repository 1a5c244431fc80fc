//! A rule's text enters, tokens with spans leave. Numbers are read exactly, never through a float.

use crate::Rational;
use crate::error::{Fault, RuleErrorKind, Span};
use dashu::integer::{IBig, UBig};

/// A token and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of token.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenKind {
    /// A name, plain or in backticks.
    Name(String),
    /// A reserved word.
    Keyword(&'static str),
    /// A number.
    Number(Rational),
    /// A level in quotes.
    Text(String),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// The end of the rule.
    End,
}

impl TokenKind {
    /// The token as it should appear in a message.
    pub fn describe(&self) -> String {
        match self {
            TokenKind::Name(name) => format!("the name '{name}'"),
            TokenKind::Keyword(word) => format!("'{word}'"),
            TokenKind::Number(_) => "a number".into(),
            TokenKind::Text(text) => format!("the text '{text}'"),
            TokenKind::Symbol(symbol) => format!("'{symbol}'"),
            TokenKind::End => "the end of the rule".into(),
        }
    }
}

const KEYWORDS: &[&str] = &["and", "or", "not", "in", "if", "then", "else", "for", "forall", "exists", "true", "false"];
/// Longest first, so that `<=>` is not read as `<=` and `>`.
const SYMBOLS: &[&str] =
    &["<=>", "=>", "<=", ">=", "==", "!=", "..", "<", ">", "+", "-", "*", "/", "(", ")", "[", "]", "{", "}", ",", ":"];
/// What people write in other languages, and what it is here.
const FOREIGN: &[(&str, &str)] = &[
    ("&&", "and"),
    ("||", "or"),
    ("->", "=>"),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("∧", "and"),
    ("∨", "or"),
    ("¬", "not"),
    ("⇒", "=>"),
    ("&", "and"),
    ("|", "or"),
    ("!", "not"),
    ("=", "=="),
];
/// Decimal exponents beyond this would make numbers that no float32 can meet.
const MAX_EXPONENT: i64 = 400;

/// Splits a rule into tokens; the last is [`TokenKind::End`].
pub fn lex(text: &str) -> Result<Vec<Token>, Fault> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, len) = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c.is_ascii_digit() {
            number(rest).map_err(|written| {
                let span = at..at + written.len();
                (RuleErrorKind::BadNumber(written), span, Some("write a decimal such as 0.05 or 1.5e-3".into()))
            })?
        } else if c == '\'' || c == '"' {
            quoted(rest, c, at, "quote").map(|(s, len)| (TokenKind::Text(s), len))?
        } else if c == '`' {
            quoted(rest, c, at, "backtick").map(|(s, len)| (TokenKind::Name(s), len))?
        } else if c.is_alphabetic() || c == '_' {
            let len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let word = &rest[..len];
            let kind =
                KEYWORDS.iter().find(|k| **k == word).map_or_else(|| TokenKind::Name(word.into()), |k| TokenKind::Keyword(k));
            (kind, len)
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            (TokenKind::Symbol(symbol), symbol.len())
        } else if let Some(symbol) = special(c, tokens.last()) {
            (TokenKind::Symbol(symbol), symbol.len())
        } else {
            let foreign = FOREIGN.iter().find(|(theirs, _)| rest.starts_with(theirs));
            let len = foreign.map_or(c.len_utf8(), |(theirs, _)| theirs.len());
            let hint = foreign.map(|(theirs, ours)| format!("write `{ours}` for `{theirs}`"));
            return Err((RuleErrorKind::UnexpectedCharacter(c), at..at + len, hint));
        };
        tokens.push(Token { kind, span: at..at + len });
        at += len;
    }
    // What is missing at the end is missed behind the last character.
    let end = text.trim_end().len();
    let start = text[..end].char_indices().next_back().map_or(0, |(i, _)| i);
    tokens.push(Token { kind: TokenKind::End, span: start..end });
    Ok(tokens)
}

/// Signs that stand in one place only: `by = 10%`.
fn special(c: char, before: Option<&Token>) -> Option<&'static str> {
    match (c, &before?.kind) {
        ('=', TokenKind::Name(name)) if name == "by" => Some("="),
        ('%', TokenKind::Number(_)) => Some("%"),
        _ => None,
    }
}

fn quoted(rest: &str, quote: char, at: usize, what: &'static str) -> Result<(String, usize), Fault> {
    match rest[1..].find(quote) {
        Some(len) => Ok((rest[1..=len].to_string(), len + 2)),
        None => Err((RuleErrorKind::Unclosed(what), at..at + 1, Some(format!("add a closing {quote}")))),
    }
}

/// Reads `digits [. digits] [e [sign] digits]` exactly; fails with what was written.
fn number(rest: &str) -> Result<(TokenKind, usize), String> {
    let digits = |s: &str| s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len());
    let mut len = digits(rest);
    let mut mantissa = rest[..len].to_string();
    let mut exponent = 0i64;
    // `0..4` is a range: a point counts only before a digit.
    if rest[len..].starts_with('.') && rest[len + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        let fraction = digits(&rest[len + 1..]);
        mantissa.push_str(&rest[len + 1..=len + fraction]);
        exponent -= fraction as i64;
        len += 1 + fraction;
    }
    if rest[len..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[len + 1..].starts_with(['+', '-']));
        let n = digits(&rest[len + 1 + sign..]);
        let end = len + 1 + sign + n;
        let written: i64 = rest[len + 1..end].parse().map_err(|_| rest[..end].to_string())?;
        len = end;
        exponent = exponent.saturating_add(written);
    }
    let glued = rest[len..].find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len() - len);
    if glued > 0 || exponent.unsigned_abs() > MAX_EXPONENT.unsigned_abs() || mantissa.len() > MAX_EXPONENT as usize {
        return Err(rest[..len + glued].to_string());
    }
    let mantissa: IBig = mantissa.parse().map_err(|_| rest[..len].to_string())?;
    let ten = UBig::from(10u8).pow(exponent.unsigned_abs() as usize);
    let value = if exponent < 0 { Rational::from_parts(mantissa, ten) } else { Rational::from(mantissa * IBig::from(ten)) };
    Ok((TokenKind::Number(value), len))
}
