//! A fitted model's outputs on some rows enter; what makes it useless leaves, if something does: rules may be proved for a model
//! that has learnt nothing.

use std::collections::BTreeMap;
use std::fmt;

use deepsade_data::{Dataset, DecidingScore, deciding_score, metrics, score_shown};
use deepsade_net::Matrix;
use deepsade_output::predict::in_words;
use deepsade_spec::{NormalSpec, Task, shown};
use thiserror::Error;

use crate::train::{Enforce, StopReason};

/// Validation rows with which a model is judged; with fewer, the training rows do.
const ENOUGH: usize = 20;

/// The share of rows from which on a fallback is no exception any more.
const OFTEN: f64 = 0.1;

/// A squared distance beside that of the nearest outputs, from which on a step is said to move outputs much farther than it must.
const FAR: f64 = 1.5;

/// Something to look at before the model is used.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Warning {
    /// Training diverged; the model is of an epoch before.
    #[error("{0}; the model is of an epoch before that, and may have learnt little")]
    Diverged(StopReason),
    /// Outputs are not numbers.
    #[error("{count} of {rows} {on} rows have outputs that are not finite: training diverged; try a smaller learning_rate")]
    NotFinite {
        /// How many.
        count: usize,
        /// Of how many.
        rows: usize,
        /// Which rows.
        on: &'static str,
    },
    /// No better than a constant.
    #[error(
        "the model is no better than one constant prediction: {metric} {} on the {on} rows, {} for always \
         predicting {prediction}. {}",
        score_shown(*model, 4),
        score_shown(*constant, 4),
        if *rules {
            "Rules that hold say nothing about accuracy; try a smaller learning_rate, more epochs or wider rules"
        } else {
            "Try a smaller learning_rate or more epochs; if neither helps, the features may say little about it"
        }
    )]
    NoBetterThanConstant {
        /// The score.
        metric: &'static str,
        /// Of the model.
        model: f64,
        /// Of the constant.
        constant: f64,
        /// The constant: the mean, or the most frequent label of the training rows.
        prediction: String,
        /// Which rows.
        on: &'static str,
        /// Whether there are rules.
        rules: bool,
    },
    /// The output step hardly ever gives what the network means.
    #[error(
        "the fallback of the output step answers {share:.1} % of {rows}, whatever the model says of them: rules that leave hardly any \
         room, or that float32 can't tell from their border, do that; widen them, or make ranges and numbers smaller"
    )]
    FallsBack {
        /// In percent.
        share: f64,
        /// Of these.
        rows: &'static str,
    },
    /// The output step moves outputs farther than it must.
    #[error(
        "the output step may move numbers farther than it must: drawn at random they come out at {ratio:.1} times the squared distance of \
         the nearest ones that obey, and for {nowhere:.0} % of inputs the rules leave less room than rounding may take, so that outputs stay \
         near the fallback. Rules that leave hardly more room than float32 needs to tell them from their border do that \
         (`u <= v and v <= u + 0.0005` of numbers near 100); widen them, or make ranges and numbers smaller"
    )]
    Far {
        /// The squared distance beside that of the nearest.
        ratio: f64,
        /// In percent.
        nowhere: f64,
    },
    /// The guarantee costs much.
    #[error("{0}")]
    Costly(Box<Costly>),
    /// There is nothing to score by.
    #[error(
        "no label of the {rows} test rows obeys the rules, so the model has no score: either the rules are not what the data are like, \
         or they are stated wrongly; `deepsade explain` shows how many rows break each rule"
    )]
    NoneObeys {
        /// Test rows.
        rows: usize,
    },
    /// Members that did not come out.
    #[error("{trained} of the {asked} members came out; the last one that did not: {why}")]
    FewerMembers {
        /// How many the settings ask for.
        asked: usize,
        /// How many there are.
        trained: usize,
        /// What became of the last that failed.
        why: String,
    },
    /// The mean of several networks was not taken.
    #[error(
        "the model is one network, the first of {members}, and not their mean: {why}. What the guarantee costs is told beside the mean of the \
         networks without rules"
    )]
    NoMean {
        /// How many there are.
        members: usize,
        /// Why not.
        why: String,
    },
    /// One prediction for everything.
    #[error("the model predicts {prediction} for each of the {rows} {on} rows, whose labels differ")]
    OnePrediction {
        /// The prediction.
        prediction: String,
        /// How many rows.
        rows: usize,
        /// Which rows.
        on: &'static str,
    },
}

/// What a guarantee costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Costly {
    /// The target that it is about, if not all of them.
    pub target: Option<String>,
    /// The score.
    pub metric: &'static str,
    /// Without it.
    pub free: f64,
    /// With it.
    pub enforced: f64,
    /// On how many rows.
    pub rows: usize,
    /// Which rows these are of.
    pub on: &'static str,
    /// Where else the rules may be enforced.
    pub instead: Option<Instead>,
    /// The rule that the free network breaks most often, and how often.
    pub hardest: Option<(String, usize)>,
    /// Of how many predictions.
    pub predictions: usize,
    /// Rules between two inputs, which single predictions neither keep nor break.
    pub between_two: Vec<String>,
}

/// Another place to enforce rules in.
#[derive(Debug, Clone, PartialEq)]
pub enum Instead {
    /// It has a better score on the test rows.
    Better {
        /// Which.
        enforce: Enforce,
        /// Its score.
        score: f64,
    },
    /// It was not tried.
    Untried {
        /// Which.
        enforce: Enforce,
    },
}

impl fmt::Display for Costly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, metric, free, enforced, rows, on, predictions, .. } = self;
        let of = target.as_ref().map(|target| format!(" for '{}'", shown::name(target))).unwrap_or_default();
        write!(
            f,
            "the guarantee costs much{of}: {metric} {} with it, {} without, on the {rows} {on} rows whose label obeys",
            score_shown(*enforced, 4),
            score_shown(*free, 4)
        )?;
        match &self.instead {
            Some(Instead::Better { enforce, score }) => {
                write!(f, "; --enforce {} has {} on these rows", enforce.name(), score_shown(*score, 4))?;
            }
            Some(Instead::Untried { enforce }) => write!(f, "; --enforce {} was not tried", enforce.name())?,
            None => {}
        }
        match &self.hardest {
            Some((rule, count)) => write!(
                f,
                "; most often, in {count} of {predictions} predictions, the network without rules breaks '{rule}': if it may be \
                 looser, loosen it (`deepsade explain` shows what it means)"
            ),
            None => write!(
                f,
                "; the network without rules breaks none of them here: `deepsade explain` shows what they ask for elsewhere"
            ),
        }?;
        if self.between_two.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = self.between_two.iter().map(|name| format!("'{name}'")).collect();
        write!(
            f,
            ". Rules between two inputs ({}) are not counted there: a training without them shows what they cost",
            names.join(", ")
        )
    }
}

/// Rows with their outputs.
#[derive(Debug, Clone, Copy)]
pub struct Scored<'a> {
    /// The rows.
    pub rows: &'a Dataset,
    /// What the model gives for them.
    pub outputs: &'a Matrix,
    /// Which labels break a rule: these do not count.
    pub breaking: &'a [bool],
}

/// What there is to say where a fallback answers this share of some rows.
pub fn falls_back(share: f64, rows: &'static str) -> Option<Warning> {
    (share >= OFTEN).then_some(Warning::FallsBack { share: 100.0 * share, rows })
}

/// What there is to say where candidates have this squared distance beside the nearest outputs, and none are known for this share.
pub fn far(ratio: f64, nowhere: f64) -> Option<Warning> {
    (ratio >= FAR || nowhere >= OFTEN).then_some(Warning::Far { ratio, nowhere: 100.0 * nowhere })
}

/// What there is to say about a model that was trained on `train`, whether or not for the score that it is compared by: who weighs classes,
/// or decides at another probability, does not aim at accuracy.
pub fn warnings(spec: &NormalSpec, stop: StopReason, train: Scored, validation: Scored, for_score: bool) -> Vec<Warning> {
    let mut found = Vec::new();
    if let StopReason::Diverged { .. } = stop {
        found.push(Warning::Diverged(stop));
    }
    let counted = validation.breaking.iter().filter(|b| !**b).count();
    let (scored, on) = if counted >= ENOUGH { (validation, "validation") } else { (train, "training") };
    found.extend(judged(spec, &train, &scored, on, for_score));
    found
}

fn judged(spec: &NormalSpec, train: &Scored, scored: &Scored, on: &'static str, for_score: bool) -> Option<Warning> {
    let task = &spec.schema.task;
    let chosen: Vec<usize> = (0..scored.outputs.rows).filter(|r| !scored.breaking[*r]).collect();
    let rows = chosen.len();
    let count = chosen.iter().filter(|r| scored.outputs.row(**r).iter().any(|v| !v.is_finite())).count();
    // Rows for which nothing obeys the rules have no outputs, either; a few of them are no divergence.
    if count > 0 && 2 * count > rows {
        return Some(Warning::NotFinite { count, rows, on });
    }
    let same = |matrix: &Matrix| {
        chosen.windows(2).all(|pair| in_words(task, matrix.row(pair[0])) == in_words(task, matrix.row(pair[1])))
    };
    // Where the truth is one label, one label is right.
    if rows < 2 || same(&truth(task, &scored.rows.y)) {
        return None;
    }
    let constant = constant(task, train)?;
    let of = |y: &Matrix| metrics(spec, scored.rows, y, scored.breaking);
    let repeated = Matrix { rows: scored.rows.x.rows, cols: constant.len(), data: constant.repeat(scored.rows.x.rows) };
    let (model, base) = (of(scored.outputs), of(&repeated));
    let score = |name: &'static str| Some((name, *model.get(name)?, *base.get(name)?));
    let worse = match task {
        Task::Regression { .. } | Task::Binary { .. } | Task::Multiclass { .. } => {
            let DecidingScore { name, more } = deciding_score(task);
            score(name).filter(|(_, model, base)| if more { model <= base } else { model.is_nan() || model >= base })
        }
        // Exact matches are rare: only what is worse by every measure.
        Task::Multilabel { .. } | Task::Ranking { .. } => {
            let all = ["coherent", "flattened", "jaccard"].map(score);
            all.iter().all(|s| s.is_some_and(|(_, model, base)| model < base)).then_some(all[2]).flatten()
        }
    };
    if let Some((metric, model, constant_score)) = worse.filter(|_| for_score) {
        let (prediction, rules) = (in_words(task, &constant).join(", "), !(spec.rules.is_empty() && spec.pairs.is_empty()));
        return Some(Warning::NoBetterThanConstant { metric, model, constant: constant_score, prediction, on, rules });
    }
    let first = in_words(task, scored.outputs.row(chosen[0])).join(", ");
    same(scored.outputs).then_some(Warning::OnePrediction { prediction: first, rows, on })
}

/// Labels as outputs that predict them: a label's score is above zero iff it is there.
fn truth(task: &Task, y: &Matrix) -> Matrix {
    let mut outputs = y.clone();
    if !matches!(task, Task::Regression { .. }) {
        outputs.data.iter_mut().for_each(|v| *v = *v * 2.0 - 1.0);
    }
    outputs
}

/// The mean of the targets, or the most frequent label, of the training rows that obey the rules.
fn constant(task: &Task, train: &Scored) -> Option<Vec<f32>> {
    let chosen: Vec<usize> = (0..train.rows.y.rows).filter(|r| !train.breaking[*r]).collect();
    let outputs = truth(task, &train.rows.y);
    if let Task::Regression { .. } = task {
        let mean = |j: usize| chosen.iter().map(|r| f64::from(outputs.row(*r)[j])).sum::<f64>() / chosen.len().max(1) as f64;
        return (!chosen.is_empty()).then(|| (0..outputs.cols).map(|j| mean(j) as f32).collect());
    }
    let mut counts: BTreeMap<Vec<String>, (usize, usize)> = BTreeMap::new();
    for r in chosen {
        counts.entry(in_words(task, outputs.row(r))).or_insert((0, r)).0 += 1;
    }
    // The first row of the most frequent label.
    let (_, row) = counts.into_values().max_by_key(|(count, row)| (*count, std::cmp::Reverse(*row)))?;
    Some(outputs.row(row).to_vec())
}

#[cfg(test)]
mod tests {
    use deepsade_spec::{Domain, Feature, OneHot, Schema, compile};

    use super::*;

    fn spec(task: Task) -> NormalSpec {
        let features = vec![Feature { name: "x".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } }];
        compile(&[], &Schema { features, task, one_hot: OneHot::Full, filled: vec![] }).unwrap()
    }

    fn rows(y: Matrix) -> Dataset {
        Dataset { x: Matrix::zeros(y.rows, 1), weight: vec![1.0; y.rows], y }
    }

    fn said(task: Task, truth: Vec<f32>, outputs: Vec<f32>) -> Vec<Warning> {
        let (spec, width) = (spec(task), spec_width(&truth, &outputs));
        let data = rows(Matrix { rows: truth.len() / width, cols: width, data: truth });
        let outputs = Matrix { rows: data.y.rows, cols: width, data: outputs };
        let breaking = vec![false; data.y.rows];
        let scored = Scored { rows: &data, outputs: &outputs, breaking: &breaking };
        warnings(&spec, StopReason::Finished, scored, scored, true)
    }

    fn spec_width(truth: &[f32], outputs: &[f32]) -> usize {
        assert_eq!(truth.len(), outputs.len());
        if truth.len() == 80 { 2 } else { 1 }
    }

    #[test]
    fn a_fallback_that_is_the_rule_is_told() {
        assert_eq!(falls_back(0.02, "the test rows"), None);
        let told = falls_back(1.0, "the test rows").map(|warning| warning.to_string()).unwrap_or_default();
        assert!(told.contains("answers 100.0 % of the test rows"), "{told}");
    }

    #[test]
    fn a_step_that_moves_farther_than_it_must_is_told() {
        assert_eq!(far(1.2, 0.01), None);
        assert!(far(1.0, 0.5).is_some_and(|warning| warning.to_string().contains("50 % of inputs")));
        let told = far(88.0, 0.0).map(|warning| warning.to_string()).unwrap_or_default();
        assert!(told.contains("88.0 times the squared distance") && told.contains("widen them"), "{told}");
    }

    #[test]
    fn numbers_are_compared_with_the_mean() {
        let task = || Task::regression(vec!["y".into()]);
        let truth: Vec<f32> = (0..40u8).map(f32::from).collect();
        assert_eq!(said(task(), truth.clone(), truth.iter().map(|y| y + 3.0).collect()), []);
        let far: Vec<f32> = truth.iter().map(|y| y * 1e10).collect();
        assert!(matches!(&said(task(), truth.clone(), far)[..], [Warning::NoBetterThanConstant { metric: "mse", .. }]));
        assert!(matches!(&said(task(), truth.clone(), vec![19.5; 40])[..], [Warning::NoBetterThanConstant { .. }]));
        assert!(matches!(&said(task(), truth, vec![f32::NAN; 40])[..], [Warning::NotFinite { count: 40, rows: 40, .. }]));
        // A constant truth is learnt by a constant.
        assert_eq!(said(task(), vec![5.0; 40], vec![5.0; 40]), []);
    }

    #[test]
    fn classes_are_compared_with_the_most_frequent() {
        let task = || Task::Binary { target: "c".into(), classes: vec!["no".into(), "yes".into()] };
        let class = |yes: bool| if yes { [0.0, 1.0] } else { [1.0, 0.0] };
        let truth: Vec<f32> = (0..40).flat_map(|r| class(r % 4 == 0)).collect();
        assert_eq!(said(task(), truth.clone(), truth.clone()), []);
        let always: Vec<f32> = (0..40).flat_map(|_| class(false)).collect();
        let warned = said(task(), truth.clone(), always);
        assert!(matches!(&warned[..], [Warning::NoBetterThanConstant { metric: "accuracy", .. }]), "{warned:?}");
        assert!(warned[0].to_string().contains("predicting no"), "{}", warned[0]);
        let other: Vec<f32> = (0..40).flat_map(|r| class(r % 4 == 1)).collect();
        let told = said(task(), truth, other);
        assert!(matches!(&told[..], [Warning::NoBetterThanConstant { rules: false, .. }]), "{told:?}");
        assert!(!told[0].to_string().contains("wider rules"), "{}", told[0]);
    }

    #[test]
    fn labels_that_never_change_are_one_prediction() {
        let task = || Task::Multilabel { labels: vec!["a".into(), "b".into()] };
        let truth: Vec<f32> = (0..40).flat_map(|r| [f32::from(u8::from(r % 2 == 0)), f32::from(u8::from(r % 3 == 0))]).collect();
        let right: Vec<f32> = truth.iter().map(|t| t - 0.5).collect();
        assert_eq!(said(task(), truth.clone(), right), []);
        let always: Vec<f32> = (0..40).flat_map(|_| [1.0, -1.0]).collect();
        let warned = said(task(), truth, always);
        assert!(matches!(&warned[..], [Warning::OnePrediction { .. } | Warning::NoBetterThanConstant { .. }]), "{warned:?}");
    }
}
