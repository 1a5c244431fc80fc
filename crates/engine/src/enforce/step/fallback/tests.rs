use deepsade_net::Matrix;
use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::ranges;
use super::*;

/// Where nothing may have been ordered, all hours but one must be 0: a single point, which a program in floats finds or not.
#[test]
fn an_equality_that_leaves_one_point_has_a_fallback_whatever_the_data() {
    let names: Vec<String> = (0..24).map(|h| format!("h{h}")).collect();
    let all = names.join(", ");
    let texts = [format!("min({all}) >= 0"), format!("sum({all}) == ordered")];
    let rules: Vec<RuleText> = texts.iter().map(|text| RuleText { name: text.clone(), text: text.clone() }).collect();
    let features = vec![Feature { name: "ordered".into(), domain: Domain::Integer { lo: 0, hi: 2000 } }];
    let spec = compile(&rules, &Schema { features, task: Task::regression(names), one_hot: OneHot::Full }).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    for _ in 0..20 {
        let size: Vec<f32> = (0..24).map(|_| rng.random_range(5.0..80.0)).collect();
        let data: Vec<f32> = (0..50).flat_map(|_| size.clone()).map(|s| s * rng.random_range(0.2..1.8)).collect();
        let usual = Usual::of(&Matrix { rows: 50, cols: 24, data });
        let outputs = Outputs::Numbers(ranges(&spec, &usual).unwrap());
        fallback(&spec, &outputs, &usual).unwrap();
    }
}
