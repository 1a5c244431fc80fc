//! What was measured, shown: folders of runs enter, pictures and one HTML page leave.
//!
//! [`figure`] draws plain data as SVG and PNG, [`tsne`] lays points out for it, [`results`] reads the runs of an experiment,
//! [`reproduce`] makes them, [`report`] makes the page.

pub mod figure;
mod latent;
mod layers;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod tsne;
