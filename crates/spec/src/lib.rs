//! What is claimed: a rule file enters, a normal form of its rules over a typed schema leaves. No search.
//!
//! The stages are types: text, [`ast::Expr`], [`TypedSpec`], [`NormalSpec`].
#![forbid(unsafe_code)]

pub mod ast;
pub mod canonical;
pub mod cells;
pub mod claim;
mod compile;
mod elaborate;
pub mod error;
pub mod float32;
pub mod formula;
pub mod json;
pub mod lex;
pub mod linear;
pub mod named;
pub mod normalize;
pub mod pair;
pub mod parse;
pub mod print;
pub mod region;
pub mod schema;
pub mod shown;
pub mod typed;

pub use claim::{Claim, Mismatch};
pub use compile::{RULES_KEY, RuleText, carried, check_types, compile, duplicate_name};
pub use error::{RuleError, RuleErrorKind, Span, listed, nearest};
pub use formula::{Atom, Formula, SingleBound, Threshold};
pub use linear::{Linear, Var, common_denominator};
pub use named::NamedValues;
pub use normalize::{NormalRule, NormalSpec};
pub use pair::{Kept, Moves, Pair, PairRule, Trend};
pub use region::{Cut, CutError, Region};
pub use schema::{
    ColumnKind, ColumnMap, Domain, Feature, Fill, Filled, InputColumn, LARGEST_INTEGER, OneHot, SCHEMA_KEY, Schema, SchemaError,
    Task, VarColumns, indicator_of, nearest_multiple,
};
pub use typed::TypedSpec;

/// Exact rational numbers: every coefficient of a rule is one.
pub type Rational = dashu::rational::RBig;
