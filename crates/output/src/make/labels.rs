//! Rules about labels or places enter; leaves a piece that chooses the most likely set of labels that obeys them, or a good one.
//!
//! Label j is present with probability `sigmoid(score_j)`, each on its own: the most likely set has the largest sum of scores. Labels
//! that no rule ties together are chosen apart, and each group in the way that is quickest for it.

mod diagram;
mod eliminate;
mod facts;
mod forest;
mod hierarchy;
mod layers;
mod ranking;
mod sweeps;
mod table;

use std::collections::BTreeSet;

use crate::decode::sets::Sets;
use deepsade_check::step::Outputs;
use deepsade_net::Piece;
use deepsade_solve::tied::{TiedParts, tied};
use deepsade_spec::{Formula, NormalSpec, Task};

use self::facts::Facts;
use self::table::ValidSets;
use super::draft::Draft;
use super::{Made, MakeError, Source};
use crate::decode::{MAX_TABLE, recognise};

/// Scores count up to this size; those of a trained network are far smaller.
pub const MOST: f32 = 16384.0;
/// Nodes that a diagram in the graph may have.
pub const MAX_NODES: usize = 20_000;

/// What is worth less than any set that is valid: a set that is not, a side that is forbidden, a place that is gone.
const NOTHING: f32 = -((1u64 << 60) as f32);
/// A plan with so many states is quick enough, whatever else there may be.
const SMALL: usize = 512;

/// What the makers of groups read and write.
struct Desk<'a> {
    spec: &'a NormalSpec,
    source: &'a Source<'a>,
    draft: Draft,
    /// The scores of all labels, to be computed with: a line a label.
    scores: String,
    chosen: Vec<LabelTensor>,
    how: Vec<String>,
    best: bool,
}

/// A tensor with 1 where a label is present and 0 where not, a line a label.
struct LabelTensor {
    tensor: String,
    width: usize,
    /// Labels and their lines.
    places: Vec<(usize, usize)>,
}

/// What chooses label sets, for a multilabel task or a ranking.
pub fn make(spec: &NormalSpec, source: &Source<'_>) -> Result<Made, MakeError> {
    if !matches!(spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. }) {
        return Err(MakeError::NoLabels);
    }
    if let Some(rule) = spec.rules.iter().find(|r| r.reads_scores || !about_labels(&r.claim)) {
        return Err(MakeError::Scores { rule: rule.name.clone() });
    }
    let labels = spec.schema.task.outputs();
    let parts: Vec<&Formula> = spec.rules.iter().flat_map(|r| r.claim.conjuncts()).collect();
    if parts.contains(&&Formula::False) {
        return Err(MakeError::Impossible);
    }
    // What a rule says about the input alone no choice of labels can change.
    let groups = tied(parts.iter().copied());
    let mentioned: BTreeSet<usize> = groups.iter().flat_map(|tied| tied.outputs.iter().copied()).collect();
    let free: Vec<usize> = (0..labels).filter(|j| !mentioned.contains(j)).collect();
    let mut draft = Draft::default();
    let mut scores = draft.turned(source.scores);
    if !groups.is_empty() {
        scores = draft.sane(&scores, MOST);
    }
    let mut desk = Desk { spec, source, draft, scores, chosen: Vec::new(), how: Vec::new(), best: true };
    let mut implications = Vec::new();
    for TiedParts { outputs, parts: own } in groups {
        let (labels, parts) = (outputs.into_iter().collect::<Vec<usize>>(), own.iter().map(|k| parts[*k]).collect::<Vec<_>>());
        match recognise(spec, &parts) {
            // Hierarchies are chosen together: one pass goes over all of them.
            Some(Sets::Implications(pairs)) => implications.extend(pairs),
            Some(Sets::Assignment(n)) => desk.ranking(n),
            _ => desk.group(labels, &parts)?,
        }
    }
    if !implications.is_empty() {
        desk.hierarchy(&implications);
    }
    if !free.is_empty() {
        desk.free(&free);
    }
    let how = desk.how.join(", ");
    let best = desk.best;
    Ok(Made { piece: desk.finish(labels), outputs: Outputs::Labels(labels), best, ratio: 1.0, nowhere: 0.0, how })
}

/// Whether every atom is about one label, or about the input.
fn about_labels(claim: &Formula) -> bool {
    let mut only = true;
    claim.atoms(&mut |atom| only &= atom.is_condition() || atom.label().is_some());
    only
}

impl Desk<'_> {
    /// Notes a tensor with these labels in order.
    fn put(&mut self, tensor: String, labels: &[usize]) {
        let places = labels.iter().enumerate().map(|(place, label)| (*label, place)).collect();
        self.chosen.push(LabelTensor { tensor, width: labels.len(), places });
    }

    /// Labels of no rule: present iff more likely than not.
    fn free(&mut self, labels: &[usize]) {
        let zero = self.draft.number(0.0);
        let own = self.own(labels);
        let above = self.draft.call("Greater", &[&own, &zero]);
        let present = self.draft.cast_float(&above);
        self.put(present, labels);
        self.how.push(format!("labels without rules: {}", labels.len()));
    }

    /// The scores of some labels.
    fn own(&mut self, labels: &[usize]) -> String {
        let all = labels.len() == self.spec.schema.task.outputs();
        if all { self.scores.clone() } else { self.draft.lines(&self.scores, labels) }
    }

    /// Labels tied together by any rules.
    fn group(&mut self, labels: Vec<usize>, parts: &[&Formula]) -> Result<(), MakeError> {
        let facts = Facts::new(labels, parts);
        if let Some(table) = ValidSets::new(&facts) {
            if table.len() == 0 {
                return Err(MakeError::Impossible);
            }
            let own = self.own(&facts.labels);
            let tensor = table.write(&own, &self.spec.schema, self.source, &mut self.draft)?;
            self.put(tensor, &facts.labels);
            self.how.push(format!("table of {} sets of {} labels", table.len(), facts.labels.len()));
            return Ok(());
        }
        let impossible = |eliminate::Contradiction| MakeError::Impossible;
        let (labels, plan) = (facts.labels.len(), eliminate::of(&facts).map_err(impossible)?);
        let small = plan.as_ref().is_some_and(|plan| plan.states() <= SMALL);
        let diagram = if small { None } else { diagram::compile(&facts).map_err(impossible)? };
        // A level of a diagram takes about as long as two levels of a plan, and a diagram has a level a label.
        let plan = plan.filter(|plan| diagram.as_ref().is_none_or(|d| plan.states() <= 2 * d.nodes.len()));
        let worth = facts.worth(&self.spec.schema, self.source, &self.scores, &mut self.draft)?;
        let tensor = match (plan, diagram) {
            (Some(plan), _) => {
                self.how.push(format!("{labels} labels by elimination over {} states", plan.states()));
                plan.write(&worth, &mut self.draft)
            }
            (None, Some(diagram)) => {
                self.how.push(format!("{labels} labels by a diagram of {} nodes", diagram.nodes.len()));
                diagram::write(&diagram, facts.count(), &worth, &mut self.draft)
            }
            (None, None) => return Err(MakeError::TooLarge { labels, sets: MAX_TABLE, nodes: MAX_NODES }),
        };
        // The facts of the input, behind the labels, are not asked for any more.
        let places = (0..labels).map(|place| (facts.labels[place], place)).collect();
        self.chosen.push(LabelTensor { tensor, width: facts.count(), places });
        Ok(())
    }

    /// Puts the labels one below the other in their order.
    fn finish(mut self, labels: usize) -> Piece {
        let (mut place, mut start) = (vec![0; labels], 0);
        for chosen in &self.chosen {
            chosen.places.iter().for_each(|(label, k)| place[*label] = start + k);
            start += chosen.width;
        }
        let tensors: Vec<String> = self.chosen.into_iter().map(|c| c.tensor).collect();
        let all = self.draft.below(&tensors);
        if start != labels || !place.is_sorted() {
            self.draft.lines(&all, &place);
        }
        self.draft.finish()
    }
}

#[cfg(test)]
mod tests;
