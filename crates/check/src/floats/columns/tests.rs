use super::*;

#[test]
fn whole_numbers_are_added_exactly_where_columns_are_alive() {
    for cols in 0..7usize {
        let data: Vec<f32> = (0..3 * cols).map(|k| k as f32 - 5.0).collect();
        let w = Matrix { rows: 3, cols, data };
        let a = [(0, [2.0, -1.0]), (2, [3.0, 4.0])];
        let live: Vec<usize> = (0..cols).filter(|i| *i != 2).collect();
        let mut into = Vec::new();
        WeightColumns::new(&w).back(&a, &live, &mut into);
        let full = |i: usize| {
            let at = |o: usize| f64::from(w.row(o)[i]);
            (i, [2.0 * at(0) + 3.0 * at(2), 4.0 * at(2) - at(0)])
        };
        assert_eq!(into, live.into_iter().map(full).collect::<Vec<_>>());
    }
}

#[test]
fn what_is_not_a_number_stays_so() {
    let w = Matrix { rows: 1, cols: 3, data: vec![1.0, 0.0, -1.0] };
    let mut into = Vec::new();
    WeightColumns::new(&w).back(&[(0, [f64::NAN])], &[0, 1, 2], &mut into);
    assert!(into.len() == 3 && into.iter().all(|(_, [v])| v.is_nan()));
}

/// On whole numbers, which float64 adds exactly: against the same sums row by row.
#[test]
fn sizes_and_ends_of_whole_numbers_are_exact() {
    for cols in 0..7usize {
        let w = Matrix { rows: 3, cols, data: (0..3 * cols).map(|k| (k * 5 % 7) as f32 - 3.0).collect() };
        let (lo, hi): (Vec<f64>, Vec<f64>) = (0..cols).map(|i| ([0.0, -2.0, 1.0][i % 3], [0.0, 3.0, 4.0][i % 3])).unzip();
        let columns = WeightColumns::new(&w);
        let (sizes, ends) = (columns.sizes(&hi), columns.ends(&lo, &hi));
        for o in 0..3 {
            let row: Vec<f64> = w.row(o).iter().map(|w| f64::from(*w)).collect();
            let sum = |of: &dyn Fn(usize) -> f64| (0..cols).map(of).sum::<f64>();
            assert_eq!(sizes[o], sum(&|i| row[i].abs() * hi[i]));
            assert_eq!(ends[o].0, sum(&|i| (row[i] * lo[i]).min(row[i] * hi[i])));
            assert_eq!(ends[o].1, sum(&|i| (row[i] * lo[i]).max(row[i] * hi[i])));
            assert_eq!(columns.rows[o], (row.iter().filter(|w| **w != 0.0).count() as f64, sum(&|i| row[i].abs())));
        }
    }
}
