use crate::certificate::{Arithmetic, Bounds};
use crate::common::{Rng, Runtime, act, dense, point, row};
use crate::dyadic::{Dyadic, Interval};
use crate::layout::Layout;
use crate::machine::Machine;
use deepsade_net::{Activation, Network, Node, Op};
use deepsade_spec::{Domain, Feature, OneHot, Region, Schema, Task};

fn schema(scale: f32, reals: usize) -> Schema {
    let domain = |k: usize| match k % 4 {
        0 => Domain::Integer { lo: -2, hi: 3 },
        1 => Domain::Category { levels: ["p", "q", "r"].map(String::from).to_vec() },
        _ => Domain::Real { lo: -scale, hi: scale },
    };
    Schema {
        features: (0..reals).map(|k| Feature { name: format!("x{k}"), domain: domain(k) }).collect(),
        task: Task::regression(vec!["a".into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    }
}

/// All operations: affine, dense, activation, dense, activation, skip, dense, gate.
fn network(inputs: usize, f: Activation, size: f32, rng: &mut Rng) -> Network {
    let mut list = |n: usize| (0..n).map(|_| rng.weight() * size).collect::<Vec<_>>();
    let affine = Op::Affine { scale: list(inputs), shift: list(inputs) };
    let nodes = vec![
        Node { op: affine, from: vec![0] },
        dense(7, inputs, list(7 * inputs), list(7), 1),
        act(f, 2),
        dense(6, 7, list(42), list(6), 3),
        act(Activation::Relu, 4),
        Node { op: Op::Select((0..inputs).rev().collect()), from: vec![0] },
        Node { op: Op::Concat, from: vec![5, 6] },
        dense(3, 6 + inputs, list(3 * (6 + inputs)), list(3), 7),
        Node { op: Op::Select(vec![0]), from: vec![0] },
        Node { op: Op::Gate, from: vec![8, 9] },
    ];
    Network { inputs, nodes }
}

fn contains(interval: &Interval, x: f32) -> bool {
    let x = Dyadic::from(x);
    interval.lo <= x && x <= interval.hi
}

#[test]
fn every_evaluation_stays_inside() {
    let rng = &mut Rng(11);
    for case in 0..120 {
        let f = [Activation::Relu, Activation::Sigmoid, Activation::Tanh][case % 3];
        // Ordinary, large and denormal sizes.
        let (scale, size) = [(1.0, 1.0), (100.0, 3.0), (1e-38, 1.0), (1e-20, 1e-19), (0.0, 1.0)][case % 5];
        let schema = schema(scale, 3 + case % 4);
        let layout = Layout::new(&schema);
        let network = network(layout.width(), f, size, rng);
        let region = Region::domain(&schema).unwrap();
        let machine = Machine { network: &network, layout: &layout, arithmetic: Arithmetic::Float32 };
        let known = [Bounds::Interval, Bounds::Relational].map(|b| machine.known(&region, b).unwrap());
        for k in 0..120 {
            let x = row(&schema, &point(&schema, rng));
            let values = Runtime { rng, flush: k % 2 == 0 }.values(&network, &x);
            for (v, value) in values.iter().enumerate() {
                for (i, y) in value.iter().enumerate() {
                    for known in &known {
                        assert!(contains(&known.values[v][i], *y), "case {case}, value {v}, column {i}: {y:e}");
                    }
                }
            }
        }
        // The best of both is never wider, but for the last bit.
        for (a, b) in known[0].values.iter().flatten().zip(known[1].values.iter().flatten()) {
            let bit = &a.size() * &Dyadic::power(-60);
            assert!(&a.lo - &bit <= b.lo && b.hi <= &a.hi + &bit);
        }
    }
}

#[test]
fn a_row_without_weights_is_its_bias() {
    let schema = schema(1.0, 3);
    let layout = Layout::new(&schema);
    let network =
        Network { inputs: layout.width(), nodes: vec![dense(1, layout.width(), vec![0.0; layout.width()], vec![0.0], 0)] };
    let machine = Machine { network: &network, layout: &layout, arithmetic: Arithmetic::Float32 };
    let known = machine.known(&Region::domain(&schema).unwrap(), Bounds::Interval).unwrap();
    assert!(known.values[1][0].lo.is_zero() && known.values[1][0].hi.is_zero());
}

#[test]
fn a_denormal_may_be_flushed_on_its_way() {
    let mut schema = schema(1.0, 3);
    for (lo, hi) in [(1e-39, 1e-38), (-1e-38, -1e-39)] {
        schema.features[2].domain = Domain::Real { lo, hi };
        let layout = Layout::new(&schema);
        let nodes = vec![Node { op: Op::Select(vec![4]), from: vec![0] }];
        let network = Network { inputs: layout.width(), nodes };
        let machine = |arithmetic| Machine { network: &network, layout: &layout, arithmetic };
        let known = |arithmetic| machine(arithmetic).known(&Region::domain(&schema).unwrap(), Bounds::Interval).unwrap();
        assert!(contains(&known(Arithmetic::Float32).values[1][0], 0.0));
        assert!(!contains(&known(Arithmetic::Real).values[1][0], 0.0));
    }
}

#[test]
fn the_line_over_a_relu_is_never_below_it() {
    let schema = schema(1.0, 3);
    let (layout, network) = (Layout::new(&schema), Network { inputs: 5, nodes: vec![] });
    let machine = Machine { network: &network, layout: &layout, arithmetic: Arithmetic::Float32 };
    let rng = &mut Rng(13);
    for _ in 0..5000 {
        let (x, y) = (rng.weight() * 3.0, rng.weight());
        let v = Interval { lo: Dyadic::from(x.min(y)), hi: Dyadic::from(x.max(y)) };
        let a = Dyadic::from(rng.weight());
        let lower = [None, Some(Dyadic::default()), Some(Dyadic::power(-2)), Some(Dyadic::int(1))];
        let (slope, constant) = machine.relu(&a, &v, lower[rng.below(4)].as_ref());
        // Convex minus linear: the ends and the kink decide. What is computed may be 0 for a denormal.
        let kink = [0.0, f32::MIN_POSITIVE.next_down()].map(Dyadic::from);
        for at in [v.lo.clone(), v.hi.clone()].into_iter().chain(kink.into_iter().filter(|k| v.lo <= *k && *k <= v.hi)) {
            let relu = at.clone().max(Dyadic::default());
            for computed in if relu < Dyadic::power(-126) { vec![relu, Dyadic::default()] } else { vec![relu] } {
                assert!(&a * &computed <= &(&slope * &at) + &constant);
            }
        }
    }
}
