//! A hierarchy of labels enters; leaves a piece that chooses the best set that obeys it.
//!
//! A label v that one implication alone ties to another label p is decided by it. Up the trees, what v adds to p:
//!
//! ```text
//! v => p: max(worth_v, 0), as v may come along with p        p => v: min(worth_v, 0), as v has to
//! ```
//!
//! and down: v is present iff it is worth something *and* p is present; or iff it is *or* p is present. Exact for every graph of
//! implications without a circle of any directions; the labels on such circles, and between them, are left for [`eliminate`].

use super::super::draft::Draft;
use super::eliminate::{self, Factor};
use super::hierarchy::{Hanging, Hierarchy};
use super::sweeps::Sweeps;
use super::{Desk, LabelTensor};

impl Desk<'_> {
    /// Chooses labels that are tied by implications alone.
    pub(super) fn hierarchy(&mut self, pairs: &[(usize, usize)]) {
        let hierarchy = Hierarchy::new(pairs);
        let scores = self.scores.clone();
        let scores = together(&hierarchy, &scores, &mut self.draft);
        let levels = &hierarchy.levels;
        let mut worth: Vec<String> = Vec::new();
        for (d, level) in levels.iter().enumerate().rev() {
            let own = self.draft.lines(&scores, &level.iter().map(|h| h.node).collect::<Vec<_>>());
            worth.push(match (worth.last().cloned(), levels.get(d + 1)) {
                (Some(below), Some(next)) => {
                    let offered = offered(next, &below, &mut self.draft);
                    let sums = self.draft.ones(level.len(), next.len(), next.iter().enumerate().map(|(k, h)| (h.above, k)));
                    let sums = self.draft.call("MatMul", &[&sums, &offered]);
                    self.draft.call("Add", &[&own, &sums])
                }
                _ => own,
            });
        }
        worth.reverse();
        let mut present = vec![self.top(&hierarchy, &worth[0])];
        for (level, worth) in levels.iter().zip(&worth).skip(1) {
            let above = present.last().cloned().unwrap_or_default();
            present.push(follow(level, worth, &above, &mut self.draft));
        }
        for (level, present) in levels.iter().zip(present) {
            let tensor = self.draft.cast_float(&present);
            let places = level.iter().enumerate().flat_map(|(k, h)| hierarchy.nodes[h.node].iter().map(move |label| (*label, k)));
            self.chosen.push(LabelTensor { tensor, width: level.len(), places: places.collect() });
        }
    }

    /// Which nodes of the first level are present.
    fn top(&mut self, hierarchy: &Hierarchy, worth: &str) -> String {
        let labels = hierarchy.labels();
        let zero = self.draft.number(0.0);
        if hierarchy.core.is_empty() {
            self.how.push(format!("forest of {labels} labels"));
            return self.draft.call("Greater", &[worth, &zero]);
        }
        // The first implies the second: 0 without 1 is forbidden.
        let factor = |(a, b): &(usize, usize)| Factor { scope: vec![*a, *b], allowed: vec![true, false, true, true] };
        let factors: Vec<Factor> = hierarchy.core.iter().map(factor).collect();
        let nodes = hierarchy.levels[0].len();
        // Implications never contradict each other: without a plan it is too large.
        if let Ok(Some(plan)) = eliminate::plan(&factors, nodes) {
            self.how.push(format!("hierarchy of {labels} labels with cross links, {} states of them", plan.states()));
            let chosen = plan.write(worth, &mut self.draft);
            return self.draft.call("Greater", &[&chosen, &zero]);
        }
        self.how.push(format!("hierarchy of {labels} labels, {nodes} of them too entangled for the best set"));
        self.best = false;
        Sweeps::new(nodes, &hierarchy.core).write(worth, &mut self.draft)
    }
}

/// What labels that go together are worth together.
fn together(hierarchy: &Hierarchy, scores: &str, draft: &mut Draft) -> String {
    let nodes = &hierarchy.nodes;
    let first: Vec<usize> = nodes.iter().map(|labels| labels[0]).collect();
    let own = draft.lines(scores, &first);
    let more: Vec<(usize, usize)> =
        nodes.iter().enumerate().flat_map(|(k, labels)| labels[1..].iter().map(move |l| (*l, k))).collect();
    if more.is_empty() {
        return own;
    }
    let others = draft.lines(scores, &more.iter().map(|(label, _)| *label).collect::<Vec<_>>());
    let sums = draft.ones(nodes.len(), more.len(), more.iter().enumerate().map(|(k, (_, node))| (*node, k)));
    let sums = draft.call("MatMul", &[&sums, &others]);
    draft.call("Add", &[&own, &sums])
}

/// What the nodes of a level add to those above them.
fn offered(level: &[Hanging], worth: &str, draft: &mut Draft) -> String {
    if level.iter().all(|h| h.implies) {
        return draft.call("Relu", &[worth]);
    }
    let far = f32::MAX;
    let least = draft.each(level.iter().map(|h| if h.implies { 0.0 } else { -far }).collect());
    let most = draft.each(level.iter().map(|h| if h.implies { far } else { 0.0 }).collect());
    let raised = draft.call("Max", &[worth, &least]);
    draft.call("Min", &[&raised, &most])
}

/// Which nodes of a level are present, given those above.
fn follow(level: &[Hanging], worth: &str, above: &str, draft: &mut Draft) -> String {
    let zero = draft.number(0.0);
    let wanted = draft.call("Greater", &[worth, &zero]);
    let above = draft.lines(above, &level.iter().map(|h| h.above).collect::<Vec<_>>());
    let with = draft.call("And", &[&wanted, &above]);
    if level.iter().all(|h| h.implies) {
        return with;
    }
    let by = draft.call("Or", &[&wanted, &above]);
    let implied = draft.each(level.iter().map(|h| f32::from(u8::from(!h.implies))).collect());
    let implied = draft.call("Greater", &[&implied, &zero]);
    let by = draft.call("And", &[&by, &implied]);
    draft.call("Or", &[&with, &by])
}
