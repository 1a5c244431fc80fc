//! What is said of a tree does not depend on how many threads go through its leaves.

mod common;

use common::{act, certificate, dense, leaf, model, rule};
use deepsade_check::{Bounds, Misfit, Rejected, Step, Tree, Verdict, Why, check_until};
use deepsade_net::{Activation, Network};
use deepsade_spec::{Claim, Cut, Domain, Feature, OneHot, Schema, Task};

/// The halves of [lo, hi], of their halves, and so on, so many times; leaves whose numbers are listed have no multipliers.
fn halved(lo: f32, hi: f32, depth: usize, first: usize, bad: &[usize]) -> Tree {
    if depth == 0 {
        return leaf(Bounds::Inherited, if bad.contains(&first) { vec![] } else { vec![vec![1]] });
    }
    let middle = f32::midpoint(lo, hi);
    let below = Box::new(halved(lo, middle, depth - 1, first, bad));
    let above = Box::new(halved(middle, hi, depth - 1, first + (1 << (depth - 1)), bad));
    Tree::Split { feature: 0, cut: Cut::At(middle), below, above }
}

/// y = |x| on [-1, 1], and a tree of 256 leaves.
fn judged(threads: usize, bad: &[usize], stop: &(dyn Fn() -> bool + Sync)) -> Verdict {
    let nodes = vec![
        dense(2, 1, vec![1.0, -1.0], vec![0.0, 0.0], 0),
        act(Activation::Relu, 1),
        dense(1, 2, vec![1.0, 1.0], vec![0.0], 2),
    ];
    let network = Network { inputs: 1, nodes };
    let features = vec![Feature { name: "x".into(), domain: Domain::Real { lo: -1.0, hi: 1.0 } }];
    let schema = Schema { features, task: Task::regression(vec!["y".into()]), one_hot: OneHot::Full, filled: vec![] };
    let (bytes, rules) = (model(&network, &schema), [rule("y <= 1.25")]);
    let text = certificate(&bytes, &rules, &schema, deepsade_check::Arithmetic::Float32, vec![halved(-1.0, 1.0, 8, 0, bad)]);
    check_until(&bytes, &Claim { schema, rules: rules.to_vec() }, &text.to_json(), threads, stop)
}

#[test]
fn every_leaf_is_judged_once() {
    let alone = judged(1, &[], &|| false);
    let Verdict::Accepted(proof) = &alone else { panic!("|x| <= 1: {alone:?}") };
    assert_eq!((proof.rules[0].regions, proof.rules[0].cells), (256, 256));
    assert!((0.2499..0.25).contains(&proof.rules[0].margin), "{}", proof.rules[0].margin);
    for threads in [0, 2, 3, 8] {
        assert_eq!(judged(threads, &[], &|| false), alone, "{threads} threads");
    }
}

#[test]
fn the_first_leaf_that_fails_is_named() {
    for (bad, first) in [(vec![0], 0usize), (vec![255], 255), (vec![200, 77, 78], 77), (vec![31, 32, 64], 31)] {
        let path: Vec<bool> = (0..8).rev().map(|bit| (first >> bit) & 1 == 1).collect();
        let at = Step::Rule { rule: 0, name: "y <= 1.25".into(), path, cell: Some(0) };
        let rejected = Verdict::Rejected(Rejected { at, why: Why::Misfit(Misfit::NoMultipliers) });
        for threads in [1, 2, 5] {
            for _ in 0..10 {
                assert_eq!(judged(threads, &bad, &|| false), rejected, "{threads} threads");
            }
        }
    }
}

#[test]
fn a_stop_ends_all_threads_without_a_proof() {
    for threads in [1, 4] {
        assert!(matches!(judged(threads, &[], &|| true), Verdict::Rejected(Rejected { why: Why::Stopped, .. })));
    }
}
