//! The syntax tree of a rule, with spans.

use crate::Rational;
use crate::error::Span;

/// An expression and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// `0.05`
    Number(Rational),
    /// `'Urban'`
    Text(String),
    /// `true`
    Truth(bool),
    /// `income`, `` `House Age` ``
    Name(String),
    /// `label[3]`, `at[i, p]`
    Index(String, Vec<Expr>),
    /// `sum(a, b)`, `count(label[i] for i in 0..4)`
    Call {
        /// The function's name and place.
        function: (String, Span),
        /// The arguments; the last is repeated by the generators.
        args: Vec<Expr>,
        /// `for i in 0..4`
        generators: Vec<Generator>,
        /// `by = 0.1`
        by: Option<Box<By>>,
    },
    /// `{income, age}`, as an argument
    Set(Vec<Expr>),
    /// `-a`
    Negate(Box<Expr>),
    /// `not a`
    Not(Box<Expr>),
    /// `a and b and c`
    All(Vec<Expr>),
    /// `a or b or c`
    Any(Vec<Expr>),
    /// `a + b`, `a => b`
    Binary(Operator, Box<Expr>, Box<Expr>),
    /// `0 <= y <= income`: n operands, n - 1 relations
    Chain(Vec<Expr>, Vec<Relation>),
    /// `genre in {'rock', 'pop'}`
    In {
        /// The left side.
        item: Box<Expr>,
        /// The members.
        set: Vec<Expr>,
        /// True for `not in`.
        negated: bool,
    },
    /// `if c then a else b`
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `forall i in 0..4: body`
    Quantified(Quantifier, Vec<Generator>, Box<Expr>),
}

/// `for NAME in LOW..HIGH`
#[derive(Debug, Clone, PartialEq)]
pub struct Generator {
    /// The index.
    pub name: String,
    /// First value.
    pub low: Expr,
    /// One past the last value.
    pub high: Expr,
}

/// `by = 0.1`, `by = 10%`
#[derive(Debug, Clone, PartialEq)]
pub struct By {
    /// How far.
    pub distance: Expr,
    /// Whether in per cent of a feature's range.
    pub percent: bool,
}

/// Binary operators other than comparisons, `and` and `or`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Implies,
    Iff,
}

impl Operator {
    /// Whether a chain of both nests to the left: `a + b - c`.
    pub fn chains_with(self, other: Self) -> bool {
        let class = |operator| match operator {
            Self::Add | Self::Subtract => 0,
            Self::Multiply | Self::Divide => 1,
            Self::Iff => 2,
            Self::Implies => 3,
        };
        self != Self::Implies && class(self) == class(other)
    }
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Relation {
    Less,
    LessEqual,
    Equal,
    NotEqual,
    GreaterEqual,
    Greater,
}

/// `forall` or `exists`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Quantifier {
    ForAll,
    Exists,
}
