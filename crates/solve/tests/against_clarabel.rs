//! Random programs, asked of our own solvers and of Clarabel, an interior-point solver that shares no code with them.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SolverStatus};
use deepsade_solve::active_set::{HalfSpace, nearest};
use deepsade_solve::game::Game;
use deepsade_solve::program::{Condition, weights};
use deepsade_solve::simplex::{Simplex, Status};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const PROBLEMS: u64 = 300;

/// `a.x + c >= 0`.
type Row = (Vec<f64>, f64);

/// The least `|x|^2 / 2 * quadratic + cost.x` where all rows hold; `None` if they never do, an end of the test if Clarabel can't tell.
fn least(quadratic: bool, cost: &[f64], rows: &[Row]) -> Option<(f64, Vec<f64>)> {
    let n = cost.len();
    let p = if quadratic { CscMatrix::identity(n) } else { CscMatrix::zeros((n, n)) };
    let numbers: Vec<f64> = (0..n).flat_map(|v| rows.iter().map(move |(a, _)| -a[v])).collect();
    let starts = (0..=n).map(|v| v * rows.len()).collect();
    let places = (0..n).flat_map(|_| 0..rows.len()).collect();
    let a = CscMatrix::new(rows.len(), n, starts, places, numbers);
    let b: Vec<f64> = rows.iter().map(|(_, c)| *c).collect();
    let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
    let mut solver =
        DefaultSolver::new(&p, cost, &a, &b, &[NonnegativeConeT(rows.len())], settings).expect("a well-formed program");
    solver.solve();
    match solver.solution.status {
        SolverStatus::Solved => Some((solver.solution.obj_val, solver.solution.x.clone())),
        SolverStatus::PrimalInfeasible | SolverStatus::AlmostPrimalInfeasible => None,
        other => panic!("Clarabel ends with {other:?}"),
    }
}

fn numbers(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.random::<f64>() * 2.0 - 1.0).collect()
}

fn random_rows(rng: &mut ChaCha8Rng, n: usize) -> Vec<Row> {
    (0..rng.random_range(0..2 * n + 2)).map(|_| (numbers(rng, n), rng.random::<f64>() * 1.2 - 0.8)).collect()
}

/// `-1 <= x <= 1` as rows.
fn unit_box(n: usize) -> impl Iterator<Item = Row> {
    let side = move |k: usize| ((0..n).map(|v| if v == k % n { if k < n { 1.0 } else { -1.0 } } else { 0.0 }).collect(), 1.0);
    (0..2 * n).map(side)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn linear_programs() {
    let (mut solved, mut never) = (0, 0);
    for seed in 0..PROBLEMS {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n = rng.random_range(1..9);
        let (cost, rows) = (numbers(&mut rng, n), random_rows(&mut rng, n));
        let mut lp = Simplex::new(cost.clone(), vec![-1.0; n], vec![1.0; n]);
        rows.iter().for_each(|(a, c)| lp.add_row(&a.iter().copied().enumerate().collect::<Vec<_>>(), *c));
        let status = lp.solve(1000);
        let all: Vec<Row> = rows.iter().cloned().chain(unit_box(n)).collect();
        // The same maximum through the weights of the conditions: the dual program.
        let conditions: Vec<Condition> = rows.iter().map(|(g, h)| Condition { g: g.clone(), h: *h }).collect();
        let goal: Vec<f64> = cost.iter().map(|c| -c).collect();
        let w = weights(&goal, &conditions, &vec![-1.0; n], &vec![1.0; n]);
        let total = |v: usize| goal[v] + rows.iter().zip(&w).map(|((g, _), w)| w * g[v]).sum::<f64>();
        let bound = rows.iter().zip(&w).map(|((_, h), w)| w * h).sum::<f64>() + (0..n).map(|v| total(v).abs()).sum::<f64>();
        if let Some((value, _)) = least(false, &cost, &all) {
            assert_eq!(status, Status::Optimal, "program {seed}");
            assert!((lp.objective() - value).abs() < 1e-6, "program {seed}: {} and {value}", lp.objective());
            assert!((bound + value).abs() < 1e-6, "program {seed}: bound {bound}, optimum {}", -value);
            solved += 1;
        } else {
            assert_eq!(status, Status::Infeasible, "program {seed}");
            assert!(bound < -1.0, "program {seed}: {bound} for what is impossible");
            never += 1;
        }
    }
    assert!(solved > 50 && never > 50, "{solved} solved, {never} infeasible");
}

#[test]
fn games() {
    for seed in 0..PROBLEMS {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (n, m) = (rng.random_range(1..7), rng.random_range(1..20));
        let rows: Vec<Vec<f64>> = (0..m).map(|_| numbers(&mut rng, n)).collect();
        let mut game = Game::new(n, 1.0);
        assert!(rows.iter().all(|row| game.add(row)), "game {seed}");
        let (l, value) = game.mixture();
        // Least t with t - a.l >= 0 for every row, l >= 0, sum l = 1.
        let signed = |l: f64, t: f64| (0..n).map(|_| l).chain([t]).collect::<Vec<f64>>();
        let above = rows.iter().map(|a| (a.iter().map(|a| -a).chain([1.0]).collect::<Vec<f64>>(), 0.0));
        let positive = (0..n).map(|k| ((0..=n).map(|v| f64::from(u8::from(v == k))).collect(), 0.0));
        let one = [(signed(1.0, 0.0), -1.0), (signed(-1.0, 0.0), 1.0)];
        let all: Vec<Row> = above.chain(positive).chain(one).collect();
        let (best, _) = least(false, &signed(0.0, 1.0), &all).expect("every game has a value");
        assert!((value - best).abs() < 1e-6, "game {seed}: {value} and {best}");
        assert!((l.iter().sum::<f64>() - 1.0).abs() < 1e-9 && l.iter().all(|l| *l >= 0.0), "game {seed}: {l:?}");
    }
}

#[test]
fn nearest_points() {
    let (mut solved, mut never) = (0, 0);
    for seed in 0..PROBLEMS {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let n = rng.random_range(1..9);
        let p: Vec<f64> = numbers(&mut rng, n).iter().map(|v| 3.0 * v).collect();
        let mut rows: Vec<Row> = random_rows(&mut rng, n).into_iter().chain(unit_box(n)).collect();
        for (a, c) in &mut rows {
            let length = dot(a, a).sqrt();
            a.iter_mut().for_each(|a| *a /= length);
            *c /= length;
        }
        let half_spaces: Vec<HalfSpace> = rows.iter().map(|(a, c)| HalfSpace { a, c: *c }).collect();
        let ours = nearest(&p, &half_spaces);
        // |y - p|^2 / 2 is |y|^2 / 2 - p.y and a constant.
        let cost: Vec<f64> = p.iter().map(|p| -p).collect();
        if let Some((_, y)) = least(true, &cost, &rows) {
            let ours = ours.unwrap_or_else(|e| panic!("program {seed}: {e}"));
            // An interior point is near the optimum in value, and less so in place: ours is inside, and no farther away.
            assert!(rows.iter().all(|(a, c)| dot(a, &ours.y) + c > -1e-9), "program {seed}: {:?} is outside", ours.y);
            let distance = |y: &[f64]| y.iter().zip(&p).map(|(y, p)| (y - p).powi(2)).sum::<f64>();
            assert!(distance(&ours.y) < distance(&y) + 1e-6, "program {seed}: {:?} and {y:?}", ours.y);
            solved += 1;
        } else {
            assert!(ours.is_err(), "program {seed}: {ours:?}");
            never += 1;
        }
    }
    assert!(solved > 50 && never > 20, "{solved} solved, {never} infeasible");
}
