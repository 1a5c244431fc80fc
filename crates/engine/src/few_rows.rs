//! Labels enter, dealt out; classes of which too few rows validate or test leave, in words.

use deepsade_data::Split;
use deepsade_net::Matrix;
use deepsade_output::predict::predicted_class;
use deepsade_spec::{Task, shown};

/// Rows of a class from which on a part is not mentioned: with fewer one row more or less moves every score.
const FEW: usize = 5;
/// Classes that are named.
const NAMED: usize = 4;

/// Which classes the scores can hardly be about, and what to do; `y` are the labels of all rows.
pub fn few_of_a_class(task: &Task, y: &Matrix, split: &Split) -> Option<String> {
    let classes = task.classes()?;
    let counts = |rows: &[usize]| {
        let mut counts = vec![0; classes.len()];
        rows.iter().for_each(|row| counts[predicted_class(y.row(*row))] += 1);
        counts
    };
    let parts = [("validation", &split.validation), ("test", &split.test)].map(|(name, rows)| (name, rows.len(), counts(rows)));
    let of_class = |(c, name): (usize, &String)| {
        let few = parts.iter().filter(|(_, rows, counts)| *rows > 0 && counts[c] < FEW);
        let few: Vec<String> = few.map(|(part, rows, counts)| format!("{} of the {rows} {part} rows", counts[c])).collect();
        (!few.is_empty()).then(|| format!("class '{}' has {}", shown::name(name), few.join(" and ")))
    };
    let found: Vec<String> = classes.iter().enumerate().filter_map(of_class).collect();
    let more = if found.len() > NAMED { format!(" (and {} more classes)", found.len() - NAMED) } else { String::new() };
    (!found.is_empty()).then(|| {
        format!(
            "{}{more}: the scores there hang on single rows, and those that compare classes (AUC, KS, F1) may not be told at all; get more \
             rows of it, give these parts larger shares, or deal the rows out by a column (`split = {{ column = \"...\" }}` in [data]) \
             that has some of each class in each part",
            found[..found.len().min(NAMED)].join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_hardly_validates_or_tests_is_named() {
        let task = Task::Binary { target: "t".into(), classes: vec!["no".into(), "yes".into()] };
        let of = |rare: &[usize]| {
            let data = (0..40).flat_map(|r| if rare.contains(&r) { [0.0, 1.0] } else { [1.0, 0.0] }).collect();
            let y = Matrix { rows: 40, cols: 2, data };
            let split = Split { train: (0..20).collect(), validation: (20..30).collect(), test: (30..40).collect() };
            few_of_a_class(&task, &y, &split)
        };
        let told = of(&[1, 2, 35]).unwrap();
        assert!(told.starts_with("class 'yes' has 0 of the 10 validation rows and 1 of the 10 test rows:"), "{told}");
        assert!(told.contains("more rows of it") && !told.contains("'no'"), "{told}");
        assert_eq!(of(&[20, 21, 22, 23, 24, 31, 32, 33, 34, 35]), None);
        let y = Matrix::zeros(40, 1);
        assert_eq!(few_of_a_class(&Task::regression(vec!["y".into()]), &y, &Split::default()), None);
    }
}
