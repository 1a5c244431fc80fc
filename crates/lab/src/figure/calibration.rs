//! Bins of probabilities enter; what was predicted against what came true leaves, beside the line on which both agree.

use super::axis::{Axis, Frame};
use super::scene::{DotShape, Ink, Scene, Stroke};

/// Rows of about one probability.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// Their mean probability.
    pub predicted: f64,
    /// The share of them that are of the class.
    pub observed: f64,
    /// How many there are.
    pub rows: usize,
}

/// The calibration curve of a class. Dots grow with their rows.
pub fn calibration_curve(class: &str, bins: &[Bin]) -> Scene {
    let mut scene = Scene::new(&format!("calibration of {class}"), 720.0, 460.0);
    let unit = |label: String| Axis { label, lo: -0.02, hi: 1.02, log: false, names: Vec::new() };
    let (x, y) = (unit(format!("mean probability of {}", super::axis::shortened(class))), unit("share observed".into()));
    let frame = Frame { left: 104.0, top: 18.0, width: 590.0, height: 380.0, x, y };
    frame.draw(&mut scene);
    scene.line(vec![frame.at(0.0, 0.0), frame.at(1.0, 1.0)], Stroke::dashed(Ink::Text, 1.5));
    let places: Vec<[f64; 2]> = bins.iter().map(|b| frame.at(b.predicted, b.observed)).collect();
    scene.line(places.clone(), Stroke::new(Ink::Series(0), 2.0));
    let most = bins.iter().map(|b| b.rows).max().unwrap_or(1).max(1) as f64;
    for (bin, at) in bins.iter().zip(places) {
        scene.dot(at, 4.0 + 8.0 * (bin.rows as f64 / most).sqrt(), DotShape::Circle, Ink::Series(0));
    }
    scene
}
