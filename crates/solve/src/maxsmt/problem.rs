//! The last layer as unknown: the box it may move in, what it must satisfy (K'), and what it should (the batch).
//!
//! The unknowns are numbered as the last layer is stored: `w[j * inputs + k]` is the weight from input k to output j, and
//! `w[outputs * inputs + j]` the bias of output j.

/// Slack that is allowed for the rounding of float64, as a share of what is summed.
pub const TOLERANCE: f64 = 1e-9;

/// A problem of the last layer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MaxSmtProblem {
    /// Width of what the last layer reads.
    pub inputs: usize,
    /// Width of what it computes.
    pub outputs: usize,
    /// Smallest value of each unknown.
    pub lo: Vec<f64>,
    /// Largest value of each unknown.
    pub hi: Vec<f64>,
    /// K': every clause must hold.
    pub hard: Vec<Clause>,
    /// What v, which the last layer reads, can be: the boxes that the clauses speak of.
    pub boxes: Vec<LatentBox>,
    /// What should hold.
    pub soft: Vec<Soft>,
    /// Where gradient descent would go, within the box: a search that is incomplete begins there.
    pub start: Option<Vec<f64>>,
}

/// A box of what the last layer reads: `m - r <= v <= m + r`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatentBox {
    /// Middles.
    pub m: Vec<f64>,
    /// Radii.
    pub r: Vec<f64>,
}

/// One cell of a rule's negation, to be empty on its box.
///
/// For fixed multipliers that is a convex condition on the weights. Over all multipliers it is bilinear, so the search takes a
/// finite choice of them: each atom alone, the clause that the data favour, and those that the guard uses at present. It is exact for
/// cells of one atom, and sufficient for the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    /// The rule it comes from.
    pub rule: String,
    /// Index of the box in [`MaxSmtProblem::boxes`].
    pub latent: usize,
    /// Some choice must hold: all of its forms are at most 0 on the whole box.
    pub choices: Vec<Vec<LayerForm>>,
    /// The cell as it stands, for solvers that take quantifiers: everywhere on the box some atom is at most 0.
    pub atoms: Vec<LayerAtom>,
    /// What the gate's factor can be; (1, 1) without a gate.
    pub gate: (f64, f64),
}

/// `alpha . (W v + b) + c . v + constant`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LayerForm {
    /// Coefficients of outputs.
    pub alpha: Vec<(usize, f64)>,
    /// Coefficients of v.
    pub c: Vec<(usize, f64)>,
    /// The constant, the margin for rounding included.
    pub constant: f64,
}

/// `g * alpha . (W v + b) + c . v + gate * g + constant`, g the gate's factor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LayerAtom {
    /// All but the gate.
    pub form: LayerForm,
    /// Coefficient of the gate's factor.
    pub gate: f64,
}

/// `a . w + c >= 0`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LayerRow {
    /// Coefficients of unknowns.
    pub a: Vec<(usize, f64)>,
    /// The constant.
    pub c: f64,
}

/// A soft constraint: all of its rows should hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Soft {
    /// The rows.
    pub rows: Vec<LayerRow>,
    /// What it counts, above 0.
    pub weight: f64,
}

impl LayerRow {
    /// `a . w + c`.
    pub fn value(&self, w: &[f64]) -> f64 {
        self.a.iter().map(|(k, a)| a * w[*k]).sum::<f64>() + self.c
    }

    /// The largest or, with `sign` -1, smallest value in the box.
    pub fn extreme(&self, sign: f64, lo: &[f64], hi: &[f64]) -> f64 {
        self.a.iter().map(|(k, a)| if a * sign > 0.0 { a * hi[*k] } else { a * lo[*k] }).sum::<f64>() + self.c
    }

    /// The size of what is summed, at least 1: rounding is a share of it.
    fn size(&self, w: &[f64]) -> f64 {
        self.a.iter().map(|(k, a)| (a * w[*k]).abs()).sum::<f64>() + self.c.abs() + 1.0
    }

    fn holds(&self, w: &[f64]) -> bool {
        self.value(w) >= -10.0 * TOLERANCE * self.size(w)
    }
}

impl Soft {
    /// Whether every row holds.
    pub fn holds(&self, w: &[f64]) -> bool {
        self.rows.iter().all(|row| row.holds(w))
    }
}

impl LayerForm {
    /// The form's largest value over the box, for these weights.
    pub fn largest(&self, w: &[f64], latent: &LatentBox) -> f64 {
        let inputs = latent.m.len();
        let bias = w.len() - w.len() / (inputs + 1);
        let column = |k: usize| {
            let own: f64 = self.c.iter().filter(|(at, _)| *at == k).map(|(_, c)| c).sum();
            let q = own + self.alpha.iter().map(|(j, alpha)| alpha * w[j * inputs + k]).sum::<f64>();
            q * latent.m[k] + q.abs() * latent.r[k]
        };
        let at_bias: f64 = self.alpha.iter().map(|(j, alpha)| alpha * w[bias + j]).sum();
        (0..inputs).map(column).sum::<f64>() + at_bias + self.constant
    }

    /// The form at its largest point of the box, as a row of the unknowns: `-(form at that v) >= 0`.
    pub fn cut(&self, w: &[f64], inputs: usize, outputs: usize, latent: &LatentBox) -> LayerRow {
        let mut q = vec![0.0; inputs];
        for (j, alpha) in &self.alpha {
            q.iter_mut().zip(&w[j * inputs..(j + 1) * inputs]).for_each(|(q, w)| *q += alpha * w);
        }
        self.c.iter().for_each(|(k, c)| q[*k] += c);
        let v: Vec<f64> =
            (0..inputs).map(|k| if q[k] >= 0.0 { latent.m[k] + latent.r[k] } else { latent.m[k] - latent.r[k] }).collect();
        self.at(&v, inputs, outputs)
    }

    /// The least that the form's largest value over the latent box can be, for any weights within these ends. Each column of v meets
    /// unknowns of its own, so columns are made least one by one: `q m + |q| r` over an interval of q.
    pub fn least(&self, lo: &[f64], hi: &[f64], inputs: usize, outputs: usize, latent: &LatentBox) -> f64 {
        let ends = |alpha: f64, k: usize| (alpha * lo[k]).min(alpha * hi[k])..(alpha * lo[k]).max(alpha * hi[k]);
        let column = |k: usize| {
            let own: f64 = self.c.iter().filter(|(at, _)| *at == k).map(|(_, c)| c).sum();
            let (mut low, mut high) = (own, own);
            for (j, alpha) in &self.alpha {
                let range = ends(*alpha, j * inputs + k);
                (low, high) = (low + range.start, high + range.end);
            }
            let (m, r) = (latent.m[k], latent.r[k]);
            let q = if m + r < 0.0 {
                high
            } else if m - r > 0.0 {
                low
            } else {
                0.0f64.max(low).min(high)
            };
            q * m + q.abs() * r
        };
        let bias: f64 = self.alpha.iter().map(|(j, alpha)| ends(*alpha, outputs * inputs + j).start).sum();
        (0..inputs).map(column).sum::<f64>() + bias + self.constant
    }

    /// `-(form at v) >= 0`.
    pub fn at(&self, v: &[f64], inputs: usize, outputs: usize) -> LayerRow {
        let weights =
            self.alpha.iter().flat_map(|(j, alpha)| v.iter().enumerate().map(move |(k, v)| (j * inputs + k, -alpha * v)));
        let bias = self.alpha.iter().map(|(j, alpha)| (outputs * inputs + j, -alpha));
        let c = self.c.iter().map(|(k, c)| c * v[*k]).sum::<f64>();
        LayerRow { a: weights.chain(bias).filter(|(_, a)| *a != 0.0).collect(), c: -c - self.constant }
    }
}

impl MaxSmtProblem {
    /// How many unknowns there are.
    pub fn unknowns(&self) -> usize {
        self.lo.len()
    }

    /// Whether every number is one that can be written down.
    pub fn is_finite(&self) -> bool {
        let boxes = self.boxes.iter().flat_map(|b| b.m.iter().chain(&b.r));
        let forms = self.hard.iter().flat_map(|c| c.choices.iter().flatten());
        let rows = self.soft.iter().flat_map(|s| &s.rows);
        self.lo.iter().chain(&self.hi).chain(boxes).all(|x| x.is_finite())
            && forms.flat_map(|f| f.alpha.iter().map(|(_, a)| *a).chain([f.constant])).all(f64::is_finite)
            && rows.flat_map(|r| r.a.iter().map(|(_, a)| *a).chain([r.c])).all(f64::is_finite)
    }

    /// The weight of all soft constraints.
    pub fn total(&self) -> f64 {
        self.soft.iter().map(|s| s.weight).sum()
    }

    /// The weight of the soft constraints that hold.
    pub fn satisfied(&self, w: &[f64]) -> f64 {
        self.soft.iter().filter(|s| s.holds(w)).map(|s| s.weight).fold(0.0, |sum, weight| sum + weight)
    }

    /// The weight of the soft constraints that some weights of the box satisfy, each by itself.
    pub fn reachable(&self) -> f64 {
        let possible = |s: &&Soft| s.rows.iter().all(|row| row.extreme(1.0, &self.lo, &self.hi) >= 0.0);
        self.soft.iter().filter(possible).map(|s| s.weight).sum()
    }

    /// The row that is violated most among the forms of a choice, each at its largest point; `None` if the choice holds.
    pub fn violated(&self, clause: &Clause, choice: &[LayerForm], w: &[f64]) -> Option<LayerRow> {
        let cuts = choice.iter().map(|form| form.cut(w, self.inputs, self.outputs, &self.boxes[clause.latent]));
        cuts.filter(|row| !row.holds(w)).min_by(|a, b| a.value(w).total_cmp(&b.value(w)))
    }

    /// Whether some choice of the clause holds.
    pub fn clause_holds(&self, clause: &Clause, w: &[f64]) -> bool {
        clause.choices.iter().any(|choice| self.violated(clause, choice, w).is_none())
    }

    /// Whether w lies in the box and satisfies every clause.
    pub fn holds(&self, w: &[f64]) -> bool {
        let inside = |((w, lo), hi): ((&f64, &f64), &f64)| {
            let slack = TOLERANCE * (1.0 + w.abs());
            *w >= lo - slack && *w <= hi + slack
        };
        w.iter().zip(&self.lo).zip(&self.hi).all(inside) && self.hard.iter().all(|clause| self.clause_holds(clause, w))
    }
}

#[cfg(test)]
mod tests {
    use super::{LatentBox, LayerForm, LayerRow};

    /// y = w v + b with v in [1, 3]: y - 2 is largest at v = 3 for w = 1, at v = 1 for w = -1.
    #[test]
    fn a_cut_is_the_form_at_its_largest_point() {
        let form = LayerForm { alpha: vec![(0, 1.0)], c: vec![], constant: -2.0 };
        let latent = LatentBox { m: vec![2.0], r: vec![1.0] };
        assert_eq!(form.cut(&[1.0, 0.0], 1, 1, &latent), LayerRow { a: vec![(0, -3.0), (1, -1.0)], c: 2.0 });
        assert_eq!(form.cut(&[-1.0, 0.0], 1, 1, &latent), LayerRow { a: vec![(0, -1.0), (1, -1.0)], c: 2.0 });
        assert_eq!((form.largest(&[1.0, 0.5], &latent), form.largest(&[-1.0, 0.5], &latent)), (1.5, -2.5));
    }

    /// Two outputs, one column: against all weights on a grid of their box.
    #[test]
    fn the_least_is_that_of_the_best_weights_of_the_box() {
        let form = LayerForm { alpha: vec![(0, 1.0), (1, -2.0)], c: vec![(0, 0.5)], constant: 0.25 };
        for (m, r) in [(2.0, 1.0), (-2.0, 1.0), (0.5, 1.0)] {
            let latent = LatentBox { m: vec![m], r: vec![r] };
            for shift in [-1.0, 0.0, 1.0] {
                let (lo, hi) = (vec![shift, -0.5, -1.0, 0.0], vec![shift + 0.5, 0.5, 1.0, 0.5]);
                let at = |k: usize, t: usize| lo[k] + (hi[k] - lo[k]) * t as f64 / 20.0;
                let mut best = f64::INFINITY;
                for t in 0..21usize.pow(2) {
                    // Biases are best at an end.
                    let w = [at(0, t % 21), at(1, t / 21), lo[2], hi[3]];
                    let q = w[0] - 2.0 * w[1] + 0.5;
                    best = f64::min(best, q * m + f64::abs(q) * r + w[2] - 2.0 * w[3] + 0.25);
                }
                let least = form.least(&lo, &hi, 1, 2, &latent);
                assert!(least <= best + 1e-12 && least >= best - 0.11 * (m.abs() + r), "{m} {shift}: {least} against {best}");
            }
        }
    }

    #[test]
    fn extremes_are_taken_at_the_ends_of_the_box() {
        let row = LayerRow { a: vec![(0, 2.0), (1, -1.0)], c: 0.5 };
        assert_eq!(row.extreme(1.0, &[0.0, 1.0], &[1.0, 2.0]), 1.5);
        assert_eq!(row.extreme(-1.0, &[0.0, 1.0], &[1.0, 2.0]), -1.5);
    }
}
