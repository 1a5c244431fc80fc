use deepsade_net::{Activation, Node, Op};

use super::*;

/// Values without pattern in [-1, 1].
fn noise(n: usize, salt: u32) -> Vec<f32> {
    (0..n as u32).map(|i| ((i + 1).wrapping_mul(2_654_435_761) ^ salt.wrapping_mul(40503)) as f32 / 2f32.powi(31) - 1.0).collect()
}

fn dense(outputs: usize, inputs: usize, salt: u32) -> Op {
    let w = Matrix { rows: outputs, cols: inputs, data: noise(outputs * inputs, salt) };
    Op::Dense { w, b: noise(outputs, salt + 1) }
}

fn network(inputs: usize, nodes: Vec<(Op, Vec<usize>)>) -> Network {
    Network { inputs, nodes: nodes.into_iter().map(|(op, from)| Node { op, from }).collect() }
}

/// The network in float64, written as plainly as possible.
fn reference(network: &Network, x: &[f64]) -> Vec<f64> {
    let mut values = vec![x.to_vec()];
    for node in &network.nodes {
        let read = |i: usize| &values[node.from[i]];
        values.push(match &node.op {
            Op::Affine { scale, shift } => {
                read(0).iter().zip(scale).zip(shift).map(|((x, s), t)| x * f64::from(*s) + f64::from(*t)).collect()
            }
            Op::Dense { w, b } => (0..w.rows)
                .map(|j| f64::from(b[j]) + w.row(j).iter().zip(read(0)).map(|(w, x)| f64::from(*w) * x).sum::<f64>())
                .collect(),
            Op::Act(Activation::Relu) => read(0).iter().map(|x| x.max(0.0)).collect(),
            Op::Act(Activation::Sigmoid) => read(0).iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect(),
            Op::Act(Activation::Tanh) => read(0).iter().map(|x| x.tanh()).collect(),
            Op::Select(columns) => columns.iter().map(|&c| read(0)[c]).collect(),
            Op::Concat => node.from.iter().flat_map(|&v| values[v].clone()).collect(),
            Op::Gate => read(0).iter().map(|x| x * read(1)[0]).collect(),
            Op::Choose(_) | Op::Conv(_) | Op::MaxPool(_) => unreachable!("neither choices nor given layers are trained"),
        });
    }
    values.pop().unwrap()
}

/// L in float64, as `Loss` states it.
fn reference_loss(loss: Loss, network: &Network, x: &Matrix, y: &Matrix, weight: &[f32]) -> f64 {
    let mut sum = 0.0;
    for (r, &v) in weight.iter().enumerate() {
        let input: Vec<f64> = x.row(r).iter().map(|&x| f64::from(x)).collect();
        let s = reference(network, &input);
        let y: Vec<f64> = y.row(r).iter().map(|&y| f64::from(y)).collect();
        let n = s.len() as f64;
        let norm = s.iter().map(|s| s.exp()).sum::<f64>().ln();
        let terms = s.iter().zip(&y).map(|(s, y)| match loss {
            Loss::MeanSquares => (s - y).powi(2) / n,
            Loss::SoftmaxCrossEntropy | Loss::SoftmaxAtCutoff { .. } => y * (norm - s),
            Loss::SigmoidCrossEntropy => (y * (1.0 + (-s).exp()).ln() + (1.0 - y) * (1.0 + s.exp()).ln()) / n,
        });
        sum += f64::from(v) * terms.sum::<f64>();
    }
    sum / weight.iter().map(|&v| f64::from(v)).sum::<f64>()
}

/// Every parameter p: dL/dp = (L(p + h) - L(p - h)) / 2h + O(h^2), with L in float64.
fn check_gradients(network: &Network) {
    let rows = 5;
    let mut stepper = Stepper::new(network, rows).unwrap();
    let outputs = stepper.outputs();
    let x = Matrix { rows, cols: network.inputs, data: noise(rows * network.inputs, 99) };
    let mut y = Matrix::zeros(rows, outputs);
    (0..rows).for_each(|r| y.row_mut(r)[r % outputs] = 1.0);
    let weight = [1.0, 0.5, 2.0, 0.0, 1.0];
    let data = stepper.prepare(&x, &y, &weight);
    stepper.load(&data, 0..rows);
    for loss in [Loss::MeanSquares, Loss::SoftmaxCrossEntropy, Loss::SigmoidCrossEntropy] {
        let value = stepper.gradient(loss).mean();
        let expected = reference_loss(loss, network, &x, &y, &weight);
        assert!((value - expected).abs() < 1e-5 * expected.max(1.0), "{loss:?}: {value} {expected}");
        let gradient = stepper.parameter_gradient().to_vec();
        for (p, &found) in gradient.iter().enumerate() {
            let at = |h: f32| {
                let mut moved = stepper.clone();
                moved.parameters_mut()[p] += h;
                (moved.parameters()[p], reference_loss(loss, &moved.network(), &x, &y, &weight))
            };
            let ((p0, l0), (p1, l1)) = (at(-1.0 / 4096.0), at(1.0 / 4096.0));
            let slope = (l1 - l0) / f64::from(p1 - p0);
            assert!((slope - f64::from(found)).abs() < 2e-5 * slope.abs().max(1.0), "{loss:?} {p}: {slope} {found}");
        }
    }
}

#[test]
fn dense_and_every_activation() {
    for activation in [Activation::Relu, Activation::Sigmoid, Activation::Tanh] {
        check_gradients(&network(
            3,
            vec![
                (Op::Affine { scale: vec![0.5, 2.0, 1.0], shift: vec![0.1, 0.0, -0.3] }, vec![0]),
                (dense(4, 3, 1), vec![1]),
                (Op::Act(activation), vec![2]),
                (dense(3, 4, 3), vec![3]),
                // Two activations in a row: the second must not overwrite the first.
                (Op::Act(activation), vec![4]),
                (Op::Act(Activation::Tanh), vec![5]),
                (dense(2, 3, 5), vec![6]),
            ],
        ));
    }
}

#[test]
fn select_concat_and_affine_between_layers() {
    check_gradients(&network(
        3,
        vec![
            (dense(4, 3, 1), vec![0]),
            (Op::Act(Activation::Tanh), vec![1]),
            (Op::Select(vec![2, 0, 2]), vec![2]),
            (Op::Affine { scale: vec![0.5, -2.0, 1.5], shift: vec![0.1, 0.2, 0.3] }, vec![3]),
            (Op::Select(vec![1]), vec![0]),
            // Value 2 is read three times: its gradient is a sum.
            (Op::Concat, vec![2, 4, 5, 2]),
            (dense(2, 12, 7), vec![6]),
        ],
    ));
}

#[test]
fn gates_by_an_input_and_by_a_layer() {
    check_gradients(&network(
        3,
        vec![
            (dense(4, 3, 1), vec![0]),
            (Op::Act(Activation::Sigmoid), vec![1]),
            (dense(1, 4, 2), vec![2]),
            (Op::Gate, vec![2, 3]),
            (dense(3, 4, 6), vec![4]),
            (Op::Select(vec![0]), vec![0]),
            (Op::Gate, vec![5, 6]),
        ],
    ));
}

#[test]
fn a_layer_read_before_its_activation_keeps_its_value() {
    check_gradients(&network(
        2,
        vec![
            (dense(3, 2, 1), vec![0]),
            (Op::Act(Activation::Sigmoid), vec![1]),
            (Op::Concat, vec![1, 2]),
            (dense(2, 6, 3), vec![3]),
        ],
    ));
}

#[test]
fn parameters_come_back() {
    let network = network(2, vec![(dense(3, 2, 1), vec![0]), (Op::Act(Activation::Relu), vec![1]), (dense(2, 3, 3), vec![2])]);
    let mut stepper = Stepper::new(&network, 1).unwrap();
    assert_eq!(stepper.network(), network);
    assert_eq!(stepper.parameters().len(), 3 * 2 + 3 + 2 * 3 + 2);
    let last = stepper.last_layer();
    let Op::Dense { w, b } = &network.nodes[2].op else { panic!("node 2 is dense") };
    assert_eq!((last.w, last.b, last.inputs, last.outputs), (&w.data[..], &b[..], 3, 2));
    let last_range = stepper.last_range();
    stepper.parameters_mut()[last_range].fill(0.0);
    assert!(stepper.last_layer().w.iter().chain(stepper.last_layer().b).all(|&w| w == 0.0));
}

#[test]
fn networks_that_cannot_be_trained_are_refused() {
    let error = |nodes| Stepper::new(&network(3, nodes), 1).unwrap_err();
    // What cannot be evaluated is refused by the network itself.
    assert!(matches!(error(vec![(dense(2, 4, 1), vec![0])]), PlanError::Network(_)));
    assert_eq!(error(vec![(Op::Concat, vec![0])]), PlanError::NothingToTrain);
}
