//! Scores for each weight of a penalty enter, one curve a method leaves.

use super::axis::{Axis, Frame, LegendKey, legend};
use super::scene::{DotShape, Ink, Scene, Stroke};

/// The scores of one method.
#[derive(Debug, Clone, PartialEq)]
pub struct LambdaSeries {
    /// What it is called.
    pub name: String,
    /// The scores.
    pub points: Vec<LambdaPoint>,
}

/// The scores for one weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LambdaPoint {
    /// The weight.
    pub x: f64,
    /// The lower quartile.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub high: f64,
}

/// The loss, or what `label` says, against lambda. Lambda is drawn by powers of ten where it spans more than two of them.
pub fn loss_against_lambda(label: &str, series: &[LambdaSeries]) -> Scene {
    let mut scene = Scene::new(&format!("{label} against lambda"), 720.0, 440.0);
    let lambdas = || series.iter().flat_map(|s| s.points.iter().map(|p| p.x));
    let smallest = lambdas().filter(|l| *l > 0.0).fold(f64::INFINITY, f64::min);
    let log = lambdas().all(|l| l > 0.0) && lambdas().fold(0.0, f64::max) > 100.0 * smallest;
    let x = if log { Axis::logarithmic("λ", lambdas()) } else { Axis::covering("λ", lambdas()) };
    let y = Axis::covering(label, series.iter().flat_map(|s| s.points.iter().flat_map(|p| [p.low, p.high])));
    let keys: Vec<(LegendKey, String)> =
        series.iter().enumerate().map(|(k, s)| (LegendKey::Dot(DotShape::nth(k), Ink::Series(k)), s.name.clone())).collect();
    let top = 16.0 + legend(&mut scene, [104.0, 8.0], 600.0, &keys);
    let frame = Frame { left: 104.0, top, width: 590.0, height: 372.0 - top, x, y };
    frame.draw(&mut scene);
    for (k, s) in series.iter().enumerate() {
        let mut points = s.points.clone();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let ink = Ink::Series(k);
        scene.line(points.iter().map(|p| frame.at(p.x, p.median)).collect(), Stroke { ink, width: 2.5, dashed: k % 2 == 1 });
        for LambdaPoint { x, low, median, high } in points {
            if high > low {
                scene.line(vec![frame.at(x, low), frame.at(x, high)], Stroke::new(ink, 1.5));
            }
            scene.dot(frame.at(x, median), 6.0, DotShape::nth(k), ink);
        }
    }
    scene
}
