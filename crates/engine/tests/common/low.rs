//! A rule and data that break it, for the tests of training, those inside of the crate too.

use deepsade_data::Dataset;
use deepsade_net::Matrix;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};

/// y <= a + 0.5 where a < 0.5.
pub fn spec() -> NormalSpec {
    let feature = |name: &str| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } };
    let task = Task::regression(vec!["y".into()]);
    let schema = Schema { features: vec![feature("a"), feature("b")], task, one_hot: OneHot::Full, filled: vec![] };
    compile(&[RuleText { name: "low".into(), text: "a < 0.5 => y <= a + 0.5".into() }], &schema).unwrap()
}

/// y = 2 a + b, which breaks the rule.
pub fn data(rows: usize) -> Dataset {
    let x: Vec<[f32; 2]> = (0..rows).map(|r| [(r * 37 % 101) as f32 / 100.0, (r * 53 % 97) as f32 / 96.0]).collect();
    Dataset {
        y: Matrix { rows, cols: 1, data: x.iter().map(|[a, b]| 2.0 * a + b).collect() },
        x: Matrix { rows, cols: 2, data: x.concat() },
        weight: vec![1.0; rows],
    }
}
