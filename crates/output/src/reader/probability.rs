//! A model's scores enter; the probabilities of what it predicts leave. They are no part of the graph, nor of a proof.

use deepsade_net::Matrix;
use deepsade_spec::Task;

use super::{Output, shift};
use crate::decode::{DecodeError, DecodeScratch, Decoder, paths};
use crate::judge::Judge;
use crate::predict::{predicted_class, predicted_label};

/// What the scores of one row say; where the model chooses among valid sets, given that the set is valid.
#[derive(Debug, Clone, PartialEq)]
pub struct Probabilities {
    /// Of each class, label or place.
    pub labels: Vec<f64>,
    /// Of all that is predicted.
    pub set: f64,
}

/// A model whose probabilities are asked for more than once.
#[derive(Debug)]
pub struct Estimator<'a> {
    output: &'a Output<'a>,
    /// What the model chooses among; `None` for one that does not choose. An error where there are too many sets.
    sets: Result<Option<Decoder>, DecodeError>,
}

impl<'a> Estimator<'a> {
    /// Prepares what a model chooses among, by a diagram of at most so many nodes.
    pub fn new(output: &'a Output<'a>, budget: usize) -> Self {
        let task = &output.spec.schema.task;
        let sets = if output.has_step() || matches!(task, Task::Regression { .. }) {
            match Decoder::new(&output.spec, budget) {
                // Rules about scores bind the outputs, of which there are no sets.
                Err(_) if task.classes().is_some() => Ok(None),
                Ok(decoder) if decoder.nodes().is_none() => Err(DecodeError::NoProbabilities { budget }),
                other => other.map(Some),
            }
        } else {
            Ok(None)
        };
        Self { output, sets }
    }

    /// The probabilities behind each row of outputs; `None` for a row without a valid prediction. An error if they can't be had: for a
    /// regression, or for sets of which there are too many.
    pub fn exact(self, x: &Matrix, y: &Matrix) -> Result<Vec<Option<Probabilities>>, DecodeError> {
        Ok(self.output.rows_of(self.sets?.as_ref(), x, y))
    }

    /// The probabilities of each row, where they can't be had those of each label on its own, by the network's scores; not a number for a
    /// row without a prediction.
    pub fn of(&self, x: &Matrix, y: &Matrix) -> Vec<Vec<f64>> {
        let found = match &self.sets {
            Ok(sets) => self.output.rows_of(sets.as_ref(), x, y),
            Err(_) => self.output.rows_of(None, x, &self.output.scores(x)),
        };
        found.into_iter().map(|p| p.map_or_else(|| vec![f64::NAN; y.cols], |p| p.labels)).collect()
    }
}

impl Output<'_> {
    /// The probability of the second of two classes from which on it is predicted.
    pub fn cutoff(&self) -> f64 {
        self.cutoff.unwrap_or(0.5)
    }

    /// The probabilities behind each row of outputs, see [`Estimator::exact`].
    pub fn probabilities(&self, x: &Matrix, y: &Matrix, budget: usize) -> Result<Vec<Option<Probabilities>>, DecodeError> {
        Estimator::new(self, budget).exact(x, y)
    }

    fn rows_of(&self, sets: Option<&Decoder>, x: &Matrix, y: &Matrix) -> Vec<Option<Probabilities>> {
        let Some(decoder) = sets else { return (0..y.rows).map(|r| self.plain(y.row(r))).collect() };
        let (scores, judge, mut scratch) = (self.scores(x), Judge::new(&self.spec), DecodeScratch::default());
        let mut labels = vec![0.0; decoder.labels()];
        let row = |r: usize| {
            if y.row(r).iter().any(|y| y.is_nan()) {
                return None;
            }
            let (s, met) = (self.shifted(scores.row(r)), decoder.met(&judge, x.row(r)));
            let log_valid = decoder.log_valid(&s, &met, &mut scratch, &mut labels)?;
            if log_valid == f64::NEG_INFINITY {
                return None;
            }
            // Sums of exponentials round: a share of all is above one by a last bit.
            let mut labels: Vec<f64> = labels.iter().map(|p| p.clamp(0.0, 1.0)).collect();
            if decoder.is_one_of() {
                in_sum_one(&mut labels);
                let set = labels[predicted_class(y.row(r))];
                return Some(Probabilities { labels, set });
            }
            let set = (paths::log_set(&s, y.row(r)) - log_valid).exp().clamp(0.0, 1.0);
            Some(Probabilities { labels, set })
        };
        (0..x.rows).map(row).collect()
    }

    /// Scores whose softmax are the probabilities.
    fn shifted(&self, scores: &[f32]) -> Vec<f32> {
        let mut scores = scores.to_vec();
        if let [_, second] = &mut scores[..] {
            *second += self.cutoff.map_or(0.0, shift);
        }
        scores
    }

    /// Of outputs that nothing was chosen from: the softmax of classes, each label and place on its own.
    fn plain(&self, y: &[f32]) -> Option<Probabilities> {
        if y.iter().any(|y| y.is_nan()) {
            return None;
        }
        if self.spec.schema.task.classes().is_none() {
            let labels: Vec<f64> = y.iter().map(|y| 1.0 / (1.0 + (-f64::from(*y)).exp())).collect();
            let set = labels.iter().zip(y).map(|(p, y)| if predicted_label(*y) { *p } else { 1.0 - p }).product();
            return Some(Probabilities { labels, set });
        }
        let scores = self.shifted(y);
        let top = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut labels: Vec<f64> = scores.iter().map(|s| f64::from(s - top).exp()).collect();
        in_sum_one(&mut labels);
        let set = labels[predicted_class(y)];
        Some(Probabilities { labels, set })
    }
}

/// Shares of classes, made to add up to one, as well as floats allow: the largest is what the others leave.
fn in_sum_one(labels: &mut [f64]) {
    let sum: f64 = labels.iter().sum();
    labels.iter_mut().for_each(|p| *p /= sum);
    let Some(top) = (0..labels.len()).max_by(|a, b| labels[*a].total_cmp(&labels[*b])) else { return };
    let others: f64 = labels.iter().enumerate().filter(|(k, _)| *k != top).map(|(_, p)| p).sum();
    labels[top] = 1.0 - others;
}

#[cfg(test)]
mod tests {
    use super::in_sum_one;

    #[test]
    fn shares_are_no_more_than_one_and_add_up_to_it() {
        for k in 1..2000u32 {
            let (a, b) = (f64::from(k) / 7.0, f64::from(k % 13) / 3.0);
            let mut two = [a, b];
            in_sum_one(&mut two);
            assert!(two.iter().all(|p| (0.0..=1.0).contains(p)) && two[0] + two[1] == 1.0, "{two:?}");
            let mut many = [a, b, 0.1, 0.2, 0.7];
            in_sum_one(&mut many);
            assert!(many.iter().all(|p| (0.0..=1.0).contains(p)), "{many:?}");
            assert!((many.iter().sum::<f64>() - 1.0).abs() <= 2.0 * f64::EPSILON, "{many:?}");
        }
    }
}
