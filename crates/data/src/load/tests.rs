//! From the tables of a rule file to rows, on small files.

use super::*;
use crate::DataSettings;
use crate::encode::encode;
use crate::inputs::{RowStatus, encode_inputs};
use deepsade_spec::Domain;

fn load_text(csv: &str, data: &str, task: &str, features: &str) -> Result<Loaded, DataError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), csv).unwrap();
    let data: DataSettings = toml::from_str(&format!("file = 'a.csv'\n{data}")).unwrap();
    let data = data.checked()?;
    let task: TaskSettings = toml::from_str(task).unwrap();
    let overrides: Overrides = toml::from_str(features).unwrap();
    let request = Request { data: &data, task: &task, overrides: &overrides, rule_file_dir: folder.path(), data_dir: None };
    load(request, &mut |_| {})
}

const LOANS: &str = "id,income,history,area,approved\n1,10,1,Urban,Y\n2,,1,Rural,N\n3,30,0,Urban,Y\n4,40,0,,\n";
const CLASSES: &str = "kind = 'binary'\nclasses = ['N', 'Y']";

#[test]
fn a_file_becomes_rows() {
    let data = "targets = ['approved']\nignore = ['id']\nmissing = 'drop'";
    let loaded = load_text(LOANS, data, CLASSES, "history = { kind = 'category' }").unwrap();
    assert_eq!(loaded.table.row_numbers, [1, 3]);
    assert_eq!(loaded.missing.dropped_rows, 2);
    assert_eq!(loaded.schema.features[1].domain, Domain::Category { levels: vec!["0".into(), "1".into()] });
    let set = encode(&loaded.table, &loaded.schema).unwrap();
    assert_eq!(set.x.data, [10.0, 0.0, 1.0, 1.0, 30.0, 1.0, 0.0, 1.0]);
    assert_eq!(set.y.data, [0.0, 1.0, 0.0, 1.0]);
}

#[test]
fn refusals_name_what_to_change() {
    let refused = |data: &str, features: &str| load_text(LOANS, data, CLASSES, features).unwrap_err().to_string();
    let base = "targets = ['approved']\nignore = ['id']\nmissing = 'drop'";
    assert!(refused("targets = ['aproved']\nmissing = 'drop'", "").contains("did you mean 'approved'?"));
    assert!(refused("targets = ['approved']", "").contains("3 missing values in 2 rows, the first in row 2, column 'income'"));
    assert!(refused("ignore = ['idd']\ntargets = ['approved']", "").contains("did you mean 'id'?"));
    assert!(refused(base, "id = { range = [0, 9] }").contains("'id', which is ignored"));
    assert!(refused(base, "incom = { range = [0, 9] }").contains("did you mean 'income'?"));
    assert!(refused(base, "income = { range = [0, 20] }").contains("row 3, column 'income': 30"));
    assert!(refused("ignore = ['id']\nmissing = 'drop'", "").contains("no targets"));
    assert!(refused("targets = ['approved']\nrows = 0", "").contains("`rows = 0`"));
    let message = load_text(LOANS, base, "kind = 'binary'\ntargets = ['area']", "").unwrap_err().to_string();
    assert!(message.contains("differ between [data]"), "{message}");
}

#[test]
fn a_stray_word_in_a_numeric_target_is_refused_where_it_stands() {
    let csv = "a,y\n1,2.5\n2,3.5\n3,4 or 5\n";
    let message = load_text(csv, "targets = ['y']", "kind = 'regression'", "").unwrap_err().to_string();
    assert!(message.contains("row 3, column 'y': '4 or 5' is not a number"), "{message}");
}

#[test]
fn a_recipe_keeps_to_ignore_and_targets() {
    let folder = tempfile::tempdir().unwrap();
    let items = "10\n1,a\n2,b\n3,c\n4,d\n5,e\n6,f\n7,g\n8,h\n9,i\n10,j\n1,1,1\n1,1,2,3,4,5,6,7,8,9,10\n";
    std::fs::write(folder.path().join("sushi.soc"), items).unwrap();
    let load_with = |data: &str, features: &str| {
        let data: DataSettings = toml::from_str(&format!("recipe = 'sushi'\n{data}")).unwrap();
        let data = data.checked()?;
        let task: TaskSettings = toml::from_str("kind = 'ranking'").unwrap();
        let overrides: Overrides = toml::from_str(features).unwrap();
        let request = Request { data: &data, task: &task, overrides: &overrides, rule_file_dir: folder.path(), data_dir: None };
        load(request, &mut |_| {})
    };
    let loaded = load_with("ignore = ['a@1']", "'a@2' = { range = [0, 2] }").unwrap();
    assert_eq!(loaded.schema.features.len(), 35);
    assert_eq!(loaded.schema.features[0].domain, Domain::Real { lo: 0.0, hi: 2.0 });
    assert_eq!(loaded.schema.task.target_columns(), ["d", "f", "i", "j"]);
    assert!(load_with("ignore = ['a@9']", "").unwrap_err().to_string().contains("`ignore` names 'a@9'"));
    assert!(load_with("file = 'tempura.soc'", "").unwrap_err().to_string().contains("'tempura.soc' not found"));
}

#[test]
fn prediction_reads_only_the_features_as_the_schema_wants_them() {
    let data = "targets = ['approved']\nignore = ['id']\nmissing = 'drop'";
    let schema = load_text(LOANS, data, CLASSES, "history = { kind = 'category' }").unwrap().schema;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.csv");
    let options = ReadOptions::for_schema(&schema);
    std::fs::write(&path, "note,area,history,income\nhello,Urban,1,20\n,Rural,1,20\n,Urban,0,\n,Urban,0,31\n").unwrap();
    let table = read_table(&path, &options, &mut |_| {}).unwrap();
    let inputs = encode_inputs(&table, &schema).unwrap();
    let (outside, missing) = (|feature| RowStatus::Outside { feature }, |feature| RowStatus::Missing { feature });
    // Rural was dropped with its row; 31 is above every income seen.
    assert_eq!(inputs.status, [RowStatus::Inside, outside(2), missing(0), outside(0)]);
    assert_eq!(inputs.x.row(0), [20.0, 0.0, 1.0, 1.0]);
    std::fs::write(&path, "area,history,Income\nUrban,1,20\n").unwrap();
    let message = read_table(&path, &options, &mut |_| {}).unwrap_err().to_string();
    assert!(message.contains("the model names 'income'") && message.contains("did you mean 'Income'?"), "{message}");
}

const DATED: &str =
    "day,x,w,part,y\n2024-03-01,1,2,test,1\n2024-01-01,2,0.5,train,2\n2024-01-01,3,1,train,3\n2024-02-01,4,0,validation,4\n";
const NUMBERS: &str = "kind = 'regression'";

/// Columns that say something about rows are no features, whether or not they are ignored as well.
#[test]
fn weights_and_parts_come_from_columns() {
    let loaded =
        load_text(DATED, "targets = ['y']\nignore = ['day']\nweight = 'w'\nsplit = { column = 'part' }", NUMBERS, "").unwrap();
    assert_eq!(loaded.table.names, ["x", "y"]);
    assert_eq!(loaded.said.weights, Some(vec![2.0, 0.5, 1.0, 0.0]));
    let split = loaded.said.split.unwrap();
    assert_eq!((&split.train[..], &split.validation[..], &split.test[..]), (&[1, 2][..], &[3][..], &[0][..]));
    let told = split.to_csv(&loaded.table.row_numbers);
    assert_eq!(told, "row,part\n1,test\n2,train\n3,train\n4,validation\n");
    // What a run wrote is read again.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("split.csv"), told).unwrap();
    let file = format!("split = {{ file = '{}' }}", folder.path().join("split.csv").display());
    let again = load_text(DATED, &format!("targets = ['y']\nignore = ['day', 'w', 'part']\n{file}"), NUMBERS, "").unwrap();
    assert_eq!(again.said.split, Some(split));
}

#[test]
fn the_earliest_rows_train() {
    let by =
        "targets = ['y']\nignore = ['day', 'w', 'part']\nsplit = { by = 'day', train = 0.25, validation = 0.25, test = 0.5 }";
    let split = load_text(DATED, by, NUMBERS, "").unwrap().said.split.unwrap();
    // Both rows of the first day train, and with them the share of validation is used up.
    assert_eq!((&split.train[..], &split.validation[..], &split.test[..]), (&[1, 2][..], &[][..], &[0, 3][..]));
    let numbers = "t,x,y\n5,1,1\n3,2,2\n4,3,3\n9,4,4\n";
    let by = "targets = ['y']\nsplit = { by = 't', train = 0.5, validation = 0.25, test = 0.25 }";
    let split = load_text(numbers, by, NUMBERS, "").unwrap().said.split.unwrap();
    assert_eq!((&split.train[..], &split.validation[..], &split.test[..]), (&[1, 2][..], &[0][..], &[3][..]));
}

/// The rows that are left keep their weights and parts.
#[test]
fn rows_that_are_dropped_take_their_weights_with_them() {
    let csv = "x,w,part,y\n1,1,train,1\n,2,train,2\n3,3,test,3\n";
    let data = "targets = ['y']\nmissing = 'drop'\nweight = 'w'\nsplit = { column = 'part' }";
    let loaded = load_text(csv, data, NUMBERS, "").unwrap();
    assert_eq!(loaded.said.weights, Some(vec![1.0, 3.0]));
    assert_eq!(loaded.said.split.unwrap().test, [1]);
}

#[test]
fn what_is_said_of_rows_must_be_said_of_each() {
    let refused = |csv: &str, data: &str| load_text(csv, data, NUMBERS, "").unwrap_err().to_string();
    let weight = |w: &str| refused(&format!("x,w,y\n1,1,1\n2,{w},2\n"), "targets = ['y']\nweight = 'w'");
    assert!(weight("-1").contains("row 2, column 'w': -1 is no weight"));
    assert!(weight("").contains("(missing) is no weight") && weight("two").contains("is no weight"));
    assert!(refused("x,y\n1,1\n", "targets = ['y']\nweight = 'v'").contains("names 'v'"));
    let part = refused("x,p,y\n1,train,1\n2,tets,2\n", "targets = ['y']\nsplit = { column = 'p' }");
    assert!(part.contains("row 2: column 'p' says 'tets'") && part.contains("train, validation or test"), "{part}");
    assert!(refused("x,p,y\n1,test,1\n", "targets = ['y']\nsplit = { column = 'p' }").contains("no row trains"));
    let by = refused("x,d,y\n1,31.12.2024,1\n2,01.01.2025,2\n", "targets = ['y']\nsplit = { by = 'd' }");
    assert!(by.contains("row 1, column 'd'") && by.contains("2024-12-31"), "{by}");
}

#[test]
fn own_markers_stand_for_no_value() {
    let csv = "a,b,y\n1,5,1\n-999.0,-999,2\nunknown,7,3\n4,?,4\n";
    let data = "targets = ['y']\nmissing_values = ['unknown']\nimpute = 'median'";
    let loaded = load_text(csv, data, NUMBERS, "a = { missing_values = [-999] }").unwrap();
    assert_eq!(loaded.table.columns[0], crate::table::Column::Number(vec![1.0, 1.0, 1.0, 4.0]));
    // Of b -999 is a value like others.
    assert_eq!(loaded.table.columns[1], crate::table::Column::Number(vec![5.0, -999.0, 7.0, 5.0]));
    assert_eq!(loaded.schema.filled[0].markers, ["unknown", "-999"]);
    // The same file is read alike by whoever asks the model.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), csv).unwrap();
    let table = read_table(&folder.path().join("a.csv"), &ReadOptions::for_schema(&loaded.schema), &mut |_| {}).unwrap();
    let inputs = encode_inputs(&table, &loaded.schema).unwrap();
    assert_eq!(inputs.x.data, encode(&loaded.table, &loaded.schema).unwrap().x.data);
    assert!(inputs.status.iter().all(|s| *s == RowStatus::Inside));
}

#[test]
fn columns_that_are_no_categories_need_a_decision() {
    let rows: String = (1..=28).map(|d| format!("2024-02-{d:02},{d}\n")).collect();
    let csv = format!("day,y\n{rows}");
    let message = load_text(&csv, "targets = ['y']", NUMBERS, "").unwrap_err().to_string();
    for part in ["column 'day' holds dates (28 different ones", "`ignore`", "[features.day]", "`order`"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(load_text(&csv, "targets = ['y']", NUMBERS, "day = { kind = 'category' }").is_ok());
    let loaded = load_text("a,y\n1,1\n2,1\n1,1\n2,1\n1,1\n2,1\n1,1\n2,1\n1,1\nx,1\n", "targets = ['y']", NUMBERS, "").unwrap();
    assert!(loaded.notes[0].contains("'x' (row 10)"), "{:?}", loaded.notes);
}
