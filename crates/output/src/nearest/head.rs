//! Half-spaces enter; dense layers and relus leave that compute the nearest point in them, where there is a closed form, and that
//! keep it inside whatever the rounding of the layers before.
//!
//! With violations `v_k = margin - (a_k.y + c_k(x))` the nearest point is `y + sum l_k a_k`.
//! - A face that is orthogonal to all others has `l = relu(v)`.
//! - Two faces with `g = a_1.a_2` have, whichever of them hold the point, `l_1 = relu(v_1 - g/(1 - g^2) h_1)` with
//!   `h_1 = relu(v_2 - g v_1)`, and the same with 1 and 2 exchanged: `h_1` is 0 iff face 2 does not push once face 1 is met.
//! - Two opposite faces, `lo <= a.y <= hi`, put `a.y` at `hi - relu(hi - lo - relu(a.y - lo))`.
//!
//! After a pair a last step adds `relu(v_k) d_k`, d the dual basis of their normals: exactly 0 without rounding, and with it the
//! proof that face k holds is one line, `relu(v) >= v`, since no other face's step moves `a_k.y`.

use deepsade_net::{Activation, Matrix, Network, Node, Op};
use deepsade_spec::{ColumnKind, Schema, Var};
use thiserror::Error;

use super::allowed::{Allowed, Face};

/// Normals closer to parallel or orthogonal than this are.
const NEARLY: f64 = 1e-9;

/// Why there is no closed form; the library then finds the nearest outputs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HeadError {
    /// Alternatives or conditions.
    #[error("the rules have alternatives or conditions on the input")]
    SeveralPieces,
    /// More than two rules meet.
    #[error("more than two rules bear on the same outputs")]
    ManyFaces,
    /// Two rules in the same direction.
    #[error("two rules bound the same outputs from the same side")]
    Parallel,
    /// The gate is in the way.
    #[error("the outputs are gated by a feature with which the rules don't scale")]
    Gate,
    /// Equalities, or bounds that meet.
    #[error("the rules leave no room for float32's rounding, such as an equality")]
    NoRoom,
    /// A proof would be too long.
    #[error("one rule bounds too many outputs from both sides; state it as several rules")]
    ManySplits,
}

/// The closed form of the nearest outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    faces: Vec<Face>,
    groups: Vec<Group>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Group {
    /// A face by itself.
    One(usize),
    /// Two faces and their cosine.
    Two(usize, usize, f64),
    /// `a.y + c >= 0` for the first, `-a.y + c' >= 0` for the second.
    Slab(usize, usize),
}

/// How it is proved that a face holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reason {
    /// Node and column of relus, and whether their lower line is `relu(v) >= v` (else `>= 0`).
    pub lines: Vec<(usize, usize, bool)>,
    /// A relu whose two sides have to be told apart.
    pub split: Option<(usize, usize)>,
}

/// A linear form over the values that a layer reads: coefficients and constant.
type Line = (Vec<f64>, f64);

impl Head {
    /// Looks for a closed form.
    pub fn new(allowed: &Allowed) -> Result<Self, HeadError> {
        if !allowed.is_one_piece() {
            return Err(HeadError::SeveralPieces);
        }
        let faces = allowed.faces().to_vec();
        let cosine = |i: usize, j: usize| faces[i].a.iter().zip(&faces[j].a).map(|(a, b)| a * b).sum::<f64>();
        let mut groups: Vec<Group> = Vec::new();
        let meeting = |k: usize| (0..faces.len()).filter(move |j| *j != k && cosine(*j, k).abs() > NEARLY).collect::<Vec<_>>();
        for k in 0..faces.len() {
            match meeting(k)[..] {
                [] => groups.push(Group::One(k)),
                [j] if meeting(j).len() > 1 => return Err(HeadError::ManyFaces),
                [j] if cosine(j, k) > 1.0 - NEARLY => return Err(HeadError::Parallel),
                [j] if j < k => {}
                [j] if cosine(j, k) < NEARLY - 1.0 => groups.push(Group::Slab(k, j)),
                [j] => groups.push(Group::Two(k, j, cosine(j, k))),
                _ => return Err(HeadError::ManyFaces),
            }
        }
        Ok(Self { faces, groups })
    }

    /// The faces, in the order of the margins.
    pub fn faces(&self) -> &[Face] {
        &self.faces
    }

    /// Whether every face is `a.y + c r >= 0` for this feature r: then the head can stand before a gate by r.
    pub fn scales_with(&self, feature: usize) -> bool {
        self.faces.iter().all(|f| f.constant == 0.0 && f.x.iter().all(|(var, _)| *var == Var::Feature(feature)))
    }

    /// Adds the head after `value`, which holds the outputs (with `gated`: divided by the feature with which the faces scale),
    /// and returns the value of the nearest ones, each face kept at a distance of `margin`, with the reason why it holds.
    pub fn append(&self, network: &mut Network, value: usize, schema: &Schema, gated: bool, margin: f64) -> (usize, Vec<Reason>) {
        // Rules that demand nothing leave the outputs where they are.
        let Some(outputs) = self.faces.first().map(|f| f.a.len()) else { return (value, Vec::new()) };
        let columns = if gated { Vec::new() } else { self.columns(schema) };
        let width = outputs + columns.len();
        let x = if columns.is_empty() { None } else { Some(push(network, Op::Select(columns.clone()), vec![0])) };
        let slack = |k: usize| slack(&self.faces[k], schema, &columns, gated, margin);
        let violation = |k: usize| scaled(&slack(k), -1.0);

        let value = self.pairs(network, value, x, width, &violation);
        let base = beside(network, value, x);
        // One unit a face: the step of a single face or of a pair's face, the inner relu of a slab's first face; none for its second.
        let mut first: Vec<Line> = Vec::new();
        let (mut reasons, node) = (vec![Reason::default(); self.faces.len()], network.nodes.len() + 1);
        let mut steps: Vec<(usize, Vec<f64>)> = Vec::new();
        for group in &self.groups {
            match *group {
                Group::One(k) => {
                    reasons[k].lines.push((node, first.len(), true));
                    steps.push((first.len(), self.faces[k].a.clone()));
                    first.push(violation(k));
                }
                Group::Two(i, j, g) => {
                    for (k, other) in [(i, j), (j, i)] {
                        reasons[k].lines.push((node, first.len(), true));
                        let dual = self.faces[k].a.iter().zip(&self.faces[other].a).map(|(a, b)| (a - g * b) / (1.0 - g * g));
                        steps.push((first.len(), dual.collect()));
                        first.push(violation(k));
                    }
                }
                Group::Slab(low, _) => {
                    reasons[low].lines.push((node, first.len(), false));
                    first.push(slack(low));
                }
            }
        }
        let units_before = first.len();
        let dense_value = push(network, dense(&first), vec![base]);
        let first = push(network, Op::Act(Activation::Relu), vec![dense_value]);
        let slabs: Vec<(usize, usize)> =
            self.groups.iter().filter_map(|g| if let Group::Slab(i, j) = g { Some((*i, *j)) } else { None }).collect();
        let mut parts = vec![base, first];
        if !slabs.is_empty() {
            // The inner units of the slabs, in order.
            let stepping: Vec<usize> = steps.iter().map(|(unit, _)| *unit).collect();
            let inner: Vec<usize> = (0..units_before).filter(|u| !stepping.contains(u)).collect();
            let both = push(network, Op::Concat, vec![base, first]);
            let second = slabs.iter().zip(&inner).map(|((low, high), unit)| {
                let ((row, c), (other, d)) = (slack(*low), slack(*high));
                let mut row: Vec<f64> = row.iter().zip(other).map(|(a, b)| a + b).collect();
                row.resize(width + units_before, 0.0);
                row[width + unit] = -1.0;
                (row, c + d)
            });
            let second = second.collect::<Vec<_>>();
            let dense_value = push(network, dense(&second), vec![both]);
            let node = network.nodes.len();
            parts.push(push(network, Op::Act(Activation::Relu), vec![dense_value]));
            for (unit, (low, high)) in slabs.iter().enumerate() {
                let moving = [*low, *high].iter().any(|k| !gated && !self.faces[*k].x.is_empty());
                // Between fixed ends the chord over the relu is enough.
                reasons[*low].split = moving.then_some((node, unit));
                reasons[*high].lines.push((node, unit, false));
            }
        }
        let result = self.last(outputs, width, units_before, &steps, &slabs, &slack);
        let all = push(network, Op::Concat, parts);
        (push(network, dense(&result), vec![all]), reasons)
    }

    /// The nearest points of the pairs, before the step that keeps them inside; `value` itself if there are none.
    fn pairs(
        &self,
        network: &mut Network,
        value: usize,
        x: Option<usize>,
        width: usize,
        violation: &dyn Fn(usize) -> Line,
    ) -> usize {
        let pairs: Vec<(usize, usize, f64)> =
            self.groups.iter().filter_map(|g| if let Group::Two(i, j, g) = g { Some((*i, *j, *g)) } else { None }).collect();
        if pairs.is_empty() {
            return value;
        }
        let base = beside(network, value, x);
        let (mut helpers, mut multipliers): (Vec<Line>, Vec<Line>) = (Vec::new(), Vec::new());
        let mut normals: Vec<&[f64]> = Vec::new();
        for (i, j, g) in &pairs {
            for (k, other) in [(*i, *j), (*j, *i)] {
                let (mut row, constant) = violation(k);
                row.resize(width + 2 * pairs.len(), 0.0);
                row[width + helpers.len()] = -g / (1.0 - g * g);
                let ((helper, c), own) = (violation(other), violation(k));
                helpers.push((helper.iter().zip(&own.0).map(|(h, o)| h - g * o).collect(), c - g * own.1));
                multipliers.push((row, constant));
                normals.push(&self.faces[k].a);
            }
        }
        let helper = push(network, dense(&helpers), vec![base]);
        let helper = push(network, Op::Act(Activation::Relu), vec![helper]);
        let both = push(network, Op::Concat, vec![base, helper]);
        let multiplier = push(network, dense(&multipliers), vec![both]);
        let multiplier = push(network, Op::Act(Activation::Relu), vec![multiplier]);
        let outputs = normals[0].len();
        let moved = (0..outputs).map(|j| {
            let own = (0..outputs).map(|i| f64::from(u8::from(i == j)));
            (own.chain(normals.iter().map(|a| a[j])).collect(), 0.0)
        });
        let moved: Vec<Line> = moved.collect();
        let both = push(network, Op::Concat, vec![value, multiplier]);
        push(network, dense(&moved), vec![both])
    }

    /// The outputs from `(y, x, units, slab units)`.
    fn last(
        &self,
        outputs: usize,
        width: usize,
        units: usize,
        steps: &[(usize, Vec<f64>)],
        slabs: &[(usize, usize)],
        slack: &dyn Fn(usize) -> Line,
    ) -> Vec<Line> {
        let output = |j: usize| {
            let (mut row, mut constant) = (vec![0.0; width + units + slabs.len()], 0.0);
            row[j] = 1.0;
            for (unit, direction) in steps {
                row[width + unit] = direction[j];
            }
            for (s, (low, high)) in slabs.iter().enumerate() {
                // y + (hi - w - a.y) a, and `hi - a.y` is what is left of the second face.
                let (a, (rest, c)) = (self.faces[*low].a[j], slack(*high));
                row.iter_mut().zip(rest).for_each(|(r, h)| *r += a * h);
                row[width + units + s] = -a;
                constant += a * c;
            }
            (row, constant)
        };
        (0..outputs).map(output).collect()
    }

    /// The input columns that the faces read.
    fn columns(&self, schema: &Schema) -> Vec<usize> {
        let mentioned = |feature: usize| self.faces.iter().any(|f| f.x.iter().any(|(var, _)| var.feature() == Some(feature)));
        let columns = schema.columns();
        (0..columns.len()).filter(|c| mentioned(columns[*c].feature)).collect()
    }
}

impl Face {
    /// The x-terms over all columns of the input, and what is constant.
    pub(crate) fn over_columns(&self, schema: &Schema) -> (Vec<f64>, f64) {
        let columns: Vec<usize> = (0..schema.columns().len()).collect();
        let (mut row, mut constant) = (vec![0.0; columns.len()], self.constant);
        self.x.iter().for_each(|(var, c)| spread(schema, *var, *c, &columns, &mut row, &mut constant));
        (row, constant)
    }
}

/// `a.y + c(x) - margin` over the outputs and the selected columns; with `gated` the x-terms are those of 1.
fn slack(face: &Face, schema: &Schema, columns: &[usize], gated: bool, margin: f64) -> Line {
    let mut row = face.a.clone();
    row.resize(face.a.len() + columns.len(), 0.0);
    let mut constant = face.constant - margin;
    for (var, c) in &face.x {
        if gated { constant += c } else { spread(schema, *var, *c, columns, &mut row[face.a.len()..], &mut constant) }
    }
    (row, constant)
}

/// Adds `c var` to a row over the selected columns. A level without a column is 1 minus the others.
fn spread(schema: &Schema, var: Var, c: f64, columns: &[usize], row: &mut [f64], constant: &mut f64) {
    let all = schema.columns();
    let kind = if let Var::Level(_, l) = var { ColumnKind::Level(l) } else { ColumnKind::Number };
    let own = |column: &usize| Some(all[*column].feature) == var.feature();
    if let Some(at) = columns.iter().position(|column| own(column) && all[*column].kind == kind) {
        row[at] += c;
    } else {
        *constant += c;
        columns.iter().zip(row).filter(|(column, _)| own(column)).for_each(|(_, r)| *r -= c);
    }
}

fn scaled((row, constant): &Line, factor: f64) -> Line {
    (row.iter().map(|v| v * factor).collect(), constant * factor)
}

fn push(network: &mut Network, op: Op, from: Vec<usize>) -> usize {
    network.nodes.push(Node { op, from });
    network.nodes.len()
}

fn beside(network: &mut Network, value: usize, x: Option<usize>) -> usize {
    x.map_or(value, |x| push(network, Op::Concat, vec![value, x]))
}

fn dense(rows: &[Line]) -> Op {
    let cols = rows.first().map_or(0, |(row, _)| row.len());
    let b = rows.iter().map(|(_, b)| *b as f32).collect();
    let w = Matrix { rows: rows.len(), cols, data: rows.iter().flat_map(|(row, _)| row.iter().map(|v| *v as f32)).collect() };
    Op::Dense { w, b }
}

#[cfg(test)]
mod tests {
    use deepsade_net::{Matrix, Network, Node, Op};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::{Head, HeadError};
    use crate::nearest::allowed::{Allowed, tests::spec};

    /// The head on raw outputs that are given as inputs 2 and 3 of the row.
    #[test]
    fn the_relus_compute_the_nearest_point() {
        let rng = &mut ChaCha8Rng::seed_from_u64(2);
        for rules in [
            &["u <= 0.1 * r"][..],
            &["u + v <= r", "u <= 0.1 * r"],
            &["0 <= u and u <= v"],
            &["-2 <= u and u <= 3", "v >= 1"],
            &["u + v <= r", "u - 2 * v >= -3"],
            &["u - v <= r", "u - v >= 3 - r"],
            &["u + 3 * v >= 2 * r + 5", "v <= u"],
        ] {
            let spec = spec(rules);
            let allowed = Allowed::new(&spec);
            let head = Head::new(&allowed).unwrap();
            let mut network = Network { inputs: 4, nodes: vec![] };
            network.nodes.push(Node { op: Op::Select(vec![2, 3]), from: vec![0] });
            head.append(&mut network, 1, &spec.schema, false, 0.0);
            network.validate().unwrap();
            for _ in 0..500 {
                let coordinate = |rng: &mut ChaCha8Rng| rng.random::<f32>() * 40.0 - 20.0;
                let row = [2.0 + rng.random::<f32>() * 20.0, 0.0, coordinate(rng), coordinate(rng)];
                let y = network.forward(&Matrix { rows: 1, cols: 4, data: row.to_vec() });
                let p = [f64::from(row[2]), f64::from(row[3])];
                let expected = allowed.nearest(&allowed.at(&row[..2]).unwrap(), &p, 0.0).unwrap().y;
                let near = y.data.iter().zip(&expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4);
                assert!(near, "{rules:?} {row:?} {y:?} {expected:?}");
            }
        }
    }

    #[test]
    fn without_a_closed_form_it_says_why() {
        let refused = |rules: &[&str]| Head::new(&Allowed::new(&spec(rules))).unwrap_err();
        assert_eq!(refused(&["u <= 1 or v <= 1"]), HeadError::SeveralPieces);
        assert_eq!(refused(&["c == 'p' => u <= 1"]), HeadError::SeveralPieces);
        assert_eq!(refused(&["u >= 0", "v >= 0", "u + v <= r"]), HeadError::ManyFaces);
        assert_eq!(refused(&["u <= r", "u <= 50"]), HeadError::Parallel);
    }
}
