//! The gradient against central differences of the loss.

use deepsade_output::Judge;
use deepsade_output::decode::Decoder;
use deepsade_output::decode::sets::Sets;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::AtCutoff;
use crate::objective::{RuleLoss, ScoredRows};
use crate::units::Units;

/// Rules of every form about four labels, with and without conditions on the input.
const RULES: [&[&str]; 9] = [
    &["label[0] => label[1]"],
    &["(label[0] and label[1]) or label[3]", "not (label[2] and label[3])"],
    &["label[0] <=> label[2]", "a < 3.5 => label[1]"],
    &["0 - label[0] + 2 * label[1] + 3 * label[2] - 2 * label[3] <= 1"],
    &["exactly(1, label[0], label[1], label[2])"],
    &["a + b >= 4 => exactly(2, label[j] for j in 0..4)", "k == 'p' => label[0]"],
    &["k in {'p', 'q'} or label[0] or label[1]", "b == 2 => not label[3]"],
    &["sum(i * label[i] for i in 0..4) > 2"],
    &["exactly(1, label[0] or a < 3.5, label[1] <=> label[2], label[3])"],
];

fn spec(task: Task, rules: &[&str]) -> NormalSpec {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let features = vec![
        feature("a", Domain::Real { lo: 0.0, hi: 10.0 }),
        feature("b", Domain::Integer { lo: -5, hi: 5 }),
        feature("k", Domain::Category { levels: ["p", "q", "r"].map(String::from).to_vec() }),
    ];
    let rules: Vec<RuleText> = rules.iter().map(|t| RuleText { name: (*t).into(), text: (*t).into() }).collect();
    compile(&rules, &Schema { features, task, one_hot: OneHot::Full, filled: vec![] }).unwrap()
}

fn labels(n: usize) -> Task {
    Task::Multilabel { labels: (0..n).map(|j| format!("l{j}")).collect() }
}

/// `dl/ds_j = (l(s + h e_j) - l(s - h e_j)) / 2h + O(h^2)`.
fn assert_slopes(decoder: &Decoder, scores: &[f32], truth: &[f32], side: &[f32], weight: f32) {
    let n = scores.len();
    let cut = AtCutoff { decoder, shift: 0.0 };
    let mut loss = cut.objective(&Units::raw(n));
    let mut delta = vec![9.0; n];
    let value = loss.gradient(ScoredRows { scores, truth, side, weight: &[weight], width: n }, &mut delta).mean();
    assert!(value >= -1e-9, "a likelihood is at most 1");
    for j in 0..n {
        let h = 1.0 / 64.0;
        let mut at = |h: f32| {
            let mut moved = scores.to_vec();
            moved[j] += h;
            loss.gradient(ScoredRows { scores: &moved, truth, side, weight: &[weight], width: n }, &mut vec![0.0; n]).mean()
        };
        let slope = (at(h) - at(-h)) / f64::from(2.0 * h);
        assert!((slope - f64::from(delta[j])).abs() < 1e-4, "{slope} {}", delta[j]);
    }
}

#[test]
fn the_gradient_is_a_central_difference_of_the_loss() {
    let (mut rng, n) = (ChaCha8Rng::seed_from_u64(2), 4);
    for rules in RULES {
        let spec = spec(labels(n), rules);
        let (decoder, judge) = (Decoder::new(&spec, 1000).unwrap(), Judge::new(&spec));
        for _ in 0..10 {
            let level = rng.random_range(0..3);
            let mut x = vec![rng.random_range(0.0..10.0), rng.random_range(-5..=5) as f32];
            x.extend((0..3).map(|l| f32::from(u8::from(l == level))));
            let sets = (0..1usize << n).map(|set| (0..n).map(|j| f32::from(u8::from(set >> j & 1 == 1))).collect::<Vec<f32>>());
            let valid: Vec<Vec<f32>> = sets.filter(|y| (0..rules.len()).all(|r| !judge.breaks(r, &x, y))).collect();
            let scores: Vec<f32> = (0..n).map(|_| rng.random_range(-2.0..2.0)).collect();
            let truth = &valid[rng.random_range(0..valid.len())];
            let side: Vec<f32> = decoder.met(&judge, &x).into_iter().map(|m| f32::from(u8::from(m))).collect();
            assert_slopes(&decoder, &scores, truth, &side, 2.5);
        }
    }
}

#[test]
fn surrogate_gradients_are_central_differences_too() {
    let scores: Vec<f32> = (0..9).map(|k| ((k * 7 % 5) as f32 - 2.0) / 3.0).collect();
    let truth = [0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let items = ["u", "v", "w"].map(String::from).to_vec();
    for (task, sets) in [(Task::Ranking { items }, Sets::Assignment(3)), (labels(9), Sets::Implications(vec![(0, 1)]))] {
        let decoder = Decoder::of_sets(sets, &spec(task, &[]));
        assert_eq!(decoder.nodes(), None, "without a diagram there is only the surrogate");
        assert_slopes(&decoder, &scores, &truth, &[], 1.5);
    }
}
