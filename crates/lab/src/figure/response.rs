//! What a model says of a few rows as one of their features moves enters, one curve a row leaves.

use super::axis::{Axis, Frame, LegendKey, legend};
use super::scene::{DotShape, Ink, Scene, Stroke};

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// What it is called.
    pub name: String,
    /// Values of the feature and what is said for them, in order; parts that are apart are drawn apart.
    pub parts: Vec<Vec<(f64, f64)>>,
    /// Where the row itself is.
    pub own: Option<(f64, f64)>,
}

/// Curves against a feature, with the rows themselves as dots. `names` are those of its levels, if it has such; a line at 0 where `zero`
/// says so.
pub fn responses(feature: &str, value: &str, names: &[String], zero: bool, rows: &[Response]) -> Scene {
    let mut scene = Scene::new(&format!("{value} against {feature}"), 720.0, 420.0);
    let points = || rows.iter().flat_map(|row| row.parts.iter().flatten());
    let x = match names {
        [] => Axis::covering(feature, points().map(|p| p.0)),
        names => Axis::named(feature, names.to_vec()),
    };
    let y = Axis::covering(value, points().map(|p| p.1).chain(zero.then_some(0.0)));
    let key = |k: usize| LegendKey::Dot(DotShape::nth(k), Ink::Series(k));
    let keys: Vec<(LegendKey, String)> = rows.iter().enumerate().map(|(k, row)| (key(k), row.name.clone())).collect();
    let top = 16.0 + legend(&mut scene, [104.0, 8.0], 600.0, &keys);
    let frame = Frame { left: 104.0, top, width: 590.0, height: 352.0 - top, x, y };
    frame.draw(&mut scene);
    if zero {
        scene.line(vec![frame.at(frame.x.lo, 0.0), frame.at(frame.x.hi, 0.0)], Stroke::new(Ink::Text, 1.0));
    }
    for (k, row) in rows.iter().enumerate() {
        let ink = Ink::Series(k);
        for part in &row.parts {
            let places: Vec<[f64; 2]> = part.iter().map(|(x, y)| frame.at(*x, *y)).collect();
            if !names.is_empty() || places.len() == 1 {
                places.iter().for_each(|at| scene.dot(*at, 3.0, DotShape::Circle, ink));
            }
            scene.line(places, Stroke { ink, width: 2.0, dashed: k % 2 == 1 });
        }
        if let Some((x, y)) = row.own {
            scene.dot(frame.at(x, y), 6.0, DotShape::nth(k), ink);
        }
    }
    scene
}
