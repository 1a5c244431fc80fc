//! What several tests share: a random source, a float32 runtime that misbehaves as far as it may, and a small prover.
#![allow(dead_code)]

pub mod tail;

use std::ops::ControlFlow;

use deepsade_check::{
    Arithmetic, Bounds, Certificate, Lines, Misfit, Rejected, RuleProof, Step, Tree, Verdict, Why, check, check_exactly,
    sha256_hex,
};
use deepsade_net::{Activation, Conv, Matrix, Model, Network, Node, Op, Window};
use deepsade_spec::canonical::canonical;
use deepsade_spec::cells::cells;
use deepsade_spec::{Claim, Domain, Formula, OneHot, Rational, RuleText, Schema, Var, compile};

/// `SplitMix64`.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn weight(&mut self) -> f32 {
        if self.below(8) == 0 { 0.0 } else { (self.unit() * 2.0 - 1.0) as f32 }
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// A float32 runtime: each sum in a random order, some products fused, denormals flushed or not.
pub struct Runtime<'r> {
    pub rng: &'r mut Rng,
    pub flush: bool,
}

impl Runtime<'_> {
    fn flush(&self, x: f32) -> f32 {
        if self.flush && x.is_subnormal() { 0.0 } else { x }
    }

    fn dot(&mut self, w: &[f32], x: &[f32], b: f32) -> f32 {
        let mut order: Vec<usize> = (0..w.len()).collect();
        self.rng.shuffle(&mut order);
        let lanes = 1 + self.rng.below(3);
        let mut sums = vec![0.0f32; lanes];
        let start = self.rng.below(2) == 0;
        if start {
            sums[0] = self.flush(b);
        }
        for (k, i) in order.into_iter().enumerate() {
            let (w, x) = (self.flush(w[i]), self.flush(x[i]));
            let sum = sums[k % lanes];
            let next = if self.rng.below(2) == 0 { w.mul_add(x, sum) } else { sum + self.flush(w * x) };
            sums[k % lanes] = self.flush(next);
        }
        let mut total = sums.iter().skip(1).fold(sums[0], |a, b| self.flush(a + b));
        if !start {
            total = self.flush(total + self.flush(b));
        }
        total
    }

    /// All values of the network for one input row.
    pub fn values(&mut self, network: &Network, x: &[f32]) -> Vec<Vec<f32>> {
        let mut values = vec![x.to_vec()];
        for node in &network.nodes {
            let x = values[node.from[0]].clone();
            let y = match &node.op {
                Op::Dense { w, b } => (0..w.rows).map(|o| self.dot(w.row(o), &x, b[o])).collect(),
                Op::Conv(conv) => {
                    let mut row = Vec::new();
                    let mut unit = |o| {
                        let b = conv.row(o, &mut row);
                        let (w, x): (Vec<f32>, Vec<f32>) = row.iter().map(|(i, w)| (*w, x[*i])).unzip();
                        self.dot(&w, &x, b)
                    };
                    (0..conv.rows()).map(&mut unit).collect()
                }
                Op::MaxPool(window) => {
                    let mut columns = Vec::new();
                    let unit = |o| {
                        window.columns_of(o, &mut columns);
                        self.flush(columns.iter().map(|c| x[*c]).fold(f32::NEG_INFINITY, f32::max))
                    };
                    (0..window.results()).map(unit).collect()
                }
                Op::Affine { scale, shift } => (0..x.len()).map(|i| self.dot(&scale[i..=i], &x[i..=i], shift[i])).collect(),
                Op::Act(Activation::Relu) => x.iter().map(|x| self.flush(x.max(0.0))).collect(),
                Op::Act(Activation::Sigmoid) => x.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect(),
                Op::Act(Activation::Tanh) => x.iter().map(|x| x.tanh()).collect(),
                Op::Select(columns) => columns.iter().map(|c| self.flush(x[*c])).collect(),
                Op::Choose(table) => {
                    let best = (0..x.len()).fold(0, |best, k| if x[k] > x[best] { k } else { best });
                    table.row(best).to_vec()
                }
                Op::Concat => node.from.iter().flat_map(|v| values[*v].clone()).collect(),
                Op::Gate => {
                    let g = self.flush(values[node.from[1]][0]);
                    x.iter().map(|x| self.flush(self.flush(*x) * g)).collect()
                }
            };
            values.push(y);
        }
        values
    }
}

/// A signal of the inputs' width through a convolution, the result as a picture through another one with odd pads, strides and
/// dilations or in groups, a pool, and a dense layer.
pub fn pictures(inputs: usize, outputs: usize, size: f32, rng: &mut Rng) -> Network {
    let mut list = |n: usize| (0..n).map(|_| rng.weight() * size).collect::<Vec<_>>();
    let window = |input, size, stride, dilation, pads| Window { input, size, stride, dilation, pads };
    let signal = window([1, 1, inputs], [1, 3], [1, 1], [1, 1], [0, 1, 0, 1]);
    let first = Conv { window: signal, groups: 1, w: list(12), b: list(4) };
    let grouped = inputs.is_multiple_of(2);
    let second = if grouped {
        let window = window([2, 2, inputs], [2, 2], [1, 2], [1, 2], [1, 0, 0, 2]);
        Conv { window, groups: 2, w: list(4 * 4), b: list(4) }
    } else {
        let window = window([1, 4, inputs], [3, 2], [2, 1], [1, 1], [1, 1, 0, 0]);
        Conv { window, groups: 1, w: list(2 * 6), b: list(2) }
    };
    let channels = second.b.len();
    let [height, width] = second.window.places().expect("a window that fits");
    let pool = window([channels, height, width], [2, 2], [1, 2], [1, 1], [1, 0, 0, 1]);
    let pooled = pool.results();
    let nodes = vec![
        Node { op: Op::Conv(first), from: vec![0] },
        act(Activation::Relu, 1),
        Node { op: Op::Conv(second), from: vec![2] },
        Node { op: Op::MaxPool(pool), from: vec![3] },
        act(Activation::Relu, 4),
        dense(outputs, pooled, list(outputs * pooled), list(outputs), 5),
    ];
    Network { inputs, nodes }
}

/// One input: a number or the index of a level for each feature.
pub type Point = Vec<f32>;

/// The network's input row.
pub fn row(schema: &Schema, point: &[f32]) -> Vec<f32> {
    let mut row = Vec::new();
    for (feature, x) in schema.features.iter().zip(point) {
        match &feature.domain {
            Domain::Category { levels } => {
                let first = usize::from(schema.one_hot == OneHot::DropFirst);
                row.extend((first..levels.len()).map(|l| f32::from(u8::from(l == *x as usize))));
            }
            _ => row.push(*x),
        }
    }
    row
}

/// A point of the domain: often at an end, sometimes next to one or denormal.
pub fn point(schema: &Schema, rng: &mut Rng) -> Point {
    let mut sample = |domain: &Domain| match domain {
        Domain::Real { lo, hi } => match rng.below(6) {
            0 => *lo,
            1 => *hi,
            2 => lo.next_up().min(*hi),
            3 if *lo <= 0.0 && *hi >= 1e-38 => [0.0, 1e-45, 5e-39][rng.below(3)],
            _ => ((f64::from(*lo) + (f64::from(*hi) - f64::from(*lo)) * rng.unit()) as f32).clamp(*lo, *hi),
        },
        Domain::Integer { lo, hi } => (*lo + rng.below((*hi - *lo + 1) as usize) as i32) as f32,
        Domain::Stepped { lo, hi, step } => lo + rng.below(((hi - lo) / step) as usize + 1) as f32 * step,
        Domain::Category { levels } | Domain::Ordered { levels } => rng.below(levels.len()) as f32,
    };
    schema.features.iter().map(|f| sample(&f.domain)).collect()
}

/// Whether a claim holds for an input and outputs, exactly.
pub fn holds(claim: &Formula, point: &[f32], y: &[f32]) -> bool {
    let exact = |v: f32| Rational::try_from(v).expect("finite");
    claim.at(&|var| match var {
        Var::Output(j) => exact(y[j]),
        Var::Feature(f) => exact(point[f]),
        Var::Level(f, l) => Rational::from(u8::from(point[f] as usize == l)),
    })
}

/// The ONNX file of a network over a schema.
pub fn model(network: &Network, schema: &Schema) -> Vec<u8> {
    let mut model = Model::new(network.clone());
    model.metadata.insert("deepsade.schema".into(), schema.to_json());
    model.to_bytes().expect("a valid network")
}

pub fn rule(text: &str) -> RuleText {
    RuleText { name: text.into(), text: text.into() }
}

pub fn dense(rows: usize, cols: usize, data: Vec<f32>, b: Vec<f32>, from: usize) -> Node {
    Node { op: Op::Dense { w: Matrix { rows, cols, data }, b }, from: vec![from] }
}

pub fn act(f: Activation, from: usize) -> Node {
    Node { op: Op::Act(f), from: vec![from] }
}

/// A certificate with right hashes.
pub fn certificate(bytes: &[u8], rules: &[RuleText], schema: &Schema, arithmetic: Arithmetic, trees: Vec<Tree>) -> Certificate {
    let spec = compile(rules, schema).expect("rules compile");
    let rules = rules.iter().zip(trees).map(|(r, tree)| RuleProof { name: r.name.clone(), tree }).collect();
    Certificate {
        model_sha256: sha256_hex(bytes),
        rules_sha256: sha256_hex(canonical(&spec).as_bytes()),
        arithmetic,
        rules,
        pairs: vec![],
        step: None,
        clips: None,
    }
}

pub fn leaf(bounds: Bounds, cells: Vec<Vec<u64>>) -> Tree {
    Tree::Leaf { bounds, cells, lines: vec![] }
}

/// Where and why it was rejected, in words; empty if it was not.
pub fn rejection(verdict: &Verdict) -> (String, String) {
    match verdict {
        Verdict::Accepted(_) => Default::default(),
        Verdict::Rejected(Rejected { at, why }) => (at.to_string(), why.to_string()),
    }
}

pub fn accepted(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Accepted(_))
}

/// A leaf with its place and how many signs are known there.
struct OpenLeaf<'t> {
    path: Vec<bool>,
    signs: usize,
    cells: &'t mut Vec<Vec<u64>>,
    lines: &'t mut Vec<Lines>,
}

/// Leaves of a tree, in the checker's order.
fn leaves<'t>(tree: &'t mut Tree, path: &[bool], signs: usize, out: &mut Vec<OpenLeaf<'t>>) {
    let more = usize::from(matches!(tree, Tree::Unit { .. }));
    match tree {
        Tree::Split { below, above, .. } | Tree::Unit { below, above, .. } => {
            leaves(below, &[path, &[false]].concat(), signs + more, out);
            leaves(above, &[path, &[true]].concat(), signs + more, out);
        }
        Tree::Leaf { cells, lines, .. } => out.push(OpenLeaf { path: path.to_vec(), signs, cells, lines }),
        Tree::Decode | Tree::Step => {}
    }
}

/// Multipliers to try for a cell of n atoms: each atom alone, then some mixtures.
fn candidates(n: usize) -> Vec<Vec<u64>> {
    let alone = (0..n).map(|i| (0..n).map(|j| u64::from(i == j)).collect());
    let mut all: Vec<Vec<u64>> = alone.collect();
    all.push(vec![1; n]);
    all.push((1..=n as u64).collect());
    all.push((1..=n as u64).rev().collect());
    all
}

/// Fills in the multipliers of one rule's tree by asking the checker again and again; `None` if none of a few fits.
pub fn prove(bytes: &[u8], text: &RuleText, schema: &Schema, arithmetic: Arithmetic, tree: Tree) -> Option<Certificate> {
    prove_along(bytes, text, schema, arithmetic, tree, |_| None)
}

/// The verdict on rules about what the model says itself. What is accepted, exact arithmetic accepts, too.
pub fn claimed(bytes: &[u8], rules: &[RuleText], schema: &Schema, certificate: &str) -> Verdict {
    let claim = Claim { schema: schema.clone(), rules: rules.to_vec() };
    let verdict = check(bytes, &claim, certificate);
    if accepted(&verdict) {
        let exactly = check_exactly(bytes, &claim, certificate);
        assert!(accepted(&exactly), "{exactly:?}");
    }
    verdict
}

/// The same with lines for each cell, given how many signs are known; for all cells or for none.
pub fn prove_along(
    bytes: &[u8],
    text: &RuleText,
    schema: &Schema,
    arithmetic: Arithmetic,
    mut tree: Tree,
    mut lines: impl FnMut(usize) -> Option<Lines>,
) -> Option<Certificate> {
    let rules = std::slice::from_ref(text);
    let mut atoms = Vec::new();
    let negation = compile(rules, schema).expect("rules compile").rules[0].claim.negated();
    let _: ControlFlow<()> = cells(&negation, &mut |cell| {
        atoms.push(cell.len());
        ControlFlow::Continue(())
    });
    let mut tried = 0;
    loop {
        let certificate = certificate(bytes, rules, schema, arithmetic, vec![tree.clone()]);
        let Rejected { at, why } = match claimed(bytes, rules, schema, &certificate.to_json()) {
            Verdict::Accepted(_) => return Some(certificate),
            Verdict::Rejected(rejected) => rejected,
        };
        let Step::Rule { path, cell: Some(cell), .. } = at else { return None };
        let options = candidates(atoms[cell]);
        let mut all = Vec::new();
        leaves(&mut tree, &[], 0, &mut all);
        let leaf = all.iter_mut().find(|p| p.path == path).expect("a leaf of the tree");
        if why == Why::Misfit(Misfit::NoMultipliers) {
            leaf.cells.push(options[0].clone());
            leaf.lines.extend(lines(leaf.signs));
            tried = 0;
        } else {
            tried += 1;
            let rounds = if leaf.lines.is_empty() { 1 } else { 3 };
            if tried == rounds * options.len() {
                return None;
            }
            leaf.cells.last_mut()?.clone_from(&options[tried % options.len()]);
            if let Some(last) = leaf.lines.last_mut() {
                *last = lines(leaf.signs)?;
            }
        }
    }
}
