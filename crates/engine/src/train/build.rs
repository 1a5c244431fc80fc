//! Column ranges and `[network]` enter; a network with random weights leaves.

use deepsade_net::{Activation, Matrix, Network, Node, Op};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::NetworkSettings;
use super::scaling::Scales;

/// A network for columns with these ranges: scaling to [0, 1], the hidden layers, and a dense last layer that also reads the
/// scaled columns `skip`.
///
/// Weights are uniform with the variance of He et al. (2015): 2 / inputs before a relu, 1 / inputs elsewhere; biases are 0. A
/// range without width is shifted only. Without hidden layers the last layer reads every column already, and `skip` adds none.
///
/// # Panics
/// If `skip` names a column that `ranges` does not have.
pub fn initial_network(
    ranges: &[(f32, f32)],
    skip: &[usize],
    gate: Option<Gate>,
    outputs: usize,
    settings: &NetworkSettings,
    seed: u64,
) -> Network {
    scaled_network(&Scales::of_ranges(ranges), skip, Around { gate, outside: &[] }, outputs, settings, seed)
}

/// The same, where what the hidden layers read may be scaled otherwise. The last layer reads the columns `skip` scaled by their ranges
/// all the same: rules are about them as they are, to the ends of the domain.
pub fn scaled_network(
    scales: &Scales,
    skip: &[usize],
    Around { gate, outside }: Around,
    outputs: usize,
    settings: &NetworkSettings,
    seed: u64,
) -> Network {
    assert!(skip.iter().all(|&column| column < scales.width()), "skip columns are input columns");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let activation = Activation::from(settings.activation);
    let mut network = Network { inputs: scales.width(), nodes: Vec::new() };
    let linear = settings.hidden.is_empty();
    let scaled = scales.push(&mut network, linear);

    let (mut value, mut width) = (scaled, scales.width());
    for &units in &settings.hidden {
        let gain = if activation == Activation::Relu { 2.0 } else { 1.0 };
        value = push(&mut network, dense(&mut rng, units, width, gain), vec![value]);
        value = push(&mut network, Op::Act(activation), vec![value]);
        width = units;
    }
    if let Some(clip) = settings.clip.filter(|clip| *clip > 0 && !settings.hidden.is_empty()) {
        // min(z, clip) = clip - relu(clip - z).
        let from_the_end = || Op::Affine { scale: vec![-1.0; width], shift: vec![clip as f32; width] };
        value = push(&mut network, from_the_end(), vec![value]);
        value = push(&mut network, Op::Act(Activation::Relu), vec![value]);
        value = push(&mut network, from_the_end(), vec![value]);
    }
    let mut read = vec![value];
    let conditions: Vec<usize> = outside.iter().filter(|_| !linear).map(|condition| condition.push(&mut network)).collect();
    for among in together(conditions.len()) {
        let copy = among.iter().fold(value, |of, k| push(&mut network, Op::Gate, vec![of, conditions[*k]]));
        read.push(copy);
    }
    width *= read.len();
    if !skip.is_empty() && !linear {
        let by_range = scales.by_range().map_or(scaled, |op| push(&mut network, op, vec![0]));
        read.push(push(&mut network, Op::Select(skip.to_vec()), vec![by_range]));
        width += skip.len();
    }
    if read.len() > 1 {
        value = push(&mut network, Op::Concat, read);
    }
    let last = push(&mut network, dense(&mut rng, outputs, width, 1.0), vec![value]);
    if let Some(Gate { column, scale }) = gate {
        let feature = push(&mut network, Op::Select(vec![column]), vec![0]);
        let scaled = push(&mut network, Op::Affine { scale: vec![scale], shift: vec![0.0] }, vec![feature]);
        push(&mut network, Op::Gate, vec![last, scaled]);
    }
    network
}

/// What stands around a network's last layer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Around<'a> {
    /// Behind it.
    pub gate: Option<Gate>,
    /// Before it.
    pub outside: &'a [Outside],
}

/// How far an input is outside of a condition on one column: `min(1, relu(scale x + shift))`, 0 where the condition holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outside {
    /// The column.
    pub column: usize,
    /// Its factor.
    pub scale: f32,
    /// What is added.
    pub shift: f32,
}

/// Of so many conditions those that a copy is outside of together: each alone, and all.
fn together(count: usize) -> Vec<Vec<usize>> {
    let mut found: Vec<Vec<usize>> = (0..count).map(|k| vec![k]).collect();
    if count > 1 {
        found.push((0..count).collect());
    }
    found
}

impl Outside {
    fn push(&self, network: &mut Network) -> usize {
        let from_one = || Op::Affine { scale: vec![-1.0], shift: vec![1.0] };
        let mut value = push(network, Op::Select(vec![self.column]), vec![0]);
        let steps = [
            Op::Affine { scale: vec![self.scale], shift: vec![self.shift] },
            Op::Act(Activation::Relu),
            from_one(),
            Op::Act(Activation::Relu),
            from_one(),
        ];
        for op in steps {
            value = push(network, op, vec![value]);
        }
        value
    }
}

/// A gate after the last layer: the outputs are multiplied by a raw input column, scaled to about 1 while training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    /// The input column, never negative.
    pub column: usize,
    /// A power of two, so that [`fold_gate`] is exact.
    pub scale: f32,
}

/// Moves the scale of a gate into the last dense layer: the gate then reads the raw column.
pub fn fold_gate(mut network: Network) -> Network {
    let Some(Node { op: Op::Gate, from }) = network.nodes.last().cloned() else { return network };
    let at = from[1] - 1;
    let Node { op: Op::Affine { scale, .. }, from: before } = network.nodes[at].clone() else { return network };
    if let Op::Dense { w, b } = &mut network.nodes[from[0] - 1].op {
        w.data.iter_mut().chain(b).for_each(|v| *v *= scale[0]);
    }
    network.nodes.remove(at);
    for v in network.nodes.iter_mut().flat_map(|node| &mut node.from) {
        if *v == at + 1 {
            *v = before[0];
        } else if *v > at + 1 {
            *v -= 1;
        }
    }
    network
}

/// Adds a node and returns the index of its value.
pub(super) fn push(network: &mut Network, op: Op, from: Vec<usize>) -> usize {
    network.nodes.push(Node { op, from });
    network.nodes.len()
}

fn dense(rng: &mut ChaCha8Rng, outputs: usize, inputs: usize, gain: f32) -> Op {
    // A uniform value in [-b, b] has variance b^2 / 3.
    let bound = (3.0 * gain / inputs.max(1) as f32).sqrt();
    let data = (0..outputs * inputs).map(|_| (rng.random::<f32>() * 2.0 - 1.0) * bound).collect();
    Op::Dense { w: Matrix { rows: outputs, cols: inputs, data }, b: vec![0.0; outputs] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_stand_in_the_promised_order() {
        let settings = NetworkSettings { hidden: vec![4, 3], ..NetworkSettings::default() };
        let network = initial_network(&[(0.0, 10.0), (5.0, 5.0), (-1.0, 1.0)], &[2, 0], None, 2, &settings, 1);
        let names: Vec<_> = network
            .nodes
            .iter()
            .map(|node| match &node.op {
                Op::Affine { .. } => "affine".to_string(),
                Op::Dense { w, .. } => format!("dense {}x{}", w.rows, w.cols),
                Op::Act(_) => "act".into(),
                Op::Select(columns) => format!("select {columns:?}"),
                Op::Concat => format!("concat {:?}", node.from),
                Op::Gate => "gate".into(),
                Op::Choose(_) | Op::Conv(_) | Op::MaxPool(_) => node.op.name().into(),
            })
            .collect();
        assert_eq!(names, ["affine", "dense 4x3", "act", "dense 3x4", "act", "select [2, 0]", "concat [5, 6]", "dense 2x5"]);
        let Op::Affine { scale, shift } = &network.nodes[0].op else { panic!("the first node scales") };
        assert_eq!((scale.as_slice(), shift.as_slice()), (&[0.1, 1.0, 0.5][..], &[0.0, -5.0, 0.5][..]));
    }

    #[test]
    fn a_seed_decides_the_weights_and_their_spread_is_he() {
        let settings = NetworkSettings { hidden: vec![200], ..NetworkSettings::default() };
        let ranges = vec![(0.0, 1.0); 100];
        let network = initial_network(&ranges, &[], None, 1, &settings, 7);
        assert_eq!(network, initial_network(&ranges, &[], None, 1, &settings, 7));
        assert_ne!(network, initial_network(&ranges, &[], None, 1, &settings, 8));
        let Op::Dense { w, .. } = &network.nodes[1].op else { panic!("the second node is dense") };
        let variance = w.data.iter().map(|x| x * x).sum::<f32>() / w.data.len() as f32;
        assert!((variance - 2.0 / 100.0).abs() < 0.001, "{variance}");
    }

    /// The same weights with and without: the last hidden unit, once at most 2.
    #[test]
    fn a_clip_ends_the_last_hidden_layer() {
        let settings = NetworkSettings { hidden: vec![3], clip: Some(2), ..NetworkSettings::default() };
        let at = |clip: Option<u32>| {
            let mut network = initial_network(&[(0.0, 1.0)], &[], None, 1, &NetworkSettings { clip, ..settings.clone() }, 3);
            network.nodes.pop();
            network.forward(&Matrix { rows: 1, cols: 1, data: vec![30.0] }).data
        };
        let (free, clipped) = (at(None), at(Some(2)));
        assert!(free.iter().any(|z| *z > 2.0), "{free:?}");
        assert!(free.iter().zip(&clipped).all(|(z, c)| (z.min(2.0) - c).abs() < 1e-5), "{free:?} {clipped:?}");
    }

    #[test]
    fn a_linear_model_has_no_concat() {
        let settings = NetworkSettings { hidden: vec![], ..NetworkSettings::default() };
        assert_eq!(initial_network(&[(0.0, 1.0); 3], &[1], None, 2, &settings, 0).nodes.len(), 2);
    }
}
