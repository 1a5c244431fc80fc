//! Random numbers enter; rules about labels and the inputs of one small domain leave, for the tests of decoders and makers.

use std::fmt::Write;

use deepsade_spec::{Domain, Feature, OneHot, Schema, Task};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Inputs a in [0, 10], b from -5 to 5, k in {p, q, r}.
pub(crate) fn schema(task: Task) -> Schema {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    Schema {
        features: vec![
            feature("a", Domain::Real { lo: 0.0, hi: 10.0 }),
            feature("b", Domain::Integer { lo: -5, hi: 5 }),
            feature("k", Domain::Category { levels: vec!["p".into(), "q".into(), "r".into()] }),
        ],
        task,
        one_hot: OneHot::Full,
        filled: vec![],
    }
}

/// So many labels.
pub(crate) fn multilabel(n: usize) -> Task {
    Task::Multilabel { labels: (0..n).map(|j| format!("l{j}")).collect() }
}

/// A random condition over labels, and over the input where that is asked for.
pub(crate) fn condition(rng: &mut ChaCha8Rng, n: usize, depth: usize, inputs: bool) -> String {
    if inputs && rng.random_range(0..5) == 0 {
        return ["a < 3.5", "a + b >= 4", "k == 'p'", "b == 2", "k in {'p', 'q'}"][rng.random_range(0..5)].into();
    }
    let label = |rng: &mut ChaCha8Rng| format!("label[{}]", rng.random_range(0..n));
    if depth == 0 {
        return label(rng);
    }
    let part = |rng: &mut ChaCha8Rng| condition(rng, n, depth - 1, inputs);
    match rng.random_range(0..6) {
        0 => format!("({} => {})", part(rng), part(rng)),
        1 => format!("({} or {})", part(rng), part(rng)),
        2 => format!("not ({} and {})", part(rng), part(rng)),
        3 => format!("({} <=> {})", part(rng), part(rng)),
        4 => {
            let mut sum = String::from("0");
            for j in 0..n {
                let _ = write!(sum, " + {} * label[{j}]", [-2, -1, 1, 2, 3][rng.random_range(0..5)]);
            }
            format!("{sum} <= {}", rng.random_range(0..5))
        }
        _ => format!("exactly(1, {}, {}, {})", part(rng), part(rng), label(rng)),
    }
}
