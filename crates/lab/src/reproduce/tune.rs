//! Training rows enter; the weights of a penalty leave: the smallest with the fewest violations on rows held out.

use deepsade_data::{self as data, Split};
use deepsade_engine::pipeline::Checked;
use deepsade_engine::train::{Observer, StopReason};

use super::ReproduceError;
use super::case::UseCase;
use super::method::Method;
use super::stock::Dealt;

/// What one choice of weights led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// One for all rules, or one for each.
    pub weights: Vec<f64>,
    /// Predictions on held-out rows that break a rule, over all folds.
    pub violations: usize,
}

/// The first of the trials with the fewest violations, from the smallest sum of weights up.
pub fn smallest_with_fewest(trials: &[Trial]) -> Option<&Trial> {
    let sum = |t: &Trial| t.weights.iter().sum::<f64>();
    let smaller = |a: &&Trial, b: &&Trial| {
        let by_weight =
            sum(a).total_cmp(&sum(b)).then_with(|| a.weights.partial_cmp(&b.weights).unwrap_or(std::cmp::Ordering::Equal));
        a.violations.cmp(&b.violations).then(by_weight)
    };
    trials.iter().min_by(smaller)
}

/// The weights to choose from: for a method that weighs each rule all combinations.
pub fn candidates(case: &UseCase, method: Method, rules: usize) -> Vec<Vec<f64>> {
    let places = if method.weighs_each_rule() { rules } else { 1 };
    let mut all: Vec<Vec<f64>> = vec![vec![]];
    for _ in 0..places {
        all = all.iter().flat_map(|head| case.tune.weights.iter().map(|w| [head.as_slice(), &[*w]].concat())).collect();
    }
    all.retain(|weights| weights.iter().sum::<f64>() <= 1.0);
    all
}

/// The ways in which the rows that train and validate are dealt out for trials; the test rows count violations.
pub fn inner_splits(outer: &Split, folds: usize, seed: u64) -> Result<Vec<Split>, data::DataError> {
    if folds == 1 {
        return Ok(vec![Split { train: outer.train.clone(), validation: vec![], test: outer.validation.clone() }]);
    }
    let mut pool: Vec<usize> = outer.train.iter().chain(&outer.validation).copied().collect();
    pool.sort_unstable();
    let of = |indices: Vec<usize>| indices.into_iter().map(|i| pool[i]).collect();
    let split = |fold| {
        let Split { train, validation, test } = data::folds(pool.len(), folds, fold, seed)?;
        Ok(Split { train: of(train), validation: of(validation), test: of(test) })
    };
    (0..folds).map(split).collect()
}

/// Everything that trials of a run share.
pub struct Tuning<'a> {
    /// The use case.
    pub case: &'a UseCase,
    /// Epochs, if not those of its rule file.
    pub epochs: Option<usize>,
    /// Its rules and rows.
    pub dealt: &'a Dealt,
    /// How they are dealt out for the run.
    pub split: &'a Split,
    /// The method.
    pub method: Method,
    /// The seed of the run.
    pub seed: u64,
}

impl Tuning<'_> {
    /// Tries all weights; `None` if it was stopped.
    pub fn choose(&self, observer: &mut dyn Observer) -> Result<Option<Vec<f64>>, ReproduceError> {
        let splits = inner_splits(self.split, self.case.tune.folds, self.seed)?;
        let mut trials = Vec::new();
        for weights in candidates(self.case, self.method, self.dealt.prepared.spec.rules.len()) {
            let mut violations = 0;
            for split in &splits {
                let Some(found) = self.violations(&weights, split, observer)? else { return Ok(None) };
                violations += found;
            }
            trials.push(Trial { weights, violations });
        }
        Ok(smallest_with_fewest(&trials).map(|t| t.weights.clone()))
    }

    fn violations(&self, weights: &[f64], split: &Split, observer: &mut dyn Observer) -> Result<Option<usize>, ReproduceError> {
        let epochs = self.case.tune.epochs.or(self.epochs);
        let problem = self.method.apply(self.dealt.prepared.problem.clone(), epochs, weights)?;
        let ready = self.dealt.ready(Checked::new(problem)?, split.clone(), self.seed)?;
        let fitted = ready.train_only(observer)?.fitted;
        Ok(match fitted.trained.stop {
            StopReason::Interrupted => None,
            // What diverges breaks everything.
            StopReason::Diverged { .. } => Some(split.test.len()),
            _ => Some(fitted.test.metrics["rows_breaking_all"] as usize),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::case::cases;

    fn trial(weights: &[f64], violations: usize) -> Trial {
        Trial { weights: weights.to_vec(), violations }
    }

    #[test]
    fn the_smallest_weight_with_the_fewest_violations_is_chosen() {
        let trials = [trial(&[0.0], 7), trial(&[0.9], 0), trial(&[0.3], 0), trial(&[0.1], 1), trial(&[0.6], 0)];
        assert_eq!(smallest_with_fewest(&trials).unwrap().weights, [0.3]);
        let trials = [trial(&[0.4, 0.0], 2), trial(&[0.1, 0.2], 2), trial(&[0.2, 0.1], 2), trial(&[0.0, 0.0], 3)];
        assert_eq!(smallest_with_fewest(&trials).unwrap().weights, [0.1, 0.2]);
        assert_eq!(smallest_with_fewest(&[]), None);
    }

    #[test]
    fn two_rules_have_all_pairs_and_one_weight_has_none() {
        let uc1 = &cases(false)[0];
        assert_eq!(candidates(uc1, Method::Reg, 2).len(), 36);
        assert!(candidates(uc1, Method::Reg, 2).iter().all(|w| w.iter().sum::<f64>() <= 0.98 + 1e-9));
        assert_eq!(candidates(uc1, Method::Sbr, 2).len(), 6);
    }

    #[test]
    fn trials_never_see_the_test_rows() {
        let outer = data::folds(100, 5, 2, 7).unwrap();
        for folds in [1, 3] {
            let splits = inner_splits(&outer, folds, 1).unwrap();
            let mut held_out: Vec<usize> = splits.iter().flat_map(|s| s.test.clone()).collect();
            held_out.sort_unstable();
            held_out.dedup();
            assert_eq!(held_out.len(), if folds == 1 { 10 } else { 80 });
            for split in &splits {
                let used = [&split.train[..], &split.validation, &split.test].concat();
                assert!(used.iter().all(|r| !outer.test.contains(r)));
                assert!(split.test.iter().all(|r| !split.train.contains(r)));
            }
        }
    }
}
