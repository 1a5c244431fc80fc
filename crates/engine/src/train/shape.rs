//! Why a network can't be trained.

use deepsade_net::NetworkError;
use thiserror::Error;

/// A network that cannot be trained.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PlanError {
    /// It can't even be evaluated.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// No dense layer leads to the output.
    #[error("no dense layer leads to the network's output, so there is nothing to train")]
    NothingToTrain,
    /// A convolution or a pool behind what is trained.
    #[error(
        "node {node} ({op}) stands behind a dense layer that is trained: convolutions and pools are read as they are, before all that is trained"
    )]
    Given {
        /// The node.
        node: usize,
        /// Its operation.
        op: &'static str,
    },
    /// A choice has no gradient.
    #[error("node {node} chooses a row of a table, which has no gradient: train the network that ends at the scores before it")]
    Choice {
        /// The node.
        node: usize,
    },
}
