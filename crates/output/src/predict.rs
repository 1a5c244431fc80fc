//! Raw outputs of a network enter, what they mean in the words of the task leaves.

use std::collections::BTreeSet;

use deepsade_net::{Matrix, first_largest};
use deepsade_spec::Task;

/// The class with the largest score; the class listed first wins a tie.
pub fn predicted_class(scores: &[f32]) -> usize {
    first_largest(scores)
}

/// A label is predicted iff its score is above zero.
pub fn predicted_label(score: f32) -> bool {
    score > 0.0
}

/// The names of the columns that [`in_words`] fills.
pub fn columns(task: &Task) -> Vec<String> {
    match task {
        Task::Ranking { items } => {
            let places = 1..=items.len();
            items.iter().flat_map(|item| places.clone().map(move |p| format!("{item}@{p}"))).collect()
        }
        _ => task.target_columns().into_iter().map(String::from).collect(),
    }
}

/// One prediction: numbers, a class, or 0 and 1 for labels and places.
pub fn in_words(task: &Task, y: &[f32]) -> Vec<String> {
    match task {
        // There is no -0 among whole numbers.
        Task::Regression { .. } => y.iter().map(|v| (v + 0.0).to_string()).collect(),
        Task::Binary { classes, .. } | Task::Multiclass { classes, .. } => vec![classes[predicted_class(y)].clone()],
        Task::Multilabel { .. } | Task::Ranking { .. } => y.iter().map(|v| u8::from(predicted_label(*v)).to_string()).collect(),
    }
}

/// How many different predictions there are: a constant is 1.
pub fn distinct(task: &Task, y: &Matrix) -> usize {
    let prediction = |row: &[f32]| -> Vec<u32> {
        match task {
            Task::Regression { .. } => row.iter().map(|v| v.to_bits()).collect(),
            Task::Binary { .. } | Task::Multiclass { .. } => vec![predicted_class(row) as u32],
            Task::Multilabel { .. } | Task::Ranking { .. } => row.iter().map(|v| u32::from(predicted_label(*v))).collect(),
        }
    };
    (0..y.rows).map(|r| prediction(y.row(r))).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_class_listed_first() {
        assert_eq!(predicted_class(&[1.0, 2.0, 2.0]), 1);
        assert_eq!(predicted_class(&[0.0, 0.0]), 0);
    }

    #[test]
    fn places_are_numbered_from_one() {
        let task = Task::Ranking { items: vec!["ebi".into(), "ika".into()] };
        assert_eq!(columns(&task), ["ebi@1", "ebi@2", "ika@1", "ika@2"]);
        assert_eq!(in_words(&task, &[0.5, -0.5, 0.0, 1.0]), ["1", "0", "0", "1"]);
    }
}
