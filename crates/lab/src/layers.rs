//! A network over its domain enters; the widths of its bounds, layer by layer, and a picture of its shape leave.

use deepsade_engine::bounds::HiddenBounds;
use deepsade_engine::train::Stepper;
use deepsade_net::{Network, Op};
use deepsade_spec::{Region, Schema};

use crate::figure::LayerWidths;

/// Interval widths of every hidden layer and of the last dense layer's outputs on the whole domain, as training sees them; `None`
/// where the network is none that training makes.
pub(crate) fn widths(network: &Network, schema: &Schema) -> Option<Vec<LayerWidths>> {
    let region = Region::domain(schema).ok()?;
    let stepper = Stepper::new(network, 1).ok()?;
    let mut bounds = HiddenBounds::new(network, schema, &[region]);
    bounds.update(stepper.parameters());
    let mut layers = Vec::new();
    for (k, node) in network.nodes.iter().enumerate() {
        if matches!(node.op, Op::Act(_)) {
            let widths = bounds.value(0, k + 1).r.iter().map(|r| 2.0 * f64::from(*r)).collect();
            layers.push(LayerWidths { name: format!("hidden {}", layers.len() + 1), widths });
        }
    }
    let last = network.nodes.iter().rev().find_map(|node| if let Op::Dense { w, .. } = &node.op { Some(w) } else { None })?;
    let radii = &bounds.last_input(0).r;
    let width = |o: usize| 2.0 * last.row(o).iter().zip(radii).map(|(w, r)| f64::from(w.abs()) * f64::from(*r)).sum::<f64>();
    let gated = network.nodes.iter().any(|n| matches!(n.op, Op::Gate));
    let name = if gated { "before the gate" } else { "outputs" };
    layers.push(LayerWidths { name: name.into(), widths: (0..last.rows).map(width).collect() });
    Some(layers)
}

/// The network up to its scores, if it then chooses a row of a table by them.
pub(crate) fn before_choice(network: &Network) -> Network {
    let kept = network.scores().unwrap_or(network.nodes.len());
    Network { inputs: network.inputs, nodes: network.nodes[..kept].to_vec() }
}

/// The shape of a network: names and sizes of its layers.
pub(crate) struct NetworkShape {
    /// Name and units: the input, each hidden layer, the output.
    pub(crate) layers: Vec<(String, usize)>,
    /// Input columns that reach the last layer directly.
    pub(crate) skipped: usize,
    /// Whether a feature multiplies the outputs.
    pub(crate) gated: bool,
    /// Weights and biases.
    pub(crate) parameters: usize,
}

/// Reads the shape off the nodes.
pub(crate) fn shape(network: &Network) -> NetworkShape {
    let mut shape = NetworkShape { layers: vec![("input".into(), network.inputs)], skipped: 0, gated: false, parameters: 0 };
    let dense: Vec<usize> =
        network.nodes.iter().enumerate().filter(|(_, n)| matches!(n.op, Op::Dense { .. })).map(|(k, _)| k).collect();
    for (at, &k) in dense.iter().enumerate() {
        let Op::Dense { w, b } = &network.nodes[k].op else { continue };
        let name = if at + 1 == dense.len() { "output".to_string() } else { format!("hidden {}", at + 1) };
        shape.layers.push((name, w.rows));
        shape.parameters += w.data.len() + b.len();
        if at > 0 {
            shape.skipped = w.cols.saturating_sub(shape.layers[at].1);
        }
    }
    shape.gated = network.nodes.iter().any(|n| matches!(n.op, Op::Gate));
    shape
}
