//! How it is found: training and everything that searches. No proof rests on it, but for models whose outputs the library chooses or
//! moves: what they give is made by [`deepsade_output::decode`] and [`nearest`].
//!
//! The way through: [`problem`] reads a rule file, [`deepsade_data`] its rows, [`deepsade_output::judge`] says which rules a row
//! breaks, [`explain`] what the rules mean, [`enforce`] where they are enforced, [`train`] and [`fit`] make a network, [`enforce::decode`] and
//! [`nearest`] choose its outputs, [`penalty`] only dissuades it, [`deepsade_data::metrics()`] and [`deepsade_output::predict`] read
//! them, [`useless`] warns of those that have learnt nothing, [`artifact`] its files, [`recheck`] asks the checker about them.
//! [`pipeline`] walks this way from a problem to the files of a model, for everyone.

pub mod adversity;
pub mod artifact;
mod audit;
pub mod bounds;
pub mod certify;
pub mod enforce;
pub mod explain;
pub mod fit;
pub mod guard;
pub mod hold;
pub mod last_layer;
pub mod maxsmt;
pub mod nearest;
pub mod objective;
pub mod output;
pub mod penalty;
pub mod pipeline;
pub mod problem;
pub mod proof;
pub mod recheck;
pub mod repair;
pub mod subject;
pub mod summary;
pub mod train;
pub mod units;
pub mod useless;
pub mod verdict;
pub mod verify;
mod whole;
