//! Networks of one shape enter; one network leaves whose outputs are the mean of theirs.
//!
//! Layers stand side by side: what all read alike (the scaled inputs, the columns that skip) is computed once, hidden units of each keep their own
//! weights, with zeros between, and the last layer adds a share of each. So the mean is a plain network, to be bounded and proved as any.

use deepsade_net::{Matrix, Network, Node, Op};

/// Where the columns of a value of each network stand in the value of the mean.
struct Spread {
    /// The value of the mean.
    value: usize,
    /// How wide it is.
    width: usize,
    /// For each network the place of each of its columns.
    places: Vec<Vec<usize>>,
}

impl Spread {
    /// A value that all networks compute alike.
    fn shared(value: usize, width: usize, networks: usize) -> Self {
        Self { value, width, places: vec![(0..width).collect(); networks] }
    }

    fn is_shared(&self) -> bool {
        self.places.iter().all(|places| places.len() == self.width && places.iter().enumerate().all(|(k, place)| k == *place))
    }
}

/// The mean of networks; `None` where they are not alike but for their weights, or hold what has no mean.
///
/// ```
/// use deepsade_engine::mean::mean_of;
/// use deepsade_net::{Matrix, Network, Node, Op};
///
/// let line = |slope: f32| {
///     let w = Matrix { rows: 1, cols: 1, data: vec![slope] };
///     Network { inputs: 1, nodes: vec![Node { op: Op::Dense { w, b: vec![1.0] }, from: vec![0] }] }
/// };
/// let mean = mean_of(&[&line(1.0), &line(4.0)]).unwrap();
/// assert_eq!(mean.forward(&Matrix { rows: 1, cols: 1, data: vec![2.0] }).data, [6.0]);
/// ```
pub fn mean_of(networks: &[&Network]) -> Option<Network> {
    let first = *networks.first()?;
    let alike =
        |n: &&Network| n.inputs == first.inputs && n.nodes.iter().map(|n| &n.from).eq(first.nodes.iter().map(|n| &n.from));
    if !networks.iter().all(alike) {
        return None;
    }
    let last = first.last_dense()?;
    let gates = same_gate(networks)?;
    let mut mean = Network { inputs: first.inputs, nodes: Vec::new() };
    let mut values = vec![Spread::shared(0, first.inputs, networks.len())];
    for (k, node) in first.nodes.iter().enumerate() {
        let ops: Vec<&Op> = networks.iter().map(|n| &n.nodes[k].op).collect();
        let from: Vec<&Spread> = node.from.iter().map(|v| &values[*v]).collect();
        let alone = (k == last).then_some(gates.as_slice());
        let spread = side_by_side(&mut mean, &ops, &from, alone)?;
        values.push(spread);
    }
    mean.validate().is_ok().then_some(mean)
}

/// How much larger the gate of each network is than the first one's, which is the gate of the mean: 1 without gates.
fn same_gate(networks: &[&Network]) -> Option<Vec<f64>> {
    let scale = |n: &&Network| match n.nodes.last() {
        Some(Node { op: Op::Gate, from }) => match n.nodes.get(from.get(1)?.checked_sub(1)?).map(|node| &node.op) {
            Some(Op::Affine { scale, shift }) if shift[..] == [0.0] => Some(f64::from(scale[0])),
            Some(Op::Select(_)) => Some(1.0),
            _ => None,
        },
        _ => Some(1.0),
    };
    let scales = networks.iter().map(scale).collect::<Option<Vec<f64>>>()?;
    Some(scales.iter().map(|s| s / scales[0]).collect())
}

/// Adds what one node of each network computes. `alone`: it is the last layer, of which each adds a share, times this.
fn side_by_side(mean: &mut Network, ops: &[&Op], from: &[&Spread], alone: Option<&[f64]>) -> Option<Spread> {
    let n = ops.len();
    let mut push = |op: Op, from: Vec<usize>| {
        mean.nodes.push(Node { op, from });
        mean.nodes.len()
    };
    let read: Vec<usize> = from.iter().map(|spread| spread.value).collect();
    let source = *from.first()?;
    match ops[0] {
        Op::Dense { w, .. } if alone.is_some() => {
            let (outputs, gates) = (w.rows, alone?);
            let (mut sum, mut bias) = (vec![0.0; outputs * source.width], vec![0.0; outputs]);
            for ((op, places), gate) in ops.iter().zip(&source.places).zip(gates) {
                let Op::Dense { w, b } = op else { return None };
                for j in 0..outputs {
                    bias[j] += gate * f64::from(*b.get(j)?);
                    w.row(j).iter().zip(places).for_each(|(v, place)| sum[j * source.width + place] += gate * f64::from(*v));
                }
            }
            let share = |v: f64| (v / n as f64) as f32;
            let w = Matrix { rows: outputs, cols: source.width, data: sum.into_iter().map(share).collect() };
            let value = push(Op::Dense { w, b: bias.into_iter().map(share).collect() }, read);
            Some(Spread::shared(value, outputs, n))
        }
        // The gate: that of the first network.
        op @ Op::Gate if from.len() == 2 && from.iter().all(|spread| spread.is_shared()) => {
            Some(Spread::shared(push(op.clone(), read), source.width, n))
        }
        // Hidden units times what all read alike.
        Op::Gate if from.len() == 2 && from[1].is_shared() => {
            Some(Spread { value: push(Op::Gate, read), width: source.width, places: source.places.clone() })
        }
        op @ Op::Affine { scale, .. } if scale.len() == 1 && source.is_shared() => {
            Some(Spread::shared(push(op.clone(), read), 1, n))
        }
        op if ops.iter().all(|other| *other == op) && from.iter().all(|spread| spread.is_shared()) => {
            let width = match op {
                Op::Dense { w, .. } => w.rows,
                Op::Select(columns) => columns.len(),
                Op::Concat => from.iter().map(|spread| spread.width).sum(),
                Op::Act(_) | Op::Affine { .. } => source.width,
                _ => return None,
            };
            Some(Spread::shared(push(op.clone(), read), width, n))
        }
        Op::Dense { .. } => stacked(ops, source).map(|(op, places)| {
            let width = places.iter().map(Vec::len).sum();
            Spread { value: push(op, read), width, places }
        }),
        Op::Act(_) if ops.iter().all(|op| *op == ops[0]) => {
            Some(Spread { value: push(ops[0].clone(), read), width: source.width, places: source.places.clone() })
        }
        Op::Affine { .. } => {
            // Columns that all read alike and scale otherwise are read once for each.
            let apart: Vec<usize> = source.places.concat();
            let (mut scale, mut shift) = (Vec::new(), Vec::new());
            for op in ops {
                let Op::Affine { scale: s, shift: t } = op else { return None };
                scale.extend(s);
                shift.extend(t);
            }
            let (width, mut from) = (apart.len(), 0);
            let next = |own: &Vec<usize>| {
                from += own.len();
                (from - own.len()..from).collect()
            };
            let places: Vec<Vec<usize>> = source.places.iter().map(next).collect();
            let straight = apart.len() == source.width && apart.iter().enumerate().all(|(k, place)| k == *place);
            let read = if straight { read } else { vec![push(Op::Select(apart), read)] };
            Some(Spread { value: push(Op::Affine { scale, shift }, read), width, places })
        }
        Op::Concat => {
            let mut places = vec![Vec::new(); n];
            let mut before = 0;
            for spread in from {
                places.iter_mut().zip(&spread.places).for_each(|(all, own)| all.extend(own.iter().map(|place| before + place)));
                before += spread.width;
            }
            Some(Spread { value: push(Op::Concat, read), width: before, places })
        }
        _ => None,
    }
}

/// The rows of all layers, one below the other, over what all of them read.
fn stacked(ops: &[&Op], source: &Spread) -> Option<(Op, Vec<Vec<usize>>)> {
    let (mut data, mut bias, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (op, from) in ops.iter().zip(&source.places) {
        let Op::Dense { w, b } = op else { return None };
        places.push((bias.len()..bias.len() + w.rows).collect());
        for j in 0..w.rows {
            let mut row = vec![0.0; source.width];
            w.row(j).iter().zip(from).for_each(|(v, place)| row[*place] = *v);
            data.extend(row);
        }
        bias.extend(b);
    }
    Some((Op::Dense { w: Matrix { rows: bias.len(), cols: source.width, data }, b: bias }, places))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{Gate, NetworkSettings, ScalingName, fold_gate, initial_network};

    fn networks(settings: &NetworkSettings, skip: &[usize], gates: [Option<Gate>; 3]) -> Vec<Network> {
        let ranges = [(0.0, 2.0), (-1.0, 3.0), (0.5, 8.0)];
        let made = gates.into_iter().enumerate();
        made.map(|(seed, gate)| initial_network(&ranges, skip, gate, 2, settings, seed as u64)).collect()
    }

    /// By definition: the mean of the outputs, up to rounding.
    fn assert_mean(all: &[Network]) {
        let mean = mean_of(&all.iter().collect::<Vec<_>>()).expect("they are alike");
        let x = Matrix { rows: 4, cols: 3, data: (0..12).map(|k| 0.6 + (k * k % 17) as f32 / 8.0).collect() };
        let (own, each) = (mean.forward(&x), all.iter().map(|n| n.forward(&x)).collect::<Vec<_>>());
        for k in 0..own.data.len() {
            let expected = each.iter().map(|y| f64::from(y.data[k])).sum::<f64>() / all.len() as f64;
            assert!((f64::from(own.data[k]) - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{k}: {} {expected}", own.data[k]);
        }
    }

    #[test]
    fn it_is_the_mean_with_skips_clips_and_gates_of_other_scales() {
        let hidden = |layers: &[usize], clip| NetworkSettings { hidden: layers.to_vec(), clip, ..NetworkSettings::default() };
        assert_mean(&networks(&hidden(&[5, 4], None), &[], [None; 3]));
        assert_mean(&networks(&hidden(&[5], None), &[2, 0], [None; 3]));
        assert_mean(&networks(&hidden(&[5, 3], Some(1)), &[1], [None; 3]));
        assert_mean(&networks(&hidden(&[], None), &[], [None; 3]));
        let gates = [0.5, 1.0, 0.25].map(|scale| Some(Gate { column: 2, scale }));
        let gated = networks(&hidden(&[4], None), &[0], gates);
        assert_mean(&gated);
        assert_mean(&gated.into_iter().map(fold_gate).collect::<Vec<_>>());
    }

    /// Each scales its inputs by its own rows.
    #[test]
    fn members_may_scale_otherwise() {
        let settings = NetworkSettings { hidden: vec![3], scaling: ScalingName::Standard, ..NetworkSettings::default() };
        let mut all = networks(&settings, &[], [None; 3]);
        for (k, network) in all.iter_mut().enumerate() {
            let Op::Affine { scale, shift } = &mut network.nodes[0].op else { panic!("the first node scales") };
            scale.iter_mut().chain(shift).for_each(|v| *v *= 1.0 + k as f32 / 10.0);
        }
        assert_mean(&all);
    }

    #[test]
    fn networks_that_are_not_alike_have_no_mean() {
        let one = networks(&NetworkSettings { hidden: vec![3], ..NetworkSettings::default() }, &[], [None; 3]);
        let other = networks(&NetworkSettings { hidden: vec![3, 3], ..NetworkSettings::default() }, &[], [None; 3]);
        assert!(mean_of(&[&one[0], &other[0]]).is_none());
        assert!(mean_of(&[]).is_none());
    }
}
