//! Points of a latent space, laid out in the plane, enter; panels side by side leave, coloured by group.

use super::axis::{LegendKey, legend, shortened};
use super::scene::{DotShape, Ink, LETTERS, Scene, Stroke, TextAnchor};

/// One latent space.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What it shows, such as "FFN, layer 2".
    pub title: String,
    /// One point a row.
    pub points: Vec<[f64; 2]>,
}

/// Each row in every panel in the colour and shape of its group; `groups` names them, `group` says which one a row is in. The
/// directions of such a plane mean nothing, so there are no ticks.
pub fn latent_space(panels: &[Panel], groups: &[String], group: &[usize]) -> Scene {
    const SIDE: f64 = 340.0;
    let across = panels.len().clamp(1, 4);
    let down = panels.len().div_ceil(across).max(1);
    let width = 20.0 + across as f64 * (SIDE + 20.0);
    let mut scene = Scene::new("t-SNE of latent spaces", width, 0.0);
    let keys: Vec<(LegendKey, String)> =
        groups.iter().enumerate().map(|(k, name)| (LegendKey::Dot(DotShape::nth(k), Ink::Series(k)), name.clone())).collect();
    let head = 12.0 + legend(&mut scene, [24.0, 6.0], width - 40.0, &keys);
    scene.height = head + down as f64 * (SIDE + 44.0) + 34.0;
    for (p, panel) in panels.iter().enumerate() {
        let (left, top) = (20.0 + (p % across) as f64 * (SIDE + 20.0), head + 30.0 + (p / across) as f64 * (SIDE + 44.0));
        scene.text([left + SIDE / 2.0, top - 14.0], &shortened(&panel.title), LETTERS, TextAnchor::Middle);
        let corners = [[left, top], [left + SIDE, top], [left + SIDE, top + SIDE], [left, top + SIDE], [left, top]];
        scene.line(corners.to_vec(), Stroke::new(Ink::Text, 1.0));
        let span = |axis: usize| {
            let of = panel.points.iter().map(|p| p[axis]).filter(|v| v.is_finite());
            of.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)))
        };
        let (sx, sy) = (span(0), span(1));
        // One scale for both directions: distances are what such a plane shows.
        let scale = (SIDE - 24.0) / (sx.1 - sx.0).max(sy.1 - sy.0).max(1e-12);
        let middle = [f64::midpoint(sx.0, sx.1), f64::midpoint(sy.0, sy.1)];
        let radius = if panel.points.len() > 400 { 2.5 } else { 4.0 };
        for (point, g) in panel.points.iter().zip(group).filter(|(p, _)| p.iter().all(|v| v.is_finite())) {
            let at = [left + SIDE / 2.0 + (point[0] - middle[0]) * scale, top + SIDE / 2.0 - (point[1] - middle[1]) * scale];
            scene.dot(at, radius, DotShape::nth(*g), Ink::Series(*g));
        }
    }
    scene.text(
        [width / 2.0, scene.height - 16.0],
        "t-SNE: near points were near in the latent space",
        LETTERS * 0.9,
        TextAnchor::Middle,
    );
    scene
}
