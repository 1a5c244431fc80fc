//! Rows and the domain enter; the features leave whose rows lie so close together within it that scaling by the domain hides what they differ in.

use deepsade_data::Dataset;
use deepsade_spec::Schema;

/// The share of the domain within which the rows lie, but for the outermost percent at each end.
const WIDE: f32 = 0.1;
/// Fewer rows say too little.
const FEWEST: usize = 50;

/// Numbers of which nearly all rows lie within a tenth of the domain.
pub fn squeezed<'s>(schema: &'s Schema, all: &Dataset, rows: &[usize]) -> Vec<&'s str> {
    if rows.len() < FEWEST {
        return Vec::new();
    }
    let (first, ranges) = (schema.first_columns(), schema.column_ranges());
    let within = |column: usize, (lo, hi): (f32, f32)| {
        let mut values: Vec<f32> = rows.iter().map(|r| all.x.row(*r)[column]).collect();
        values.sort_unstable_by(f32::total_cmp);
        let out = values.len() / 100;
        let width = values[values.len() - 1 - out] - values[out];
        // What is nearly always the same is no matter of scale.
        width > 0.0 && width < WIDE * (hi - lo)
    };
    let numbers = schema.features.iter().enumerate().filter(|(_, f)| f.domain.range().is_some_and(|(lo, hi)| hi - lo > 1.0));
    numbers.filter(|(f, _)| within(first[*f], ranges[first[*f]])).map(|(_, f)| f.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use deepsade_net::Matrix;
    use deepsade_spec::{Domain, Feature, OneHot, Task};

    use super::*;

    #[test]
    fn what_lies_within_a_tenth_of_its_domain_is_named() {
        let feature = |name: &str, hi| Feature { name: name.into(), domain: Domain::Real { lo: 0.0, hi } };
        let features = vec![feature("wide", 1000.0), feature("own", 60.0), feature("same", 1000.0), feature("share", 1.0)];
        let task = Task::regression(vec!["y".into()]);
        let schema = Schema { features, task, one_hot: OneHot::Full, filled: vec![] };
        let mut x =
            Matrix { rows: 60, cols: 4, data: (0..60).flat_map(|k| [k as f32, k as f32, 5.0, k as f32 / 1000.0]).collect() };
        let all = |x: &Matrix| Dataset { x: x.clone(), y: Matrix::zeros(60, 1), weight: vec![1.0; 60] };
        let rows: Vec<usize> = (0..60).collect();
        assert_eq!(squeezed(&schema, &all(&x), &rows), ["wide"]);
        x.row_mut(59)[0] = 900.0;
        assert!(squeezed(&schema, &all(&x), &rows).is_empty());
        assert!(squeezed(&schema, &all(&x), &rows[..20]).is_empty());
    }
}
