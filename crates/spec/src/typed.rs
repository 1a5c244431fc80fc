//! A rule after typing: every name resolved against the schema, every index expanded, everything linear or piecewise linear.

use crate::Rational;
use crate::ast::Relation;
use crate::linear::{Linear, Var};
use crate::pair::Moves;
use crate::schema::Schema;

/// Parts that a single rule may have, expanded or in normal form, where piecewise terms on both sides multiply: far above any rule a person
/// means, far below what fills the memory.
pub(crate) const MAX_PARTS: usize = 500_000;

/// The rules of a problem, typed against its schema.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedSpec {
    /// The vocabulary.
    pub schema: Schema,
    /// The rules, in the order of the file.
    pub rules: Vec<TypedRule>,
    /// The rules between two inputs, likewise.
    pub pairs: Vec<TypedPairRule>,
}

/// One typed rule.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedRule {
    /// Its name.
    pub name: String,
    /// Its text as written.
    pub text: String,
    /// What must hold for every input.
    pub claim: Bool,
    /// True if the rule reads raw scores of a classifier, which labelled data does not have.
    pub reads_scores: bool,
}

/// One typed rule between two inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedPairRule {
    /// Its name.
    pub name: String,
    /// Its text as written.
    pub text: String,
    /// What must hold for every two inputs, all of it.
    pub parts: Vec<TypedPair>,
    /// As of [`TypedRule`].
    pub reads_scores: bool,
}

/// See [`crate::pair::Pair`].
#[derive(Debug, Clone, PartialEq)]
pub struct TypedPair {
    /// On both inputs.
    pub condition: Bool,
    /// What may differ between them, in ascending order.
    pub features: Vec<usize>,
    /// How.
    pub moves: Moves,
    /// What is compared.
    pub compared: Compared,
}

/// See [`crate::pair::Kept`].
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "those of `Kept`")]
pub enum Compared {
    Number { linear: Linear, by: Rational, strict: bool },
    Condition(Bool),
}

/// `linear + sum of factor * piece`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Num {
    /// The linear part.
    pub linear: Linear,
    /// The piecewise linear part.
    pub pieces: Vec<(Rational, Piecewise)>,
}

/// Piecewise linear building blocks; abs(a) is max(a, -a).
#[derive(Debug, Clone, PartialEq)]
pub enum Piecewise {
    /// The smallest of the arguments.
    Min(Vec<Num>),
    /// The largest of the arguments.
    Max(Vec<Num>),
    /// The second if the first holds, else the third.
    If(Box<Bool>, Box<Num>, Box<Num>),
    /// 1 if it holds, else 0.
    Indicator(Box<Bool>),
}

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Bool {
    /// Always or never.
    Const(bool),
    /// `num relation 0`
    Compare(Num, Relation),
    /// The category (a feature) has one of these levels.
    LevelIn(usize, Vec<usize>),
    /// The predicted class is one of these, out of so many.
    ClassIn(Vec<usize>, usize),
    /// The label (an output) is predicted.
    Label(usize),
    /// Not.
    Not(Box<Bool>),
    /// All of them.
    And(Vec<Bool>),
    /// One of them at least.
    Or(Vec<Bool>),
    /// Both or neither.
    Iff(Box<Bool>, Box<Bool>),
}

impl Num {
    /// A constant.
    pub fn constant(value: Rational) -> Self {
        Self { linear: Linear::constant(value), pieces: Vec::new() }
    }

    /// A variable.
    pub fn var(var: Var) -> Self {
        Self { linear: Linear::var(var), pieces: Vec::new() }
    }

    /// A single piece.
    pub fn piece(piece: Piecewise) -> Self {
        Self { linear: Linear::default(), pieces: vec![(Rational::ONE, piece)] }
    }

    /// The value, if nothing varies.
    pub fn as_constant(&self) -> Option<&Rational> {
        (self.pieces.is_empty() && self.linear.is_constant()).then_some(&self.linear.constant)
    }

    /// Adds `factor * other`.
    pub fn add_scaled(&mut self, factor: &Rational, other: Num) {
        if factor.is_zero() {
            return;
        }
        self.linear.add_scaled(factor, &other.linear);
        self.pieces.extend(other.pieces.into_iter().map(|(c, piece)| (c * factor, piece)));
    }

    /// `factor * self`.
    #[must_use]
    pub fn scaled(self, factor: &Rational) -> Self {
        let mut result = Self::default();
        result.add_scaled(factor, self);
        result
    }

    /// The value at a point; the reference that the normal form is tested against.
    pub fn at(&self, value: &impl Fn(Var) -> Rational) -> Rational {
        self.pieces.iter().fold(self.linear.at(value), |sum, (c, piece)| sum + c * piece.at(value))
    }

    /// How many parts it is made of.
    pub fn parts(&self) -> usize {
        let piece = |(_, piece): &(Rational, Piecewise)| match piece {
            Piecewise::Min(args) | Piecewise::Max(args) => args.iter().map(Num::parts).sum(),
            Piecewise::If(c, a, b) => c.parts() + a.parts() + b.parts(),
            Piecewise::Indicator(b) => b.parts(),
        };
        1 + self.linear.terms.len() + self.pieces.iter().map(piece).sum::<usize>()
    }

    fn mentions_output(&self) -> bool {
        self.linear.mentions_output()
            || self.pieces.iter().any(|(_, piece)| match piece {
                Piecewise::Min(args) | Piecewise::Max(args) => args.iter().any(Num::mentions_output),
                Piecewise::If(c, a, b) => c.mentions_output() || a.mentions_output() || b.mentions_output(),
                Piecewise::Indicator(b) => b.mentions_output(),
            })
    }
}

impl Piecewise {
    fn at(&self, value: &impl Fn(Var) -> Rational) -> Rational {
        match self {
            Piecewise::Min(args) => args.iter().map(|a| a.at(value)).min().expect("min has an argument"),
            Piecewise::Max(args) => args.iter().map(|a| a.at(value)).max().expect("max has an argument"),
            Piecewise::If(c, a, b) => {
                if c.at(value) {
                    a.at(value)
                } else {
                    b.at(value)
                }
            }
            Piecewise::Indicator(b) => {
                if b.at(value) {
                    Rational::ONE
                } else {
                    Rational::ZERO
                }
            }
        }
    }
}

impl Bool {
    /// The truth at a point; the reference that the normal form is tested against.
    pub fn at(&self, value: &impl Fn(Var) -> Rational) -> bool {
        match self {
            Bool::Const(truth) => *truth,
            Bool::Compare(num, relation) => relation.holds(&num.at(value)),
            Bool::LevelIn(f, levels) => levels.iter().any(|l| value(Var::Level(*f, *l)) == Rational::ONE),
            // The class listed first wins a tie: c is predicted iff it beats all before it and none after it is larger.
            Bool::ClassIn(classes, of) => classes.iter().any(|c| {
                let score = value(Var::Output(*c));
                (0..*c).all(|d| value(Var::Output(d)) < score) && (*c..*of).all(|d| value(Var::Output(d)) <= score)
            }),
            Bool::Label(j) => value(Var::Output(*j)) > Rational::ZERO,
            Bool::Not(a) => !a.at(value),
            Bool::And(all) => all.iter().all(|a| a.at(value)),
            Bool::Or(any) => any.iter().any(|a| a.at(value)),
            Bool::Iff(a, b) => a.at(value) == b.at(value),
        }
    }

    /// How many parts it is made of.
    pub fn parts(&self) -> usize {
        1 + match self {
            Bool::Const(_) | Bool::Label(_) => 0,
            Bool::LevelIn(_, list) | Bool::ClassIn(list, _) => list.len(),
            Bool::Compare(num, _) => num.parts(),
            Bool::Not(a) => a.parts(),
            Bool::And(list) | Bool::Or(list) => list.iter().map(Bool::parts).sum(),
            Bool::Iff(a, b) => a.parts() + b.parts(),
        }
    }

    /// True if the condition depends on an output.
    pub fn mentions_output(&self) -> bool {
        match self {
            Bool::Const(_) | Bool::LevelIn(..) => false,
            Bool::Compare(num, _) => num.mentions_output(),
            Bool::ClassIn(..) | Bool::Label(_) => true,
            Bool::Not(a) => a.mentions_output(),
            Bool::And(list) | Bool::Or(list) => list.iter().any(Bool::mentions_output),
            Bool::Iff(a, b) => a.mentions_output() || b.mentions_output(),
        }
    }
}

impl Num {
    /// A feature of the input that it depends on.
    fn a_feature(&self) -> Option<usize> {
        let piece = |(_, piece): &(Rational, Piecewise)| match piece {
            Piecewise::Min(args) | Piecewise::Max(args) => args.iter().find_map(Num::a_feature),
            Piecewise::If(c, a, b) => c.a_feature().or_else(|| a.a_feature()).or_else(|| b.a_feature()),
            Piecewise::Indicator(b) => b.a_feature(),
        };
        self.linear.terms.keys().find_map(|v| v.feature()).or_else(|| self.pieces.iter().find_map(piece))
    }
}

impl Bool {
    /// A feature of the input that it depends on.
    pub(crate) fn a_feature(&self) -> Option<usize> {
        match self {
            Bool::Const(_) | Bool::ClassIn(..) | Bool::Label(_) => None,
            Bool::Compare(num, _) => num.a_feature(),
            Bool::LevelIn(f, _) => Some(*f),
            Bool::Not(a) => a.a_feature(),
            Bool::And(list) | Bool::Or(list) => list.iter().find_map(Bool::a_feature),
            Bool::Iff(a, b) => a.a_feature().or_else(|| b.a_feature()),
        }
    }
}

impl Relation {
    /// `value relation 0`
    pub fn holds(self, value: &Rational) -> bool {
        match self {
            Relation::Less => *value < Rational::ZERO,
            Relation::LessEqual => *value <= Rational::ZERO,
            Relation::Equal => value.is_zero(),
            Relation::NotEqual => !value.is_zero(),
            Relation::GreaterEqual => *value >= Rational::ZERO,
            Relation::Greater => *value > Rational::ZERO,
        }
    }

    /// The relation with its sides exchanged.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Relation::Less => Relation::Greater,
            Relation::LessEqual => Relation::GreaterEqual,
            Relation::GreaterEqual => Relation::LessEqual,
            Relation::Greater => Relation::Less,
            same => same,
        }
    }

    /// The relation that holds exactly where this one does not.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Relation::Less => Relation::GreaterEqual,
            Relation::LessEqual => Relation::Greater,
            Relation::Equal => Relation::NotEqual,
            Relation::NotEqual => Relation::Equal,
            Relation::GreaterEqual => Relation::Less,
            Relation::Greater => Relation::LessEqual,
        }
    }
}
