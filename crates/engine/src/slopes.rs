//! A network and one of its input columns enter; bounds of the slope of a form of its outputs in that column leave, in float64.
//!
//! Forward through the network, an interval a value: a dense layer mixes the slopes of what it reads, an activation multiplies them by
//! its own slope, which lies between 0 and 1 (1/4 for a sigmoid) and is known where a relu's input has one sign. Not trusted.

use deepsade_net::{Activation, Network, Op};

/// A lower and an upper bound.
pub(crate) type Bounded = (f64, f64);

/// Where nothing is known.
pub(crate) const ANYWHERE: Bounded = (f64::NEG_INFINITY, f64::INFINITY);

/// Bounds of the slope of `sum c_j y_j`, given as pairs of j and c; `range` bounds a unit of a value (0 is the input, k + 1 what node k
/// computes).
pub(crate) fn slope(network: &Network, column: usize, form: &[(usize, f64)], range: &dyn Fn(usize, usize) -> Bounded) -> Bounded {
    let last = network.nodes.len();
    let mut slopes: Vec<Vec<Bounded>> = Vec::with_capacity(last + 1);
    slopes.push((0..network.inputs).map(|c| if c == column { (1.0, 1.0) } else { (0.0, 0.0) }).collect());
    for (k, node) in network.nodes.iter().enumerate() {
        let x = &slopes[node.from[0]];
        let value: Vec<Bounded> = match &node.op {
            Op::Dense { w, .. } if k + 1 == last => {
                // The rows are mixed before their slopes are bounded, which is tighter.
                let mixed = |i: usize| form.iter().map(|(j, c)| c * f64::from(w.row(*j)[i])).sum::<f64>();
                return dot((0..w.cols).map(mixed), x);
            }
            Op::Dense { w, .. } => (0..w.rows).map(|o| dot(w.row(o).iter().map(|w| f64::from(*w)), x)).collect(),
            Op::Affine { scale, .. } => scale.iter().zip(x).map(|(s, x)| product((f64::from(*s), f64::from(*s)), *x)).collect(),
            Op::Act(f) => {
                let unit = |(i, slope): (usize, &Bounded)| through(*f, *slope, range(node.from[0], i));
                x.iter().enumerate().map(unit).collect()
            }
            Op::Select(columns) => columns.iter().map(|c| x[*c]).collect(),
            Op::Concat => node.from.iter().flat_map(|v| slopes[*v].iter().copied()).collect(),
            Op::Gate => {
                let by = node.from[1];
                let unit = |(i, slope): (usize, &Bounded)| {
                    let (a, b) = (product(*slope, range(by, 0)), product(slopes[by][0], range(node.from[0], i)));
                    (a.0 + b.0, a.1 + b.1)
                };
                x.iter().enumerate().map(unit).collect()
            }
            Op::Conv(conv) => {
                let mut row = Vec::new();
                let unit = |o: usize| {
                    conv.row(o, &mut row);
                    let read: Vec<Bounded> = row.iter().map(|(i, _)| x[*i]).collect();
                    dot(row.iter().map(|(_, w)| f64::from(*w)), &read)
                };
                (0..conv.rows()).map(unit).collect()
            }
            Op::MaxPool(window) => {
                let mut columns = Vec::new();
                let unit = |o: usize| {
                    window.columns_of(o, &mut columns);
                    columns.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |hull, c| (hull.0.min(x[*c].0), hull.1.max(x[*c].1)))
                };
                (0..window.results()).map(unit).collect()
            }
            Op::Choose(_) => return ANYWHERE,
        };
        slopes.push(value);
    }
    dot(form.iter().map(|(_, c)| *c), &form.iter().map(|(j, _)| slopes[last][*j]).collect::<Vec<_>>())
}

/// The slope behind an activation, from that of its input and where this lies.
fn through(activation: Activation, (lo, hi): Bounded, range: Bounded) -> Bounded {
    let most = if activation == Activation::Sigmoid { 0.25 } else { 1.0 };
    match activation {
        Activation::Relu if range.0 >= 0.0 => (lo, hi),
        Activation::Relu if range.1 <= 0.0 => (0.0, 0.0),
        _ => ((lo * most).min(0.0), (hi * most).max(0.0)),
    }
}

/// What has no weight does not count, though nothing be known of it.
fn dot(w: impl Iterator<Item = f64>, x: &[Bounded]) -> Bounded {
    w.zip(x)
        .filter(|(w, _)| *w != 0.0)
        .fold((0.0, 0.0), |(lo, hi), (w, (a, b))| if w < 0.0 { (lo + w * b, hi + w * a) } else { (lo + w * a, hi + w * b) })
}

/// A factor that is 0 makes it 0, whatever the other may be.
fn product(a: Bounded, b: Bounded) -> Bounded {
    if a == (0.0, 0.0) || b == (0.0, 0.0) {
        return (0.0, 0.0);
    }
    let corners = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
    if corners.iter().any(|c| c.is_nan()) {
        return ANYWHERE;
    }
    corners.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), c| (lo.min(*c), hi.max(*c)))
}

#[cfg(test)]
mod tests {
    use deepsade_net::{Matrix, Node};

    use super::*;

    fn dense(rows: &[&[f32]], from: usize) -> Node {
        let data = rows.concat();
        let w = Matrix { rows: rows.len(), cols: rows[0].len(), data };
        Node { op: Op::Dense { b: vec![0.0; w.rows], w }, from: vec![from] }
    }

    fn act(activation: Activation, from: usize) -> Node {
        Node { op: Op::Act(activation), from: vec![from] }
    }

    /// y0 = relu(2 a - b) - relu(-a), y1 = relu(-a).
    fn network() -> Network {
        let nodes =
            vec![dense(&[&[2.0, -1.0], &[-1.0, 0.0]], 0), act(Activation::Relu, 1), dense(&[&[1.0, -1.0], &[0.0, 1.0]], 2)];
        Network { inputs: 2, nodes }
    }

    #[test]
    fn a_relu_of_open_sign_has_slopes_from_0_to_1() {
        let any = |_: usize, _: usize| ANYWHERE;
        // 2 [0, 1] + [0, 1]
        assert_eq!(slope(&network(), 0, &[(0, 1.0)], &any), (0.0, 3.0));
        assert_eq!(slope(&network(), 1, &[(0, 1.0)], &any), (-1.0, 0.0));
        // What both outputs have in common cancels.
        assert_eq!(slope(&network(), 0, &[(0, 1.0), (1, 1.0)], &any), (0.0, 2.0));
    }

    #[test]
    fn known_signs_fix_slopes() {
        let known = |value: usize, unit: usize| if value == 1 { [(0.0, 1.0), (-1.0, 0.0)][unit] } else { ANYWHERE };
        assert_eq!(slope(&network(), 0, &[(0, 1.0)], &known), (2.0, 2.0));
        assert_eq!(slope(&network(), 0, &[(1, 1.0)], &known), (0.0, 0.0));
    }

    /// (a, b) gated by a: the slopes in a are 2 a and b.
    #[test]
    fn a_gate_follows_the_product_rule() {
        let select = Node { op: Op::Select(vec![0]), from: vec![0] };
        let gated = Network { inputs: 2, nodes: vec![select, Node { op: Op::Gate, from: vec![0, 1] }] };
        let range = |value: usize, unit: usize| if value == 0 { [(1.0, 3.0), (-2.0, 5.0)][unit] } else { (1.0, 3.0) };
        assert_eq!(slope(&gated, 0, &[(0, 1.0)], &range), (2.0, 6.0));
        assert_eq!(slope(&gated, 0, &[(1, -1.0)], &range), (-5.0, 2.0));
        assert_eq!(slope(&gated, 0, &[(1, 1.0)], &|_, _| ANYWHERE), ANYWHERE);
    }
}
