//! A seed -> a random valid network with every operation; also inputs for it. Shared by tests and examples.
#![allow(dead_code, reason = "each test uses its part")]

use deepsade_net::{Activation, Conv, Matrix, Network, Node, Op, Window};

/// `SplitMix64`: small, and the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 0 to n - 1.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Uniform in [-size, size].
    pub fn real(&mut self, size: f32) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 * size - size
    }

    pub fn reals(&mut self, n: usize, size: f32) -> Vec<f32> {
        (0..n).map(|_| self.real(size)).collect()
    }

    pub fn matrix(&mut self, rows: usize, cols: usize, size: f32) -> Matrix {
        Matrix { rows, cols, data: self.reals(rows * cols, size) }
    }

    pub fn dense(&mut self, outputs: usize, inputs: usize) -> Op {
        let size = (3.0 / inputs as f32).sqrt();
        Op::Dense { w: self.matrix(outputs, inputs, size), b: self.reals(outputs, 0.5) }
    }

    pub fn activation(&mut self) -> Op {
        Op::Act([Activation::Relu, Activation::Sigmoid, Activation::Tanh][self.below(3)])
    }

    /// Ordinary numbers, or the ones that encoders and shortcuts like to lose.
    fn parameters(&mut self, n: usize) -> Vec<f32> {
        match self.below(6) {
            0 => vec![1.0; n],
            1 => vec![0.0; n],
            2 => vec![-0.0; n],
            3 => vec![self.real(2.0); n],
            4 => (0..n).map(|i| [1e-40, f32::MIN_POSITIVE, -0.0, 0.0, 1.0, 3e38][i % 6]).collect(),
            _ => self.reals(n, 2.0),
        }
    }
}

/// A picture of 2 x 5 x 6 through a convolution in groups with odd pads, a pool, a dilated convolution, and a dense layer.
pub fn pictures(seed: u64) -> Network {
    let r = &mut Random(seed);
    let window = |input, size, stride, dilation, pads| Window { input, size, stride, dilation, pads };
    let first = window([2, 5, 6], [2, 3], [1, 2], [1, 1], [1, 0, 0, 1]);
    let pool = window([4, 5, 3], [2, 2], [2, 1], [1, 1], [0, 1, 1, 0]);
    let second = window([4, 3, 3], [2, 2], [1, 1], [2, 1], [1, 0, 1, 0]);
    let ops = [
        Op::Conv(Conv { window: first, groups: 2, w: r.reals(4 * 6, 1.0), b: r.reals(4, 1.0) }),
        Op::Act(Activation::Relu),
        Op::MaxPool(pool),
        Op::Conv(Conv { window: second, groups: 1, w: r.reals(3 * 16, 0.5), b: r.reals(3, 1.0) }),
        Op::Act(Activation::Tanh),
        r.dense(2, 18),
    ];
    Network { inputs: 60, nodes: ops.into_iter().enumerate().map(|(k, op)| Node { op, from: vec![k] }).collect() }
}

/// Any network, for what only concerns its structure: parameters may overflow when evaluated.
pub fn any_network(seed: u64) -> Network {
    let r = &mut Random(seed);
    let inputs = if r.below(8) == 0 { 250 + r.below(20) } else { 1 + r.below(6) };
    let mut net = Network { inputs, nodes: vec![] };
    for _ in 0..r.below(9) {
        let value = r.below(net.nodes.len() + 1);
        let width = net.width(value).unwrap();
        let op = match r.below(8) {
            0 => Op::Affine { scale: r.parameters(width), shift: r.parameters(width) },
            1 => {
                let rows = 1 + r.below(5);
                Op::Dense { w: Matrix { rows, cols: width, data: r.parameters(rows * width) }, b: r.parameters(rows) }
            }
            2 => {
                // A square diagonal Dense must not come back as an Affine, nor a 0/1 one as a Select.
                let mut w = Matrix::zeros(width, width);
                (0..width).for_each(|i| w.row_mut(i)[i] = 1.0);
                Op::Dense { w, b: r.parameters(width) }
            }
            3 => r.activation(),
            4 => {
                let cols = 1 + r.below(4);
                Op::Choose(Matrix { rows: width, cols, data: r.parameters(width * cols) })
            }
            5 => Op::Select((0..=r.below(4)).map(|_| r.below(width)).collect()),
            6 => {
                let from = (0..=r.below(3)).map(|_| r.below(net.nodes.len() + 1)).collect();
                net.nodes.push(Node { op: Op::Concat, from });
                continue;
            }
            _ => {
                net.nodes.push(Node { op: Op::Select(vec![r.below(width)]), from: vec![value] });
                let gated = r.below(net.nodes.len() + 1);
                let gate = net.nodes.len();
                net.nodes.push(Node { op: Op::Gate, from: vec![gated, gate] });
                continue;
            }
        };
        net.nodes.push(Node { op, from: vec![value] });
    }
    join_unread(&mut net);
    net
}

/// A last Concat that reads what nothing else does.
fn join_unread(net: &mut Network) {
    let mut read = vec![false; net.nodes.len() + 1];
    net.nodes.iter().flat_map(|n| &n.from).for_each(|&v| read[v] = true);
    let unread: Vec<usize> = (1..read.len()).filter(|&v| !read[v]).collect();
    if unread.len() > 1 {
        net.nodes.push(Node { op: Op::Concat, from: unread });
    }
}

/// What one network of the use cases looks like: scaled raw features, hidden layers, features that skip to the last layer.
pub fn use_case(seed: u64, sizes: &[usize], skip: &[usize], gate: Option<usize>) -> Network {
    let r = &mut Random(seed);
    let inputs = sizes[0];
    let mut nodes = vec![Node { op: Op::Affine { scale: r.reals(inputs, 0.2), shift: r.reals(inputs, 1.0) }, from: vec![0] }];
    let (hidden, last) = (&sizes[1..sizes.len() - 1], sizes[sizes.len() - 1]);
    let mut width = inputs;
    for &h in hidden {
        nodes.push(Node { op: r.dense(h, width), from: vec![nodes.len()] });
        nodes.push(Node { op: r.activation(), from: vec![nodes.len()] });
        width = h;
    }
    if !skip.is_empty() {
        let hidden = nodes.len();
        nodes.push(Node { op: Op::Select(skip.to_vec()), from: vec![0] });
        nodes.push(Node { op: Op::Concat, from: vec![hidden, hidden + 1] });
        width += skip.len();
    }
    nodes.push(Node { op: r.dense(last, width), from: vec![nodes.len()] });
    if let Some(feature) = gate {
        let y = nodes.len();
        nodes.push(Node { op: Op::Select(vec![feature]), from: vec![0] });
        nodes.push(Node { op: Op::Gate, from: vec![y, y + 1] });
    }
    Network { inputs, nodes }
}

/// Rows in [-size, size], the first ones corners of that box.
pub fn rows(seed: u64, count: usize, width: usize, size: f32) -> Matrix {
    let r = &mut Random(seed);
    let mut x = r.matrix(count, width, size);
    for k in 0..count / 4 {
        x.row_mut(k).iter_mut().for_each(|v| *v = if *v < 0.0 { -size } else { size });
    }
    x
}
