//! A diagram and scores enter; the best path, or the likelihood and its gradient, leave. Flat arrays, one pass, no allocation.
//!
//! A set of labels is worth the sum of its scores: it is the most likely one if label j is present with probability
//! `sigmoid(s_j)`, each on its own. Measured from the best set of all, valid or not, leaving out a label with s > 0 costs s and
//! taking one with s < 0 costs -s; labels that no node of a path asks cost nothing and follow their sign.

use crate::decode::sets::Diagram;

/// A diagram laid out for passes over all its nodes: fact, node if false, node if true; children first.
#[derive(Debug, Clone)]
pub struct Paths {
    labels: usize,
    facts: usize,
    nodes: Vec<[u32; 3]>,
}

/// Probabilities are multiplied as they are where none is below e^-FAR; a float64 goes down to e^-708.
const FAR: f64 = 600.0;
/// Rows that go through a diagram side by side.
const LANES: usize = 8;

/// Buffers of a pass, to be kept from row to row.
#[derive(Debug, Clone, Default)]
pub struct PathScratch {
    /// What a fact costs, or its log-probability: if false, if true.
    weight: Vec<[f64; 2]>,
    /// The probabilities of facts of several rows.
    odds: Vec<f64>,
    value: Vec<f64>,
    /// Of each node: the sum over its paths, in units of e^value.
    sum: Vec<f64>,
    /// Of each node: the share of the paths on which its fact is true.
    share: Vec<f64>,
    mass: Vec<f64>,
    /// Of each fact: how much mass asks it, and how much finds it true.
    asked: Vec<f64>,
}

impl Paths {
    /// Lays out a diagram over so many labels and conditions.
    pub fn new(diagram: &Diagram, labels: usize, conditions: usize) -> Self {
        let node = |[level, low, high]: &[usize; 3]| [diagram.order[*level] as u32, *low as u32, *high as u32];
        Self { labels, facts: labels + conditions, nodes: diagram.nodes.iter().map(node).collect() }
    }

    /// How many nodes it has.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Puts the most likely valid set into `set`, 0 or 1 a label; false if there is none. Of sets worth the same the one comes out
    /// that leaves out the label asked first.
    pub fn best(&self, scores: &[f32], conditions: &[bool], scratch: &mut PathScratch, set: &mut [f32]) -> bool {
        let PathScratch { weight, value, .. } = scratch;
        weight.clear();
        weight.extend(scores.iter().map(|s| {
            let s = sane(*s);
            [s.max(0.0), (-s).max(0.0)]
        }));
        weight.extend(conditions.iter().map(|c| if *c { [f64::INFINITY, 0.0] } else { [0.0, f64::INFINITY] }));
        assert_eq!(weight.len(), self.facts, "a score a label and a truth a condition");
        value.clear();
        value.extend([f64::NEG_INFINITY, 0.0]);
        value.reserve(self.nodes.len());
        for [fact, low, high] in &self.nodes {
            let [without, with] = weight[*fact as usize];
            let (a, b) = (value[*low as usize] - without, value[*high as usize] - with);
            value.push(if b > a { b } else { a });
        }
        for (y, s) in set.iter_mut().zip(scores) {
            *y = f32::from(u8::from(*s > 0.0));
        }
        let mut id = value.len() - 1;
        if value[id] == f64::NEG_INFINITY {
            return false;
        }
        while id >= 2 {
            let [fact, low, high] = self.nodes[id - 2];
            let [without, with] = weight[fact as usize];
            let yes = value[high as usize] - with > value[low as usize] - without;
            if (fact as usize) < self.labels {
                set[fact as usize] = f32::from(u8::from(yes));
            }
            id = if yes { high } else { low } as usize;
        }
        true
    }

    /// `log P(valid)` if label j is present with probability `sigmoid(s_j)`, each on its own; and in `marginals` the probability of
    /// each label given that the set is valid. Minus infinity, and no marginals, if no set is.
    pub fn log_valid(&self, scores: &[f32], conditions: &[bool], scratch: &mut PathScratch, marginals: &mut [f64]) -> f64 {
        let mut log = [0.0];
        self.log_valid_rows(scores, conditions, scratch, marginals, &mut log);
        log[0]
    }

    /// The same for some rows, one after the other in each slice.
    pub fn log_valid_rows(
        &self,
        scores: &[f32],
        conditions: &[bool],
        scratch: &mut PathScratch,
        marginals: &mut [f64],
        logs: &mut [f64],
    ) {
        let (labels, truths) = (self.labels, self.facts - self.labels);
        assert_eq!(
            (scores.len(), conditions.len()),
            (logs.len() * labels, logs.len() * truths),
            "a score a label, a truth a condition"
        );
        // The least probability of a path is above e^-far.
        let far = |s: &[f32]| s.iter().map(|s| sane(*s).abs() + std::f64::consts::LN_2).sum::<f64>();
        let near = scores.chunks_exact(labels).all(|s| far(s) < FAR);
        let block = if near && logs.len() > 1 { LANES } else { 1 };
        let start = |k: usize, width: usize| k * block * width;
        for (k, logs) in logs.chunks_mut(block).enumerate() {
            let rows = logs.len();
            let s = &scores[start(k, labels)..][..rows * labels];
            let met = &conditions[start(k, truths)..][..rows * truths];
            let p = &mut marginals[start(k, labels)..][..rows * labels];
            match block {
                LANES => self.by_products::<LANES>(s, met, scratch, p, logs),
                _ if near || far(s) < FAR => self.by_products::<1>(s, met, scratch, p, logs),
                _ => logs[0] = self.by_logarithms(s, met, scratch, p),
            }
        }
    }

    /// Sums of products of probabilities, and their derivatives, for up to L rows side by side: several times as fast as logarithms,
    /// where nothing gets too small for a float.
    fn by_products<const L: usize>(
        &self,
        scores: &[f32],
        conditions: &[bool],
        scratch: &mut PathScratch,
        marginals: &mut [f64],
        logs: &mut [f64],
    ) {
        let (labels, truths) = (self.labels, self.facts - self.labels);
        let PathScratch { odds, sum, mass, asked, .. } = scratch;
        odds.clear();
        odds.resize(2 * L * self.facts, 0.5);
        let odds = odds.as_chunks_mut::<L>().0.as_chunks_mut::<2>().0;
        for lane in 0..logs.len() {
            for (odds, s) in odds.iter_mut().zip(&scores[lane * labels..][..labels]) {
                [odds[0][lane], odds[1][lane]] = probabilities(sane(*s));
            }
            for (odds, met) in odds[labels..].iter_mut().zip(&conditions[lane * truths..][..truths]) {
                [odds[0][lane], odds[1][lane]] = if *met { [0.0, 1.0] } else { [1.0, 0.0] };
            }
        }
        let ids = self.nodes.len() + 2;
        for (buffer, len) in [(&mut *sum, ids), (&mut *mass, ids), (&mut *asked, 2 * self.facts)] {
            buffer.clear();
            buffer.resize(len * L, 0.0);
        }
        let [sum, mass, asked] = [sum, mass, asked].map(|buffer| buffer.as_chunks_mut::<L>().0);
        let (asked, found) = asked.split_at_mut(self.facts);
        sum[1] = [1.0; L];
        for (id, node) in self.nodes.iter().enumerate() {
            let [fact, low, high] = node.map(|v| v as usize);
            let ([without, with], low, high) = (&odds[fact], sum[low], sum[high]);
            sum[id + 2] = std::array::from_fn(|l| low[l] * without[l] + high[l] * with[l]);
        }
        let root = ids - 1;
        // Of each node: how the root's sum changes with the node's, relative to the root's.
        mass[root] = sum[root].map(|sum| if sum > 0.0 { 1.0 / sum } else { 0.0 });
        for id in (2..ids).rev() {
            let [fact, low, high] = self.nodes[id - 2].map(|v| v as usize);
            let ([without, with], own) = (&odds[fact], mass[id]);
            for l in 0..L {
                mass[low][l] += own[l] * without[l];
                mass[high][l] += own[l] * with[l];
                asked[fact][l] += own[l] * sum[id][l];
                found[fact][l] += own[l] * with[l] * sum[high][l];
            }
        }
        for (lane, (log, p)) in logs.iter_mut().zip(marginals.chunks_exact_mut(labels)).enumerate() {
            for (((p, found), asked), odds) in p.iter_mut().zip(&*found).zip(&*asked).zip(&*odds) {
                *p = found[lane] + (1.0 - asked[lane]).max(0.0) * odds[1][lane];
            }
            *log = sum[root][lane].ln();
        }
    }

    /// The same for any scores.
    fn by_logarithms(&self, scores: &[f32], conditions: &[bool], scratch: &mut PathScratch, marginals: &mut [f64]) -> f64 {
        let PathScratch { weight, value, sum, share, mass, asked, .. } = scratch;
        weight.clear();
        weight.extend(scores.iter().map(|s| log_probabilities(sane(*s))));
        weight.extend(conditions.iter().map(|c| if *c { [f64::NEG_INFINITY, 0.0] } else { [0.0, f64::NEG_INFINITY] }));
        for (buffer, first) in [(&mut *value, [f64::NEG_INFINITY, 0.0]), (sum, [0.0, 1.0]), (share, [0.0, 0.0])] {
            buffer.clear();
            buffer.extend(first);
            buffer.reserve(self.nodes.len());
        }
        for [fact, low, high] in &self.nodes {
            let (low, high) = (*low as usize, *high as usize);
            let [without, with] = weight[*fact as usize];
            let (a, b) = (value[low] + without, value[high] + with);
            // The larger one is the unit; the other is scaled to it.
            let (unit, [a, b]) = if a == f64::NEG_INFINITY && b == f64::NEG_INFINITY {
                (a, [0.0, 0.0])
            } else if a > b {
                (a, [sum[low], sum[high] * (b - a).exp()])
            } else {
                (b, [sum[low] * (a - b).exp(), sum[high]])
            };
            value.push(unit);
            sum.push(a + b);
            share.push(if a + b > 0.0 { b / (a + b) } else { 0.0 });
        }
        let root = value.len() - 1;
        if value[root] == f64::NEG_INFINITY {
            return f64::NEG_INFINITY;
        }
        mass.clear();
        mass.resize(value.len(), 0.0);
        mass[root] = 1.0;
        asked.clear();
        asked.resize(self.facts, 0.0);
        marginals.fill(0.0);
        for id in (2..=root).rev() {
            let [fact, low, high] = self.nodes[id - 2].map(|v| v as usize);
            let yes = mass[id] * share[id];
            mass[high] += yes;
            mass[low] += mass[id] - yes;
            asked[fact] += mass[id];
            if fact < self.labels {
                marginals[fact] += yes;
            }
        }
        for ((p, asked), weight) in marginals.iter_mut().zip(&*asked).zip(&*weight) {
            *p += (1.0 - asked).max(0.0) * weight[1].exp();
        }
        value[root] + sum[root].ln()
    }
}

/// `1 - p` and `p` for `p = sigmoid(s)`.
pub fn probabilities(s: f64) -> [f64; 2] {
    let tail = (-s.abs()).exp();
    let (less, more) = (tail / (1.0 + tail), 1.0 / (1.0 + tail));
    if s > 0.0 { [less, more] } else { [more, less] }
}

/// `log P` of a set if label j is present with probability `sigmoid(s_j)`, each on its own.
pub fn log_set(scores: &[f32], set: &[f32]) -> f64 {
    let part = |(s, y): (&[f32], &[f32])| {
        let (mut cost, mut tails) = (0.0, 1.0);
        for (s, y) in s.iter().zip(y) {
            let s = sane(*s);
            cost += if (*y > 0.5) == (s > 0.0) { 0.0 } else { s.abs() };
            tails *= 1.0 + (-s.abs()).exp();
        }
        -cost - f64::ln(tails)
    };
    // A tail is at most 2: the product of so many is finite.
    scores.chunks(512).zip(set.chunks(512)).map(part).sum()
}

/// `log(1 - p)` and `log p` for `p = sigmoid(s)`.
pub fn log_probabilities(s: f64) -> [f64; 2] {
    let tail = (-s.abs()).exp().ln_1p();
    [-s.max(0.0) - tail, s.min(0.0) - tail]
}

/// A score that is not a number says nothing; an infinite one is as large as a float can be, so that costs stay finite.
pub fn sane(s: f32) -> f64 {
    if s.is_nan() { 0.0 } else { f64::from(s.clamp(f32::MIN, f32::MAX)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn products_and_logarithms_agree() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
        let (mut valid, mut scratch) = (0, PathScratch::default());
        for _ in 0..2000 {
            let (labels, conditions) = (rng.random_range(1..6), rng.random_range(0..3));
            let facts = labels + conditions;
            // Nodes ask later facts of their children, as in a diagram.
            let mut level = vec![facts, facts];
            let mut nodes = Vec::new();
            for fact in (0..facts).rev() {
                for _ in 0..rng.random_range(1..4) {
                    let below: Vec<usize> = (0..level.len()).filter(|id| level[*id] > fact).collect();
                    let mut child = || below[rng.random_range(0..below.len())] as u32;
                    nodes.push([fact as u32, child(), child()]);
                    level.push(fact);
                }
            }
            let paths = Paths { labels, facts, nodes };
            let size = rng.random_range(0.1..100.0);
            let scores: Vec<f32> = (0..labels).map(|_| rng.random_range(-size..size) as f32).collect();
            let met: Vec<bool> = (0..conditions).map(|_| rng.random()).collect();
            let (mut p, mut q) = (vec![0.0; labels], vec![0.0; labels]);
            let a = paths.log_valid(&scores, &met, &mut scratch, &mut p);
            let b = paths.by_logarithms(&scores, &met, &mut scratch, &mut q);
            // Eleven rows, of which this is one and the others are like it.
            let (mut rows, mut ps, mut logs) = (scores.repeat(11), vec![0.0; labels * 11], [0.0; 11]);
            rows[..labels].iter_mut().for_each(|s| *s = -*s);
            paths.log_valid_rows(&rows, &met.repeat(11), &mut scratch, &mut ps, &mut logs);
            for row in 1..11 {
                assert!(logs[row] == a && ps[row * labels..][..labels] == p, "{row}: {} {a}", logs[row]);
            }
            assert!(a == b || (a - b).abs() < 1e-9 * (1.0 + a.abs()), "{a} {b}");
            if a > f64::NEG_INFINITY {
                assert!(p.iter().zip(&q).all(|(p, q)| (p - q).abs() < 1e-9), "{p:?} {q:?}");
                valid += 1;
            }
            let set: Vec<f32> = scores.iter().map(|_| f32::from(u8::from(rng.random::<bool>()))).collect();
            let sum: f64 = scores.iter().zip(&set).map(|(s, y)| log_probabilities(f64::from(*s))[usize::from(*y > 0.5)]).sum();
            assert!((log_set(&scores, &set) - sum).abs() < 1e-9 * (1.0 + sum.abs()));
        }
        assert!(valid > 1000, "{valid}");
    }
}
