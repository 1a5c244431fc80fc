//! Names and sizes of layers enter, the picture of a network leaves.

use super::scene::{DotShape, Ink, LETTERS, Scene, Stroke, TextAnchor};

/// Units drawn of a larger layer.
const MOST: usize = 9;

/// A column of dots a layer; an arc from the first to the last where some of its columns are read there directly.
pub fn network_shape(layers: &[(String, usize)], skipped: usize, gated: bool) -> Scene {
    let mut scene = Scene::new("The network's layers", 720.0, 330.0);
    let (top, bottom) = (if skipped > 0 { 64.0 } else { 24.0 }, 268.0);
    let x = |k: usize| 70.0 + k as f64 * 580.0 / (layers.len().max(2) - 1) as f64;
    let heights = |units: usize| -> Vec<f64> {
        let shown = units.clamp(1, MOST);
        let gap = ((bottom - top) / MOST as f64).min(24.0);
        (0..shown).map(|i| f64::midpoint(top, bottom) + (i as f64 - (shown - 1) as f64 / 2.0) * gap).collect()
    };
    for k in 1..layers.len() {
        for from in heights(layers[k - 1].1) {
            for to in heights(layers[k].1) {
                scene.line(vec![[x(k - 1), from], [x(k), to]], Stroke::new(Ink::Faint, 1.0));
            }
        }
    }
    for (k, (name, units)) in layers.iter().enumerate() {
        let ink = Ink::Series(usize::from(k == 0 || k + 1 == layers.len()));
        let places = heights(*units);
        for (i, y) in places.iter().enumerate() {
            if *units > MOST && i == MOST / 2 {
                scene.dot([x(k), *y], 11.0, DotShape::Circle, Ink::Paper);
                scene.text([x(k), *y], "…", LETTERS, TextAnchor::Middle);
            } else {
                scene.dot([x(k), *y], 8.0, DotShape::Circle, ink);
            }
        }
        scene.text([x(k), 288.0], &units.to_string(), LETTERS, TextAnchor::Middle);
        scene.text([x(k), 312.0], name, LETTERS, TextAnchor::Middle);
    }
    if skipped > 0 && layers.len() > 1 {
        let (from, to) = (x(0), x(layers.len() - 1));
        let arc = |t: f64| [from + t * (to - from), 62.0 - 30.0 * (1.0 - (2.0 * t - 1.0).powi(2)).max(0.0).sqrt()];
        scene.line((0..=40).map(|i| arc(f64::from(i) / 40.0)).collect(), Stroke::new(Ink::Series(2), 2.5));
        let columns = if skipped == 1 { "1 column" } else { &format!("{skipped} columns") };
        scene.text(
            [f64::midpoint(from, to), 14.0],
            &format!("{columns} straight to the last layer"),
            LETTERS * 0.9,
            TextAnchor::Middle,
        );
    }
    if gated {
        scene.text([x(layers.len() - 1), f64::midpoint(top, bottom) + 112.0], "× gate", LETTERS * 0.9, TextAnchor::Middle);
    }
    scene
}
