//! How it is found: training and everything that searches. No proof rests on it.
//!
//! The way through: [`problem`] reads a rule file, [`deepsade_data`] its rows, [`explain`] says what the rules mean, [`enforce`] where
//! they are enforced, [`train`] and [`fit`] make a network, [`choose`] takes the best that is proved, [`deepsade_output`] runs it and
//! judges its outputs, [`warnings`] warns of those that have learnt nothing, [`artifact`] writes its files, [`recheck`] asks the checker about
//! them. [`pipeline`] walks this way from a problem to the files of a model, for everyone.

pub mod adversity;
pub mod artifact;
mod audit;
pub mod bounds;
pub mod by_shape;
pub mod choose;
pub mod class_names;
pub mod clauses;
mod conflict;
pub mod draft;
pub mod enforce;
pub mod evaluate;
pub mod explain;
pub mod few_rows;
mod file_names;
pub mod files;
pub mod fit;
pub mod folder_lock;
pub mod gate;
mod given;
pub mod guard;
pub mod left_out;
mod limits;
pub mod mean;
mod metadata_names;
pub mod objective;
mod outside;
pub mod pace;
pub mod pipeline;
pub mod problem;
pub mod proof;
pub mod recheck;
pub mod repair;
mod rounding;
pub mod rule_files;
pub mod shield;
pub mod signs;
mod skips;
mod slopes;
pub mod smtlib_export;
mod squeezed;
pub mod subject;
pub mod summary;
pub mod train;
pub mod unfinished;
pub mod units;
pub mod vacuous;
pub mod verdict;
pub mod verify;
pub mod warnings;
