//! Encoded inputs and the word on each row.

use super::*;
use RowStatus::{Inside, Missing, Outside};
use deepsade_spec::{Feature, OneHot, Task};

fn schema(one_hot: OneHot) -> Schema {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    Schema {
        features: vec![
            feature("r", Domain::Real { lo: 0.0, hi: 0.1 }),
            feature("t", Domain::Category { levels: vec!["b".into(), "a".into(), "c".into()] }),
            feature("i", Domain::Integer { lo: -2, hi: 2 }),
        ],
        task: Task::regression(vec!["y".into()]),
        one_hot,
        filled: vec![],
    }
}

fn table(r: Vec<f64>, codes: Vec<u32>, i: Vec<f64>) -> Table {
    Table {
        // Another order than the schema's, and a column it does not know.
        names: ["i", "extra", "t", "r"].map(String::from).to_vec(),
        row_numbers: (1..=r.len() as u64).collect(),
        columns: vec![
            Column::Number(i),
            Column::Number(vec![0.0; r.len()]),
            Column::Text { levels: vec!["a".into(), "b".into(), "zzz".into()], codes },
            Column::Number(r),
        ],
    }
}

#[test]
fn columns_follow_the_schema() {
    let t = table(vec![0.0, 0.05], vec![0, 1], vec![2.0, -1.0]);
    let full = encode_inputs(&t, &schema(OneHot::Full)).unwrap();
    assert_eq!(full.x.data, [0.0, 0.0, 1.0, 0.0, 2.0, 0.05, 1.0, 0.0, 0.0, -1.0]);
    assert_eq!(full.x.cols, schema(OneHot::Full).columns().len());
    let dropped = encode_inputs(&t, &schema(OneHot::DropFirst)).unwrap();
    assert_eq!(dropped.x.data, [0.0, 1.0, 0.0, 2.0, 0.05, 0.0, 0.0, -1.0]);
    assert_eq!(dropped.status, [Inside; 2]);
}

/// The place in the stated order enters, also where levels spell numbers.
#[test]
fn levels_of_an_ordered_category_enter_as_places() {
    let order = ["2", "1", "0"].map(String::from).to_vec();
    let schema = Schema {
        features: vec![Feature { name: "grade".into(), domain: Domain::Ordered { levels: order } }],
        task: Task::regression(vec!["y".into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.csv");
    std::fs::write(&path, "note,grade\na,2\nb,0\nc,1\nd,foo\ne,\n").unwrap();
    let table = crate::read_table(&path, &ReadOptions::for_schema(&schema), &mut |_| {}).unwrap();
    let inputs = encode_inputs(&table, &schema).unwrap();
    assert_eq!(inputs.x.data[..3], [0.0, 2.0, 1.0]);
    assert_eq!(inputs.status, [Inside, Inside, Inside, Outside { feature: 0 }, Missing { feature: 0 }]);
}

#[test]
fn each_row_is_judged_after_rounding() {
    let gap = f64::NAN;
    // 0.1000000001 rounds to the float32 nearest 0.1, which the domain holds; 0.10001 does not.
    let r = vec![0.100_000_000_1, 0.100_01, 0.0, gap, 0.0, 0.0, 5.0];
    let codes = vec![0, 0, 2, 0, u32::MAX, 0, u32::MAX];
    let i = vec![0.0, 0.0, 9.0, 0.0, 0.0, 0.5, 0.0];
    let inputs = encode_inputs(&table(r, codes, i), &schema(OneHot::Full)).unwrap();
    let expected = [
        Inside,
        Outside { feature: 0 },
        Outside { feature: 1 },
        Missing { feature: 0 },
        Missing { feature: 1 },
        Outside { feature: 2 },
        Missing { feature: 1 },
    ];
    assert_eq!(inputs.status, expected);
    assert_eq!(inputs.x.row(2), [0.0, 0.0, 0.0, 0.0, 9.0]);
    assert!(inputs.x.row(3)[0].is_nan());
    assert!(inputs.x.row(4)[1..4].iter().all(|v| v.is_nan()) && inputs.x.row(4)[4] == 0.0);
}

#[test]
fn absent_or_mistyped_columns_are_refused() {
    let mut t = table(vec![0.0], vec![0], vec![0.0]);
    t.names[3] = "R".into();
    let message = encode_inputs(&t, &schema(OneHot::Full)).unwrap_err().to_string();
    assert!(message.contains("the model names 'r'") && message.contains("did you mean 'R'?"), "{message}");
    t.names[3] = "t".into();
    t.names[2] = "r".into();
    let message = encode_inputs(&t, &schema(OneHot::Full)).unwrap_err().to_string();
    assert!(message.contains("column 'r' holds text, but must hold numbers"), "{message}");
}

#[test]
fn more_rows_than_a_block() {
    let n = 3 * BLOCK + 5;
    let t = table(vec![0.0; n], vec![1; n], (0..n).map(|row| (row % 3) as f64).collect());
    let inputs = encode_inputs(&t, &schema(OneHot::Full)).unwrap();
    assert!((0..n).all(|row| inputs.x.row(row) == [0.0, 1.0, 0.0, 0.0, (row % 3) as f32]));
}
