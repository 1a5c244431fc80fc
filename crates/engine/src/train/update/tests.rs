//! A batch that fails moves nothing: not the last layer, not the hidden ones, not the optimiser's memory, not what was best.

#[path = "../../../tests/common/low.rs"]
mod low;

use deepsade_data::Dataset;
use deepsade_spec::NormalSpec;
use low::{data, spec};

use super::*;
use crate::objective::Loss;
use crate::train::{NetworkSettings, OptimiserName, Start, initial_network};

/// A run after line 3.
struct Begun<'a> {
    update: Box<dyn Update + 'a>,
    stepper: Stepper,
    optimiser: Optimiser,
    data: PreparedRows,
    out: Vec<f32>,
}

/// Which parts a batch has moved.
#[derive(Debug, PartialEq)]
struct Moved {
    last: bool,
    hidden: bool,
    optimiser: bool,
    out: bool,
}

const NOTHING: Moved = Moved { last: false, hidden: false, optimiser: false, out: false };

impl<'a> Begun<'a> {
    fn new(rules: Option<&'a NormalSpec>, rows: &'a Dataset, settings: TrainSettings) -> Self {
        let shape = NetworkSettings { hidden: vec![6], ..NetworkSettings::default() };
        let run = Run {
            network: initial_network(&[(0.0, 1.0); 2], &[0], None, 1, &shape, 3),
            start: Start::Fresh,
            loss: Loss::MeanSquares,
            train: rows,
            validation: rows,
            settings,
            seed: 5,
            rules,
            favoured: None,
            step: None,
            checkpoint: None,
        };
        let mut stepper = Stepper::new(&run.network, rows.rows()).unwrap();
        let standard = Standard::new(rows, run.loss, &stepper);
        let data = standard.prepare(rows, None, &mut stepper);
        let mut update = update(&run, &standard, &mut stepper).unwrap();
        update.begin(&mut stepper, &data);
        update.begin_epoch(&mut stepper, &data, &(0..rows.rows()).collect::<Vec<_>>());
        let optimiser = Optimiser::new(&update.descent(&run.settings), stepper.parameters().len());
        Self { out: stepper.parameters().to_vec(), update, stepper, optimiser, data }
    }

    fn batch(&mut self) -> (LossSum, Moved) {
        let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let (last, hidden) = (self.stepper.last_range(), self.stepper.hidden_range());
        let (parameters, optimiser, out) = (bits(self.stepper.parameters()), self.optimiser.clone(), bits(&self.out));
        let Self { update, stepper, optimiser: descent, data, out: best } = self;
        let sum =
            update.batch(Batch { stepper, optimiser: descent, data, rows: &[0, 1, 2, 3, 4], place: (1, 0), out: best }).unwrap();
        let after = bits(self.stepper.parameters());
        let moved = Moved {
            last: after[last.clone()] != parameters[last],
            hidden: after[hidden.clone()] != parameters[hidden],
            optimiser: self.optimiser != optimiser,
            out: bits(&self.out) != out,
        };
        (sum, moved)
    }

    fn steps(&mut self) -> PaperSteps {
        let mut record = EpochRecord::new(1, 0.0);
        self.update.end_epoch(&mut self.stepper, &mut record);
        record.paper.unwrap()
    }
}

fn paper(maxsmt: MaxSmtName) -> TrainSettings {
    let paper = PaperSettings { learning_rate: 0.01, alpha: 1e-3, maxsmt, limit: 60.0, ..PaperSettings::default() };
    TrainSettings { update: UpdateName::Paper, paper, ..TrainSettings::default() }
}

/// b = 100 is far above what the rule allows, and neither candidates nor the box come near it.
#[test]
fn where_no_solution_is_found_nothing_moves() {
    let (spec, rows) = (spec(), data(40));
    for maxsmt in [MaxSmtName::BranchAndBound, MaxSmtName::LocalSearch] {
        let mut begun = Begun::new(Some(&spec), &rows, paper(maxsmt));
        begun.stepper.last_layer_mut().1.fill(100.0);
        // The second time with signs flipped.
        for failures in 1..=2 {
            let (sum, moved) = begun.batch();
            assert!(sum.loss.is_finite());
            assert_eq!(moved, NOTHING, "{maxsmt:?}");
            assert_eq!((begun.steps().restarts(), begun.steps().restart), (failures, true), "{maxsmt:?}");
        }
        let gradient = begun.stepper.parameter_gradient();
        assert!(gradient[begun.stepper.hidden_range()].iter().any(|g| *g != 0.0), "a step would have been seen");
        assert!(gradient[begun.stepper.last_range()].iter().any(|g| *g != 0.0), "a step would have been seen");
    }
}

/// After ten failures the last layer is made anew, but not to the letter of the paper; the hidden ones wait for a solution.
#[test]
fn where_no_solution_is_found_again_and_again_line_3_is_done_once_more() {
    let (spec, rows) = (spec(), data(40));
    for strict in [false, true] {
        let settings = paper(MaxSmtName::BranchAndBound);
        let settings = TrainSettings { paper: PaperSettings { strict, ..settings.paper.clone() }, ..settings };
        let mut begun = Begun::new(Some(&spec), &rows, settings);
        begun.stepper.last_layer_mut().1.fill(100.0);
        let moves: Vec<Moved> = (0..10).map(|_| begun.batch().1).collect();
        assert!(moves[..9].iter().all(|moved| *moved == NOTHING));
        assert_eq!(moves[9], Moved { last: !strict, ..NOTHING });
        assert_eq!(begun.steps().renewed, usize::from(!strict));
        // From there on solutions are found.
        assert_eq!(begun.batch().1.hidden, !strict);
    }
}

/// V is looked at after the first of each three solutions.
#[test]
fn validation_rows_may_be_looked_at_now_and_then() {
    let (spec, rows) = (spec(), data(40));
    let settings = paper(MaxSmtName::BranchAndBound);
    let mut seen = Vec::new();
    for validate_every in [1, 3] {
        let paper = PaperSettings { validate_every, ..settings.paper.clone() };
        let mut begun = Begun::new(Some(&spec), &rows, TrainSettings { paper, ..settings.clone() });
        seen.push((0..4).map(|_| begun.batch().1.out).collect::<Vec<_>>());
    }
    // The loss falls with every batch here.
    assert_eq!(seen, [[true; 4], [true, false, false, true]]);
}

/// Hidden units beyond float32's range.
#[test]
fn where_the_loss_is_not_finite_nothing_moves() {
    let (spec, rows) = (spec(), data(40));
    let project = |optimiser| TrainSettings { optimiser, ..TrainSettings::default() };
    for (rules, settings) in [
        (None, project(OptimiserName::Adam)),
        (None, project(OptimiserName::Sgd)),
        (Some(&spec), project(OptimiserName::Adam)),
        (Some(&spec), paper(MaxSmtName::BranchAndBound)),
    ] {
        let mut begun = Begun::new(rules, &rows, settings.clone());
        let hidden = begun.stepper.hidden_range();
        begun.stepper.parameters_mut()[hidden].fill(f32::MAX);
        let (sum, moved) = begun.batch();
        assert!(!sum.loss.is_finite());
        assert_eq!(moved, NOTHING, "{settings:?}");
    }
}

/// The two tests above would see a move.
#[test]
fn a_batch_that_does_not_fail_moves_all_layers() {
    let (spec, rows) = (spec(), data(40));
    for (rules, settings) in [
        (None, TrainSettings::default()),
        (Some(&spec), TrainSettings::default()),
        (Some(&spec), paper(MaxSmtName::BranchAndBound)),
    ] {
        let (sum, moved) = Begun::new(rules, &rows, settings.clone()).batch();
        assert!(sum.loss.is_finite());
        assert!(moved.last && moved.hidden && moved.optimiser, "{settings:?}: {moved:?}");
    }
}
