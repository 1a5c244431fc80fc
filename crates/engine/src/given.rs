//! A network that was trained elsewhere enters; one leaves that training may go on with: the layers before the last are given, and the last
//! sees the features that the rules mention.
//!
//! Training moves the weights of dense layers, and nothing else. So a dense layer that is given becomes a convolution over one place, the
//! same sums, and a dense layer again when all is done.

use deepsade_net::{Conv, Matrix, Network, Op, Window};
use deepsade_spec::NormalSpec;

use crate::skips::with_skips;

/// The network with all layers but the last as they are given; `None` where it ends in none.
pub(crate) fn before_last(spec: &NormalSpec, network: &Network) -> Option<Network> {
    let (mut network, _) = with_skips(spec, network)?;
    let last = network.last_dense();
    for node in network.nodes.iter_mut().take(last.unwrap_or(0)) {
        if let Op::Dense { w, b } = &mut node.op {
            let window = Window { input: [w.cols, 1, 1], size: [1, 1], stride: [1, 1], dilation: [1, 1], pads: [0; 4] };
            let (w, b) = (std::mem::take(&mut w.data), std::mem::take(b));
            node.op = Op::Conv(Conv { window, groups: 1, w, b });
        }
    }
    Some(network)
}

/// The same network with convolutions over one place as the dense layers that they are.
pub(crate) fn as_dense(mut network: Network) -> Network {
    for node in &mut network.nodes {
        if let Op::Conv(Conv { window, groups: 1, w, b }) = &mut node.op
            && let Window { input: [cols, 1, 1], size: [1, 1], stride: [1, 1], pads: [0, 0, 0, 0], .. } = *window
        {
            let (data, b) = (std::mem::take(w), std::mem::take(b));
            node.op = Op::Dense { w: Matrix { rows: b.len(), cols, data }, b };
        }
    }
    network
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepsade_net::{Activation, Node};
    use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};

    #[test]
    fn what_is_given_computes_the_same_and_comes_back_as_it_was() {
        let dense = |rows, cols, from| {
            let data = (0..rows * cols).map(|k| (k % 5) as f32 - 2.0).collect();
            Node { op: Op::Dense { w: Matrix { rows, cols, data }, b: vec![0.5; rows] }, from: vec![from] }
        };
        let relu = |from| Node { op: Op::Act(Activation::Relu), from: vec![from] };
        let network = Network { inputs: 2, nodes: vec![dense(4, 2, 0), relu(1), dense(3, 4, 2), relu(3), dense(1, 3, 4)] };
        let number = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 4.0 } };
        let task = Task::regression(vec!["a".into()]);
        let schema = Schema { features: vec![number("x"), number("z")], task, one_hot: OneHot::Full, filled: vec![] };
        let rule = RuleText { name: "r".into(), text: "a <= x".into() };
        let spec = compile(&[rule], &schema).unwrap();
        let given = before_last(&spec, &network).unwrap();
        assert_eq!(given.nodes.iter().filter(|n| matches!(n.op, Op::Dense { .. })).count(), 1);
        let x = Matrix { rows: 2, cols: 2, data: vec![1.0, 3.0, 0.25, 2.0] };
        assert_eq!(given.forward(&x), network.forward(&x));
        // All of it but the feature that the rule mentions, which is beside it with weight 0.
        let back = as_dense(given);
        assert_eq!(back.nodes[..4], network.nodes[..4]);
        assert_eq!(back.nodes.len(), network.nodes.len() + 3);
    }
}
