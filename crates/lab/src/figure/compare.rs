//! Scores of several methods enter; one strip of dots a method leaves, with its mean.

use deepsade_data::quantile;

use super::axis::{Axis, Frame};
use super::scene::{DotShape, Ink, Scene, Stroke};

/// The scores of one method, one a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// What it is called.
    pub name: String,
    /// The scores.
    pub values: Vec<f64>,
}

/// How far above the quartiles, in units of their distance from the smallest value, runs are still drawn where they are.
const FAR: f64 = 4.0;

/// Where runs are drawn at the border at the latest: a single one far off would leave nothing to see of the others.
fn most(samples: &[Sample]) -> f64 {
    let mut all: Vec<f64> = samples.iter().flat_map(|s| s.values.iter().copied()).filter(|v| v.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    if all.is_empty() {
        return f64::INFINITY;
    }
    let (least, upper) = (all[0], quantile(&all, 0.75));
    if upper > least { upper + FAR * (upper - least) } else { f64::INFINITY }
}

/// How many runs [`compare`] draws at the upper border instead of where they are.
pub fn beyond(samples: &[Sample]) -> usize {
    let most = most(samples);
    samples.iter().flat_map(|s| &s.values).filter(|v| v.is_finite() && **v > most).count()
}

/// Every run a dot, every mean a bar.
pub fn compare(label: &str, samples: &[Sample]) -> Scene {
    let mut scene = Scene::new(&format!("{label} by method"), 720.0, 424.0);
    let most = most(samples);
    let y = Axis::covering(label, samples.iter().flat_map(|s| s.values.iter().map(|v| v.min(most))));
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
            scene.dot(frame.at(k as f64 + 0.45 * aside, value.min(most)), 4.5, DotShape::nth(k), Ink::Series(k));
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let bar = [-0.3, 0.3].map(|aside| frame.at(k as f64 + aside, mean.min(most)));
        scene.line(bar.to_vec(), Stroke::new(Ink::Text, 3.0));
    }
    scene
}
