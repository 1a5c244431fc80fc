//! n items on n places enter; leaves a piece that puts each item on a place of its own, so that the sum of scores is largest.
//!
//! Few items: a table of all orders. Up to [`EXACT`]: place by place, of every set of items that may be on the places so far only the
//! best order counts, 2^n sets (Held and Karp 1962). More: what each item on each place is worth by a few rounds of max-product messages
//! (Bayati, Shah and Sharma 2005), then the largest of it that is left, again and again; valid, and mostly best.

use super::super::draft::Draft;
use super::layers::{Layers, StateLayer, present};
use super::{Desk, NOTHING};

/// Items of which all orders are listed.
const LISTED: usize = 6;
/// Items of which the best order is found: thirty microseconds a row.
const EXACT: usize = 12;
/// Rounds of messages. On random scores of 14 items ten of them find the best order for 90 of 100 rows, without any it is 4.
const ROUNDS: usize = 10;

impl Desk<'_> {
    /// Chooses an order of n items.
    pub(super) fn ranking(&mut self, n: usize) {
        let (labels, scores) = ((0..n * n).collect::<Vec<_>>(), self.scores.clone());
        match n {
            _ if n <= LISTED => {
                self.how.push(format!("table of {} orders", (1..=n).product::<usize>()));
                let tensor = listed(n, &scores, &mut self.draft);
                self.put(tensor, &labels);
            }
            _ if n <= EXACT => {
                self.how.push(format!("best order of {n} items, place by place"));
                let taken = by_places(n).write(&scores, &mut self.draft);
                let asked: Vec<(usize, usize)> = labels.iter().map(|label| (label % n, *label)).collect();
                let tensor = present(&taken, &asked, &mut self.draft);
                self.put(tensor, &labels);
            }
            _ => {
                self.how.push(format!("good order of {n} items"));
                self.best = false;
                let believed = believed(n, &scores, &mut self.draft);
                let tensor = greedy(n, &believed, &mut self.draft);
                self.put(tensor, &labels);
            }
        }
    }
}

fn listed(n: usize, scores: &str, draft: &mut Draft) -> String {
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..n {
        let more = |order: Vec<usize>| {
            let free: Vec<usize> = (0..n).filter(|i| !order.contains(i)).collect();
            free.into_iter().map(move |i| [&order[..], &[i]].concat())
        };
        orders = orders.into_iter().flat_map(more).collect();
    }
    // In an order the k-th number is the place of item k.
    let ones: Vec<(usize, usize)> = orders.iter().enumerate().flat_map(|(s, o)| (0..n).map(move |i| (s, i * n + o[i]))).collect();
    let table = draft.ones(orders.len(), n * n, ones.iter().copied());
    let upright = draft.ones(n * n, orders.len(), ones.iter().map(|(s, label)| (*label, *s)));
    let totals = draft.call("MatMul", &[&table, scores]);
    let best = draft.call_with("ArgMax", &[&totals], &[("axis", 0), ("keepdims", 0)]);
    draft.call_with("Gather", &[&upright, &best], &[("axis", 1)])
}

/// Layer p: which p items are on the first p places; the options are who comes next.
fn by_places(n: usize) -> Layers {
    let mut sizes = vec![Vec::new(); n + 1];
    let mut number = Vec::with_capacity(1 << n);
    for set in 0..1usize << n {
        let size = set.count_ones() as usize;
        number.push(sizes[size].len());
        sizes[size].push(set);
    }
    let mut layers = Layers { layers: Vec::new(), ends: vec![0.0] };
    for (place, sets) in sizes[..n].iter().enumerate() {
        let mut layer = StateLayer::default();
        for set in sets {
            let left = || (0..n).filter(|i| set >> i & 1 == 0);
            layer.next.push(left().map(|i| number[set | 1 << i]).collect());
            layer.gain.push(left().map(|i| i * n + place).collect());
        }
        layers.layers.push(layer);
    }
    layers
}

/// What each item on each place is worth, given what else the place could have and the item could take:
///
/// ```text
/// asks_ip = s_ip - max over q != p of [ s_iq - bids_iq ]        bids_ip = max over j != i of asks_jp        worth_ip = s_ip - bids_ip
/// ```
fn believed(n: usize, scores: &str, draft: &mut Draft) -> String {
    let place = |p: usize| (0..n).map(|i| i * n + p).collect::<Vec<_>>();
    // A tensor a place, a line an item.
    let own: Vec<String> = (0..n).map(|p| draft.lines(scores, &place(p))).collect();
    let mut worth = own.clone();
    for _ in 0..ROUNDS {
        let others = without_own(&worth, draft);
        let asks: Vec<String> = own.iter().zip(&others).map(|(s, o)| draft.call("Sub", &[s, o])).collect();
        // Now a tensor an item, a line a place; the same lines, as items and places are as many.
        let asks = draft.below(&asks);
        let by_item: Vec<String> = (0..n).map(|i| draft.lines(&asks, &place(i))).collect();
        let bids = without_own(&by_item, draft);
        let bids = draft.below(&bids);
        worth = (0..n)
            .map(|p| {
                let bids = draft.lines(&bids, &place(p));
                draft.call("Sub", &[&own[p], &bids])
            })
            .collect();
    }
    let worth = draft.below(&worth);
    let by_item: Vec<usize> = (0..n).flat_map(place).collect();
    draft.lines(&worth, &by_item)
}

/// For each of at least two tensors the largest of all others, number by number.
fn without_own(parts: &[String], draft: &mut Draft) -> Vec<String> {
    let mut largest = |parts: &mut dyn Iterator<Item = &String>| {
        let mut so_far: Vec<String> = Vec::new();
        for part in parts {
            so_far.push(match so_far.last() {
                Some(before) => draft.call("Max", &[before, part]),
                None => part.clone(),
            });
        }
        so_far
    };
    let last = parts.len() - 1;
    let (first, mut after) = (largest(&mut parts[..last].iter()), largest(&mut parts[1..].iter().rev()));
    after.reverse();
    let mut others = vec![after[0].clone()];
    others.extend((1..last).map(|k| draft.call("Max", &[&first[k - 1], &after[k]])));
    others.push(first[last - 1].clone());
    others
}

/// The largest that is left, again and again.
fn greedy(n: usize, scores: &str, draft: &mut Draft) -> String {
    let labels = n * n;
    let each = |of: fn(usize, usize) -> usize| (0..labels).map(|label| of(label, n) as i64).collect::<Vec<_>>();
    let (items, places) = (each(|label, n| label / n), each(|label, n| label % n));
    let tables = [items.clone(), places.clone()].map(|table| draft.ints(&[labels], table));
    let lines = [items, places].map(|each| draft.ints(&[labels, 1], each));
    let own = draft.ints(&[labels, 1], (0..labels as i64).collect());
    let nothing = draft.number(NOTHING);
    let (mut left, mut chosen) = (scores.to_string(), None);
    for _ in 0..n {
        let best = draft.call_with("ArgMax", &[&left], &[("axis", 0), ("keepdims", 1)]);
        let now = draft.call("Equal", &[&own, &best]);
        chosen = Some(chosen.map_or_else(|| now.clone(), |c: String| draft.call("Or", &[&c, &now])));
        let gone = [0, 1].map(|k| {
            let taken = draft.call_with("Gather", &[&tables[k], &best], &[("axis", 0)]);
            draft.call("Equal", &[&lines[k], &taken])
        });
        let gone = draft.call("Or", &[&gone[0], &gone[1]]);
        left = draft.call("Where", &[&gone, &nothing, &left]);
    }
    draft.cast_float(&chosen.unwrap_or_default())
}
