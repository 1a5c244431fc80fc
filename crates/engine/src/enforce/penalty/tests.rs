//! Slopes are differences, values are counted by hand.

use deepsade_net::Matrix;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};

use super::*;

fn spec(task: Task, rules: &[&str]) -> NormalSpec {
    let number = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 10.0 } };
    let schema = Schema { features: vec![number("x"), number("z")], task, one_hot: OneHot::Full, filled: vec![] };
    let rules: Vec<RuleText> =
        rules.iter().enumerate().map(|(k, text)| RuleText { name: format!("r{k}"), text: (*text).into() }).collect();
    compile(&rules, &schema).unwrap()
}

fn labels() -> NormalSpec {
    let task = Task::Multilabel { labels: ["a", "b", "c", "d"].map(String::from).to_vec() };
    spec(task, &["sum(i * label[i] for i in 0..4) > 3", "x > 5 => exactly(1, label[i] for i in 0..3)"])
}

fn classes() -> NormalSpec {
    let task = Task::Multiclass { target: "t".into(), classes: ["p", "q", "r"].map(String::from).to_vec() };
    spec(task, &["x < 5 => t in {'p', 'q'}"])
}

fn numbers() -> NormalSpec {
    spec(Task::regression(vec!["u".into(), "v".into()]), &["u + 2 * v <= x", "u <= 0.5 * z or v >= 1"])
}

fn penalty(spec: &NormalSpec, kind: PenaltyName, weights: &[f64]) -> Penalty {
    let settings = PenaltySettings { kind, weights: weights.to_vec() };
    Penalty::new(spec, &settings, crate::fit::loss(&spec.schema.task), 1000).unwrap()
}

fn units(spec: &NormalSpec) -> Units {
    let n = spec.schema.task.outputs();
    match spec.schema.task {
        Task::Regression { .. } => Units { shift: vec![1.0, -2.0], scale: vec![2.0, 0.5] },
        _ => Units::raw(n),
    }
}

/// The mean penalised loss, and its gradient.
fn value(penalty: &Penalty, spec: &NormalSpec, scores: &[f32], y: &Matrix, side: &Matrix) -> (f64, Vec<f32>) {
    let units = units(spec);
    let (mut delta, width) = (vec![0.0; scores.len()], spec.schema.task.outputs());
    let mean = penalty
        .objective(&units)
        .gradient(ScoredRows { scores, truth: &y.data, side: &side.data, weight: &[1.0, 2.5], width }, &mut delta)
        .mean();
    (mean, delta)
}

/// `dL'/ds_i = (L'(s + h e_i) - L'(s - h e_i)) / 2h + O(h^2)`
#[test]
fn slopes_are_central_differences() {
    let x = Matrix { rows: 2, cols: 2, data: vec![2.0, 1.0, 7.0, 3.0] };
    let cases = [
        (labels(), PenaltyName::Semantic, vec![0.6]),
        (labels(), PenaltyName::Fuzzy, vec![0.6]),
        (labels(), PenaltyName::Hinge, vec![0.2, 0.3]),
        (classes(), PenaltyName::Semantic, vec![0.6]),
        (classes(), PenaltyName::Fuzzy, vec![0.6]),
        (classes(), PenaltyName::Hinge, vec![0.4]),
        (numbers(), PenaltyName::Fuzzy, vec![0.3]),
        (numbers(), PenaltyName::Hinge, vec![0.3, 0.4]),
    ];
    for (spec, kind, weights) in cases {
        let width = spec.schema.task.outputs();
        let y = Matrix { rows: 2, cols: width, data: (0..2 * width).map(|k| f32::from(u8::from(k % width == 1))).collect() };
        let penalty = penalty(&spec, kind, &weights);
        let side = penalty.side_of(&spec, &x);
        let scores: Vec<f32> = [0.31, -0.23, 0.83, -1.1, 0.7, 1.45, -0.4, 0.27].into_iter().take(2 * width).collect();
        let (_, delta) = value(&penalty, &spec, &scores, &y, &side);
        let mut penalised = false;
        let (_, plain) = value(
            &Penalty { settings: PenaltySettings { kind, weights: vec![0.0] }, ..penalty.clone() },
            &spec,
            &scores,
            &y,
            &side,
        );
        for i in 0..scores.len() {
            let at = |h: f32| {
                let mut moved = scores.clone();
                moved[i] += h;
                value(&penalty, &spec, &moved, &y, &side).0
            };
            let h = 1.0 / 256.0;
            let slope = (at(h) - at(-h)) / f64::from(2.0 * h);
            assert!((slope - f64::from(delta[i])).abs() < 1e-4, "{kind:?} {i}: {slope} {}", delta[i]);
            let rest = 1.0 - weights.iter().sum::<f64>();
            penalised |= (f64::from(delta[i]) - rest * f64::from(plain[i])).abs() > 1e-3;
        }
        assert!(penalised, "{kind:?}: the penalty has a slope of its own");
    }
}

/// P(valid) by looking at all sets.
#[test]
fn semantic_loss_counts_the_valid_sets() {
    let spec = labels();
    let penalty = penalty(&spec, PenaltyName::Semantic, &[1.0]);
    let judge = Judge::new(&spec);
    for x in [[2.0f32, 0.0], [8.0, 0.0]] {
        let scores = [0.4f32, -0.9, 1.3, 0.2];
        let mut valid = 0.0;
        for set in 0..16u32 {
            let y: Vec<f32> = (0..4).map(|j| if set >> j & 1 == 1 { 1.0 } else { -1.0 }).collect();
            let p = |j: usize| 1.0 / (1.0 + (-f64::from(y[j] * scores[j])).exp());
            if (0..2).all(|rule| !judge.breaks(rule, &x, &y)) {
                valid += (0..4).map(p).product::<f64>();
            }
        }
        let row = Matrix { rows: 1, cols: 2, data: x.to_vec() };
        let side = penalty.side_of(&spec, &row);
        let units = Units::raw(4);
        let found = penalty
            .objective(&units)
            .gradient(ScoredRows { scores: &scores, truth: &[0.0; 4], side: &side.data, weight: &[1.0], width: 4 }, &mut [0.0; 4])
            .mean();
        assert!((found + valid.ln()).abs() < 1e-6, "{found} {}", -valid.ln());
    }
    // Classes: p and q are allowed below 5; from 5 on all are, and there is nothing to lose.
    let spec = classes();
    let penalty = self::penalty(&spec, PenaltyName::Semantic, &[1.0]);
    for (x, expected) in [(2.0, (1.0 + 2f64.exp() / (1f64.exp() + 1.0)).ln()), (7.0, 0.0)] {
        let side = penalty.side_of(&spec, &Matrix { rows: 1, cols: 2, data: vec![x, 0.0] });
        let units = Units::raw(3);
        let found = penalty
            .objective(&units)
            .gradient(
                ScoredRows { scores: &[1.0, 0.0, 2.0], truth: &[0.0; 3], side: &side.data, weight: &[1.0], width: 3 },
                &mut [0.0; 3],
            )
            .mean();
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
}

/// u = 4, v = 1 at x = 3, z = 2: the sum is 3 too large; v is large enough for the second rule.
#[test]
fn hinge_is_the_papers_regularisation() {
    let spec = numbers();
    let row = |weights: &[f64], y: [f32; 2]| {
        let penalty = penalty(&spec, PenaltyName::Hinge, weights);
        let side = penalty.side_of(&spec, &Matrix { rows: 1, cols: 2, data: vec![3.0, 2.0] });
        let units = Units::raw(2);
        penalty
            .objective(&units)
            .gradient(ScoredRows { scores: &y, truth: &y, side: &side.data, weight: &[1.0], width: 2 }, &mut [0.0; 2])
            .mean()
    };
    assert!((row(&[0.3, 0.49], [4.0, 1.0]) - 0.9).abs() < 1e-6);
    // v = 0.5: u is 3 above half of z, v is 0.5 short of 1, and the nearer will do.
    assert!((row(&[0.0, 0.4], [4.0, 0.5]) - 0.2).abs() < 1e-6);
    assert!((row(&[0.3, 0.4], [1.0, 1.0])).abs() < 1e-6);
}

/// Two of three labels at probability 1/2 reach 3/4 of "at least two"; one or the other 3/4; both 1/4.
#[test]
fn fuzzy_truth_by_hand() {
    let task = || Task::Multilabel { labels: ["a", "b", "c"].map(String::from).to_vec() };
    for (rule, truth) in [
        ("label[0] or label[1]", 0.75),
        ("label[0] and label[1]", 0.25),
        ("at_least(2, label[i] for i in 0..3)", 0.75),
        ("x > 5 => label[0]", 1.0),
    ] {
        let spec = spec(task(), &[rule]);
        let penalty = penalty(&spec, PenaltyName::Fuzzy, &[1.0]);
        let side = penalty.side_of(&spec, &Matrix { rows: 1, cols: 2, data: vec![2.0, 0.0] });
        let units = Units::raw(3);
        let found = penalty
            .objective(&units)
            .gradient(
                ScoredRows { scores: &[0.0; 3], truth: &[0.0; 3], side: &side.data, weight: &[1.0], width: 3 },
                &mut [0.0; 3],
            )
            .mean();
        assert!((found - (1.0 - truth)).abs() < 1e-6, "{rule}: {found}");
    }
}

#[test]
fn what_can_not_be_asked_is_refused() {
    let of = |spec: &NormalSpec, kind, weights: &[f64]| {
        let settings = PenaltySettings { kind, weights: weights.to_vec() };
        Penalty::new(spec, &settings, Loss::MeanSquares, 1000).unwrap_err().to_string()
    };
    let error = of(&numbers(), PenaltyName::Hinge, &[0.1, 0.1, 0.1]);
    assert_eq!(error, "train.penalty.weights has 3 weights; give one for all rules, or 2, one a rule");
    assert!(of(&numbers(), PenaltyName::Semantic, &[0.1]).contains("a regression has none"));
    assert!(of(&labels(), PenaltyName::Semantic, &[0.1, 0.1]).contains("one for all rules"));
    let settings = PenaltySettings { kind: PenaltyName::Semantic, weights: vec![0.5] };
    let error = Penalty::new(&labels(), &settings, Loss::SigmoidCrossEntropy, 1).unwrap_err().to_string();
    assert!(error.contains("more than 1 nodes"), "{error}");
}
