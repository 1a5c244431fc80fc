//! One file a command.

pub mod adversity;
pub mod check;
pub mod demo;
pub mod explain;
pub mod export;
pub mod predict;
pub mod repair;
pub mod report;
pub mod reproduce;
pub mod train;
pub mod verify;
