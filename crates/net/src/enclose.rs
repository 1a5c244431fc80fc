//! One input row -> for every value a ball that holds what any float32 runtime may compute for it.

use crate::{Ball, Network};

impl Network {
    /// The ball of every value for one input row: the input itself (radius 0), then each node.
    ///
    /// The network must be valid.
    ///
    /// # Panics
    /// If `x` is not as wide as the network's input.
    pub fn enclose_values(&self, x: &[f32]) -> Vec<Vec<Ball>> {
        assert_eq!(x.len(), self.inputs, "a row is as wide as the network's input");
        let mut values = vec![x.iter().map(|&x| Ball { centre: f64::from(x), radius: 0.0 }).collect::<Vec<_>>()];
        for node in &self.nodes {
            let from: Vec<&[Ball]> = node.from.iter().map(|&v| values[v].as_slice()).collect();
            let value = node.op.enclose(&from);
            values.push(value);
        }
        values
    }

    /// The balls of the outputs for one input row, as [`Network::enclose_values`] gives them.
    ///
    /// ```
    /// use deepsade_net::{Matrix, Network, Node, Op};
    /// let w = Matrix { rows: 1, cols: 2, data: vec![0.1, 0.2] };
    /// let net = Network { inputs: 2, nodes: vec![Node { op: Op::Dense { w, b: vec![0.3] }, from: vec![0] }] };
    /// let x = Matrix { rows: 1, cols: 2, data: vec![1.0, -7.0] };
    /// assert!(net.enclose(x.row(0))[0].contains(net.forward(&x).data[0]));
    /// ```
    pub fn enclose(&self, x: &[f32]) -> Vec<Ball> {
        self.enclose_values(x).pop().unwrap_or_default()
    }
}
