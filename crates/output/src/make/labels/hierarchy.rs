//! Implications between labels enter; leave labels that always go together, the implications that are needed between those, and the
//! trees that hang on what is left.

use std::collections::BTreeSet;

use crate::decode::closure::{Peeled, peel};

/// Implications in order.
#[derive(Debug)]
pub(super) struct Hierarchy {
    /// Labels that imply each other go together: the labels of each node.
    pub(super) nodes: Vec<Vec<usize>>,
    /// Nodes by the distance to what they hang on, from 1; at 0 the nodes that hang on nothing.
    pub(super) levels: Vec<Vec<Hanging>>,
    /// Implications between nodes of the first level, none of which follows from others.
    pub(super) core: Vec<(usize, usize)>,
}

/// A node that one implication alone ties to what is above it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hanging {
    /// The node.
    pub(super) node: usize,
    /// The place of the other node in the level above.
    pub(super) above: usize,
    /// It implies the other, rather than being implied.
    pub(super) implies: bool,
}

impl Hierarchy {
    /// Brings pairs of labels, of which the first implies the second, in order.
    pub(super) fn new(pairs: &[(usize, usize)]) -> Self {
        let labels: Vec<usize> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect::<BTreeSet<_>>().into_iter().collect();
        let place = |label: &usize| labels.binary_search(label).unwrap_or_default();
        let pairs: Vec<(usize, usize)> = pairs.iter().map(|(a, b)| (place(a), place(b))).collect();
        let reached = closure(labels.len(), &pairs);
        // The first of the labels that imply each other stands for all.
        let first: Vec<usize> =
            (0..labels.len()).map(|a| (0..=a).find(|b| reached[a].has(*b) && reached[*b].has(a)).unwrap_or(a)).collect();
        let mut node = vec![0; labels.len()];
        let mut nodes: Vec<Vec<usize>> = Vec::new();
        for (a, first) in first.iter().enumerate() {
            node[a] = if *first == a { nodes.len() } else { node[*first] };
            match nodes.get_mut(node[a]) {
                Some(members) => members.push(labels[a]),
                None => nodes.push(vec![labels[a]]),
            }
        }
        let edges: BTreeSet<(usize, usize)> = pairs.iter().map(|(a, b)| (node[*a], node[*b])).filter(|(a, b)| a != b).collect();
        let edges = needed(nodes.len(), &edges.into_iter().collect::<Vec<_>>());
        let (levels, core) = peeled(nodes.len(), edges);
        Self { nodes, levels, core }
    }

    /// How many labels there are.
    pub(super) fn labels(&self) -> usize {
        self.nodes.iter().map(Vec::len).sum()
    }
}

/// Numbers below a bound, a bit each.
#[derive(Debug, Clone)]
struct BitSet(Vec<u64>);

impl BitSet {
    fn has(&self, k: usize) -> bool {
        self.0[k / 64] >> (k % 64) & 1 == 1
    }

    fn put(&mut self, k: usize) {
        self.0[k / 64] |= 1 << (k % 64);
    }
}

/// What each number leads to, itself included.
fn closure(count: usize, edges: &[(usize, usize)]) -> Vec<BitSet> {
    let mut lists = vec![Vec::new(); count];
    edges.iter().for_each(|(a, b)| lists[*a].push(*b));
    let search = |a: usize| {
        let (mut seen, mut pending) = (BitSet(vec![0; count.div_ceil(64)]), vec![a]);
        while let Some(b) = pending.pop() {
            if !seen.has(b) {
                seen.put(b);
                pending.extend(&lists[b]);
            }
        }
        seen
    };
    (0..count).map(search).collect()
}

/// The edges of a graph without cycles that do not follow from others.
fn needed(count: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let reached = closure(count, edges);
    let mut lists = vec![Vec::new(); count];
    edges.iter().for_each(|(a, b)| lists[*a].push(*b));
    let around = |a: usize, b: usize| lists[a].iter().any(|c| *c != b && reached[*c].has(b));
    edges.iter().copied().filter(|(a, b)| !around(*a, *b)).collect()
}

/// Nodes with a single edge hang on others, level by level; what is left of the edges.
fn peeled(count: usize, edges: Vec<(usize, usize)>) -> (Vec<Vec<Hanging>>, Vec<(usize, usize)>) {
    let (taken, left) = peel(count, edges);
    let mut off = vec![false; count];
    taken.iter().for_each(|peeled| off[peeled.label as usize] = true);
    let (mut depth, mut place) = (vec![0; count], vec![0; count]);
    let mut levels = vec![Vec::new()];
    for v in (0..count).filter(|v| !off[*v]) {
        place[v] = levels[0].len();
        levels[0].push(Hanging { node: v, above: 0, implies: false });
    }
    for Peeled { label, other, implies } in taken.into_iter().rev() {
        let (v, other) = (label as usize, other as usize);
        depth[v] = depth[other] + 1;
        if levels.len() <= depth[v] {
            levels.push(Vec::new());
        }
        place[v] = levels[depth[v]].len();
        levels[depth[v]].push(Hanging { node: v, above: place[other], implies });
    }
    let core = left.into_iter().map(|(a, b)| (place[a], place[b])).collect();
    (levels, core)
}
