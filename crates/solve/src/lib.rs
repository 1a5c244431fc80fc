//! Numbers and atoms enter, numbers leave: what the searches ask again and again. No networks, nothing trusted.
//!
//! - [`kernel`], [`exp`]: the products of a dense layer, loops compiled for this machine's vectors, functions by plain arithmetic.
//! - [`parallel`]: what becomes of many items, on several threads.
//! - [`simplex`]: linear programs over boxes; [`program`] reads bounds from their dual solutions.
//! - [`game`]: matrix games. A linear program, too, but with an unknown for each column and no box: it starts where it is feasible, and a
//!   new row takes a few pivots. They choose among multipliers that are equally good, hence the bytes of what is trained.
//! - [`active_set`]: the nearest point in a set of half-spaces, a quadratic program; [`cholesky`]: the equations in it. The guard's own
//!   quadratic program (`guard/projection.rs` in crates/engine) never sees coordinates: its points are layers, of which it keeps the
//!   products alone, and cuts stay from one step to the next.
//! - [`whole`]: a linear program some of whose unknowns are whole numbers, by branch and bound over [`simplex`].
//! - [`mod@satisfy`], [`eliminate`]: whether atoms can hold together, exactly.
//! - [`maxsmt`]: numbers that satisfy all of the hard and most of the soft constraints; one trait, three engines.
//! - [`sample`]: inputs of a domain, drawn at random.
//! - [`irreducible`](mod@irreducible): a set that passes a test, without what can be spared.
//! - [`tied`](mod@tied): which formulas share outputs, directly or through others.
//! - [`sexpr`]: what other solvers write.
#![forbid(unsafe_code)]
// Loops must be inlined into the dispatching function, or they are not compiled for its vectors.
#![allow(clippy::inline_always)]

pub mod active_set;
pub mod budget;
pub mod cholesky;
pub mod eliminate;
pub mod exp;
pub mod finite;
pub mod game;
pub mod irreducible;
pub mod kernel;
pub mod maxsmt;
pub mod parallel;
pub mod program;
pub mod sample;
pub mod satisfy;
pub mod sexpr;
pub mod simplex;
pub mod tied;
pub mod whole;
