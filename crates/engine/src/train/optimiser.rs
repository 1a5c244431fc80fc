//! Parameters and their gradient enter; moved parameters leave.

use std::ops::Range;

use deepsade_solve::kernel::vector;

use super::{OptimiserName, TrainSettings};

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// Gradient descent with its memory; `g` is the gradient plus `weight_decay * w`, as in `torch.optim.SGD` and `torch.optim.Adam`.
///
/// - SGD: `m = momentum * m + g; w -= learning_rate * m`.
/// - Adam: `m = 0.9 m + 0.1 g; v = 0.999 v + 0.001 g^2; w -= learning_rate * m' / (sqrt(v') + 1e-8)`, with
///   `m' = m / (1 - 0.9^t)`, `v' = v / (1 - 0.999^t)` at step t.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimiser {
    name: OptimiserName,
    learning_rate: f32,
    momentum: f32,
    weight_decay: f32,
    /// Steps begun.
    pub(super) steps: u64,
    /// m, if the method has one.
    pub(super) first: Vec<f32>,
    /// v, if the method has one.
    pub(super) second: Vec<f32>,
}

impl Optimiser {
    /// An optimiser at rest for this many parameters.
    pub fn new(settings: &TrainSettings, parameters: usize) -> Self {
        let has = |yes: bool| vec![0.0; if yes { parameters } else { 0 }];
        let adam = settings.optimiser == OptimiserName::Adam;
        Self {
            name: settings.optimiser,
            learning_rate: settings.learning_rate,
            momentum: settings.momentum,
            weight_decay: settings.weight_decay,
            steps: 0,
            first: has(adam || settings.momentum > 0.0),
            second: has(adam),
        }
    }

    /// Begins a step. Then each parameter is moved once, in as many [`apply`](Self::apply) as it takes.
    pub fn begin(&mut self) {
        self.steps += 1;
    }

    /// Moves the parameters of `range`.
    pub fn apply(&mut self, range: Range<usize>, parameters: &mut [f32], gradient: &[f32]) {
        vector(
            #[inline(always)]
            || self.move_along(range, parameters, gradient),
        );
    }

    #[inline(always)]
    fn move_along(&mut self, range: Range<usize>, parameters: &mut [f32], gradient: &[f32]) {
        let (rate, decay) = (self.learning_rate, self.weight_decay);
        let moved = parameters[range.clone()].iter_mut().zip(&gradient[range.clone()]);
        match self.name {
            OptimiserName::Sgd if self.first.is_empty() => {
                moved.for_each(|(w, g)| *w -= rate * (g + decay * *w));
            }
            OptimiserName::Sgd => {
                let momentum = self.momentum;
                for ((w, g), m) in moved.zip(&mut self.first[range]) {
                    *m = momentum * *m + (g + decay * *w);
                    *w -= rate * *m;
                }
            }
            OptimiserName::Adam => {
                let t = self.steps as f64;
                let rate = (f64::from(rate) / (1.0 - f64::from(BETA1).powf(t))) as f32;
                let root = (1.0 - f64::from(BETA2).powf(t)).sqrt() as f32;
                for (((w, g), m), v) in moved.zip(&mut self.first[range.clone()]).zip(&mut self.second[range]) {
                    let g = g + decay * *w;
                    *m += (g - *m) * (1.0 - BETA1);
                    *v = BETA2 * *v + (1.0 - BETA2) * g * g;
                    *w -= rate * (*m / (v.sqrt() / root + EPSILON));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(optimiser: OptimiserName, momentum: f32, weight_decay: f32) -> TrainSettings {
        TrainSettings { optimiser, learning_rate: 0.1, momentum, weight_decay, ..TrainSettings::default() }
    }

    fn run(settings: &TrainSettings, gradients: &[f32]) -> Vec<f32> {
        let mut optimiser = Optimiser::new(settings, 1);
        let mut w = [1.0];
        gradients
            .iter()
            .map(|&g| {
                optimiser.begin();
                optimiser.apply(0..1, &mut w, &[g]);
                w[0]
            })
            .collect()
    }

    fn close(found: &[f32], expected: &[f32]) {
        assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-6), "{found:?} {expected:?}");
    }

    /// w = 1 - 0.1 * 2 = 0.8; then 0.8 - 0.1 * 1 = 0.7.
    #[test]
    fn plain_sgd() {
        close(&run(&settings(OptimiserName::Sgd, 0.0, 0.0), &[2.0, 1.0]), &[0.8, 0.7]);
    }

    /// g = 2 + 0.5 * 1 = 2.5, m = 2.5, w = 0.75; g = 1 + 0.375 = 1.375, m = 0.9 * 2.5 + 1.375 = 3.625, w = 0.3875.
    #[test]
    fn momentum_and_weight_decay() {
        close(&run(&settings(OptimiserName::Sgd, 0.9, 0.5), &[2.0, 1.0]), &[0.75, 0.3875]);
    }

    /// Step 1: m' = g, v' = g^2, so w moves by the rate: 0.9.
    /// Step 2, g = -1: m = 0.9 * 0.2 - 0.1 = 0.08, m' = 0.08 / 0.19; v = 0.999 * 0.004 + 0.001 = 0.004996, v' = v / 0.001999;
    /// w = 0.9 - 0.1 * 0.421053 / 1.580897 = 0.873366.
    #[test]
    fn adam_corrects_its_bias() {
        close(&run(&settings(OptimiserName::Adam, 0.0, 0.0), &[2.0, -1.0]), &[0.9, 0.873_366]);
    }

    /// With g = -0.5 and decay 0.5 the penalty cancels the gradient at w = 1: nothing moves.
    #[test]
    fn adam_decays_through_the_gradient() {
        close(&run(&settings(OptimiserName::Adam, 0.0, 0.5), &[-0.5]), &[1.0]);
    }

    #[test]
    fn ranges_add_up_to_one_step() {
        let settings = settings(OptimiserName::Adam, 0.0, 0.1);
        let (mut whole, mut parts) = (Optimiser::new(&settings, 3), Optimiser::new(&settings, 3));
        let (mut a, mut b, g) = ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.5, -0.25, 1.0]);
        for _ in 0..3 {
            whole.begin();
            whole.apply(0..3, &mut a, &g);
            parts.begin();
            parts.apply(2..3, &mut b, &g);
            parts.apply(0..2, &mut b, &g);
        }
        assert_eq!(a, b);
        assert_eq!(whole, parts);
    }
}
