//! A decision diagram over facts enters; leaves a piece that finds its best path, level by level.

use crate::decode::sets::Diagram;

use super::super::draft::Draft;
use super::eliminate::Contradiction;
use super::facts::Facts;
use super::layers::{Layers, StateLayer, present};
use super::{MAX_NODES, NOTHING};
use crate::decode::compile::{Compiler, DiagramTooLarge, on_deep_stack};
use crate::decode::order;

/// The smaller diagram of two orders of the facts; `None` if both are too large.
pub(super) fn compile(facts: &Facts) -> Result<Option<Diagram>, Contradiction> {
    let parts: Vec<_> = facts.parts.iter().collect();
    on_deep_stack(&parts, facts.count(), || smaller(facts)).unwrap_or(Ok(None))
}

fn smaller(facts: &Facts) -> Result<Option<Diagram>, Contradiction> {
    let groups: Vec<Vec<usize>> = facts.parts.iter().map(|p| facts.of(p)).collect();
    let parts: Vec<_> = facts.parts.iter().collect();
    let mut found: Vec<Diagram> = Vec::new();
    for order in [order::force(&groups), (0..facts.count()).collect()] {
        // What is left out in the end counts as well while it is built.
        let mut compiler = Compiler::new(facts.labels.len(), &facts.names, order, 5 * MAX_NODES);
        match compiler.conjunction(&parts) {
            Ok(0) => return Err(Contradiction),
            Ok(root) => found.push(compiler.diagram(root)),
            Err(DiagramTooLarge) => {}
        }
    }
    Ok(found.into_iter().filter(|d| d.nodes.len() <= MAX_NODES).min_by_key(|d| d.nodes.len()))
}

/// Calls that choose all facts: 0 or 1 a line.
pub(super) fn write(diagram: &Diagram, facts: usize, worth: &str, draft: &mut Draft) -> String {
    // Measured from its better side, so that a level that a path leaves out gains nothing: false costs max(s, 0), true max(-s, 0).
    let less = draft.call("Neg", &[worth]);
    let costs = [draft.call("Relu", &[worth]), draft.call("Relu", &[&less])];
    let costs = draft.below(&costs);
    let gains = draft.call("Neg", &[&costs]);
    let taken = layers(diagram, facts).write(&gains, draft);
    let mut place = vec![(0, 0); facts];
    diagram.order.iter().enumerate().for_each(|(level, fact)| place[*fact] = (level, facts + fact));
    present(&taken, &place, draft)
}

/// A layer a level: its nodes, and those further down that paths from above lead to. Those have two equal options.
fn layers(diagram: &Diagram, facts: usize) -> Layers {
    let depth = |id: usize| if id < 2 { diagram.order.len() } else { diagram.nodes[id - 2][0] };
    let mut layers = Layers::default();
    let mut states = vec![diagram.root()];
    for (level, fact) in diagram.order.iter().enumerate() {
        let leads = |id: usize| if depth(id) == level { [diagram.nodes[id - 2][1], diagram.nodes[id - 2][2]] } else { [id; 2] };
        let mut next: Vec<usize> = states.iter().flat_map(|id| leads(*id)).collect();
        next.sort_unstable();
        next.dedup();
        let number = |id: usize| next.binary_search(&id).unwrap_or_default();
        layers.layers.push(StateLayer {
            next: states.iter().map(|id| leads(*id).map(number).to_vec()).collect(),
            gain: vec![vec![*fact, facts + fact]; states.len()],
        });
        states = next;
    }
    layers.ends = states.iter().map(|id| if *id == 1 { 0.0 } else { NOTHING }).collect();
    layers
}
