//! From data files to encoded rows.

pub mod dataset;

pub use dataset::Dataset;
