//! Model -> bytes -> model is the same model, bit for bit.

mod common;

use deepsade_net::{Matrix, Model, Network, NetworkError, Node, Op};
use proptest::prelude::*;

fn comes_back(model: &Model) {
    let bytes = model.to_bytes().expect("a valid network is written");
    let read = Model::from_bytes(&bytes).expect("our own file is read");
    // Debug text tells -0.0 from 0.0, which == does not.
    assert_eq!(format!("{read:?}"), format!("{model:?}"));
    assert_eq!(read.to_bytes().unwrap(), bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn any_network_comes_back(seed: u64, metadata in prop::collection::btree_map(".{0,12}", "(?s).{0,40}", 0..4)) {
        let network = common::any_network(seed);
        prop_assert_eq!(network.validate(), Ok(()));
        comes_back(&Model { metadata, ..Model::new(network) });
    }

    #[test]
    fn float32_results_lie_in_their_balls(seed: u64) {
        let net = common::use_case(seed, &[5, 7, 6, 3], &[0, 2], if seed % 2 == 0 { Some(1) } else { None });
        let x = common::rows(seed, 40, 5, 20.0);
        for (k, value) in net.values(&x).iter().enumerate() {
            for r in 0..x.rows {
                let balls = &net.enclose_values(x.row(r))[k];
                prop_assert!(balls.iter().zip(value.row(r)).all(|(ball, y)| ball.contains(*y)), "value {}, row {}", k, r);
            }
        }
    }
}

#[test]
fn use_case_networks_come_back() {
    for (sizes, skip, gate) in [
        (&[13, 50, 30, 10, 2][..], &[0, 3][..], None),
        (&[4, 10, 5][..], &[1, 2, 3][..], Some(0)),
        (&[600, 20, 10][..], &[][..], None),
        (&[3, 2][..], &[][..], None),
    ] {
        comes_back(&Model::new(common::use_case(7, sizes, skip, gate)));
    }
}

#[test]
fn convolutions_pools_and_wide_selections_come_back() {
    let mut network = common::pictures(5);
    assert_eq!(network.validate(), Ok(()));
    assert_eq!(network.widths(), [60, 60, 60, 36, 18, 18, 2]);
    comes_back(&Model::new(network.clone()));
    // Weights that encoders like to lose.
    let Op::Conv(conv) = &mut network.nodes[0].op else { panic!("a convolution") };
    (conv.w[0], conv.w[1], conv.b[0]) = (-0.0, 1e-40, -0.0);
    comes_back(&Model::new(network));
    let columns = (0..2000).rev().collect();
    comes_back(&Model::new(Network { inputs: 2000, nodes: vec![Node { op: Op::Select(columns), from: vec![0] }] }));
}

#[test]
fn a_choice_with_its_scores_comes_back() {
    let table = Matrix { rows: 3, cols: 2, data: vec![0.0, 1.0, 1.0, 0.0, 1.0, 1.0] };
    let mut network = common::use_case(3, &[4, 5, 2], &[1], None);
    let scores = network.nodes.len();
    network.nodes.push(Node { op: Op::Dense { w: table.clone(), b: vec![0.0; 3] }, from: vec![scores] });
    network.nodes.push(Node { op: Op::Choose(table), from: vec![scores + 1] });
    assert_eq!(network.scores(), Some(scores));
    let model = Model::new(network);
    comes_back(&model);
    assert!(Model::from_own_bytes(&model.to_bytes().unwrap()).is_ok());
    // Up to the scores it is the network without the choice.
    let until = Model::from_bytes_until(&model.to_bytes().unwrap(), "scores").unwrap().network;
    assert_eq!(until.nodes, model.network.nodes[..scores]);
}

#[test]
fn two_affine_nodes_stay_two() {
    // As Mul, Mul, Add in the wide form these could be mistaken for one.
    for width in [3, 300] {
        let affine = |scale: f32, shift: f32, from| Node {
            op: Op::Affine { scale: vec![scale; width], shift: vec![shift; width] },
            from: vec![from],
        };
        for nodes in [
            vec![affine(2.0, 0.0, 0), affine(1.0, 5.0, 1)],
            vec![affine(1.0, 0.0, 0)],
            vec![affine(2.0, 0.0, 0), affine(1.0, 5.0, 1), Node { op: Op::Concat, from: vec![1, 2] }],
        ] {
            comes_back(&Model::new(Network { inputs: width, nodes }));
        }
    }
}

#[test]
fn an_invalid_network_is_not_written() {
    let dense = Op::Dense { w: Matrix::zeros(1, 2), b: vec![f32::NAN] };
    let model = Model::new(Network { inputs: 2, nodes: vec![Node { op: dense, from: vec![0] }] });
    assert!(matches!(model.to_bytes(), Err(NetworkError::NotFinite { node: 0, what: "bias", .. })));
}

#[test]
fn equal_models_give_equal_bytes() {
    let make = || {
        let mut model = Model::new(common::use_case(3, &[4, 6, 2], &[1], Some(0)));
        model.metadata.extend([("b".into(), "2".into()), ("a".into(), "1".into())]);
        model.to_bytes().unwrap()
    };
    assert_eq!(make(), make());
}
