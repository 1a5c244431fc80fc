//! Widths of the bounds of every unit, layer by layer, enter; a box plot leaves.

use deepsade_data::quantile;

use super::axis::{Axis, Frame};
use super::scene::{Ink, LETTERS, Mark, Scene, Stroke, TextAnchor};

/// The units of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerWidths {
    /// What the layer is called.
    pub name: String,
    /// For each unit: how far its largest possible value is above its smallest.
    pub widths: Vec<f64>,
}

/// Widths below this share of the largest are not told apart.
const NARROW: f64 = 1e-8;

/// One box a layer, from the lower to the upper quartile, with the median; whiskers reach the extremes. By powers of ten.
pub fn bounds_per_layer(layers: &[LayerWidths]) -> Scene {
    let mut scene = Scene::new("Bounds per layer: widths of the intervals of the units", 720.0, 420.0);
    let widths = || layers.iter().flat_map(|l| l.widths.iter().copied()).filter(|w| w.is_finite());
    // Units that are as good as constant are drawn at the lower border.
    let least = widths().fold(0.0, f64::max) * NARROW;
    let positive = widths().filter(|w| *w > least);
    let names = layers.iter().map(|l| l.name.clone()).collect();
    let mut y = Axis::logarithmic("width of the bounds", positive);
    (y.lo, y.hi) = y.decades();
    let frame = Frame { left: 104.0, top: 34.0, width: 590.0, height: 316.0, x: Axis::named("layer", names), y };
    frame.draw(&mut scene);
    let half = (0.28 * frame.width / layers.len().max(1) as f64).min(42.0);
    for (k, layer) in layers.iter().enumerate() {
        let mut sorted: Vec<f64> = layer.widths.iter().copied().filter(|w| w.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        if sorted.is_empty() {
            continue;
        }
        let [low, q1, median, q3, high] =
            [0.0, 0.25, 0.5, 0.75, 1.0].map(|q| frame.at(k as f64, quantile(&sorted, q).max(frame.y.lo))[1]);
        let x = frame.at(k as f64, 1.0)[0];
        let ink = Ink::Series(0);
        for (from, to) in [(low, q1), (q3, high)] {
            scene.line(vec![[x, from], [x, to]], Stroke::new(ink, 2.0));
        }
        for end in [low, high] {
            scene.line(vec![[x - half / 2.0, end], [x + half / 2.0, end]], Stroke::new(ink, 2.0));
        }
        let corners = vec![[x - half, q1], [x + half, q1], [x + half, q3], [x - half, q3]];
        scene.area(corners.clone(), ink, 0.3);
        scene.line(corners.iter().chain(&corners[..1]).copied().collect(), Stroke::new(ink, 2.0));
        scene.line(vec![[x - half, median], [x + half, median]], Stroke::new(Ink::Series(1), 3.5));
        let units = if sorted.len() == 1 { "1 unit".into() } else { format!("{} units", sorted.len()) };
        let size = if layers.len() > 7 { LETTERS * 0.65 } else { LETTERS * 0.85 };
        scene.marks.push(Mark::Text { at: [x, 16.0], text: units, size, anchor: TextAnchor::Middle, upwards: false });
    }
    scene
}
