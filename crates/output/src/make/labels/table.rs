//! Labels that hang together enter; leaves a piece that chooses the best of their valid sets from a table.
//!
//! The total of each set is a product of the scores with the table; what a set asks of the input is computed, and a set that is not
//! certainly valid loses to all that are.

use std::collections::HashMap;

use crate::decode::sets::Diagram;
use deepsade_spec::{Formula, Schema};

use super::super::draft::Draft;
use super::super::{MakeError, Source};
use super::NOTHING;
use super::facts::{Facts, truths};
use crate::decode::MAX_TABLE;
use crate::decode::compile::{Compiler, on_deep_stack};
use crate::decode::order;

/// So many labels may be tried in all ways.
const TRIED: usize = 12;
/// Nodes of the diagram that lists the sets of more labels.
const BUDGET: usize = 50_000;
/// So many truths are quicker to spread over the sets by a product than one by one.
const SPREAD: usize = 64;

/// The sets that are valid for some input, and for which.
#[derive(Debug)]
pub(super) struct ValidSets {
    rows: Vec<Vec<bool>>,
    when: Vec<Formula>,
}

impl ValidSets {
    /// All sets; `None` if they are too many.
    pub(super) fn new(facts: &Facts) -> Option<Self> {
        let labels = facts.labels.len();
        let tried = |set: usize| (0..labels).map(|j| set >> (labels - 1 - j) & 1 == 1).collect();
        let all = if labels <= TRIED { (0..1 << labels).map(tried).collect() } else { listed(facts)? };
        let (mut rows, mut when) = (Vec::new(), Vec::new());
        for row in all {
            match facts.settled(&row) {
                Formula::False => {}
                asked => {
                    rows.push(row);
                    when.push(asked);
                }
            }
        }
        (rows.len() <= MAX_TABLE).then_some(Self { rows, when })
    }

    /// How many sets it has.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Calls that choose a row for the scores of the labels, a column each.
    pub(super) fn write(&self, own: &str, schema: &Schema, source: &Source<'_>, draft: &mut Draft) -> Result<String, MakeError> {
        let (sets, labels) = (self.rows.len(), self.rows.first().map_or(0, Vec::len));
        let ones = || self.rows.iter().enumerate().flat_map(|(s, row)| (0..labels).filter(|j| row[*j]).map(move |j| (s, j)));
        let table = draft.ones(sets, labels, ones());
        let upright = draft.ones(labels, sets, ones().map(|(s, j)| (j, s)));
        let mut totals = draft.call("MatMul", &[&table, own]);
        if self.when.iter().any(|f| *f != Formula::True) {
            let (mut number, mut asked, mut each) = (HashMap::new(), Vec::new(), Vec::new());
            for formula in &self.when {
                each.push(*number.entry(formula).or_insert_with(|| {
                    asked.push(formula.clone());
                    asked.len() - 1
                }));
            }
            let truths = truths(schema, &asked, source, draft)?;
            let valid = if asked.len() <= SPREAD {
                let half = draft.number(0.5);
                let each = draft.ones(sets, asked.len(), each.iter().copied().enumerate());
                let truths = draft.cast_float(&truths);
                let valid = draft.call("MatMul", &[&each, &truths]);
                draft.call("Greater", &[&valid, &half])
            } else {
                draft.lines(&truths, &each)
            };
            let nothing = draft.number(NOTHING);
            totals = draft.call("Where", &[&valid, &totals, &nothing]);
        }
        let best = draft.call_with("ArgMax", &[&totals], &[("axis", 0), ("keepdims", 0)]);
        Ok(draft.call_with("Gather", &[&upright, &best], &[("axis", 1)]))
    }
}

/// The sets along the paths of a diagram that asks labels first; `None` if they, or its nodes, are too many.
fn listed(facts: &Facts) -> Option<Vec<Vec<bool>>> {
    let parts: Vec<_> = facts.parts.iter().collect();
    on_deep_stack(&parts, facts.count(), || walked(facts)).ok().flatten()
}

fn walked(facts: &Facts) -> Option<Vec<Vec<bool>>> {
    let labels = facts.labels.len();
    let groups: Vec<Vec<usize>> = facts.parts.iter().map(|p| facts.of(p)).collect();
    let mut order = order::force(&groups);
    // Stable: labels in the order found, then conditions.
    order.sort_by_key(|f| *f >= labels);
    let mut compiler = Compiler::new(labels, &facts.names, order, BUDGET);
    let root = compiler.conjunction(&facts.parts.iter().collect::<Vec<_>>()).ok()?;
    let diagram = compiler.diagram(root);
    let start = if root < 2 { root as usize } else { diagram.root() };
    let mut rows = Vec::new();
    walk(&diagram, start, &mut vec![None; labels], &mut rows).then_some(())?;
    rows.sort_unstable();
    Some(rows)
}

/// Lists the sets from a node on; false once they are too many.
fn walk(diagram: &Diagram, id: usize, set: &mut Vec<Option<bool>>, rows: &mut Vec<Vec<bool>>) -> bool {
    let node = id.checked_sub(2).map(|k| diagram.nodes[k]);
    match node {
        None if id == 0 => true,
        Some([level, low, high]) if diagram.order[level] < set.len() => {
            let fact = diagram.order[level];
            let go_on = [(low, false), (high, true)].into_iter().all(|(next, truth)| {
                set[fact] = Some(truth);
                walk(diagram, next, set, rows)
            });
            set[fact] = None;
            go_on
        }
        // All labels of this path are settled; what follows is about the input.
        _ => {
            let Some(free) = set.iter().position(Option::is_none) else {
                rows.push(set.iter().map(|b| b.unwrap_or_default()).collect());
                return rows.len() <= MAX_TABLE;
            };
            let go_on = [false, true].into_iter().all(|truth| {
                set[free] = Some(truth);
                walk(diagram, id, set, rows)
            });
            set[free] = None;
            go_on
        }
    }
}
