//! From data files to encoded rows: a `[data]` table enters, a schema with its [`Dataset`] leaves. CSV and Parquet are read here
//! and nowhere else.
//!
//! The steps, in order: [`settings`] say what is wanted, [`mod@locate`] finds the file, [`read`] (or a [`recipe`]) makes a [`Table`],
//! [`missing`] settles the gaps, [`schema`] fixes the domains, [`mod@encode`] makes float32 rows, [`mod@split`] deals them out.
//! [`mod@load`] walks through all of them.

#![forbid(unsafe_code)]

pub mod dataset;
pub mod encode;
pub mod error;
pub mod inject;
pub mod inputs;
pub mod labelled;
pub mod limits;
pub mod load;
pub mod locate;
pub mod mean;
pub mod metrics;
pub mod missing;
pub mod overrides;
pub mod read;
pub mod recipe;
pub mod schema;
pub mod scores;
pub mod settings;
pub mod split;
pub mod table;
pub mod task;

mod aside;
mod builder;
mod contained;
pub mod dates;
mod decision;
pub mod gap;
mod levels;
pub mod number;

pub use aside::Said;
pub use dataset::Dataset;
pub use decision::{Doubt, FEW_NUMBERS, doubt};
pub use encode::encode;
pub use error::DataError;
pub use gap::{Impute, Markers, Missing};
pub use inject::{InjectError, inject};
pub use inputs::{Inputs, RowStatus, encode_inputs, encode_numbers, kinds_of_schema};
pub use labelled::Labelled;
pub use levels::Levels;
pub use limits::{Limits, limits, set_limits};
pub use load::{Loaded, Request, feature_names, load, load_table};
pub use locate::{is_data_name, locate};
pub use mean::{Mean, mean, quantile, thinned};
pub use metrics::{DecidingScore, Metrics, counts_rows, deciding_score, metrics, row_score, score_shown};
pub use missing::{MissingReport, settle_missing, with_gaps_filled};
pub use overrides::{FeatureKind, FeatureOverride, Overrides};
pub use read::{Columns, Progress, ReadOptions, read_table};
pub use recipe::{Recipe, RecipeTable};
pub use schema::{infer_schema, kinds_of_overrides, stated_schema};
pub use scores::{Judged, Segment, segments};
pub use settings::{BreakingRows, CheckedData, DataSettings, MissingPolicy, SplitSettings, SplitShares};
pub use split::{Split, VALIDATION, folds, split};
pub use table::{Column, Kind, Table, TableValue};
pub use task::{TaskKind, TaskSettings};
