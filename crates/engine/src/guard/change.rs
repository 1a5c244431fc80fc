//! Layers and rules of the form `change(y, {...}, by = d) <= e` enter; a last layer leaves whose slopes allow no larger change.
//!
//! A relu has a slope between 0 and 1, so intervals of the slopes of hidden units follow from the weights alone; for fixed intervals the
//! largest change is a convex function of the last layer that scales with it, and one that is too large is scaled down.

use deepsade_net::Network;
use deepsade_spec::{Kept, Moves, NormalSpec, Rational, Var};

use crate::slopes::{ANYWHERE, slope};
use crate::units::Units;

/// What is left for rounding and for bounds that the checker computes in another way, beside what slopes may take: times the strictness
/// that is asked for.
const ROOM: f64 = 0.004;

/// So that float32 does not undo what was scaled down.
const ENOUGH: f64 = 0.999;

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
    pub fn new(spec: &NormalSpec, network: &Network, units: &Units, strictness: f64) -> Option<Self> {
        let room = 1.0 / (1.0 + ROOM * strictness);
        let columns = spec.schema.columns();
        let mut rules = Vec::new();
        for part in spec.pairs.iter().flat_map(|rule| &rule.parts) {
            let (Moves::By(by), Kept::Number { linear, by: most, .. }) = (&part.moves, &part.kept) else { continue };
            let far = |f: &usize, d: &Rational| {
                let column = columns.iter().position(|c| c.feature == *f).unwrap_or(0);
                (column, d.to_f64().value())
            };
            let size = |c: &Rational| if *c < Rational::ZERO { -c } else { c.clone() };
            // Divided by the largest coefficient, in exact numbers, the form fits float64 whatever units the rule is written in.
            let Some(largest) = linear.terms.values().map(size).max() else { continue };
            let term = |(var, c): (&Var, &Rational)| match var {
                Var::Output(j) => Some((*j, (c / &largest).to_f64().value() * units.scale[*j])),
                _ => None,
            };
            rules.push(Change {
                moves: part.features.iter().zip(by).map(|(f, d)| far(f, d)).collect(),
                form: linear.terms.iter().filter_map(term).collect(),
                most: (most / &largest).to_f64().value() * room,
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
                let share = (rule.most / largest * ENOUGH) as f32;
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
        // Where only the last layer is known, what is before it does not count.
        let unknown = self.network.parameters().count() - parameters.len();
        let known = std::iter::repeat_n(&0.0, unknown).chain(parameters);
        self.network.parameters_mut().zip(known).for_each(|(w, now)| *w = *now);
    }

    /// The largest change that a rule's moves can make, by the largest slopes, up or down, that the weights allow.
    fn largest(&self, rule: &Change) -> f64 {
        let far = |(column, by): &(usize, f64)| {
            let (lo, hi) = slope(&self.network, *column, &rule.form, &|_, _| ANYWHERE);
            by * hi.max(-lo)
        };
        rule.moves.iter().map(far).sum()
    }
}
