//! The `MaxSMT` problems that a guard and the rows of a batch make: the engines agree on them.

use std::time::Duration;

use deepsade_check::Bounds;
use deepsade_engine::guard::{Guard, Tightness};
use deepsade_engine::objective::Loss;
use deepsade_engine::train::{Latent, NetworkSettings, PaperSettings, initial_network, search_box, soft_constraints};
use deepsade_engine::units::Units;
use deepsade_net::Op;
use deepsade_solve::maxsmt::{BranchAndBound, FuMalik, MaxSmt, MaxSmtBudget, MaxSmtOutcome, MaxSmtProblem, SolverName};
use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "../../../tests/rust/needs.rs"]
mod needs;

use needs::Need;

needs::tests! {
    z3_agrees_on_batches_of_use_case_2: Need::Solver("z3");
    cvc5_agrees_on_batches_of_use_case_2: Need::Solver("cvc5");
}

const BUDGET: MaxSmtBudget = MaxSmtBudget { time: Duration::from_mins(1), nodes: 100_000 };

/// Batches of the size of use case 2: 10 hidden units and 2 skipped columns, 2 outputs, 5 rows, margins 0, 1 and 2.
fn batches(count: u64) -> Vec<MaxSmtProblem> {
    let feature = |k: usize| Feature { name: format!("f{k}"), domain: Domain::Real { lo: 0.0, hi: 1.0 } };
    let task = Task::Binary { target: "loan".into(), classes: vec!["N".into(), "Y".into()] };
    let schema = Schema { features: (0..13).map(feature).collect(), task, one_hot: OneHot::Full, filled: vec![] };
    let rule = RuleText { name: "no loan".into(), text: "f0 < 0.3 and f1 == 0 => loan == 'N'".into() };
    let spec = compile(&[rule], &schema).unwrap();
    let mut problems = Vec::new();
    for seed in 0..count {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let network = initial_network(&[(0.0, 1.0); 13], &[0, 1], None, 2, &NetworkSettings::default(), seed);
        let dense = network.nodes.iter().filter_map(|n| {
            if let Op::Dense { w, b } = &n.op { Some(w.data.iter().chain(b).copied().collect::<Vec<f32>>()) } else { None }
        });
        let mut parameters: Vec<f32> = dense.flatten().collect();
        let tightness = Tightness { bounds: Bounds::Interval, regions: 1 };
        let mut guard = Guard::new(&spec, &network, &Units::raw(2), tightness).unwrap();
        guard.solve(&mut parameters);
        guard.translate(&parameters);
        let w = &parameters[parameters.len() - 26..];
        let g: Vec<f32> = (0..26).map(|_| rng.random_range(-1.0..1.0)).collect();
        let (lo, hi) = search_box(w, &g, 0.1);
        let z: Vec<f32> = (0..60).map(|_| rng.random_range(0.0..1.5)).collect();
        let truth: Vec<f32> = (0..5).flat_map(|_| if rng.random::<bool>() { [0.0, 1.0] } else { [1.0, 0.0] }).collect();
        let rows = Latent { z: &z, truth: &truth, weight: &[1.0; 5], gate: None, inputs: 12, outputs: 2 };
        let soft = soft_constraints(&rows, Loss::SoftmaxCrossEntropy, &Units::raw(2), &PaperSettings::default());
        problems.push(MaxSmtProblem { soft, ..guard.problem(lo, hi) });
    }
    problems
}

fn z3_agrees_on_batches_of_use_case_2() {
    agrees_on_batches_of_use_case_2(SolverName::Z3);
}

fn cvc5_agrees_on_batches_of_use_case_2() {
    agrees_on_batches_of_use_case_2(SolverName::Cvc5);
}

fn agrees_on_batches_of_use_case_2(name: SolverName) {
    let mut feasible = 0;
    for (k, problem) in batches(12).iter().enumerate() {
        let ours = BranchAndBound.solve(problem, BUDGET).unwrap();
        let theirs = FuMalik { solver: name, ..FuMalik::default() }.solve(problem, BUDGET).unwrap();
        match (&ours, &theirs) {
            (MaxSmtOutcome::Optimal(a), MaxSmtOutcome::Optimal(b)) => {
                assert!((a.satisfied - b.satisfied).abs() < 1e-9, "{} {k}: {} {}", name.name(), a.satisfied, b.satisfied);
                assert!(problem.holds(&a.w) && problem.holds(&b.w), "{} {k}", name.name());
                feasible += 1;
            }
            (MaxSmtOutcome::Infeasible, MaxSmtOutcome::Infeasible) => {}
            other => panic!("{} {k}: {other:?}", name.name()),
        }
    }
    assert!(feasible >= 3, "{}: {feasible}", name.name());
}
