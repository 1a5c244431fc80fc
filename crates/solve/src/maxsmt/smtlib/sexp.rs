//! A solver's answer enters as text; a tree of symbols leaves, and the numbers in it.

use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

/// A symbol or a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sexp {
    /// `sat`, `0.5`, `"text"`.
    Symbol(String),
    /// `(...)`.
    List(Vec<Sexp>),
}

impl Sexp {
    /// Reads one tree; `None` if the text is no whole one.
    pub fn parse(text: &str) -> Option<Self> {
        let tokens = tokens(text);
        let mut at = 0;
        let tree = read(&tokens, &mut at, 0)?;
        (at == tokens.len()).then_some(tree)
    }

    /// The symbol, if it is one.
    pub fn symbol(&self) -> Option<&str> {
        if let Self::Symbol(text) = self { Some(text) } else { None }
    }

    /// The parts, if it is a list.
    pub fn list(&self) -> Option<&[Sexp]> {
        if let Self::List(parts) = self { Some(parts) } else { None }
    }

    /// The value of `1.5`, `(- 2)`, `(/ 1 3)`; `None` for what is no rational number.
    pub fn rational(&self) -> Option<RBig> {
        match self {
            Self::Symbol(text) => {
                let (whole, part) = text.split_once('.').unwrap_or((text, ""));
                if whole.is_empty() || !whole.chars().chain(part.chars()).all(|c| c.is_ascii_digit()) {
                    return None;
                }
                let digits: IBig = format!("{whole}{part}").parse().ok()?;
                Some(RBig::from_parts(digits, UBig::from(10u8).pow(part.len())))
            }
            Self::List(parts) => match (parts.first()?.symbol()?, &parts[1..]) {
                ("-", [x]) => Some(-x.rational()?),
                ("/", [x, y]) => {
                    let y = y.rational().filter(|y| *y != RBig::ZERO)?;
                    Some(x.rational()? / y)
                }
                ("to_real", [x]) => x.rational(),
                _ => None,
            },
        }
    }
}

/// Whether the text is a whole tree: as many brackets closed as opened, outside of strings and comments.
pub fn is_whole(text: &str) -> bool {
    let tokens = tokens(text);
    let depth = tokens.iter().fold(0i64, |d, t| d + i64::from(t == "(") - i64::from(t == ")"));
    !tokens.is_empty() && depth <= 0
}

fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '(' | ')' => out.push(c.into()),
            ';' => while chars.next_if(|c| *c != '\n').is_some() {},
            '"' | '|' => {
                let mut token = String::from(c);
                for d in chars.by_ref() {
                    token.push(d);
                    if d == c {
                        break;
                    }
                }
                out.push(token);
            }
            c if c.is_whitespace() => {}
            c => {
                let mut token = String::from(c);
                while let Some(d) = chars.next_if(|d| !d.is_whitespace() && !"()\";|".contains(*d)) {
                    token.push(d);
                }
                out.push(token);
            }
        }
    }
    out
}

/// Reads the tree that starts at `at`, and moves `at` behind it.
fn read(tokens: &[String], at: &mut usize, depth: usize) -> Option<Sexp> {
    let token = tokens.get(*at)?;
    *at += 1;
    match token.as_str() {
        "(" if depth < 200 => {
            let mut parts = Vec::new();
            while tokens.get(*at)? != ")" {
                parts.push(read(tokens, at, depth + 1)?);
            }
            *at += 1;
            Some(Sexp::List(parts))
        }
        "(" | ")" => None,
        _ => Some(Sexp::Symbol(token.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::{Sexp, is_whole};

    #[test]
    fn answers_of_solvers_are_read() {
        let answer = Sexp::parse("((w_0_0 (- (/ 1.0 4.0))) (b_0 0.125) (b_1 2))").unwrap();
        let values: Vec<f64> =
            answer.list().unwrap().iter().map(|pair| pair.list().unwrap()[1].rational().unwrap().to_f64().value()).collect();
        assert_eq!(values, [-0.25, 0.125, 2.0]);
        assert_eq!(Sexp::parse("sat").unwrap().symbol(), Some("sat"));
    }

    #[test]
    fn what_is_cut_off_or_no_number_is_refused() {
        for text in ["((a 1)", "(a))", ")", "", "a b"] {
            assert_eq!(Sexp::parse(text), None, "{text}");
        }
        for text in ["(/ 1 0)", "(root-obj (+ (^ x 2) (- 2)) 1)", "1.4?", "-1", ".", "true"] {
            assert_eq!(Sexp::parse(text).and_then(|s| s.rational()), None, "{text}");
        }
        assert!(Sexp::parse(&"(".repeat(100_000)).is_none());
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        assert!(is_whole("(error \"a ( b\")"));
        assert!(!is_whole("((a 1)"));
        assert!(!is_whole("; a comment\n"));
    }
}
