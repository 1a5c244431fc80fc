//! A trained model and its rows enter; what it is judged by leaves, for summary.json and the page: scores with intervals, segments, how much
//! each feature matters, and what it was trained on.

mod effects;
mod source;

use deepsade_data::{Dataset, Judged, Segment, Split};
use deepsade_net::Matrix;
use deepsade_output::Output;
use deepsade_output::reader::Estimator;
use deepsade_spec::Task;
use serde_json::{Map, Value, json};

pub use effects::effects;
pub use source::DataSource;

use crate::fit::Rows;

/// A model with what it gives for some rows.
struct Answers {
    outputs: Matrix,
    probabilities: Option<Vec<Vec<f64>>>,
}

impl Answers {
    fn of(output: &Output, estimator: &Estimator, x: &Matrix) -> Self {
        let outputs = output.outputs(x);
        let regression = matches!(output.spec().schema.task, Task::Regression { .. });
        let probabilities = (!regression).then(|| estimator.of(x, &outputs));
        Self { outputs, probabilities }
    }

    fn judged<'a>(&'a self, output: &'a Output, rows: &'a Dataset) -> Judged<'a> {
        Judged {
            task: &output.spec().schema.task,
            outputs: &self.outputs,
            probabilities: self.probabilities.as_deref(),
            truth: &rows.y,
            weight: &rows.weight,
            cutoff: output.cutoff(),
        }
    }
}

/// The scores on the rows that trained, validated and tested; those of the test rows with intervals.
pub fn scores(output: &Output, rows: &Rows, split: &Split, segments: &[Segment], budget: usize, seed: u64) -> Value {
    let (mut out, estimator) = (Map::new(), Estimator::new(output, budget));
    for (name, indices, seed) in
        [("train", &split.train, None), ("validation", &split.validation, None), ("test", &split.test, Some(seed))]
    {
        let part = rows.all.select(indices);
        let answers = Answers::of(output, &estimator, &part.x);
        let segments: Vec<Segment> = segments.iter().map(|s| s.select(indices)).collect();
        let mut found = answers.judged(output, &part).scores(&segments, seed);
        found["rows_breaking_rules"] = json!(indices.iter().filter(|r| rows.breaking[**r]).count());
        out.insert(name.into(), found);
    }
    Value::Object(out)
}
