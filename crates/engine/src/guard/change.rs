//! Layers and rules of the form `change(y, {...}, by = d) <= e` enter; a last layer leaves whose slopes allow no larger change.
//!
//! A relu has a slope between 0 and 1, so intervals of the slopes of hidden units follow from the weights alone; for fixed intervals the
//! largest change is a convex function of the last layer that scales with it, and one that is too large is scaled down.

use deepsade_net::{Activation, Network, Op};
use deepsade_spec::{Kept, Moves, NormalSpec, Var};

use crate::units::Units;

/// What is left for rounding and for bounds that the checker computes in another way.
const ROOM: f64 = 0.999;

/// One rule that bounds a change.
#[derive(Debug, Clone)]
struct Change {
    /// The columns that move, and how far.
    moves: Vec<(usize, f64)>,
    /// What changes, by output, in training units.
    form: Vec<(usize, f64)>,
    most: f64,
}

/// All such rules, with the network whose layers are looked at.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    rules: Vec<Change>,
    network: Network,
}

impl Changes {
    /// `None` if there is no such rule.
    pub fn new(spec: &NormalSpec, network: &Network, units: &Units) -> Option<Self> {
        let columns = spec.schema.columns();
        let mut rules = Vec::new();
        for part in spec.pairs.iter().flat_map(|rule| &rule.parts) {
            let (Moves::By(by), Kept::Number { linear, by: most, .. }) = (&part.moves, &part.kept) else { continue };
            let far = |f: &usize, d: &deepsade_spec::Rational| {
                let column = columns.iter().position(|c| c.feature == *f).unwrap_or(0);
                (column, d.to_f64().value())
            };
            let term = |(var, c): (&Var, &deepsade_spec::Rational)| match var {
                Var::Output(j) => Some((*j, c.to_f64().value() * units.scale[*j])),
                _ => None,
            };
            rules.push(Change {
                moves: part.features.iter().zip(by).map(|(f, d)| far(f, d)).collect(),
                form: linear.terms.iter().filter_map(term).collect(),
                most: most.to_f64().value() * ROOM,
            });
        }
        (!rules.is_empty()).then(|| Self { rules, network: network.clone() })
    }

    /// Whether no change is too large.
    pub fn hold(&mut self, parameters: &[f32]) -> bool {
        self.place(parameters);
        self.rules.iter().all(|rule| self.largest(rule) <= rule.most)
    }

    /// Scales the weights of the last layer down where a change is too large; whether any was. The last layer is at the end of the
    /// parameters, its bias behind it, `outputs` of them.
    pub fn shrink(&mut self, parameters: &mut [f32], inputs: usize, outputs: usize) -> bool {
        self.place(parameters);
        let start = parameters.len() - (inputs + 1) * outputs;
        let mut shrunk = false;
        for k in 0..self.rules.len() {
            let rule = &self.rules[k];
            let largest = self.largest(rule);
            if largest > rule.most {
                let share = (rule.most / largest * ROOM) as f32;
                for (j, _) in &rule.form {
                    parameters[start + j * inputs..][..inputs].iter_mut().for_each(|w| *w *= share);
                }
                shrunk = true;
                self.place(parameters);
            }
        }
        shrunk
    }

    /// Takes over the layers, as many as are given, from the last one on.
    fn place(&mut self, parameters: &[f32]) {
        let mut end = parameters.len();
        for node in self.network.nodes.iter_mut().rev() {
            let Op::Dense { w, b } = &mut node.op else { continue };
            let size = w.data.len() + b.len();
            if size > end {
                // Only the last layer is known: what is before it does not count.
                w.data.fill(0.0);
                continue;
            }
            let (weights, bias) = parameters[end - size..end].split_at(w.data.len());
            w.data.copy_from_slice(weights);
            b.copy_from_slice(bias);
            end -= size;
        }
    }

    fn largest(&self, rule: &Change) -> f64 {
        rule.moves.iter().map(|(column, by)| by * self.slope(*column, &rule.form)).sum()
    }

    /// The largest slope, up or down, of a form of the outputs in a column.
    fn slope(&self, column: usize, form: &[(usize, f64)]) -> f64 {
        let last = self.network.nodes.len();
        let mut values: Vec<Vec<(f64, f64)>> = Vec::with_capacity(last);
        values.push((0..self.network.inputs).map(|c| if c == column { (1.0, 1.0) } else { (0.0, 0.0) }).collect());
        for (k, node) in self.network.nodes.iter().enumerate() {
            let x = &values[node.from[0]];
            let value: Vec<(f64, f64)> = match &node.op {
                Op::Dense { w, .. } if k + 1 == last => {
                    let row = |i: usize| form.iter().map(|(j, c)| c * f64::from(w.row(*j)[i])).sum::<f64>();
                    let (lo, hi) = dot((0..w.cols).map(row), x);
                    return hi.max(-lo);
                }
                Op::Dense { w, .. } => (0..w.rows).map(|o| dot(w.row(o).iter().map(|w| f64::from(*w)), x)).collect(),
                Op::Affine { scale, .. } => {
                    scale.iter().zip(x).map(|(s, x)| dot(std::iter::once(f64::from(*s)), &[*x])).collect()
                }
                Op::Act(f) => {
                    let most = if *f == Activation::Sigmoid { 0.25 } else { 1.0 };
                    x.iter().map(|(lo, hi)| ((lo * most).min(0.0), (hi * most).max(0.0))).collect()
                }
                Op::Select(columns) => columns.iter().map(|c| x[*c]).collect(),
                Op::Concat => node.from.iter().flat_map(|v| values[*v].iter().copied()).collect(),
                Op::Gate | Op::Choose(_) => return f64::INFINITY,
            };
            values.push(value);
        }
        f64::INFINITY
    }
}

fn dot(w: impl Iterator<Item = f64>, x: &[(f64, f64)]) -> (f64, f64) {
    w.zip(x).fold((0.0, 0.0), |(lo, hi), (w, (a, b))| if w < 0.0 { (lo + w * b, hi + w * a) } else { (lo + w * a, hi + w * b) })
}
