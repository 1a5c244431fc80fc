//! Microseconds of the guard: sizes and rules enter, JSON lines leave.
//!
//! `cargo bench -p deepsade-engine --bench guard -- check` times the check of a candidate last layer of UC2, `-- scale` a step of
//! the guard on wider and wider last layers, `-- profile` the parts of a guaranteed training step of UC1 to UC4 (or of those
//! that are named, `-- profile uc2`), `-- candidate`
//! prints UC2's question for another solver. Without a word: the first two. The data of the use cases are looked for in
//! `$DEEPSADE_DATA` and `../shared/data`. `benches/guarantee.py` makes tables of it.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use deepsade_data::Dataset;
use deepsade_engine::bounds::HiddenBounds;
use deepsade_engine::fit;
use deepsade_engine::gate::{self, skip_columns};
use deepsade_engine::guard::cell::{Cell, CellScratch, LayerWeights, Margin, Term};
use deepsade_engine::guard::{Guard, Metric, Tightness};
use deepsade_engine::pipeline::Checked;
use deepsade_engine::problem::Problem;
use deepsade_engine::train::{Enforce, NetworkSettings, Optimiser, Silent, Standard, Stepper, TrainSettings, Trained};
use deepsade_engine::units::Units;
use deepsade_net::{Matrix, Network};
use deepsade_spec::Region;
use deepsade_spec::cells::cells;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, Var, compile};

const BLOCKS: usize = 15;
const BLOCK_SECONDS: f64 = 0.02;
const WIDTHS: [usize; 5] = [16, 64, 256, 1024, 4096];
const OUTPUTS: [usize; 4] = [2, 10, 100, 1000];

/// Min and median microseconds of `work` over repeated blocks.
/// Intervals, one region a rule: the default.
const TIGHTNESS: Tightness = Tightness { bounds: deepsade_check::Bounds::Interval, regions: 1 };

fn time(mut work: impl FnMut()) -> (f64, f64) {
    let started = Instant::now();
    let mut tries = 0;
    while tries < 3 || started.elapsed().as_secs_f64() < BLOCK_SECONDS / 4.0 {
        work();
        tries += 1;
    }
    let count = ((BLOCK_SECONDS * f64::from(tries) / started.elapsed().as_secs_f64()) as usize).max(1);
    let mut times: Vec<f64> = (0..BLOCKS)
        .map(|_| {
            let started = Instant::now();
            (0..count).for_each(|_| work());
            started.elapsed().as_secs_f64() * 1e6 / count as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[BLOCKS / 2])
}

/// A use case, trained with its rules.
struct Case {
    spec: Arc<NormalSpec>,
    train: Dataset,
    batch: usize,
    trained: Trained,
}

/// Reads and trains a use case; `None` if there are no data.
fn case(name: &str, file: &str, epochs: Option<usize>) -> Option<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = std::env::var_os("DEEPSADE_DATA").map_or_else(|| root.join("../shared/data"), PathBuf::from);
    if !data.join(file).exists() {
        eprintln!("{name} skipped: no {file} in $DEEPSADE_DATA or ../shared/data");
        return None;
    }
    let problem = Problem::read(&root.join(format!("examples/{name}.toml"))).expect("the example can be read");
    let problem = problem.with_data(Some(&data)).expect("the folder is there");
    let (spec, loaded) = problem.load(&mut |_| {}).expect("the data can be read");
    let settings = problem.data.as_ref().expect("the example names its data");
    let rows = fit::rows(&spec, &loaded.expect("there are data"), settings, 0).expect("the rows fit");
    let problem = problem.clone().with_settings(|_, train| {
        train.enforce = Enforce::Weights;
        train.epochs = epochs.unwrap_or(train.epochs);
    });
    let problem = problem.expect("the example's settings are in range");
    let (spec, split, batch) = (Arc::new(spec), rows.split.clone(), problem.train().batch);
    let train = rows.all.select(&split.train);
    let checked = Checked::new(problem).expect("the example names its data");
    let ready = checked.with(spec.clone(), Arc::new(rows), split, 0).expect("the rules can be enforced");
    let trained = ready.train_only(&mut Silent).expect("the use case can be trained").fitted.trained;
    Some(Case { spec, train, batch, trained })
}

/// UC2 and its only cell.
struct Loans {
    spec: Arc<NormalSpec>,
    network: Network,
    guard: Guard,
    /// The rule's only cell on its region, as the guard makes it, and the region's boxes.
    cell: Cell,
    bounds: HiddenBounds,
    /// The boxes of the whole domain.
    whole: HiddenBounds,
}

fn loans() -> Option<Loans> {
    let Case { spec, trained, .. } = case("uc2", "loan_data_set.csv", None)?;
    let (mut guard, ..) = trained.guard.expect("rules are enforced");
    // Plain distance and the safe multipliers: of one cell with one atom about outputs they are the only ones.
    guard.begin_epoch(None);
    let (cell, region) = only_cell(&spec);
    let whole = Region::domain(&spec.schema).expect("the domain is bounded");
    let bounds = HiddenBounds::new(&trained.network, &spec.schema, &[region]);
    let whole = HiddenBounds::new(&trained.network, &spec.schema, &[whole]);
    Some(Loans { spec, network: trained.network, guard, cell, bounds, whole })
}

/// The cell of a rule whose conditions on inputs only cut the region. The guard keeps its own to itself.
fn only_cell(spec: &NormalSpec) -> (Cell, Region) {
    let mut found = Vec::new();
    let _ = cells(&spec.rules[0].claim.negated(), &mut |atoms| {
        let mut region = Region::domain(&spec.schema).expect("the domain is bounded");
        atoms.iter().for_each(|atom| region.cut(atom));
        let term = |atom: &deepsade_spec::Atom| Term {
            a: atom
                .linear
                .terms
                .iter()
                .filter_map(|(var, c)| if let Var::Output(j) = var { Some((*j, c.to_f64().value())) } else { None })
                .collect(),
            d: atom.linear.constant.to_f64().value(),
            free: atom.linear.mentions_output(),
            ..Term::default()
        };
        let atoms: Vec<Term> = atoms.iter().map(term).collect();
        found.push((Cell::new(0, 0, atoms, vec![1.0]), region));
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(found.len(), 1, "UC2's rule has one cell");
    found.remove(0)
}

fn check() {
    let Some(Loans { network, mut guard, cell, mut bounds, .. }) = loans() else { return };
    let mut stepper = Stepper::new(&network, 1).expect("the network was trained");
    let last = stepper.last_range();
    let outputs = stepper.outputs();
    let mut parameters = stepper.parameters_mut().to_vec();
    assert!(guard.solve(&mut parameters).moves <= 1, "the trained layer is feasible up to rounding");
    assert_eq!(guard.solve(&mut parameters).moves, 0, "a layer that was solved for is feasible");
    bounds.update(&parameters);
    let margin = Margin { relative: 1e-5, absolute: 1e-30 };
    let mut scratch = CellScratch::default();
    let report = |what: &str, (min, median): (f64, f64)| {
        println!("{{\"part\": \"check\", \"what\": \"{what}\", \"min_us\": {min:.4}, \"median_us\": {median:.4}}}");
    };
    let mut candidate = parameters[last.clone()].to_vec();
    let split = candidate.len() - outputs;
    report(
        "K' for given boxes (read the layer, largest value over the box)",
        time(|| {
            let (w, b) = black_box(&mut candidate[..]).split_at_mut(split);
            let v = bounds.last_input(0);
            cell.read(&LayerWeights { w, b }, v, &mut scratch);
            black_box(cell.slack(v, margin, &scratch));
        }),
    );
    report("boxes of the hidden layers", time(|| bounds.update(black_box(&parameters))));
    report(
        "boxes and K': the guard, the layer holds",
        time(|| assert_eq!(guard.solve(black_box(&mut parameters)).moves, 0, "feasible stays feasible")),
    );
    let refuse = refused(&cell);
    let mut pushed = parameters[last.clone()].to_vec();
    pushed[last.len() - outputs + refuse] -= 1.0;
    report(
        "boxes and K' and a move: the guard, the layer was pushed over the border",
        time(|| {
            parameters[last.clone()].copy_from_slice(&pushed);
            assert!(guard.solve(black_box(&mut parameters)).moves > 0, "the step went over the border");
        }),
    );
}

/// The output that must win where the rule applies: the one with a negative coefficient in its negation.
fn refused(cell: &Cell) -> usize {
    let outputs = &cell.atoms.iter().find(|a| a.free).expect("the rule is about outputs").a;
    outputs.iter().find(|(_, a)| *a < 0.0).expect("one score is compared with the other").0
}

fn candidate() {
    let Some(Loans { spec, network, mut guard, cell, mut bounds, mut whole }) = loans() else { return };
    let mut stepper = Stepper::new(&network, 1).expect("the network was trained");
    guard.solve(stepper.parameters_mut());
    let parameters = stepper.parameters().to_vec();
    bounds.update(&parameters);
    whole.update(&parameters);
    let ends = |bounds: &HiddenBounds, sign: f32| -> Vec<f32> {
        let v = bounds.last_input(0);
        v.m.iter().zip(&v.r).map(|(m, r)| m + sign * r).collect()
    };
    let (w, b) = stepper.last_layer_mut();
    let w: Vec<&[f32]> = w.chunks_exact(w.len() / b.len()).collect();
    // The skipped columns, which the premise is about, come after the hidden units.
    let n = w[0].len();
    let premise: Vec<usize> = (n - skip_columns(&spec).len()..n).collect();
    println!(
        "{}",
        serde_json::json!({
            "part": "candidate", "w": w, "b": b, "whole_lo": ends(&whole, -1.0), "whole_hi": ends(&whole, 1.0),
            "region_lo": ends(&bounds, -1.0), "region_hi": ends(&bounds, 1.0), "premise": premise, "refuse": refused(&cell),
        })
    );
}

/// `sum(y) <= x` for so many outputs, eight features in [0, 1].
fn one_linear_rule(outputs: usize) -> NormalSpec {
    let targets: Vec<String> = (0..outputs).map(|j| format!("y{j}")).collect();
    let rule = RuleText { name: "sum".into(), text: format!("sum({}) <= x0", targets.join(", ")) };
    let feature = |k: usize| Feature { name: format!("x{k}"), domain: Domain::Real { lo: 0.0, hi: 1.0 } };
    let schema = Schema {
        features: (0..8).map(feature).collect(),
        task: Task::regression(targets),
        one_hot: OneHot::default(),
        filled: vec![],
    };
    compile(&[rule], &schema).expect("the rule is linear")
}

fn scale() {
    for outputs in OUTPUTS {
        let spec = one_linear_rule(outputs);
        for width in WIDTHS {
            let hidden = NetworkSettings { hidden: vec![width], ..NetworkSettings::default() };
            let network = gate::network(&spec, &hidden, None, 1);
            let started = Instant::now();
            let mut guard = Guard::new(&spec, &network, &Units::raw(outputs), TIGHTNESS).expect("the rule can be met");
            let setup_ms = started.elapsed().as_secs_f64() * 1e3;
            let rows = 32;
            let mut stepper = Stepper::new(&network, rows).expect("the network can be trained");
            let x = Matrix { rows, cols: 8, data: (0..rows * 8).map(|i| (i * 7919 % 1013) as f32 / 1013.0).collect() };
            let prepared = stepper.prepare(&x, &Matrix::zeros(rows, outputs), &vec![1.0; rows]);
            stepper.load(&prepared, 0..rows);
            stepper.forward();
            let metric = Metric::new(stepper.last_layer().z, stepper.last_layer().inputs, &guard.straight_columns());
            guard.begin_epoch(Some(metric));
            let parameters = stepper.parameters_mut();
            guard.solve(parameters);
            let (holds, _) = time(|| assert_eq!(guard.solve(black_box(&mut *parameters)).moves, 0, "feasible stays feasible"));
            // Always from the same layer: one that is pushed again and again drifts away.
            let last = parameters.len() - (width + 1 + 1) * outputs..parameters.len();
            let mut pushed = parameters[last.clone()].to_vec();
            // Further than the half margin for rounding that a move leaves.
            pushed[last.len() - outputs] += 1.0 + (width * outputs) as f32 * 1e-3;
            let mut moves = 0;
            let mut steps = 0;
            let (moved, _) = time(|| {
                parameters[last.clone()].copy_from_slice(&pushed);
                let solved = guard.solve(black_box(&mut *parameters));
                assert!(solved.moves > 0 && !solved.pulled_back, "the step went over the border");
                moves += solved.moves;
                steps += 1;
            });
            let mean_moves = moves as f64 / f64::from(steps);
            println!(
                "{{\"part\": \"scale\", \"width\": {width}, \"outputs\": {outputs}, \"holds_us\": {holds:.3}, \
                 \"moves_us\": {moved:.3}, \"moves\": {mean_moves:.2}, \"setup_ms\": {setup_ms:.3}}}"
            );
        }
    }
}

/// Microseconds of each part of a step, in the loop of `train`, for an epoch or at least 2000 steps after a training: medians, which
/// what else the machine does hardly moves.
fn profile(name: &str, file: &str, epochs: Option<usize>) {
    let Some(Case { spec, train, batch, trained }) = case(name, file, epochs) else { return };
    let loss = fit::loss(&spec.schema.task);
    let mut stepper = Stepper::new(&trained.network, batch.max(256)).expect("the network was trained");
    let standard = Standard::new(&train, loss, &stepper);
    standard.to_standard(&mut stepper);
    let prepared = stepper.prepare(&train.x, &standard.standardise(&train.y), &train.weight);
    let started = Instant::now();
    let mut guard = Guard::new(&spec, &trained.network, &standard.units(), TIGHTNESS).expect("the rules were enforced");
    let setup_ms = started.elapsed().as_secs_f64() * 1e3;
    let whole = Region::domain(&spec.schema).expect("the domain is bounded");
    let mut bounds = HiddenBounds::new(&trained.network, &spec.schema, &[whole]);
    let mut optimiser = Optimiser::new(&TrainSettings::default(), stepper.parameters().len());
    let rows = train.weight.len();
    // Gradient, optimiser, guard, metric; the boxes of one region on top.
    let mut spent: [Vec<f64>; 5] = Default::default();
    let (mut steps, mut moves, mut most, mut pulled_back) = (0usize, 0usize, 0usize, 0usize);
    let mut clock = Instant::now();
    let mut lap = |part: Option<&mut Vec<f64>>| {
        let us = clock.elapsed().as_secs_f64() * 1e6;
        part.into_iter().for_each(|times| times.push(us));
        clock = Instant::now();
    };
    while steps < 2000 {
        let order: Vec<usize> = (0..rows).map(|r| (r * 7919 + steps) % rows).collect();
        lap(None);
        stepper.load(&prepared, order[..rows.min(64)].iter().copied());
        stepper.forward();
        guard.begin_epoch(Some(Metric::new(stepper.last_layer().z, stepper.last_layer().inputs, &guard.straight_columns())));
        lap(Some(&mut spent[3]));
        for chunk in order.chunks(batch) {
            stepper.load(&prepared, chunk.iter().copied());
            assert!(stepper.gradient(loss).loss.is_finite(), "training does not diverge");
            lap(Some(&mut spent[0]));
            optimiser.begin();
            stepper.apply(&mut optimiser, stepper.last_range());
            stepper.apply(&mut optimiser, stepper.hidden_range());
            lap(Some(&mut spent[1]));
            let solved = guard.solve(stepper.parameters_mut());
            lap(Some(&mut spent[2]));
            bounds.update(stepper.parameters());
            lap(Some(&mut spent[4]));
            moves += solved.moves;
            most = most.max(solved.moves);
            pulled_back += usize::from(solved.pulled_back);
            steps += 1;
        }
    }
    let epoch_steps = rows.div_ceil(batch).max(1) as f64;
    let [gradient, update, solve, metric, boxes] = spent.map(|mut us| {
        us.sort_by(f64::total_cmp);
        us.get(us.len() / 2).copied().unwrap_or(0.0)
    });
    let metric = metric / epoch_steps;
    println!(
        "{{\"part\": \"profile\", \"case\": \"{name}\", \"gradient_us\": {gradient:.3}, \"update_us\": {update:.3}, \
         \"solve_us\": {solve:.3}, \"metric_us\": {metric:.3}, \"boxes_us\": {boxes:.3}, \"steps\": {steps}, \
         \"moves\": {:.2}, \"most_moves\": {most}, \"pulled_back\": {pulled_back}, \"setup_ms\": {setup_ms:.3}}}",
        moves as f64 / steps as f64
    );
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wants = |part: &str| asked.iter().any(|a| a == part) || (asked.is_empty() && part != "candidate");
    if wants("check") {
        check();
    }
    if wants("candidate") {
        candidate();
    }
    if wants("scale") {
        scale();
    }
    if asked.iter().any(|a| a == "profile") {
        let all = [
            ("uc1", "expense_prediction.csv.gz", None),
            ("uc2", "loan_data_set.csv", None),
            ("uc3", "uc3_equiv_music_data.csv", None),
            ("uc4", "train-images-idx3-ubyte.gz", Some(1)),
        ];
        let named = asked.iter().any(|a| a.starts_with("uc"));
        for (name, file, epochs) in all.into_iter().filter(|(name, ..)| !named || asked.iter().any(|a| a == name)) {
            profile(name, file, epochs);
        }
    }
}
