//! Implications between labels and scores enter; the closed set of labels with the largest sum of scores leaves.
//!
//! First the tree-like parts are peeled off, label by label: one that hangs on a single other label is decided by it. What is left
//! is a minimum cut: labels worth s > 0 hold s, labels worth s < 0 want -s, and what a label holds may flow along its implications
//! to those that want. A label is chosen iff it can be reached from one that could not give away all it holds. So the set is
//! closed, and of several best ones it is the smallest.

use std::collections::VecDeque;

use super::paths::sane;

/// Implications laid out by label.
#[derive(Debug, Clone)]
pub struct Closure {
    labels: usize,
    /// Labels that hang on one other label each when their turn comes.
    peeled: Vec<Peeled>,
    /// Where the arcs of each label that is left start.
    start: Vec<u32>,
    /// The other label, the implication, and whether the arc goes along it or back.
    arcs: Vec<(u32, u32, bool)>,
    implications: usize,
}

/// A label that was taken away with its only implication.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peeled {
    pub(crate) label: u32,
    pub(crate) other: u32,
    /// It implies the other, rather than being implied.
    pub(crate) implies: bool,
}

/// Buffers of a decoding, to be kept from row to row.
#[derive(Debug, Clone, Default)]
pub struct ClosureScratch {
    worth: Vec<f64>,
    /// What flows along each implication.
    flow: Vec<f64>,
    /// The search that a label was last seen by; `CHOSEN` once a search from it, or through it, has failed.
    seen: Vec<u32>,
    path: Vec<(u32, u32)>,
    visited: Vec<u32>,
}

const CHOSEN: u32 = u32::MAX;

impl Closure {
    /// Lays out `(a, b)`: with label a there is label b.
    pub fn new(labels: usize, implications: &[(usize, usize)]) -> Self {
        let mut edges: Vec<(usize, usize)> = implications.iter().copied().filter(|(a, b)| a != b).collect();
        edges.sort_unstable();
        edges.dedup();
        let (peeled, edges) = peel(labels, edges);
        let mut lists = vec![Vec::new(); labels];
        for (e, (a, b)) in edges.iter().enumerate() {
            lists[*a].push((*b as u32, e as u32, true));
            lists[*b].push((*a as u32, e as u32, false));
        }
        let mut start = vec![0];
        start.extend(lists.iter().scan(0, |sum, l| {
            *sum += l.len() as u32;
            Some(*sum)
        }));
        Self { labels, peeled, start, arcs: lists.concat(), implications: edges.len() }
    }

    /// Puts the best closed set into `set`, 0 or 1 a label.
    pub fn best(&self, scores: &[f32], scratch: &mut ClosureScratch, set: &mut [f32]) {
        let ClosureScratch { worth, flow, seen, path, visited } = scratch;
        worth.clear();
        worth.extend(scores.iter().map(|s| sane(*s)));
        for Peeled { label, other, implies } in &self.peeled {
            // With the other label this one is taken if it is worth something; without it, it can't be (or need not be).
            let own = worth[*label as usize];
            worth[*other as usize] += if *implies { own.max(0.0) } else { own.min(0.0) };
        }
        flow.clear();
        flow.resize(self.implications, 0.0);
        seen.clear();
        seen.resize(self.labels, 0);
        let mut search = 0;
        for source in 0..self.labels {
            if self.start[source] == self.start[source + 1] {
                // It has no implications left.
                seen[source] = if worth[source] > 0.0 { CHOSEN } else { 0 };
                continue;
            }
            while worth[source] > 0.0 && seen[source] != CHOSEN {
                search += 1;
                visited.clear();
                // A search that fails has seen only labels from which nothing wanted can be reached, and no later flow enters them.
                if !self.give(source, search, worth, flow, seen, path, visited) {
                    visited.iter().for_each(|v| seen[*v as usize] = CHOSEN);
                }
            }
        }
        for Peeled { label, other, implies } in self.peeled.iter().rev() {
            let (own, with) = (worth[*label as usize] > 0.0, seen[*other as usize] == CHOSEN);
            seen[*label as usize] = if if *implies { own && with } else { own || with } { CHOSEN } else { 0 };
        }
        for (y, seen) in set.iter_mut().zip(&*seen) {
            *y = f32::from(u8::from(*seen == CHOSEN));
        }
    }

    /// Sends what one label holds to those that want, depth first, until all is given (true) or none can be reached (false), or a
    /// flow that was turned back is used up (true, to begin again).
    #[allow(clippy::too_many_arguments)]
    fn give(
        &self,
        source: usize,
        search: u32,
        worth: &mut [f64],
        flow: &mut [f64],
        seen: &mut [u32],
        path: &mut Vec<(u32, u32)>,
        visited: &mut Vec<u32>,
    ) -> bool {
        path.clear();
        path.push((source as u32, self.start[source]));
        visited.push(source as u32);
        seen[source] = search;
        while let Some((label, next)) = path.last_mut() {
            let at = *label as usize;
            if worth[at] < 0.0 {
                let arcs = || path.windows(2).map(|step| self.arcs[step[0].1 as usize - 1]);
                let back = arcs().filter(|(_, _, along)| !along).map(|(_, e, _)| flow[e as usize]);
                let turned = back.fold(f64::INFINITY, f64::min);
                let amount = turned.min(worth[source]).min(-worth[at]);
                for (_, e, along) in arcs() {
                    flow[e as usize] += if along { amount } else { -amount };
                }
                worth[source] -= amount;
                worth[at] += amount;
                if worth[source] <= 0.0 || amount == turned {
                    return true;
                }
                // It wants no more: the search goes on from here.
                continue;
            }
            if *next == self.start[at + 1] {
                path.pop();
                continue;
            }
            let (to, e, along) = self.arcs[*next as usize];
            *next += 1;
            let mark = seen[to as usize];
            if mark != search && mark != CHOSEN && (along || flow[e as usize] > 0.0) {
                seen[to as usize] = search;
                visited.push(to);
                path.push((to, self.start[to as usize]));
            }
        }
        false
    }
}

/// Takes away labels with a single implication for as long as there are any, the outermost first, so that what is left of a tree is its
/// middle; leaves them in order, and the implications left.
pub(crate) fn peel(labels: usize, mut edges: Vec<(usize, usize)>) -> (Vec<Peeled>, Vec<(usize, usize)>) {
    let mut touching = vec![Vec::new(); labels];
    for (e, (a, b)) in edges.iter().enumerate() {
        touching[*a].push(e);
        touching[*b].push(e);
    }
    let mut degree: Vec<usize> = touching.iter().map(Vec::len).collect();
    let mut gone = vec![false; edges.len()];
    let mut ready: VecDeque<usize> = (0..labels).filter(|j| degree[*j] == 1).collect();
    let mut peeled = Vec::new();
    while let Some(label) = ready.pop_front() {
        // Its only implication may have gone with the other label.
        let Some(e) = touching[label].iter().copied().find(|e| !gone[*e]) else { continue };
        let implies = edges[e].0 == label;
        let other = if implies { edges[e].1 } else { edges[e].0 };
        peeled.push(Peeled { label: label as u32, other: other as u32, implies });
        gone[e] = true;
        degree[label] -= 1;
        degree[other] -= 1;
        if degree[other] == 1 {
            ready.push_back(other);
        }
    }
    let mut kept = gone.iter().map(|g| !g);
    edges.retain(|_| kept.next().unwrap_or(false));
    (peeled, edges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn it_finds_the_best_closed_set_and_the_smallest_of_equals() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
        for round in 0..400 {
            let n = rng.random_range(1..=10usize);
            let pairs: Vec<(usize, usize)> =
                (0..rng.random_range(0..2 * n)).map(|_| (rng.random_range(0..n), rng.random_range(0..n))).collect();
            // Whole numbers: sums are exact, and ties are frequent.
            let scores: Vec<f32> = (0..n).map(|_| rng.random_range(-4i32..5) as f32).collect();
            let closed = |set: usize| pairs.iter().all(|(a, b)| set >> a & 1 == 0 || set >> b & 1 == 1);
            let worth = |set: usize| (0..n).filter(|j| set >> j & 1 == 1).map(|j| scores[j]).sum::<f32>();
            let most = (0..1usize << n).filter(|s| closed(*s)).map(worth).fold(f32::NEG_INFINITY, f32::max);
            let smallest = (0..1usize << n).filter(|s| closed(*s) && worth(*s) == most).fold(usize::MAX, |a, b| a & b);
            let mut set = vec![9.0; n];
            Closure::new(n, &pairs).best(&scores, &mut ClosureScratch::default(), &mut set);
            let found = (0..n).filter(|j| set[*j] > 0.0).fold(0, |found, j| found | 1 << j);
            assert_eq!(found, smallest, "round {round}: {scores:?} {pairs:?}");
        }
    }
}
