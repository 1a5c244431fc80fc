//! Sums that hold in every row: of all targets, of a target and the others, of two features, of a few columns among which is a target.

use std::collections::HashSet;

use super::{Measured, Suggestion, plain};
use crate::draft::spelled::number;

/// Suggestions at most.
const MOST: usize = 6;
/// Features that are added up two by two.
const MOST_FEATURES: usize = 60;
/// Columns of which a few are tried together, targets first, and how many parts they may have.
const MOST_TOGETHER: usize = 24;
const MOST_PARTS: usize = 4;
/// What two sums may differ by, as a share of the largest value: decimals are rounded when they are written.
const ROUNDED: f64 = 1e-4;

/// The sums that no row contradicts.
pub(super) fn sums(targets: &[Measured], features: &[Measured]) -> Vec<Suggestion> {
    let mut found = Vec::new();
    if targets.len() > 1 {
        let all: Vec<&Measured> = targets.iter().collect();
        found.extend(constant(&all));
        for feature in features {
            found.extend(equal(&all, &[feature]).or_else(|| at_most(&all, feature)));
        }
        for (k, one) in targets.iter().enumerate() {
            let others: Vec<&Measured> = targets.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, t)| t).collect();
            if others.len() > 1 {
                found.extend(equal(&others, &[one]));
            }
        }
    }
    let few = &features[..features.len().min(MOST_FEATURES)];
    for target in targets {
        for (k, a) in few.iter().enumerate() {
            for b in &few[k + 1..] {
                found.extend(equal(&[target], &[a, b]));
                found.extend(equal(&[target, a], &[b]).or_else(|| equal(&[target, b], &[a])));
            }
        }
    }
    found.extend(of_a_few(targets, features));
    // The same columns, as another search finds them, say the same.
    let mut seen = HashSet::new();
    found.retain(|rule| seen.insert(words(&rule.text)));
    found.truncate(MOST);
    found
}

/// The names in a rule, in whatever order.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '`'))
        .filter(|word| !word.is_empty() && !matches!(*word, "sum" | "abs"))
        .map(String::from)
        .collect();
    words.sort();
    words
}

/// One column that two to [`MOST_PARTS`] others add up to, a target among them.
fn of_a_few(targets: &[Measured], features: &[Measured]) -> Vec<Suggestion> {
    let columns: Vec<&Measured> = targets.iter().chain(features).filter(|c| varies(c)).take(MOST_TOGETHER).collect();
    let is_target = |c: &Measured| targets.iter().any(|t| t.name == c.name);
    let mut found = Vec::new();
    for size in 2..=MOST_PARTS {
        for total in &columns {
            // What is within rounding of nothing is a part of every sum.
            let counts =
                |c: &&Measured| c.name != total.name && (c.whole && total.whole || largest(c) > 100.0 * ROUNDED * largest(total));
            let others: Vec<&Measured> = columns.iter().copied().filter(counts).collect();
            each_choice(&others, size, &mut Vec::new(), &mut |parts| {
                let of_features = !parts.iter().any(|part| is_target(part));
                found.extend(match (is_target(total), of_features) {
                    (false, true) => None,
                    (true, true) => equal(&[total], parts),
                    (_, false) => equal(parts, &[total]),
                });
            });
        }
    }
    found
}

/// Calls `of` with every choice of so many more columns.
fn each_choice<'a>(from: &[&'a Measured], more: usize, chosen: &mut Vec<&'a Measured>, of: &mut dyn FnMut(&[&'a Measured])) {
    if more == 0 {
        return of(chosen);
    }
    for (k, column) in from.iter().enumerate() {
        chosen.push(column);
        each_choice(&from[k + 1..], more - 1, chosen, of);
        chosen.pop();
    }
}

fn largest(column: &Measured) -> f64 {
    column.values.iter().filter(|v| !v.is_nan()).fold(0.0, |m, v| m.max(v.abs()))
}

fn varies(column: &Measured) -> bool {
    let mut present = column.values.iter().filter(|v| !v.is_nan());
    present.next().is_some_and(|first| present.any(|v| v != first))
}

/// For each row that has all of them their sum.
fn sum(terms: &[&Measured], row: usize) -> f64 {
    terms.iter().map(|t| t.values[row]).sum()
}

fn rows(terms: &[&Measured]) -> usize {
    terms.first().map_or(0, |t| t.values.len())
}

fn spelt(terms: &[&Measured]) -> String {
    match terms {
        [a] => a.name.clone(),
        [a, b] => format!("{} + {}", a.name, b.name),
        more => format!("sum({})", more.iter().map(|t| t.name.as_str()).collect::<Vec<_>>().join(", ")),
    }
}

fn title(terms: &[&Measured]) -> String {
    match terms {
        [first, .., last] if terms.len() > 3 => format!("{} to {}", plain(&first.name), plain(&last.name)),
        few => few.iter().map(|t| plain(&t.name)).collect::<Vec<_>>().join(" and "),
    }
}

/// `sum of left == sum of right`, exactly for whole numbers, else within what rounding leaves.
fn equal(left: &[&Measured], right: &[&Measured]) -> Option<Suggestion> {
    let whole = left.iter().chain(right).all(|t| t.whole);
    let (mut seen, mut largest, mut apart) = (0, 0f64, 0f64);
    let mut varies = false;
    let mut first = None;
    for row in 0..rows(left) {
        let (a, b) = (sum(left, row), sum(right, row));
        if a.is_nan() || b.is_nan() {
            continue;
        }
        seen += 1;
        largest = largest.max(a.abs()).max(b.abs());
        apart = apart.max((a - b).abs());
        // Most pairs differ in the first rows.
        if apart > if whole { 0.0 } else { ROUNDED * largest } {
            return None;
        }
        varies |= *first.get_or_insert(a) != a;
    }
    if seen < 10 || !varies {
        return None;
    }
    let name = format!("{} add up to {}", title(left), title(right));
    let text = if whole {
        format!("{} == {}", spelt(left), spelt(right))
    } else {
        format!("abs({} - {}) <= {}", spelt(left), bracketed(right), number(tolerance(largest, apart)))
    };
    Some(Suggestion::by_all(&name, text, seen))
}

fn bracketed(terms: &[&Measured]) -> String {
    if terms.len() == 2 { format!("({})", spelt(terms)) } else { spelt(terms) }
}

/// A power of ten above both what float32 can promise and what the rows show.
fn tolerance(largest: f64, apart: f64) -> f64 {
    let least = (largest * 1e-5).max(apart * 1.01).max(1e-30);
    format!("1e{}", least.log10().ceil()).parse().unwrap_or(least)
}

/// That all targets add up to one number.
fn constant(all: &[&Measured]) -> Option<Suggestion> {
    let sums: Vec<f64> = (0..rows(all)).map(|row| sum(all, row)).filter(|s| !s.is_nan()).collect();
    let first = *sums.first().filter(|_| sums.len() >= 10)?;
    let largest = sums.iter().fold(first.abs(), |m, s| m.max(s.abs()));
    let apart = sums.iter().fold(0f64, |m, s| m.max((s - first).abs()));
    let name = format!("{} add up to {}", title(all), number(round(first)));
    if apart > ROUNDED * largest.max(1e-30) {
        return None;
    }
    let text = if apart == 0.0 && all.iter().all(|t| t.whole) {
        format!("{} == {}", spelt(all), number(first))
    } else {
        let around = round(first);
        let apart = apart + (around - first).abs();
        format!("abs({} - {}) <= {}", spelt(all), number(around), number(tolerance(largest, apart)))
    };
    Some(Suggestion::by_all(&name, text, sums.len()))
}

/// Six decimals: what is summed in floats has a tail.
fn round(v: f64) -> f64 {
    format!("{v:.6}").parse().unwrap_or(v)
}

/// `sum of targets <= feature`, where nearly all rows obey and chance would not.
fn at_most(all: &[&Measured], feature: &Measured) -> Option<Suggestion> {
    let total = Measured {
        name: spelt(all),
        values: (0..rows(all)).map(|row| sum(all, row)).collect(),
        whole: all.iter().all(|t| t.whole),
    };
    let (_, rule) = super::order::below(&total, feature)?;
    Some(Suggestion { name: crate::draft::spelled::title(&format!("{} at most {}", title(all), plain(&feature.name))), ..rule })
}
