//! One file a command.

pub mod check;
pub mod demo;
pub mod explain;
pub mod export;
pub mod predict;
pub mod report;
pub mod train;
