//! From settings and rows to a trained network.
//!
//! [`initial_network`] builds a network, [`train`] runs Algorithm 1 on it, and [`Stepper`] is its engine: one step is
//! [`load`](Stepper::load), [`gradient`](Stepper::gradient), [`apply`](Stepper::apply). See docs/training.md.

// Loops must be inlined into the dispatching function, or they are not compiled for its vectors.
#![allow(clippy::inline_always)]

mod average;
mod build;
mod checkpoint;
mod class_weight;
mod error;
mod observe;
mod optimiser;
mod pass;
mod plan;
mod run;
mod scaling;
mod settings;
mod shape;
mod standard;
mod stepper;
mod update;

pub use build::{Around, Gate, Outside, fold_gate, initial_network, scaled_network};
pub use checkpoint::{CheckpointError, CheckpointSettings, Oddity};
pub use class_weight::ClassWeight;
pub use error::TrainError;
pub use observe::{EpochRecord, Observer, Silent, StopReason, best_epoch, still_falling};
pub use optimiser::Optimiser;
pub use run::{Run, Start, Trained, train};
pub use scaling::Scales;
pub(crate) use scaling::scaling;
pub use settings::{
    ActivationName, BoundsName, Enforce, NetworkSettings, OptimiserName, PenaltyName, PenaltySettings, ScalingName,
    SettingsError, TrainSettings, UpdateName,
};
pub use shape::PlanError;
pub use standard::Standard;
pub use stepper::{LastLayer, Latent, PreparedRows, Stepper};
pub use update::{ErrorsIn, MaxSmtName, PaperSettings, PaperSteps, search_box, soft_constraints};
