//! Which target is never above which other, or above which feature; which label comes with which other.

use super::{Measured, Suggestion, plain};

/// Suggestions at most.
const MOST: usize = 8;
/// Share of the rows that must obey.
const NEARLY_ALL: f64 = 0.97;
/// An order that rows dealt out at random would obey this often is no finding, if all rows obey it.
const BY_CHANCE: f64 = 0.95;
/// If not all do, chance must be this much worse than the rows.
const WORSE: f64 = 0.1;
/// Targets that are compared each with each.
const MOST_TARGETS: usize = 60;

/// `a <= b` between targets, and with a feature on either side, that nearly all rows obey.
pub(super) fn order(targets: &[Measured], features: &[Measured]) -> Vec<Suggestion> {
    let mut found: Vec<(f64, Suggestion)> = Vec::new();
    for a in targets.iter().take(MOST_TARGETS) {
        let others = targets.iter().take(MOST_TARGETS).filter(|b| b.name != a.name);
        found.extend(others.filter_map(|b| below(a, b)));
        found.extend(features.iter().flat_map(|b| [below(a, b), below(b, a)].into_iter().flatten()));
    }
    // Of the least likely by chance first.
    found.sort_by(|(p, _), (q, _)| p.total_cmp(q));
    found.into_iter().take(MOST).map(|(_, rule)| rule).collect()
}

/// Labels that imply another.
pub(super) fn labels(labels: &[Measured]) -> Vec<Suggestion> {
    let mut found = Vec::new();
    for a in labels.iter().take(MOST_TARGETS) {
        for b in labels.iter().take(MOST_TARGETS).filter(|b| b.name != a.name) {
            let both: Vec<(f64, f64)> = rows(a, b).collect();
            let with: Vec<_> = both.iter().filter(|(x, _)| *x == 1.0).collect();
            let obey = with.iter().filter(|(_, y)| *y == 1.0).count();
            let rate = both.iter().filter(|(_, y)| *y == 1.0).count() as f64 / both.len().max(1) as f64;
            if with.len() >= 10 && obey as f64 >= NEARLY_ALL * with.len() as f64 && rate.powf(with.len() as f64) < 1e-3 {
                let title = format!("{} implies {}", plain(&a.name), plain(&b.name));
                found.push(Suggestion::of_rows(&title, format!("{} => {}", a.name, b.name), obey, with.len()));
            }
        }
    }
    found.sort_by_key(|rule| std::cmp::Reverse(rule.of));
    found.truncate(MOST);
    found
}

fn rows<'a>(a: &'a Measured, b: &'a Measured) -> impl Iterator<Item = (f64, f64)> + 'a {
    a.values.iter().copied().zip(b.values.iter().copied()).filter(|(x, y)| !x.is_nan() && !y.is_nan())
}

/// `a <= b`, if enough rows obey it and chance would not; with how often chance would.
pub(super) fn below(a: &Measured, b: &Measured) -> Option<(f64, Suggestion)> {
    let both: Vec<(f64, f64)> = rows(a, b).collect();
    let obey = both.iter().filter(|(x, y)| x <= y).count();
    if both.is_empty() || (obey as f64) < NEARLY_ALL * both.len() as f64 {
        return None;
    }
    let chance = chance(&both);
    let equal = both.iter().all(|(x, y)| x == y);
    let title = format!("{} at most {}", plain(&a.name), plain(&b.name));
    let rule = Suggestion::of_rows(&title, format!("{} <= {}", a.name, b.name), obey, both.len());
    let share = obey as f64 / both.len() as f64;
    let clear = if obey == both.len() { chance <= BY_CHANCE } else { chance <= share - WORSE };
    (clear && !equal).then_some((chance, rule))
}

/// How often `a <= b` if the values of both were dealt out anew.
fn chance(both: &[(f64, f64)]) -> f64 {
    let mut b: Vec<f64> = both.iter().map(|(_, y)| *y).collect();
    b.sort_unstable_by(f64::total_cmp);
    let above = |x: f64| b.len() - b.partition_point(|y| *y < x);
    let pairs: f64 = both.iter().map(|(x, _)| above(*x) as f64).sum();
    pairs / (both.len() * both.len()) as f64
}
