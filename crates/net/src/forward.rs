//! Rows of inputs -> rows of outputs, in float32, a block of rows at a time.

use crate::{Matrix, Network};

/// Floats that one block's values may take together (4 MB): a million rows need no more memory than a few hundred.
const BLOCK_FLOATS: usize = 1 << 20;

impl Network {
    /// The outputs, one row for each row of `x`. The network must be valid (see [`Network::validate`]).
    ///
    /// # Panics
    /// If `x` is not as wide as the network's input.
    pub fn forward(&self, x: &Matrix) -> Matrix {
        let block = self.block_rows();
        let mut y = Matrix { rows: x.rows, cols: self.outputs(), data: Vec::with_capacity(x.rows * self.outputs()) };
        for start in (0..x.rows).step_by(block) {
            let rows = block.min(x.rows - start);
            let part = Matrix { rows, cols: x.cols, data: x.data[start * x.cols..(start + rows) * x.cols].to_vec() };
            if let Some(output) = self.evaluate(part).pop() {
                y.data.extend_from_slice(&output.data);
            }
        }
        y
    }

    /// Every value for every row: the input, then what each node computes. Memory grows with rows times the sum of widths.
    ///
    /// # Panics
    /// If `x` is not as wide as the network's input.
    pub fn values(&self, x: &Matrix) -> Vec<Matrix> {
        self.evaluate(x.clone())
    }

    fn evaluate(&self, x: Matrix) -> Vec<Matrix> {
        assert_eq!(x.cols, self.inputs, "rows are as wide as the network's input");
        let mut values = vec![x];
        for node in &self.nodes {
            let from: Vec<&Matrix> = node.from.iter().map(|&v| &values[v]).collect();
            let value = node.op.forward(&from);
            values.push(value);
        }
        values
    }

    fn block_rows(&self) -> usize {
        let floats: usize = self.widths().iter().fold(0, |sum, w| sum.saturating_add(*w));
        (BLOCK_FLOATS / floats.max(1)).clamp(1, 1024)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Activation, Matrix, Network, Node, Op};

    fn node(op: Op, from: &[usize]) -> Node {
        Node { op, from: from.to_vec() }
    }

    /// y = [relu(2a - b + 1), b] * a, by hand.
    fn gated() -> Network {
        let w = Matrix { rows: 1, cols: 2, data: vec![2.0, -1.0] };
        Network {
            inputs: 2,
            nodes: vec![
                node(Op::Dense { w, b: vec![1.0] }, &[0]),
                node(Op::Act(Activation::Relu), &[1]),
                node(Op::Select(vec![1]), &[0]),
                node(Op::Concat, &[2, 3]),
                node(Op::Select(vec![0]), &[0]),
                node(Op::Gate, &[4, 5]),
                node(Op::Affine { scale: vec![1.0, 0.5], shift: vec![0.0, -3.0] }, &[6]),
            ],
        }
    }

    #[test]
    fn every_operation_against_a_computation_by_hand() {
        let x = Matrix { rows: 2, cols: 2, data: vec![3.0, 4.0, -1.0, 5.0] };
        // row 0: relu(3) = 3, gated by 3: [9, 12], affine: [9, 3]; row 1: relu(-6) = 0, gated by -1: [-0, -5], affine: [0, -5.5]
        assert_eq!(gated().forward(&x).data, [9.0, 3.0, 0.0, -5.5]);
        assert_eq!(gated().values(&x)[4].data, [3.0, 4.0, 0.0, 5.0]);
    }

    #[test]
    fn sigmoid_and_tanh_at_known_points() {
        let x = Matrix { rows: 1, cols: 3, data: vec![0.0, -1000.0, 1000.0] };
        let of = |f| Network { inputs: 3, nodes: vec![node(Op::Act(f), &[0])] }.forward(&x).data;
        assert_eq!(of(Activation::Sigmoid), [0.5, 0.0, 1.0]);
        assert_eq!(of(Activation::Tanh), [0.0, -1.0, 1.0]);
    }

    #[test]
    fn rows_do_not_depend_on_the_block_they_fall_in() {
        let rows = 5000;
        let x = Matrix { rows, cols: 2, data: (0..2 * rows).map(|i| (i % 97) as f32 - 48.0).collect() };
        let y = gated().forward(&x);
        assert_eq!(y, gated().values(&x).pop().unwrap());
        for r in [0, 1023, 1024, 4999] {
            let one = Matrix { rows: 1, cols: 2, data: x.row(r).to_vec() };
            assert_eq!(gated().forward(&one).data, y.row(r));
        }
    }

    #[test]
    fn no_rows_and_no_nodes() {
        let none = Matrix::zeros(0, 2);
        assert_eq!(gated().forward(&none), Matrix::zeros(0, 2));
        let x = Matrix { rows: 1, cols: 2, data: vec![1.0, 2.0] };
        assert_eq!(Network { inputs: 2, nodes: vec![] }.forward(&x), x);
    }
}
