//! Text enters; parenthesised expressions with their places leave.

use super::{Problem, VnnlibError, at};

/// A line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A word or a list, and where it starts.
#[derive(Debug, Clone)]
pub(super) struct Sexpr {
    pub expr: Expr,
    pub place: Place,
}

#[derive(Debug, Clone)]
pub(super) enum Expr {
    Word(String),
    List(Vec<Sexpr>),
}

impl Sexpr {
    /// The word, or the first word of the list.
    pub fn head(&self) -> String {
        match &self.expr {
            Expr::Word(word) => word.clone(),
            Expr::List(items) => {
                items.first().map(|i| if let Expr::Word(w) = &i.expr { w.clone() } else { "(".into() }).unwrap_or_default()
            }
        }
    }
}

const MAX_DEPTH: usize = 200;

/// The expressions of a text; `;` starts a comment.
pub(super) fn parse(text: &str) -> Result<Vec<Sexpr>, VnnlibError> {
    let mut open: Vec<(Place, Vec<Sexpr>)> = Vec::new();
    let mut done = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split(';').next().unwrap_or_default();
        let mut rest = line;
        // Counted on the way: all of a property may stand on one line.
        let mut column = 1;
        while let Some(c) = rest.chars().next() {
            let place = Place { line: number + 1, column };
            let mut len = c.len_utf8();
            let finished = match c {
                '(' => {
                    if open.len() == MAX_DEPTH {
                        return at(place, Problem::TooDeep);
                    }
                    open.push((place, Vec::new()));
                    None
                }
                ')' => match open.pop() {
                    Some((place, items)) => Some(Sexpr { expr: Expr::List(items), place }),
                    None => return at(place, Problem::Unopened),
                },
                c if c.is_whitespace() => None,
                _ => {
                    len = rest.find(|c: char| c.is_whitespace() || c == '(' || c == ')').unwrap_or(rest.len());
                    Some(Sexpr { expr: Expr::Word(rest[..len].into()), place })
                }
            };
            if let Some(expr) = finished {
                open.last_mut().map_or(&mut done, |(_, items)| items).push(expr);
            }
            column += rest[..len].chars().count();
            rest = &rest[len..];
        }
    }
    match open.pop() {
        Some((place, _)) => at(place, Problem::Unclosed),
        None => Ok(done),
    }
}
