//! One suite over all `MaxSMT` engines: problems whose optimum brute force knows, and solvers that are missing, hang or die.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use deepsade_solve::maxsmt::problem::{Clause, LatentBox, LayerAtom, LayerForm, LayerRow, Soft};
use deepsade_solve::maxsmt::smtlib::Quantifiers;
use deepsade_solve::maxsmt::{
    BranchAndBound, FuMalik, LocalSearch, MaxSmt, MaxSmtBudget, MaxSmtOutcome, MaxSmtProblem, SolverName, Unsolved,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "../../../tests/rust/needs.rs"]
mod needs;

#[cfg(unix)]
use fake::{one_that_dies_or_talks_nonsense_is_unknown, one_that_hangs_is_killed_at_its_limit};
use needs::Need;

needs::tests! {
    branch_and_bound_equals_brute_force;
    local_search_never_promises_too_much;
    fu_malik_over_z3_equals_brute_force: Need::Solver("z3");
    fu_malik_over_cvc5_equals_brute_force: Need::Solver("cvc5");
    kept_quantifiers_ask_the_same_of_cells_of_one_atom: Need::Solver("z3");
    a_small_budget_gives_a_solution_and_a_bound_that_hold;
    a_missing_solver_names_the_package_to_install;
    #[cfg(unix)]
    one_that_hangs_is_killed_at_its_limit;
    #[cfg(unix)]
    one_that_dies_or_talks_nonsense_is_unknown;
    the_replay_file_can_be_replayed: Need::Solver("z3");
}

const BUDGET: MaxSmtBudget = MaxSmtBudget { time: Duration::from_mins(1), nodes: 100_000 };

/// A random problem with few unknowns: soft rows of one or two rows, clauses of one or two choices.
fn random(seed: u64) -> MaxSmtProblem {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (inputs, outputs) = [(1, 1), (2, 1), (1, 2)][rng.random_range(0..3)];
    let n = inputs * outputs + outputs;
    let lo: Vec<f64> = (0..n).map(|_| rng.random_range(-1.0..0.5)).collect();
    let hi: Vec<f64> = lo.iter().map(|lo| lo + rng.random_range(0.2..1.5)).collect();
    let latent = LatentBox {
        m: (0..inputs).map(|_| rng.random_range(-1.0..1.0)).collect(),
        r: (0..inputs).map(|_| if rng.random_range(0..4) == 0 { 0.0 } else { rng.random_range(0.0..1.0) }).collect(),
    };
    let mut form = || {
        let alpha = (0..outputs).map(|j| (j, rng.random_range(-1.0..1.0))).collect();
        let c = vec![(rng.random_range(0..inputs), rng.random_range(-0.5..0.5))];
        LayerForm { alpha, c, constant: rng.random_range(-1.5..0.6) }
    };
    let clause = |forms: Vec<LayerForm>| Clause {
        rule: "r".into(),
        latent: 0,
        atoms: forms.iter().map(|form| LayerAtom { form: form.clone(), gate: 0.0 }).collect(),
        choices: forms.into_iter().map(|form| vec![form]).collect(),
        gate: (1.0, 1.0),
    };
    let hard = match seed % 4 {
        0 => vec![],
        1 => vec![clause(vec![form()])],
        2 => vec![clause(vec![form(), form()])],
        _ => vec![clause(vec![form()]), clause(vec![form(), form()])],
    };
    let weighted = seed.is_multiple_of(3);
    let soft = (0..rng.random_range(1..7))
        .map(|_| {
            let row = |rng: &mut ChaCha8Rng| {
                let a = (0..n).map(|k| (k, rng.random_range(-1.0..1.0))).collect();
                LayerRow { a, c: rng.random_range(-1.0..0.7) }
            };
            let rows = (0..rng.random_range(1..3)).map(|_| row(&mut rng)).collect();
            Soft { rows, weight: if weighted { f64::from(rng.random_range(1..5)) / 2.0 } else { 1.0 } }
        })
        .collect();
    MaxSmtProblem { inputs, outputs, lo, hi, hard, boxes: vec![latent], soft, start: None }
}

/// The optimum by enumeration: constraints are closed, so the best set of them holds at a vertex of the arrangement of all their
/// planes, those of the box and, for K', those at all corners of what the last layer reads.
fn brute_force(problem: &MaxSmtProblem) -> Option<f64> {
    let n = problem.lo.len();
    let mut planes: Vec<(Vec<f64>, f64)> = Vec::new();
    for k in 0..n {
        let axis: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i == k))).collect();
        planes.push((axis.clone(), -problem.lo[k]));
        planes.push((axis, -problem.hi[k]));
    }
    let dense = |row: &LayerRow| {
        let mut a = vec![0.0; n];
        row.a.iter().for_each(|(k, v)| a[*k] += v);
        (a, row.c)
    };
    planes.extend(problem.soft.iter().flat_map(|s| &s.rows).map(dense));
    let latent = &problem.boxes[0];
    for form in problem.hard.iter().flat_map(|c| c.choices.iter().flatten()) {
        for corner in 0..1 << problem.inputs {
            let v: Vec<f64> = (0..problem.inputs)
                .map(|k| if corner >> k & 1 == 1 { latent.m[k] + latent.r[k] } else { latent.m[k] - latent.r[k] })
                .collect();
            planes.push(dense(&form.at(&v, problem.inputs, problem.outputs)));
        }
    }
    let mut best = None;
    let mut chosen = Vec::new();
    vertices(&planes, n, 0, &mut chosen, &mut |w| {
        if problem.holds(w) {
            let satisfied = problem.satisfied(w);
            best = Some(best.map_or(satisfied, |b: f64| b.max(satisfied)));
        }
    });
    best
}

fn vertices(planes: &[(Vec<f64>, f64)], n: usize, from: usize, chosen: &mut Vec<usize>, visit: &mut impl FnMut(&[f64])) {
    if chosen.len() == n {
        if let Some(w) = intersection(planes, chosen) {
            visit(&w);
        }
        return;
    }
    for p in from..planes.len() {
        chosen.push(p);
        vertices(planes, n, p + 1, chosen, visit);
        chosen.pop();
    }
}

/// Gauss elimination with pivoting.
fn intersection(planes: &[(Vec<f64>, f64)], chosen: &[usize]) -> Option<Vec<f64>> {
    let n = chosen.len();
    let mut a: Vec<Vec<f64>> = chosen.iter().map(|p| planes[*p].0.iter().copied().chain([-planes[*p].1]).collect()).collect();
    for c in 0..n {
        let r = (c..n).max_by(|x, y| a[*x][c].abs().total_cmp(&a[*y][c].abs()))?;
        a.swap(c, r);
        if a[c][c].abs() < 1e-7 {
            return None;
        }
        for r in 0..n {
            if r != c {
                let f = a[r][c] / a[c][c];
                let pivot = a[c].clone();
                a[r].iter_mut().zip(&pivot).skip(c).for_each(|(v, p)| *v -= f * p);
            }
        }
    }
    Some((0..n).map(|c| a[c][n] / a[c][c]).collect())
}

/// An engine that says `Optimal` must be right, and its weights must hold.
fn agrees(name: &str, seed: u64, problem: &MaxSmtProblem, outcome: &MaxSmtOutcome, expected: Option<f64>) {
    match (outcome, expected) {
        (MaxSmtOutcome::Infeasible, None) => {}
        (MaxSmtOutcome::Optimal(solution), Some(best)) => {
            assert!((solution.satisfied - best).abs() < 1e-9, "{name}, {seed}: {} instead of {best}", solution.satisfied);
            assert!(problem.holds(&solution.w), "{name}, {seed}: {:?}", solution.w);
        }
        other => panic!("{name}, {seed}: {other:?}"),
    }
}

fn branch_and_bound_equals_brute_force() {
    let mut infeasible = 0;
    for seed in 0..500 {
        let problem = random(seed);
        let expected = brute_force(&problem);
        infeasible += usize::from(expected.is_none());
        agrees("branch-and-bound", seed, &problem, &BranchAndBound.solve(&problem, BUDGET).unwrap(), expected);
    }
    assert!((20..250).contains(&infeasible), "both kinds occur: {infeasible} of 500");
}

fn local_search_never_promises_too_much() {
    let (mut reached, mut possible) = (0, 0);
    for seed in 0..500 {
        let problem = random(seed);
        let expected = brute_force(&problem);
        possible += usize::from(expected.is_some());
        match (LocalSearch.solve(&problem, BUDGET).unwrap(), expected) {
            (MaxSmtOutcome::Optimal(s), Some(best)) => {
                assert!((s.satisfied - best).abs() < 1e-9, "{seed}");
                reached += 1;
            }
            (MaxSmtOutcome::Feasible { solution, bound }, Some(best)) => {
                assert!(problem.holds(&solution.w) && solution.satisfied <= best + 1e-9 && bound >= best - 1e-9, "{seed}");
                reached += usize::from(solution.satisfied >= best - 1e-9);
            }
            (MaxSmtOutcome::Unknown(_), _) => {}
            other => panic!("{seed}: {other:?}"),
        }
    }
    assert!(reached * 10 >= possible * 8, "mostly it is the optimum: {reached} of {possible}");
}

fn fu_malik_equals_brute_force(name: SolverName) {
    for seed in 0..500 {
        let problem = random(seed);
        let mut engine = FuMalik { solver: name, ..FuMalik::default() };
        agrees(name.name(), seed, &problem, &engine.solve(&problem, BUDGET).unwrap(), brute_force(&problem));
    }
}

fn fu_malik_over_z3_equals_brute_force() {
    fu_malik_equals_brute_force(SolverName::Z3);
}

fn fu_malik_over_cvc5_equals_brute_force() {
    fu_malik_equals_brute_force(SolverName::Cvc5);
}

/// With quantifiers kept the solver may pick another atom at each input, so it is at least as good; with one choice it is equal.
fn kept_quantifiers_ask_the_same_of_cells_of_one_atom() {
    let mut decided = 0;
    for seed in (0..40).map(|k| 4 * k + 1) {
        let problem = random(seed);
        let mut engine = FuMalik { quantifiers: Quantifiers::Keep, ..FuMalik::default() };
        let outcome = engine.solve(&problem, MaxSmtBudget { time: Duration::from_secs(5), ..BUDGET }).unwrap();
        if !matches!(outcome, MaxSmtOutcome::Unknown(_) | MaxSmtOutcome::Feasible { .. }) {
            agrees("z3, kept", seed, &problem, &outcome, brute_force(&problem));
            decided += 1;
        }
    }
    assert!(decided >= 30, "{decided} of 40");
}

fn a_small_budget_gives_a_solution_and_a_bound_that_hold() {
    for seed in 0..100 {
        let problem = random(seed);
        let expected = brute_force(&problem);
        match (BranchAndBound.solve(&problem, MaxSmtBudget { nodes: 1, ..BUDGET }).unwrap(), expected) {
            (MaxSmtOutcome::Feasible { solution, bound }, Some(best)) => {
                assert!(
                    solution.satisfied <= best + 1e-9 && bound >= best - 1e-9,
                    "{seed}: {} {best} {bound}",
                    solution.satisfied
                );
            }
            (MaxSmtOutcome::Unknown(Unsolved::MaxSmtBudget), _) => {}
            (outcome, expected) => agrees("one node", seed, &problem, &outcome, expected),
        }
    }
}

fn with_program(program: impl Into<OsString>) -> FuMalik {
    FuMalik { program: Some(program.into()), ..FuMalik::default() }
}

fn a_missing_solver_names_the_package_to_install() {
    for (name, packages) in [(SolverName::Z3, ["package z3", "z3-solver"]), (SolverName::Cvc5, ["package cvc5", "DEEPSADE_CVC5"])]
    {
        let mut engine = FuMalik { solver: name, ..with_program("/no/such/solver") };
        let message = engine.solve(&random(1), BUDGET).unwrap_err().to_string();
        assert!(packages.iter().all(|package| message.contains(package)), "{message}");
        assert!(message.contains("/no/such/solver") && message.contains("branch-and-bound"), "{message}");
    }
}

#[cfg(unix)]
mod fake {
    use super::{
        BUDGET, Duration, FuMalik, Instant, MaxSmt, MaxSmtBudget, MaxSmtOutcome, MaxSmtProblem, Unsolved, random, with_program,
    };
    use std::os::unix::fs::PermissionsExt;

    /// A solver that runs this shell script.
    fn script(folder: &std::path::Path, text: &str) -> FuMalik {
        let path = folder.join("solver");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        with_program(path)
    }

    /// More than fits into a pipe, so that writing would block, too.
    fn large() -> MaxSmtProblem {
        let mut problem = random(2);
        problem.soft = (0..5000).map(|_| problem.soft[0].clone()).collect();
        problem
    }

    pub fn one_that_hangs_is_killed_at_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["exec sleep 900", "echo sat; exec sleep 900", "trap '' TERM; while true; do sleep 1; done"] {
            let mut engine = script(folder.path(), text);
            let started = Instant::now();
            let outcome = engine.solve(&large(), MaxSmtBudget { time: Duration::from_millis(300), nodes: 1 }).unwrap();
            assert_eq!(outcome, MaxSmtOutcome::Unknown(Unsolved::MaxSmtBudget), "{text}");
            // Not at the end of its sleep; a limit that a busy machine keeps, too.
            assert!(started.elapsed() < Duration::from_mins(5), "{text}");
        }
    }

    pub fn one_that_dies_or_talks_nonsense_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["exit 1", "echo '(error \"no\")'; exec sleep 60", "echo maybe; exec sleep 60", "echo ')('; exec sleep 60"] {
            let mut engine = script(folder.path(), text);
            let outcome = engine.solve(&large(), BUDGET).unwrap();
            assert!(matches!(outcome, MaxSmtOutcome::Unknown(Unsolved::Failed(_))), "{text}: {outcome:?}");
        }
        let mut engine = script(folder.path(), "echo unknown; exec sleep 60");
        assert_eq!(engine.solve(&large(), BUDGET).unwrap(), MaxSmtOutcome::Unknown(Unsolved::Solver));
    }
}

/// The replay file holds a script that a solver reads from the beginning to the end.
fn the_replay_file_can_be_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replay.smt2");
    let problem = random(6);
    let mut engine = FuMalik { replay: Some(path.clone()), ..FuMalik::default() };
    engine.solve(&problem, BUDGET).unwrap();
    let output = std::process::Command::new(SolverName::Z3.program()).arg(&path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("sat") && !text.contains("error"), "{text}");
}
