//! What the rules allow and a network enter; the loss to train it with and the files of the model whose outputs are moved leave.

mod attach;
mod objective;

pub use attach::{Attached, attach};

#[cfg(test)]
mod tests;
