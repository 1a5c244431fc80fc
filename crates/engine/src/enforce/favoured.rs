//! Rules about labels and training rows enter; what a network that keeps the rules through its weights had best favour leaves.
//!
//! Many label sets may obey the rules, and such a network has to do without some of them for all inputs: those that are rare in the
//! data cost least. Clauses that imply the rules leave most of them; where there are none, the most likely set is kept.

use deepsade_data::Dataset;
use deepsade_output::decode::{DecodeScratch, Decoder};
use deepsade_spec::{NormalSpec, Task};

use crate::clauses::Clauses;
use crate::guard::Favoured;

/// Nodes of the rules' diagram, at most.
const NODES: usize = 20_000;

/// The clauses and the most likely set. `None` for other tasks.
pub fn favoured(rules: &NormalSpec, rows: &Dataset) -> Option<Favoured> {
    if !matches!(rules.schema.task, Task::Multilabel { .. } | Task::Ranking { .. }) {
        return None;
    }
    let scores = usual_scores(rows);
    let outputs = most_likely(rules, &scores);
    let usual = scores.iter().map(|s| f64::from(*s)).collect();
    let all: Vec<usize> = (0..rows.rows()).collect();
    Some(Favoured { clauses: Clauses::new(rules, rows, &all).map(|clauses| (clauses, usual)), outputs })
}

/// For each label the score that says how frequent it is.
fn usual_scores(rows: &Dataset) -> Vec<f32> {
    let mut counts = vec![[0.5f64; 2]; rows.y.cols];
    for (r, v) in rows.weight.iter().enumerate() {
        for (count, y) in counts.iter_mut().zip(rows.y.row(r)) {
            count[usize::from(*y > 0.5)] += f64::from(*v);
        }
    }
    counts.iter().map(|[without, with]| (with / without).ln() as f32).collect()
}

/// Outputs of the most likely set that obeys, if labels were independent of the input and of each other. `None` for rules that depend
/// on the input, and where the rules are too large.
fn most_likely(rules: &NormalSpec, scores: &[f32]) -> Option<Vec<f64>> {
    let decoder = Decoder::new(rules, NODES).ok().filter(|decoder| decoder.conditions() == 0)?;
    let mut set = vec![0.0; scores.len()];
    decoder.best(scores, &[], &mut DecodeScratch::default(), &mut set).then_some(())?;
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
        let schema = Schema { features: Vec::new(), task, one_hot: OneHot::Full, filled: vec![] };
        let rules =
            compile(&[RuleText { name: "two".into(), text: "exactly(2, label[j] for j in 0..3)".into() }], &schema).unwrap();
        // b is most frequent, then c; alone a and b would be as likely as nothing.
        let y = Matrix { rows: 4, cols: 3, data: vec![0., 1., 1., 0., 1., 0., 1., 1., 0., 0., 1., 1.] };
        let rows = Dataset { x: Matrix { rows: 4, cols: 0, data: Vec::new() }, y, weight: vec![1.0; 4] };
        let outputs = favoured(&rules, &rows).unwrap().outputs.unwrap();
        assert!(outputs[0] <= -1.0 && outputs[1] >= 1.0 && outputs[2] >= 1.0, "{outputs:?}");
    }
}
