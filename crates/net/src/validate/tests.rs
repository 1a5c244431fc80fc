//! Each refusal names the node and both shapes.

use super::NetworkError as E;
use crate::{Activation, Matrix, Network, Node, Op};

fn network(nodes: Vec<(Op, Vec<usize>)>) -> Network {
    Network { inputs: 3, nodes: nodes.into_iter().map(|(op, from)| Node { op, from }).collect() }
}

fn dense(rows: usize, cols: usize) -> Op {
    Op::Dense { w: Matrix::zeros(rows, cols), b: vec![0.0; rows] }
}

fn refused(nodes: Vec<(Op, Vec<usize>)>) -> E {
    network(nodes).validate().expect_err("must be refused")
}

#[test]
fn a_network_with_every_operation_is_accepted() {
    let net = network(vec![
        (Op::Affine { scale: vec![1.0; 3], shift: vec![0.5; 3] }, vec![0]),
        (dense(4, 3), vec![1]),
        (Op::Act(Activation::Tanh), vec![2]),
        (Op::Select(vec![2, 0]), vec![0]),
        (Op::Concat, vec![3, 4]),
        (Op::Select(vec![1]), vec![0]),
        (Op::Gate, vec![5, 6]),
    ]);
    assert_eq!(net.validate(), Ok(()));
    assert_eq!((net.outputs(), net.widths()), (6, vec![3, 3, 4, 4, 2, 6, 1, 6]));
    assert_eq!((net.width(5), net.width(8)), (Some(6), None));
}

#[test]
fn widths_must_agree() {
    let error = refused(vec![(dense(4, 3), vec![0]), (dense(2, 5), vec![1])]);
    assert_eq!(error, E::Width { node: 1, op: "dense", expected: 5, value: 1, found: 4 });
    assert_eq!(error.to_string(), "node 1 (dense) expects width 5, but value 1 that it reads has width 4");
    let gate = refused(vec![(Op::Select(vec![0, 1]), vec![0]), (Op::Gate, vec![0, 1])]);
    assert_eq!(gate, E::Width { node: 1, op: "gate", expected: 1, value: 1, found: 2 });
    let affine = Op::Affine { scale: vec![1.0; 2], shift: vec![0.0; 2] };
    assert!(matches!(refused(vec![(affine, vec![0])]), E::Width { expected: 2, found: 3, .. }));
}

#[test]
fn indices_must_point_backward() {
    assert_eq!(refused(vec![(Op::Concat, vec![0, 1])]), E::ReadsAhead { node: 0, op: "concat", value: 1 });
    assert!(matches!(refused(vec![(Op::Concat, vec![])]), E::Arity { node: 0, found: 0, .. }));
    assert!(matches!(refused(vec![(Op::Gate, vec![0])]), E::Arity { expected: "2", .. }));
    assert!(matches!(refused(vec![(dense(1, 3), vec![0, 0])]), E::Arity { found: 2, .. }));
}

#[test]
fn parameters_must_be_complete_and_finite() {
    let short = Op::Dense { w: Matrix { rows: 2, cols: 3, data: vec![0.0; 5] }, b: vec![0.0; 2] };
    assert_eq!(
        refused(vec![(short, vec![0])]),
        E::Parameters { node: 0, op: "dense", what: "weight matrix", expected: 6, found: 5 }
    );
    let lopsided = Op::Affine { scale: vec![1.0; 3], shift: vec![] };
    assert!(matches!(refused(vec![(lopsided, vec![0])]), E::Parameters { what: "shift", .. }));
    let infinite = Op::Affine { scale: vec![1.0; 3], shift: vec![0.0, f32::INFINITY, 0.0] };
    assert!(matches!(refused(vec![(infinite, vec![0])]), E::NotFinite { what: "shift", position: 1, .. }));
    let nan = Op::Dense { w: Matrix { rows: 1, cols: 3, data: vec![0.0, 0.0, f32::NAN] }, b: vec![0.0] };
    assert!(matches!(refused(vec![(nan, vec![0])]), E::NotFinite { position: 2, .. }));
    let huge = Op::Dense { w: Matrix { rows: usize::MAX, cols: 3, data: vec![] }, b: vec![] };
    assert!(matches!(refused(vec![(huge, vec![0])]), E::Parameters { .. }));
}

#[test]
fn nothing_is_empty_or_unread() {
    assert_eq!(Network { inputs: 0, nodes: vec![] }.validate(), Err(E::NoInputs));
    assert_eq!(Network { inputs: 2, nodes: vec![] }.validate(), Ok(()));
    assert_eq!(refused(vec![(Op::Select(vec![]), vec![0])]), E::Empty { node: 0, op: "select" });
    assert_eq!(refused(vec![(Op::Select(vec![3]), vec![0])]), E::Column { node: 0, column: 3, value: 0, width: 3 });
    assert_eq!(refused(vec![(dense(1, 3), vec![0]), (dense(1, 3), vec![0])]), E::Unread { node: 0, op: "dense" });
}
