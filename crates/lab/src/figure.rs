//! Plain data enter, a picture leaves: as SVG text or as the bytes of a PNG file.
//!
//! Every figure is a function from its data to a [`Scene`], which knows nothing of files and colours; [`Scene::svg`] and
//! [`Scene::png`] write it down. Series are told apart by the colours of Okabe and Ito, which colour-blind people can tell apart,
//! and by the shape of their dots or the dashes of their lines. Letters are large enough to be read at half the size.

mod adversity;
mod axis;
mod bounds;
mod calibration;
mod compare;
mod curves;
mod font;
mod lambda;
mod latent;
mod network;
mod png;
mod response;
mod scene;
mod svg;

pub use adversity::{AdversitySlice, GridPoint};
pub use bounds::{LayerWidths, bounds_per_layer};
pub use calibration::{Bin, calibration_curve};
pub use compare::{Sample, beyond, compare};
pub use curves::{Epoch, training_curves};
pub use lambda::{LambdaPoint, LambdaSeries, loss_against_lambda};
pub use latent::{Panel, latent_space};
pub use network::network_shape;
pub use response::{Response, responses};
pub use scene::{DotShape, Ink, Mark, Scene, Stroke, TextAnchor};
pub use svg::{Theme, escape};

#[cfg(test)]
mod tests;
