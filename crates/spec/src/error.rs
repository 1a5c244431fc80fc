//! What can be wrong with a rule, where, and what to write instead.

use std::ops::Range;

use thiserror::Error;

/// A byte range in a rule's text.
pub type Span = Range<usize>;

/// A rule that can't be read, with the place and a hint.
///
/// ```
/// use deepsade_spec::{Domain, Feature, OneHot, RuleErrorKind, RuleText, Schema, Task, compile};
///
/// let schema = Schema {
///     features: vec![Feature { name: "income".into(), domain: Domain::Real { lo: 0.0, hi: 100.0 } }],
///     task: Task::regression(vec!["rent".into()]),
///     one_hot: OneHot::Full,
///     filled: vec![],
/// };
/// let rule = RuleText { name: "afford".into(), text: "rent <= incom".into() };
/// let error = compile(&[rule], &schema).unwrap_err().remove(0);
/// assert_eq!(error.kind, RuleErrorKind::UnknownName("incom".into()));
/// assert_eq!(&error.text[error.span.clone()], "incom");
/// assert!(error.hint.unwrap().contains("income"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("rule '{rule}': {kind}")]
pub struct RuleError {
    /// Name of the rule.
    pub rule: String,
    /// Its text, into which `span` points.
    pub text: String,
    /// The offending place.
    pub span: Span,
    /// What is wrong.
    pub kind: RuleErrorKind,
    /// What to write instead, where that can be guessed.
    pub hint: Option<String>,
}

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuleErrorKind {
    /// A character that starts no token.
    #[error("unexpected character '{0}'")]
    UnexpectedCharacter(char),
    /// A quote or backtick without its partner.
    #[error("this {0} is never closed")]
    Unclosed(&'static str),
    /// A number that can't be read exactly.
    #[error("'{0}' is not a number that can be read exactly")]
    BadNumber(String),
    /// A token in the wrong place.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What could stand here.
        expected: &'static str,
        /// What stands here.
        found: String,
    },
    /// Parentheses, `not`, `-` or `if` nested too deeply.
    #[error("nested more than {0} deep")]
    TooDeep(usize),
    /// A name that is neither a feature, a target nor an index.
    #[error("nothing is called '{0}'")]
    UnknownName(String),
    /// A level or class that its column does not have.
    #[error("'{owner}' has no level '{level}'")]
    UnknownLevel {
        /// The category or target.
        owner: String,
        /// What was written.
        level: String,
    },
    /// A function that does not exist.
    #[error("there is no function '{0}'")]
    UnknownFunction(String),
    /// A function called with the wrong arguments.
    #[error("{function} takes {takes}")]
    WrongArguments {
        /// The function.
        function: &'static str,
        /// What it takes.
        takes: &'static str,
    },
    /// A value of one type where another is needed.
    #[error("expected {expected}, but this is {found}")]
    Type {
        /// The type that is needed.
        expected: &'static str,
        /// The type that was found.
        found: String,
    },
    /// Two sides of a comparison that can't be compared.
    #[error("{left} can't be compared with {right}")]
    Incomparable {
        /// Type of the left side.
        left: String,
        /// Type of the right side.
        right: String,
    },
    /// A product or quotient of two values that both vary.
    #[error("not linear: {0}")]
    NotLinear(&'static str),
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// An index outside its range.
    #[error("index {index} is outside 0..{len}")]
    IndexOutOfRange {
        /// The index.
        index: String,
        /// How many there are.
        len: usize,
    },
    /// A construct that belongs to another task.
    #[error("{construct} needs a {needs} task, and this is a {task} task")]
    WrongTask {
        /// What was written.
        construct: &'static str,
        /// Which task it belongs to.
        needs: &'static str,
        /// The task at hand.
        task: &'static str,
    },
    /// A rule about inputs alone.
    #[error(
        "the rule says nothing about an output (none is mentioned, they cancel out, or it is decided without them), so no network can \
         make it true or false"
    )]
    NoOutput,
    /// A function of two inputs inside something else.
    #[error(
        "{0}(...) compares two inputs, so it stands alone: after a condition and `=>`, beside others with `and`, or in a `forall`"
    )]
    TwoInputs(String),
    /// What is compared between two inputs is not made of outputs alone.
    #[error("what {function}(...) compares is made of outputs alone: {found}")]
    NotOutputs {
        /// The function.
        function: String,
        /// What is in the way.
        found: String,
    },
    /// A feature that can't be moved as the rule says.
    #[error("{function}(...) can't move '{name}': {why}")]
    NotMoved {
        /// The function.
        function: String,
        /// The feature.
        name: String,
        /// Why.
        why: &'static str,
    },
    /// A rule whose expansion is too large.
    #[error("the rule expands to more than {0} parts")]
    TooLarge(usize),
}

/// What is wrong, where, and a hint: a [`RuleError`] that does not know its rule yet.
pub(crate) type Fault = (RuleErrorKind, Span, Option<String>);

/// A name longer than this is no slip of the pen, and comparing takes its square.
const LONGEST_SLIP: usize = 100;
/// Candidates that are compared.
const MOST_CANDIDATES: usize = 10_000;

/// The candidate nearest to `written`, if any is near enough to be a slip.
pub fn nearest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = written.chars().count();
    if length > LONGEST_SLIP {
        return None;
    }
    let lower = written.to_lowercase();
    let allowed = (length / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().take(MOST_CANDIDATES).filter(|c| c.len() <= 4 * LONGEST_SLIP) {
        let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
        if distance <= allowed && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Things with commas between them, at most so many: `a, b, ...`.
pub fn listed<T: std::fmt::Display>(items: impl IntoIterator<Item = T>, most: usize) -> String {
    let mut items = items.into_iter();
    let shown: Vec<String> = items.by_ref().take(most).map(|item| item.to_string()).collect();
    format!("{}{}", shown.join(", "), if items.next().is_some() { ", ..." } else { "" })
}
