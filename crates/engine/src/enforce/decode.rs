//! A decoder enters; the loss to train a network with that it stands behind leaves.

mod objective;

pub use objective::AtCutoff;
