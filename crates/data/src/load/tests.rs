//! From the tables of a rule file to rows, on small files.

use super::*;
use crate::encode::encode;
use crate::inputs::{RowStatus, encode_inputs};
use deepsade_spec::Domain;

fn load_text(csv: &str, data: &str, task: &str, features: &str) -> Result<Loaded, DataError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), csv).unwrap();
    let data: DataSettings = toml::from_str(&format!("file = 'a.csv'\n{data}")).unwrap();
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
