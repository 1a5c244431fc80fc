//! The `MaxSMT` engines on the same batches of use case 2; one JSON line an engine.
//!
//!     cargo bench -p deepsade-engine --bench maxsmt -- --data ../shared/data [--batches 100] [--kept 5]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use deepsade_engine::fit;
use deepsade_engine::gate;
use deepsade_engine::guard::Guard;
use deepsade_engine::problem::Problem as RuleFile;
use deepsade_engine::train::{Optimiser, OptimiserName, Stepper, TrainSettings, search_box, soft_constraints};
use deepsade_engine::units::Units;
use deepsade_solve::maxsmt::smtlib::Quantifiers;
use deepsade_solve::maxsmt::{
    BranchAndBound, FuMalik, LocalSearch, MaxSmt, MaxSmtBudget, MaxSmtOutcome, MaxSmtProblem, SolverName,
};

fn option(name: &str) -> Option<String> {
    std::env::args().skip_while(|a| a != name).nth(1)
}

/// The problems of the first batches: training goes on by gradient step and projection, so all engines see the same.
fn batches(count: usize) -> Vec<MaxSmtProblem> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = option("--data").map_or(root.join("../shared/data"), PathBuf::from);
    let file = RuleFile::read(&root.join("examples/uc2.toml")).expect("the example is there");
    let file = file.with_data(Some(&data)).expect("the data are there: --data DIR");
    let (spec, loaded) = file.load(&mut |_| ()).expect("the data are there: --data DIR");
    let settings = file.data.clone().expect("the example has data");
    let rows = fit::rows(&spec, &loaded.expect("rows"), &settings, settings.seed).expect("rows");
    let train = rows.all.select(&rows.split.train);
    let network = gate::network(&spec, file.network(), None, settings.seed);
    let (loss, units) = (fit::loss(&spec.schema.task), Units::raw(spec.schema.task.outputs()));
    let mut guard = Guard::new(&spec, &network, &units, file.train().tightness()).expect("rules that can be met");
    let mut stepper = Stepper::new(&network, file.train().batch).expect("a network");
    let prepared = stepper.prepare(&train.x, &train.y, &train.weight);
    guard.solve(stepper.parameters_mut());
    let paper = &file.train().paper;
    let descent = TrainSettings {
        optimiser: OptimiserName::Sgd,
        learning_rate: paper.learning_rate,
        weight_decay: 0.0,
        ..file.train().clone()
    };
    let mut optimiser = Optimiser::new(&descent, stepper.parameters().len());
    let order: Vec<usize> = (0..train.weight.len()).collect();
    let mut problems = Vec::new();
    for batch in order.chunks(file.train().batch).cycle() {
        if problems.len() == count {
            break;
        }
        stepper.load(&prepared, batch.iter().copied());
        stepper.gradient(loss);
        let (last, hidden) = (stepper.last_range(), stepper.hidden_range());
        guard.translate(stepper.parameters());
        let (lo, hi) = search_box(&stepper.parameters()[last.clone()], &stepper.parameter_gradient()[last.clone()], paper.alpha);
        let soft = soft_constraints(&stepper.latent(), loss, &units, paper);
        problems.push(MaxSmtProblem { soft, ..guard.problem(lo, hi) });
        // The last layer first, then the hidden layers: as in the paper, K' may not hold when the next batch begins.
        optimiser.begin();
        stepper.apply(&mut optimiser, last);
        guard.solve(stepper.parameters_mut());
        stepper.apply(&mut optimiser, hidden);
    }
    problems
}

fn measure(name: &str, engine: &mut dyn MaxSmt, problems: &[MaxSmtProblem]) {
    let budget = MaxSmtBudget { time: Duration::from_secs(5), nodes: 2000 };
    let mut counts = [0usize; 4];
    let mut satisfied = Vec::new();
    let mut seconds = Vec::new();
    for problem in problems {
        let started = Instant::now();
        let outcome = match engine.solve(problem, budget) {
            Ok(outcome) => outcome,
            Err(error) => return println!("{}", serde_json::json!({"engine": name, "skipped": error.to_string()})),
        };
        seconds.push(started.elapsed().as_secs_f64());
        let kind = match &outcome {
            MaxSmtOutcome::Optimal(_) => 0,
            MaxSmtOutcome::Feasible { .. } => 1,
            MaxSmtOutcome::Infeasible => 2,
            MaxSmtOutcome::Unknown(_) => 3,
        };
        counts[kind] += 1;
        satisfied.push(outcome.solution().map(|s| s.satisfied));
    }
    seconds.sort_by(f64::total_cmp);
    let total: f64 = satisfied.iter().flatten().sum();
    let line = serde_json::json!({
        "engine": name, "batches": problems.len(), "optimal": counts[0], "feasible": counts[1], "infeasible": counts[2],
        "unknown": counts[3], "satisfied": total, "soft": problems.iter().map(|p| p.soft.len()).sum::<usize>(),
        "median_ms": 1e3 * seconds[seconds.len() / 2], "total_s": seconds.iter().sum::<f64>(),
    });
    println!("{line}");
}

fn main() {
    let number = |name: &str, default| option(name).map_or(default, |n| n.parse().expect("a number"));
    let problems = batches(number("--batches", 100));
    measure("branch-and-bound", &mut BranchAndBound, &problems);
    measure("local-search", &mut LocalSearch, &problems);
    for solver in [SolverName::Z3, SolverName::Cvc5] {
        measure(&format!("fu-malik, {}", solver.name()), &mut FuMalik { solver, ..FuMalik::default() }, &problems);
    }
    let kept = &problems[..number("--kept", 5).min(problems.len())];
    let mut z3 = FuMalik { quantifiers: Quantifiers::Keep, ..FuMalik::default() };
    measure("fu-malik, z3, quantifiers kept", &mut z3, kept);
    measure("branch-and-bound on those", &mut BranchAndBound, kept);
}
