//! Every value of a sampled input, computed in float32, lies in its box; so it does in the boxes of a part of the region.

use deepsade_check::Arithmetic;
use deepsade_net::{Activation, Matrix, Network, Node, Op};
use deepsade_spec::{ColumnKind, Cut, Domain, Feature, InputColumn, OneHot, Region, Schema, Task};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::pass::{Pass, Reach, SearchForm};
use super::BoundPlan;

fn schema(one_hot: OneHot) -> Schema {
    let levels = ["a", "b", "c"].map(String::from).to_vec();
    let features = [
        ("r", Domain::Real { lo: -3.0, hi: 2.5 }),
        ("n", Domain::Integer { lo: 0, hi: 9 }),
        ("c", Domain::Category { levels }),
        ("s", Domain::Real { lo: 0.5, hi: 4.0 }),
    ];
    let features = features.into_iter().map(|(name, domain)| Feature { name: name.into(), domain }).collect();
    Schema { features, task: Task::regression(vec!["u".into(), "v".into()]), one_hot, filled: vec![] }
}

/// Every operator, the last one a gate by `s` or a dense layer.
fn network(rng: &mut ChaCha8Rng, inputs: usize, activation: Activation, gate: bool) -> Network {
    let mut numbers = |n: usize, size: f32| (0..n).map(|_| (rng.random::<f32>() - 0.5) * size).collect::<Vec<f32>>();
    let mut dense = |rows: usize, cols: usize| {
        // Some weights are zero: no product with them is rounded.
        let data = numbers(rows * cols, 2.0).into_iter().map(|w| if w.abs() < 0.1 { 0.0 } else { w }).collect();
        Op::Dense { w: Matrix { rows, cols, data }, b: numbers(rows, 1.0) }
    };
    let mut nodes = vec![
        Node { op: dense(6, inputs), from: vec![0] },
        Node { op: Op::Act(activation), from: vec![1] },
        Node { op: dense(5, 6), from: vec![2] },
        Node { op: Op::Act(Activation::Relu), from: vec![3] },
        Node { op: Op::Select(vec![0, inputs - 1]), from: vec![0] },
        Node { op: Op::Concat, from: vec![4, 5] },
        Node { op: dense(2, 7), from: vec![6] },
    ];
    let affine = Op::Affine { scale: vec![0.3, -1.7], shift: vec![0.1, 0.0] };
    nodes.push(Node { op: affine, from: vec![7] });
    if gate {
        nodes.push(Node { op: Op::Select(vec![inputs - 1]), from: vec![0] });
        nodes.push(Node { op: Op::Gate, from: vec![8, 9] });
    }
    Network { inputs, nodes }
}

/// A point of a region, a number or the index of a level a feature: now and then at an end of each range.
fn sample(rng: &mut ChaCha8Rng, region: &Region, schema: &Schema) -> Vec<f32> {
    let value = |f: usize| {
        if let Some((lo, hi)) = region.range(f) {
            let at = [0.0, 1.0, rng.random::<f64>()][rng.random_range(0..3)];
            let v = (lo + at * (hi - lo)) as f32;
            if region.step(f).is_some() { v.round() } else { v.clamp(lo as f32, hi as f32) }
        } else {
            let allowed = region.levels(f).expect("numbers and categories are all there is");
            let of: Vec<usize> = (0..allowed.len()).filter(|l| allowed[*l]).collect();
            of[rng.random_range(0..of.len())] as f32
        }
    };
    (0..schema.features.len()).map(value).collect()
}

/// A point as the network reads it.
fn encoded(point: &[f32], schema: &Schema) -> Vec<f32> {
    let column = |c: &InputColumn| match c.kind {
        ColumnKind::Number => point[c.feature],
        ColumnKind::Level(l) => f32::from(u8::from(point[c.feature] == l as f32)),
    };
    schema.columns().iter().map(column).collect()
}

#[test]
fn values_of_sampled_inputs_lie_in_their_boxes() {
    let rng = &mut ChaCha8Rng::seed_from_u64(11);
    let mut looked = 0;
    for case in 0..60 {
        let schema = schema(if case % 2 == 0 { OneHot::Full } else { OneHot::DropFirst });
        let activation = [Activation::Relu, Activation::Sigmoid, Activation::Tanh][case % 3];
        let network = network(rng, schema.columns().len(), activation, case % 4 < 2);
        let plan = BoundPlan::new(&network, &schema, Arithmetic::Float32);
        let mut region = Region::domain(&schema).unwrap();
        let mut prior = None;
        for cut in
            [None, Some((0, Cut::At(-0.5))), Some((2, Cut::Levels(vec![1]))), Some((1, Cut::At(4.0))), Some((3, Cut::At(2.0)))]
        {
            if let Some((feature, cut)) = cut {
                let [low, high] = region.split(feature, &cut).unwrap();
                region = if rng.random::<bool>() { low } else { high };
            }
            let inputs = plan.inputs(&region);
            let boxes =
                [Reach::Interval, Reach::Lines].map(|kind| plan.boxes(&inputs, kind, prior.as_ref(), &mut Pass::default()));
            for _ in 0..50 {
                let point = sample(rng, &region, &schema);
                assert!(region.contains(&point), "{point:?}");
                let x = encoded(&point, &schema);
                for nodes in 1..=network.nodes.len() {
                    let part = Network { inputs: network.inputs, nodes: network.nodes[..nodes].to_vec() };
                    let y = part.forward(&Matrix { rows: 1, cols: x.len(), data: x.clone() });
                    for (i, y) in y.data.iter().enumerate() {
                        for b in &boxes {
                            let (lo, hi, y) = (b.lo[nodes][i], b.hi[nodes][i], f64::from(*y));
                            assert!(lo <= y && y <= hi, "case {case}, value {nodes}, unit {i}: {y} is not in [{lo}, {hi}]");
                            looked += 1;
                        }
                    }
                }
            }
            prior = Some(boxes.into_iter().next_back().expect("two kinds"));
        }
    }
    assert!(looked > 100_000);
}

/// Eight forms side by side are bounded as each is alone, whatever the operators on the way.
#[test]
fn rows_at_a_time_have_the_bounds_of_one_at_a_time() {
    let rng = &mut ChaCha8Rng::seed_from_u64(12);
    for case in 0..40 {
        let schema = schema(OneHot::Full);
        let inputs = schema.columns().len();
        let activation = [Activation::Relu, Activation::Sigmoid, Activation::Tanh][case % 3];
        let mut network = network(rng, inputs, activation, false);
        network.nodes.pop();
        let last = network.nodes.len() - 1;
        let plan = BoundPlan::new(&network, &schema, Arithmetic::Float32);
        let region = Region::domain(&schema).unwrap();
        let (input, mut pass) = (plan.inputs(&region), Pass::default());
        let boxes = plan.boxes(&input, Reach::Lines, None, &mut pass);
        for kind in [Reach::Interval, Reach::Lines] {
            pass.rows.enter(&plan);
            let together = pass.rows.bounds(&plan, kind, (last, &[0, 1]), plan.steps[last].reads(), &boxes, &input);
            for (lane, bound) in together.iter().enumerate() {
                let (o, sign) = (lane / 2, if lane % 2 == 0 { 1.0 } else { -1.0 });
                let mut form = SearchForm { y: vec![0.0; 2], x: vec![0.0; inputs], ..SearchForm::default() };
                form.y[o] = sign;
                let slopes = vec![Vec::new(); plan.steps.len()];
                let alone = Pass::default().upper(&plan, &form, kind, &boxes, &input, &slopes);
                let bound = bound + sign * plan.steps[last].bias(o) + boxes.error[last + 1][o];
                assert!((alone - bound).abs() <= 1e-9 * (1.0 + bound.abs()), "case {case}, {kind:?}: {alone} and {bound}");
            }
        }
    }
}
