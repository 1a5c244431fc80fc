//! A form of the last layer and weights enter; the nearest weights of a box for which the form stays below 0 on its latent box leave.
//!
//! The form's largest value over the box of v is convex in the weights: `sum_k (q_k m_k + |q_k| r_k) + bias`, with
//! `q_k = c_k + sum_j alpha_j w_jk`. For a fixed multiplier l of that value each column of v is a problem of its own,
//! `w_jk = clamp(w0_jk - mu alpha_j)` with mu in `l (m_k + r_k [-1, 1])`: one end, or the other, or the mu at which `q_k = 0`.
//! The value falls as l grows, so l is found by chords.

use super::problem::{LatentBox, LayerForm};

/// Steps of a search for l, and of one for a column's mu.
const STEPS: usize = 60;

/// Moves w, within `lo` to `hi`, as little as makes the form's largest value at most `-room`. False if no weights of the box do.
pub fn hold(form: &LayerForm, latent: &LatentBox, (lo, hi): (&[f64], &[f64]), room: f64, w: &mut [f64]) -> bool {
    let inputs = latent.m.len();
    let own = |k: usize| form.c.iter().filter(|(at, _)| *at == k).map(|(_, c)| c).sum();
    let moved = Moved { form, latent, lo, hi, own: (0..inputs).map(own).collect(), from: w.to_vec() };
    let mut excess = |l: f64| {
        moved.by(l, w);
        form.largest(w, latent) + room
    };
    let start = excess(0.0);
    if start <= 0.0 {
        return true;
    }
    if form.least(lo, hi, inputs, lo.len() / (inputs + 1), latent) + room > 0.0 {
        w.copy_from_slice(&moved.from);
        return false;
    }
    // Where nothing stops a weight, the bias alone falls so fast.
    let slope: f64 = form.alpha.iter().map(|(_, alpha)| alpha * alpha).sum();
    let (mut above, mut below) = ((0.0, start), (start / slope, excess(start / slope)));
    for _ in 0..STEPS {
        if below.1 <= 0.0 {
            break;
        }
        above = below;
        below = (4.0 * above.0, excess(4.0 * above.0));
    }
    let l = root(above, below, 1e-3 * room + 1e-12 * start, &mut excess);
    excess(l) <= 0.0
}

/// A place where a falling function is at most 0 and at least `-close`, between one where it is above 0 and one where it is not. By
/// chords; an end that stays counts half each time (the method of Illinois), so that both ends move.
fn root(mut above: (f64, f64), mut below: (f64, f64), close: f64, f: &mut impl FnMut(f64) -> f64) -> f64 {
    let (mut high, mut low) = (above.1, below.1);
    for _ in 0..STEPS {
        if below.1 >= -close {
            break;
        }
        let inside = |at: f64| above.0 < at && at < below.0;
        // Towards what is a little below 0: an exact chord ends the search there.
        let chord = above.0 + (below.0 - above.0) * ((high + 0.5 * close) / (high - low)).min(1.0);
        let at = if inside(chord) { chord } else { 0.5 * (above.0 + below.0) };
        if !inside(at) {
            break;
        }
        let value = f(at);
        if value > 0.0 {
            (above, high, low) = ((at, value), value, 0.5 * low);
        } else {
            (below, low, high) = ((at, value), value, 0.5 * high);
        }
    }
    below.0
}

/// Weights on their way.
struct Moved<'a> {
    form: &'a LayerForm,
    latent: &'a LatentBox,
    lo: &'a [f64],
    hi: &'a [f64],
    /// What is added to each column's sum.
    own: Vec<f64>,
    from: Vec<f64>,
}

impl Moved<'_> {
    /// Writes the weights that are best for the multiplier l.
    fn by(&self, l: f64, w: &mut [f64]) {
        let inputs = self.own.len();
        let bias = w.len() - w.len() / (inputs + 1);
        for (j, alpha) in &self.form.alpha {
            w[bias + j] = self.weight(bias + j, *alpha, l);
        }
        for k in 0..inputs {
            let mu = self.column(k, l);
            for (j, alpha) in &self.form.alpha {
                w[j * inputs + k] = self.weight(j * inputs + k, *alpha, mu);
            }
        }
    }

    fn weight(&self, at: usize, alpha: f64, mu: f64) -> f64 {
        (self.from[at] - mu * alpha).clamp(self.lo[at], self.hi[at])
    }

    /// The mu of a column.
    fn column(&self, k: usize, l: f64) -> f64 {
        let inputs = self.own.len();
        let mut q = |mu: f64| {
            self.own[k] + self.form.alpha.iter().map(|(j, alpha)| alpha * self.weight(j * inputs + k, *alpha, mu)).sum::<f64>()
        };
        let (m, r) = (self.latent.m[k], self.latent.r[k]);
        let (low, high) = (l * (m - r), l * (m + r));
        let (at_low, at_high) = (q(low), q(high));
        if at_high >= 0.0 {
            return high;
        }
        if at_low <= 0.0 {
            return low;
        }
        root((low, at_low), (high, at_high), 1e-13 * (at_low - at_high), &mut q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two outputs, two columns: against all weights on a grid of the box.
    #[test]
    fn what_is_found_holds_and_no_point_of_a_grid_is_nearer() {
        let form = LayerForm { alpha: vec![(0, -1.0), (1, -2.0)], c: vec![(1, 0.5)], constant: 0.1 };
        let latent = LatentBox { m: vec![0.5, -1.0], r: vec![1.0, 0.5] };
        let steps = 12usize;
        for shift in [-0.4, 0.0, 0.3] {
            // Weights of the first and of the second output, then the biases.
            let lo = [shift, -0.5, -1.0, 0.0, -0.2, -0.3];
            let hi = lo.map(|lo| lo + 0.6);
            let from = [shift + 0.1, -0.4, -0.9, 0.3, -0.1, -0.3];
            let distance = |w: &[f64]| w.iter().zip(&from).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            let mut best = f64::INFINITY;
            for t in 0..steps.pow(6) {
                let w: Vec<f64> = (0..6)
                    .map(|k| lo[k] + (hi[k] - lo[k]) * (t / steps.pow(k as u32) % steps) as f64 / (steps - 1) as f64)
                    .collect();
                if form.largest(&w, &latent) <= 0.0 {
                    best = best.min(distance(&w));
                }
            }
            let mut w = from.to_vec();
            let found = hold(&form, &latent, (&lo, &hi), 0.0, &mut w);
            assert_eq!(found, form.least(&lo, &hi, 2, 2, &latent) <= 0.0, "{shift}");
            if found {
                assert!(
                    form.largest(&w, &latent) <= 0.0 && w.iter().zip(lo.iter().zip(&hi)).all(|(w, (lo, hi))| lo <= w && w <= hi)
                );
                // The grid is coarse: its nearest point is somewhat further away, never nearer.
                assert!(distance(&w) <= best + 1e-9, "{shift}: {} against {best}", distance(&w));
            } else {
                assert_eq!((w, best), (from.to_vec(), f64::INFINITY));
            }
        }
    }
}
