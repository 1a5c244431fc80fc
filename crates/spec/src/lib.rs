//! What is claimed: a rule file enters, a normal form of its rules over a typed schema leaves. No search.
#![forbid(unsafe_code)]

pub mod schema;

pub use schema::{Column, ColumnKind, Domain, Feature, OneHot, Schema, Task};

/// Exact rational numbers: every coefficient of a rule is one.
pub type Rational = dashu::rational::RBig;
