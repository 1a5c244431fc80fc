//! A network enters; leaves the same network whose last layer also sees the features that rules mention.

use deepsade_net::{Matrix, Network, Node, Op};
use deepsade_spec::NormalSpec;

use crate::bounds::origins_of;
use crate::gate::skip_columns;
use crate::train::scaling;

/// The node of the last dense layer, if the network ends in it or in its product with a feature.
pub(crate) fn last_layer(network: &Network) -> Option<usize> {
    let end = network.nodes.len().checked_sub(1)?;
    let at = match &network.nodes[end].op {
        Op::Dense { .. } => end,
        // A factor that is itself computed would be one more thing to solve for.
        Op::Gate if straight(network, network.nodes[end].from[1])[..] != [None] => network.nodes[end].from[0].checked_sub(1)?,
        _ => return None,
    };
    matches!(network.nodes[at].op, Op::Dense { .. }).then_some(at)
}

/// The network with every feature that the rules mention read by the last layer, scaled to [0, 1], at weight zero where it is new; the
/// names of those. `None` where there is no last layer.
pub(crate) fn with_skips(spec: &NormalSpec, network: &Network) -> Option<(Network, Vec<String>)> {
    let at = last_layer(network)?;
    let read = straight(network, network.nodes[at].from[0]);
    let gate = match network.nodes.last() {
        Some(Node { op: Op::Gate, from }) => straight(network, from[1]).first().copied().flatten(),
        _ => None,
    };
    let columns = spec.schema.columns();
    let missing: Vec<usize> = skip_columns(spec).into_iter().filter(|c| !read.contains(&Some(*c)) && gate != Some(*c)).collect();
    if missing.is_empty() {
        return Some((network.clone(), Vec::new()));
    }
    let mut nodes = network.nodes[..at].to_vec();
    let mut push = |op: Op, from: Vec<usize>| {
        nodes.push(Node { op, from });
        nodes.len()
    };
    let ranges = spec.schema.column_ranges();
    let range = |c: &usize| (f64::from(ranges[*c].0), f64::from(ranges[*c].1));
    let selected = push(Op::Select(missing.clone()), vec![0]);
    let scaled = push(scaling(missing.iter().map(range)), vec![selected]);
    let joined = push(Op::Concat, vec![network.nodes[at].from[0], scaled]);
    let Op::Dense { w, b } = &network.nodes[at].op else { return None };
    let mut wider = Matrix::zeros(w.rows, w.cols + missing.len());
    (0..w.rows).for_each(|r| wider.row_mut(r)[..w.cols].copy_from_slice(w.row(r)));
    push(Op::Dense { w: wider, b: b.clone() }, vec![joined]);
    // Nodes behind the last layer (a gate and what it reads) move up by the three new ones.
    let moved = |v: &usize| if *v > at { v + 3 } else { *v };
    for node in &network.nodes[at + 1..] {
        nodes.push(Node { op: node.op.clone(), from: node.from.iter().map(moved).collect() });
    }
    let mut names: Vec<String> = missing.iter().map(|c| spec.schema.features[columns[*c].feature].name.clone()).collect();
    names.dedup();
    Some((Network { inputs: network.inputs, nodes }, names))
}

/// For each column of a value the input column that it copies or scales.
pub(crate) fn straight(network: &Network, value: usize) -> Vec<Option<usize>> {
    origins_of(network, value).into_iter().map(|origin| origin.map(|o| o.column)).collect()
}
