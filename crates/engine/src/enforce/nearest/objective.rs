//! Outputs and targets of a batch enter; the squared error of the nearest outputs that obey the rules leaves, with its gradient.
//!
//! `l = 1/n sum_j (P(s)_j - y_j)^2` in units of the targets' deviations, P the nearest point in raw units. Its derivative
//! is the projection along the faces that hold the point; where none does, P is the identity. Near is what is few spreads away.

use deepsade_output::nearest::Allowed;

use crate::objective::{Loss, LossSum, Objective, RuleLoss, ScoredRows};
use crate::units::Units;

impl RuleLoss for Allowed<'_> {
    fn objective(&self, units: &Units) -> Box<dyn Objective + '_> {
        Box::new(NearestLoss { allowed: self, units: units.clone(), moved: Vec::new(), active: Vec::new() })
    }

    fn side(&self) -> usize {
        self.side_width()
    }

    fn identity(&self) -> String {
        "nearest by spread".into()
    }
}

/// The loss behind the nearest outputs, and its buffers.
struct NearestLoss<'a> {
    allowed: &'a Allowed<'a>,
    units: Units,
    moved: Vec<f32>,
    active: Vec<Vec<usize>>,
}

impl NearestLoss<'_> {
    /// The nearest outputs of one row, in standard units; what holds them goes into `active`.
    fn row(&self, scores: &[f32], side: &[f32], active: &mut Vec<usize>) -> Option<Vec<f64>> {
        let Units { shift, scale } = &self.units;
        let p: Vec<f64> = scores.iter().zip(shift).zip(scale).map(|((s, shift), scale)| f64::from(*s) * scale + shift).collect();
        let place = self.allowed.place_of(side);
        // A row where nothing is allowed teaches what it says.
        let found = self.allowed.nearest(&place, &p, 0.0).ok().filter(|found| !found.active.is_empty())?;
        active.extend(&found.active);
        Some(found.y.iter().zip(shift).zip(scale).map(|((y, shift), scale)| (y - shift) / scale).collect())
    }
}

impl Objective for NearestLoss<'_> {
    fn gradient(&mut self, batch: ScoredRows, delta: &mut [f32]) -> LossSum {
        let ScoredRows { scores, truth, side, weight, width } = batch;
        let rows = weight.len();
        let wide = side.len() / rows.max(1);
        self.moved.clear();
        self.moved.extend_from_slice(scores);
        let mut all = std::mem::take(&mut self.active);
        all.resize(rows.max(all.len()), Vec::new());
        for (r, active) in all.iter_mut().enumerate().take(rows) {
            active.clear();
            if let Some(moved) = self.row(&scores[r * width..(r + 1) * width], &side[r * wide..(r + 1) * wide], active) {
                self.moved[r * width..].iter_mut().zip(moved).for_each(|(m, v)| *m = v as f32);
            }
        }
        let sum = Loss::MeanSquares.gradient(&self.moved, truth, weight, width, delta);
        for (active, delta) in all.iter().zip(delta.chunks_exact_mut(width)).filter(|(active, _)| !active.is_empty()) {
            // dL/ds = scale P' (dL/dm / scale).
            let mut g: Vec<f64> = delta.iter().zip(&self.units.scale).map(|(d, scale)| f64::from(*d) / scale).collect();
            self.allowed.backward(active, &mut g);
            delta.iter_mut().zip(g).zip(&self.units.scale).for_each(|((d, g), scale)| *d = (g * scale) as f32);
        }
        self.active = all;
        sum
    }
}

#[cfg(test)]
mod tests {
    use deepsade_net::Matrix;
    use deepsade_output::nearest::Allowed;

    use crate::enforce::nearest::tests::spec;
    use crate::objective::{RuleLoss, ScoredRows};
    use crate::units::Units;

    /// `dL/ds_i = (L(s + h e_i) - L(s - h e_i)) / 2h + O(h^2)`, away from where another face begins to hold.
    #[test]
    fn gradients_are_central_differences() {
        let spec = spec(&["u + v <= r", "u <= 0.1 * r or v >= 30", "c == 'q' => v >= 5"]);
        let allowed = Allowed::new(&spec).with_spread(vec![3.0, 1.0]);
        let x = Matrix { rows: 5, cols: 2, data: vec![10.0, 0.0, 10.0, 1.0, 20.0, 1.0, 50.0, 0.0, 9.0, 1.0] };
        let y = Matrix { rows: 5, cols: 2, data: vec![0.5, 0.2, -0.3, 0.1, 0.0, 0.7, 0.9, 0.4, 0.3, 0.3] };
        let side = allowed.side_of(&x).unwrap();
        assert_eq!(side.cols, allowed.side());
        let units = Units { shift: vec![1.0, 4.0], scale: vec![2.0, 9.0] };
        let mut objective = allowed.objective(&units);
        let weight = [1.0, 0.5, 2.0, 1.0, 1.0];
        let scores = [3.0f32, 2.0, -1.0, -2.0, 0.3, -1.5, 4.0, 2.5, 0.1, 0.2];
        let mut delta = [0.0; 10];
        objective
            .gradient(ScoredRows { scores: &scores, truth: &y.data, side: &side.data, weight: &weight, width: 2 }, &mut delta);
        let plain = crate::objective::Loss::MeanSquares;
        let mut unmoved = [0.0; 10];
        plain.gradient(&scores, &y.data, &weight, 2, &mut unmoved);
        assert_ne!(delta, unmoved, "some row is moved");
        for i in 0..10 {
            let mut at = |h: f32| {
                let mut moved = scores;
                moved[i] += h;
                objective
                    .gradient(
                        ScoredRows { scores: &moved, truth: &y.data, side: &side.data, weight: &weight, width: 2 },
                        &mut [0.0; 10],
                    )
                    .mean()
            };
            let h = 1.0 / 256.0;
            let slope = (at(h) - at(-h)) / f64::from(2.0 * h);
            assert!((slope - f64::from(delta[i])).abs() < 1e-4, "{i}: {slope} {}", delta[i]);
        }
    }
}
