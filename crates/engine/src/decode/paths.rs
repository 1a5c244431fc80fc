//! A diagram and scores enter; the best path, or the likelihood and its gradient, leave. Flat arrays, one pass, no allocation.
//!
//! A set of labels is worth the sum of its scores: it is the most likely one if label j is present with probability
//! `sigmoid(s_j)`, each on its own. Measured from the best set of all, valid or not, leaving out a label with s > 0 costs s and
//! taking one with s < 0 costs -s; labels that no node of a path asks cost nothing and follow their sign.

use deepsade_spec::sets::Diagram;

/// A diagram laid out for passes over all its nodes: fact, node if false, node if true; children first.
#[derive(Debug, Clone)]
pub struct Paths {
    labels: usize,
    facts: usize,
    nodes: Vec<[u32; 3]>,
}

/// Buffers of a pass, to be kept from row to row.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    /// What a fact costs, or its log-probability: if false, if true.
    weight: Vec<[f64; 2]>,
    value: Vec<f64>,
    /// Of each node: the sum over its paths, in units of e^value.
    sum: Vec<f64>,
    /// Of each node: the share of the paths on which its fact is true.
    share: Vec<f64>,
    mass: Vec<f64>,
    /// Of each fact: how much mass asks it.
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
    pub fn best(&self, scores: &[f32], conditions: &[bool], scratch: &mut Scratch, set: &mut [f32]) -> bool {
        let Scratch { weight, value, .. } = scratch;
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
    pub fn log_valid(&self, scores: &[f32], conditions: &[bool], scratch: &mut Scratch, marginals: &mut [f64]) -> f64 {
        let Scratch { weight, value, sum, share, mass, asked } = scratch;
        weight.clear();
        weight.extend(scores.iter().map(|s| log_probabilities(sane(*s))));
        weight.extend(conditions.iter().map(|c| if *c { [f64::NEG_INFINITY, 0.0] } else { [0.0, f64::NEG_INFINITY] }));
        assert_eq!(weight.len(), self.facts, "a score a label and a truth a condition");
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

/// `log(1 - p)` and `log p` for `p = sigmoid(s)`.
pub fn log_probabilities(s: f64) -> [f64; 2] {
    let tail = (-s.abs()).exp().ln_1p();
    [-s.max(0.0) - tail, s.min(0.0) - tail]
}

/// A score that is not a number says nothing; an infinite one is as large as a float can be, so that costs stay finite.
pub fn sane(s: f32) -> f64 {
    if s.is_nan() { 0.0 } else { f64::from(s.clamp(f32::MIN, f32::MAX)) }
}
