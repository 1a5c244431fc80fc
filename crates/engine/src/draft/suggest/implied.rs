//! Conditions on one or two features after which every row has the same class, never a class, or a target within tighter bounds; found by
//! sets of rows, and told only where chance would hardly make them.

use deepsade_data::{Column, FEW_NUMBERS, Table, TableValue};
use deepsade_spec::print;

use super::super::columns::{Described, Role, distinct, ends, is_whole, numbers, room};
use super::super::spelled::number;
use super::{Measured, Suggestion, plain};

/// Suggestions at most.
const MOST: usize = 6;
/// Conditions that are combined two by two.
const MOST_CONDITIONS: usize = 200;
/// How likely a finding may be by chance, all that was tried counted.
const BY_CHANCE: f64 = 0.01;
/// Quantiles at which numbers are cut.
const CUTS: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];

/// A set of rows, a bit each.
type RowBits = Vec<u64>;

struct FeatureTest {
    feature: usize,
    text: String,
    rows: RowBits,
}

/// `condition => class == 'c'`, and for more than two classes `condition => class != 'c'`.
pub(super) fn classes(
    table: &Table,
    columns: &[Described],
    target: &str,
    classes: &[String],
    of_rows: &[Option<usize>],
) -> Vec<Suggestion> {
    let conditions = conditions(table, columns);
    let sets: Vec<RowBits> = (0..classes.len()).map(|c| bits(of_rows.len(), |row| of_rows[row] == Some(c))).collect();
    let known = bits(of_rows.len(), |row| of_rows[row].is_some());
    let total = count(&known).max(1) as f64;
    let rates: Vec<f64> = sets.iter().map(|set| count(set) as f64 / total).collect();
    let tests = (conditions.len() * (conditions.len() + 1) / 2 * classes.len()).max(1) as f64;
    let mut found: Vec<Implied> = Vec::new();
    let mut look = |of: Vec<usize>, rows: &RowBits| {
        let support = common(rows, &known);
        for (c, set) in sets.iter().enumerate() {
            let with = common(rows, set);
            let (is, chance) = match with {
                _ if with == support => (true, rates[c]),
                0 if classes.len() > 2 => (false, 1.0 - rates[c]),
                _ => continue,
            };
            // That many rows by chance.
            let surprise = -(support as f64) * chance.ln();
            if support > 0 && chance < 1.0 && surprise > (tests / BY_CHANCE).ln() {
                found.push(Implied { of: of.clone(), class: c, is, support, surprise });
            }
        }
    };
    for (i, a) in conditions.iter().enumerate() {
        look(vec![i], &a.rows);
        for (j, b) in conditions.iter().enumerate().skip(i + 1).filter(|(_, b)| b.feature != a.feature) {
            let both: RowBits = a.rows.iter().zip(&b.rows).map(|(x, y)| x & y).collect();
            look(vec![i, j], &both);
        }
    }
    told(found, &conditions, target, classes)
}

struct Implied {
    of: Vec<usize>,
    class: usize,
    is: bool,
    support: usize,
    surprise: f64,
}

/// The most surprising, and none that follows from one of them or says nearly the same.
fn told(mut found: Vec<Implied>, conditions: &[FeatureTest], target: &str, classes: &[String]) -> Vec<Suggestion> {
    found.sort_by(|a, b| b.surprise.total_cmp(&a.surprise).then(a.of.len().cmp(&b.of.len())));
    let mut taken: Vec<&Implied> = Vec::new();
    for one in &found {
        let features = |f: &Implied| f.of.iter().map(|&c| conditions[c].feature).collect::<Vec<_>>();
        let alike =
            |t: &&Implied| t.class == one.class && t.is == one.is && features(t).iter().any(|f| features(one).contains(f));
        if taken.len() < MOST && !taken.iter().any(alike) {
            taken.push(one);
        }
    }
    let rule = |f: &Implied| {
        let condition = f.of.iter().map(|&c| conditions[c].text.as_str()).collect::<Vec<_>>().join(" and ");
        let class = print::level(&classes[f.class])?;
        let relation = if f.is { "==" } else { "!=" };
        let never = if f.is { "" } else { "never " };
        let title = format!("{never}{} where {}", classes[f.class], condition.replace('`', ""));
        Some(Suggestion::by_all(&title, format!("{condition} => {target} {relation} {class}"), f.support))
    };
    taken.into_iter().filter_map(rule).collect()
}

/// `condition => target <= b`, and `>= b`, where the bound is well inside the target's range.
pub(super) fn bounds(table: &Table, columns: &[Described], targets: &[Measured]) -> Vec<Suggestion> {
    let conditions = conditions(table, columns);
    let tests = (2 * conditions.len() * targets.len()).max(1) as f64;
    let mut found: Vec<(f64, usize, Suggestion)> = Vec::new();
    for target in targets {
        let present: Vec<f64> = target.values.iter().copied().filter(|v| !v.is_nan()).collect();
        let (lo, hi) = ends(&present);
        let sorted = distinct_or_all(&present);
        for condition in &conditions {
            let inside: Vec<f64> = (0..target.values.len())
                .filter(|&row| has(&condition.rows, row) && !target.values[row].is_nan())
                .map(|row| target.values[row])
                .collect();
            if inside.is_empty() {
                continue;
            }
            let (low, high) = ends(&inside);
            let [below, above] = room(low, high, target.whole);
            for (relation, bound) in [("<=", above), (">=", below)] {
                let upper = relation == "<=";
                let within = if upper {
                    sorted.partition_point(|v| *v <= bound)
                } else {
                    sorted.len() - sorted.partition_point(|v| *v < bound)
                };
                let share = within as f64 / sorted.len() as f64;
                let surprise = -(inside.len() as f64) * share.ln();
                let tight = if upper { bound <= lo + 0.7 * (hi - lo) } else { bound >= lo + 0.3 * (hi - lo) };
                if tight && share < 1.0 && surprise > (tests / BY_CHANCE).ln() {
                    let words = if upper { "at most" } else { "at least" };
                    let title =
                        format!("{} {words} {} where {}", plain(&target.name), number(bound), condition.text.replace('`', ""));
                    let text = format!("{} => {} {relation} {}", condition.text, target.name, number(bound));
                    found.push((surprise, condition.feature, Suggestion::by_all(&title, text, inside.len())));
                }
            }
        }
    }
    found.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let mut seen = Vec::new();
    found.retain(|(_, feature, _)| {
        let new = !seen.contains(feature);
        seen.push(*feature);
        new
    });
    found.into_iter().take(MOST).map(|(_, _, rule)| rule).collect()
}

fn distinct_or_all(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// What is asked of one feature: a level, a code, or a side of a cut.
fn conditions(table: &Table, columns: &[Described]) -> Vec<FeatureTest> {
    let mut found = Vec::new();
    for (feature, described) in columns.iter().enumerate() {
        let (Some(name), Some(column)) = (print::name(&described.name), table.column(&described.name)) else { continue };
        match &described.role {
            Role::Category { levels } => found.extend(levels.iter().filter_map(|level| {
                let rows = bits(column.len(), |row| column.value(row) == TableValue::Text(level));
                Some(FeatureTest { feature, text: format!("{name} == {}", print::level(level)?), rows })
            })),
            Role::Integer { .. } | Role::Real { .. } => found.extend(of_numbers(feature, &name, column)),
            Role::Out(_) => {}
        }
    }
    // The fewest rows say least.
    found.sort_by_key(|c| std::cmp::Reverse(count(&c.rows)));
    found.truncate(MOST_CONDITIONS);
    found
}

fn of_numbers(feature: usize, name: &str, column: &Column) -> Vec<FeatureTest> {
    let mut values = numbers(column).unwrap_or_default();
    let codes = distinct(&values);
    let holding =
        |test: &dyn Fn(f64) -> bool| bits(column.len(), |row| matches!(column.value(row), TableValue::Number(v) if test(v)));
    // An equation with a real feature says nothing about the numbers around it.
    if codes.len() <= FEW_NUMBERS.min(6) && is_whole(&codes) {
        let of = |v: &f64| FeatureTest { feature, text: format!("{name} == {}", number(*v)), rows: holding(&|x| x == *v) };
        return codes.iter().map(of).collect();
    }
    values.sort_unstable_by(f64::total_cmp);
    let mut cuts: Vec<f64> = CUTS.iter().map(|q| values[(q * (values.len() - 1) as f64) as usize]).collect();
    cuts.dedup();
    let sides = |cut: f64| {
        [
            FeatureTest { feature, text: format!("{name} <= {}", number(cut)), rows: holding(&|x| x <= cut) },
            FeatureTest { feature, text: format!("{name} >= {}", number(cut)), rows: holding(&|x| x >= cut) },
        ]
    };
    cuts.into_iter().flat_map(sides).collect()
}

fn bits(rows: usize, holds: impl Fn(usize) -> bool) -> RowBits {
    let mut bits = vec![0; rows.div_ceil(64)];
    for row in (0..rows).filter(|&row| holds(row)) {
        bits[row / 64] |= 1 << (row % 64);
    }
    bits
}

fn has(bits: &RowBits, row: usize) -> bool {
    bits[row / 64] >> (row % 64) & 1 == 1
}

fn count(bits: &RowBits) -> usize {
    bits.iter().map(|word| word.count_ones() as usize).sum()
}

fn common(a: &RowBits, b: &RowBits) -> usize {
    a.iter().zip(b).map(|(x, y)| (x & y).count_ones() as usize).sum()
}
