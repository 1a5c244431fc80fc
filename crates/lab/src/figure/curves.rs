//! Losses and margins of every epoch enter, the training curves leave.

use deepsade_engine::train::EpochRecord;

use super::axis::{Axis, Frame, LegendKey, legend};
use super::scene::{DotShape, Ink, Scene, Stroke};

/// What an epoch ended with.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Epoch {
    /// Which one, from 1.
    pub epoch: usize,
    /// Loss on the training rows.
    pub train: f64,
    /// Loss on the validation rows.
    pub validation: Option<f64>,
    /// The smallest distance to breaking a rule, over all rules and the whole domain.
    pub margin: Option<f64>,
    /// Share of the steps after which the last layer had to be moved to keep the rules.
    pub moved: Option<f64>,
}

/// Margins from here on are those of rules that nothing comes near: there is no distance to draw.
const NO_BORDER: f64 = 1e30;

impl From<&EpochRecord> for Epoch {
    fn from(r: &EpochRecord) -> Self {
        Self {
            epoch: r.epoch,
            train: r.train_loss,
            validation: r.validation_loss,
            margin: r.margin.filter(|m| *m < NO_BORDER),
            moved: r.moved,
        }
    }
}

/// Losses against epochs; below them the margin and the share of moved steps, as far as they are known.
pub fn training_curves(epochs: &[Epoch], best: Option<usize>) -> Scene {
    let losses: Vec<f64> = epochs.iter().flat_map(|e| [Some(e.train), e.validation]).flatten().collect();
    let panel = |label: &str, value: &dyn Fn(&Epoch) -> Option<f64>| {
        let points: Vec<(f64, f64)> = epochs.iter().filter_map(|e| Some((e.epoch as f64, value(e)?))).collect();
        (!points.is_empty()).then(|| (label.to_string(), points))
    };
    let below: Vec<(String, Vec<(f64, f64)>)> =
        [panel("margin", &|e| e.margin.filter(|m| m.is_finite())), panel("steps moved, %", &|e| e.moved.map(|m| 100.0 * m))]
            .into_iter()
            .flatten()
            .collect();
    let (top, main, small) = (56.0, 290.0, 130.0);
    let height = top + main + 66.0 + below.len() as f64 * (small + 66.0);
    let mut scene = Scene::new("Training curves: loss against epoch", 720.0, height);
    let x = Axis::covering("epoch", epochs.iter().map(|e| e.epoch as f64));
    let wide = losses.iter().copied().filter(|l| *l > 0.0).fold(f64::INFINITY, f64::min) * 30.0
        < losses.iter().copied().fold(0.0, f64::max)
        && losses.iter().all(|l| *l > 0.0);
    let y = if wide { Axis::logarithmic("loss", losses) } else { Axis::covering("loss", losses) };
    let frame = Frame { left: 104.0, top, width: 590.0, height: main, x: x.clone(), y };
    frame.draw(&mut scene);
    let (train, validation) = (Stroke::new(Ink::Series(0), 2.5), Stroke::dashed(Ink::Series(1), 2.5));
    let curve = |value: &dyn Fn(&Epoch) -> Option<f64>| {
        epochs.iter().filter_map(|e| Some(frame.at(e.epoch as f64, value(e).filter(|v| v.is_finite())?))).collect::<Vec<_>>()
    };
    scene.line(curve(&|e| Some(e.train)), train);
    let mut keys = vec![(LegendKey::Line(train), "training rows".to_string())];
    if epochs.iter().any(|e| e.validation.is_some()) {
        scene.line(curve(&|e| e.validation), validation);
        keys.push((LegendKey::Line(validation), "validation rows".into()));
    }
    if let Some(e) = epochs.iter().find(|e| Some(e.epoch) == best) {
        scene.dot(frame.at(e.epoch as f64, e.validation.unwrap_or(e.train)), 7.0, DotShape::Diamond, Ink::Text);
        keys.push((LegendKey::Dot(DotShape::Diamond, Ink::Text), format!("kept: epoch {}", e.epoch)));
    }
    legend(&mut scene, [104.0, 12.0], 600.0, &keys);
    for (k, (label, points)) in below.into_iter().enumerate() {
        let values = points.iter().map(|p| p.1);
        let log = label == "margin" && values.clone().all(|v| v > 0.0);
        let mut y = if log { Axis::logarithmic(&label, values) } else { Axis::covering(&label, values) };
        if label != "margin" {
            (y.lo, y.hi) = (0.0, 105.0);
        } else if log {
            (y.lo, y.hi) = y.decades();
        }
        let top = top + main + 66.0 + k as f64 * (small + 66.0);
        let frame = Frame { left: 104.0, top, width: 590.0, height: small, x: x.clone(), y };
        frame.draw(&mut scene);
        scene.line(points.iter().map(|(x, y)| frame.at(*x, *y)).collect(), Stroke::new(Ink::Series(2 + k), 2.5));
    }
    scene
}
