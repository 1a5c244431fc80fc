//! Rows of outputs enter; where outputs usually are leaves, and how far they may go.

use deepsade_check::step::Number;
use deepsade_net::Matrix;
use deepsade_spec::normalize::var_range;
use deepsade_spec::{Atom, NormalSpec, Rational, Var};

/// Where outputs usually are.
#[derive(Debug, Clone)]
pub struct Usual {
    /// Their means.
    pub at: Vec<f64>,
    /// Their deviations, or a unit where there is none.
    pub scale: Vec<f64>,
    /// In which units an output is near another: mean absolute deviations, which the ends of a heavy tail do not rule as they rule
    /// [`Self::scale`]. An output that varies more is moved more. All alike where nothing is known.
    pub spread: Vec<f64>,
    /// Smallest and largest.
    ends: Vec<(f64, f64)>,
}

/// How far beyond the largest and smallest number candidates may go, in widths between these.
const ROOM: f64 = 1.0;

/// The size of whole numbers of which nothing is known.
const LARGE: f64 = (1 << 20) as f64;

impl Usual {
    /// Of rows that were seen.
    pub fn of(y: &Matrix) -> Self {
        let n = y.rows.max(1) as f64;
        let column = |j: usize| (0..y.rows).map(move |r| f64::from(y.row(r)[j]));
        let at: Vec<f64> = (0..y.cols).map(|j| column(j).sum::<f64>() / n).collect();
        let deviation = |j: usize| (column(j).map(|v| (v - at[j]).powi(2)).sum::<f64>() / n).sqrt();
        let scale = (0..y.cols).map(|j| Some(deviation(j)).filter(|d| *d > 1e-12).unwrap_or_else(|| at[j].abs().max(1.0)));
        let absolute = |j: usize| column(j).map(|v| (v - at[j]).abs()).sum::<f64>() / n;
        let spread: Vec<f64> = (0..y.cols).map(absolute).collect();
        // An output that never varied says nothing about how far it may be moved.
        let known = spread.iter().all(|s| *s > 1e-12 && s.is_finite());
        let ends = |j: usize| column(j).fold((at[j], at[j]), |(lo, hi), v| (lo.min(v), hi.max(v)));
        Self {
            scale: scale.collect(),
            spread: if known { spread } else { vec![1.0; y.cols] },
            ends: (0..y.cols).map(ends).collect(),
            at,
        }
    }

    /// Where no outputs were seen: as large as what the rules compare outputs with.
    pub fn unknown(spec: &NormalSpec) -> Self {
        let outputs = spec.schema.task.outputs();
        let mut size = vec![1.0f64; outputs];
        let mentioned = |j: usize| spec.rules.iter().any(|rule| rule.claim.variables().contains(&Var::Output(j)));
        // A whole number that no rule bounds may be large.
        spec.schema.task.whole_outputs().into_iter().filter(|j| !mentioned(*j)).for_each(|j| size[j] = LARGE);
        // Twice: what is compared with another output is as large as that.
        for rule in spec.rules.iter().chain(&spec.rules) {
            rule.claim.atoms(&mut |atom| {
                let float = |v: &Rational| v.to_f64().value().abs();
                let reach = |var: &Var, size: &[f64]| match var {
                    Var::Output(j) => size[*j],
                    var => {
                        let (lo, hi) = var_range(*var, &spec.schema);
                        float(&lo).max(float(&hi))
                    }
                };
                for (var, c) in &atom.linear.terms {
                    let Var::Output(j) = var else { continue };
                    let inputs = atom.linear.terms.iter().filter(|(v, _)| !v.is_output());
                    let others = atom.linear.terms.iter().filter(|(v, _)| v.is_output() && *v != var);
                    let offset =
                        2.0 * (float(&atom.linear.constant) + inputs.map(|(var, c)| float(c) * reach(var, &size)).sum::<f64>());
                    let beside = others.map(|(var, c)| float(c) * reach(var, &size)).fold(0.0, f64::max);
                    size[*j] = size[*j].max(offset.max(beside) / float(c)).min(1e9);
                }
            });
        }
        // They may be larger: what is compared with constants alone costs nothing however wide it is, other sums a little.
        let alone = |j: usize| {
            let mut alone = true;
            let own = |atom: &Atom| atom.linear.terms.len() > 1 && atom.linear.terms.contains_key(&Var::Output(j));
            spec.rules.iter().for_each(|rule| rule.claim.atoms(&mut |atom| alone &= !own(atom)));
            alone
        };
        let reach = |(j, s): (usize, &f64)| if alone(j) { s.max(LARGE) } else { 10.0 * s };
        let ends = size.iter().enumerate().map(reach).map(|s| (-s, s)).collect();
        Self { at: vec![0.0; outputs], scale: size, spread: vec![1.0; outputs], ends }
    }

    /// The same with room for outputs as large as the rules ask for.
    #[must_use]
    pub fn with_room_for(&self, spec: &NormalSpec) -> Self {
        let wide = Self::unknown(spec).ends;
        let ends = self.ends.iter().zip(wide).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1))).collect();
        Self { ends, ..self.clone() }
    }

    /// Of some of the outputs.
    #[must_use]
    pub fn of_outputs(&self, outputs: &[usize]) -> Self {
        let part = |of: &[f64]| outputs.iter().map(|j| of[*j]).collect();
        let ends = outputs.iter().map(|j| self.ends[*j]).collect();
        Self { at: part(&self.at), scale: part(&self.scale), spread: part(&self.spread), ends }
    }

    /// Smallest and largest number of each output.
    pub fn ends(&self) -> &[(f64, f64)] {
        &self.ends
    }

    /// Ranges for candidates: what was seen, with room around it.
    pub fn ranges(&self) -> Vec<Number> {
        let range = |(&(lo, hi), scale): (&(f64, f64), &f64)| {
            let room = ROOM * (hi - lo).max(4.0 * scale);
            Number { lo: (lo - room) as f32, hi: (hi + room) as f32, grid: None }
        };
        self.ends.iter().zip(&self.scale).map(range).collect()
    }
}

#[cfg(test)]
mod tests {
    use deepsade_net::Matrix;

    use super::Usual;

    #[test]
    fn spread_is_the_mean_absolute_deviation() {
        // Deviations of 1 each; and of 0.5 thrice, 1.5 once.
        let y = Matrix { rows: 4, cols: 2, data: vec![3.0, 0.0, 5.0, 0.0, 3.0, 0.0, 5.0, 2.0] };
        assert_eq!(Usual::of(&y).spread, [1.0, 0.75]);
        // What never varied has no spread to compare with.
        let y = Matrix { rows: 2, cols: 2, data: vec![3.0, 7.0, 5.0, 7.0] };
        assert_eq!(Usual::of(&y).spread, [1.0, 1.0]);
    }
}
