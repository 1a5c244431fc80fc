//! Rows in memory enter; a model is trained and tested on each fold of them, and the scores leave.

use std::collections::BTreeMap;

use deepsade_data::{Mean, mean};
use serde_json::{Value, json};

use super::{Ended, Finished, Fold, PipelineError, Ready};
use crate::enforce::EnforcedBy;
use crate::train::{Observer, StopReason};

/// Scores of one fold.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredFold {
    /// On the fold's rows, by name.
    pub scores: BTreeMap<String, f64>,
    /// Scores of the task that its rows do not tell, as those of one class tell no AUC.
    pub untold: Vec<&'static str>,
    /// Whether the checker accepts the model's proof.
    pub certified: bool,
    /// Whether the rules were to be kept at all.
    pub enforced: bool,
    /// Rows of the fold.
    pub rows: usize,
}

/// Scores of all folds.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredFolds {
    /// Fold by fold.
    pub each: Vec<ScoredFold>,
    /// The seed by which rows were dealt out, and that of the trainings.
    pub seed: u64,
}

/// How the trainings of all folds ended.
#[derive(Debug)]
pub enum FoldsEnd {
    /// With scores.
    Done(ScoredFolds),
    /// The observer stopped them after so many.
    Interrupted(usize),
    /// One of them before there was a model.
    Diverged(usize, StopReason),
}

impl Ready {
    /// Trains and tests on every fold of so many; no model is kept.
    pub fn folds(&self, of: usize, observer: &mut dyn Observer) -> Result<FoldsEnd, PipelineError> {
        let mut each = Vec::new();
        for index in 0..of {
            match self.on_fold(Fold { index, of })?.train(None, observer)? {
                Ended::Done(finished) => each.push(ScoredFold::of(&finished)),
                Ended::Interrupted => return Ok(FoldsEnd::Interrupted(index)),
                Ended::Diverged(stop) => return Ok(FoldsEnd::Diverged(index, stop)),
            }
        }
        Ok(FoldsEnd::Done(ScoredFolds { each, seed: self.data.seed }))
    }
}

/// Further scores, of all test rows, where the task has them.
const OF_ALL: [&str; 10] = ["auc", "balanced_accuracy", "brier", "f1", "gini", "ks", "log_loss", "mae", "r2", "rmse"];

impl ScoredFold {
    fn of(finished: &Finished) -> Self {
        let test = &finished.fitted.test.metrics;
        let own = test.iter().filter(|(name, _)| !deepsade_data::counts_rows(name)).map(|(n, v)| (n.clone(), *v));
        let judged = finished.judged.as_ref().map_or(&Value::Null, |judged| &judged.scores["test"]);
        let further = OF_ALL.iter().filter_map(|name| Some(((*name).to_string(), judged[*name].as_f64()?)));
        let untold = OF_ALL.iter().copied().filter(|name| judged.get(*name).is_some_and(Value::is_null)).collect();
        Self {
            untold,
            scores: own.chain(further).collect(),
            certified: finished.accepted().is_some(),
            enforced: !matches!(finished.fitted.means, EnforcedBy::Nowhere),
            rows: test["rows_all"] as usize,
        }
    }
}

impl ScoredFolds {
    /// Mean and standard deviation of each score that every fold has.
    pub fn summary(&self) -> BTreeMap<String, Mean> {
        let names = self.each.first().into_iter().flat_map(|fold| fold.scores.keys().cloned());
        let of = |name: &String| self.each.iter().map(|fold| fold.scores.get(name).copied()).collect::<Option<Vec<f64>>>();
        names.filter_map(|name| Some((mean(&of(&name)?)?, name))).map(|(spread, name)| (name, spread)).collect()
    }

    /// Scores that some folds do not tell, and these folds: they have no mean.
    pub fn untold(&self) -> BTreeMap<&'static str, Vec<usize>> {
        let mut found: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (fold, scored) in self.each.iter().enumerate() {
            scored.untold.iter().for_each(|name| found.entry(*name).or_default().push(fold));
        }
        found
    }

    /// folds.json.
    pub fn json(&self) -> Value {
        let spread = |(name, Mean { mean, deviation, .. })| (name, json!({"mean": mean, "deviation": deviation}));
        let scores: BTreeMap<String, Value> = self.summary().into_iter().map(spread).collect();
        let each = self.each.iter().enumerate();
        let each: Vec<Value> =
            each.map(|(fold, f)| json!({"fold": fold, "rows": f.rows, "certified": f.certified, "test": f.scores})).collect();
        let certified = self.each.iter().all(|f| f.certified);
        json!({"folds": each, "scores": scores, "untold": self.untold(), "certified": certified, "seed": self.seed, "model": null})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{Checked, Prepared};
    use crate::problem::Problem;
    use crate::train::Silent;

    /// The file leaves layers, batch and rate open: they follow the rows that train, in a fold as anywhere.
    #[test]
    fn a_fold_of_all_is_that_fold_alone() {
        let folder = tempfile::tempdir().unwrap();
        let rows: String = (0..60).map(|k| format!("{},{}\n", 10 + k, 4 + (k * k) % 7)).collect();
        std::fs::write(folder.path().join("homes.csv"), format!("income,rent\n{rows}")).unwrap();
        let text = "data = { file = 'homes.csv', targets = ['rent'] }\ntask = { kind = 'regression' }\n\
                    train = { epochs = 3, enforce = 'weights' }\n[[rule]]\nname = 'afford'\ntext = '0 <= rent <= income'\n";
        let problem = Problem::parse(text, &folder.path().join("homes.toml")).unwrap();
        let on = |index: usize| {
            let prepared = Checked::new(problem.clone()).unwrap().read(Some(Fold { index, of: 3 }), &mut |_| {}).unwrap();
            let Prepared::Ready(ready) = prepared else { panic!("rent can be 0") };
            ready
        };
        let FoldsEnd::Done(all) = on(0).folds(3, &mut Silent).unwrap() else { panic!("three epochs end") };
        for (k, scored) in all.each.iter().enumerate() {
            let alone = on(k);
            assert_ne!(alone.problem.network(), problem.network());
            let Ended::Done(finished) = alone.train(None, &mut Silent).unwrap() else { panic!("three epochs end") };
            assert_eq!(*scored, ScoredFold::of(&finished), "fold {k}");
        }
    }
}
