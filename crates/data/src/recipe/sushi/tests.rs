//! A small `PrefLib` file whose places are known, and the refusals.

use super::*;
use crate::table::TableValue;

const HEAD: &str =
    "10\n1,ebi (shrimp) \n2,anago\n3,maguro\n4,ika\n5,uni\n6,sake\n7,tamago\n8,toro\n9,tekka-maki\n10,kappa-maki\n";

fn read_text(text: &str) -> Result<RecipeTable, DataError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    std::fs::write(&path, text).unwrap();
    read(&path, None)
}

#[test]
fn places_are_counted_among_their_group() {
    let made = read_text(&format!("{HEAD}5,5,1\n5,7,4,5,1,10,2,8,3,9,6\n")).unwrap();
    assert_eq!(made.targets, ["ika", "sake", "tekka-maki", "kappa-maki"]);
    let value = |name: &str| made.table.column(name).unwrap().value(0);
    // Among the targets 4, 10, 9, 6; among the inputs 7, 5, 1, 2, 8, 3.
    assert_eq!(["ika", "kappa-maki", "tekka-maki", "sake"].map(value), [1.0, 2.0, 3.0, 4.0].map(TableValue::Number));
    assert_eq!(["tamago@1", "uni@2", "ebi@3", "anago@4", "toro@5", "maguro@6"].map(value), [TableValue::Number(1.0); 6]);
    assert_eq!(value("ebi@1"), TableValue::Number(0.0));
    assert_eq!(made.table.names.len(), 40);
    assert_eq!(made.table.names[..2], ["ebi@1", "ebi@2"]);
    assert_eq!(made.overrides.len(), 36);
}

#[test]
fn refusals_name_the_line() {
    let refused = |text: &str| read_text(text).unwrap_err().to_string();
    assert!(refused("").contains("line 1: expected the number of items"));
    assert!(refused("9\n").contains("line 1: expected the number of items"));
    assert!(refused("10\n2,ebi\n").contains("line 2: expected an item"));
    assert!(refused(&format!("{HEAD}5,5\n")).contains("line 12: expected the counts"));
    assert!(refused(&format!("{HEAD}5,5,1\n5,7,4,5,1,10,2,8,3,9,9\n")).contains("line 13: expected a count and the ten items"));
    assert!(refused(&format!("{HEAD}5,5,1\n5,7,4\n")).contains("line 13"));
    assert!(refused(&format!("{HEAD}5,5,2\n5,7,4,5,1,10,2,8,3,9,6\n")).contains("as many orders as the counts line says"));
}
