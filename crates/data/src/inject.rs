//! Relabels rows so that they break a rule, as the paper's experiments do.

use deepsade_output::Judge;
use deepsade_spec::NormalSpec;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use thiserror::Error;

use crate::dataset::Dataset;

/// Why rows can't be relabelled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InjectError {
    /// Only classes can be exchanged for others.
    #[error("inject_violations = {wanted} needs a binary or multiclass task, and this is a {task} task; remove it from [data]")]
    WrongTask {
        /// How many were asked for.
        wanted: usize,
        /// The task at hand.
        task: &'static str,
    },
    /// Too few rows are under a rule.
    #[error("inject_violations = {wanted}: only {possible} rows can break a rule, {already} of which do already")]
    TooFew {
        /// How many were asked for.
        wanted: usize,
        /// How many rows have a class that would break a rule.
        possible: usize,
        /// How many break one as shipped.
        already: usize,
    },
}

/// Gives random rows under a rule a class that breaks it, until `wanted` rows break one; updates `breaking`.
pub fn inject(spec: &NormalSpec, rows: &mut Dataset, breaking: &mut [bool], wanted: usize, seed: u64) -> Result<(), InjectError> {
    if wanted == 0 {
        return Ok(());
    }
    let Some(classes) = spec.schema.task.classes() else {
        return Err(InjectError::WrongTask { wanted, task: spec.schema.task.kind() });
    };
    let judge = Judge::new(spec);
    let one_hot = |class: usize| (0..classes.len()).map(|c| f32::from(c == class)).collect::<Vec<f32>>();
    let breaks = |x: &[f32], class: usize| {
        let y = one_hot(class);
        (0..spec.rules.len()).any(|r| !spec.rules[r].reads_scores && judge.breaks(r, x, &y))
    };
    let already = breaking.iter().filter(|b| **b).count();
    let candidates: Vec<(usize, Vec<usize>)> = (0..rows.x.rows)
        .filter(|row| !breaking[*row])
        .map(|row| (row, (0..classes.len()).filter(|c| breaks(rows.x.row(row), *c)).collect()))
        .filter(|(_, classes): &(usize, Vec<usize>)| !classes.is_empty())
        .collect();
    let missing = wanted.saturating_sub(already);
    if missing > candidates.len() {
        return Err(InjectError::TooFew { wanted, possible: already + candidates.len(), already });
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut candidates = candidates;
    candidates.shuffle(&mut rng);
    for (row, classes) in candidates.into_iter().take(missing) {
        let class = classes[rng.random_range(0..classes.len())];
        rows.y.row_mut(row).copy_from_slice(&one_hot(class));
        breaking[row] = true;
    }
    Ok(())
}
