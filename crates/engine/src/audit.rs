//! The degeneracy audit: label rules enter, the number of components of the valid label sets leaves.
//!
//! Under sign decoding label j is predicted where `y_j` > 0, an open set. Where a continuous network on a connected domain
//! passes from label set S to T, one contains the other: at a boundary point scores are zero, and the set predicted there is
//! contained in every set predicted nearby. So a network that obeys the rules everywhere stays in one component of the valid
//! sets under the subset relation; where that component is a single set, it predicts a constant.

use std::collections::BTreeSet;

use deepsade_solve::tied::{TiedParts, Union, tied};
use deepsade_spec::{Domain, Formula, NormalRule, NormalSpec, Rational, Task, Var};

/// Labels that may hang together through rules; their sets are listed one by one.
const MAX_LABELS: usize = 20;
/// Pairs of a smallest and a largest valid set to compare.
const MAX_PAIRS: usize = 200_000_000;

/// What the audit found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// How many components the valid label sets have; `None` where the audit does not apply or gave up.
    pub components: Option<u128>,
    /// True if every network that obeys the rules predicts the same label set for every input.
    pub constant_only: bool,
    /// What it means, in words.
    pub words: String,
}

/// Audits the rules that mention labels alone.
pub fn audit(spec: &NormalSpec) -> Audit {
    let labels = match &spec.schema.task {
        Task::Multilabel { .. } | Task::Ranking { .. } => spec.schema.task.outputs(),
        Task::Binary { classes, .. } | Task::Multiclass { classes, .. } => return audit_classes(spec, classes.len()),
        Task::Regression { .. } => {
            let words = "The audit is about label sets; a regression has none.";
            return Audit { components: None, constant_only: false, words: words.into() };
        }
    };
    let audited: Vec<&Formula> = spec.rules.iter().map(|r| &r.claim).filter(|claim| is_about_labels(claim)).collect();
    let left_out = spec.rules.len() - audited.len();
    let mut components = Some(1u128);
    let mut constant = true;
    for group in groups(&audited, labels) {
        match group_components(&group) {
            Some((count, single)) => {
                components = components.and_then(|c| c.checked_mul(count));
                constant &= single;
            }
            None => components = None,
        }
    }
    let connected = spec.schema.features.iter().all(|f| matches!(f.domain, Domain::Real { .. }));
    // Rules left out can only confine more: several components stay several, but one may fall apart.
    if left_out > 0 && components == Some(1) {
        components = None;
    }
    describe(components, constant && left_out == 0, connected, left_out)
}

/// Classes: which of them do the rules that speak of nothing else allow?
fn audit_classes(spec: &NormalSpec, classes: usize) -> Audit {
    let about_classes = |r: &&NormalRule| !r.reads_scores && r.claim.variables().iter().all(|v| v.is_output());
    let predicts = |c: usize| move |var: Var| Rational::from(u8::from(var == Var::Output(c)));
    let allowed: Vec<usize> =
        (0..classes).filter(|c| spec.rules.iter().filter(about_classes).all(|r| r.claim.at(&predicts(*c)))).collect();
    let (components, constant_only, words) = match allowed.len() {
        0 => (0, false, "No class obeys the rules."),
        1 => (1, true, "Only one class obeys the rules: every prediction is that class."),
        _ => (
            1,
            false,
            "The class with the largest score is predicted: the regions of any two classes can touch, so rules about classes do \
             not confine a network to some of those they allow.",
        ),
    };
    Audit { components: Some(components), constant_only, words: words.into() }
}

fn describe(components: Option<u128>, constant: bool, connected: bool, left_out: usize) -> Audit {
    let place = if connected { "" } else { " on each combination of the whole-number and category features" };
    let mut words = match components {
        None if left_out > 0 => {
            "Not decided: rules that mention features or raw scores may confine a network, and are left out.".into()
        }
        None => "Too many labels hang together through the rules for the audit; nothing is claimed.".to_string(),
        Some(0) => "No label set obeys the rules.".to_string(),
        Some(1) if constant => "Only one label set obeys the rules: every prediction is that set.".to_string(),
        Some(1) => "All valid label sets hang together by adding or removing labels: sign decoding does not confine a \
                    network to some of them."
            .to_string(),
        Some(n) if constant => format!(
            "The valid label sets fall into {n} components under the subset relation, each a single set: every continuous \
             network that obeys the rules everywhere predicts one constant label set{place}. The way out is decoding (enforce = \"decode\"): \
             choosing the most likely valid set in the output step is not bound by this."
        ),
        Some(n) => format!(
            "The valid label sets fall into {n} components under the subset relation: every continuous network that obeys the \
             rules everywhere is confined to one of them{place}. The way out is decoding (enforce = \"decode\"): \
             choosing the most likely valid set in the output step is not bound by this."
        ),
    };
    if left_out > 0 && components.is_some() {
        words.push_str(&format!(" ({left_out} rules that mention features or raw scores are left out of this audit.)"));
    }
    let constant_only = match components {
        None | Some(0) => false,
        // A single valid set needs no continuity.
        Some(1) => constant,
        Some(_) => constant && connected,
    };
    Audit { components, constant_only, words }
}

fn is_about_labels(claim: &Formula) -> bool {
    let mut labels_only = true;
    claim.atoms(&mut |atom| labels_only &= atom.label().is_some());
    labels_only
}

/// Labels that share a rule, with their rules; a label in no rule is a group of its own.
struct LabelGroup<'a> {
    labels: Vec<usize>,
    rules: Vec<&'a Formula>,
}

fn groups<'a>(claims: &[&'a Formula], labels: usize) -> Vec<LabelGroup<'a>> {
    // A conjunction is several rules.
    let parts: Vec<&Formula> = claims.iter().flat_map(|claim| claim.conjuncts()).collect();
    let ruled = tied(parts.iter().copied());
    let mentioned: BTreeSet<usize> = ruled.iter().flat_map(|tied| tied.outputs.iter().copied()).collect();
    let free = (0..labels).filter(|j| !mentioned.contains(j));
    let mut groups: Vec<LabelGroup> = free.map(|j| LabelGroup { labels: vec![j], rules: Vec::new() }).collect();
    groups.extend(ruled.iter().map(|TiedParts { outputs, parts: own }| LabelGroup {
        labels: outputs.iter().copied().collect(),
        rules: own.iter().map(|k| parts[*k]).collect(),
    }));
    if parts.contains(&&Formula::False)
        && let Some(first) = groups.first_mut()
    {
        first.rules.push(&Formula::False);
    }
    groups
}

/// Components of the valid sets of one group, and whether each is a single set; `None` if there are too many labels.
fn group_components(group: &LabelGroup) -> Option<(u128, bool)> {
    if group.rules.is_empty() {
        // Free labels: all sets hang together, and there are at least two.
        return Some((1, false));
    }
    let k = group.labels.len();
    if k > MAX_LABELS {
        return None;
    }
    let valid: Vec<bool> = (0..1usize << k).map(|set| group.rules.iter().all(|rule| holds(rule, set, &group.labels))).collect();
    let (below, above) = (has_valid_subset(&valid, k), has_valid_superset(&valid, k));
    let all = || (0..1usize << k).filter(|set| valid[*set]);
    let smallest: Vec<usize> = all().filter(|set| !below[*set]).collect();
    let largest: Vec<usize> = all().filter(|set| !above[*set]).collect();
    if smallest.len().saturating_mul(largest.len()) > MAX_PAIRS {
        return None;
    }
    // Every valid set lies between a smallest and a largest one, so these pairs connect everything.
    let mut union = Union::new(smallest.len() + largest.len());
    for (i, s) in smallest.iter().enumerate() {
        for (j, l) in largest.iter().enumerate() {
            if s & l == *s {
                union.join(i, smallest.len() + j);
            }
        }
    }
    let count = (0..smallest.len()).filter(|i| union.root(*i) == *i).count();
    let single = all().all(|set| !below[set] && !above[set]);
    Some((count as u128, single))
}

fn holds(rule: &Formula, set: usize, labels: &[usize]) -> bool {
    rule.holds(&mut |atom| {
        let (j, present) = atom.label().expect("label rules have label atoms");
        let at = labels.binary_search(&j).expect("the group has all labels of its rules");
        (set >> at & 1 == 1) == present
    })
}

fn has_valid_subset(valid: &[bool], k: usize) -> Vec<bool> {
    let mut has = vec![false; valid.len()];
    for set in 0..valid.len() {
        has[set] = (0..k).filter(|i| set >> i & 1 == 1).any(|i| valid[set ^ (1 << i)] || has[set ^ (1 << i)]);
    }
    has
}

fn has_valid_superset(valid: &[bool], k: usize) -> Vec<bool> {
    let mut has = vec![false; valid.len()];
    for set in (0..valid.len()).rev() {
        has[set] = (0..k).filter(|i| set >> i & 1 == 0).any(|i| valid[set | (1 << i)] || has[set | (1 << i)]);
    }
    has
}
