//! How it is found: data, training and everything that searches. Nothing here is trusted.

pub mod data;
pub mod train;
