//! What the free network and the model give for some rows enters; a warning leaves where the guarantee costs much.
//!
//! Much is a squared error more than a tenth larger, or two points fewer of a hundred, if that is beyond chance: the mean of the
//! differences, row by row, is above twice its standard error. Where few rows have most of the error that says little: half as large again
//! is much in any case.

use deepsade_data::{DecidingScore, Mean, deciding_score, mean, row_score};
use deepsade_net::Matrix;
use deepsade_output::Judge;
use deepsade_spec::{NormalSpec, Task};

use super::TriedWay;
use crate::train::Enforce;
use crate::warnings::{Costly, Instead, Scored, Warning};

const LARGER: f64 = 1.1;
const MUCH_LARGER: f64 = 1.5;
/// Rows from which on that is no matter of one of them.
const ENOUGH: usize = 20;
const POINTS: f64 = 2.0;
const ERRORS: f64 = 2.0;

/// Which rows tell what the guarantee costs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CostRows {
    Test,
    Validation,
    Training,
}

impl CostRows {
    fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Validation => "validation",
            Self::Training => "training",
        }
    }
}

/// Where the rules are enforced, and what else was tried.
pub(super) struct TriedWays<'a> {
    pub(super) taken: Enforce,
    pub(super) tried: &'a [TriedWay],
    pub(super) rows: CostRows,
    /// Whether there is a choice: the paper's update knows the weights alone.
    pub(super) free_to_choose: bool,
}

/// The warning, if there is one: about all targets, or about the number among several that loses most, which the errors of larger numbers
/// may hide. Rows whose label breaks a rule do not count.
pub(super) fn costly(spec: &NormalSpec, free: &Scored, kept: &Scored, ways: &TriedWays) -> Option<Warning> {
    let task = &spec.schema.task;
    let DecidingScore { name, more } = deciding_score(task);
    let counted: Vec<usize> = (0..kept.outputs.rows).filter(|r| !kept.breaking[*r]).collect();
    // Whole numbers are compared with whole numbers: that a network alone gives others is no cost of the rules.
    let rounded = rounded(task, free);
    let free = &Scored { outputs: &rounded, ..*free };
    let of_all = |s: &Scored, r: usize| row_score(task, s.outputs.row(r), s.rows.y.row(r));
    let squared = |s: &Scored, r: usize, j: usize| f64::from(s.outputs.row(r)[j] - s.rows.y.row(r)[j]).powi(2);
    let lost = |score: &dyn Fn(&Scored, usize) -> f64| {
        let scores = |s: &Scored| counted.iter().map(|r| score(s, *r)).collect::<Vec<f64>>();
        much(&scores(free), &scores(kept), more)
    };
    let (target, without, with) = match (lost(&of_all), task) {
        (Some((without, with)), _) => (None, without, with),
        (None, Task::Regression { targets, .. }) if targets.len() > 1 => {
            let each = targets.iter().enumerate().filter_map(|(j, target)| {
                let (without, with) = lost(&|s, r| squared(s, r, j))?;
                Some((Some(target.clone()), without, with))
            });
            each.max_by(|a, b| (a.2 * b.1).total_cmp(&(b.2 * a.1)))?
        }
        (None, _) => return None,
    };
    Some(Warning::Costly(Box::new(Costly {
        target: target.clone(),
        metric: name,
        free: without,
        enforced: with,
        rows: counted.len(),
        on: ways.rows.name(),
        instead: if target.is_none() { instead(task, with, more, ways) } else { None },
        hardest: hardest(spec, free),
        predictions: free.outputs.rows,
        between_two: spec.pairs.iter().map(|rule| rule.name.clone()).collect(),
    })))
}

/// Outputs with the whole ones among them rounded.
fn rounded(task: &Task, of: &Scored) -> Matrix {
    let (mut outputs, whole) = (of.outputs.clone(), task.whole_outputs());
    if outputs.cols > 0 {
        outputs.data.chunks_mut(outputs.cols).for_each(|row| whole.iter().for_each(|j| row[*j] = row[*j].round()));
    }
    outputs
}

/// The mean scores without and with the guarantee, if the second is much worse.
fn much(without: &[f64], with: &[f64], more: bool) -> Option<(f64, f64)> {
    let average = |values: &[f64]| mean(values).filter(|m| m.mean.is_finite());
    let (a, b) = (average(without)?.mean, average(with)?.mean);
    let lost: Vec<f64> = without.iter().zip(with).map(|(a, b)| if more { a - b } else { b - a }).collect();
    let much = if more { a - b >= POINTS } else { b > LARGER * a };
    let Mean { n, mean: loses, deviation } = average(&lost).filter(|m| m.n > 1)?;
    let beyond_chance = loses > ERRORS * deviation / (n as f64).sqrt();
    let in_any_case = !more && b > MUCH_LARGER * a && n >= ENOUGH;
    (much && (beyond_chance || in_any_case)).then_some((a, b))
}

/// The other place to enforce the rules in, if it is better on these rows or was not tried.
fn instead(task: &Task, score: f64, more: bool, ways: &TriedWays) -> Option<Instead> {
    let other = if ways.taken == Enforce::Weights { Enforce::Decode } else { Enforce::Weights };
    let tried: Vec<&TriedWay> = ways.tried.iter().filter(|t| t.enforced_by == other).collect();
    let found = tried.iter().filter(|t| t.certified && ways.rows == CostRows::Test).filter_map(|t| t.test);
    let best = found.reduce(|a, b| if (a > b) == more { a } else { b });
    // Weights keep labels at constants, and promise no whole numbers.
    let can = match task {
        Task::Multilabel { .. } | Task::Ranking { .. } => other == Enforce::Decode,
        _ => other == Enforce::Decode || task.whole_outputs().is_empty(),
    };
    match best {
        Some(best) if best != score && (best > score) == more => Some(Instead::Better { enforce: other, score: best }),
        None if tried.is_empty() && can && ways.free_to_choose => Some(Instead::Untried { enforce: other }),
        _ => None,
    }
}

/// The rule that the free network breaks most often, and how often.
fn hardest(spec: &NormalSpec, free: &Scored) -> Option<(String, usize)> {
    let judge = Judge::new(spec);
    let rows = 0..free.outputs.rows;
    let breaks = |rule: usize| rows.clone().filter(|r| judge.breaks(rule, free.rows.x.row(*r), free.outputs.row(*r))).count();
    let counts = spec.rules.iter().enumerate().map(|(k, rule)| (rule.name.clone(), breaks(k)));
    counts.reduce(|a, b| if b.1 > a.1 { b } else { a }).filter(|(_, count)| *count > 0)
}

#[cfg(test)]
mod tests {
    use deepsade_data::Dataset;
    use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, compile};

    use super::*;

    fn spec(task: Task, rule: &str) -> NormalSpec {
        let features = vec![Feature { name: "x".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } }];
        let rules = [RuleText { name: "r".into(), text: rule.into() }];
        compile(&rules, &Schema { features, task, one_hot: OneHot::Full, filled: vec![] }).unwrap()
    }

    /// One target y, of which the free network is `a` off in every other row and the model `b`.
    fn said(a: f32, b: f32, rows: usize, tried: &[TriedWay]) -> Option<String> {
        let spec = spec(Task::regression(vec!["y".into()]), "y <= 0");
        let column = |size: f32| {
            let data = (0..rows).map(|r| if r % 2 == 0 { size } else { 0.0 }).collect();
            Matrix { rows, cols: 1, data }
        };
        let data = Dataset { x: Matrix::zeros(rows, 1), weight: vec![1.0; rows], y: column(0.0) };
        let (free, kept, breaking) = (column(a), column(b), vec![false; rows]);
        let of = |outputs| Scored { rows: &data, outputs, breaking: &breaking };
        let ways = TriedWays { taken: Enforce::Weights, tried, rows: CostRows::Test, free_to_choose: true };
        costly(&spec, &of(&free), &of(&kept), &ways).map(|w| w.to_string())
    }

    #[test]
    fn what_costs_much_is_told_with_the_ways_out() {
        let told = said(1.0, 2.0, 40, &[]).unwrap();
        assert!(told.contains("mse 2.0000 with it, 0.5000 without, on the 40 test rows"), "{told}");
        assert!(told.contains("--enforce decode was not tried"), "{told}");
        assert!(told.contains("'r'") && told.contains("20 of 40"), "{told}");
        let way = |test| TriedWay {
            enforced_by: Enforce::Decode,
            how: "",
            score: None,
            test: Some(test),
            certified: true,
            why_not: None,
        };
        assert!(said(1.0, 2.0, 40, &[way(9.0), way(0.75)]).unwrap().contains("--enforce decode has 0.7500 on these rows"));
        assert!(!said(1.0, 2.0, 40, &[way(9.0)]).unwrap().contains("--enforce"));
    }

    #[test]
    fn what_costs_little_or_may_be_chance_is_not() {
        assert_eq!(said(1.0, 1.04, 400, &[]), None);
        assert_eq!(said(1.0, 0.5, 400, &[]), None);
        // One row of two, twice as far off: no more than chance.
        assert_eq!(said(1.0, 2.0, 2, &[]), None);
        assert_eq!(said(1.0, 2.0, 0, &[]), None);
    }

    /// The errors of a large number hide those of a small one: each is looked at by itself.
    #[test]
    fn what_one_of_several_targets_loses_is_told_with_its_name() {
        let spec = spec(Task::regression(vec!["y".into(), "large".into()]), "y <= 9");
        let columns = |y: f32| {
            let data = (0..40u16).flat_map(|r| [y * f32::from(r % 3), 1e4 * f32::from(r % 5)]).collect();
            Matrix { rows: 40, cols: 2, data }
        };
        let data = Dataset { x: Matrix::zeros(40, 1), weight: vec![1.0; 40], y: Matrix::zeros(40, 2) };
        let (free, kept, breaking) = (columns(1.0), columns(2.0), vec![false; 40]);
        let of = |outputs| Scored { rows: &data, outputs, breaking: &breaking };
        let ways = TriedWays { taken: Enforce::Decode, tried: &[], rows: CostRows::Test, free_to_choose: true };
        let told = costly(&spec, &of(&free), &of(&kept), &ways).unwrap().to_string();
        assert!(told.starts_with("the guarantee costs much for 'y': mse"), "{told}");
        assert_eq!(costly(&spec, &of(&free), &of(&columns(1.0)), &ways), None);
    }

    /// That a network alone does not give whole numbers is no cost of the rules.
    #[test]
    fn whole_numbers_are_compared_with_whole_numbers() {
        let spec = spec(Task::Regression { targets: vec!["y".into()], whole: vec!["y".into()] }, "y <= 9");
        let column = |off: f32| {
            let data = (0..40u16).map(|r| f32::from(r % 3) + if r % 4 == 0 { 2.0 * off } else { off }).collect();
            Matrix { rows: 40, cols: 1, data }
        };
        let data = Dataset { x: Matrix::zeros(40, 1), weight: vec![1.0; 40], y: column(0.0) };
        let breaking = vec![false; 40];
        let of = |outputs| Scored { rows: &data, outputs, breaking: &breaking };
        let mut kept = column(0.3);
        kept.data.iter_mut().for_each(|v| *v = v.round());
        let ways = TriedWays { taken: Enforce::Decode, tried: &[], rows: CostRows::Test, free_to_choose: true };
        assert_eq!(costly(&spec, &of(&column(0.3)), &of(&kept), &ways), None);
    }

    /// One row of many with nearly all of the error: whatever its standard error, such a mean is told.
    #[test]
    fn half_as_large_again_is_much_whatever_few_rows_do() {
        let spec = spec(Task::regression(vec!["y".into()]), "y <= 9");
        let column = |first: f32| {
            let data = (0..40).map(|r| if r == 0 { first } else { 0.1 }).collect();
            Matrix { rows: 40, cols: 1, data }
        };
        let data = Dataset { x: Matrix::zeros(40, 1), weight: vec![1.0; 40], y: Matrix::zeros(40, 1) };
        let (free, kept, breaking) = (column(1.0), column(5.0), vec![false; 40]);
        let of = |outputs| Scored { rows: &data, outputs, breaking: &breaking };
        let ways = TriedWays { taken: Enforce::Decode, tried: &[], rows: CostRows::Test, free_to_choose: true };
        assert!(costly(&spec, &of(&free), &of(&kept), &ways).is_some());
    }

    #[test]
    fn of_classes_two_points_are_much() {
        let task = Task::Binary { target: "c".into(), classes: vec!["a".into(), "b".into()] };
        let spec = spec(task, "x >= 2 => c == 'a'");
        let rows = 1000;
        let right = Matrix { rows, cols: 2, data: (0..rows).flat_map(|_| [1.0, 0.0]).collect() };
        let data = Dataset { x: Matrix::zeros(rows, 1), weight: vec![1.0; rows], y: right.clone() };
        let breaking = vec![false; rows];
        let ways = TriedWays { taken: Enforce::Decode, tried: &[], rows: CostRows::Test, free_to_choose: true };
        for (wrong, told) in [(19, false), (21, true)] {
            let mut kept = right.clone();
            kept.data[..2 * wrong].chunks_mut(2).for_each(<[f32]>::reverse);
            let of = |outputs| Scored { rows: &data, outputs, breaking: &breaking };
            let warning = costly(&spec, &of(&right), &of(&kept), &ways);
            assert_eq!(warning.is_some(), told, "{warning:?}");
        }
    }
}
