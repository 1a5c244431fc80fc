//! How it is found: data, training and everything that searches. Nothing here is trusted.
//!
//! The way through: [`problem`] reads a rule file, [`data`] its rows, [`judge`] says which rules a row breaks, [`explain`] what
//! the rules mean, [`train`] and [`fit`] make a network, [`metrics`] and [`predict`] read its outputs, [`artifact`] its files.

pub mod adversity;
pub mod artifact;
pub mod bounds;
pub mod certify;
pub mod data;
pub mod explain;
pub mod fit;
pub mod guard;
pub mod inject;
pub mod judge;
pub mod metrics;
pub mod predict;
pub mod problem;
pub mod repair;
pub mod train;
pub mod verify;
