//! Rules about labels and training rows enter; the outputs of the most likely label set that obeys the rules leave.
//!
//! Many label sets may obey the rules, and a network that keeps them through its weights has to favour some for all inputs: those
//! that are most frequent in the data cost least.

use deepsade_data::Dataset;
use deepsade_output::decode::{Decoder, Scratch};
use deepsade_spec::{NormalSpec, Task};

/// Nodes of the rules' diagram, at most.
const NODES: usize = 20_000;

/// Outputs of that set if labels were independent of the input and of each other. `None` for other tasks, for rules that depend
/// on the input, and where the rules are too large.
pub fn usual_outputs(rules: &NormalSpec, rows: &Dataset) -> Option<Vec<f64>> {
    if !matches!(rules.schema.task, Task::Multilabel { .. } | Task::Ranking { .. }) {
        return None;
    }
    let decoder = Decoder::new(rules, NODES).ok().filter(|decoder| decoder.conditions() == 0)?;
    let mut counts = vec![[0.5f64; 2]; rows.y.cols];
    for (r, v) in rows.weight.iter().enumerate() {
        for (count, y) in counts.iter_mut().zip(rows.y.row(r)) {
            count[usize::from(*y > 0.5)] += f64::from(*v);
        }
    }
    let scores: Vec<f32> = counts.iter().map(|[without, with]| (with / without).ln() as f32).collect();
    let mut set = vec![0.0; scores.len()];
    decoder.best(&scores, &[], &mut Scratch::default(), &mut set).then_some(())?;
    Some(scores.iter().zip(&set).map(|(s, y)| if *y > 0.5 { f64::from(*s).max(1.0) } else { f64::from(*s).min(-1.0) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepsade_net::Matrix;
    use deepsade_spec::{OneHot, RuleText, Schema, compile};

    #[test]
    fn the_most_frequent_set_that_obeys() {
        let task = Task::Multilabel { labels: ["a", "b", "c"].map(String::from).to_vec() };
        let schema = Schema { features: Vec::new(), task, one_hot: OneHot::Full };
        let rules =
            compile(&[RuleText { name: "two".into(), text: "exactly(2, label[j] for j in 0..3)".into() }], &schema).unwrap();
        // b is most frequent, then c; alone a and b would be as likely as nothing.
        let y = Matrix { rows: 4, cols: 3, data: vec![0., 1., 1., 0., 1., 0., 1., 1., 0., 0., 1., 1.] };
        let rows = Dataset { x: Matrix { rows: 4, cols: 0, data: Vec::new() }, y, weight: vec![1.0; 4] };
        let outputs = usual_outputs(&rules, &rows).unwrap();
        assert!(outputs[0] <= -1.0 && outputs[1] >= 1.0 && outputs[2] >= 1.0, "{outputs:?}");
    }
}
