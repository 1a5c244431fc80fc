//! A `PrefLib` file of complete orders over ten items enters; the places of six as 36 columns and of four as targets leave.

use std::path::Path;

use super::RecipeTable;
use crate::error::DataError;
use crate::overrides::FeatureOverride;
use crate::table::{Column, Table};

/// The file, unless the settings name another.
pub const FILE: &str = "sushi.soc";

/// Items whose places are inputs, by their number in the file.
const INPUTS: [usize; 6] = [1, 2, 3, 5, 7, 8];
/// Items whose places are predicted.
const TARGETS: [usize; 4] = [4, 6, 9, 10];
const ITEMS: usize = INPUTS.len() + TARGETS.len();

/// Reads the orders (the first `rows` of them), one row each however often it was given.
pub fn read(path: &Path, rows: Option<usize>) -> Result<RecipeTable, DataError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| DataError::io(&file, e))?;
    let (names, mut orders) = parse(&text).map_err(|(line, expected)| DataError::PrefLib { file, line, expected })?;
    orders.truncate(rows.unwrap_or(usize::MAX));
    Ok(table(&names, &orders))
}

/// A line, and what should stand there.
type Misplaced = (usize, &'static str);

/// All items from the most liked to the least.
type Ranking = Vec<usize>;

/// Item names (their first word) and the orders.
fn parse(text: &str) -> Result<(Vec<String>, Vec<Ranking>), Misplaced> {
    let mut lines = text.lines().map(str::trim).enumerate().map(|(i, line)| (i + 1, line));
    let mut next = |expected| lines.next().ok_or((text.lines().count() + 1, expected));
    let (line, count) = next("the number of items, 10")?;
    if count.parse() != Ok(ITEMS) {
        return Err((line, "the number of items, 10"));
    }
    let mut names: Vec<String> = Vec::new();
    for item in 1..=ITEMS {
        let expected = "an item, its number in order and its name: `1,ebi (shrimp)`";
        let (line, entry) = next(expected)?;
        let name = entry.split_once(',').filter(|(number, _)| number.trim().parse() == Ok(item)).map(|(_, name)| name);
        let word = name.and_then(|n| n.split_whitespace().next()).ok_or((line, expected))?;
        if names.iter().any(|n| n == word) {
            return Err((line, "an item whose first word no other item has"));
        }
        names.push(word.to_owned());
    }
    let expected = "the counts: voters, sum of counts, different orders";
    let (line, counts) = next(expected)?;
    let counts: Vec<usize> = counts.split(',').filter_map(|n| n.trim().parse().ok()).collect();
    let [_, _, different] = counts[..] else { return Err((line, expected)) };

    let mut orders = Vec::new();
    for (line, entry) in lines.filter(|(_, entry)| !entry.is_empty()) {
        orders.push(order(entry).ok_or((line, "a count and the ten items, each once: `3,7,4,5,1,10,2,8,3,9,6`"))?);
    }
    if orders.len() != different {
        return Err((text.lines().count(), "as many orders as the counts line says: is the file cut off?"));
    }
    Ok((names, orders))
}

fn order(entry: &str) -> Option<Ranking> {
    let numbers: Vec<usize> = entry.split(',').map(|n| n.trim().parse().ok()).collect::<Option<_>>()?;
    let items = numbers.get(1..)?.to_vec();
    let complete = items.len() == ITEMS && (1..=ITEMS).all(|item| items.contains(&item));
    complete.then_some(items)
}

fn table(names: &[String], orders: &[Ranking]) -> RecipeTable {
    // The place of `item` among `group`, from 1: how many of the group come no later.
    let place = |order: &[usize], group: &[usize], item: usize| {
        let upto = order.iter().position(|i| *i == item).map_or(0, |p| p + 1);
        order[..upto].iter().filter(|i| group.contains(i)).count() as u8
    };
    let bytes = |value: &dyn Fn(&Ranking) -> u8| Column::Bytes { values: orders.iter().map(value).collect(), divisor: 1.0 };
    let mut table = Table { row_numbers: (1..=orders.len() as u64).collect(), ..Table::default() };
    for item in INPUTS {
        for p in 1..=INPUTS.len() {
            table.names.push(format!("{}@{p}", names[item - 1]));
            table.columns.push(bytes(&|order| u8::from(usize::from(place(order, &INPUTS, item)) == p)));
        }
    }
    let overrides = table.names.iter().map(|name| (name.clone(), FeatureOverride::real(0.0, 1.0))).collect();
    let targets: Vec<String> = TARGETS.map(|item| names[item - 1].clone()).to_vec();
    for item in TARGETS {
        table.names.push(names[item - 1].clone());
        table.columns.push(bytes(&|order| place(order, &TARGETS, item)));
    }
    RecipeTable { table, overrides, targets }
}

#[cfg(test)]
#[path = "sushi/tests.rs"]
mod tests;
