//! Networks that keep rules by their weights, with something behind them: what says whether an input is in the domain is let through,
//! anything else is part of no proof.

mod common;

use common::tail::{Tails, Tensor};
use common::{Rng, accepted, certificate, claimed, dense, leaf, point, rejection, row, rule};
use deepsade_check::step::domain_flag;
use deepsade_check::{Arithmetic, Bounds, Verdict};
use deepsade_net::onnx::piece::Numbers;
use deepsade_net::{Behind, Model, Network, Piece, Port};
use deepsade_spec::{Domain, Feature, OneHot, Schema, Task};

fn schema(one_hot: OneHot) -> Schema {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    Schema {
        features: vec![
            feature("x", Domain::Real { lo: 0.0, hi: 1.0 }),
            feature("k", Domain::Category { levels: ["p", "q", "r"].map(String::from).to_vec() }),
            feature("n", Domain::Integer { lo: -2, hi: 30 }),
        ],
        task: Task::regression(vec!["y".into()]),
        one_hot,
        filled: vec![],
    }
}

/// y = x / 2, of which `y <= 1` is proved, with something behind it.
fn judged(schema: &Schema, behind: Option<Behind>) -> Verdict {
    let columns = schema.columns().len();
    let mut weights = vec![0.0; columns];
    weights[0] = 0.5;
    let network = Network { inputs: columns, nodes: vec![dense(1, columns, weights, vec![0.0], 0)] };
    let mut model = Model { behind, ..Model::new(network) };
    model.metadata.insert("deepsade.schema".into(), schema.to_json());
    let bytes = model.to_bytes().unwrap();
    let rules = [rule("y <= 1")];
    let trees = vec![leaf(Bounds::Interval, vec![vec![1]])];
    let certificate = certificate(&bytes, &rules, schema, Arithmetic::Float32, trees);
    claimed(&bytes, &rules, schema, &certificate.to_json())
}

/// The network's output times a hundred, under names that a step would use.
fn another(outputs: usize) -> Behind {
    let mut piece = Piece::default();
    piece.floats("deepsade.step.factor", &[], vec![100.0]);
    piece.floats("deepsade.step.zero", &[], vec![0.0]);
    piece.call("Mul", &["scores", "deepsade.step.factor"], "deepsade.step.large");
    piece.call("Identity", &["deepsade.step.large"], "y");
    piece.call("Greater", &["y", "deepsade.step.zero"], "in_domain");
    piece.call("Greater", &["y", "deepsade.step.zero"], "ok");
    let ports = [Port::rows("y", "float", Some(1)), Port::rows("in_domain", "bool", Some(1)), Port::rows("ok", "bool", Some(1))];
    Behind { piece, outputs: ports[..outputs].to_vec() }
}

#[test]
fn the_proof_of_a_network_is_none_of_what_is_made_of_its_outputs() {
    let schema = schema(OneHot::Full);
    assert!(accepted(&judged(&schema, None)));
    for outputs in [2, 3] {
        let (at, why) = rejection(&judged(&schema, Some(another(outputs))));
        assert!(at == "model" && why.contains("behind the network"), "{at}: {why}");
    }
}

#[test]
fn a_flag_for_the_domain_is_let_through_and_no_other() {
    for one_hot in [OneHot::Full, OneHot::DropFirst] {
        let schema = schema(one_hot);
        let flag = domain_flag(&schema);
        assert!(accepted(&judged(&schema, Some(flag.clone()))), "{:?}", rejection(&judged(&schema, Some(flag.clone()))));
        // Of another domain.
        let mut wider = schema.clone();
        wider.features[0].domain = Domain::Real { lo: 0.0, hi: 2.0 };
        assert!(!accepted(&judged(&schema, Some(domain_flag(&wider)))));
        for k in 0..flag.piece.tensors.len() {
            let mut forged = flag.clone();
            match &mut forged.piece.tensors[k].data {
                Numbers::Float(data) => data[0] += 1.0,
                Numbers::Int(data) => data[0] += 1,
            }
            assert!(!accepted(&judged(&schema, Some(forged))), "{}", flag.piece.tensors[k].name);
        }
        for k in 0..flag.piece.calls.len() {
            let mut forged = flag.clone();
            forged.piece.calls[k].op = "Abs".into();
            assert!(!accepted(&judged(&schema, Some(forged))), "{}", flag.piece.calls[k].makes);
        }
        let mut forged = flag.clone();
        forged.outputs.swap(0, 1);
        assert!(!accepted(&judged(&schema, Some(forged))));
    }
}

#[test]
fn the_flag_says_whether_an_input_is_in_the_domain() {
    let mut rng = Rng(7);
    for one_hot in [OneHot::Full, OneHot::DropFirst] {
        let schema = schema(one_hot);
        let flag = domain_flag(&schema);
        let mut said = |row: Vec<f32>| {
            let flush = rng.below(2) == 0;
            let given = [("x", Tensor::rows(row.len(), row.clone())), ("scores", Tensor::rows(1, vec![3.5]))];
            let known = Tails { rng: &mut rng, flush }.run(&flag.piece, &given);
            assert_eq!(known["y"].data, [3.5]);
            known["in_domain"].data == [1.0]
        };
        let mut points = Rng(11);
        for _ in 0..500 {
            let inside = row(&schema, &point(&schema, &mut points));
            assert!(said(inside.clone()), "{inside:?}");
            for (k, value) in [(0, 1.0f32.next_up()), (0, -0.01), (0, f32::NAN), (0, f32::INFINITY), (1, 0.5), (1, 2.0)] {
                let mut outside = inside.clone();
                outside[k] = value;
                assert!(!said(outside.clone()), "{outside:?}");
            }
            let last = inside.len() - 1;
            for value in [-3.0, 31.0, 0.5, f32::NEG_INFINITY, f32::NAN] {
                let mut outside = inside.clone();
                outside[last] = value;
                assert!(!said(outside.clone()), "{outside:?}");
            }
        }
    }
}
