//! What the rules allow enters; the loss to train a network with whose outputs are moved there leaves.

mod objective;

#[cfg(test)]
mod tests;
