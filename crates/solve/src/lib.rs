//! Numbers and atoms enter, numbers leave: what the searches ask again and again. No networks, nothing trusted.
//!
//! - [`kernel`], [`exp`]: the products of a dense layer, loops compiled for this machine's vectors, functions by plain arithmetic.
//! - [`parallel`]: what becomes of many items, on several threads.
//! - [`simplex`], [`game`], [`program`]: linear programs.
//! - [`active_set`]: the nearest point in a set of half-spaces, a quadratic program; [`cholesky`]: the equations in it.
//! - [`mod@satisfy`], [`eliminate`]: whether atoms can hold together, exactly.
#![forbid(unsafe_code)]
// Loops must be inlined into the dispatching function, or they are not compiled for its vectors.
#![allow(clippy::inline_always)]

pub mod active_set;
pub mod cholesky;
pub mod eliminate;
pub mod exp;
pub mod game;
pub mod kernel;
pub mod parallel;
pub mod program;
pub mod satisfy;
pub mod simplex;
