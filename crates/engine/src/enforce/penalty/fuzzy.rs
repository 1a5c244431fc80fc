//! Semantic based regularisation (Diligenti and others, 2017): `R = 1 - truth`, with truth from 0 to 1 by the product t-norm.
//!
//! An atom `a >= 0` is true by `sigmoid(a)`, which for a label is its probability and for "class c before class d" the probability
//! of c among the two. `f and g` is `f g`, `f or g` is `f + g - f g`, a count is `min(1, sum w f / bound)`.

use super::tree::{Graded, Grading};
use crate::objective::Loss;
use crate::units::Units;

/// Truth by the product t-norm.
pub(super) struct Fuzzy {
    /// What an atom's value is divided by: for numbers their own spread, for scores 1.
    units: Vec<f64>,
}

impl Fuzzy {
    pub fn new(graded: &Graded, units: &Units, loss: Loss) -> Self {
        let spread = |outputs: &[(usize, f64)]| outputs.iter().map(|(j, c)| (c * units.scale[*j]).powi(2)).sum::<f64>().sqrt();
        let unit =
            |a: &super::tree::AffineAtom| if loss == Loss::MeanSquares { spread(&a.outputs).max(f64::MIN_POSITIVE) } else { 1.0 };
        Self { units: graded.affine.iter().map(unit).collect() }
    }
}

impl Grading for Fuzzy {
    fn atom(&self, atom: usize, value: f64) -> [f64; 2] {
        let unit = self.units[atom];
        let truth = 1.0 / (1.0 + (-value / unit).exp());
        [truth, truth * (1.0 - truth) / unit]
    }

    fn constant(&self, holds: bool) -> f64 {
        f64::from(u8::from(holds))
    }

    fn all(&self, grades: &[f64]) -> f64 {
        grades.iter().product()
    }

    fn all_slopes(&self, grades: &[f64], slopes: &mut [f64]) {
        product_of_others(grades.iter().copied(), slopes);
    }

    fn any(&self, grades: &[f64]) -> f64 {
        1.0 - grades.iter().map(|g| 1.0 - g).product::<f64>()
    }

    fn any_slopes(&self, grades: &[f64], slopes: &mut [f64]) {
        product_of_others(grades.iter().map(|g| 1.0 - g), slopes);
    }

    fn count(&self, weights: &[f64], grades: &[f64], bound: f64, slopes: &mut [f64]) -> f64 {
        let reached = weights.iter().zip(grades).map(|(w, g)| w * g).sum::<f64>() / bound;
        if reached < 1.0 {
            slopes.iter_mut().zip(weights).for_each(|(s, w)| *s = w / bound);
        }
        reached.min(1.0)
    }

    fn cost(&self, grade: f64) -> [f64; 2] {
        [1.0 - grade, -1.0]
    }
}

/// For each the product of all others, without a division: factors may be 0.
fn product_of_others(factors: impl DoubleEndedIterator<Item = f64> + ExactSizeIterator + Clone, out: &mut [f64]) {
    let mut before = 1.0;
    for (out, f) in out.iter_mut().zip(factors.clone()) {
        *out = before;
        before *= f;
    }
    let mut after = 1.0;
    for (out, f) in out.iter_mut().zip(factors).rev() {
        *out *= after;
        after *= f;
    }
}
