//! A classifier and rows enter; a row leaves that obeys the rules while an input near it does not, and a slice through both.

use deepsade_engine::adversity::RADIUS;
use deepsade_net::{Matrix, Model};
use deepsade_output::Judge;
use deepsade_output::predict::predicted_class;
use deepsade_spec::{ColumnKind, Domain, NormalSpec};

use crate::figure::{AdversitySlice, GridPoint, Scene};

/// Points of the grid along each axis.
const POINTS: usize = 90;
/// Points of the grid along each axis while looking for an instance.
const COARSE: usize = 9;

/// An instance and the two features to move.
pub(super) struct Instance {
    row: Vec<f32>,
    columns: [usize; 2],
}

/// The first row and pair of numbers such that the row obeys the rules and one near it, with other values of the two, does not;
/// else the first row that breaks them itself.
pub(super) fn find(spec: &NormalSpec, x: &Matrix, model: &Model) -> Option<Instance> {
    let numbers: Vec<usize> = columns(spec);
    let ruled: Vec<usize> = numbers.iter().copied().filter(|c| spec.skip.contains(&spec.schema.columns()[*c].feature)).collect();
    let pairs: Vec<[usize; 2]> =
        ruled.iter().flat_map(|a| numbers.iter().filter(move |b| *b != a).map(move |b| [*a, *b])).collect();
    let all = || pairs.iter().flat_map(|pair| (0..x.rows).map(|r| Instance { row: x.row(r).to_vec(), columns: *pair }));
    let near = |found: &Instance| found.grid(spec, model, &found.ball(spec), COARSE).iter().any(|c| c.broken);
    all()
        .find(|found| !found.centre(spec, model).broken && near(found))
        .or_else(|| all().find(|found| found.centre(spec, model).broken))
}

/// The slice as a model sees it, twice as wide as the ball.
pub(super) fn figure(spec: &NormalSpec, found: &Instance, model: &Model) -> Scene {
    let names = spec.schema.columns();
    let axis = |k: usize| {
        let (lo, hi) = range(spec, found.columns[k]);
        let (at, width) = (f64::from(found.row[found.columns[k]]), 2.5 * RADIUS * (hi - lo));
        (names[found.columns[k]].name.clone(), (at - width).max(lo), (at + width).min(hi))
    };
    let (x, y) = (axis(0), axis(1));
    let area = [[x.1, x.2], [y.1, y.2]];
    let ball = found.ball(spec);
    let near = found.grid(spec, model, &ball, POINTS);
    let place = |axis: usize, k: usize| ball[axis][0] + (ball[axis][1] - ball[axis][0]) * k as f64 / (POINTS - 1) as f64;
    let counterexample = near.iter().position(|c| c.broken).map(|k| [place(0, k % POINTS), place(1, k / POINTS)]);
    let radius = found.columns.map(|c| RADIUS * (range(spec, c).1 - range(spec, c).0));
    AdversitySlice {
        x,
        y,
        columns: POINTS,
        cells: found.grid(spec, model, &area, POINTS),
        predictions: spec.schema.task.classes().map(<[String]>::to_vec).unwrap_or_default(),
        instance: found.columns.map(|c| f64::from(found.row[c])),
        radius,
        counterexample,
    }
    .figure()
}

impl Instance {
    /// The ball in the two features, within the domain.
    fn ball(&self, spec: &NormalSpec) -> [[f64; 2]; 2] {
        self.columns.map(|c| {
            let ((lo, hi), at) = (range(spec, c), f64::from(self.row[c]));
            let r = RADIUS * (hi - lo);
            [(at - r).max(lo), (at + r).min(hi)]
        })
    }

    fn centre(&self, spec: &NormalSpec, model: &Model) -> GridPoint {
        let at = self.columns.map(|c| f64::from(self.row[c]));
        self.grid(spec, model, &at.map(|v| [v, v]), 1)[0]
    }

    /// Predictions over an area, from the smallest values up, row by row.
    fn grid(&self, spec: &NormalSpec, model: &Model, area: &[[f64; 2]; 2], points: usize) -> Vec<GridPoint> {
        let value = |axis: usize, k: usize| {
            let [lo, hi] = area[axis];
            let v = lo + (hi - lo) * k as f64 / (points.max(2) - 1) as f64;
            spec.schema.features[spec.schema.columns()[self.columns[axis]].feature].domain.nearest(v).unwrap_or_default()
        };
        let mut x = Matrix { rows: points * points, cols: self.row.len(), data: self.row.repeat(points * points) };
        for k in 0..points * points {
            x.row_mut(k)[self.columns[0]] = value(0, k % points);
            x.row_mut(k)[self.columns[1]] = value(1, k / points);
        }
        let (y, judge) = (model.network.forward(&x), Judge::new(spec));
        let cell = |k: usize| GridPoint {
            prediction: predicted_class(y.row(k)),
            applies: judge.applies(x.row(k)),
            broken: judge.breaks_any(x.row(k), y.row(k)),
        };
        (0..points * points).map(cell).collect()
    }
}

/// Columns of numbers with more than two values.
fn columns(spec: &NormalSpec) -> Vec<usize> {
    let wide = |domain: &Domain| match domain {
        Domain::Real { lo, hi } => lo < hi,
        Domain::Integer { lo, hi } => hi - lo > 1,
        Domain::Stepped { lo, hi, step } => hi - lo > *step,
        Domain::Ordered { levels } => levels.len() > 2,
        Domain::Category { .. } => false,
    };
    let columns = spec.schema.columns();
    (0..columns.len())
        .filter(|c| columns[*c].kind == ColumnKind::Number && wide(&spec.schema.features[columns[*c].feature].domain))
        .collect()
}

fn range(spec: &NormalSpec, column: usize) -> (f64, f64) {
    let (lo, hi) = spec.schema.column_ranges()[column];
    (f64::from(lo), f64::from(hi))
}
