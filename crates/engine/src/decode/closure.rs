//! Implications between labels and scores enter; the closed set of labels with the largest sum of scores leaves.
//!
//! A minimum cut: labels with s > 0 hold s, labels with s < 0 want -s, and what a label holds may flow along its implications to
//! those that want. A label is chosen iff it can be reached from one that could not give away all it holds. So the set is closed,
//! and of several best ones it is the smallest.

use super::paths::sane;

/// Implications laid out by label.
#[derive(Debug, Clone)]
pub struct Closure {
    labels: usize,
    /// Where each label's arcs start.
    start: Vec<u32>,
    /// The other label, the implication, and whether the arc goes along it or back.
    arcs: Vec<(u32, u32, bool)>,
    implications: usize,
}

/// Buffers of a decoding, to be kept from row to row.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    held: Vec<f64>,
    wanted: Vec<f64>,
    /// What flows along each implication.
    flow: Vec<f64>,
    /// The search that a label was last seen by; `CHOSEN` once a search from it, or through it, has failed.
    seen: Vec<u32>,
    path: Vec<(u32, u32)>,
}

const CHOSEN: u32 = u32::MAX;

impl Closure {
    /// Lays out `(a, b)`: with label a there is label b.
    pub fn new(labels: usize, implications: &[(usize, usize)]) -> Self {
        let mut lists = vec![Vec::new(); labels];
        for (e, (a, b)) in implications.iter().enumerate() {
            lists[*a].push((*b as u32, e as u32, true));
            lists[*b].push((*a as u32, e as u32, false));
        }
        let mut start = vec![0];
        start.extend(lists.iter().scan(0, |sum, l| {
            *sum += l.len() as u32;
            Some(*sum)
        }));
        Self { labels, start, arcs: lists.concat(), implications: implications.len() }
    }

    /// Puts the best closed set into `set`, 0 or 1 a label.
    pub fn best(&self, scores: &[f32], scratch: &mut Scratch, set: &mut [f32]) {
        let Scratch { held, wanted, flow, seen, path } = scratch;
        held.clear();
        held.extend(scores.iter().map(|s| sane(*s).max(0.0)));
        wanted.clear();
        wanted.extend(scores.iter().map(|s| (-sane(*s)).max(0.0)));
        flow.clear();
        flow.resize(self.implications, 0.0);
        seen.clear();
        seen.resize(self.labels, 0);
        let mut search = 0;
        for source in 0..self.labels {
            // A search that fails has seen only labels from which nothing wanted can be reached, and no later flow enters them.
            while held[source] > 0.0 && seen[source] != CHOSEN {
                search += 1;
                if !self.give(source, search, held, wanted, flow, seen, path) {
                    seen.iter_mut().filter(|s| **s == search).for_each(|s| *s = CHOSEN);
                }
            }
        }
        for (y, seen) in set.iter_mut().zip(&*seen) {
            *y = f32::from(u8::from(*seen == CHOSEN));
        }
    }

    /// Sends what one label holds to one that wants, depth first; false if none can be reached.
    #[allow(clippy::too_many_arguments)]
    fn give(
        &self,
        source: usize,
        search: u32,
        held: &mut [f64],
        wanted: &mut [f64],
        flow: &mut [f64],
        seen: &mut [u32],
        path: &mut Vec<(u32, u32)>,
    ) -> bool {
        path.clear();
        path.push((source as u32, self.start[source]));
        seen[source] = search;
        while let Some((label, next)) = path.last_mut() {
            let at = *label as usize;
            if wanted[at] > 0.0 {
                let arcs = || path.windows(2).map(|step| self.arcs[step[0].1 as usize - 1]);
                let back = arcs().filter(|(_, _, along)| !along).map(|(_, e, _)| flow[e as usize]);
                let amount = back.fold(held[source].min(wanted[at]), f64::min);
                for (_, e, along) in arcs() {
                    flow[e as usize] += if along { amount } else { -amount };
                }
                held[source] -= amount;
                wanted[at] -= amount;
                return true;
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
                path.push((to, self.start[to as usize]));
            }
        }
        false
    }
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
            Closure::new(n, &pairs).best(&scores, &mut Scratch::default(), &mut set);
            let found = (0..n).filter(|j| set[*j] > 0.0).fold(0, |found, j| found | 1 << j);
            assert_eq!(found, smallest, "round {round}: {scores:?} {pairs:?}");
        }
    }
}
