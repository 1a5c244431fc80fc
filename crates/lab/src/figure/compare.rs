//! Scores of several methods enter; one strip of dots a method leaves, with its mean.

use super::axis::{Axis, Frame};
use super::scene::{Ink, Scene, Shape, Stroke};

/// The scores of one method, one a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What it is called.
    pub name: String,
    /// The scores.
    pub values: Vec<f64>,
}

/// Every run a dot, every mean a bar.
pub fn compare(label: &str, samples: &[Sample]) -> Scene {
    let mut scene = Scene::new(&format!("{label} by method"), 720.0, 400.0);
    let y = Axis::covering(label, samples.iter().flat_map(|s| s.values.iter().copied()));
    let names = samples.iter().map(|s| s.name.clone()).collect();
    let frame = Frame { left: 104.0, top: 18.0, width: 590.0, height: 316.0, x: Axis::named("method", names), y };
    frame.draw(&mut scene);
    for (k, sample) in samples.iter().enumerate() {
        let values: Vec<f64> = sample.values.iter().copied().filter(|v| v.is_finite()).collect();
        if values.is_empty() {
            continue;
        }
        for (i, value) in values.iter().enumerate() {
            // Spread out, the same way each time.
            let aside = ((i * 7) % 11) as f64 / 11.0 - 0.45;
            scene.dot(frame.at(k as f64 + 0.45 * aside, *value), 4.5, Shape::nth(k), Ink::Series(k));
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        scene.line(vec![frame.at(k as f64 - 0.3, mean), frame.at(k as f64 + 0.3, mean)], Stroke::new(Ink::Text, 3.0));
    }
    scene
}
