//! A slice of the input space around an instance enters; its picture leaves: what is predicted where, where the rule asks for
//! something, where it is broken, and the ball in which a counter-example would count.

use super::axis::{Axis, Frame, LegendKey, legend};
use super::scene::{DotShape, Ink, Mark, Scene, Stroke};

/// One point of the slice's grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GridPoint {
    /// Which of the predictions it has.
    pub prediction: usize,
    /// Whether the condition of a rule is met there.
    pub applies: bool,
    /// Whether a rule is broken there.
    pub broken: bool,
}

/// A slice through two features; the others are as in the instance.
#[derive(Debug, Clone, PartialEq)]
pub struct AdversitySlice {
    /// Name, smallest and largest value of the feature to the right.
    pub x: (String, f64, f64),
    /// Name, smallest and largest value of the feature upwards.
    pub y: (String, f64, f64),
    /// Points of the grid to the right.
    pub columns: usize,
    /// The grid from the smallest values up, row by row; its length is a multiple of `columns`.
    pub cells: Vec<GridPoint>,
    /// What the predictions are called.
    pub predictions: Vec<String>,
    /// The instance.
    pub instance: [f64; 2],
    /// Half the sides of the ball around it, in the units of the features.
    pub radius: [f64; 2],
    /// An input in the ball for which a rule is broken, if there is one.
    pub counterexample: Option<[f64; 2]>,
}

impl AdversitySlice {
    /// The picture.
    pub fn figure(&self) -> Scene {
        let mut scene = Scene::new("A slice of the input space around an instance", 720.0, 560.0);
        let mut keys: Vec<(LegendKey, String)> = Vec::new();
        for (k, name) in self.predictions.iter().enumerate().filter(|(k, _)| self.cells.iter().any(|c| c.prediction == *k)) {
            keys.push((LegendKey::Patch(tint(k), 0.35), name.clone()));
        }
        let hatch = Stroke::new(Ink::Text, 1.0);
        keys.push((LegendKey::Line(hatch), "edge of the rule's region".into()));
        if self.cells.iter().any(|c| c.broken) {
            keys.push((LegendKey::Patch(Ink::Series(1), 0.9), "rule broken".into()));
        }
        let ball = Stroke::dashed(Ink::Text, 2.5);
        keys.push((LegendKey::Line(ball), "ball around it".into()));
        keys.push((LegendKey::Dot(DotShape::Circle, Ink::Text), "instance".into()));
        if self.counterexample.is_some() {
            keys.push((LegendKey::Dot(DotShape::Cross, Ink::Text), "counter-example".into()));
        }
        let top = 16.0 + legend(&mut scene, [104.0, 8.0], 600.0, &keys);
        let axis =
            |(name, lo, hi): &(String, f64, f64)| Axis { label: name.clone(), lo: *lo, hi: *hi, log: false, names: vec![] };
        let frame = Frame { left: 104.0, top, width: 590.0, height: 492.0 - top, x: axis(&self.x), y: axis(&self.y) };
        self.tiles(&mut scene, &frame);
        frame.draw(&mut scene);
        self.edges(&mut scene, &frame, hatch);
        let ([x, y], [rx, ry]) = (self.instance, self.radius);
        let corners = [[x - rx, y - ry], [x + rx, y - ry], [x + rx, y + ry], [x - rx, y + ry], [x - rx, y - ry]];
        let inside = |[x, y]: &[f64; 2]| frame.at(x.clamp(self.x.1, self.x.2), y.clamp(self.y.1, self.y.2));
        scene.line(corners.iter().map(inside).collect(), ball);
        scene.dot(frame.at(x, y), 7.0, DotShape::Circle, Ink::Text);
        if let Some([x, y]) = self.counterexample {
            scene.dot(frame.at(x, y), 9.0, DotShape::Cross, Ink::Text);
        }
        scene
    }

    fn rows(&self) -> usize {
        self.cells.len() / self.columns.max(1)
    }

    /// One tile a run of equal points in a row.
    fn tiles(&self, scene: &mut Scene, frame: &Frame) {
        let (w, h) = (frame.width / self.columns.max(1) as f64, frame.height / self.rows().max(1) as f64);
        for (r, row) in self.cells.chunks(self.columns.max(1)).enumerate() {
            let look = |c: &GridPoint| if c.broken { (Ink::Series(1), 0.9) } else { (tint(c.prediction), 0.35) };
            let mut at = 0;
            for run in row.chunk_by(|a, b| look(a) == look(b)) {
                let (ink, opacity) = look(&run[0]);
                let top = frame.top + frame.height - (r + 1) as f64 * h;
                scene.marks.push(Mark::Tile { place: [frame.left + at as f64 * w, top, run.len() as f64 * w, h], ink, opacity });
                at += run.len();
            }
        }
    }

    /// Lines where the rule begins to ask for something.
    fn edges(&self, scene: &mut Scene, frame: &Frame, stroke: Stroke) {
        let (w, h) = (frame.width / self.columns.max(1) as f64, frame.height / self.rows().max(1) as f64);
        for (k, cell) in self.cells.iter().enumerate() {
            let (r, c) = (k / self.columns, k % self.columns);
            let (x, y) = (frame.left + (c + 1) as f64 * w, frame.top + frame.height - (r + 1) as f64 * h);
            if c + 1 < self.columns && self.cells[k + 1].applies != cell.applies {
                scene.line(vec![[x, y], [x, y + h]], stroke);
            }
            if self.cells.get(k + self.columns).is_some_and(|up| up.applies != cell.applies) {
                scene.line(vec![[x - w, y], [x, y]], stroke);
            }
        }
    }
}

/// The colours of predictions leave vermillion, which says "broken", out.
fn tint(prediction: usize) -> Ink {
    Ink::Series([0, 5, 2, 3, 4, 6][prediction % 6])
}
