//! Text of solvers and verifiers enters; words and lists in parentheses leave, with their places.

use deepsade_spec::Rational;
use deepsade_spec::lex::{TokenKind, lex};
use thiserror::Error;

/// A line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A word or a list, and where it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sexpr {
    /// Which of the two.
    pub expr: WordOrList,
    /// Where.
    pub place: Position,
}

/// A word or a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordOrList {
    /// `sat`, `0.5`, `"text"`.
    Word(String),
    /// `(...)`.
    List(Vec<Sexpr>),
}

/// What is wrong with parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ParenthesisFault {
    /// One too many.
    #[error("this `)` closes nothing")]
    Unopened,
    /// One too few.
    #[error("this `(` is never closed")]
    Unclosed,
    /// Too many inside each other.
    #[error("parentheses are nested more than {MAX_DEPTH} deep")]
    TooDeep,
}

const MAX_DEPTH: usize = 200;

impl Sexpr {
    /// The word, if it is one.
    pub fn word(&self) -> Option<&str> {
        if let WordOrList::Word(text) = &self.expr { Some(text) } else { None }
    }

    /// The parts, if it is a list.
    pub fn list(&self) -> Option<&[Sexpr]> {
        if let WordOrList::List(parts) = &self.expr { Some(parts) } else { None }
    }

    /// The word, or the first word of the list.
    pub fn head(&self) -> &str {
        match &self.expr {
            WordOrList::Word(word) => word,
            WordOrList::List(items) => items.first().map_or("", |first| first.word().unwrap_or("(")),
        }
    }

    /// The value of `1.5`, `(- 2)`, `(/ 1 3)`; `None` for what is no rational number.
    pub fn rational(&self) -> Option<Rational> {
        let WordOrList::List(parts) = &self.expr else { return decimal(self.head()) };
        match (parts.first()?.word()?, &parts[1..]) {
            ("-", [x]) => Some(-x.rational()?),
            ("/", [x, y]) => {
                let y = y.rational().filter(|y| !y.is_zero())?;
                Some(x.rational()? / y)
            }
            ("to_real", [x]) => x.rational(),
            _ => None,
        }
    }
}

/// A number without a sign, such as `0.05` or `1e-3`.
pub fn decimal(word: &str) -> Option<Rational> {
    match lex(word).ok()?.as_slice() {
        [token, _] => match &token.kind {
            TokenKind::Number(value) => Some(value.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// The expressions of a text; `;` starts a comment, and words in `"` or `|` may hold anything.
///
/// ```
/// use deepsade_solve::sexpr::parse;
///
/// let read = parse("(assert (<= X_0 0.5)) ; a bound").unwrap();
/// assert_eq!(read[0].head(), "assert");
/// assert!(parse("(a").is_err());
/// ```
pub fn parse(text: &str) -> Result<Vec<Sexpr>, (Position, ParenthesisFault)> {
    let mut open: Vec<(Position, Vec<Sexpr>)> = Vec::new();
    let mut done = Vec::new();
    // Counted on the way: all of a property may stand on one line.
    let (mut place, mut rest) = (Position { line: 1, column: 1 }, text);
    while let Some(c) = rest.chars().next() {
        let mut len = c.len_utf8();
        let finished = match c {
            '(' if open.len() == MAX_DEPTH => return Err((place, ParenthesisFault::TooDeep)),
            '(' => {
                open.push((place, Vec::new()));
                None
            }
            ')' => {
                let (place, items) = open.pop().ok_or((place, ParenthesisFault::Unopened))?;
                Some(Sexpr { expr: WordOrList::List(items), place })
            }
            ';' => {
                len = rest.find('\n').unwrap_or(rest.len());
                None
            }
            c if c.is_whitespace() => None,
            '"' | '|' => {
                len = rest[1..].find(c).map_or(rest.len(), |end| end + 2);
                Some(Sexpr { expr: WordOrList::Word(rest[..len].into()), place })
            }
            _ => {
                len = rest.find(|c: char| c.is_whitespace() || "()\";|".contains(c)).unwrap_or(rest.len());
                Some(Sexpr { expr: WordOrList::Word(rest[..len].into()), place })
            }
        };
        if let Some(expr) = finished {
            open.last_mut().map_or(&mut done, |(_, items)| items).push(expr);
        }
        for c in rest[..len].chars() {
            place = if c == '\n' {
                Position { line: place.line + 1, column: 1 }
            } else {
                Position { column: place.column + 1, ..place }
            };
        }
        rest = &rest[len..];
    }
    match open.pop() {
        Some((place, _)) => Err((place, ParenthesisFault::Unclosed)),
        None => Ok(done),
    }
}

/// The only expression of a text.
pub fn parse_one(text: &str) -> Option<Sexpr> {
    let mut all = parse(text).ok()?;
    all.pop().filter(|_| all.is_empty())
}

/// Whether nothing more needs to come: as many parentheses closed as opened, outside of strings and comments.
pub fn is_whole(text: &str) -> bool {
    match parse(text) {
        Ok(read) => !read.is_empty(),
        Err((_, fault)) => fault != ParenthesisFault::Unclosed,
    }
}

#[cfg(test)]
mod tests {
    use super::{ParenthesisFault, Position, is_whole, parse, parse_one};

    #[test]
    fn answers_of_solvers_are_read() {
        let answer = parse_one("((w_0_0 (- (/ 1.0 4.0))) (b_0 0.125) (b_1 2))").unwrap();
        let values: Vec<f64> =
            answer.list().unwrap().iter().map(|pair| pair.list().unwrap()[1].rational().unwrap().to_f64().value()).collect();
        assert_eq!(values, [-0.25, 0.125, 2.0]);
        assert_eq!(parse_one("sat").unwrap().word(), Some("sat"));
    }

    #[test]
    fn what_is_cut_off_or_no_number_is_refused() {
        for text in ["((a 1)", "(a))", ")", "", "a b"] {
            assert_eq!(parse_one(text), None, "{text}");
        }
        for text in ["(/ 1 0)", "(root-obj (+ (^ x 2) (- 2)) 1)", "1.4?", "-1", ".", "true"] {
            assert_eq!(parse_one(text).and_then(|s| s.rational()), None, "{text}");
        }
        let deep = "(".repeat(100_000);
        assert_eq!(parse(&deep).unwrap_err(), (Position { line: 1, column: 201 }, ParenthesisFault::TooDeep));
    }

    #[test]
    fn parentheses_in_strings_and_comments_do_not_count() {
        assert!(is_whole("(error \"a ( b; \n\")"));
        assert!(is_whole("(a |( b| ; )\n)"));
        assert!(!is_whole("((a 1) ; )"));
        assert!(!is_whole("; a comment\n"));
        assert_eq!(parse("\n a (b\n c").unwrap_err(), (Position { line: 2, column: 4 }, ParenthesisFault::Unclosed));
    }
}
