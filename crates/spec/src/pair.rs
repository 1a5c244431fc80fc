//! Rules between two inputs, in normal form: what may move, and what must hold between the two predictions.

use crate::Rational;
use crate::formula::{Atom, Formula};
use crate::linear::{Linear, Var};
use crate::schema::{Domain, Schema};

/// One rule between two inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct PairRule {
    /// Its name.
    pub name: String,
    /// Its text as written.
    pub text: String,
    /// What must hold, all of it.
    pub parts: Vec<Pair>,
    /// True if the rule reads raw scores of a classifier, which labelled data does not have.
    pub reads_scores: bool,
}

/// For all inputs x, x' of the domain that both meet the condition, are equal but for some features, and in these lie to each other as
/// `moves` says: what is `kept` holds for the outputs y of x and y' of x'.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// A condition on the input.
    pub condition: Formula,
    /// The features that may differ, in ascending order.
    pub features: Vec<usize>,
    /// How they may.
    pub moves: Moves,
    /// What is claimed.
    pub kept: Kept,
}

/// How x' may lie to x in the features that differ.
#[derive(Debug, Clone, PartialEq)]
pub enum Moves {
    /// None of them is smaller.
    Up,
    /// In any way.
    Any,
    /// Each by at most so much.
    By(Vec<Rational>),
}

/// What holds between two outputs.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// `linear(y') >= linear(y) - by`, or `>` if strict. The form is of outputs alone, without a constant.
    Number {
        /// What is compared.
        linear: Linear,
        /// By how much it may fall.
        by: Rational,
        /// True for `>`.
        strict: bool,
    },
    /// If it holds for y, it holds for y'. A condition on outputs alone.
    Condition(Formula),
}

/// How a value depends on a feature while the others stay: it is the same, never falls or never rises as the feature rises, or none of
/// this is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    /// The same whatever the feature is.
    Constant,
    /// Never falls as the feature rises.
    Up,
    /// Never rises as the feature rises.
    Down,
    /// Anything.
    Unknown,
}

impl Trend {
    /// Of a value times a number of this sign.
    #[must_use]
    pub fn times(self, factor: f32) -> Self {
        match self {
            _ if factor == 0.0 => Self::Constant,
            Self::Up if factor < 0.0 => Self::Down,
            Self::Down if factor < 0.0 => Self::Up,
            _ if factor.is_nan() => Self::Unknown,
            other => other,
        }
    }

    /// Of a function that falls in neither of two values.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Constant, t) | (t, Self::Constant) => t,
            (a, b) if a == b => a,
            _ => Self::Unknown,
        }
    }

    /// Whether what has this trend has that one, too.
    pub fn implies(self, asked: Self) -> bool {
        self == Self::Constant || self == asked || asked == Self::Unknown
    }
}

impl Pair {
    /// For each output what is enough of its trend in every one of the features: a form whose terms all go the right way goes it, too,
    /// and so does a condition, which has no negation, whose atoms do. Distances are never enough of a trend but for no change at all.
    pub fn demands(&self) -> Vec<(usize, Trend)> {
        let mut demands: Vec<(usize, Trend)> = Vec::new();
        let mut ask = |linear: &Linear| {
            for (var, c) in &linear.terms {
                let Var::Output(j) = var else { continue };
                let asked = match self.moves {
                    Moves::Up if *c > Rational::ZERO => Trend::Up,
                    Moves::Up => Trend::Down,
                    Moves::Any | Moves::By(_) => Trend::Constant,
                };
                match demands.iter_mut().find(|(k, _)| k == j) {
                    Some((_, before)) if *before != asked => *before = Trend::Constant,
                    Some(_) => {}
                    None => demands.push((*j, asked)),
                }
            }
        };
        match &self.kept {
            Kept::Number { linear, .. } => ask(linear),
            Kept::Condition(formula) => formula.atoms(&mut |atom: &Atom| ask(&atom.linear)),
        }
        demands
    }

    /// Whether two inputs are such as the rule speaks of; the values of an input are those of its variables.
    pub fn allows(&self, schema: &Schema, a: &impl Fn(Var) -> Rational, b: &impl Fn(Var) -> Rational) -> bool {
        let alike = |f: usize| match &schema.features[f].domain {
            Domain::Category { levels } => (0..levels.len()).all(|l| a(Var::Level(f, l)) == b(Var::Level(f, l))),
            _ => a(Var::Feature(f)) == b(Var::Feature(f)),
        };
        let moved = |k: usize, f: usize| match &self.moves {
            Moves::Any => true,
            Moves::Up => a(Var::Feature(f)) <= b(Var::Feature(f)),
            Moves::By(by) => {
                let d = b(Var::Feature(f)) - a(Var::Feature(f));
                d <= by[k] && -d <= by[k]
            }
        };
        (0..schema.features.len()).all(|f| match self.features.iter().position(|g| *g == f) {
            Some(k) => moved(k, f),
            None => alike(f),
        }) && self.condition.at(a)
            && self.condition.at(b)
    }

    /// Whether what is claimed holds between the outputs of two inputs.
    pub fn keeps(&self, a: &impl Fn(Var) -> Rational, b: &impl Fn(Var) -> Rational) -> bool {
        match &self.kept {
            Kept::Number { linear, by, strict } => {
                let left = linear.at(b) - linear.at(a) + by;
                if *strict { left > Rational::ZERO } else { left >= Rational::ZERO }
            }
            Kept::Condition(formula) => !formula.at(a) || formula.at(b),
        }
    }

    /// The outputs that it speaks of, in order.
    pub fn outputs(&self) -> Vec<usize> {
        let mut outputs: Vec<usize> = self.demands().into_iter().map(|(j, _)| j).collect();
        outputs.sort_unstable();
        outputs
    }
}
