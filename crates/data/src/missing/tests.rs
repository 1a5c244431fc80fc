//! What is filled in, with what, and what is refused.

use super::*;

const GAP: f64 = f64::NAN;

fn table() -> Table {
    Table {
        names: ["a", "t", "y"].map(String::from).to_vec(),
        columns: vec![
            Column::Number(vec![4.0, GAP, 1.0, 3.0, GAP]),
            Column::Text { levels: vec!["p".into(), "q".into()], codes: vec![1, 0, 1, MISSING_CODE, 0] },
            Column::Number(vec![0.0, 1.0, 1.0, 0.0, GAP]),
        ],
        row_numbers: vec![1, 2, 3, 4, 5],
    }
}

fn settled(table: &mut Table, data: &str, features: &str) -> Result<(MissingReport, Vec<Filled>), DataError> {
    let data: DataSettings = toml::from_str(data).unwrap_or_else(|e| panic!("{data}: {e}"));
    let overrides: Overrides = toml::from_str(features).unwrap_or_else(|e| panic!("{features}: {e}"));
    settle_missing(table, &["y".into()], &data, &overrides)
}

/// What is filled in for a and t.
fn fills(data: &str, features: &str) -> (Table, Vec<String>) {
    let mut t = table();
    let (_, filled) = settled(&mut t, data, features).unwrap_or_else(|e| panic!("{data} {features}: {e}"));
    (t, filled.iter().map(|f| format!("{} {}", f.feature, f.with)).collect())
}

#[test]
fn error_names_the_first_place_the_counts_and_the_ways_out() {
    let message = settled(&mut table(), "", "").unwrap_err().to_string();
    for part in ["4 missing values in 3 rows", "row 2, column 'a'", "missing = \"drop\"", "impute = \"median\""] {
        assert!(message.contains(part), "{message}");
    }
    // What is filled in is not missing.
    let message = settled(&mut table(), "", "a = { missing = 2.5 }").unwrap_err().to_string();
    assert!(message.contains("2 missing values in 2 rows, the first in row 4, column 't'"), "{message}");
}

#[test]
fn drop_leaves_full_rows() {
    let mut t = table();
    let (report, filled) = settled(&mut t, "missing = 'drop'", "").unwrap();
    assert_eq!((report, filled), (MissingReport { dropped_rows: 3, imputed_values: 0 }, vec![]));
    assert_eq!(t.row_numbers, [1, 3]);
    assert_eq!(t.columns[1], Column::Text { levels: vec!["q".into()], codes: vec![0, 0] });
    // Rows whose only gap is filled in stay.
    let mut t = table();
    settled(&mut t, "missing = 'drop'", "a = { missing = 'median' }").unwrap();
    assert_eq!((&t.row_numbers[..], &t.columns[0]), (&[1, 2, 3][..], &Column::Number(vec![4.0, 1.0, 1.0])));
}

#[test]
fn impute_fills_features_and_drops_rows_without_a_target() {
    let mut t = table();
    let (report, filled) = settled(&mut t, "missing = 'impute'", "").unwrap();
    assert_eq!(report, MissingReport { dropped_rows: 1, imputed_values: 2 });
    // The row without a target is gone before the median (1, 3, 4) and the commonest level (q, p, q) are taken.
    assert_eq!(t.columns[0], Column::Number(vec![4.0, 3.0, 1.0, 3.0]));
    assert_eq!(t.columns[1], Column::Text { levels: vec!["p".into(), "q".into()], codes: vec![1, 0, 1, 1] });
    assert_eq!((&filled[0].with, &filled[1].with), (&Fill::Number(3.0), &Fill::Level("q".into())));
    assert!(filled.iter().all(|f| !f.indicator));
}

#[test]
fn every_way_gives_its_value() {
    assert_eq!(fills("impute = 'median'", "").1, ["a 3", "t \"q\""]);
    assert_eq!(fills("impute = 'mean'", "").1[0], format!("a {}", (8.0_f64 / 3.0) as f32));
    assert_eq!(fills("impute = 'mean'", "a = { kind = 'integer' }").1[0], "a 3");
    assert_eq!(fills("impute = 'mean'", "a = { step = 0.5 }").1[0], "a 2.5");
    // All are equally common: the smallest.
    assert_eq!(fills("impute = 'most-frequent'", "").1[0], "a 1");
    assert_eq!(fills("impute = 'mean'", "a = { missing = 'median' }\nt = { missing = { level = 'p' } }").1, ["a 3", "t \"p\""]);
    let (t, filled) = fills("missing = 'drop'", "a = { missing = 0 }\nt = { missing = 'level' }");
    assert_eq!(filled, ["a 0", "t \"missing\""]);
    let Column::Text { levels, codes } = &t.columns[1] else { panic!("texts") };
    assert_eq!((levels.join(" "), &codes[..]), ("p q missing".into(), &[1, 0, 1, 2][..]));
    assert_eq!(commonest(&mut [2.0, 5.0, 5.0, 2.0, 1.0]), 2.0);
}

#[test]
fn an_indicator_is_a_column_of_its_own() {
    let (t, _) = fills("impute = 'median'\nindicator = true", "");
    assert_eq!(t.names, ["a", "t", "y", "a is missing"]);
    assert_eq!(t.columns[3], Column::Number(vec![0.0, 1.0, 0.0, 0.0]));
    // Asked for, it is there even if it is 0 throughout; not asked for, even where there are gaps, it is not.
    let (t, _) = fills("missing = 'drop'", "a = { missing = 2, indicator = true }\nt = { missing = 'level' }");
    assert_eq!(t.names.len(), 4);
    let (t, _) = fills("impute = 'median'\nindicator = true", "a = { indicator = false }");
    assert_eq!(t.names.len(), 3);
}

/// What training made of gaps, rows with gaps that come later are made into.
#[test]
fn rows_that_come_later_are_filled_in_alike() {
    let mut t = table();
    let (_, filled) = settled(&mut t, "impute = 'median'\nindicator = true", "").unwrap();
    let mut later = Table {
        names: vec!["a".into(), "t".into()],
        columns: vec![Column::Number(vec![GAP, 9.0]), Column::Text { levels: vec!["p".into()], codes: vec![0, MISSING_CODE] }],
        row_numbers: vec![1, 2],
    };
    assert_eq!(fill(&mut later, &filled), 2);
    assert_eq!(later.columns[0], Column::Number(vec![3.0, 9.0]));
    assert_eq!(later.columns[1], Column::Text { levels: vec!["p".into(), "q".into()], codes: vec![0, 1] });
    assert_eq!(later.columns[2], Column::Number(vec![1.0, 0.0]));
}

#[test]
fn refusals() {
    let refused = |data: &str, features: &str| settled(&mut table(), data, features).unwrap_err().to_string();
    let range = refused("missing = 'drop'", "a = { range = [0, 10], missing = -1 }");
    assert!(range.contains("[features.a]: `missing` gives -1") && range.contains("numbers from 0 to 10"), "{range}");
    assert!(refused("missing = 'drop'", "a = { kind = 'integer', missing = 0.5 }").contains("whole numbers"));
    assert!(refused("missing = 'drop'", "a = { missing = 'level' }").contains("only a category"));
    assert!(refused("missing = 'drop'", "a = { missing = { level = 'p' } }").contains("the column holds numbers"));
    assert!(refused("missing = 'drop'", "t = { missing = 3 }").contains("the column holds text"));
    assert!(refused("missing = 'drop'", "t = { levels = ['p', 'q'], missing = { level = 'r' } }").contains("one of"));
    assert!(
        refused("missing = 'drop'", "t = { missing = 'median' }").contains("[features.t]: `missing`: a category has no median")
    );
    assert!(refused("missing = 'drop'", "t = { missing = 'level', indicator = true }").contains("a level of its own"));
}

#[test]
fn median_of_an_even_count_is_a_value_of_the_column() {
    assert_eq!(median(&mut [5.0, 1.0, 2.0, 9.0]), 2.0);
}

#[test]
fn empty_columns_are_refused_by_name() {
    let mut t = table();
    t.columns[0] = Column::Number(vec![GAP; 5]);
    let message = settled(&mut t.clone(), "missing = 'impute'", "").unwrap_err().to_string();
    assert!(message.contains("column 'a' has no values"), "{message}");
    let message = settled(&mut t, "missing = 'drop'", "").unwrap_err().to_string();
    assert!(message.contains("no rows are left: each of the 5 rows"), "{message}");
}
