//! Half-spaces enter; dense layers and relus that compute the nearest point in them leave, where there is a closed form.
//!
//! With violations `v_k = margin - (a_k.y + c_k(x))` the nearest point is `y + sum l_k a_k`. Faces that are orthogonal to all
//! others have `l = relu(v)`. Two faces with `g = a_1.a_2` have, whichever of them hold the point,
//! `l_1 = relu(v_1 - g/(1 - g^2) h_1)` with `h_1 = relu(v_2 - g v_1)`, and the same with 1 and 2 exchanged: h_1 is zero iff face 2
//! does not push once face 1 is met. Faces opposite to each other never push at once, so each stands alone.

use deepsade_net::{Activation, Matrix, Network, Node, Op};
use deepsade_spec::{ColumnKind, Schema, Var};
use thiserror::Error;

use super::allowed::{Allowed, Face};

/// Normals closer to parallel than this are parallel.
const PARALLEL: f64 = 1e-9;

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
}

/// The closed form of the nearest outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    /// Faces that stand alone, or pairs with the cosine between them.
    groups: Vec<Group>,
    faces: Vec<Face>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Group {
    One(usize),
    Two(usize, usize, f64),
}

/// Where the relus of a face's group stand: nodes of the two activations, and the units in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// The value of the first layer's activation, if there is one.
    pub first: Option<usize>,
    /// The value of the second layer's activation.
    pub second: usize,
}

impl Head {
    /// Looks for a closed form.
    pub fn new(allowed: &Allowed) -> Result<Self, HeadError> {
        if !allowed.is_one_piece() {
            return Err(HeadError::SeveralPieces);
        }
        let faces = allowed.faces().to_vec();
        let cosine = |i: usize, j: usize| faces[i].a.iter().zip(&faces[j].a).map(|(a, b)| a * b).sum::<f64>();
        let mut groups: Vec<Group> = Vec::new();
        for k in 0..faces.len() {
            let meets = |j: &usize| *j != k && cosine(*j, k).abs() > PARALLEL && cosine(*j, k) > PARALLEL - 1.0;
            let others: Vec<usize> = (0..faces.len()).filter(meets).collect();
            match others[..] {
                [] => groups.push(Group::One(k)),
                [j] if (0..faces.len()).filter(|i| *i != j && *i != k).any(|i| cosine(i, j).abs() > PARALLEL) => {
                    return Err(HeadError::ManyFaces);
                }
                [j] if cosine(j, k) > 1.0 - PARALLEL => return Err(HeadError::Parallel),
                [j] if j > k => groups.push(Group::Two(k, j, cosine(j, k))),
                [_] => {}
                _ => return Err(HeadError::ManyFaces),
            }
        }
        Ok(Self { groups, faces })
    }

    /// Whether every face is `a.y + c r >= 0` for this feature r: then the head can stand before a gate by r.
    pub fn scales_with(&self, feature: usize) -> bool {
        self.faces.iter().all(|f| f.constant == 0.0 && f.x.iter().all(|(var, _)| *var == Var::Feature(feature)))
    }

    /// Adds the head after `value`, which holds the outputs (before a gate: divided by its feature), and returns the value of
    /// the nearest ones. Every face is kept at a distance of its margin.
    pub fn append(
        &self,
        network: &mut Network,
        value: usize,
        schema: &Schema,
        gate: Option<usize>,
        margins: &[f64],
    ) -> (usize, Units) {
        let push = |network: &mut Network, op: Op, from: Vec<usize>| {
            network.nodes.push(Node { op, from });
            network.nodes.len()
        };
        let outputs = self.faces.first().map_or(0, |f| f.a.len());
        let columns = self.columns(schema, gate);
        let base = if columns.is_empty() {
            value
        } else {
            let selected = push(network, Op::Select(columns.clone()), vec![0]);
            push(network, Op::Concat, vec![value, selected])
        };
        let width = outputs + columns.len();
        // v_k as a row over (y, x) with a constant.
        let violation = |k: usize| {
            let face = &self.faces[k];
            let mut row: Vec<f64> = face.a.iter().map(|a| -a).collect();
            row.resize(width, 0.0);
            let mut constant = margins[k] - face.constant;
            for (var, c) in &face.x {
                if gate.is_some() {
                    constant -= c
                } else {
                    spread(schema, *var, -c, &columns, &mut row[outputs..], &mut constant)
                }
            }
            (row, constant)
        };
        let pairs: Vec<(usize, usize, f64)> =
            self.groups.iter().filter_map(|g| if let Group::Two(i, j, g) = g { Some((*i, *j, *g)) } else { None }).collect();
        // First layer: h of each face of a pair.
        let mut first = Vec::new();
        for (i, j, g) in &pairs {
            for (this, other) in [(*i, *j), (*j, *i)] {
                let ((mut row, constant), (own, own_constant)) = (violation(other), violation(this));
                row.iter_mut().zip(own).for_each(|(r, o)| *r -= g * o);
                first.push((row, constant - g * own_constant));
            }
        }
        let helped = first.len();
        let (input, first) = if first.is_empty() {
            (base, None)
        } else {
            let dense = push(network, dense(first), vec![base]);
            let relu = push(network, Op::Act(Activation::Relu), vec![dense]);
            (push(network, Op::Concat, vec![base, relu]), Some(relu))
        };
        // Second layer: the multipliers, one a face.
        let mut second: Vec<(Vec<f64>, f64)> = (0..self.faces.len()).map(violation).collect();
        second.iter_mut().for_each(|(row, _)| row.resize(width + helped, 0.0));
        for (p, (i, j, g)) in pairs.iter().enumerate() {
            for (side, k) in [*i, *j].into_iter().enumerate() {
                second[k].0[width + 2 * p + side] = -g / (1.0 - g * g);
            }
        }
        let dense_value = push(network, dense(second), vec![input]);
        let multipliers = push(network, Op::Act(Activation::Relu), vec![dense_value]);
        let both = push(network, Op::Concat, vec![value, multipliers]);
        let moved = (0..outputs).map(|j| {
            let mut row = vec![0.0; outputs + self.faces.len()];
            row[j] = 1.0;
            self.faces.iter().enumerate().for_each(|(k, face)| row[outputs + k] = face.a[j]);
            (row, 0.0)
        });
        let result = push(network, dense(moved.collect()), vec![both]);
        (result, Units { first, second: multipliers })
    }

    /// The input columns that the faces read.
    fn columns(&self, schema: &Schema, gate: Option<usize>) -> Vec<usize> {
        let mentioned = |feature: usize| self.faces.iter().any(|f| f.x.iter().any(|(var, _)| var.feature() == Some(feature)));
        let columns = schema.columns();
        (0..columns.len()).filter(|c| gate.is_none() && mentioned(columns[*c].feature)).collect()
    }

    /// The groups.
    pub(super) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The faces, in the order of the margins.
    pub fn faces(&self) -> &[Face] {
        &self.faces
    }
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

fn dense(rows: Vec<(Vec<f64>, f64)>) -> Op {
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
            &["u + 3 * v >= 2 * r + 5", "if(c == 'p', 1, 4) <= u"],
        ] {
            let spec = spec(rules);
            let allowed = Allowed::new(&spec);
            let Ok(head) = Head::new(&allowed) else {
                assert!(rules[0].contains("2 * r + 5"), "{rules:?}");
                continue;
            };
            let mut network = Network { inputs: 4, nodes: vec![] };
            network.nodes.push(Node { op: Op::Select(vec![2, 3]), from: vec![0] });
            head.append(&mut network, 1, &spec.schema, None, &vec![0.0; head.faces().len()]);
            for _ in 0..500 {
                let row =
                    [1.0 + rng.random::<f32>() * 20.0, 0.0, rng.random::<f32>() * 40.0 - 20.0, rng.random::<f32>() * 40.0 - 20.0];
                let y = network.forward(&Matrix { rows: 1, cols: 4, data: row.to_vec() });
                let p = [f64::from(row[2]), f64::from(row[3])];
                let expected = allowed.nearest(&allowed.at(&row[..2]).unwrap(), &p, 0.0).unwrap().y;
                assert!(
                    y.data.iter().zip(&expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-4),
                    "{rules:?} {row:?} {y:?} {expected:?}"
                );
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
